//! Whether values fit a schema, and the words for what does not.

use std::sync::{Arc, OnceLock};

use jsonschema::{
    PatternOptions, Retrieve, ValidationError, ValidationOptions, Validator, error::ValidationErrorKind,
    json::Json,
};
use serde_json::Value;
use toolyard_contract::{ExactValue, exact::LongNumbers, name};

use super::exact::ExactValidator;

/// How much a schema's error says of one value, in characters.
const MOST_QUOTED: usize = 300;

/// A schema, compiled when it is first needed.
#[derive(Default)]
pub(super) struct Fit {
    validator: OnceLock<Result<Validator, String>>,
    /// For values with numbers beyond 64 bits.
    exact: OnceLock<Result<Box<ExactValidator>, String>>,
}

impl Fit {
    /// Compiles the schema, if that has not been done.
    pub(super) fn compiled(&self, schema: &ExactValue) -> Result<&Validator, &String> {
        self.validator.get_or_init(|| compile(schema)).as_ref()
    }

    /// Checks a value that was read from `text`.
    pub(super) fn check(
        &self,
        what: &str,
        schema: &ExactValue,
        value: &Value,
        is_inexact: bool,
        text: &str,
    ) -> Result<(), String> {
        let unusable = |reason: &String| format!("the tool's {what} schema cannot be used: {reason}");
        let validator = self.compiled(schema).map_err(unusable)?;
        let what = if what == "input" { "arguments" } else { what };
        if is_inexact && let Ok(value) = ExactValue::read(text) {
            let compile =
                || ExactValidator::new(schema, || patterns(jsonschema::options_for())).map(Box::new);
            let exact = self.exact.get_or_init(compile).as_ref().map_err(unusable)?;
            return exact.validate(&value, |error, long| {
                describe(what, error, value.long().map(AsRef::as_ref), Some(long))
            });
        }
        let long = schema.long().map(AsRef::as_ref);
        validator.validate(value).map_err(|error| describe(what, &error, None, long))
    }
}

/// Patterns have a bounded effort, because schemas come from servers and documents.
fn patterns<F: Json>(
    options: ValidationOptions<'_, Arc<dyn Retrieve>, F>,
) -> ValidationOptions<'_, Arc<dyn Retrieve>, F> {
    const BACKTRACK_LIMIT: usize = 100_000;
    options.with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT))
}

/// Compiles a schema. Formats are not asserted.
fn compile(schema: &Value) -> Result<Validator, String> {
    let options = patterns(jsonschema::options());
    options.build(schema).map_err(|error| name::short(error.to_string(), MOST_QUOTED))
}

fn describe(
    what: &str,
    error: &ValidationError<'_>,
    given: Option<&LongNumbers>,
    allowed: Option<&LongNumbers>,
) -> String {
    let place = error.instance_path().to_string();
    let place = if place.is_empty() { "the top".to_owned() } else { place };
    let words = match (given, allowed) {
        (None, None) => error.to_string(),
        _ => with_digits(error, given, allowed),
    };
    format!("{what} do not fit the schema: at {place}: {}", name::short(words, MOST_QUOTED))
}

/// Words an error as the library does, with all digits of long numbers: those of the value, and those of the schema.
fn with_digits(
    error: &ValidationError<'_>,
    given: Option<&LongNumbers>,
    allowed: Option<&LongNumbers>,
) -> String {
    use ValidationErrorKind as Kind;
    let written = |value: &Value, long: Option<&LongNumbers>| match long {
        Some(long) => long.written(value),
        None => value.to_string(),
    };
    let given = written(error.instance(), given);
    let allowed = |value: &Value| written(value, allowed);
    match error.kind() {
        Kind::Maximum { limit } => format!("{given} is greater than the maximum of {}", allowed(limit)),
        Kind::Minimum { limit } => format!("{given} is less than the minimum of {}", allowed(limit)),
        Kind::ExclusiveMaximum { limit } => {
            format!("{given} is greater than or equal to the maximum of {}", allowed(limit))
        }
        Kind::ExclusiveMinimum { limit } => {
            format!("{given} is less than or equal to the minimum of {}", allowed(limit))
        }
        Kind::MultipleOf { multiple_of } => {
            format!("{given} is not a multiple of {}", allowed(&(*multiple_of).into()))
        }
        Kind::Constant { expected_value } => format!("{} was expected", allowed(expected_value)),
        Kind::Enum { options } => format!("{given} is not one of {}", allowed(options)),
        Kind::Not { schema } => format!("{} is not allowed for {given}", allowed(schema)),
        // By digits, with the divisor in its words.
        Kind::Custom { message, .. } => format!("{given} {message}"),
        _ => error.masked_with(given).to_string(),
    }
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
