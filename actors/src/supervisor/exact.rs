//! Values with numbers beyond 64 bits, in the form in which the schema library looks at them.
//!
//! The library compares numbers as integers of 64 bits and as doubles. So a long number shows itself to it as a double
//! that stands to those in the schema as the number itself stands to theirs; only dividing needs the digits.

use std::{borrow::Cow, slice, sync::Arc};

use jsonschema::{
    JsonType, Keyword, ValidationError, Validator,
    json::{Array, Json, JsonNumber, Node, NodeIdentity, Object, cmp},
};
use num_bigint::BigUint;
use serde_json::{Map, Number, Value, map};
use toolyard_contract::{
    ExactValue,
    exact::{Decimal, LongNumber, LongNumbers},
};

/// A schema for values with long numbers.
pub(super) struct ExactValidator {
    validator: Validator<ExactJson>,
    /// The schema's own long numbers.
    long: Arc<LongNumbers>,
}

impl ExactValidator {
    /// Compiles a schema that compiles for other values.
    pub(super) fn new(schema: &ExactValue, options: impl FnOnce() -> Options) -> Result<Self, String> {
        // One made in Rust may have doubles that are long numbers.
        let read = schema.long().is_none().then(|| ExactValue::read(&schema.to_string()));
        let read = read.transpose().map_err(|error| error.to_string())?;
        let schema = read.as_ref().unwrap_or(schema);
        let long = schema.long().cloned().unwrap_or_default();
        let of_keyword = long.clone();
        let options = options().with_keyword("multipleOf", move |_, value, _| {
            let text = of_keyword.written(value);
            let divisor = Decimal::of(&text);
            Ok(Box::new(MultipleOf { text, divisor }) as Box<dyn for<'i> Keyword<'i, ExactJson>>)
        });
        let validator = options.build(schema).map_err(|error| error.to_string())?;
        Ok(Self { validator, long })
    }

    /// Says what is wrong with a value, to `word` it.
    pub(super) fn validate<T>(
        &self,
        value: &ExactValue,
        word: impl FnOnce(&ValidationError<'_>, &LongNumbers) -> T,
    ) -> Result<(), T> {
        let none = Arc::default();
        let numbers = Numbers { given: value.long().unwrap_or(&none), allowed: &self.long };
        let node = ExactNode { value, numbers: Some(&numbers) };
        self.validator.validate(node).map_err(|error| word(&error, &self.long))
    }
}

pub(super) type Options = jsonschema::ValidationOptions<'static, Arc<dyn jsonschema::Retrieve>, ExactJson>;

/// The form of values with long numbers.
pub(super) struct ExactJson;

/// The long numbers of a value, and of the schema.
struct Numbers<'a> {
    given: &'a LongNumbers,
    allowed: &'a LongNumbers,
}

#[derive(Clone, Copy)]
pub(super) struct ExactNode<'a> {
    value: &'a Value,
    /// None for the name of a property.
    numbers: Option<&'a Numbers<'a>>,
}

impl<'a> ExactNode<'a> {
    fn number(&self, number: &'a Number) -> ExactNumber<'a> {
        let long = || {
            let numbers = self.numbers?;
            let long = numbers.given.at(number.as_f64().filter(|_| number.is_f64())?)?;
            Some((long, numbers.allowed.double_of(&long.value)))
        };
        match long() {
            Some((long, double)) => ExactNumber::Long { long, double, number },
            None => ExactNumber::Short(number),
        }
    }

    fn with(&self, value: &'a Value) -> Self {
        Self { value, ..*self }
    }
}

/// A number, as it stands to those of the schema.
pub(super) enum ExactNumber<'a> {
    Short(&'a Number),
    /// `double`: none if it is further from zero than all that the schema has.
    Long {
        long: &'a LongNumber,
        double: Option<f64>,
        number: &'a Number,
    },
}

impl JsonNumber for ExactNumber<'_> {
    fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Short(number) => number.as_u64(),
            Self::Long { .. } => None,
        }
    }

    fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Short(number) => number.as_i64(),
            Self::Long { .. } => None,
        }
    }

    fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Short(number) => number.as_f64(),
            Self::Long { double, .. } => *double,
        }
    }

    fn as_str(&self) -> Cow<'_, str> {
        match self {
            Self::Short(number) => Cow::Owned(number.to_string()),
            Self::Long { long, .. } => Cow::Borrowed(&long.text),
        }
    }

    fn to_number(&self) -> Cow<'_, Number> {
        let (Self::Short(number) | Self::Long { number, .. }) = self;
        Cow::Borrowed(number)
    }

    fn is_integer(&self) -> bool {
        match self {
            Self::Short(number) => JsonNumber::is_integer(number),
            Self::Long { long, .. } => long.value.is_whole(),
        }
    }

    fn is_written_as_integer(&self) -> bool {
        match self {
            Self::Short(number) => JsonNumber::is_written_as_integer(number),
            Self::Long { long, .. } => long.value.is_whole(),
        }
    }
}

impl Json for ExactJson {
    type Node<'a> = ExactNode<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(ExactNode<'_>) -> T) -> T {
        *buffer = Value::String(string.to_owned());
        f(ExactNode { value: buffer, numbers: None })
    }
}

