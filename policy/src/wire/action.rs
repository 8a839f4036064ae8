//! What a rule does with a request.

use serde::{Deserialize, Serialize};

use super::integer::{integer, some_integer};
use super::is_default;

/// One of the things that a rule may do with a request, with its weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Send it to a target.
    Forward(Forward),
    /// Send it to the first of some tiers that keeps its promise.
    Choose(Choose),
    /// Answer with a redirect.
    Redirect(Redirect),
    /// Answer here: the user asked for something that cannot be had.
    Refuse(Refuse),
}

/// Send the request to a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Forward {
    /// Index into the import's targets.
    #[serde(deserialize_with = "integer")]
    pub target: u32,
    /// Share of the requests, relative to the rule's other actions.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "integer")]
    pub weight: u32,
    /// What becomes of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRewrite>,
}

/// What becomes of a path (Gateway API, `HTTPPathModifier`). The query is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PathRewrite {
    /// Replace it whole.
    Full(String),
    /// Replace the prefix that the match asked for.
    Prefix(String),
}

/// Answer with a redirect (Gateway API, `HTTPRequestRedirectFilter`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Redirect {
    /// Share of the requests, relative to the rule's other actions.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "integer")]
    pub weight: u32,
    /// 301, 302, 303, 307 or 308.
    #[serde(deserialize_with = "integer")]
    pub status: u16,
    /// None: the request's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// None: the request's, without its port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// None: with a scheme given its well-known port, else the listener's.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_integer")]
    pub port: Option<u16>,
    /// None: the request's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRewrite>,
    /// What a `ResponseHeaderModifier` beside the redirect does to the answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub headers: HeaderModifier,
}

/// A URL's scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "RFC 9110, section 4.2, defines them")]
pub enum Scheme {
    Http,
    Https,
}

/// Changes to headers: first `remove`, then `set`, then `add`, as Envoy does it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeaderModifier {
    /// Replaces every line of that name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Header>,
    /// Adds a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Header>,
    /// Removes every line of that name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// A header line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Header {
    /// Name, in any case.
    pub name: String,
    /// Value, as it is.
    pub value: String,
}

/// Answer with a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Refuse {
    /// Share of the requests, relative to the rule's other actions.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "integer")]
    pub weight: u32,
    /// Why.
    pub reason: RefuseReason,
    /// The status of the answer. An older module does not know it: it is there only where it says something.
    #[serde(default, skip_serializing_if = "is_default")]
    pub status: RefuseStatus,
}

/// The status of the answer to what cannot be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RefuseStatus {
    /// 500.
    #[default]
    InternalServerError,
    /// 503, which gRPC reads as UNAVAILABLE (gRPC, "HTTP to gRPC Status Code Mapping").
    ServiceUnavailable,
}

impl Refuse {
    /// With 500.
    pub fn new(weight: u32, reason: RefuseReason) -> Self {
        Self { weight, reason, status: RefuseStatus::default() }
    }
}

impl RefuseStatus {
    /// HTTP status.
    pub const fn code(self) -> u16 {
        match self {
            Self::InternalServerError => 500,
            Self::ServiceUnavailable => 503,
        }
    }
}

/// Why an action cannot be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub enum RefuseReason {
    /// The tier or Service that a backendRef names does not exist.
    BackendNotFound,
    /// A Service of another namespace that no `ReferenceGrant` admits.
    RefNotPermitted,
    /// A filter or field that mcwan does not do, or not in this mode.
    UnsupportedFilter,
    /// A filter whose values cannot be.
    InvalidFilter,
    /// A match that cannot be read; without it others would match more.
    InvalidMatch,
    /// The tier that a backendRef names is one that the pair of clusters may not use. An older module does not know it.
    TierNotPermitted,
    /// No backend takes any request. An older module does not know it: it is there only beside a status of its own.
    NoBackend,
}

pub(super) fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
pub(super) fn is_one(value: &u32) -> bool {
    *value == 1
}

/// Send the request to the first of some tiers that keeps its promise; an older module does not know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Choose {
    /// Share of the requests, relative to the rule's other actions.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "integer")]
    pub weight: u32,
    /// What becomes of the path of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathRewrite>,
    /// The backend's own tier, then its fallbacks in the order of preference.
    pub candidates: Vec<Candidate>,
    /// What happens while no candidate is In.
    #[serde(default, skip_serializing_if = "is_default")]
    pub when_none_in_sla: WhenNoneInSla,
}

/// A tier that a request may take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Candidate {
    /// The clusters that have the service, this one included where it does.
    pub sources: Vec<Source>,
}

/// A cluster that has the service, by a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Source {
    /// Index into the import's targets.
    #[serde(deserialize_with = "integer")]
    pub target: u32,
    /// Share of the candidate's requests, relative to its other sources: ready pods.
    #[serde(default = "one", skip_serializing_if = "is_one", deserialize_with = "integer")]
    pub weight: u32,
    /// Index into the configuration's paths. None: this cluster, which is always In.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_integer")]
    pub path: Option<u32>,
}

/// What happens to a request while none of its tiers keeps its promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WhenNoneInSla {
    /// It takes the first that answers, else the backend's own.
    #[default]
    Preferred,
    /// 503.
    Refuse,
}
