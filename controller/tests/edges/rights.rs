//! What the manifests let the controller do is what the table of kinds says that it needs.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use mcwan::controller::LEASE;
use mcwan::steering_secret::SECRET;
use mcwan_core::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE};
use mcwan_core::kind::{self, KindInfo, RightScope};
use mcwan_core::watched::Watched;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The name of the controller's roles.
const CONTROLLER: &str = "mcwan";
/// The controller's namespace.
const SYSTEM: &str = "mc-wan-system";

/// `create services everywhere`, one for each verb and name.
type Rights = BTreeSet<String>;

fn right(scope: RightScope, group: &str, resource: &str, name: &str, verb: &str) -> String {
    format!("{verb} {resource}.{group} {name} {scope:?}")
}

/// What the table of kinds says of these, and of what is not watched.
fn needed(kinds: impl Iterator<Item = Watched>, is_asked: impl Fn(RightScope) -> bool) -> Rights {
    let mut needed = Rights::new();
    let unwatched = [&kind::SECRET, &kind::EVENT];
    for KindInfo { group, plural, rights, .. } in kinds.map(Watched::info).chain(unwatched) {
        for it in rights.iter().filter(|right| is_asked(right.scope)) {
            let resource = it.subresource.map_or_else(|| (*plural).to_owned(), |part| format!("{plural}/{part}"));
            for name in if it.names.is_empty() { &["*"] } else { it.names } {
                needed.extend(it.verbs.iter().map(|verb| right(it.scope, group, &resource, name, verb)));
            }
        }
    }
    needed
}

/// What rules allow.
fn allowed(scope: RightScope, rules: Option<Vec<PolicyRule>>) -> Rights {
    let mut allowed = Rights::new();
    for rule in rules.unwrap_or_default() {
        let PolicyRule { api_groups, non_resource_urls, resource_names, resources, verbs } = rule;
        assert_eq!(non_resource_urls, None);
        let names = resource_names.unwrap_or_else(|| vec!["*".to_owned()]);
        for group in api_groups.unwrap_or_default() {
            for resource in resources.iter().flatten() {
                for name in &names {
                    allowed.extend(verbs.iter().map(|verb| right(scope, &group, resource, name, verb)));
                }
            }
        }
    }
    allowed
}

/// The objects of a kind in a manifest.
fn objects<T: DeserializeOwned>(manifest: &str, kind: &str) -> Vec<T> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(manifest).unwrap();
    let of_kind = documents.into_iter().filter(|document| document["kind"] == kind);
    of_kind.map(|document| serde_json::from_value(document).unwrap()).collect()
}

fn scope_of(role: &Role) -> RightScope {
    match role.metadata.namespace.as_deref() {
        Some(TIER_NAMESPACE) => RightScope::Tiers,
        Some(REGISTRY_NAMESPACE) => RightScope::Registry,
        Some(SYSTEM) => RightScope::Own,
        other => panic!("no namespace of mcwan: {other:?}"),
    }
}

/// Every kind that is on by default.
fn by_default() -> impl Iterator<Item = Watched> {
    Watched::all().filter(|watched| *watched != Watched::OpenshiftRoute)
}

/// The chart's roles where these kinds give rules, as Helm renders them.
fn chart(front_ends: &[&str]) -> String {
    let mut is_on = true;
    let mut rendered = String::new();
    for line in include_str!("../../../manifests/chart/templates/rbac.yaml").lines() {
        if let Some(kind) = line.strip_prefix("{{- if has \"") {
            is_on = front_ends.iter().any(|on| kind.starts_with(&format!("{on}\"")));
        } else if line == "{{- end }}" {
            is_on = true;
        } else if is_on && !line.trim_start().starts_with("{{") {
            rendered.extend([&*line.replace("{{ .Release.Namespace }}", SYSTEM), "\n"]);
        }
    }
    rendered
}

