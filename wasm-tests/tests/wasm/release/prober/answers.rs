//! What is sent, and what its answers say of a path.

use std::time::Duration;

use mcwan_policy::sla::Judgement;
use mcwan_wasm_tests::RootId;
use serde_json::{Value, json};

use super::super::config::with;
use super::world::{Fate, World, measuring, ms, path};

/// A VM that measures a path of such a promise.
fn mk_world(path: Value, fate: Fate) -> (World, RootId) {
    let mut world = World::new();
    world.network.insert("high".to_owned(), fate);
    let root = world.start(&measuring(1, [path]));
    (world, root)
}

#[test]
fn a_probe_asks_for_a_host_that_is_nowhere_and_is_marked() {
    let (mut world, _) = mk_world(path("high", 200), Fate::Lost);
    world.run(ms(1_000));
    let headers = &world.sent[0].callout.headers;
    let lines: Vec<_> = headers.iter().map(|(name, value)| [name, value].map(String::from_utf8_lossy)).collect();
    assert_eq!(
        lines,
        [[":method", "GET"], [":path", "/"], [":authority", "probe.mcwan.invalid"], ["x-mcwan-probe", "1"]]
    );
}

#[test]
fn it_waits_three_times_the_bound_and_at_least_half_a_second() {
    for (latency, timeout) in [
        (Some(50), 500),
        (Some(166), 500),
        (Some(167), 501),
        (Some(1_000), 3_000),
        (Some(0), 500),
        (Some(u32::MAX), 30_000),
        (None, 2_000),
    ] {
        let mut path = path("high", 200);
        path.as_object_mut().expect("an object").remove("latencyMs");
        let path = latency.map_or(path.clone(), |latency: u32| with(path, "latencyMs", json!(latency)));
        let (mut world, _) = mk_world(path, Fate::Lost);
        world.run(ms(1_000));
        assert_eq!(world.sent[0].callout.timeout, ms(timeout), "{latency:?}");
    }
}

#[test]
fn what_becomes_of_probes_is_what_the_path_is_judged_by() {
    for (message, fate, judgement) in [
        ("no such host", Fate::Answer(404, ms(20)), Judgement::InSla),
        ("not admitted", Fate::Answer(403, ms(20)), Judgement::InSla),
        ("any answer below 500", Fate::Answer(499, ms(20)), Judgement::InSla),
        ("a route that takes it", Fate::Answer(200, ms(20)), Judgement::InSla),
        ("slow", Fate::Answer(404, ms(60)), Judgement::Latency),
        ("no healthy host", Fate::Answer(503, ms(1)), Judgement::NoAnswer),
        ("an error", Fate::Answer(500, ms(1)), Judgement::NoAnswer),
        ("a timeout", Fate::Lost, Judgement::NoAnswer),
        ("a reset", Fate::Cut(ms(5)), Judgement::NoAnswer),
        ("none told of", Fate::Forgotten, Judgement::FewAnswers),
    ] {
        let (mut world, _) = mk_world(path("high", 200), fate);
        world.run(ms(12_000));
        assert_eq!(world.judgement("high"), judgement, "{message}");
    }
}

#[test]
fn a_cluster_that_is_not_there_is_unknown_and_not_down() {
    let (mut world, _) = mk_world(path("high", 200), Fate::Answer(404, ms(20)));
    world.run(ms(4_000));
    world.envoy.set_cluster("high", false);
    world.run(ms(4_000));
    assert_eq!(world.judgement("high"), Judgement::ProbeFailed);
    world.envoy.set_cluster("high", true);
    world.run(ms(4_000));
    assert_eq!(world.judgement("high"), Judgement::InSla);
}

#[test]
fn a_hole_is_seen_in_time() {
    let (mut world, _) = mk_world(path("high", 200), Fate::Answer(404, ms(20)));
    world.run(ms(10_000));
    world.network.insert("high".to_owned(), Fate::Lost);
    // Three probes at 200 ms, and the timeout of the last.
    world.run(ms(1_150));
    assert_eq!(world.judgement("high"), Judgement::NoAnswer);
}

