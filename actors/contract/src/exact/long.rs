//! The long numbers of one JSON text.

use super::Decimal;

/// The least double that may stand for a number above 64 bits: one more lies between it and all integers of 64 bits.
const LEAST: u64 = (18_446_744_073_709_551_616_f64).to_bits() + 1;
/// The same below zero, without the sign.
const LEAST_NEGATIVE: u64 = (9_223_372_036_854_775_808_f64).to_bits() + 2;

/// The numbers of a JSON text that integers of 64 bits do not reach, and the double that stands for each.
///
/// Doubles are in the order of the numbers, and between any two of them is a third. So comparing doubles compares
/// numbers, also others than these: [`double_of`](Self::double_of).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LongNumbers(Box<[LongNumber]>);

/// A number that integers of 64 bits do not reach.
#[derive(Clone, Debug, PartialEq)]
pub struct LongNumber {
    /// What it is worth.
    pub value: Decimal,
    /// As it was written.
    pub text: Box<str>,
    /// What stands for it among other JSON values.
    pub double: f64,
}

impl LongNumbers {
    /// Gives each number a double: the nearest one, if no other number is too near.
    pub(super) fn new<'a>(numbers: impl IntoIterator<Item = (Decimal, &'a str)>) -> Self {
        let mut long: Vec<LongNumber> = numbers
            .into_iter()
            .map(|(value, text)| LongNumber { value, text: text.into(), double: 0.0 })
            .collect();
        long.sort_by(|a, b| a.value.cmp(&b.value));
        long.dedup_by(|later, first| later.value == first.value);
        let positive = long.partition_point(|number| number.value.is_negative());
        let (below, above) = long.split_at_mut(positive);
        below.reverse();
        place(below, LEAST_NEGATIVE);
        below.reverse();
        place(above, LEAST);
        Self(long.into())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number that a double stands for.
    pub fn at(&self, double: f64) -> Option<&LongNumber> {
        let place = self.0.binary_search_by(|number| number.double.total_cmp(&double)).ok()?;
        Some(&self.0[place])
    }

    /// The double that stands for a long number: its own, or one between those of its neighbours. `None`: it is further
    /// from zero than all that doubles stand for.
    pub fn double_of(&self, value: &Decimal) -> Option<f64> {
        let place = self.0.partition_point(|number| number.value < *value);
        if let Some(same) = self.0.get(place).filter(|number| number.value == *value) {
            return Some(same.double);
        }
        let double = if value.is_negative() {
            let above = self.0.get(place).filter(|number| number.value.is_negative());
            above.map_or(-f64::from_bits(LEAST_NEGATIVE - 1), |above| above.double.next_down())
        } else {
            let below = self.0[..place].last().filter(|number| !number.value.is_negative());
            below.map_or(f64::from_bits(LEAST - 1), |below| below.double.next_up())
        };
        Some(double).filter(|double| double.is_finite())
    }
}

/// Gives doubles to numbers of one sign, from those next to zero on.
fn place(numbers: &mut [LongNumber], mut least: u64) {
    for number in numbers.iter_mut() {
        // Infinite where it is larger than all doubles.
        let nearest: f64 = number.text.parse().unwrap_or(f64::MAX);
        let bits = nearest.abs().min(f64::MAX).to_bits().max(least);
        number.double = f64::from_bits(bits.min(f64::MAX.to_bits()));
        least = bits.saturating_add(2);
    }
    // Those that found no room below the largest double push the others down.
    let mut most = f64::MAX.to_bits();
    for number in numbers.iter_mut().rev() {
        let bits = number.double.to_bits().min(most);
        most = bits.saturating_sub(2);
        number.double = f64::from_bits(bits).copysign(if number.value.is_negative() { -1.0 } else { 1.0 });
    }
}
