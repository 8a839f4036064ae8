//! `ServiceImport`: the rules for the requests to an imported service.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::{JsonSchema, JsonSchema_repr};
use serde::{Deserialize, Serialize};
use serde_repr::{Deserialize_repr, Serialize_repr};

use super::{HttpRule, cel, limits, pattern};
use crate::problem::FieldPath;

/// The rules for the requests to an imported service. It is named like the Service that it imports.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    crates(kube = "::kube_derive", kube_core = "::kube_core"),
    attr = "x_kube(crates(kube_core = \"::kube_core\"))",
    group = "mc-wan.l7mp.io",
    version = "v1alpha1",
    kind = "ServiceImport",
    namespaced,
    status = "ServiceImportStatus",
    derive = "PartialEq",
    category = "mcwan",
    doc = "Which request to an imported service takes which tier of the WAN. It is named like the Service that it imports.",
    validation = cel::NAMED_BY_LABEL,
    printcolumn(
        name = "Accepted",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Accepted")].status"#
    ),
    printcolumn(
        name = "Refs",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="ResolvedRefs")].status"#
    ),
    printcolumn(
        name = "Programmed",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Programmed")].status"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Data plane", type_ = "string", json_path = ".spec.dataPlane", priority = 1),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.status=="False")].reason"#,
        priority = 1
    ),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.status=="False")].message"#,
        priority = 1
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceImportSpec {
    /// Hosts beside the ones that follow from name and namespace; `*.` starts a wildcard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(max = 253), regex(pattern = pattern::HOSTNAME)))]
    pub hostnames: Vec<String>,
    /// The rules. Absent: every request takes the default tier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Http>,
    /// Who applies the rules. Absent: as the controller is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_plane: Option<DataPlane>,
}

/// The rules of an import.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [cel::rules_or_no_match()]))]
pub struct Http {
    /// The answer where no rule matches. Absent: 403.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_match: Option<NoMatch>,
    /// The rules, as in `HTTPRoute`. An empty list: everything is refused. Absent: the `HTTPRoute`s of the namespace that have
    /// the import as their parent give the rules; while there are none, everything is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 10_000))]
    pub rules: Option<Vec<HttpRule>>,
}

/// The answer where no rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NoMatch {
    /// Its HTTP status: 403, 404, 429 or 503.
    #[serde(default)]
    pub status: NoMatchStatus,
}

/// The HTTP status of the answer where no rule matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize_repr, Deserialize_repr, JsonSchema_repr)]
#[repr(u16)]
#[expect(missing_docs, reason = "RFC 9110 and RFC 6585 define them")]
pub enum NoMatchStatus {
    #[default]
    Forbidden = 403,
    NotFound = 404,
    TooManyRequests = 429,
    ServiceUnavailable = 503,
}

/// Who applies the rules of an import. Absent: as the controller is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DataPlane {
    /// The mcwan filter.
    Wasm,
    /// The gateway itself, by plain routes.
    Native,
}

/// Where an object that says what an import does says what, for problems.
#[derive(Debug, PartialEq, Eq)]
pub struct ImportFields {
    /// The rules, and what holds for all of them.
    pub http: &'static str,
    /// The rules.
    pub rules: &'static str,
    /// The answer where no rule matches.
    pub no_match: &'static str,
    /// The hostnames.
    pub hostnames: &'static str,
    /// Who applies the rules.
    pub data_plane: &'static str,
}

impl ImportFields {
    /// A rule.
    pub fn rule(&self, index: usize) -> FieldPath {
        FieldPath::from(self.rules).index(index)
    }
}

impl ServiceImport {
    /// Its fields.
    pub const FIELDS: ImportFields = ImportFields {
        http: "spec.http",
        rules: "spec.http.rules",
        no_match: "spec.http.noMatch.status",
        hostnames: "spec.hostnames",
        data_plane: "spec.dataPlane",
    };
}

/// What the controller says of a `ServiceImport`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceImportStatus {
    /// `Accepted`, `ResolvedRefs`, `Programmed`; where they are true, `PartiallyInvalid` and `Stale`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CONDITIONS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}
