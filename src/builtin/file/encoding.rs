use encoding_rs::{DecoderResult, Encoding, UTF_8};

use super::FileError;

/// Looks an encoding up by a label of the WHATWG Encoding Standard, spelled with `-`, `_` or neither.
pub(super) fn named(label: &str) -> Result<&'static Encoding, FileError> {
    let dashed = label.replace('_', "-");
    let joined = dashed.replace('-', "");
    [label, &dashed, &joined]
        .into_iter()
        .find_map(|label| Encoding::for_label_no_replacement(label.as_bytes()))
        .ok_or_else(|| FileError::UnknownEncoding { label: label.to_owned() })
}

/// Decodes a whole file; `given` is the path that an error names.
///
/// UTF-8 text stays byte for byte what it is. In any other encoding a byte order mark decides and is left out.
pub(super) fn decode(bytes: Vec<u8>, encoding: &'static Encoding, given: &str) -> Result<String, FileError> {
    let (encoding, text) = if encoding == UTF_8 {
        (UTF_8, decode_utf_8(bytes))
    } else {
        let (encoding, mark_bytes) = Encoding::for_bom(&bytes).unwrap_or((encoding, 0));
        (encoding, decode_legacy(&bytes[mark_bytes..], encoding).map_err(|stop| stop.after(mark_bytes)))
    };
    text.map_err(|stop| FileError::Undecodable {
        path: given.to_owned(),
        encoding: encoding.name(),
        offset: stop.offset,
        line: stop.line,
    })
}

/// The first byte that does not fit.
struct Stop {
    offset: usize,
    line: usize,
}

impl Stop {
    fn at(offset: usize, text_before: &str) -> Self {
        Self { offset, line: 1 + text_before.matches('\n').count() }
    }

    fn after(self, bytes: usize) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }
}

fn decode_utf_8(bytes: Vec<u8>) -> Result<String, Stop> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Stop::at(offset, &String::from_utf8_lossy(&error.as_bytes()[..offset]))
    })
}

/// Decodes text without a byte order mark.
fn decode_legacy(bytes: &[u8], encoding: &'static Encoding) -> Result<String, Stop> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let room = decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(bytes.len());
    let mut text = String::with_capacity(room);
    match decoder.decode_to_string_without_replacement(bytes, &mut text, true) {
        (DecoderResult::InputEmpty, _) => Ok(text),
        (DecoderResult::Malformed(malformed, after), read) => {
            let offset = read.saturating_sub(usize::from(malformed) + usize::from(after));
            Err(Stop::at(offset, &text))
        }
        (DecoderResult::OutputFull, read) => Err(Stop::at(read, &text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], label: &str) -> Result<String, String> {
        let decode = |encoding| decode(bytes.to_vec(), encoding, "f.txt");
        named(label).and_then(decode).map_err(|error| error.to_string())
    }

    #[test]
    fn labels_are_found_in_the_usual_spellings() {
        for label in [
            "utf-8",
            "UTF8",
            "utf_8",
            "latin-1",
            "latin1",
            "cp1252",
            "utf_16",
            "shift_jis",
            "Shift-JIS",
            "euc_kr",
        ] {
            assert!(named(label).is_ok(), "{label}");
        }
        for label in ["", "rot13", "utf-7", "replacement"] {
            assert!(named(label).is_err(), "{label}");
        }
    }

    #[test]
    fn text_is_decoded_in_its_encoding() {
        assert_eq!(decoded("grün".as_bytes(), "utf-8").unwrap(), "grün");
        assert_eq!(decoded(b"gr\xfcn", "latin-1").unwrap(), "grün");
        assert_eq!(decoded(b"\xff\xfea\0", "utf-16").unwrap(), "a");
        assert_eq!(decoded(b"\xfe\xff\0a", "utf-16").unwrap(), "a");
        assert_eq!(decoded(b"\x93\xfa\x96\x7b", "shift_jis").unwrap(), "日本");
    }

    #[test]
    fn a_utf_8_byte_order_mark_stays_part_of_the_text() {
        assert_eq!(decoded(b"\xef\xbb\xbfa", "utf-8").unwrap(), "\u{feff}a");
    }

    #[test]
    fn the_first_byte_that_does_not_fit_is_named_with_its_line() {
        let error = decoded(b"one\ntwo \xff three", "utf-8").unwrap_err();
        assert!(error.contains("not UTF-8 text: byte 8, in line 2"), "{error}");
        let cut_off = decoded("ü".as_bytes().split_last().unwrap().1, "utf-8").unwrap_err();
        assert!(cut_off.contains("byte 0, in line 1"), "{cut_off}");
        let error = decoded(b"a\n\x93\xfa\x80", "shift_jis").map(|text| format!("{text:?}"));
        assert_eq!(error.unwrap(), "\"a\\n日\\u{80}\"", "0x80 is a control character there");
        let error = decoded(b"ab\x81\xff", "shift_jis").unwrap_err();
        assert!(error.contains("not Shift_JIS text: byte 2"), "{error}");
        let error = decoded(b"\xff\xfea\0\0\xd8b\0", "utf-16").unwrap_err();
        assert!(error.contains("not UTF-16LE text: byte 4"), "{error}");
    }
}
