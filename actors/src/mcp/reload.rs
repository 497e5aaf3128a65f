//! Another set of servers, while the pool is in use.

use std::collections::BTreeMap;

use futures::{FutureExt, StreamExt, future::BoxFuture, stream};

use super::{
    config::McpServerConfig,
    pool::{ASKED_AT_ONCE, McpPool, check_name},
    status::McpError,
};

/// What [`McpPool::replace_all`] has done; names, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpChanges {
    /// The servers that were not there before.
    pub added: Vec<String>,
    /// The servers that are reached in another way now.
    pub replaced: Vec<String>,
    /// The servers that are not there any more.
    pub removed: Vec<String>,
}

impl McpPool {
    /// Makes these the servers of the pool. What stays as it was is not touched: its connections, its calls under way
    /// and its tools go on.
    ///
    /// # Errors
    /// When a name cannot be a server's; then nothing is changed.
    ///
    /// # Cancellation
    /// Dropping the future leaves what was done by then.
    pub async fn replace_all(
        &self,
        servers: BTreeMap<String, McpServerConfig>,
    ) -> Result<McpChanges, McpError> {
        servers.keys().try_for_each(|name| check_name(name))?;
        let _alone = self.reloading().await;
        let before = self.configs();
        let mut changes = McpChanges::default();
        changes.removed.extend(before.keys().filter(|name| !servers.contains_key(*name)).cloned());
        let wanted: Vec<_> = servers
            .into_iter()
            .filter(|(name, config)| {
                match before.get(name) {
                    Some(same) if **same == *config => return false,
                    Some(_) => changes.replaced.push(name.clone()),
                    None => changes.added.push(name.clone()),
                }
                true
            })
            .collect();
        // One that takes its time to end holds no other up.
        let removing = changes.removed.iter().cloned().map(|name| {
            let pool = self.clone();
            async move {
                // Somebody else may have removed it meanwhile.
                let _ = pool.remove(&name).await;
            }
            .boxed()
        });
        let adding = wanted.into_iter().map(|(name, config)| {
            let pool = self.clone();
            async move { pool.add(name, config).await.expect("a name that was checked") }.boxed()
        });
        let work: Vec<BoxFuture<'static, ()>> = removing.chain(adding).collect();
        stream::iter(work).buffer_unordered(ASKED_AT_ONCE).collect::<()>().await;
        Ok(changes)
    }
}
