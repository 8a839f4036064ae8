//! What 256 paths cost.

use mcwan_policy::limits::PATHS;
use mcwan_wasm_tests::{Callback, HostCall, RootId};

use super::super::outcome::FilterOutcome;
use super::world::{Fate, World, measuring, ms, path};

fn mk_world(paths: usize) -> (World, RootId) {
    let mut world = World::new();
    let root = world.start(&measuring(1, (0..paths).map(|n| path(&format!("tier{n}"), 200))));
    (world, root)
}

#[test]
fn memory_is_bounded_while_nothing_is_answered() {
    let (mut world, root) = mk_world(PATHS);
    for n in 0..PATHS {
        world.network.insert(format!("tier{n}"), Fate::Forgotten);
    }
    world.run(ms(8_000));
    let settled = world.envoy.memory_size(root.vm);
    assert!(settled < 4 << 20, "{settled}");
    world.run(ms(12_000));
    assert_eq!(world.envoy.memory_size(root.vm), settled);
}

#[test]
fn a_request_costs_what_it_cost() {
    let request = mcwan_wasm_tests::Request::get("payment.secure", "/payment");
    let [none, most] = [0, PATHS].map(|paths| {
        let (mut world, root) = mk_world(paths);
        world.run(ms(3_000));
        let effects = world.envoy.request(root, &request).expect("no failure");
        assert!(matches!(FilterOutcome::of(&effects), FilterOutcome::Steered(_)));
        assert_eq!(effects.trace.border_crossings(), 5, "{:?}", effects.trace.host_calls);
        effects.trace.fuel(Callback::RequestHeaders)
    });
    assert!(most * 10 <= none * 11, "{none} {most}");
}

#[test]
fn a_tick_makes_a_call_for_each_probe_and_a_few_more() {
    let (mut world, root) = mk_world(PATHS);
    world.run(ms(20_000));
    let now = world.envoy.monotonic() + ms(200);
    world.envoy.set_monotonic(now);
    let trace = world.envoy.tick(root).expect("no failure");
    assert_eq!(trace.count(HostCall::HttpCall), PATHS);
    assert!(trace.host_calls.len() <= PATHS + 2, "{}", trace.host_calls.len());
    let fuel = trace.fuel(Callback::Tick);
    assert!(fuel < 10_000 * 256, "{fuel}");
    let callout = world.envoy.callouts(root.vm)[0].clone();
    let headers = [(":status", "404")].into_iter().collect();
    let answered = world.envoy.answer(root, callout.token, headers).expect("no failure");
    assert!(answered.host_calls.len() <= 1, "{:?}", answered.host_calls);
    let per_answer = answered.fuel(Callback::HttpCallResponse);
    assert!(per_answer < 20_000, "{per_answer}");
}
