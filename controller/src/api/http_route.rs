//! The rules of an `HTTPRoute` (Gateway API v1.5, standard channel), field for field.
//!
//! These types are ours because the generated ones have two families of everything, one for rules and
//! one for backends. `retry` and `sessionPersistence`, which only the experimental channel has, are
//! kept as they are, so that they can be refused by name.

use std::num::NonZeroU16;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Duration, HttpFilter, HttpMatch};

/// One rule: where any of its matches holds, a request is filtered and sent to one of its backends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpRule {
    /// A name for people, unique in its list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Alternatives. None: every request matches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub matches: Vec<HttpMatch>,
    /// What is done with a request, or instead of sending it on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub filters: Vec<HttpFilter>,
    /// Where requests go, by weight. None, and no redirect: 500.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub backend_refs: Vec<BackendRef>,
    /// How long a request may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<Timeouts>,
    /// Retries (experimental channel).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub retry: Option<Value>,
    /// Session persistence (experimental channel).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub session_persistence: Option<Value>,
}

/// How long a request may take. Zero: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Timeouts {
    /// From the client's request to the end of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Duration>,
    /// One attempt at a backend; at most `request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_request: Option<Duration>,
}

/// A backend and its share of the requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackendRef {
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
    /// Share of the requests, relative to the rule's other backends.
    #[serde(default = "one")]
    #[schemars(range(max = 1_000_000))]
    pub weight: u32,
    /// What is done with a request that goes here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub filters: Vec<HttpFilter>,
}

pub(super) fn service() -> String {
    "Service".to_owned()
}

fn one() -> u32 {
    1
}

fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
