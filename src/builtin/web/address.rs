//! Which addresses belong to the public Internet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Tells whether an address belongs to the public Internet: neither private, loopback, link-local (where clouds answer
/// questions about the machine and its keys), shared, multicast nor reserved.
///
/// An IPv6 address that carries an IPv4 one (mapped, 6to4, NAT64, ISATAP) is judged by that as well.
///
/// ```
/// use toolyard::builtin::web::is_public;
///
/// assert!(is_public("93.184.216.34".parse()?));
/// assert!(!is_public("169.254.169.254".parse()?));
/// assert!(!is_public("::ffff:127.0.0.1".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => v4_is_public(address),
        IpAddr::V6(address) => v6_is_public(address),
    }
}

/// The first addresses of reserved blocks and how many leading bits a block shares (IANA's registry of
/// special-purpose addresses).
const RESERVED_V4: [([u8; 4], u32); 16] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10), // shared by customers of one provider
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 31, 196, 0], 24),
    ([192, 52, 193, 0], 24),
    ([192, 88, 99, 0], 24), // relays to 6to4
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15), // benchmarks
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 3), // multicast, and all after it
];

fn v4_is_public(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    let is_in = |(first, shared): &([u8; 4], u32)| (bits ^ u32::from_be_bytes(*first)) >> (32 - shared) == 0;
    !RESERVED_V4.iter().any(is_in)
}

fn v6_is_public(address: Ipv6Addr) -> bool {
    let carried = carried_v4(address);
    match address.segments() {
        // Translated to IPv4 by the network: the carried address is the one that is reached.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => carried.is_some_and(v4_is_public),
        // Protocols such as Teredo; documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Nothing beside 2000::/3 is handed out to the Internet.
        [0x2000..=0x3fff, ..] => carried.is_none_or(v4_is_public),
        _ => false,
    }
}

/// The IPv4 address inside of an IPv6 one.
fn carried_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let ([0, 0, 0, 0, 0, 0xffff, high, low]
    | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
    | [0x2002, high, low, ..]
    | [_, _, _, _, 0 | 0x200, 0x5efe, high, low]) = address.segments()
    else {
        return None;
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(address: &str) -> bool {
        is_public(address.parse().unwrap())
    }

    #[test]
    fn addresses_of_the_internet_are_public() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:0101:0101::1",
        ] {
            assert!(judge(address), "{address}");
        }
    }

    #[test]
    fn what_is_near_or_reserved_is_not_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "2002:c0a8:101::1",
            "2606:4700::5efe:7f00:1",
            "2606:4700::200:5efe:a00:1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
        ] {
            assert!(!judge(address), "{address}");
        }
    }
}
