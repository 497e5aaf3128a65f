//! Connections that are open for a while only.

use tokio::runtime::Handle;

use super::pool::McpPool;

impl McpPool {
    /// Connects to all servers, lets `work` run, and disconnects from all servers of the pool. A server that cannot be
    /// reached keeps nothing from running; its [status](Self::status) says why.
    ///
    /// # Panics
    /// When `work` panics; the servers are disconnected then, too.
    ///
    /// # Cancellation
    /// Dropping the future drops `work` and disconnects from the servers in the background.
    pub async fn scoped<T>(&self, work: impl AsyncFnOnce(&Self) -> T) -> T {
        let closing = Closing(Some(self.clone()));
        // What is wrong with one is in its status.
        let _ = self.connect(None).await;
        let result = work(self).await;
        closing.now().await;
        result
    }
}

/// Disconnects, at the latest when it is dropped.
struct Closing(Option<McpPool>);

impl Closing {
    async fn now(mut self) {
        if let Some(pool) = &self.0 {
            disconnect(pool).await;
        }
        self.0 = None;
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if let (Some(pool), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move { disconnect(&pool).await });
        }
    }
}

async fn disconnect(pool: &McpPool) {
    pool.disconnect(None).await.expect("no server was named that could be unknown");
}
