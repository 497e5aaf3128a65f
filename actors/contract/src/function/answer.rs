//! What functions may give back.

use std::{
    any::Any,
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt::Display,
};

use serde::Serialize;
use serde_json::{Value, value::RawValue};

use crate::{Failure, Output, Reply, ToolReturn};

/// A value that says how a call ended.
///
/// Text is text; numbers, booleans, lists and maps are structured output; `None` and `()` are no
/// output; an `Err` is a failure with the error's text. Any other value that serde can write
/// becomes structured output as [`Json`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the answer of a tool",
    label = "not text, a number, a list, a `Json` value, a `Reply`, or a `Result` of those",
    note = "a value that serde can write becomes an answer as `Json(value)`",
    note = "the error of a `Result` needs `Display`"
)]
pub trait IntoReturn {
    /// Turns the value into a tool's return.
    ///
    /// # Errors
    /// When the value stands for a failure, or cannot be written as JSON.
    fn into_return(self) -> ToolReturn;
}

/// Structured output of any type that serde can write.
///
/// ```
/// use serde::Serialize;
/// use toolyard_contract::{IntoReturn, Json};
///
/// #[derive(Serialize)]
/// struct Weather { celsius: i32 }
///
/// let reply = Json(Weather { celsius: 21 }).into_return().unwrap();
/// assert_eq!(reply.output.unwrap().to_text(), r#"{"celsius":21}"#);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoReturn for Json<T> {
    fn into_return(self) -> ToolReturn {
        match Output::json(&self.0) {
            Ok(output) => Ok(output.into()),
            Err(error) => Err(Failure::failed(format!("the output cannot be written as JSON: {error}"))),
        }
    }
}

/// A [`Failure`] stays as it is; of any other error the text is kept, with its causes where the
/// alternate form (`{:#}`) has them.
impl<T: IntoReturn, E: Display + 'static> IntoReturn for Result<T, E> {
    fn into_return(self) -> ToolReturn {
        match self {
            Ok(value) => value.into_return(),
            Err(error) => {
                // Types cannot say "any error but `Failure`".
                let failure = (&error as &dyn Any).downcast_ref::<Failure>().cloned();
                Err(failure.unwrap_or_else(|| Failure::failed(format!("{error:#}"))))
            }
        }
    }
}

impl<T: IntoReturn> IntoReturn for Option<T> {
    fn into_return(self) -> ToolReturn {
        self.map_or_else(|| Ok(Reply::default()), T::into_return)
    }
}

impl IntoReturn for () {
    fn into_return(self) -> ToolReturn {
        Ok(Reply::default())
    }
}

impl IntoReturn for Reply {
    fn into_return(self) -> ToolReturn {
        Ok(self)
    }
}

impl IntoReturn for Cow<'_, str> {
    fn into_return(self) -> ToolReturn {
        Ok(self.into_owned().into())
    }
}

impl IntoReturn for Box<RawValue> {
    fn into_return(self) -> ToolReturn {
        Ok(Output::Json(self).into())
    }
}

macro_rules! output {
    ($($type:ty),+) => {$(
        impl IntoReturn for $type {
            fn into_return(self) -> ToolReturn {
                Ok(self.into())
            }
        }
    )+};
}

output!(Output, String, &str, Value);

macro_rules! structured {
    ($([$($generics:tt)*] $type:ty),+ $(,)?) => {$(
        impl<$($generics)*> IntoReturn for $type {
            fn into_return(self) -> ToolReturn {
                Json(self).into_return()
            }
        }
    )+};
}

structured!(
    [] bool, [] f32, [] f64,
    [] i8, [] i16, [] i32, [] i64, [] i128, [] isize,
    [] u8, [] u16, [] u32, [] u64, [] u128, [] usize,
    [T: Serialize] Vec<T>, [T: Serialize] BTreeSet<T>, [T: Serialize, S] HashSet<T, S>,
    [K: Serialize, V: Serialize] BTreeMap<K, V>, [K: Serialize, V: Serialize, S] HashMap<K, V, S>,
    [T: Serialize] &[T],
);

impl<T, const N: usize> IntoReturn for [T; N]
where
    [T; N]: Serialize,
{
    fn into_return(self) -> ToolReturn {
        Json(self).into_return()
    }
}
