//! `HTTPRoute` and `GRPCRoute` (Gateway API v1.5), as others write them: where their rules hold, these rules, and
//! what they are told.

use std::num::NonZeroU16;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::resource::resource;
use super::{BackendRef, FilterType, GROUP, GrpcMatch, HttpFilter, HttpRule, MCS_GROUP, validate};
use crate::kind::{self, KindInfo};
use crate::problem::{FieldPath, ObjectRef};

/// The group of Gateway API.
pub const GATEWAY_API_GROUP: &str = "gateway.networking.k8s.io";

/// What we are called in `status.parents` (Gateway API, `GatewayController`).
pub const CONTROLLER: &str = "mc-wan.l7mp.io/controller";

/// The kinds of routes that rules are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "Gateway API defines them")]
pub enum RouteKind {
    Http,
    Grpc,
}

/// A route: of all that Gateway API has for it, what is read here.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Route {
    /// Its kind.
    #[serde(skip)]
    pub kind: RouteKind,
    /// Its metadata.
    pub metadata: ObjectMeta,
    spec: Spec,
    /// Where its rules hold.
    #[serde(skip)]
    pub parents: Vec<ParentRef>,
    /// Its rules.
    #[serde(skip)]
    pub rules: Vec<RouteRule>,
    /// What it is told, by us and by others (`status.parents`): as it stands there.
    #[serde(skip)]
    pub told: Vec<Value>,
}

/// A rule of a route. One that cannot be read spoils no other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteRule {
    /// The rule, as far as it can be read; that of a `GRPCRoute` with the fields that both kinds have, without matches.
    pub rule: HttpRule,
    /// The matches of a `GRPCRoute`'s.
    pub calls: Vec<GrpcMatch>,
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

/// Where the rules of a route hold (Gateway API, `ParentReference`).
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
    /// What of it cannot be read: what it is for is not known then.
    pub fault: Option<Unread>,
    /// All of it, as it stands in the route.
    pub written: Value,
}

/// The first field that cannot be read, and what is wrong with it.
pub type Unread = (FieldPath, String);

impl RouteKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Http, Self::Grpc];

    /// What there is to know of the kind.
    pub const fn info(self) -> &'static KindInfo {
        match self {
            Self::Http => &kind::HTTP_ROUTE,
            Self::Grpc => &kind::GRPC_ROUTE,
        }
    }
}

impl Route {
    /// A route of a kind.
    pub fn new(kind: RouteKind, RouteDocument { metadata, spec, status }: RouteDocument) -> Self {
        let rules = match (&spec.rules, kind) {
            (Some(rules), _) => rules.iter().map(|rule| RouteRule::of(kind, rule)).collect(),
            // The definition adds a rule where none is given: without matches, and without backends.
            (None, RouteKind::Http) => vec![RouteRule::default()],
            (None, RouteKind::Grpc) => Vec::new(),
        };
        let parents = spec.parent_refs.iter().cloned().map(ParentRef::from).collect();
        Self { kind, metadata, spec, parents, rules, told: status.parents }
    }

    /// Whether it names hosts, which mean something below a Gateway alone.
    pub fn has_hostnames(&self) -> bool {
        !self.spec.hostnames.is_empty()
    }

    /// Whether it says the same as another.
    pub fn says(&self, other: &Self) -> bool {
        self.spec == other.spec
    }

    /// The route, for people.
    pub fn object(&self) -> ObjectRef {
        let ObjectMeta { namespace, name, .. } = self.metadata.clone();
        ObjectRef { kind: self.kind.info().name.to_owned(), namespace, name: name.unwrap_or_default() }
    }

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

    /// Whether one of its rules leads over a tier by name, even one that cannot be read: then it is meant for us, whatever
    /// its parents are.
    pub fn names_tier(&self) -> bool {
        let rules = self.spec.rules.iter().flatten();
        let backends = rules.filter_map(|rule| rule.get("backendRefs")?.as_array()).flatten();
        let has = |backend: &Value, field, text| backend.get(field).and_then(Value::as_str) == Some(text);
        backends.into_iter().any(|backend| has(backend, "group", GROUP) && has(backend, "kind", "WANPolicy"))
    }

