//! The one spelling of a URL: what is judged, and what is sent.

use std::fmt::Write;

use reqwest::Url;
use toolyard_contract::{PermissionRule, permission::literal_head};
use url::Host;

use super::WebError;

/// Reads the URL of a request into its [one spelling](canonical), so that what is judged is what is sent.
pub(in crate::builtin) fn read_url(text: &str) -> Result<Url, WebError> {
    let bad = |reason: String| WebError::BadUrl { reason };
    let url = Url::parse(text.trim()).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("only http and https can be reached, not {:?}", url.scheme())));
    }
    match url.port_or_known_default() {
        Some(0) | None => Err(bad("there is no port 0".to_owned())),
        Some(_) => canonical(url).ok_or_else(|| bad("it names no host".to_owned())),
    }
}

/// The URL without name and password, for everything that is shown.
pub(in crate::builtin) fn shown(url: &Url) -> Url {
    let mut shown = url.clone();
    // Both succeed for every URL with a host.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown
}

/// Gives the one spelling of a URL that was parsed by the rules of WHATWG, which settle case, default ports, `.` and
/// `..` and the spellings of IPv4 addresses: without a fragment, which is never sent, and an empty query, with IPv4
/// addresses that are written as IPv6 ones as what they are, without a dot behind the host's name, and with percent
/// signs only where they are needed. `None` when no host is left.
fn canonical(mut url: Url) -> Option<Url> {
    url.set_fragment(None);
    let address = match url.host() {
        Some(Host::Ipv6(address)) => address.to_ipv4_mapped(),
        _ => None,
    };
    if let Some(address) = address {
        url.set_ip_host(address.into()).ok()?;
    }
    if let Some(name) = url.domain().and_then(|name| name.strip_suffix('.')) {
        let name = name.trim_end_matches('.').to_owned();
        url.set_host(Some(&name)).ok()?;
    }
    let path = escapes(url.path());
    if path != url.path() {
        url.set_path(&path);
    }
    let query = url.query().filter(|query| !query.is_empty()).map(escapes);
    if query.as_deref() != url.query() {
        url.set_query(query.as_deref());
    }
    Some(url)
}

/// Writes the characters that need no percent sign as they are, and the others in one way.
fn escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let escaped = rest.strip_prefix('%').and_then(|digits| u8::from_str_radix(digits.get(..2)?, 16).ok());
        match escaped.filter(|_| !rest.starts_with("%+")) {
            Some(byte) => {
                match char::from(byte) {
                    c if is_unreserved(c) => out.push(c),
                    _ => push_escape(&mut out, byte),
                }
                rest = &rest[3..];
            }
            None => {
                // The parser leaves some as they are that no URL may have.
                if matches!(c, '|' | '^' | '`' | '{' | '}' | '\\' | '"' | '<' | '>' | ' ') {
                    push_escape(&mut out, u8::try_from(c).unwrap_or_default());
                } else {
                    out.push(c);
                }
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    out
}

fn push_escape(out: &mut String, byte: u8) {
    let _ = write!(out, "%{byte:02X}"); // writing to a String cannot fail
}

/// The characters that mean the same with and without a percent sign (RFC 3986, section 2.3).
fn is_unreserved(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~')
}

/// Says why a rule's pattern for a resource matches no URL, where that can be told from its text, and what was likely
/// meant.
pub(crate) fn url_doubt(rule: &PermissionRule) -> Option<String> {
    let (head, is_all) = literal_head(&rule.resource);
    let lower = head.to_ascii_lowercase();
    let after_scheme = ["http://", "https://"].into_iter().find_map(|scheme| lower.strip_prefix(scheme))?;
    // Of a pattern with wildcards only what stands before the last slash is sure to be all of its part.
    let (sure, is_whole) = match head.rfind('/').filter(|_| !is_all && after_scheme.contains('/')) {
        _ if is_all => (head.as_str(), true),
        Some(slash) => (&head[..=slash], false),
        None => return None,
    };
    let form = read_url(sure).ok().map(|url| String::from(shown(&url)));
    if form.as_deref() == Some(sure) {
        return None;
    }
    let meant = form.filter(|_| is_whole || !sure.contains(['#'])).map_or_else(String::new, |form| {
        let pattern = PermissionRule::exactly(
            rule.verdict,
            &toolyard_contract::PermissionCheck { action: String::new(), resource: form },
        );
        format!(": write '{}{}'", pattern.resource, if is_whole { "" } else { "…" })
    });
    Some(format!(
        "permission rule `{rule}`: it matches no URL, which are judged in their canonical form, without name, \
         password, default port and fragment{meant}"
    ))
}

#[cfg(test)]
mod tests {
    use toolyard_contract::Verdict;

    use super::*;

    fn resource(text: &str) -> String {
        shown(&read_url(text).unwrap()).into()
    }

    #[test]
    fn every_spelling_of_a_url_is_one() {
        let admin = "http://127.0.0.1/admin";
        for spelling in [
            "http://127.0.0.1/admin#x",
            "http://[::ffff:127.0.0.1]/admin",
            "http://[::ffff:7f00:1]:80/admin",
            "HTTP://0x7f.1:0080/admin?",
            "http://2130706433/./admin",
            "http://127.0.0.1./x/../admin",
            "http://me:secret@127.0.0.1/%61dm%69n",
            "http:\\\\127.0.0.1\\admin",
            "http://127.0.0.1/%2e/admin",
        ] {
            assert_eq!(resource(spelling), admin, "{spelling}");
        }
        assert_eq!(
            resource("https://Example.ORG.:443/%7euser?q=%41%2f|"),
            "https://example.org/~user?q=A%2F%7C"
        );
        assert_eq!(resource("http://h/%252e%zz%+1"), "http://h/%252e%zz%+1");
        assert!(read_url("http://./x").is_err());
    }

    #[test]
    fn what_is_not_the_same_stays_different() {
        let all = [
            "http://h/a/b",
            "http://h/a%2Fb",
            "http://h/A/b",
            "https://h/a/b",
            "http://h:81/a/b",
            "http://h/a/b?q",
        ];
        let forms: std::collections::BTreeSet<_> = all.iter().map(|url| resource(url)).collect();
        assert_eq!(forms.len(), all.len());
        assert_ne!(resource("http://[::1]/"), resource("http://127.0.0.1/"));
    }

    #[test]
    fn a_rule_that_matches_no_url_is_doubted() {
        let doubt = |resource: &str| url_doubt(&PermissionRule::new(Verdict::Deny, "http.request", resource));
        for (resource, meant) in [
            ("http://h:80/admin", "'http://h/admin'"),
            ("http://H/admin", "'http://h/admin'"),
            ("http://h", "'http://h/'"),
            ("http://h/admin#x", "'http://h/admin'"),
            ("https://h:443/a/*", "'https://h/a/…'"),
            ("http://h./%61/*", "'http://h/a/…'"),
        ] {
            let doubt = doubt(resource).unwrap_or_else(|| panic!("{resource}"));
            assert!(doubt.ends_with(&format!("write {meant}")), "{doubt}");
        }
        for resource in [
            "http://h/admin",
            "http://h/admin*",
            "http://h/*",
            "http*",
            "https://*.h/",
            "*",
            r"http://h/a\?b",
        ] {
            assert_eq!(doubt(resource), None, "{resource}");
        }
    }
}
