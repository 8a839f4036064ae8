//! One VM of a proxy probes, whatever happens.

use std::time::Duration;

use mcwan_policy::sla::Judgement;
use mcwan_wasm_tests::RootId;

use super::world::{Fate, World, measuring, ms, path};

/// Four VMs with a configuration, after some seconds; the one that probes.
fn four() -> (World, [RootId; 4], RootId) {
    let mut world = World::new();
    let roots = [0, 10, 20, 30].map(|later| {
        world.run(ms(later));
        world.start(&measuring(7, [path("high", 200), path("low", 200)]))
    });
    let start = world.envoy.monotonic();
    world.run(ms(3_000));
    let probers = world.probers(start);
    let [prober] = probers.as_slice() else { panic!("{probers:?}") };
    let prober = *prober;
    (world, roots, prober)
}

/// The one that probes after that moment, which no other one does from then on.
fn one(world: &World, since: Duration) -> RootId {
    let probers = world.probers(since);
    let [prober] = probers.as_slice() else { panic!("{probers:?}") };
    *prober
}

#[test]
fn one_of_four_vms_probes_each_path_at_its_interval() {
    let (world, roots, prober) = four();
    assert!(roots.contains(&prober));
    for tier in ["high", "low"] {
        let times: Vec<_> =
            world.sent.iter().filter(|sent| sent.callout.cluster == tier).map(|sent| sent.callout.sent).collect();
        assert!((13..=15).contains(&times.len()), "{tier}: {}", times.len());
        assert!(times.windows(2).all(|pair| pair[0] + ms(200) == pair[1]), "{tier}: {times:?}");
    }
}

#[test]
fn paths_of_different_intervals_are_probed_each_at_its_own() {
    let mut world = World::new();
    world.start(&measuring(7, [path("high", 200), path("low", 1_000), path("third", 500)]));
    world.run(ms(20_250));
    let count = |tier: &str| world.sent.iter().filter(|sent| sent.callout.cluster == tier).count();
    assert_eq!((count("high"), count("low"), count("third")), (100, 20, 40));
}

#[test]
fn another_vm_goes_on_when_the_holder_dies() {
    let (mut world, _, prober) = four();
    world.network.insert("low".to_owned(), Fate::Answer(404, ms(90)));
    world.run(ms(3_000));
    assert_eq!(world.judgement("low"), Judgement::Latency);
    let before = world.record();
    world.kill(prober.vm);
    let dead = world.envoy.monotonic();
    world.run(ms(3_000));
    let next = one(&world, dead);
    assert_ne!(next, prober);
    let first = world.sent.iter().find(|sent| sent.root == next).expect("it probes").callout.sent;
    assert!(
        first.saturating_sub(dead) > ms(800) && first.saturating_sub(dead) <= ms(1_600),
        "{:?}",
        first.saturating_sub(dead)
    );
    let after = world.record();
    assert_ne!(after.lease.holder, before.lease.holder);
    assert_eq!(world.judgement("low"), Judgement::Latency, "the levels are kept");
}

#[test]
fn the_levels_are_kept_when_the_holder_dies_and_nothing_is_measured_yet() {
    let (mut world, _, prober) = four();
    world.network.insert("low".to_owned(), Fate::Lost);
    world.run(ms(3_000));
    assert_eq!(world.judgement("low"), Judgement::NoAnswer);
    world.network.clear();
    world.kill(prober.vm);
    world.run(ms(4_000));
    assert_eq!(world.judgement("low"), Judgement::NoAnswer, "before the hold is over");
    world.run(ms(12_000));
    assert_eq!(world.judgement("low"), Judgement::InSla);
}

