//! Which hosts and addresses may be reached.

use std::{fmt, net::IpAddr, str::FromStr};

use super::is_public;

/// Says which addresses may be reached: all public ones, and those that a rule names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPolicy {
    rules: Vec<AllowRule>,
}

/// Names addresses that may be reached although they are not public: `10.0.0.7`, `10.0.0.0/8`, `[fd00::1]:8080`,
/// `127.0.0.1:8080`, or by a name, whatever it resolves to, `localhost:3000`. Without a port every port is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowRule {
    place: Place,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Block { first: IpAddr, shared_bits: u32 },
    Name(String),
}

/// Tells what is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} names no host: write an address, a block such as 10.0.0.0/8 or a name, and a port after a colon"
)]
pub struct AllowError {
    text: String,
}

impl AddressPolicy {
    /// Allows public addresses and what `rules` name.
    pub fn new(rules: impl IntoIterator<Item = AllowRule>) -> Self {
        Self { rules: rules.into_iter().collect() }
    }

    /// Adds a rule.
    pub fn allow(&mut self, rule: AllowRule) {
        self.rules.push(rule);
    }

    /// Tells whether a connection for `host` may be made to this address and port.
    pub fn allows(&self, host: &str, address: IpAddr, port: u16) -> bool {
        is_public(address) || self.rules.iter().any(|rule| rule.covers(host, address, port))
    }
}

impl AllowRule {
    /// Names a host, whatever it resolves to, at one port.
    pub fn host(name: &str, port: u16) -> Self {
        Self { place: Place::named(name.trim_matches(['[', ']'])), port: Some(port) }
    }

    fn covers(&self, host: &str, address: IpAddr, port: u16) -> bool {
        let place = match &self.place {
            Place::Name(name) => name.eq_ignore_ascii_case(host),
            Place::Block { first, shared_bits } => shares(*first, address.to_canonical(), *shared_bits),
        };
        place && self.port.is_none_or(|only| only == port)
    }
}

impl Place {
    /// An address of its own, or a name.
    fn named(text: &str) -> Self {
        match text.parse::<IpAddr>().map(|address| address.to_canonical()) {
            Ok(first) => Self::Block { first, shared_bits: bits(first) },
            Err(_) => Self::Name(text.to_ascii_lowercase()),
        }
    }
}

fn bits(address: IpAddr) -> u32 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Tells whether two addresses of one family begin with the same bits.
fn shares(first: IpAddr, other: IpAddr, bits: u32) -> bool {
    match (first, other) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            (a.to_bits() ^ b.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            (a.to_bits() ^ b.to_bits()).checked_shr(128 - bits).unwrap_or(0) == 0
        }
        _ => false,
    }
}

impl FromStr for AllowRule {
    type Err = AllowError;

    fn from_str(text: &str) -> Result<Self, AllowError> {
        let error = || AllowError { text: text.to_owned() };
        if let Some((first, shared)) = text.split_once('/') {
            let first: IpAddr = first.parse().map_err(|_| error())?;
            let shared_bits =
                shared.parse().ok().filter(|shared| *shared <= bits(first)).ok_or_else(error)?;
            return Ok(Self { place: Place::Block { first, shared_bits }, port: None });
        }
        let (place, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, port)) => (address, Some(port.strip_prefix(':').ok_or_else(error)?)),
            // More than one colon is an address without a port.
            None => match text.split_once(':') {
                Some((place, port)) if !port.contains(':') => (place, Some(port)),
                _ => (text, None),
            },
        };
        let port = port.map(|port| port.parse().map_err(|_| error())).transpose()?;
        let place = Place::named(place);
        let names_a_host = match &place {
            Place::Block { .. } => true,
            Place::Name(name) => {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c))
            }
        };
        if names_a_host { Ok(Self { place, port }) } else { Err(error()) }
    }
}

impl fmt::Display for AllowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Name(name) => f.write_str(name)?,
            Place::Block { first, shared_bits } if *shared_bits < bits(*first) => {
                write!(f, "{first}/{shared_bits}")?;
            }
            Place::Block { first: IpAddr::V6(address), .. } => write!(f, "[{address}]")?,
            Place::Block { first, .. } => write!(f, "{first}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rule: &str, host: &str, address: &str, port: u16) -> bool {
        AddressPolicy::new([rule.parse().unwrap()]).allows(host, address.parse().unwrap(), port)
    }

    #[test]
    fn a_rule_covers_what_it_names_and_nothing_else() {
        assert!(allows("127.0.0.1:8080", "localhost", "127.0.0.1", 8080));
        assert!(
            allows("127.0.0.1:8080", "x", "::ffff:127.0.0.1", 8080),
            "the same address, written otherwise"
        );
        assert!(!allows("127.0.0.1:8080", "localhost", "127.0.0.1", 8081));
        assert!(!allows("127.0.0.1:8080", "localhost", "127.0.0.2", 8080));
        assert!(allows("127.0.0.1", "localhost", "127.0.0.1", 1));
        assert!(allows("10.0.0.0/8", "h", "10.9.8.7", 80) && !allows("10.0.0.0/8", "h", "192.168.0.1", 80));
        assert!(allows("0.0.0.0/0", "h", "192.168.0.1", 80) && !allows("0.0.0.0/0", "h", "::1", 80));
        assert!(allows("[fd00::1]:80", "h", "fd00::1", 80) && !allows("[fd00::1]:80", "h", "fd00::1", 81));
        assert!(allows("fd00::1", "h", "fd00::1", 81) && allows("fd00::/8", "h", "fd12::1", 81));
        assert!(allows("LocalHost:3000", "localhost", "127.0.0.1", 3000));
        assert!(!allows("localhost:3000", "127.0.0.1", "127.0.0.1", 3000), "a name, not its addresses");
        assert!(!allows("localhost", "otherhost", "127.0.0.1", 3000));
    }

    #[test]
    fn rules_are_written_as_they_are_read() {
        for text in [
            "127.0.0.1",
            "127.0.0.1:80",
            "10.0.0.0/8",
            "[fd00::1]:80",
            "[::1]",
            "localhost:3000",
            "a-b.example",
        ] {
            assert_eq!(text.parse::<AllowRule>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_by_its_text() {
        for text in [
            "",
            ":80",
            "host:",
            "host:99999",
            "10.0.0.0/33",
            "x/8",
            "[::1]80",
            "[::1",
            "http://host",
            "*",
            "a b",
        ] {
            let error = text.parse::<AllowRule>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} names no host")), "{error}");
        }
    }
}
