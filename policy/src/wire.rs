//! The wire format of the plugin configuration: JSON, written by the controller, read by the filter.
//!
//! Only shapes live here. What is checked beyond the shape is checked where the table is compiled
//! ([`crate::RouteTable`]). Unknown fields are refused everywhere. Enums are tagged by their single
//! key (`{"prefix": "/a"}`), lists never maps keyed by data, and no integer is above 2^53: the
//! configuration travels as a protobuf `Struct`, which keeps neither key order nor integers.

mod action;
mod integer;
mod wan_path;

use serde::{Deserialize, Serialize};

pub use action::{
    Action, Candidate, Choose, Forward, Header, HeaderModifier, PathRewrite, Redirect, Refuse, RefuseReason,
    RefuseStatus, Scheme, Source, WhenNoneInSla,
};
use integer::{integer, integers, some_integer};
pub use wan_path::WanPath;

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
    /// What is measured for the actions that choose by it, each once. An older module does not know it: it is there only
    /// where it says something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<WanPath>,
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
    pub targets: Vec<TargetConfig>,
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
    /// A service of another namespace than the gateway's: the bare name is for one of the gateway's own.
    View,
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
pub struct TargetConfig {
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

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