    /// The imports that it may name as parents, by namespace and name: a parent may be there more than once.
    pub fn imports(&self) -> impl Iterator<Item = (&str, &str)> {
        let namespace = self.metadata.namespace.as_deref().unwrap_or_default();
        self.parents.iter().filter_map(move |parent| parent.import(namespace))
    }
}

impl ParentRef {
    /// The namespace and name of the import that it names from a route of a namespace: by its `ServiceImport`, ours or
    /// that of the Multi-Cluster Services API, or by the Service of that name, of which there may be no import.
    pub fn import<'r>(&'r self, namespace: &'r str) -> Option<(&'r str, &'r str)> {
        let is_import = matches!(&*self.group, GROUP | MCS_GROUP) && self.kind == "ServiceImport";
        (is_import || self.is_service()).then(|| (self.namespace.as_deref().unwrap_or(namespace), &*self.name))
    }

    /// Whether it names a Service. The core group was written `core` once.
    pub fn is_service(&self) -> bool {
        matches!(&*self.group, "" | "core") && self.kind == "Service"
    }
}

/// The fields of a parent (Gateway API, `ParentReference`).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ParentFields {
    group: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: String,
    section_name: Option<String>,
    port: Option<NonZeroU16>,
}

impl From<Value> for ParentRef {
    fn from(written: Value) -> Self {
        let text = |field: &str| written.get(field).and_then(Value::as_str).map(str::to_owned);
        let fields = typed::<ParentFields>(&written);
        let (fields, fault) = match fields {
            Ok(fields) => (fields, None),
            Err(fault) => {
                let name = text("name").unwrap_or_default();
                let (group, kind, namespace) = (text("group"), text("kind"), text("namespace"));
                (ParentFields { group, kind, namespace, name, section_name: None, port: None }, Some(fault))
            }
        };
        let ParentFields { group, kind, namespace, name, section_name, port } = fields;
        Self {
            group: group.unwrap_or_else(|| GATEWAY_API_GROUP.to_owned()),
            kind: kind.unwrap_or_else(|| "Gateway".to_owned()),
            namespace,
            name,
            section_name,
            port: port.map(NonZeroU16::get),
            fault,
            written,
        }
    }
}

impl RouteRule {
    /// Reads a rule of a route of a kind.
    fn of(kind: RouteKind, written: &Value) -> Self {
        let part = |field: &str| written.get(field).unwrap_or(&Value::Null);
        let name = part("name").as_str().map(str::to_owned);
        let read = |matches: Value| match kind {
            RouteKind::Http => http_rule(&matches),
            RouteKind::Grpc => grpc_rule(&matches),
        };
        let (field, message) = match read(written.clone()) {
            Ok(read) => return read,
            Err(fault) => fault,
        };
        // Whether it is of the matches that they alone cannot be read.
        let matches = read(json!({"matches": part("matches").as_array().cloned().unwrap_or_default()}));
        let is_of_match = matches.is_err() || !matches!(part("matches"), Value::Null | Value::Array(_));
        let fault = Some(Fault { field, message, is_of_match });
        let known = matches.unwrap_or_default();
        Self { rule: HttpRule { name, ..known.rule }, calls: known.calls, fault }
    }
}

fn http_rule(written: &Value) -> Result<RouteRule, Unread> {
    let rule: HttpRule = typed(written)?;
    validate::first_fault(&rule).map_or(Ok(()), Err)?;
    Ok(RouteRule { rule, ..RouteRule::default() })
}

