//! What the code that `#[tool]` writes refers to. Not for use by hand.

use std::{
    collections::{BTreeMap, HashMap},
    marker::PhantomData,
};

pub use schemars::{self, JsonSchema};
pub use serde::{self, Deserialize};

pub use crate::{CallContext, FunctionTool, IntoReturn, StatefulFunction, ToolSpec};

/// A type that serde reads exactly where its schema allows it, so that reading is a full check.
///
/// Not for types of users: an attribute on them can change either side alone.
pub trait Exact {}

macro_rules! exact {
    ($($type:ty),+) => { $(impl Exact for $type {})+ };
}

exact!(bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f32, f64, String, serde_json::Value);

impl<T: Exact> Exact for Option<T> {}
impl<T: Exact> Exact for Vec<T> {}
impl<T: Exact> Exact for BTreeMap<String, T> {}
impl<T: Exact, S> Exact for HashMap<String, T, S> {}

/// Tells of a named type whether it is [`Exact`]: the inherent constant is found first where its
/// bound holds, else the one of [`Inexact`].
pub struct Probe<T>(PhantomData<T>);

impl<T: Exact> Probe<T> {
    /// The type is exact.
    pub const EXACT: bool = true;
}

/// The answer for all types that are not [`Exact`].
pub trait Inexact {
    /// The type is not exact.
    const EXACT: bool = false;
}

impl<T> Inexact for Probe<T> {}

/// Demands of an async function's future what the engine demands, where the compiler can say which
/// value breaks it.
pub fn send<F: Future + Send>(future: F) -> F {
    future
}

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, sync::Arc};

    use super::*;
    use crate::{Invocation, Tool};

    #[test]
    fn the_probe_tells_exact_types_from_others() {
        let exact = [Probe::<Option<Vec<i64>>>::EXACT, Probe::<HashMap<String, Option<f64>>>::EXACT];
        let others = [Probe::<HashSet<i64>>::EXACT, Probe::<Option<PhantomData<i64>>>::EXACT];
        assert_eq!((exact, others), ([true, true], [false, false]));
    }

    #[derive(Deserialize, JsonSchema)]
    struct In<T> {
        #[expect(dead_code, reason = "only reading it matters")]
        it: T,
    }

    fn reading_and_schema_agree<T: Exact + JsonSchema + serde::de::DeserializeOwned + Send + 'static>() {
        let tool = Arc::new(FunctionTool::new(ToolSpec::new("t"), async |_: In<T>| ()));
        let schema = &tool.spec().input_schema;
        let validator = jsonschema::validator_for(schema).unwrap();
        let absent = ["{}".to_owned()];
        let given = [
            "null",
            "true",
            "0",
            "-1",
            "1.0",
            "-3.0",
            "0.5",
            "1e2",
            "127",
            "128",
            "255",
            "256",
            "70000",
            "\"x\"",
            "[]",
            "[1]",
            "[1.0, 2]",
            "[1, \"x\"]",
            "[null]",
            "[[1]]",
            "{}",
            "{\"a\": 1}",
            "{\"a\": \"x\"}",
        ];
        for text in given.map(|value| format!(r#"{{"it": {value}}}"#)).iter().chain(&absent) {
            let call = Arc::clone(&tool).call(Invocation::detached(text));
            let read = futures::executor::block_on(call).is_ok();
            let valid = validator.is_valid(&serde_json::from_str(text).unwrap());
            assert_eq!(read, valid, "{text} for {schema}");
        }
    }

    #[test]
    fn exact_types_are_read_exactly_where_their_schema_allows_it() {
        reading_and_schema_agree::<bool>();
        reading_and_schema_agree::<i8>();
        reading_and_schema_agree::<i32>();
        reading_and_schema_agree::<i64>();
        reading_and_schema_agree::<u8>();
        reading_and_schema_agree::<u16>();
        reading_and_schema_agree::<u64>();
        reading_and_schema_agree::<f64>();
        reading_and_schema_agree::<String>();
        reading_and_schema_agree::<serde_json::Value>();
        reading_and_schema_agree::<Option<u8>>();
        reading_and_schema_agree::<Vec<i64>>();
        reading_and_schema_agree::<Vec<Option<String>>>();
        reading_and_schema_agree::<BTreeMap<String, f64>>();
        reading_and_schema_agree::<HashMap<String, Option<i64>>>();
    }
}
