//! Hosts: the ones of an import, the patterns that people write, and what a request brings.

use std::borrow::Cow;
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use crate::limits;

/// What a Service's in-cluster name ends in (KEP-1645 keeps it out of `clusterset.local`).
const CLUSTER_ZONE: &str = "svc.cluster.local";
/// What a multi-cluster service's name ends in (KEP-1645, "DNS").
const CLUSTERSET_ZONE: &str = "svc.clusterset.local";
/// What the Service for an import's clients is called beyond the import's own name.
const CLUSTERSET_SUFFIX: &str = "-clusterset";

/// A hostname that an import claims beside its own names: exact, or `*.` and the rest, which stands
/// for one label or more (Gateway API, `Hostname`). Lower case, as Kubernetes has it. An address is one, too: of version 6 in
/// brackets (RFC 3986, section 3.2.2), in the form of RFC 5952.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPattern(Box<str>);

impl HostPattern {
    /// The part that an exact host equals or, with its leading dot, that a wildcard's hosts end in.
    pub(crate) fn kind(&self) -> HostKind<'_> {
        match self.0.strip_prefix('*') {
            Some(suffix) => HostKind::Wildcard(suffix),
            None => HostKind::Exact(&self.0),
        }
    }
}

/// The two kinds of host patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostKind<'p> {
    Exact(&'p str),
    /// The suffix, its leading dot included.
    Wildcard(&'p str),
}

/// Why a text is no hostname of Gateway API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a hostname: want lower-case DNS labels, the first may be `*`")]
pub struct HostPatternError(String);

impl FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<Self, HostPatternError> {
        let labels = text.strip_prefix("*.").unwrap_or(text);
        if is_ipv6(text) || text.len() <= limits::HOST_BYTES && labels.split('.').all(is_label) {
            Ok(Self(text.into()))
        } else {
            Err(HostPatternError(text.to_owned()))
        }
    }
}

/// Whether a text is an address of version 6 as a host, in its one form.
fn is_ipv6(text: &str) -> bool {
    let address = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok_and(|parsed| parsed.to_string() == address))
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whether there is a host that both hostnames stand for: of an import that wants one and another that has the other, it would
/// move.
pub fn have_common_host(one: &str, other: &str) -> bool {
    match (one.strip_prefix('*'), other.strip_prefix('*')) {
        (None, None) => one == other,
        (Some(suffix), None) => is_below(other, suffix),
        (None, Some(suffix)) => is_below(one, suffix),
        (Some(one), Some(other)) => one.ends_with(other) || other.ends_with(one),
    }
}

/// Whether a host has at least one label before a suffix with a leading dot.
fn is_below(host: &str, suffix: &str) -> bool {
    host.strip_suffix(suffix).is_some_and(|labels| !labels.is_empty())
}

/// Whether a text is a DNS label (RFC 1123, in lower case).
pub fn is_label(text: &str) -> bool {
    let inner = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    !text.is_empty()
        && text.len() <= limits::LABEL_BYTES
        && text.as_bytes().iter().all(inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// The hosts that follow from the name and namespace of an import, the canonical one first.
pub fn standard_hosts(namespace: &str, name: &str) -> Vec<String> {
    let shared = format!("{name}{CLUSTERSET_SUFFIX}");
    let forms = |name: &str| {
        [
            canonical_host(namespace, name),
            format!("{name}.{namespace}.svc"),
            format!("{name}.{namespace}"),
            name.to_owned(),
        ]
    };
    [forms(name).as_slice(), &[clusterset_host(namespace, name)], &forms(&shared)].concat()
}

/// What the upstream sees as `:authority`, whatever host the client used.
pub fn canonical_host(namespace: &str, name: &str) -> String {
    format!("{name}.{namespace}.{CLUSTER_ZONE}")
}

/// The name of a multi-cluster service.
pub fn clusterset_host(namespace: &str, name: &str) -> String {
    format!("{name}.{namespace}.{CLUSTERSET_ZONE}")
}

/// A request's host in the form of [`standard_hosts`], taken apart.
#[derive(Clone, Copy)]
pub(crate) struct StandardHost<'h> {
    label: &'h str,
    /// None for a bare name.
    pub(crate) namespace: Option<&'h str>,
    clusterset_zone: bool,
}

impl<'h> StandardHost<'h> {
    /// Takes a host apart; none if no import can have it by its name.
    pub(crate) fn parse(host: &'h str) -> Option<Self> {
        let Some((label, rest)) = host.split_once('.') else {
            return Some(Self { label: host, namespace: None, clusterset_zone: false });
        };
        let (namespace, clusterset_zone) = match rest.split_once('.') {
            None => (rest, false),
            Some((namespace, "svc" | CLUSTER_ZONE)) => (namespace, false),
            Some((namespace, CLUSTERSET_ZONE)) => (namespace, true),
            Some(_) => return None,
        };
        Some(Self { label, namespace: Some(namespace), clusterset_zone })
    }

    /// The import names that the host may stand for: `NAME`, and of `NAME-clusterset` also `NAME`.
    pub(crate) fn names(self) -> impl Iterator<Item = &'h str> {
        let shorter = if self.clusterset_zone { None } else { self.label.strip_suffix(CLUSTERSET_SUFFIX) };
        std::iter::once(self.label).chain(shorter)
    }
}

