//! From names to addresses.

use std::{io, net::IpAddr};

use futures::future::BoxFuture;

/// Finds the addresses of a name. It is asked once for each request and each hop of a redirect.
pub trait NameResolver: Send + Sync + 'static {
    /// Gives the addresses of `name`.
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// Asks the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl NameResolver for SystemResolver {
    fn resolve(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((name, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}
