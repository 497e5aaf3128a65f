//! Where tools come from that need a connection, a context or lazy set-up.

use futures::{
    StreamExt,
    future::{BoxFuture, ready},
    stream,
};
use serde_json::{Map, Value};

use crate::{Duplicate, SharedTool, ToolSet};

/// What a caller passes through to providers; each provider knows its own keys.
pub type ProviderOptions = Map<String, Value>;

/// How many providers are asked at once. They wait on connections, so that one after the other
/// would be slow, and thousands at once would exhaust sockets.
const ASKED_AT_ONCE: usize = 16;

/// A source of tools with a life of its own.
///
/// Only [`name`](Self::name) and [`get_tools`](Self::get_tools) must be written. Every future may be
/// dropped when its caller's deadline passes.
pub trait ToolProvider: Send + Sync + 'static {
    /// What to call this provider in reports.
    fn name(&self) -> &str;

    /// Gets ready: connects, loads. Called once before the first [`get_tools`](Self::get_tools).
    /// By default there is nothing to do.
    fn initialise(&self) -> BoxFuture<'_, Result<(), ProviderError>> {
        Box::pin(ready(Ok(())))
    }

    /// Gives the tools there are now. May be called again at any time, to see what changed.
    fn get_tools<'a>(
        &'a self,
        options: &'a ProviderOptions,
    ) -> BoxFuture<'a, Result<Vec<SharedTool>, ProviderError>>;

    /// Lets go of what [`initialise`](Self::initialise) took. By default there is nothing to do.
    fn close(&self) -> BoxFuture<'_, Result<(), ProviderError>> {
        Box::pin(ready(Ok(())))
    }
}

/// Why a provider could not do its part. The text is for people who run the engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProviderError(String);

impl ProviderError {
    /// Makes an error that says what went wrong and what to do.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// The tools of several providers.
#[derive(Clone, Debug, Default)]
pub struct Provided {
    /// All tools that were given, in the order of the providers; of two with one name the first.
    pub set: ToolSet,
    /// Providers that gave none, with the reason.
    pub failed: Vec<(String, ProviderError)>,
}

impl Provided {
    /// The tools that were left out because another one has their name.
    pub fn duplicates(&self) -> &[Duplicate] {
        self.set.duplicates()
    }
}

impl ToolSet {
    /// Collects the tools of `providers`, in their order. A provider that fails takes nothing from
    /// the others.
    pub async fn from_providers(providers: &[&dyn ToolProvider], options: &ProviderOptions) -> Provided {
        let asked = providers.iter().map(|provider| provider.get_tools(options));
        let mut answers = stream::iter(asked).buffered(ASKED_AT_ONCE);
        let (mut tools, mut failed) = (Vec::new(), Vec::new());
        for provider in providers {
            match answers.next().await {
                Some(Ok(more)) => tools.extend(more),
                Some(Err(error)) => failed.push((provider.name().to_owned(), error)),
                None => break,
            }
        }
        Provided { set: Self::from_tools(tools), failed }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures::{channel::oneshot, executor::block_on, future::join};
    use parking_lot::Mutex;

    use super::*;
    use crate::inert::named;

    /// Gives the tools that the option of its own name lists; an option that is missing is an error.
    struct Listed(&'static str);

    impl ToolProvider for Listed {
        fn name(&self) -> &str {
            self.0
        }
        fn get_tools<'a>(
            &'a self,
            options: &'a ProviderOptions,
        ) -> BoxFuture<'a, Result<Vec<SharedTool>, ProviderError>> {
            let given = options.get(self.0).and_then(Value::as_array);
            let tools = given.map(|names| names.iter().map(|name| named(name.as_str().unwrap())).collect());
            Box::pin(ready(tools.ok_or_else(|| ProviderError::new("not connected"))))
        }
    }

    fn options(value: &Value) -> ProviderOptions {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn tools_come_in_the_order_of_the_providers_and_options_reach_them() {
        let options = options(&serde_json::json!({"one": ["b", "a"], "two": ["c", "A"]}));
        let provided = block_on(ToolSet::from_providers(&[&Listed("two"), &Listed("one")], &options));
        assert_eq!(provided.set.names().collect::<Vec<_>>(), ["c", "A", "b"]);
        assert!(provided.failed.is_empty());
        assert_eq!(provided.duplicates().len(), 1);
    }

    #[test]
    fn a_provider_that_fails_takes_nothing_from_the_others() {
        let options = options(&serde_json::json!({"one": ["a"], "three": ["c"]}));
        let providers: [&dyn ToolProvider; 3] = [&Listed("one"), &Listed("two"), &Listed("three")];
        let provided = block_on(ToolSet::from_providers(&providers, &options));
        assert_eq!(provided.set.names().collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(provided.failed, [("two".to_owned(), ProviderError::new("not connected"))]);
    }

    #[test]
    fn a_provider_without_a_life_cycle_of_its_own_has_nothing_to_do() {
        let provider = Listed("one");
        assert_eq!(block_on(provider.initialise()), Ok(()));
        assert_eq!(block_on(provider.close()), Ok(()));
    }

    /// Answers when its gate opens.
    struct Gated {
        gate: Mutex<Option<oneshot::Receiver<()>>>,
        asked: AtomicBool,
    }

    impl ToolProvider for Gated {
        fn name(&self) -> &'static str {
            "gated"
        }
        fn get_tools<'a>(
            &'a self,
            _: &'a ProviderOptions,
        ) -> BoxFuture<'a, Result<Vec<SharedTool>, ProviderError>> {
            Box::pin(async {
                self.asked.store(true, Ordering::SeqCst);
                let gate = self.gate.lock().take().unwrap();
                gate.await.map_err(|_| ProviderError::new("gate"))?;
                Ok(vec![named("late")])
            })
        }
    }

    #[test]
    fn a_slow_provider_does_not_keep_the_next_one_from_being_asked() {
        let (open, gate) = oneshot::channel();
        let (open_second, second_gate) = oneshot::channel();
        let slow = Gated { gate: Mutex::new(Some(gate)), asked: AtomicBool::new(false) };
        let second = Gated { gate: Mutex::new(Some(second_gate)), asked: AtomicBool::new(false) };
        let providers: [&dyn ToolProvider; 2] = [&slow, &second];
        let options = ProviderOptions::new();
        let opening = async {
            assert!(second.asked.load(Ordering::SeqCst), "asked while the first one waits");
            open_second.send(()).unwrap();
            open.send(()).unwrap();
        };
        let (provided, ()) = block_on(join(ToolSet::from_providers(&providers, &options), opening));
        assert_eq!(provided.set.len(), 1);
        assert_eq!(provided.duplicates().len(), 1);
    }
}
