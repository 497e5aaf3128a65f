//! Which addresses may be asked for the sake of a login.
//!
//! A server says where its authorization server is. So that no server makes this process ask what lies inside its own
//! network, hosts that are named by others must have public addresses, or addresses like the server's own.

use std::{
    collections::BTreeSet,
    env,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// Where an address lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Public,
    Private,
    Loopback,
    /// Of no use, or of one that no server should have: link-local, multicast, documentation.
    Reserved,
}

/// Which addresses may be asked.
#[derive(Debug)]
pub(super) struct Reachable {
    private: bool,
    loopback: bool,
    /// Proxies, which the operator named.
    proxies: BTreeSet<String>,
}

impl Reachable {
    /// What a server at `url` may name; with `private`, also addresses of private networks.
    pub(super) fn from_server(url: &Url, private: bool) -> Self {
        let named = place_of_host(url);
        let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
        let proxies = proxies.into_iter().filter_map(|name| Url::parse(&env::var(name).ok()?).ok());
        Self {
            private: private || named == Some(Place::Private),
            loopback: named == Some(Place::Loopback),
            proxies: proxies.filter_map(|proxy| proxy.host_str().map(str::to_owned)).collect(),
        }
    }

    fn allows(&self, address: IpAddr) -> bool {
        match place(address) {
            Place::Public => true,
            Place::Private => self.private,
            Place::Loopback => self.loopback,
            Place::Reserved => false,
        }
    }

    /// Whether a URL may be asked; names are looked at again when they are resolved. Metadata are public and may be read
    /// without encryption; where secrets go is checked besides.
    pub(super) fn allows_url(&self, url: &Url) -> bool {
        let is_web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
        is_web && literal(url).is_none_or(|address| self.allows(address))
    }
}

/// What its name alone says.
fn place_of_host(url: &Url) -> Option<Place> {
    match literal(url) {
        Some(address) => Some(place(address)),
        None => is_localhost(url.host_str()?).then_some(Place::Loopback),
    }
}

/// Whether a URL names this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    place_of_host(url) == Some(Place::Loopback)
}

fn is_localhost(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    host == "localhost" || host.ends_with(".localhost")
}

fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn place(address: IpAddr) -> Place {
    match address {
        IpAddr::V4(address) => place_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inside) => place_v4(inside),
            None => place_v6(address),
        },
    }
}

fn place_v4(address: Ipv4Addr) -> Place {
    let [a, b, ..] = address.octets();
    // Shared by providers (RFC 6598).
    let is_shared = a == 100 && (64..128).contains(&b);
    if address.is_loopback() {
        Place::Loopback
    } else if address.is_private() || is_shared {
        Place::Private
    } else if a == 0
        || a >= 224
        || address.is_link_local()
        || address.is_documentation()
        || (a == 198 && matches!(b, 18 | 19))
    {
        Place::Reserved
    } else {
        Place::Public
    }
}

fn place_v6(address: Ipv6Addr) -> Place {
    let first = address.segments();
    if address.is_loopback() {
        Place::Loopback
    } else if address.is_unique_local() {
        Place::Private
    } else if address.is_unspecified()
        || address.is_multicast()
        || address.is_unicast_link_local()
        || first[..2] == [0x2001, 0]
        || first[..3] == [0x64, 0xff9b, 1]
    {
        Place::Reserved
    } else {
        Place::Public
    }
}

/// The address of the older protocol that stands in one of the newer.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let inside = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match parts[..6] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(inside(parts[6], parts[7])),
        [0x2002, high, low, ..] => Some(inside(high, low)),
        _ => None,
    }
}

/// Resolves names to those of their addresses that may be asked.
pub(super) struct Resolver(pub(super) Arc<Reachable>);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let reachable = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let is_proxy = reachable.proxies.contains(name.as_str());
            let allowed: Vec<SocketAddr> =
                found.filter(|address| is_proxy || reachable.allows(address.ip())).collect();
            if allowed.is_empty() {
                return Err("no address of it may be asked".into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(server: &str, url: &str) -> bool {
        let server = Url::parse(server).unwrap();
        Reachable::from_server(&server, false).allows_url(&Url::parse(url).unwrap())
    }

    #[test]
    fn a_server_names_public_addresses_and_such_as_its_own() {
        let (public, private) = ("https://mcp.example/mcp", "https://10.1.1.1/mcp");
        let loopback = "http://localhost:1/mcp";
        for (url, from_public, from_private, from_loopback) in [
            ("https://as.example/", true, true, true),
            ("https://8.8.8.8/", true, true, true),
            ("https://10.0.0.1/", false, true, false),
            ("https://[fd00::1]/", false, true, false),
            ("http://127.0.0.1/", false, false, true),
            ("http://[::1]/", false, false, true),
            ("http://[::ffff:127.0.0.1]/", false, false, true),
            ("http://169.254.169.254/", false, false, false),
            ("http://[fe80::1]/", false, false, false),
            ("http://0.0.0.0/", false, false, false),
            ("http://[64:ff9b::7f00:1]/", false, false, true),
            ("ftp://as.example/", false, false, false),
        ] {
            let allowed = [public, private, loopback].map(|server| allows(server, url));
            assert_eq!(allowed, [from_public, from_private, from_loopback], "{url}");
        }
        let server = Url::parse(public).unwrap();
        let reachable = Reachable::from_server(&server, true);
        assert!(reachable.allows("10.0.0.1".parse().unwrap()));
        assert!(!reachable.allows("127.0.0.1".parse().unwrap()));
    }
}
