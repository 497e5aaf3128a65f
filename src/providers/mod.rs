//! The providers of one engine, and which of their tools are in its catalogue.

mod merge;

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::{FutureExt, StreamExt, stream};
use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::timeout};
use toolyard_actors::{CatalogError, EngineError, Yard};
use toolyard_contract::{Duplicate, ProviderError, ProviderOptions, SharedTool, ToolProvider, name};

use self::merge::{Merge, merge};

/// How many providers are asked at once: they wait on connections, and thousands would exhaust them.
const ASKED_AT_ONCE: usize = 16;

/// How long one provider may take over one thing. Long enough for a cold start of a server.
const PATIENCE: Duration = Duration::from_secs(30);

/// What came of asking the providers for their tools.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Refresh {
    /// Providers that could not do their part, with the reason; the tools that they gave before stay.
    pub failed: Vec<(String, ProviderError)>,
    /// Tools that were left out because another one has their name.
    pub left_out: Vec<Duplicate>,
    /// Tools that cannot be used, with the reason.
    pub unusable: Vec<CatalogError>,
}

impl Refresh {
    /// Tells whether every tool of every provider is in the catalogue.
    pub fn is_complete(&self) -> bool {
        *self == Self::default()
    }
}

/// The providers of one engine.
pub(crate) struct Providers {
    options: ProviderOptions,
    members: Mutex<Vec<Member>>,
    /// One change at a time: a refresh looks at the catalogue and then changes it.
    changing: Semaphore,
}

#[derive(Clone)]
pub(super) struct Member {
    provider: Arc<dyn ToolProvider>,
    ready: bool,
    /// The tools that it gave last and that are in the catalogue.
    given: Vec<SharedTool>,
}

impl Providers {
    pub(crate) fn new(providers: Vec<Arc<dyn ToolProvider>>, options: ProviderOptions) -> Self {
        let member = |provider| Member { provider, ready: false, given: Vec::new() };
        let members = Mutex::new(providers.into_iter().map(member).collect());
        Self { options, members, changing: Semaphore::new(1) }
    }

    /// Takes the one right to change the catalogue from outside.
    pub(crate) async fn changing(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        self.changing.acquire().await.ok()
    }

    /// As [`refresh`](Self::refresh), the first time, and brings the extensions up.
    pub(crate) async fn begin(&self, yard: &Yard) -> Result<Refresh, EngineError> {
        let mut report = self.refresh(yard, true).await?;
        let failed = yard.extensions_ready().await.into_iter();
        report.failed.extend(failed.map(|(name, reason)| (name, ProviderError::new(reason))));
        Ok(report)
    }

    /// Gets those ready that are not, asks all for their tools, and puts these into the catalogue.
    pub(crate) async fn refresh(&self, yard: &Yard, first: bool) -> Result<Refresh, EngineError> {
        let _changing = self.changing().await;
        let members = self.members.lock().clone();
        let asked = members.into_iter().map(|member| ask(member, &self.options, first));
        let answers: Vec<_> = stream::iter(asked).buffered(ASKED_AT_ONCE).collect().await;
        let (mut members, mut news, mut report) = (Vec::new(), Vec::new(), Refresh::default());
        for (member, answer) in answers {
            match answer {
                Some(Err(error)) => {
                    report.failed.push((member.provider.name().to_owned(), error));
                    news.push(None);
                }
                Some(Ok(mut tools)) => {
                    let count = tools.len();
                    tools.retain(|tool| !name::key(&tool.spec().name).is_empty());
                    report.unusable.extend((tools.len()..count).map(|_| CatalogError::BlankName));
                    news.push(Some(tools));
                }
                None => news.push(None),
            }
            members.push(member);
        }
        self.publish(yard, members, news, report).await
    }

