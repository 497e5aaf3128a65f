//! Short digests of texts, for names that stand for their content.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Gives 32 hexadecimal digits (half a SHA-256) that stand for `parts` and the use `of` them. Each
/// part is preceded by its length, so that no two lists of parts read alike.
pub(crate) fn short_digest<'a>(of: &'a str, parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in std::iter::once(of).chain(parts) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut text = String::with_capacity(32);
    for byte in &hash.finalize()[..16] {
        let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
    }
    text
}
