//! How often a namespace's filter is written, and with which imports where not all have room.

use std::time::Duration;

use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::moment::Moment;
use mcwan_core::rollout::Event;
use mcwan_core::watched::Watched;
use mcwan_policy::wire::PluginConfig;
use serde_json::json;

use super::{Play, mk_input};
use crate::translator::mk;

/// An import with so many rules of half a kilobyte each for a tier.
fn mk_import(name: &str, tier: &str, rules: usize) -> Event {
    let rule = |number| {
        json!({"matches": [{"path": {"value": format!("/{number}-{}", "a".repeat(450))}}],
        "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}]})
    };
    let spec = json!({"http": {"rules": (0..rules).map(rule).collect::<Vec<_>>()}});
    Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", name, &spec)))
}

/// The imports of the live filter, each with the number of its rules.
fn carried(play: &Play) -> Vec<(String, usize)> {
    let filter = play.objects.iter().find(|(id, _)| id.kind == Kind::WasmPlugin).expect("a filter");
    let config: PluginConfig = serde_json::from_value(filter.1.0["spec"]["pluginConfig"].clone()).expect("a config");
    config.imports.into_iter().map(|import| (import.name, import.rules.len())).collect()
}

#[test]
fn a_filter_is_written_at_most_twice_a_second() {
    let mut play = Play::of_payment();
    play.pass(60);
    let mut writes: Vec<Moment> = Vec::new();
    let is_filter = |id: &ObjectId| id.kind == Kind::WasmPlugin;
    for change in 0..100 {
        // Each is ready at once, as it needs nothing new.
        for event in [mk_import("payment", "high", 1 + change % 7), Event::Time] {
            play.written.clear();
            play.happen(event);
            writes.extend(play.written.iter().filter(|id| is_filter(id)).map(|_| play.now));
            play.now = play.now + Duration::from_millis(25);
        }
    }
    assert!(writes.len() >= 5, "changes come into force meanwhile: {writes:?}");
    for two in writes.windows(2) {
        assert!(two[1].since(two[0]) >= Duration::from_millis(500), "{two:?}");
    }
}

#[test]
fn between_two_states_that_fit_nobody_is_refused_for_want_of_room() {
    let exported = json!({"cluster": "far", "namespace": "secure", "name": "ledger", "readyPods": 1,
        "exportedAt": "2026-11-20T09:00:00Z", "ports": [{"port": 8080}], "defaultTier": "high",
        "gateways": ["10.20.0.7"]});
    let export = mk("ExportedService", "mc-wan-registry", "far.secure.ledger", &exported);
    let mut play = Play::of_payment_and(vec![mk_input(Watched::Emitted(Kind::ExportedService), export)]);
    play.happen(mk_import("payment", "high", 100));
    play.happen(mk_import("ledger", "high", 1_500));
    play.pass(60);
    let of = |payment, ledger| vec![("ledger".to_owned(), ledger), ("payment".to_owned(), payment)];
    let sorted = |play: &Play| -> Vec<(String, usize)> {
        let mut all = carried(play);
        all.sort();
        all
    };
    assert_eq!(sorted(&play), of(100, 1_500));
    // The one is ready at once, the other has to be known at gateways first: together they would be too large until then.
    play.happen(mk_import("ledger", "low", 100));
    play.happen(mk_import("payment", "high", 1_500));
    assert_eq!(sorted(&play), of(100, 1_500), "what fits stays until all that is wanted fits");
    play.pass(10);
    assert_eq!(sorted(&play), of(1_500, 100));
}
