//! 64-bit floats with Python's division, remainder, power and text.

use super::CalculatorError;

pub(super) fn finite(value: f64) -> Result<f64, CalculatorError> {
    if value.is_finite() { Ok(value) } else { Err(CalculatorError::TooLargeForFloat) }
}

pub(super) fn divide(a: f64, b: f64) -> Result<f64, CalculatorError> {
    if b == 0.0 { Err(CalculatorError::DivisionByZero) } else { finite(a / b) }
}

pub(super) fn floor_divide(a: f64, b: f64) -> Result<f64, CalculatorError> {
    if b == 0.0 {
        return Err(CalculatorError::DivisionByZero);
    }
    let rest = a % b;
    // A whole number but for rounding, and one too high where the signs differ.
    let truncated = (a - rest) / b;
    let near = if rest != 0.0 && (rest < 0.0) != (b < 0.0) { truncated - 1.0 } else { truncated };
    if near == 0.0 {
        return Ok(0_f64.copysign(a / b));
    }
    let floor = near.floor();
    finite(if near - floor > 0.5 { floor + 1.0 } else { floor })
}

/// The remainder, which has the sign of the divisor.
pub(super) fn modulo(a: f64, b: f64) -> Result<f64, CalculatorError> {
    if b == 0.0 {
        return Err(CalculatorError::DivisionByZero);
    }
    let rest = a % b;
    Ok(if rest == 0.0 {
        0_f64.copysign(b)
    } else if (rest < 0.0) == (b < 0.0) {
        rest
    } else {
        rest + b
    })
}

pub(super) fn power(base: f64, exponent: f64) -> Result<f64, CalculatorError> {
    if base == 0.0 && exponent < 0.0 {
        return Err(CalculatorError::ZeroToNegativePower);
    }
    if base < 0.0 && exponent.fract() != 0.0 {
        return Err(CalculatorError::NegativeToFraction);
    }
    finite(base.powf(exponent))
}

/// The shortest digits that read back as the same float, in Python's notation.
pub(super) fn to_text(value: f64) -> String {
    // Rust changes to an exponent at the same sizes as Python, but writes `1e16` and `1e-5` for `1e+16` and `1e-05`.
    let text = shortest(value);
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let (sign, exponent) =
                exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
            format!("{digits}e{sign}{exponent:0>2}")
        }
    }
}

/// The shortest digits that read back as `value`, in Rust's notation; of two equally near ones the even one.
fn shortest(value: f64) -> String {
    // Rust's own choice between two equally near ones is the odd one at times; rounding to a length is not.
    let text = format!("{value:?}");
    let digits = text.split('e').next().unwrap_or_default();
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let rounded =
        if text.contains('e') { format!("{value:.decimals$e}") } else { format!("{value:.decimals$}") };
    if rounded.parse() == Ok(value) { rounded } else { text }
}
