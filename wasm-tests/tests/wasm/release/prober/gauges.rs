//! What a proxy shows of its paths.

use std::time::Duration;

use mcwan_policy::sla::{Gauge, Judgement, Loss, PathName, Readings, Shown, moves_name};

use super::world::{Fate, World, measuring, ms, path};

fn name(tier: &str) -> PathName {
    PathName { tier: tier.into(), cluster: "cluster1".into(), namespace: "secure".into() }
}

/// What is shown of a tier's path, as those read it who ask the proxy.
fn shown(world: &World, tier: &str) -> Option<Shown> {
    let mut readings = Readings::default();
    let metrics = world.envoy.metrics();
    for gauge in Gauge::ALL {
        let name = gauge.name(&name(tier));
        readings.take(&name.replace('.', "_"), metrics.gauge(&name).unwrap_or_default());
    }
    readings.into_shown().into_iter().map(|(_, shown)| shown).next()
}

fn moves(world: &World, tier: &str, reason: Judgement) -> u64 {
    world.envoy.metrics().counter(&moves_name(reason, &name(tier)))
}

#[test]
fn a_path_is_shown_with_its_figures_within_a_second_and_its_moves_are_counted() {
    let mut world = World::new();
    world.start(&measuring(7, [path("high", 200)]));
    world.run(ms(5_000));
    let sound = shown(&world, "high").expect("it is measured");
    assert_eq!((sound.judgement, sound.latency, sound.http_status), (Judgement::InSla, Some(ms(20)), Some(404)));
    assert_eq!((sound.loss, sound.hold), (Loss::NONE, ms(10_000)));
    assert!(sound.probes >= 15 && sound.age.is_some_and(|age| age <= ms(200)), "{sound:?}");
    world.network.insert("high".to_owned(), Fate::Answer(403, ms(60)));
    world.run(ms(3_000));
    let late = shown(&world, "high").expect("it is measured");
    assert_eq!((late.judgement, late.latency, late.http_status), (Judgement::Latency, Some(ms(60)), Some(403)));
    world.network.insert("high".to_owned(), Fate::Lost);
    world.run(ms(4_000));
    let lost = shown(&world, "high").expect("it is measured");
    assert_eq!((lost.judgement, lost.http_status), (Judgement::NoAnswer, Some(403)));
    assert!(lost.loss > Loss::NONE, "{lost:?}");
    let counted = |reason| moves(&world, "high", reason);
    assert_eq!([Judgement::Latency, Judgement::NoAnswer, Judgement::InSla].map(counted), [1, 1, 0]);
}

#[test]
fn gauges_are_told_once_a_second_however_often_probes_are_sent() {
    let mut world = World::new();
    world.start(&measuring(7, [path("high", 200)]));
    world.run(ms(2_000));
    let probes = |world: &World| shown(world, "high").map(|shown| shown.probes);
    let mut seen = Vec::new();
    for _ in 0..50 {
        world.run(ms(100));
        seen.push(probes(&world));
    }
    seen.dedup();
    assert!((5..=6).contains(&seen.len()), "{seen:?}");
}

/// The old configuration's path is no longer measured, by whoever probes.
fn gone(world: &mut World, after: Duration) {
    world.run(after);
    assert_eq!(shown(world, "high"), None);
    assert_eq!(shown(world, "low").map(|shown| shown.judgement), Some(Judgement::InSla));
}

#[test]
fn a_path_that_is_measured_no_more_is_shown_no_more() {
    let mut world = World::new();
    let root = world.start(&measuring(7, [path("high", 200), path("low", 200)]));
    world.run(ms(4_000));
    assert!(shown(&world, "high").is_some());
    world.configure(root.vm, &measuring(8, [path("low", 200)]));
    gone(&mut world, ms(4_000));
}

#[test]
fn nor_is_one_of_a_module_before() {
    for is_before in [true, false] {
        let mut world = World::new();
        let old = world.start(&measuring(7, [path("high", 200), path("low", 200)]));
        world.run(ms(4_000));
        world.start(&measuring(8, [path("low", 200)]));
        if is_before {
            world.run(ms(2_000));
        }
        world.close(old);
        gone(&mut world, ms(4_000));
    }
}

#[test]
fn a_path_is_shown_all_the_time_while_another_vm_takes_over() {
    let mut world = World::new();
    world.start(&measuring(7, [path("low", 2_000)]));
    world.run(ms(9_000));
    world.start(&measuring(8, [path("low", 2_000)]));
    for step in 0..100 {
        world.run(ms(100));
        assert!(shown(&world, "low").is_some(), "after {step} tenths of a second");
    }
}

#[test]
fn a_configuration_without_paths_shows_none() {
    let mut world = World::new();
    let root = world.start(&measuring(7, [path("high", 200)]));
    world.run(ms(4_000));
    world.configure(root.vm, &measuring(8, []));
    assert_eq!(shown(&world, "high"), None);
}
