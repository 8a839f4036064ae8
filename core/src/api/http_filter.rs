//! The filters of an `HTTPRoute` rule or backend.

use std::num::{NonZeroU16, NonZeroU32};

use schemars::{JsonSchema, JsonSchema_repr};
use serde::{Deserialize, Serialize};
use serde_repr::{Deserialize_repr, Serialize_repr};

use super::http_rule::service;
use super::{cel, pattern};

/// One filter: the one field that `type` names must be set, and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    cel::field_of_type("requestHeaderModifier", "RequestHeaderModifier"),
    cel::field_of_type("responseHeaderModifier", "ResponseHeaderModifier"),
    cel::field_of_type("requestMirror", "RequestMirror"),
    cel::field_of_type("requestRedirect", "RequestRedirect"),
    cel::field_of_type("urlRewrite", "URLRewrite"),
    cel::field_of_type("cors", "CORS"),
    cel::field_of_type("extensionRef", "ExtensionRef")
]))]
pub struct HttpFilter {
    /// Which filter this is.
    pub r#type: FilterType,
    /// Changes to the request's headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_header_modifier: Option<HeaderModifier>,
    /// Changes to the response's headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_header_modifier: Option<HeaderModifier>,
    /// A copy of the request for another backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_mirror: Option<RequestMirror>,
    /// A redirect instead of an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_redirect: Option<RequestRedirect>,
    /// A change of host and path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url_rewrite: Option<UrlRewrite>,
    /// Cross-origin resource sharing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cors: Option<Cors>,
    /// A filter that another resource describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension_ref: Option<LocalObjectRef>,
}

/// The kinds of filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "each is described at the field of that name")]
pub enum FilterType {
    RequestHeaderModifier,
    ResponseHeaderModifier,
    RequestMirror,
    RequestRedirect,
    #[serde(rename = "URLRewrite")]
    UrlRewrite,
    #[serde(rename = "CORS")]
    Cors,
    ExtensionRef,
}

/// Changes to headers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeaderModifier {
    /// Replaces every line of that name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub set: Vec<Header>,
    /// Adds a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub add: Vec<Header>,
    /// Removes every line of that name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 256), regex(pattern = pattern::HEADER_NAME)), extend("x-kubernetes-list-type" = "set"))]
    pub remove: Vec<String>,
}

/// A header line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Header {
    /// Its name, in any case.
    #[schemars(length(max = 256), regex(pattern = pattern::HEADER_NAME))]
    pub name: String,
    /// Its value.
    #[schemars(length(min = 1, max = 4096))]
    pub value: String,
}

/// A copy of requests for another backend, whose answers are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [cel::one_share()]))]
pub struct RequestMirror {
    /// Who gets the copy.
    pub backend_ref: BackendObjectRef,
    /// Share of the requests in percent. Neither this nor `fraction`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<Percent>,
    /// Share of the requests as a fraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fraction: Option<Fraction>,
}

/// A share in percent, at most 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(extend("maximum" = 100))]
pub struct Percent(u32);

/// A number that is no [`Percent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} percent is more than all")]
pub struct PercentError(u32);

impl TryFrom<u32> for Percent {
    type Error = PercentError;

    fn try_from(percent: u32) -> Result<Self, Self::Error> {
        if percent <= 100 { Ok(Self(percent)) } else { Err(PercentError(percent)) }
    }
}

impl From<Percent> for u32 {
    fn from(percent: Percent) -> Self {
        percent.0
    }
}

/// A share: at most 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [cel::at_most_all()]))]
pub struct Fraction {
    /// How many.
    pub numerator: u32,
    /// Of how many.
    #[serde(default = "hundred")]
    pub denominator: NonZeroU32,
}

/// A backend without a share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackendObjectRef {
    /// API group of the backend; empty is the core group.
    #[serde(default)]
    #[schemars(length(max = 253))]
    pub group: String,
    /// Kind of the backend.
    #[serde(default = "service")]
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Name of the backend.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the backend. Absent: the import's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// Port of the Service. Absent: the port that the client used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<NonZeroU16>,
}

/// A redirect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestRedirect {
    /// Absent: the request's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// Absent: the request's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), regex(pattern = pattern::HOST))]
    pub hostname: Option<String>,
    /// Absent: the request's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathModifier>,
    /// Absent: with a scheme given its well-known port, else the listener's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<NonZeroU16>,
    /// The HTTP status: 301, 302, 303, 307 or 308.
    #[serde(default)]
    pub status_code: RedirectStatus,
}

/// The HTTP status of a redirect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize_repr, Deserialize_repr, JsonSchema_repr)]
#[repr(u16)]
#[expect(missing_docs, reason = "RFC 9110, section 15.4, defines them")]
pub enum RedirectStatus {
    MovedPermanently = 301,
    #[default]
    Found = 302,
    SeeOther = 303,
    TemporaryRedirect = 307,
    PermanentRedirect = 308,
}

impl RedirectStatus {
    /// The number.
    pub const fn as_u16(self) -> u16 {
        match self {
            Self::MovedPermanently => 301,
            Self::Found => 302,
            Self::SeeOther => 303,
            Self::TemporaryRedirect => 307,
            Self::PermanentRedirect => 308,
        }
    }
}

/// A URL's scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "RFC 9110, section 4.2, defines them")]
pub enum Scheme {
    Http,
    Https,
}

/// A change of host and path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UrlRewrite {
    /// The new host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), regex(pattern = pattern::HOST))]
    pub hostname: Option<String>,
    /// The new path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathModifier>,
}

/// A change of a path: the one field that `type` names must be set, and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [
    cel::field_of_type("replaceFullPath", "ReplaceFullPath"),
    cel::field_of_type("replacePrefixMatch", "ReplacePrefixMatch")
]))]
pub struct PathModifier {
    /// Which change this is.
    pub r#type: PathModifierType,
    /// What the whole path becomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub replace_full_path: Option<String>,
    /// What the prefix that the match asked for becomes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub replace_prefix_match: Option<String>,
}

/// The kinds of path changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "each is described at the field of that name")]
pub enum PathModifierType {
    ReplaceFullPath,
    ReplacePrefixMatch,
}

/// Cross-origin resource sharing (Fetch standard).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cors {
    /// Origins that may read the answer; `*` stands for any part of a host, or by itself for every origin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 253), regex(pattern = pattern::ORIGIN)), extend("x-kubernetes-list-type" = "set"))]
    pub allow_origins: Vec<String>,
    /// Whether requests may carry credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_credentials: Option<bool>,
    /// Methods that may be used; `*` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 9), inner(regex(pattern = pattern::METHOD)), extend("x-kubernetes-list-type" = "set"))]
    pub allow_methods: Vec<String>,
    /// Request headers that may be used; `*` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 256), regex(pattern = pattern::HEADER_NAME)), extend("x-kubernetes-list-type" = "set"))]
    pub allow_headers: Vec<String>,
    /// Response headers that scripts may read; `*` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 256), regex(pattern = pattern::HEADER_NAME)), extend("x-kubernetes-list-type" = "set"))]
    pub expose_headers: Vec<String>,
    /// How long a preflight answer holds, in seconds.
    #[serde(default = "five")]
    pub max_age: NonZeroU32,
}

/// A resource of the import's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LocalObjectRef {
    /// API group; empty is the core group.
    #[schemars(length(max = 253))]
    pub group: String,
    /// Kind.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// Name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

fn hundred() -> NonZeroU32 {
    const { NonZeroU32::new(100).unwrap() }
}

fn five() -> NonZeroU32 {
    const { NonZeroU32::new(5).unwrap() }
}
