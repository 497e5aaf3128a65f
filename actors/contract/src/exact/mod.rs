//! JSON values that keep the digits of numbers of any size, without a setting of `serde_json` that would change the
//! host's build.

use std::{collections::BTreeMap, fmt, ops::Deref, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap};
use serde_json::{Map, Number, Value, value::RawValue};

use crate::digits::numbers;

mod decimal;
mod long;
#[cfg(test)]
mod tests;

pub use decimal::Decimal;
pub use long::{LongNumber, LongNumbers};

/// A JSON value that knows the digits of its long numbers: those that integers of 64 bits do not reach.
///
/// It is read from text, and written as text with every digit. As a [`Value`] (by [`Deref`]) it has a double of its own
/// in place of each long number, close to it. One made of a [`Value`] has only what that has: numbers of 64 bits.
///
/// ```
/// use toolyard_contract::ExactValue;
///
/// let schema = ExactValue::read(r#"{"maximum": 1000000000000000000000000000001}"#)?;
/// assert_eq!(schema["maximum"].as_f64(), Some(1e30));
/// assert_eq!(schema.to_string(), r#"{"maximum":1000000000000000000000000000001}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExactValue {
    value: Value,
    /// None for nearly all.
    long: Option<Arc<LongNumbers>>,
}

impl ExactValue {
    /// Reads a JSON text.
    ///
    /// # Errors
    /// When it is not one JSON value, or is nested deeper than 128. Of duplicate keys the last counts.
    pub fn read(text: &str) -> serde_json::Result<Self> {
        if !has_inexact(text) {
            return Ok(serde_json::from_str::<Value>(text)?.into());
        }
        let raw: &RawValue = serde_json::from_str(text)?;
        let decimals = numbers(text).map(|(start, end)| &text[start..end]);
        let long = decimals.map(|number| (Decimal::of(number), number)).filter(|(value, _)| value.is_long());
        let long = LongNumbers::new(long);
        let value = read(raw, &long, 0)?;
        Ok(Self { value, long: (!long.is_empty()).then(|| long.into()) })
    }

    /// The value, with doubles in place of long numbers.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Takes the value out, and the digits away.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The long numbers, if there are any.
    pub fn long(&self) -> Option<&Arc<LongNumbers>> {
        self.long.as_ref()
    }

    /// Another value that is made of parts of this one: its doubles stand for the same numbers.
    #[must_use]
    pub fn with_value(&self, value: Value) -> Self {
        Self { value, long: self.long.clone() }
    }
}

/// Tells whether a JSON text has numbers that a [`Value`] may not hold exactly: integers beyond 64 bits, and fractions and
/// exponents beyond the integers that doubles hold.
pub fn has_inexact(text: &str) -> bool {
    numbers(text).any(|(start, end)| {
        let number = &text[start..end];
        if number.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) {
            return number.parse().is_ok_and(is_inexact);
        }
        const ALWAYS_FIT: usize = 18;
        number.len() > ALWAYS_FIT && number.parse::<u64>().is_err() && number.parse::<i64>().is_err()
    })
}

/// Tells whether a double that was read may be another number than was written, though an integer was written.
pub(crate) fn is_inexact(double: f64) -> bool {
    const FIRST: f64 = 9_007_199_254_740_992.0; // 2^53
    double.abs() >= FIRST
}

/// The nesting that `serde_json` takes.
const DEPTH: usize = 128;

fn read(raw: &RawValue, long: &LongNumbers, depth: usize) -> serde_json::Result<Value> {
    if depth > DEPTH {
        return Err(serde_json::Error::custom("recursion limit exceeded"));
    }
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let entries: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
            let read = |(key, raw)| Ok((key, read(raw, long, depth + 1)?));
            Value::Object(entries.into_iter().map(read).collect::<serde_json::Result<Map<_, _>>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            items.into_iter().map(|raw| read(raw, long, depth + 1)).collect::<serde_json::Result<_>>()?
        }
        Some(b'-' | b'0'..=b'9') => number(text, long)?,
        _ => serde_json::from_str(text)?,
    })
}

fn number(text: &str, long: &LongNumbers) -> serde_json::Result<Value> {
    let value = Decimal::of(text);
    if value.is_long() {
        // All long numbers of the text are there.
        return Ok(long.double_of(&value).and_then(Number::from_f64).map_or(Value::Null, Value::Number));
    }
    let read: Number = serde_json::from_str(text)?;
    // Written as a fraction or with an exponent, an integer may be one that its double is not, or is not written as.
    let is_double = read.as_f64().is_some_and(is_inexact) && read.is_f64();
    if is_double && value.is_whole() && Decimal::of(&read.to_string()) != value {
        return serde_json::from_str(&crate::canonical::number(text));
    }
    Ok(Value::Number(read))
}

impl From<Value> for ExactValue {
    fn from(value: Value) -> Self {
        Self { value, long: None }
    }
}

impl Deref for ExactValue {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

impl PartialEq<Value> for ExactValue {
    fn eq(&self, other: &Value) -> bool {
        self.long.is_none() && self.value == *other
    }
}

/// As JSON text, on one line.
impl fmt::Display for ExactValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// Needs a serializer of `serde_json` that writes text, where there are long numbers.
impl Serialize for ExactValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.long {
            None => self.value.serialize(serializer),
            Some(long) => Part { value: &self.value, long }.serialize(serializer),
        }
    }
}

/// Needs a deserializer of `serde_json` that reads text.
impl<'de> Deserialize<'de> for ExactValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        Self::read(text.get()).map_err(D::Error::custom)
    }
}

impl LongNumbers {
    /// Writes a value in which doubles stand for these numbers, with their digits, as JSON text.
    pub fn written(&self, value: &Value) -> String {
        // Writing a value to memory does not fail.
        serde_json::to_string(&Part { value, long: self }).unwrap_or_default()
    }
}

struct Part<'a> {
    value: &'a Value,
    long: &'a LongNumbers,
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let part = |value| Part { value, long: self.long };
        match self.value {
            Value::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, &part(value))?;
                }
                map.end()
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(part)),
            Value::Number(number) if number.is_f64() => {
                match number.as_f64().and_then(|double| self.long.at(double)) {
                    Some(long) => match RawValue::from_string(long.text.clone().into()) {
                        Ok(raw) => raw.serialize(serializer),
                        Err(_) => number.serialize(serializer),
                    },
                    None => number.serialize(serializer),
                }
            }
            other => other.serialize(serializer),
        }
    }
}
