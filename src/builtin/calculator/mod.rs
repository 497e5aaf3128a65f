//! Arithmetic with the results and the texts of Python, at a bounded cost.
//!
//! An expression is parsed into steps for a stack machine (`parser`), which then runs them (`machine`)
//! on exact integers and 64-bit floats (`number`). Nothing recurses, and every cost is known before it is paid.

mod error;
mod float;
mod integer;
mod machine;
mod number;
mod parser;
#[cfg(test)]
mod tests;
mod tool;

pub use error::CalculatorError;
pub use tool::CalculatorTool;

/// The longest expression, in bytes: a long column of figures fits, and parsing stays far below a millisecond.
pub const MAX_EXPRESSION_BYTES: usize = 10_000;

/// The deepest nesting of parentheses, the same as Python's parser allows.
pub const MAX_NESTING: usize = 200;

/// The most digits that an integer may have, the same as Python turns into text by default.
pub const MAX_DIGITS: usize = 4_300;

/// Evaluates an arithmetic expression and returns the text that Python would print for its value.
///
/// It may contain digits, `+ - * / // % **`, a decimal point, parentheses and spaces. Integers are exact; `/` always
/// gives a float, `//` and `%` round towards negative infinity, and `**` binds tighter than a sign on its left.
///
/// # Errors
///
/// [`CalculatorError`] when the text is not such an expression, when the value does not exist (division by zero, a
/// negative number raised to a fraction), or when it would be larger than the limits of this module. Unlike Python,
/// it never answers with `inf` or a complex number, and a limit applies to values on the way as well.
///
/// ```
/// use toolyard::builtin::calculator::evaluate;
///
/// assert_eq!(evaluate("2 + 2")?, "4");
/// assert_eq!(evaluate("-7 // 2")?, "-4");
/// assert_eq!(evaluate("2**-1")?, "0.5");
/// assert!(evaluate("9**9**9").is_err());
/// # Ok::<(), toolyard::builtin::calculator::CalculatorError>(())
/// ```
pub fn evaluate(expression: &str) -> Result<String, CalculatorError> {
    machine::run(parser::parse(expression)?)?.into_text()
}
