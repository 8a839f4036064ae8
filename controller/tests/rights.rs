//! What the manifests let the controller do is what the table of kinds says that it needs.

use std::collections::BTreeSet;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule, Role};
use mcwan_core::kind::{self, KindInfo, Place};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The name of the controller's roles.
const CONTROLLER: &str = "mcwan";
/// The controller's namespace.
const SYSTEM: &str = "mc-wan-system";

/// `create services everywhere`, one for each verb and name.
type Rights = BTreeSet<String>;

fn right(place: Place, group: &str, resource: &str, name: &str, verb: &str) -> String {
    format!("{verb} {resource}.{group} {name} {place:?}")
}

/// What the table of kinds says.
fn needed(kinds: &[&KindInfo], places: &[Place]) -> Rights {
    let mut needed = Rights::new();
    for kind in kinds {
        for it in kind.rights.iter().filter(|right| places.contains(&right.place)) {
            let resource = [Some(kind.plural), it.subresource].into_iter().flatten().collect::<Vec<_>>().join("/");
            let names = if it.names.is_empty() { &["*"] } else { it.names };
            for name in names {
                needed.extend(it.verbs.iter().map(|verb| right(it.place, kind.group, &resource, name, verb)));
            }
        }
    }
    needed
}

/// What rules allow.
fn allowed(place: Place, rules: Option<Vec<PolicyRule>>) -> Rights {
    let mut allowed = Rights::new();
    for rule in rules.unwrap_or_default() {
        let PolicyRule { api_groups, non_resource_urls, resource_names, resources, verbs } = rule;
        assert_eq!(non_resource_urls, None);
        let names = resource_names.unwrap_or_else(|| vec!["*".to_owned()]);
        for group in api_groups.unwrap_or_default() {
            for resource in resources.iter().flatten() {
                for name in &names {
                    allowed.extend(verbs.iter().map(|verb| right(place, &group, resource, name, verb)));
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

fn place_of(role: &Role) -> Place {
    let namespace = role.metadata.namespace.as_deref();
    let known = [Place::Tiers, Place::Registry].into_iter().find(|place| place.namespace() == namespace);
    known.unwrap_or_else(|| {
        assert_eq!(namespace, Some(SYSTEM));
        Place::Own
    })
}

#[test]
fn the_controller_is_allowed_what_it_needs_and_nothing_else() {
    let manifest = include_str!("../../manifests/mcwan.yaml");
    let cluster_roles = objects::<ClusterRole>(manifest, "ClusterRole").into_iter();
    let cluster_roles: Vec<_> =
        cluster_roles.filter(|role| role.metadata.name.as_deref() == Some(CONTROLLER)).collect();
    let roles = objects::<Role>(manifest, "Role");
    assert_eq!((cluster_roles.len(), roles.len()), (1, 3));
    let mut found = Rights::new();
    for role in cluster_roles {
        found.append(&mut allowed(Place::Everywhere, role.rules));
    }
    for role in roles {
        assert_eq!(role.metadata.name.as_deref(), Some(CONTROLLER));
        found.append(&mut allowed(place_of(&role), role.rules));
    }
    let needed = needed(&kind::ALL, &[Place::Everywhere, Place::Tiers, Place::Registry, Place::Own]);
    assert_eq!(needed.difference(&found).collect::<Vec<_>>(), [""; 0], "missing");
    assert_eq!(found.difference(&needed).collect::<Vec<_>>(), [""; 0], "not needed");
}

#[test]
fn a_cluster_that_has_joined_is_allowed_what_it_needs_in_the_registry() {
    let roles: Vec<Role> = objects(include_str!("../../manifests/registry/role.yaml"), "Role");
    let found = roles.into_iter().fold(Rights::new(), |found, role| {
        assert_eq!(place_of(&role), Place::Registry);
        found.into_iter().chain(allowed(Place::Registry, role.rules)).collect()
    });
    let needed = needed(&kind::ALL, &[Place::Registry]);
    assert_eq!(needed.difference(&found).collect::<Vec<_>>(), [""; 0], "missing");
    // Who leaves may take its Lease along.
    let leaving = right(Place::Registry, kind::LEASE.group, kind::LEASE.plural, "*", "delete");
    assert_eq!(found.difference(&needed).collect::<Vec<_>>(), [&leaving], "not needed");
}