fn grpc_rule(written: &Value) -> Result<RouteRule, Unread> {
    let GrpcRule { name, matches: calls, filters, backend_refs, session_persistence } = typed(written)?;
    for (index, call) in calls.iter().enumerate() {
        call.check().map_err(|(field, message)| (FieldPath::from("matches").index(index).field(field), message))?;
    }
    let lists = backend_refs
        .iter()
        .enumerate()
        .map(|(index, backend)| (FieldPath::from("backendRefs").index(index).field("filters"), &backend.filters));
    for (list, filters) in lists.chain([(FieldPath::from("filters"), &filters)]) {
        let foreign = |filter: &HttpFilter| {
            matches!(filter.r#type, FilterType::RequestRedirect | FilterType::UrlRewrite | FilterType::Cors)
        };
        if let Some(index) = filters.iter().position(foreign) {
            return Err((list.index(index).field("type"), "a GRPCRoute has no such filter".to_owned()));
        }
    }
    let rule = HttpRule { name, filters, backend_refs, session_persistence, ..HttpRule::default() };
    validate::first_fault(&rule).map_or(Ok(()), Err)?;
    Ok(RouteRule { rule, calls, fault: None })
}

fn typed<'v, T: Deserialize<'v>>(written: &'v Value) -> Result<T, Unread> {
    serde_path_to_error::deserialize(written)
        .map_err(|error| (FieldPath::from(error.path()), error.inner().to_string()))
}

/// Whether an entry of `status.parents` is ours.
pub fn is_ours(entry: &Value) -> bool {
    entry.get("controllerName").and_then(Value::as_str) == Some(CONTROLLER)
}

/// The conditions of an entry of `status.parents`.
pub fn conditions(entry: &Value) -> Vec<Condition> {
    entry.get("conditions").and_then(|said| Vec::deserialize(said).ok()).unwrap_or_default()
}

/// The form that a route of any kind has in an API server and in files.
#[derive(Debug, Deserialize)]
pub struct RouteDocument {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

/// What is written, as it stands there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    parent_refs: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hostnames: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<Vec<Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    parents: Vec<Value>,
}

/// A rule of a `GRPCRoute` (Gateway API v1.5), field for field.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct GrpcRule {
    name: Option<String>,
    matches: Vec<GrpcMatch>,
    filters: Vec<HttpFilter>,
    backend_refs: Vec<BackendRef>,
    session_persistence: Option<Value>,
}

resource!(Route as RouteKind, RouteKind::info, |_| "v1");

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: RouteKind, rule: &Value) -> Option<(String, bool)> {
        let RouteRule { fault, .. } = RouteRule::of(kind, rule);
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
            assert_eq!(fault(RouteKind::Http, &rule), expected, "{message}");
        }
    }

    #[test]
    fn a_rule_of_a_grpc_route_has_what_grpc_has() {
        let on = |method: Value| json!({"matches": [{"method": method}]});
        let table = [
            (json!({}), None, "every call"),
            (on(json!({"service": "pay.v1.Pay", "method": "Refund"})), None, "a method"),
            (json!({"matches": [{"headers": [{"name": "a", "value": "b"}]}]}), None, "a header alone"),
            (on(json!({})), Some(("matches[0].method", true)), "neither a service nor a method"),
            (on(json!({"service": "pay/v1"})), Some(("matches[0].method.service", true)), "a path"),
            (on(json!({"service": ""})), Some(("matches[0].method.service", true)), "an empty service"),
            (on(json!({"type": "Prefix", "service": "a"})), Some(("matches[0].method.type", true)), "a type"),
            (json!({"matches": {}}), Some(("matches", true)), "a map"),
            (json!({"timeouts": {"request": "1s"}}), Some(("timeouts", false)), "a field of HTTPRoute"),
            (
                json!({"filters": [{"type": "URLRewrite", "urlRewrite": {"hostname": "a"}}]}),
                Some(("filters[0].type", false)),
                "a filter of HTTPRoute",
            ),
        ];
        for (rule, expected, message) in table {
            let expected = expected.map(|(field, is_of_match)| (field.to_owned(), is_of_match));
            assert_eq!(fault(RouteKind::Grpc, &rule), expected, "{message}");
        }
    }

    #[test]
    fn parents_are_imports_by_any_of_their_kinds() {
        let table = [
            (json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "a"}), Some("own/a")),
            (json!({"group": "mc-wan.l7mp.io", "kind": "ServiceImport", "name": "a", "namespace": "b"}), Some("b/a")),
            (json!({"name": "a"}), None),
            (json!({"group": "", "kind": "Service", "name": "a"}), Some("own/a")),
            (json!({"group": "core", "kind": "Service", "name": "a", "namespace": "b"}), Some("b/a")),
            (json!({"group": "example.com", "kind": "Service", "name": "a"}), None),
        ];
        for (written, expected) in table {
            let parent = ParentRef::from(written.clone());
            let import = parent.import("own").map(|(namespace, name)| format!("{namespace}/{name}"));
            assert_eq!(import.as_deref(), expected, "{written}");
        }
    }
}
