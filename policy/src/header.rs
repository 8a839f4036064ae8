//! Matching of headers and of the values that they share with query parameters.

use std::sync::Arc;

use crate::limits;
use crate::pattern::Pattern;
use crate::request::{HeaderLine, Request};

/// What a value must be.
#[derive(Debug)]
pub(crate) enum ValueMatch {
    Exact(Box<str>),
    Pattern(Arc<Pattern>),
}

impl ValueMatch {
    pub(crate) fn matches(&self, value: &[u8]) -> bool {
        match self {
            Self::Exact(exact) => exact.as_bytes() == value,
            Self::Pattern(pattern) => pattern.matches(value),
        }
    }
}

/// One header of a match.
#[derive(Debug)]
pub(crate) struct HeaderMatch {
    pub(crate) name: HeaderName,
    pub(crate) value: ValueMatch,
}

/// The name of a header to look at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HeaderName {
    /// `Host`, which is `:authority` to a proxy.
    Authority,
    /// Any other, in lower case.
    Field(Box<str>),
}

impl HeaderName {
    /// None unless the text is a name that Gateway API admits (`HTTPHeaderName`).
    pub(crate) fn parse(name: &str) -> Option<Self> {
        if !is_name(name) {
            return None;
        }
        let name = name.to_ascii_lowercase();
        Some(if name == "host" { Self::Authority } else { Self::Field(name.into()) })
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Authority => "host",
            Self::Field(name) => name,
        }
    }
}

/// Whether a text can name a header (RFC 9110, section 5.6.2, `token`) or, in Gateway API, a query parameter.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= limits::NAME_BYTES
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

impl HeaderMatch {
    /// Whether any line of that name has the value; lines are not joined (Envoy from 1.40 on).
    pub(crate) fn matches<R: Request>(&self, request: &R) -> Result<bool, R::Error> {
        let HeaderName::Field(name) = &self.name else {
            return Ok(request.authority()?.is_some_and(|authority| self.value.matches(&authority)));
        };
        let line_matches =
            |(key, value): &HeaderLine| key.eq_ignore_ascii_case(name.as_bytes()) && self.value.matches(value);
        Ok(request.headers()?.iter().any(line_matches))
    }
}
