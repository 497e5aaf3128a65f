use super::{MAX_DIGITS, MAX_EXPRESSION_BYTES, MAX_NESTING};

/// Says why an expression has no value; positions count characters from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CalculatorError {
    /// There is nothing but spaces.
    #[error("the expression is empty: send one such as `2 + 2`")]
    Empty,
    /// The text is longer than [`MAX_EXPRESSION_BYTES`].
    #[error("the expression has {bytes} bytes and may have {MAX_EXPRESSION_BYTES}: send it in parts")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// A character that no expression has, such as a letter or a tab.
    #[error(
        "character {found:?} at position {position} is not allowed: \
         use digits, + - * / // % **, a dot, parentheses and spaces"
    )]
    Character {
        /// The character.
        found: char,
        /// Where it stands.
        position: usize,
    },
    /// Something stands where it makes no sense, such as a `*` at the start.
    #[error("`{found}` at position {position} is not expected there: {expected} is")]
    Unexpected {
        /// The operator, parenthesis or number.
        found: String,
        /// Where it starts.
        position: usize,
        /// What could stand there.
        expected: &'static str,
    },
    /// The text stops where a number has to follow.
    #[error("the expression ends where {expected} is expected")]
    Incomplete {
        /// What has to follow.
        expected: &'static str,
    },
    /// A `(` has no `)`.
    #[error("the `(` at position {position} is never closed")]
    Unclosed {
        /// Where the parenthesis stands.
        position: usize,
    },
    /// An integer that starts with a zero, which Python refuses as well.
    #[error("the integer at position {position} starts with a zero: leave the zero out")]
    LeadingZero {
        /// Where the integer starts.
        position: usize,
    },
    /// Parentheses are nested deeper than [`MAX_NESTING`].
    #[error("parentheses are nested deeper than {MAX_NESTING}: send the expression in parts")]
    TooDeep,
    /// An integer would have more than [`MAX_DIGITS`] digits.
    #[error("an integer would have more than {MAX_DIGITS} digits: use smaller numbers")]
    TooManyDigits,
    /// A float would be beyond about `1.8e308`.
    #[error("a decimal number would be larger than 1.8e308: use smaller numbers, or integers only")]
    TooLargeForFloat,
    /// The operations would together cost more than a calculator may.
    #[error("the expression needs too much computing: send it in parts")]
    TooMuchWork,
    /// The right side of `/`, `//` or `%` is zero.
    #[error("division by zero")]
    DivisionByZero,
    /// Zero raised to a negative power divides by zero.
    #[error("zero cannot be raised to a negative power")]
    ZeroToNegativePower,
    /// The value is a complex number, which this calculator does not have.
    #[error("a negative number cannot be raised to a fraction: the result is not a real number")]
    NegativeToFraction,
}