/// What a manifest lets the controller do.
fn given(manifest: &str) -> Rights {
    let cluster_roles = objects::<ClusterRole>(manifest, "ClusterRole").into_iter();
    let cluster_roles: Vec<_> =
        cluster_roles.filter(|role| role.metadata.name.as_deref() == Some(CONTROLLER)).collect();
    let roles = objects::<Role>(manifest, "Role");
    assert_eq!((cluster_roles.len(), roles.len()), (1, 3));
    let mut found = Rights::new();
    for role in cluster_roles {
        found.append(&mut allowed(RightScope::Everywhere, role.rules));
    }
    for role in roles {
        assert_eq!(role.metadata.name.as_deref(), Some(CONTROLLER));
        found.append(&mut allowed(scope_of(&role), role.rules));
    }
    found
}

#[test]
fn a_kind_that_gives_rules_has_the_rights_that_this_takes() {
    let all = given(&chart(&["HTTPRoute", "GRPCRoute", "Route"]));
    assert_eq!(all, needed(Watched::all(), |_| true));
    assert_eq!(
        given(&chart(&["HTTPRoute", "GRPCRoute"])),
        given(include_str!("../../../manifests/mcwan.yaml")),
        "the default"
    );
    let table = [
        ("HTTPRoute", vec!["httproutes/status"]),
        ("GRPCRoute", vec!["grpcroutes", "grpcroutes/status"]),
        ("Route", vec!["routes", "routes/status"]),
    ];
    let without = given(&chart(&[]));
    for (kind, expected) in table {
        let more = given(&chart(&[kind]));
        let more = more.difference(&without).filter_map(|right| right.split([' ', '.']).nth(1));
        assert_eq!(more.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>(), expected, "{kind}");
    }
}

#[test]
fn the_controller_is_allowed_what_it_needs_and_nothing_else() {
    let found = given(include_str!("../../../manifests/mcwan.yaml"));
    let needed = needed(by_default(), |_| true);
    assert_eq!(needed.difference(&found).collect::<Vec<_>>(), [""; 0], "missing");
    assert_eq!(found.difference(&needed).collect::<Vec<_>>(), [""; 0], "not needed");
    for name in [LEASE, SECRET] {
        assert!(needed.iter().any(|right| right.contains(&format!(" {name} "))), "{name} is used");
    }
}

#[test]
fn whatever_kind_the_controller_writes_is_bound_to_its_label() {
    let policies: Vec<Value> = objects(include_str!("../../../manifests/mcwan.yaml"), "ValidatingAdmissionPolicy");
    let policy = policies.iter().find(|policy| policy["metadata"]["name"] == "mcwan-controller").expect("the policy");
    let texts = |list: &Value| -> Vec<String> { serde_json::from_value(list.clone()).expect("texts") };
    let mut bound = BTreeSet::new();
    for rule in policy["spec"]["matchConstraints"]["resourceRules"].as_array().expect("rules") {
        for group in texts(&rule["apiGroups"]) {
            bound.extend(texts(&rule["resources"]).into_iter().map(|resource| format!("{resource}.{group}")));
        }
    }
    let written = Watched::all().filter(|watched| watched.emitted().is_some()).map(Watched::info);
    let written = written.map(|KindInfo { group, plural, .. }| format!("{plural}.{group}"));
    assert_eq!(bound, written.chain(["pods/status.".to_owned()]).collect());
}

#[test]
fn a_cluster_that_has_joined_is_allowed_what_it_needs_in_the_registry() {
    let roles: Vec<Role> = objects(include_str!("../../../manifests/registry/role.yaml"), "Role");
    let found = roles.into_iter().fold(Rights::new(), |found, role| {
        assert_eq!(scope_of(&role), RightScope::Registry);
        found.into_iter().chain(allowed(RightScope::Registry, role.rules)).collect()
    });
    let needed = needed(by_default(), |scope| scope == RightScope::Registry);
    assert_eq!(needed.difference(&found).collect::<Vec<_>>(), [""; 0], "missing");
    // Who leaves may take its Lease along.
    let leaving = right(RightScope::Registry, kind::LEASE.group, kind::LEASE.plural, "*", "delete");
    assert_eq!(found.difference(&needed).collect::<Vec<_>>(), [&leaving], "not needed");
}
