//! Exact integers: what could become too large is refused before it is computed.

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

use super::{CalculatorError, MAX_DIGITS, float};

/// The bits of the largest integer of [`MAX_DIGITS`] digits: `ceil(4300 * log2(10))`.
pub(super) const MAX_BITS: u64 = 14_285;

pub(super) fn from_digits(digits: &str) -> Result<BigInt, CalculatorError> {
    if digits.len() > MAX_DIGITS {
        return Err(CalculatorError::TooManyDigits);
    }
    Ok(digits.parse().expect("digits are an integer"))
}

pub(super) fn to_text(value: &BigInt) -> Result<String, CalculatorError> {
    let text = value.to_string();
    if text.trim_start_matches('-').len() > MAX_DIGITS {
        return Err(CalculatorError::TooManyDigits);
    }
    Ok(text)
}

/// Converts to the nearest float, halves to the even one.
pub(super) fn to_float(value: &BigInt) -> Result<f64, CalculatorError> {
    float::finite(value.to_f64().unwrap_or(f64::INFINITY))
}

pub(super) fn bounded(value: BigInt) -> Result<BigInt, CalculatorError> {
    if value.bits() > MAX_BITS { Err(CalculatorError::TooManyDigits) } else { Ok(value) }
}

pub(super) fn multiply(a: &BigInt, b: &BigInt) -> Result<BigInt, CalculatorError> {
    // A product has as many bits as its factors together, or one less.
    if (a.bits() + b.bits()).saturating_sub(1) > MAX_BITS {
        return Err(CalculatorError::TooManyDigits);
    }
    bounded(a * b)
}

pub(super) fn power(base: &BigInt, exponent: &BigInt) -> Result<BigInt, CalculatorError> {
    let odd = exponent.is_odd();
    match base.magnitude().to_u8() {
        Some(0 | 1) if exponent.is_zero() => Ok(BigInt::from(1)),
        Some(1) if !odd => Ok(BigInt::from(1)),
        Some(0 | 1) => Ok(base.clone()),
        _ => {
            let times = exponent.to_u32().ok_or(CalculatorError::TooManyDigits)?;
            if (base.bits() - 1).saturating_mul(u64::from(times)) >= MAX_BITS {
                return Err(CalculatorError::TooManyDigits);
            }
            bounded(base.pow(times))
        }
    }
}

pub(super) fn floor_divide(a: &BigInt, b: &BigInt) -> Result<BigInt, CalculatorError> {
    if b.is_zero() { Err(CalculatorError::DivisionByZero) } else { Ok(a.div_floor(b)) }
}

pub(super) fn modulo(a: &BigInt, b: &BigInt) -> Result<BigInt, CalculatorError> {
    if b.is_zero() { Err(CalculatorError::DivisionByZero) } else { Ok(a.mod_floor(b)) }
}

/// Divides and rounds once, so that the result is the float nearest to the true quotient.
pub(super) fn true_divide(a: &BigInt, b: &BigInt) -> Result<f64, CalculatorError> {
    if b.is_zero() {
        return Err(CalculatorError::DivisionByZero);
    }
    let negative = (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus);
    let magnitude = nearest_quotient(a.magnitude(), b.magnitude());
    float::finite(if negative { -magnitude } else { magnitude })
}

/// The bits of a float's mantissa, and the exponent of the smallest float above zero.
const MANTISSA_BITS: i64 = 53;
const SMALLEST_EXPONENT: i64 = -1_074;

#[allow(
    clippy::arithmetic_side_effects,
    reason = "clippy does not know that shifts of a BigInt cannot overflow"
)]
fn nearest_quotient(a: &BigUint, b: &BigUint) -> f64 {
    let quotient_bits = signed(a.bits()) - signed(b.bits());
    if quotient_bits < SMALLEST_EXPONENT - 1 {
        return 0.0;
    }
    // The quotient in units of 2^exponent has two or three bits below the mantissa; for floats with a shorter
    // mantissa, near zero, it has fewer bits, but always two below.
    let exponent = (quotient_bits - MANTISSA_BITS).max(SMALLEST_EXPONENT) - 2;
    let (quotient, rest) = if exponent < 0 {
        (a << exponent.unsigned_abs()).div_rem(b)
    } else {
        a.div_rem(&(b << exponent.unsigned_abs()))
    };
    let quotient = quotient.to_u64().expect("at most three bits more than a mantissa");
    // A sticky bit stands for everything below.
    round_to_float(quotient | u64::from(!rest.is_zero()), exponent)
}

/// Rounds `units * 2^exponent`, whose lowest two or three bits are beyond the mantissa, to the nearest float.
fn round_to_float(units: u64, exponent: i64) -> f64 {
    let bits = i64::from(u64::BITS - units.leading_zeros());
    let beyond = (bits - MANTISSA_BITS).max(2);
    let unit = 1_u64 << beyond;
    let (floor, rest) = (units / unit, units % unit);
    let up = rest > unit / 2 || (rest == unit / 2 && floor % 2 == 1);
    #[expect(clippy::cast_precision_loss, reason = "at most 2^53, which a float holds exactly")]
    let mantissa = (floor + u64::from(up)) as f64;
    // Two exact steps: one alone could leave the range of a float's exponent.
    let exponent = exponent + beyond;
    mantissa * power_of_two(exponent / 2) * power_of_two(exponent - exponent / 2)
}

fn power_of_two(exponent: i64) -> f64 {
    let exponent = i32::try_from(exponent).unwrap_or(i32::MAX);
    2_f64.powi(exponent)
}

fn signed(bits: u64) -> i64 {
    i64::try_from(bits).expect("bounded by MAX_BITS")
}