impl<'a> Node<'a, ExactJson> for ExactNode<'a> {
    type Object = ExactObject<'a>;
    type Array = ExactArray<'a>;
    type Number = ExactNumber<'a>;

    fn as_object(&self) -> Option<ExactObject<'a>> {
        Some(ExactObject { entries: self.value.as_object()?, node: *self })
    }

    fn as_array(&self) -> Option<ExactArray<'a>> {
        Some(ExactArray { items: self.value.as_array()?, node: *self })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.value.as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<ExactNumber<'a>> {
        self.value.as_number().map(|number| self.number(number))
    }

    fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool()
    }

    fn is_null(&self) -> bool {
        self.value.is_null()
    }

    fn is_number(&self) -> bool {
        self.value.is_number()
    }

    fn json_type(&self) -> JsonType {
        JsonType::from(self.value)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match (self.value, expected) {
            (Value::Number(number), Value::Number(expected)) => {
                cmp::equal_numbers(&self.number(number), expected)
            }
            (Value::Array(items), Value::Array(expected)) => {
                let mut pairs = items.iter().zip(expected);
                items.len() == expected.len() && pairs.all(|(a, b)| self.with(a).equals_value(b))
            }
            (Value::Object(entries), Value::Object(expected)) => {
                let is_same = |(key, value): (&String, &'a Value)| {
                    expected.get(key).is_some_and(|expected| self.with(value).equals_value(expected))
                };
                entries.len() == expected.len() && entries.iter().all(is_same)
            }
            (value, expected) => cmp::equal(value, expected),
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Borrowed(self.value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref(self.value) as usize))
    }
}

pub(super) struct ExactObject<'a> {
    entries: &'a Map<String, Value>,
    node: ExactNode<'a>,
}

impl<'a> Object<'a, ExactJson> for ExactObject<'a> {
    type Node = ExactNode<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.entries.len()
    }

    fn get(&self, key: &String) -> Option<ExactNode<'a>> {
        self.entries.get(key).map(|value| self.node.with(value))
    }

    fn members(&self) -> Members<'a> {
        Members { entries: self.entries.iter(), node: self.node }
    }
}

pub(super) struct Members<'a> {
    entries: map::Iter<'a>,
    node: ExactNode<'a>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, ExactNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next().map(|(key, value)| (key.as_str(), self.node.with(value)))
    }
}

/// Equal items are found by the doubles of the value's own long numbers, of which each has another.
pub(super) struct ExactArray<'a> {
    items: &'a [Value],
    node: ExactNode<'a>,
}

impl<'a> Array<'a, ExactJson> for ExactArray<'a> {
    type Node = ExactNode<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> Elements<'a> {
        Elements { items: self.items.iter(), node: self.node }
    }
}

pub(super) struct Elements<'a> {
    items: slice::Iter<'a, Value>,
    node: ExactNode<'a>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = ExactNode<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.items.next().map(|value| self.node.with(value))
    }
}

/// The keyword `multipleOf`, by the digits.
struct MultipleOf {
    text: String,
    /// A number above zero: schemas with others are refused.
    divisor: Decimal,
}

impl<'i> Keyword<'i, ExactJson> for MultipleOf {
    fn validate(&self, node: ExactNode<'i>) -> Result<(), ValidationError<'i>> {
        let error = || ValidationError::custom(format!("is not a multiple of {}", self.text));
        if self.is_valid(node) { Ok(()) } else { Err(error()) }
    }

    fn is_valid(&self, node: ExactNode<'i>) -> bool {
        let given = || match node.as_number()? {
            ExactNumber::Long { long, .. } => Some(Cow::Borrowed(&long.value)),
            ExactNumber::Short(number) => Some(Cow::Owned(Decimal::of(&number.to_string()))),
        };
        given().is_none_or(|number| is_multiple(&number, &self.divisor))
    }
}

/// Divides as on paper. Digits end with no zero, so a number is no multiple of what counts higher powers of ten.
fn is_multiple(number: &Decimal, divisor: &Decimal) -> bool {
    if number.digits().is_empty() {
        return true;
    }
    let Some(zeros) = number.exponent().checked_sub(divisor.exponent()).and_then(|n| u64::try_from(n).ok())
    else {
        return false;
    };
    let modulus = rest(divisor.digits(), None);
    if modulus == BigUint::ZERO {
        return false;
    }
    let shift = BigUint::from(10_u8).modpow(&zeros.into(), &modulus);
    rest(number.digits(), Some(&modulus)) * shift % modulus == BigUint::ZERO
}

/// What remains of digits after division. It takes time in proportion to the number of digits, times that of the modulus.
fn rest(digits: &str, modulus: Option<&BigUint>) -> BigUint {
    const CHUNK: usize = 18; // as many as always fit 64 bits
    digits.as_bytes().chunks(CHUNK).fold(BigUint::ZERO, |rest, chunk| {
        let (factor, more) = chunk
            .iter()
            .fold((1_u64, 0_u64), |(factor, sum), digit| (factor * 10, sum * 10 + u64::from(digit - b'0')));
        let sum = rest * factor + more;
        match modulus {
            Some(modulus) => sum % modulus,
            None => sum,
        }
    })
}
