//! What a call touches.

use std::fmt;

/// What a call reads and writes. A tool that does not say is taken to write everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Not declared: conflicts with every other call.
    #[default]
    Everything,
    /// Exactly these resources; an empty list touches nothing.
    Only(Vec<ResourceAccess>),
}

impl Access {
    /// Touches nothing.
    pub const fn nothing() -> Self {
        Self::Only(Vec::new())
    }

    /// Reads one resource.
    pub fn read(key: impl Into<ResourceKey>) -> Self {
        Self::Only(vec![ResourceAccess { key: key.into(), mode: AccessMode::Read }])
    }

    /// Writes one resource.
    pub fn write(key: impl Into<ResourceKey>) -> Self {
        Self::Only(vec![ResourceAccess { key: key.into(), mode: AccessMode::Write }])
    }

    /// Tells whether the order of two calls matters: one writes what the other touches.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Only(mine), Self::Only(theirs)) => {
                mine.iter().any(|a| theirs.iter().any(|b| a.conflicts_with(b)))
            }
            (Self::Everything, Self::Only(only)) | (Self::Only(only), Self::Everything) => !only.is_empty(),
            (Self::Everything, Self::Everything) => true,
        }
    }
}

/// One resource and what is done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceAccess {
    /// The resource.
    pub key: ResourceKey,
    /// Read or write.
    pub mode: AccessMode,
}

impl ResourceAccess {
    fn conflicts_with(&self, other: &Self) -> bool {
        (self.mode == AccessMode::Write || other.mode == AccessMode::Write) && self.key.overlaps(&other.key)
    }
}

/// What is done to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// Looked at.
    Read,
    /// Changed.
    Write,
}

/// The name of a resource: segments joined by `/`. A key covers the keys that it is a prefix of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceKey(String);

impl ResourceKey {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether one key is the other, or a prefix of it by whole segments.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (short, long) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        long.0
            .strip_prefix(&short.0)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || short.0.is_empty())
    }
}

impl<T: Into<String>> From<T> for ResourceKey {
    fn from(key: T) -> Self {
        let key: String = key.into();
        Self(key.trim_matches('/').to_owned())
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_overlap_by_whole_segments() {
        let overlaps = |a: &str, b: &str| ResourceKey::from(a).overlaps(&b.into());
        assert!(overlaps("file/out", "file/out/a.txt"));
        assert!(overlaps("file/out/", "file/out"));
        assert!(!overlaps("file/out", "file/outer"));
    }

    #[test]
    fn only_a_write_conflicts() {
        assert!(!Access::read("a").conflicts_with(&Access::read("a/b")));
        assert!(Access::write("a").conflicts_with(&Access::read("a/b")));
        assert!(Access::Everything.conflicts_with(&Access::read("x")));
        assert!(!Access::Everything.conflicts_with(&Access::nothing()));
    }
}
