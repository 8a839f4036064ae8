//! Which tier requests take by what is measured.

use mcwan_wasm_tests::{Request, RootId};
use serde_json::{Value, json};

use super::super::config::{HIGH, LOW, always, import, with};
use super::super::outcome::{FilterOutcome, refused, steered};
use super::world::{Fate, World, measuring, ms, path};

/// A configuration that prefers `high`, and else takes `low`; or refuses.
fn choosing(revision: u64, when_none: &str) -> Value {
    let tier = |target: u32, path: u32| json!({"sources": [{"target": target, "path": path}]});
    let choose = json!({"choose": {"candidates": [tier(0, 0), tier(1, 1)], "whenNoneInSla": when_none}});
    let imports = json!([import("payment", [always(choose)])]);
    with(measuring(revision, [path("high", 200), path("low", 200)]), "imports", imports)
}

fn outcome(world: &mut World, root: RootId) -> FilterOutcome {
    let effects = world.envoy.request(root, &Request::get("payment", "/payment"));
    FilterOutcome::of(&effects.unwrap_or_else(|failure| panic!("{failure:?}")))
}

/// Asserts what requests come to in every root context.
fn assert_all(world: &mut World, roots: &[RootId], expected: &FilterOutcome, message: &str) {
    for root in roots {
        assert_eq!(outcome(world, *root), *expected, "{message}, {root:?}");
    }
}

fn three(config: &Value) -> (World, [RootId; 3]) {
    let mut world = World::new();
    let roots = [(); 3].map(|()| world.start(config));
    (world, roots)
}

#[test]
fn requests_take_the_preferred_tier_until_something_is_known() {
    let (mut world, roots) = three(&choosing(1, "preferred"));
    assert_all(&mut world, &roots, &steered(HIGH), "nothing is known");
    world.run(ms(5_000));
    assert_all(&mut world, &roots, &steered(HIGH), "all is well");
}

#[test]
fn every_vm_leaves_a_tier_that_is_slow_and_comes_back_after_the_hold() {
    let (mut world, roots) = three(&choosing(1, "preferred"));
    world.run(ms(5_000));
    world.network.insert("high".to_owned(), Fate::Answer(404, ms(100)));
    world.run(ms(1_800));
    assert_all(&mut world, &roots, &steered(LOW), "it is slow");
    world.network.clear();
    world.run(ms(9_000));
    assert_all(&mut world, &roots, &steered(LOW), "within the hold");
    world.run(ms(5_000));
    assert_all(&mut world, &roots, &steered(HIGH), "after it");
}

#[test]
fn every_vm_leaves_a_tier_in_a_hole_in_time() {
    let (mut world, roots) = three(&choosing(1, "preferred"));
    world.run(ms(5_000));
    world.network.insert("high".to_owned(), Fate::Lost);
    world.run(ms(1_300));
    assert_all(&mut world, &roots, &steered(LOW), "it is down");
}

#[test]
fn none_in_sla_is_preferred_or_refused() {
    for (when_none, expected) in [("preferred", steered(LOW)), ("refuse", refused(503, "NoTierInSla"))] {
        let (mut world, roots) = three(&choosing(1, when_none));
        world.network.insert("high".to_owned(), Fate::Lost);
        world.network.insert("low".to_owned(), Fate::Answer(404, ms(100)));
        world.run(ms(6_000));
        assert_all(&mut world, &roots, &expected, when_none);
    }
}

#[test]
fn a_tier_that_cannot_be_probed_is_taken() {
    let (mut world, roots) = three(&choosing(1, "preferred"));
    world.envoy.set_cluster("high", false);
    world.run(ms(6_000));
    assert_all(&mut world, &roots, &steered(HIGH), "unknown is not down");
}

#[test]
fn a_new_configuration_and_a_new_vm_know_the_levels_at_once() {
    let (mut world, roots) = three(&choosing(1, "preferred"));
    world.network.insert("high".to_owned(), Fate::Lost);
    world.run(ms(6_000));
    let new = roots.map(|root| world.configure(root.vm, &choosing(2, "preferred")));
    assert_all(&mut world, &new, &steered(LOW), "a new configuration");
    assert_all(&mut world, &roots, &steered(LOW), "one that drains");
    let vm = world.start(&choosing(3, "preferred"));
    assert_all(&mut world, &[vm], &steered(LOW), "a new VM");
    world.run(ms(2_000));
    assert_all(&mut world, &[new[0], new[1], new[2], roots[0], vm], &steered(LOW), "later");
}

#[test]
fn the_levels_outlive_the_prober() {
    let (mut world, roots) = three(&choosing(1, "preferred"));
    world.network.insert("high".to_owned(), Fate::Lost);
    world.run(ms(6_000));
    let prober = world.sent.last().expect("somebody probes").root;
    world.kill(prober.vm);
    let left: Vec<_> = roots.into_iter().filter(|root| *root != prober).collect();
    for _ in 0..20 {
        world.run(ms(200));
        assert_all(&mut world, &left, &steered(LOW), "while another one takes over");
    }
}
