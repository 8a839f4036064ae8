//! The wire format of the plugin configuration: JSON, written by the controller, read by the filter.
//!
//! Only shapes live here. What is checked beyond the shape is checked where the table is compiled
//! ([`crate::RouteTable`]). Unknown fields are refused everywhere. Enums are tagged by their single
//! key (`{"prefix": "/a"}`), lists never maps keyed by data, and no integer is above 2^53: the
//! configuration travels as a protobuf `Struct`, which keeps neither key order nor integers.

mod integer;

use serde::{Deserialize, Serialize};

use integer::{integer, integers, some_integer};

/// The version of this format that this crate reads and writes.
pub const VERSION: u32 = 1;

/// A whole configuration: the envelope and the imports of one gateway. What the imports are read into
/// is the reader's choice: the filter compiles each as it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginConfig<Imports = Vec<Import>> {
    /// Must be [`VERSION`].
    #[serde(deserialize_with = "integer")]
    pub version: u32,
    /// What the filter's gauge says while this configuration is in force, so that its writer learns of it;
    /// below [`crate::limits::REVISIONS`]. None: the gauge says 0.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some_integer")]
    pub revision: Option<u64>,
    /// What happens to a request whose host belongs to no import.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unknown_hosts: UnknownHosts,
    /// The imports, the oldest first: of two that claim a host the earlier one has it.
    pub imports: Imports,
}

/// The version of an envelope of any version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Version {
    /// See [`PluginConfig::version`].
    #[serde(deserialize_with = "integer")]
    pub version: u32,
}

/// What happens to a request whose host belongs to no import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UnknownHosts {
    /// It goes on without the steering header.
    #[default]
    Pass,
    /// It is answered with 404.
    Refuse,
}

/// One imported service and its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Import {
    /// Namespace of the service, a DNS label.
    pub namespace: String,
    /// Name of the service, a DNS label; of what is none, labels with dots between them.
    pub name: String,
    /// What its requests are for. An older module does not know it: it is there only where it says something.
    #[serde(default, skip_serializing_if = "is_default")]
    pub serves: Serves,
    /// Hosts beside the ones that follow from name and namespace; `*.` starts a wildcard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hostnames: Vec<String>,
    /// The answer where no rule matches.
    #[serde(default, skip_serializing_if = "is_default")]
    pub no_match: NoMatch,
    /// The routes behind the filter that this import's actions name by index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// The rules in the order of their sources. None: everything is refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

/// What the requests of an import are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Serves {
    /// A service, which has hosts by its name, and one that upstreams know it by.
    #[default]
    Service,
    /// Hosts that somebody chose: it has no others, and upstreams see the one that the client used.
    Hosts,
}

/// The status of the answer where no rule of an import matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NoMatch {
    /// 403.
    #[default]
    Forbidden,
    /// 404.
    NotFound,
    /// 429.
    TooManyRequests,
    /// 503.
    ServiceUnavailable,
}

/// One route behind the filter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Target {
    /// Legible in access logs and metrics, unique in its import.
    pub name: String,
    /// Keyed digest over import and target; the steering header carries `NAME.DIGEST`.
    pub digest: String,
}

/// One rule: where any of its matches holds, one of its actions is taken. An older module does not know `host` and `ports`:
/// they are there only where they say something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// The host on which it holds, which is the import's by that; no rule without a host holds there. None: all other hosts
    /// of the import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The ports that clients use on which it holds. None: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "integers")]
    pub ports: Vec<u16>,
    /// Alternatives. None: every request matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Match>,
    /// What is done, chosen by weight. None, or all of weight zero: 500 `NoBackend`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<Action>,
}

impl Rule {
    /// Whether it holds on a port that clients use.
    pub fn holds_on(&self, port: u16) -> bool {
        self.ports.is_empty() || self.ports.contains(&port)
    }
}

/// All given parts must hold (Gateway API, `HTTPRouteMatch`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Match {
    /// The path without its query. None: prefix `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathMatch>,
    /// The method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// Headers, all of which must match. Of equal names the first one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<ValueMatch>,
    /// Query parameters, all of which must match. Of equal names the first one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub query_params: Vec<ValueMatch>,
}

/// How a path is matched (Gateway API, `HTTPPathMatch`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PathMatch {
    /// The whole path, byte for byte.
    Exact(String),
    /// A prefix by path elements.
    Prefix(String),
    /// A prefix byte for byte, which ends in `/`: `/a/` does not match `/a`. An older module does not know it.
    RawPrefix(String),
    /// A regular expression over the whole path.
    Regex(String),
}

/// The methods that a match can ask for (Gateway API, `HTTPMethod`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "RFC 9110, section 9, and RFC 5789 define them")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Delete,
    Connect,
    Options,
    Trace,
    Patch,
}

/// A header or query parameter by name and value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValueMatch {
    /// The name: of a header in any case, of a query parameter as it is.
    pub name: String,
    /// What its value must be.
    pub value: Value,
}

/// How a value is matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Value {
    /// Byte for byte.
    Exact(String),
    /// A regular expression over the whole value.
    Regex(String),
}

/// One of the things that a rule may do with a request, with its weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Send it to a target.
    Forward(Forward),
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

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_one(value: &u32) -> bool {
    *value == 1
}
