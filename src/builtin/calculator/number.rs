use num_bigint::{BigInt, Sign};

use super::{CalculatorError, float, integer};

type Outcome = Result<Number, CalculatorError>;

/// A value: an exact integer, or a float that is never infinite and never NaN.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Number {
    Int(BigInt),
    Float(f64),
}

/// Two operands after Python's rule for mixing: a float on either side makes both floats.
enum Pair {
    Ints(BigInt, BigInt),
    Floats(f64, f64),
}

impl Number {
    /// Reads ASCII digits with at most one dot among them.
    pub(super) fn from_literal(text: &str) -> Outcome {
        if text.contains('.') {
            let value = text.parse().expect("digits and one dot are a float");
            return float::finite(value).map(Self::Float);
        }
        integer::from_digits(text).map(Self::Int)
    }

    pub(super) fn into_text(self) -> Result<String, CalculatorError> {
        match self {
            Self::Int(value) => integer::to_text(&value),
            Self::Float(value) => Ok(float::to_text(value)),
        }
    }

    /// The size in 64-bit words.
    pub(super) fn words(&self) -> u64 {
        match self {
            Self::Int(value) => value.bits() / 64 + 1,
            Self::Float(_) => 1,
        }
    }

    /// The size of this number raised to `exponent`, at most that of the largest integer allowed.
    pub(super) fn words_of_power(&self, exponent: &Self) -> u64 {
        match (self, exponent) {
            (Self::Int(base), Self::Int(exponent)) if exponent.sign() == Sign::Plus => {
                let times = u64::try_from(exponent).unwrap_or(u64::MAX);
                base.bits().saturating_mul(times).min(integer::MAX_BITS) / 64 + 1
            }
            _ => 1,
        }
    }

    pub(super) fn negate(self) -> Self {
        match self {
            Self::Int(value) => Self::Int(-value),
            Self::Float(value) => Self::Float(-value),
        }
    }

    pub(super) fn add(self, other: Self) -> Outcome {
        match self.paired_with(other)? {
            Pair::Ints(a, b) => integer::bounded(a + b).map(Self::Int),
            Pair::Floats(a, b) => float::finite(a + b).map(Self::Float),
        }
    }

    pub(super) fn subtract(self, other: Self) -> Outcome {
        match self.paired_with(other)? {
            Pair::Ints(a, b) => integer::bounded(a - b).map(Self::Int),
            Pair::Floats(a, b) => float::finite(a - b).map(Self::Float),
        }
    }

    pub(super) fn multiply(self, other: Self) -> Outcome {
        match self.paired_with(other)? {
            Pair::Ints(a, b) => integer::multiply(&a, &b).map(Self::Int),
            Pair::Floats(a, b) => float::finite(a * b).map(Self::Float),
        }
    }

    pub(super) fn divide(self, other: Self) -> Outcome {
        match self.paired_with(other)? {
            Pair::Ints(a, b) => integer::true_divide(&a, &b),
            Pair::Floats(a, b) => float::divide(a, b),
        }
        .map(Self::Float)
    }

    pub(super) fn floor_divide(self, other: Self) -> Outcome {
        match self.paired_with(other)? {
            Pair::Ints(a, b) => integer::floor_divide(&a, &b).map(Self::Int),
            Pair::Floats(a, b) => float::floor_divide(a, b).map(Self::Float),
        }
    }

    pub(super) fn modulo(self, other: Self) -> Outcome {
        match self.paired_with(other)? {
            Pair::Ints(a, b) => integer::modulo(&a, &b).map(Self::Int),
            Pair::Floats(a, b) => float::modulo(a, b).map(Self::Float),
        }
    }

    pub(super) fn power(self, exponent: Self) -> Outcome {
        match self.paired_with(exponent)? {
            Pair::Ints(a, b) if b.sign() != Sign::Minus => integer::power(&a, &b).map(Self::Int),
            Pair::Ints(a, b) => float::power(integer::to_float(&a)?, integer::to_float(&b)?).map(Self::Float),
            Pair::Floats(a, b) => float::power(a, b).map(Self::Float),
        }
    }

    fn paired_with(self, other: Self) -> Result<Pair, CalculatorError> {
        Ok(match (self, other) {
            (Self::Int(a), Self::Int(b)) => Pair::Ints(a, b),
            (Self::Int(a), Self::Float(b)) => Pair::Floats(integer::to_float(&a)?, b),
            (Self::Float(a), Self::Int(b)) => Pair::Floats(a, integer::to_float(&b)?),
            (Self::Float(a), Self::Float(b)) => Pair::Floats(a, b),
        })
    }
}