    /// Closes those that are ready; their tools leave the catalogue first.
    pub(crate) async fn close(&self, yard: &Yard) -> Result<Refresh, EngineError> {
        let _changing = self.changing().await;
        let members = self.members.lock().clone();
        let ready: Vec<_> = members.iter().filter(|member| member.ready).cloned().collect();
        let none = members.iter().map(|member| Some(Vec::new()).filter(|_| member.ready)).collect();
        let mut report = match self.publish(yard, members, none, Refresh::default()).await {
            // The engine is gone, and its catalogue with it; the connections are not.
            Err(EngineError::Stopped) => Refresh::default(),
            published => published?,
        };
        let closing = ready.into_iter().map(|member| async move {
            let closed = in_time(member.provider.close()).await;
            closed.err().map(|error| (member.provider.name().to_owned(), error))
        });
        let failed: Vec<_> = stream::iter(closing).buffered(ASKED_AT_ONCE).collect().await;
        report.failed.extend(failed.into_iter().flatten());
        self.members.lock().iter_mut().for_each(|member| member.ready = false);
        Ok(report)
    }

    /// Makes the catalogue have the news of each member; `None` leaves what it gave before.
    async fn publish(
        &self,
        yard: &Yard,
        mut members: Vec<Member>,
        mut news: Vec<Option<Vec<SharedTool>>>,
        mut report: Refresh,
    ) -> Result<Refresh, EngineError> {
        loop {
            let given: Vec<&[SharedTool]> = members.iter().map(|member| &*member.given).collect();
            let Merge { changes, given, left_out } = merge(&yard.catalog(), &given, &news);
            match yard.change_catalog(changes).await {
                Ok(()) => {
                    members.iter_mut().zip(given).for_each(|(member, given)| member.given = given);
                    *self.members.lock() = members;
                    report.left_out = left_out;
                    return Ok(report);
                }
                // One tool that cannot be used must not keep the others out.
                Err(EngineError::Catalog(error)) if take_back(&mut news, &members, error.tool()) => {
                    report.unusable.push(error);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Puts the version that was there before, if any, in the place of a tool that cannot be used. Tells
/// whether anybody gave that tool.
fn take_back(news: &mut [Option<Vec<SharedTool>>], members: &[Member], bad: Option<&str>) -> bool {
    let Some(bad) = bad.map(name::key) else { return false };
    let is_bad = |tool: &SharedTool| name::key(&tool.spec().name) == bad;
    let mut found = false;
    for (tools, member) in news.iter_mut().zip(members) {
        let Some((tools, place)) = tools.as_mut().and_then(|tools| {
            let place = tools.iter().position(is_bad)?;
            Some((tools, place))
        }) else {
            continue;
        };
        found = true;
        match member.given.iter().find(|tool| is_bad(tool)) {
            Some(old) => tools[place] = old.clone(),
            None => drop(tools.remove(place)),
        }
    }
    found
}

/// Asks one provider for its tools; gets it ready before if that is wanted. `None`: it is not ready.
async fn ask(
    mut member: Member,
    options: &ProviderOptions,
    first: bool,
) -> (Member, Option<Result<Vec<SharedTool>, ProviderError>>) {
    if !member.ready {
        if !first {
            return (member, None);
        }
        if let Err(error) = in_time(member.provider.initialise()).await {
            return (member, Some(Err(error)));
        }
        member.ready = true;
    }
    let tools = in_time(member.provider.get_tools(options)).await;
    (member, Some(tools))
}

/// A provider's work must not take for ever, and its panic is its own.
async fn in_time<T>(work: impl Future<Output = Result<T, ProviderError>>) -> Result<T, ProviderError> {
    match timeout(PATIENCE, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(ProviderError::new("it panicked")),
        Err(_) => Err(ProviderError::new(format!("it did not answer within {} s", PATIENCE.as_secs()))),
    }
}

impl std::fmt::Debug for Providers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let members = self.members.lock();
        f.debug_list().entries(members.iter().map(|member| member.provider.name())).finish()
    }
}
