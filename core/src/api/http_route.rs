//! `HTTPRoute` (Gateway API v1.5), as others write it: where its rules are to hold, its rules, and what it is told.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_core::ObjectMeta;
use kube_derive::Resource;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{GROUP, HttpMatch, HttpRule, MCS_GROUP, validate};
use crate::problem::FieldPath;

/// The group of Gateway API.
pub const GATEWAY_API_GROUP: &str = "gateway.networking.k8s.io";

/// What we are called in `status.parents` (Gateway API, `GatewayController`).
pub const CONTROLLER: &str = "mc-wan.l7mp.io/controller";

/// An `HTTPRoute`: of all that Gateway API has for it, what is read here.
#[derive(Clone, Debug, Default, PartialEq, Resource, Deserialize)]
#[serde(from = "Document")]
#[resource(inherit = "gateway_api::httproutes::HttpRoute", crates(kube_core = "::kube_core"))]
pub struct HttpRoute {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// Where its rules are to hold.
    pub parents: Vec<ParentRef>,
    /// Whether it names hosts, which mean something below a Gateway alone.
    pub has_hostnames: bool,
    /// Its rules.
    pub rules: Vec<RouteRule>,
    /// What it is told, by us and by others (`status.parents`): as it stands there.
    pub told: Vec<Value>,
}

/// A rule of a route. One that cannot be read spoils no other.
#[derive(Clone, Debug, PartialEq)]
pub struct RouteRule {
    /// The rule, as far as it can be read.
    pub rule: HttpRule,
    /// Why it cannot be read.
    pub fault: Option<Fault>,
}

/// Why a rule cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The first field that cannot.
    pub field: FieldPath,
    /// What is wrong with it.
    pub message: String,
    /// Whether it is not known what the rule matches. Without it, others would match more.
    pub is_of_match: bool,
}

/// Where the rules of a route are to hold (Gateway API, `ParentReference`).
#[derive(Clone, Debug, PartialEq)]
pub struct ParentRef {
    /// The API group of the parent.
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; none: the route's.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// A part of it, by name.
    pub section_name: Option<String>,
    /// A port of it.
    pub port: Option<u16>,
    /// All of it, as it stands in the route.
    pub written: Value,
}

impl HttpRoute {
    /// Where a rule is.
    pub fn rule_field(index: usize) -> FieldPath {
        FieldPath::from("spec.rules").index(index)
    }

    /// What it is told by us of one of its parents.
    pub fn conditions_of(&self, parent: &ParentRef) -> Vec<Condition> {
        let entry = self.told.iter().find(|entry| is_ours(entry) && entry.get("parentRef") == Some(&parent.written));
        entry.map(conditions).unwrap_or_default()
    }

    /// Whether it is told anything by us.
    pub fn is_told_by_us(&self) -> bool {
        self.told.iter().any(is_ours)
    }

    /// The imports that it names as parents, by namespace and name: a parent may be there more than once.
    pub fn imports(&self) -> impl Iterator<Item = (&str, &str)> {
        let namespace = self.metadata.namespace.as_deref().unwrap_or_default();
        self.parents.iter().filter_map(move |parent| parent.import(namespace))
    }
}

impl ParentRef {
    /// The namespace and name of the import that it names from a route of a namespace: by its `ServiceImport`, ours or
    /// that of the Multi-Cluster Services API.
    pub fn import<'r>(&'r self, namespace: &'r str) -> Option<(&'r str, &'r str)> {
        let is_import = matches!(&*self.group, GROUP | MCS_GROUP) && self.kind == "ServiceImport";
        is_import.then(|| (self.namespace.as_deref().unwrap_or(namespace), &*self.name))
    }
}

impl From<Value> for ParentRef {
    fn from(written: Value) -> Self {
        let text = |field: &str| written.get(field).and_then(Value::as_str).map(str::to_owned);
        Self {
            group: text("group").unwrap_or_else(|| GATEWAY_API_GROUP.to_owned()),
            kind: text("kind").unwrap_or_else(|| "Gateway".to_owned()),
            namespace: text("namespace"),
            name: text("name").unwrap_or_default(),
            section_name: text("sectionName"),
            port: written.get("port").and_then(Value::as_u64).and_then(|port| port.try_into().ok()),
            written,
        }
    }
}

