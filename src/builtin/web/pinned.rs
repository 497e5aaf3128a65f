//! Clients that can reach one host at the addresses that were judged, and nothing else.

use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
    sync::OnceLock,
    time::Duration,
};

use parking_lot::Mutex;
use reqwest::{Client, Proxy, Url, dns, redirect};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;

use super::WebError;

/// How many hosts keep their connections for the next request.
const KEPT_HOSTS: usize = 32;

/// How long a connection is kept that nobody uses.
const KEPT_FOR: Duration = Duration::from_mins(1);

/// Where one request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) https: bool,
    pub(super) host: String,
    pub(super) port: u16,
    /// Sorted. Empty when a proxy resolves the name.
    pub(super) addresses: Vec<IpAddr>,
}

/// Makes clients and keeps those used last, with their open connections.
#[derive(Default)]
pub(super) struct PinnedClients {
    kept: Mutex<VecDeque<(Place, Client)>>,
    tls: OnceLock<Result<ClientConfig, String>>,
}

impl PinnedClients {
    /// Gives the client for a place.
    pub(super) fn get(&self, place: Place, proxy: Option<&Url>) -> Result<Client, WebError> {
        let known = {
            let mut kept = self.kept.lock();
            kept.iter().position(|(other, _)| *other == place).and_then(|at| kept.remove(at))
        };
        let (place, client) = match known {
            Some(known) => known,
            None => {
                let client = self.make(&place, proxy)?;
                (place, client)
            }
        };
        let mut kept = self.kept.lock();
        kept.push_back((place, client.clone()));
        if kept.len() > KEPT_HOSTS {
            kept.pop_front();
        }
        Ok(client)
    }

    fn make(&self, place: &Place, proxy: Option<&Url>) -> Result<Client, WebError> {
        let builder = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .pool_idle_timeout(KEPT_FOR)
            .user_agent(concat!("toolyard/", env!("CARGO_PKG_VERSION")));
        let addresses: Vec<_> = place.addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect();
        let builder = match proxy.map(|proxy| Proxy::all(proxy.clone())) {
            Some(Ok(proxy)) => builder.proxy(proxy),
            Some(Err(_)) => return Err(no_tls("the proxy cannot be used")),
            None => builder.dns_resolver(NoOtherName).resolve_to_addrs(&place.host, &addresses),
        };
        let through_tls = place.https || proxy.is_some_and(|proxy| proxy.scheme() == "https");
        let builder = if through_tls {
            builder.tls_backend_preconfigured(self.tls()?)
        } else {
            // No certificates are looked at, so none are read.
            install_crypto();
            builder.tls_certs_only([])
        };
        builder.build().map_err(|_| no_tls("it cannot be set up"))
    }

    fn tls(&self) -> Result<ClientConfig, WebError> {
        let make = || {
            install_crypto();
            let config =
                ClientConfig::builder().with_platform_verifier().map_err(|error| error.to_string())?;
            Ok(config.with_no_client_auth())
        };
        self.tls.get_or_init(make).clone().map_err(|error| {
            no_tls(&format!("{error}: install root certificates, such as the package ca-certificates"))
        })
    }
}

fn no_tls(reason: &str) -> WebError {
    WebError::NoTls { reason: reason.to_owned() }
}

fn install_crypto() {
    // An error says that the process has a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Answers for every name that is not pinned.
struct NoOtherName;

impl dns::Resolve for NoOtherName {
    fn resolve(&self, _: dns::Name) -> dns::Resolving {
        Box::pin(async { Err("the name was not resolved before".into()) })
    }
}