/// The host of an `:authority`: without its port and one trailing dot, in lower case.
/// None where the authority is not usable: empty, or with bytes that no host has (RFC 3986, section 3.2.2;
/// RFC 9110, section 4.2.4, forbids user information).
pub(crate) fn request_host(authority: &[u8]) -> Option<Cow<'_, str>> {
    let host = without_port(std::str::from_utf8(authority).ok()?);
    let host = host.strip_suffix('.').unwrap_or(host);
    let in_hosts = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(&byte);
    if host.is_empty() || !host.bytes().all(in_hosts) {
        return None;
    }
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Some(Cow::Owned(host.to_ascii_lowercase()))
    } else {
        Some(Cow::Borrowed(host))
    }
}

/// An authority up to its last colon, which begins the port (RFC 3986, section 3.2.3; as Envoy ignores
/// ports, whatever stands there); colons in the brackets of an IPv6 address begin none.
pub(crate) fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}

/// The port that an authority names.
pub(crate) fn port_of(authority: &str) -> Option<u16> {
    authority.strip_prefix(without_port(authority))?.strip_prefix(':')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_print_as_they_were_read() {
        for text in ["a", "pay.example.com", "*.example.com", "*.a", "10.96.0.9", "[fd00::1]"] {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), text);
        }
        for text in
            ["", "*", "*.", "a.*.b", "A.example.com", "-a", "a-", "a..b", "a.", "a b", "*a.b", "fd00::1", "[FD00::1]"]
        {
            assert!(text.parse::<HostPattern>().is_err(), "{text:?} is refused");
        }
    }

    #[test]
    fn hostnames_have_hosts_in_common_whichever_is_the_wider() {
        let rows = [
            ("a.example", "a.example", true, "the same"),
            ("a.example", "b.example", false, "two hosts"),
            ("*.example", "a.example", true, "a host below a wildcard"),
            ("*.example", "a.b.example", true, "a wildcard stands for several labels, too"),
            ("*.example", "example", false, "and for one at least"),
            ("*.example", "a.bexample", false, "whole labels"),
            ("*.example", "*.b.example", true, "a wildcard below another"),
            ("*.a.example", "*.b.example", false, "wildcards side by side"),
            ("*.example", "*.example", true, "the same wildcard"),
        ];
        for (one, other, common, message) in rows {
            assert_eq!(have_common_host(one, other), common, "{message}");
            assert_eq!(have_common_host(other, one), common, "{message}, the other way round");
        }
    }

    #[test]
    fn every_standard_host_is_taken_apart_again() {
        for host in standard_hosts("secure", "payment") {
            let standard = StandardHost::parse(&host).unwrap();
            assert!(standard.names().any(|name| name == "payment"), "{host}");
            assert!(standard.namespace.is_none_or(|namespace| namespace == "secure"), "{host}");
        }
    }

    #[test]
    fn port_and_one_dot_are_ignored() {
        let rows = [
            ("A.b", Some("a.b")),
            ("a.b:8080", Some("a.b")),
            ("a.b.", Some("a.b")),
            ("a.b.:80", Some("a.b")),
            ("a.b..", Some("a.b.")),
            ("a.b:", Some("a.b")),
            ("a.b:x", Some("a.b")),
            ("[::1]", Some("[::1]")),
            ("a/b", None),
            ("a@b", None),
            ("[::1]:80", Some("[::1]")),
            ("", None),
            (":80", None),
            (".", None),
            ("a b", None),
        ];
        for (authority, host) in rows {
            assert_eq!(request_host(authority.as_bytes()).as_deref(), host, "{authority:?}");
        }
        assert_eq!(request_host(b"a\xff"), None, "not UTF-8");
    }
}
