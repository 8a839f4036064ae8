//! Names of tier services that several services join to.

use mcwan_core::translate::{Destination, Import};
use sha2::{Digest, Sha256};

use super::world::{World, mk_export, mk_plain_export};

/// `a` of namespace `b-c` and `a-b` of `c` join to the same name; the first is exported by the older. A rule of the second
/// names this tier service.
fn mk_world(backend: &str) -> World {
    let [older, younger, import] = mk_documents(backend);
    World::new(&[older, younger, import])
}

fn mk_documents(backend: &str) -> [String; 3] {
    let older = mk_plain_export()
        .replace("c1.secure.payment", "c1.b-c.a")
        .replace("namespace: secure, name: payment", "namespace: b-c, name: a")
        .replace("2026-11-20", "2026-11-19");
    let younger = mk_export("c2", "ports: [{port: 8080}], gateways: [10.20.0.8]")
        .replace("c2.secure.payment", "c2.c.a-b")
        .replace("namespace: secure, name: payment", "namespace: c, name: a-b");
    let import = format!(
        "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ServiceImport\nmetadata: {{name: a-b, namespace: c}}\n\
         spec: {{http: {{rules: [{{backendRefs: [{{name: {backend}, namespace: mc-wan}}]}}]}}}}\n"
    );
    [older, younger, import]
}

fn import(world: &World) -> &Import {
    world.translator.imports().get("c", "a-b").unwrap()
}

/// The joined name with so many digits of its hash.
fn hashed(digits: usize) -> String {
    let hash = hex::encode(Sha256::digest("c/a-b/high"));
    format!("a-b-c-high-{}", &hash[..digits])
}

#[test]
fn a_name_that_an_older_export_joins_to_ends_in_80_bits_of_hash() {
    assert_eq!(import(&mk_world("any")).tiers[0].service, hashed(20));
}

#[test]
fn a_rule_may_name_a_tier_service_as_it_was_called() {
    for (name, resolves, message) in [
        (hashed(20), true, "its name"),
        (hashed(8), true, "its former name"),
        (hashed(7), false, "less than that"),
        ("a-b-c-high".to_owned(), false, "the older's name"),
    ] {
        let world = mk_world(&name);
        let targets: Vec<_> = import(&world).targets.iter().map(|target| target.destination.clone()).collect();
        let expected = Vec::from_iter(resolves.then(|| Destination::Tier { name: "high".to_owned(), cluster: None }));
        assert_eq!(targets, expected, "{message}");
    }
}

#[test]
fn a_rule_keeps_its_tier_service_though_who_had_the_joined_name_is_gone() {
    for name in [hashed(20), hashed(8), "a-b-c-high".to_owned()] {
        let [_, younger, of_rule] = mk_documents(&name);
        let world = World::new(&[younger, of_rule]);
        assert_eq!(import(&world).tiers[0].service, "a-b-c-high");
        assert_eq!(import(&world).targets.len(), 1, "{name}");
    }
}