#[test]
fn a_new_configuration_is_probed_at_once_and_draining_listeners_are_silent() {
    let (mut world, roots, _) = four();
    let new = roots.map(|root| {
        world.run(ms(3));
        world.configure(root.vm, &measuring(3, [path("low", 200), path("other", 200)]))
    });
    let changed = world.envoy.monotonic();
    world.run(ms(700));
    let prober = one(&world, changed);
    assert!(new.contains(&prober));
    let first = world.sent.iter().find(|sent| sent.root == prober).expect("it probes").callout.sent;
    assert!(first.saturating_sub(changed) <= ms(500), "{:?}", first.saturating_sub(changed));
    world.run(ms(20_000));
    assert_eq!(one(&world, changed), prober, "while the old ones drain");
    assert!(world.sent.iter().all(|sent| sent.callout.sent < changed || sent.callout.cluster != "high"));
    for root in roots {
        world.close(root);
    }
    world.run(ms(2_000));
    assert_eq!(one(&world, changed), prober, "when they are gone");
}

#[test]
fn the_same_configuration_again_moves_no_lease() {
    let (mut world, roots, prober) = four();
    let since = world.envoy.monotonic();
    for root in roots.into_iter().filter(|root| *root != prober) {
        world.configure(root.vm, &measuring(7, [path("high", 200), path("low", 200)]));
    }
    world.run(ms(5_000));
    assert_eq!(one(&world, since), prober);
}

#[test]
fn a_new_module_probes_at_once_while_the_old_one_drains() {
    let (mut world, roots, _) = four();
    world.network.insert("low".to_owned(), Fate::Answer(404, ms(90)));
    world.run(ms(3_000));
    // Another module is another VM, in each thread.
    let new = [(); 4].map(|()| world.start(&measuring(8, [path("high", 200), path("low", 200)])));
    let changed = world.envoy.monotonic();
    world.run(ms(250));
    let after = world.envoy.monotonic();
    world.run(ms(3_000));
    let prober = one(&world, after);
    assert!(new.contains(&prober));
    assert!(world.probers(changed).len() <= 2, "{:?}", world.probers(changed));
    assert_eq!(world.judgement("low"), Judgement::Latency);
    for root in roots {
        world.kill(root.vm);
    }
    world.run(ms(3_000));
    assert_eq!(one(&world, after), prober);
}

#[test]
fn a_configuration_without_paths_ends_it() {
    let (mut world, roots, _) = four();
    for root in roots {
        world.configure(root.vm, &measuring(9, []));
    }
    let changed = world.envoy.monotonic();
    world.run(ms(20_000));
    assert_eq!(world.probers(changed), []);
    assert!(roots.iter().all(|root| world.envoy.tick_period(*root) == Some(ms(5_000))));
}

#[test]
fn what_was_known_before_nobody_measured_is_not_believed() {
    let mut world = World::new();
    world.network.insert("high".to_owned(), Fate::Lost);
    let bad = world.start(&measuring(7, [path("high", 200)]));
    world.run(ms(8_000));
    assert_eq!(world.judgement("high"), Judgement::NoAnswer);
    let without = world.configure(bad.vm, &measuring(8, []));
    world.close(bad);
    world.run(Duration::from_mins(10));
    world.network.insert("high".to_owned(), Fate::Answer(404, ms(20)));
    world.configure(bad.vm, &measuring(9, [path("high", 200)]));
    world.close(without);
    world.run(ms(4_000));
    assert_eq!(world.judgement("high"), Judgement::InSla);
}

#[test]
fn who_drained_speaks_again_when_the_newer_one_ends() {
    let mut world = World::new();
    let old = world.start(&measuring(7, [path("high", 200)]));
    let new = world.configure(old.vm, &measuring(8, [path("high", 200)]));
    world.run(ms(8_000));
    assert_eq!(world.probers(Duration::ZERO), [new]);
    world.close(new);
    let closed = world.envoy.monotonic();
    world.run(ms(8_000));
    assert_eq!(world.probers(closed), [old]);
}

#[test]
fn what_others_write_is_written_over() {
    let (mut world, _, _) = four();
    for bytes in [&b""[..], b"mcwan.sla.1\n", b"something else"] {
        world.envoy.shared_data().set(mcwan_policy::sla::RECORD_KEY, bytes);
        let since = world.envoy.monotonic();
        world.run(ms(1_000));
        let since = since + ms(500);
        one(&world, since);
        assert_eq!(world.judgement("high"), Judgement::InSla);
    }
}
