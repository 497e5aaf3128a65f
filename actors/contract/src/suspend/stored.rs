//! Arguments on record: what is read back is what was written, whatever they are.

use serde_json::value::RawValue;

use crate::Arguments;

/// A text that is plain text.
const TEXT: &str = "text";

/// A text that claims to be JSON.
const JSON: &str = "json";

/// Gives arguments as a JSON value, and how to read it where the usual reading, that of a provider's
/// arguments, gives something else.
pub(super) fn write(
    arguments: &Arguments,
) -> Result<(Box<RawValue>, Option<&'static str>), serde_json::Error> {
    let text = arguments.as_str();
    let is_text = matches!(arguments, Arguments::Text(_));
    // A string would be unwrapped, and `null` means none.
    if !is_text
        && let Ok(raw) = RawValue::from_string(text.to_owned())
        && !raw.get().starts_with(['"', 'n'])
    {
        return Ok((raw, None));
    }
    let raw = serde_json::value::to_raw_value(text)?;
    let read_as = (Arguments::from_raw(&raw) != *arguments).then_some(if is_text { TEXT } else { JSON });
    Ok((raw, read_as))
}

/// Reads what [`write`] wrote, and any provider's arguments; `None` where there are none.
///
/// # Errors
/// When the two fields do not belong together.
pub(super) fn read(
    arguments: Option<&RawValue>,
    read_as: Option<&RawValue>,
) -> Result<Option<Arguments>, String> {
    let Some(raw) = arguments.filter(|raw| raw.get() != "null") else { return Ok(None) };
    let Some(read_as) = read_as.filter(|raw| raw.get() != "null") else {
        return Ok(Some(Arguments::from_raw(raw)));
    };
    let text = serde_json::from_str::<String>(raw.get());
    match (serde_json::from_str::<&str>(read_as.get()), text) {
        (Ok(TEXT), Ok(text)) => Ok(Some(Arguments::Text(text))),
        (Ok(JSON), Ok(text)) => Ok(Some(Arguments::Json(text))),
        _ => Err(format!(
            "field \"arguments_as\" must be \"{TEXT}\" or \"{JSON}\", beside \"arguments\" that are a string"
        )),
    }
}
