//! A request that somebody asks about.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;

use mcwan_policy::{HeaderLine, Request};
use serde::Deserialize;

use crate::normal_path;

/// A request as a client would send it, its path normalised as Envoy does it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Line")]
pub struct Asked {
    /// `GET` and the like.
    pub method: String,
    /// `http` or `https`.
    pub scheme: String,
    /// The host, with its port if the client sends one.
    pub host: String,
    /// The port of the listener; none: the gateway's only one, else the one in the host, else the scheme's if the gateway
    /// has it.
    pub port: Option<u16>,
    /// The path with its query.
    pub path: String,
    /// The header lines in order, names in lower case.
    pub lines: Vec<HeaderLine>,
}

/// A line of a file of requests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default = "get")]
    method: String,
    #[serde(default = "http")]
    scheme: String,
    host: String,
    #[serde(default)]
    port: Option<u16>,
    #[serde(default = "slash")]
    path: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
}

impl Asked {
    /// A request; header names in any case.
    pub fn new(
        method: &str,
        scheme: &str,
        host: &str,
        port: Option<u16>,
        path: &str,
        headers: &[(String, String)],
    ) -> Self {
        let line =
            |(name, value): &(String, String)| (name.to_ascii_lowercase().into_bytes(), value.clone().into_bytes());
        Self {
            method: method.to_owned(),
            scheme: scheme.to_owned(),
            host: host.to_owned(),
            port,
            path: normal_path::normalised(path),
            lines: headers.iter().map(line).collect(),
        }
    }

    /// The same, with a port of the gateway's where none is said.
    pub(super) fn or_port(self, ports: &BTreeSet<u16>) -> Self {
        let only = ports.first().copied().filter(|_| ports.len() == 1);
        let in_host = || self.host.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let of_scheme = if self.scheme == "https" { 443 } else { 80 };
        let port = self.port.or(only).or_else(in_host).or_else(|| ports.get(&of_scheme).copied());
        Self { port, ..self }
    }
}

impl From<Line> for Asked {
    fn from(Line { method, scheme, host, port, path, headers }: Line) -> Self {
        Self::new(&method, &scheme, &host, port, &path, &headers)
    }
}

impl Request for Asked {
    type Error = Infallible;

    fn authority(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(Some(Cow::Borrowed(normalised(&self.host).as_bytes())))
    }

    fn path(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(Some(Cow::Borrowed(self.path.as_bytes())))
    }

    fn method(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(Some(Cow::Borrowed(self.method.as_bytes())))
    }

    fn scheme(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(Some(Cow::Borrowed(self.scheme.as_bytes())))
    }

    fn port(&self) -> Result<Option<u16>, Infallible> {
        Ok(self.port)
    }

    fn headers(&self) -> Result<&[HeaderLine], Infallible> {
        Ok(&self.lines)
    }
}

/// A host as filters and routes see it: the listener takes its port and one trailing dot away.
fn normalised(host: &str) -> &str {
    let host = match host.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => host,
    };
    host.strip_suffix('.').unwrap_or(host)
}

fn get() -> String {
    "GET".to_owned()
}

fn http() -> String {
    "http".to_owned()
}

fn slash() -> String {
    "/".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_seen_without_its_port_and_one_trailing_dot() {
        let table = [
            ("a.b", "a.b"),
            ("A.b:8080", "A.b"),
            ("a.b.", "a.b"),
            ("a.b.:8080", "a.b"),
            ("a.b..", "a.b."),
            ("a.b:", "a.b:"),
            ("a.b:x", "a.b:x"),
            ("[::1]:80", "[::1]"),
            ("", ""),
        ];
        for (host, seen) in table {
            assert_eq!(normalised(host), seen, "{host:?}");
        }
    }
}
