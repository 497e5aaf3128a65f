//! Texts that nobody may see.

use std::{fmt, io, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use tokio::task::spawn_blocking;

use crate::guard::await_host;

/// The largest file that is read as a secret, in bytes: tokens have a few kilobytes.
const MOST_BYTES: u64 = 64 << 10;

type Ask = dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync;

/// A secret: a password, a key or a token. It is never shown, logged or said in an error.
#[derive(Clone)]
pub struct McpSecret(Source);

#[derive(Clone)]
enum Source {
    Text(Arc<str>),
    File(Arc<PathBuf>),
    Asked(Arc<Ask>),
}

impl McpSecret {
    /// A secret that stays as it is.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Source::Text(text.into().into()))
    }

    /// A secret in a file, which is read whenever the secret is needed: whoever replaces it need tell nobody. White space
    /// around it is cut off. At most 64 KiB.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Source::File(Arc::new(path.into())))
    }

    /// A secret that is asked for whenever it is needed, such as a token that ends. An error is said in words, which
    /// callers get.
    pub fn ask<F>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self(Source::Asked(Arc::new(move || Box::pin(ask()))))
    }

    /// Reads it; `what` says in errors which one it is.
    ///
    /// # Errors
    /// In words, fit for a model: without the secret, and without the file's path.
    pub(super) async fn read(&self, what: &str) -> Result<String, String> {
        let text = match &self.0 {
            Source::Text(text) => text.to_string(),
            Source::File(path) => {
                let path = path.clone();
                let text = spawn_blocking(move || read_file(&path)).await;
                let text = text.map_err(io::Error::other).flatten();
                text.map_err(|error| format!("the file of {what} cannot be read ({})", error.kind()))?
            }
            Source::Asked(ask) => {
                let said = await_host("the way to a secret", || ask()).await;
                let broke = || Err("the code that gives it broke".to_owned());
                said.unwrap_or_else(broke).map_err(|reason| format!("{what} cannot be had: {reason}"))?
            }
        };
        if text.is_empty() { Err(format!("{what} is empty")) } else { Ok(text) }
    }
}

fn read_file(path: &PathBuf) -> io::Result<String> {
    let mut text = String::new();
    let read =
        io::Read::read_to_string(&mut io::Read::take(std::fs::File::open(path)?, MOST_BYTES + 1), &mut text);
    if read? as u64 > MOST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text.trim().to_owned())
}

impl fmt::Debug for McpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpSecret").finish_non_exhaustive()
    }
}

/// Two are the same when they are the same text, or come from the same place.
impl PartialEq for McpSecret {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Source::Text(text), Source::Text(same)) => text == same,
            (Source::File(path), Source::File(same)) => path == same,
            (Source::Asked(ask), Source::Asked(same)) => Arc::ptr_eq(ask, same),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_is_read_anew_and_errors_tell_neither_the_secret_nor_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("quiet");
        let secret = McpSecret::file(&path);
        let missing = secret.read("the client secret").await.unwrap_err();
        assert_eq!(missing, "the file of the client secret cannot be read (entity not found)");
        for text in ["one", "two"] {
            std::fs::write(&path, format!(" {text}\n")).unwrap();
            assert_eq!(secret.read("it").await.unwrap(), text);
        }
        std::fs::write(&path, "x".repeat(65 << 10)).unwrap();
        assert!(secret.read("it").await.unwrap_err().contains("too large"));
        std::fs::write(&path, "\n").unwrap();
        assert_eq!(secret.read("it").await.unwrap_err(), "it is empty");
    }

    #[tokio::test]
    async fn code_that_gives_a_secret_may_fail_and_panic() {
        let fails = McpSecret::ask(|| async { Err("the vault is closed".to_owned()) });
        assert_eq!(fails.read("it").await.unwrap_err(), "it cannot be had: the vault is closed");
        let panics = McpSecret::ask(|| async { panic!("hush") });
        assert_eq!(panics.read("it").await.unwrap_err(), "it cannot be had: the code that gives it broke");
        assert!(!format!("{:?}", McpSecret::new("hush")).contains("hush"));
    }
}
