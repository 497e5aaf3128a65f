//! What one look at a message's text shows, before anything is made of it.

/// How deep a text may be nested: serde_json reads no deeper, and so do the readers of most languages.
pub(super) const DEEPEST: usize = 127;

/// The longest row of digits that always fits an integer of 64 bits.
const SHORT: usize = 18;

/// About how many bytes one value takes while a message is read: twice, as the protocol's library tries several kinds.
const VALUE: usize = 100;

/// About how many more an object takes that has anything in it.
const OBJECT: usize = 700;

/// Texts up to this size may take four times as much while they are read: the default of `largest_message_bytes`.
const USUAL: usize = 64 << 20;

/// Facts about a text that may be JSON.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Scan {
    /// How deep brackets are nested.
    pub(super) depth: usize,
    /// A number outside strings may be longer than an integer of 64 bits.
    pub(super) has_long_number: bool,
    /// A string has half of a surrogate pair, which no text can hold.
    pub(super) has_half: bool,
    /// About how many bytes it takes as values.
    weight: usize,
}

impl Scan {
    /// Looks at a text once.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut scan = Self::default();
        let (mut at, mut depth, mut digits) = (0, 0_usize, 0);
        while let Some(byte) = text.get(at) {
            at += 1;
            digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
            match byte {
                b'"' => at = scan.string(text, at),
                b'{' | b'[' => {
                    depth += 1;
                    scan.depth = scan.depth.max(depth);
                    scan.weight += if *byte == b'{' { VALUE + OBJECT } else { VALUE };
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                b',' => scan.weight += VALUE,
                _ => scan.has_long_number |= digits > SHORT,
            }
        }
        scan.weight += text.len();
        scan
    }

    /// Passes a string whose text begins at `at`, and gives where it has ended.
    fn string(&mut self, text: &[u8], mut at: usize) -> usize {
        while let Some(found) = text[at..].iter().position(|byte| matches!(byte, b'"' | b'\\')) {
            at += found;
            if text[at] == b'"' {
                return at + 1;
            }
            let escape = Escape::at(&text[at..]);
            self.has_half |= escape == Escape::Half;
            at = (at + escape.len()).min(text.len());
        }
        text.len()
    }

    /// Tells whether reading the text as values would take too much memory, and says so.
    pub(super) fn too_heavy(&self, bytes: usize) -> Option<String> {
        let most = bytes.max(USUAL).saturating_mul(4);
        (self.weight > most).then(|| {
            format!("reading its {bytes} bytes would take about {} MB of memory", self.weight / 1_000_000)
        })
    }
}

/// What a backslash in a string begins.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Escape {
    /// Two halves that make one character.
    Pair,
    /// One half of a character.
    Half,
    /// Any other character by its number.
    Number,
    /// A letter.
    Letter,
}

impl Escape {
    /// Looks at a text that begins with a backslash.
    pub(super) fn at(text: &[u8]) -> Self {
        match surrogate(text) {
            None if text.get(1) == Some(&b'u') => Self::Number,
            None => Self::Letter,
            Some(true) if text.get(6..).and_then(surrogate) == Some(false) => Self::Pair,
            Some(_) => Self::Half,
        }
    }

    /// How many bytes it has.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Pair => 12,
            Self::Half => 6,
            // What follows are digits.
            Self::Number | Self::Letter => 2,
        }
    }
}

/// Tells whether a text begins with the first half of a character, or (false) with the second.
fn surrogate(text: &[u8]) -> Option<bool> {
    match text {
        [b'\\', b'u', b'd' | b'D', second, third, fourth, ..]
            if third.is_ascii_hexdigit() && fourth.is_ascii_hexdigit() =>
        {
            match second.to_ascii_lowercase() {
                b'8' | b'9' | b'a' | b'b' => Some(true),
                b'c'..=b'f' => Some(false),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_long_numbers_and_halves_are_seen_outside_and_inside_strings_as_they_are_meant() {
        let scan = |text: &str| Scan::of(text.as_bytes());
        assert_eq!(scan(r#"{"a":[[1]],"b":"[[[[{"}"#).depth, 3);
        assert!(scan(&format!("[{}]", "1".repeat(19))).has_long_number);
        assert!(!scan(&format!("[\"{}\",{}]", "1".repeat(19), "1".repeat(18))).has_long_number);
        for (text, has_half) in [
            (r"\ud83d\ude00", false),
            (r"\uD83D\uDE00", false),
            (r"\ud83d", true),
            (r"\ude00", true),
            (r"\ud83dx", true),
            (r"\ud83d\ud83d\ude00", true),
            (r"\\ud83d", false),
            (r"\ud7ff\ue000", false),
            (r"\ud", false),
        ] {
            assert_eq!(scan(&format!("[\"{text}\"]")).has_half, has_half, "{text}");
        }
    }

    #[test]
    fn many_small_values_are_heavy_and_one_large_text_is_not() {
        let heavy = "{\"a\":1},".repeat(500_000);
        assert!(Scan::of(heavy.as_bytes()).too_heavy(heavy.len()).is_some());
        let light = format!("\"{}\"", "{,".repeat(500_000));
        assert!(Scan::of(light.as_bytes()).too_heavy(light.len()).is_none());
    }
}