#[test]
fn a_hole_is_seen_while_one_configuration_follows_the_other() {
    for load in [0, 450] {
        let (mut world, mut root) = mk_world(path("high", 200), Fate::Answer(404, ms(20)));
        world.run(ms(10_000));
        let mut revision = 1;
        for (fate, judgement) in [(Fate::Answer(404, ms(20)), Judgement::InSla), (Fate::Lost, Judgement::NoAnswer)] {
            world.network.insert("high".to_owned(), fate);
            for _ in 0..6 {
                revision += 1;
                world.stall(ms(load));
                let new = world.configure(root.vm, &measuring(revision, [path("high", 200)]));
                // What it has sent, it is never told of.
                world.close(std::mem::replace(&mut root, new));
                world.run(ms(500));
            }
            assert_eq!(world.judgement("high"), judgement, "{fate:?}, {load} ms to load one");
        }
    }
}

#[test]
fn a_hole_that_was_there_before_is_seen_while_one_configuration_follows_the_other() {
    let (mut world, mut root) = mk_world(path("high", 200), Fate::Lost);
    for revision in 2..8 {
        let new = world.configure(root.vm, &measuring(revision, [path("high", 200)]));
        world.close(std::mem::replace(&mut root, new));
        world.run(ms(500));
    }
    assert_eq!(world.judgement("high"), Judgement::NoAnswer);
}

/// A probe that was under way says nothing, once who has sent it is gone.
#[test]
fn a_sound_path_is_in_however_configurations_follow_each_other() {
    for (interval, round_trip, between, loss, message) in [
        (1_000, 60, 1_130, 5_000, "each is replaced just after it has sent"),
        (200, 450, 500, 5_000, "faster than any answer"),
        (1_000, 60, 1_030, 0, "nothing may be lost"),
    ] {
        let path = with(with(path("high", interval), "latencyMs", json!(700)), "lossPpm", json!(loss));
        let (mut world, mut root) = mk_world(path.clone(), Fate::Answer(404, ms(round_trip)));
        world.run(ms(30_000));
        assert_eq!(world.judgement("high"), Judgement::InSla, "{message}, at first");
        for revision in 2..40 {
            let new = world.configure(root.vm, &measuring(revision, [path.clone()]));
            world.close(std::mem::replace(&mut root, new));
            world.run(ms(between));
            assert_eq!(world.judgement("high"), Judgement::InSla, "{message}, {revision}");
        }
    }
}

#[test]
fn who_was_late_himself_says_nothing_of_the_path() {
    for (message, stall, judgement) in [
        ("late by less than a period", ms(340), Judgement::NoAnswer),
        ("late by more than a period", ms(1_500), Judgement::InSla),
    ] {
        let (mut world, _) = mk_world(path("high", 200), Fate::Answer(404, ms(20)));
        world.run(ms(10_000));
        // Three are under way; the timeouts of two are seen after the stall, that of the third after that.
        world.network.insert("high".to_owned(), Fate::Lost);
        world.run(ms(550));
        world.stall(stall);
        world.run(ms(150));
        assert_eq!(world.judgement("high"), judgement, "{message}");
    }
}

/// The thread that loads a configuration sees no answers meanwhile.
#[test]
fn a_configuration_that_takes_long_to_load_says_nothing_of_the_path() {
    let path = with(path("high", 200), "lossPpm", json!(0));
    let (mut world, root) = mk_world(path.clone(), Fate::Answer(404, ms(20)));
    world.run(ms(30_000));
    for revision in 2..6 {
        while world.sent.last().is_none_or(|sent| sent.callout.sent != world.envoy.monotonic()) {
            world.run(ms(1));
        }
        world.stall(ms(450));
        world.configure(root.vm, &measuring(revision, [path.clone()]));
        world.run(ms(2_000));
        assert_eq!(world.judgement("high"), Judgement::InSla, "{revision}");
    }
}

#[test]
fn probes_go_on_after_a_stall_one_each_interval() {
    let (mut world, _) = mk_world(path("high", 200), Fate::Answer(404, ms(20)));
    world.run(ms(2_000));
    world.stall(Duration::from_mins(1));
    let after = world.envoy.monotonic();
    world.run(ms(10_000));
    let sent = world.sent.iter().filter(|sent| sent.callout.sent >= after).count();
    assert!((49..=52).contains(&sent), "{sent}");
}
