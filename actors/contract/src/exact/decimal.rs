//! What a JSON number is worth, exactly.

use std::cmp::Ordering;

use crate::canonical::parts;

/// The value of a JSON number, of any size and in any notation: `1e3`, `1000.0` and `1000` are one value.
///
/// An exponent beyond 64 bits counts as the largest one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    is_negative: bool,
    /// Without zeros at either end; none at all for zero.
    digits: String,
    /// The power of ten that the last digit counts.
    exponent: i64,
}

impl Decimal {
    /// Reads a JSON number.
    pub fn of(number: &str) -> Self {
        let (digits, exponent, is_negative) = parts(number);
        let exponent = if digits.is_empty() { 0 } else { exponent };
        Self { is_negative, digits, exponent }
    }

    /// Tells whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.is_negative
    }

    /// The digits without zeros at either end; none at all for zero.
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// The power of ten that the last digit counts.
    pub fn exponent(&self) -> i64 {
        self.exponent
    }

    /// Tells whether it has no fraction.
    pub fn is_whole(&self) -> bool {
        self.exponent >= 0
    }

    /// Tells whether it is below every integer of 64 bits, or above.
    pub fn is_long(&self) -> bool {
        const DIGITS: i64 = 20; // of `u64::MAX`
        match self.magnitude() {
            magnitude if magnitude < DIGITS - 1 => false,
            magnitude if magnitude > DIGITS => true,
            _ if self.is_negative => *self < Self::of(&i64::MIN.to_string()),
            _ => *self > Self::of(&u64::MAX.to_string()),
        }
    }

    /// How many digits stand before the point; fewer than one for small fractions.
    fn magnitude(&self) -> i64 {
        self.exponent.saturating_add(i64::try_from(self.digits.len()).unwrap_or(i64::MAX))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match number.digits.is_empty() {
            true => 0,
            false if number.is_negative => -1,
            false => 1,
        };
        // No digits end with a zero, so that those which begin like others are less.
        let size = || self.magnitude().cmp(&other.magnitude()).then_with(|| self.digits.cmp(&other.digits));
        match sign(self).cmp(&sign(other)) {
            Ordering::Equal if sign(self) == 0 => Ordering::Equal,
            Ordering::Equal if self.is_negative => size().reverse(),
            Ordering::Equal => size(),
            unequal => unequal,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