impl From<Value> for RouteRule {
    fn from(written: Value) -> Self {
        let fault = match serde_path_to_error::deserialize::<_, HttpRule>(&written) {
            Ok(rule) => match validate::first_fault(&rule) {
                None => return Self { rule, fault: None },
                Some(fault) => fault,
            },
            Err(error) => (FieldPath::from(error.path()), error.inner().to_string()),
        };
        let part = |field: &str| written.get(field).cloned().unwrap_or(Value::Null);
        let matches: Option<Vec<HttpMatch>> = match part("matches") {
            Value::Null => Some(Vec::new()),
            matches => serde_json::from_value(matches).ok(),
        };
        let name = part("name").as_str().map(str::to_owned);
        let rule = HttpRule { name, matches: matches.clone().unwrap_or_default(), ..HttpRule::default() };
        let is_of_match = matches.is_none() || validate::first_fault(&rule).is_some();
        let (field, message) = fault;
        Self { rule, fault: Some(Fault { field, message, is_of_match }) }
    }
}

/// Whether an entry of `status.parents` is ours.
pub fn is_ours(entry: &Value) -> bool {
    entry.get("controllerName").and_then(Value::as_str) == Some(CONTROLLER)
}

/// The conditions of an entry of `status.parents`.
pub fn conditions(entry: &Value) -> Vec<Condition> {
    entry.get("conditions").and_then(|said| Vec::deserialize(said).ok()).unwrap_or_default()
}

/// The form that it has in an API server and in files.
#[derive(Deserialize)]
struct Document {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    parent_refs: Vec<Value>,
    hostnames: Vec<String>,
    rules: Option<Vec<Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    parents: Vec<Value>,
}

impl From<Document> for HttpRoute {
    fn from(Document { metadata, spec, status }: Document) -> Self {
        // The definition adds a rule where none is given: without matches, and without backends.
        let rules = spec.rules.unwrap_or_else(|| vec![json!({})]);
        Self {
            metadata,
            parents: spec.parent_refs.into_iter().map(ParentRef::from).collect(),
            has_hostnames: !spec.hostnames.is_empty(),
            rules: rules.into_iter().map(RouteRule::from).collect(),
            told: status.parents,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(rule: Value) -> Option<(String, bool)> {
        let RouteRule { fault, .. } = RouteRule::from(rule);
        fault.map(|fault| (fault.field.to_string(), fault.is_of_match))
    }

    #[test]
    fn a_rule_that_cannot_be_read_tells_whether_its_matches_can() {
        let with = |filter: Value| json!({"matches": [{"method": "GET"}], "filters": [filter]});
        let long = "a".repeat(2_000);
        let table = [
            (json!({}), None, "the definition's default"),
            (with(json!({"type": "Unheard"})), Some(("filters[0].type", false)), "a filter of a later release"),
            (json!({"matches": [{"path": {"type": "Prefix"}}]}), Some(("matches[0].path.type", true)), "a path type"),
            (json!({"matches": [{"color": "red"}]}), Some(("matches[0].color", true)), "a field of a later release"),
            (
                json!({"matches": [{"queryParams": [{"name": "a", "value": long}]}]}),
                Some(("matches[0].queryParams[0].value", true)),
                "over a bound",
            ),
        ];
        for (rule, expected, message) in table {
            let expected = expected.map(|(field, is_of_match)| (field.to_owned(), is_of_match));
            assert_eq!(fault(rule), expected, "{message}");
        }
    }

    #[test]
    fn parents_are_imports_by_either_kind() {
        let table = [
            (json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "a"}), Some("own/a")),
            (json!({"group": "mc-wan.l7mp.io", "kind": "ServiceImport", "name": "a", "namespace": "b"}), Some("b/a")),
            (json!({"name": "a"}), None),
            (json!({"group": "", "kind": "Service", "name": "a"}), None),
        ];
        for (written, expected) in table {
            let parent = ParentRef::from(written.clone());
            let import = parent.import("own").map(|(namespace, name)| format!("{namespace}/{name}"));
            assert_eq!(import.as_deref(), expected, "{written}");
        }
    }
}
