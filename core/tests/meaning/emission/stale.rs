//! Clusters that do not show that they are alive.

use std::collections::BTreeSet;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::object::{Kind, Object};

use super::world::{World, at, common, import_objects, mk_export, mk_import, of_kind, settings, to_high};

/// What becomes of `payment` where these clusters export it, by the number of their pods, and some are stale.
fn objects(pods: &[u32], stale: &[&str]) -> (World, Vec<Object>) {
    let export = |(number, pods): (usize, &u32)| {
        let fields = format!("ports: [{{port: 8080}}], readyPods: {pods}, gateways: [10.20.{number}.7]");
        mk_export(&format!("c{number}"), &fields)
    };
    let exports = pods.iter().enumerate().map(export);
    let mut world = World::new(&exports.chain([mk_import("payment", &[to_high("")])]).collect::<Vec<_>>());
    let changes = world.gathered.snapshot.judge(stale.iter().map(|cluster| (*cluster).to_owned()).collect());
    world.translator.update(&world.gathered.snapshot, &changes);
    let objects = import_objects(world.payment(), &settings(DataPlane::Wasm)).0;
    (world, objects)
}

/// The weights of the backends of the only rule.
fn weights(objects: &[Object]) -> Vec<u64> {
    let routes = of_kind(objects, Kind::HttpRoute);
    let refs = at(routes[0].1, "/spec/rules/0/backendRefs").as_array().unwrap();
    refs.iter().map(|one| one["weight"].as_u64().unwrap()).collect()
}

/// Pods and names of clusters, weights, names again, and what the row is about.
type Row = (&'static [u32], &'static [&'static str], &'static [u64], &'static [&'static str], &'static str);

#[test]
fn a_stale_cluster_leaves_the_split_where_another_can_take_its_share() {
    let table: [Row; 8] = [
        (&[3, 1], &[], &[3, 1], &["c0", "c1"], "none is stale"),
        (&[3, 1], &["c0"], &[0, 1], &["c1"], "one of two"),
        (&[3, 1, 2], &["c0", "c2"], &[0, 1, 0], &["c1"], "two of three"),
        (&[3, 1], &["c0", "c1"], &[3, 1], &["c0", "c1"], "both: unknown is not down"),
        (&[3, 0], &["c0"], &[3, 0], &["c0", "c1"], "the other has no pod"),
        (&[0, 0], &["c0"], &[1, 1], &["c0", "c1"], "none has a pod"),
        (&[3], &["c0"], &[1], &["c0"], "the only source"),
        (&[3, 1], &["elsewhere"], &[3, 1], &["c0", "c1"], "one that exports something else"),
    ];
    for (pods, stale, expected, reached, message) in table {
        let (_, objects) = objects(pods, stale);
        assert_eq!(weights(&objects), expected, "{message}: weights");
        assert_eq!(common(&objects), reached, "{message}: the tier service that users see");
    }
}

#[test]
fn nothing_but_weights_and_addresses_depends_on_who_is_stale() {
    let names = |objects: &[Object]| {
        let all = objects.iter().filter(|object| object.id.kind != Kind::EndpointSlice);
        all.map(|object| object.id.clone()).collect::<BTreeSet<_>>()
    };
    let (world, before) = objects(&[3, 1], &[]);
    for stale in [&["c0"][..], &["c1"], &["c0", "c1"]] {
        let (other, after) = objects(&[3, 1], stale);
        assert_eq!(world.payment().steering_values(), other.payment().steering_values(), "targets, {stale:?}");
        assert_eq!(world.payment().wire, other.payment().wire, "what the filter is told, {stale:?}");
        assert_eq!(names(&before), names(&after), "objects, {stale:?}");
    }
}
