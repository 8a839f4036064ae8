//! What one who begins to lead goes by.

use std::time::Duration;

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::Event;
use mcwan_core::watched::Watched;
use serde_json::json;

use super::{Play, mk_input};
use crate::translator::mk;

/// Another one has written the routes a moment ago, so gateways may not know them; what is behind them changes before the
/// filter is read.
#[test]
fn live_routes_are_waited_for_whatever_changes_meanwhile() {
    let mut play = Play::of_payment();
    play.pass(60);
    let before = play.steering_values();
    let backend = |tier: &str| json!([{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}]);
    let rule = |tier: &str| json!({"matches": [{"path": {"value": format!("/{tier}")}}], "backendRefs": backend(tier)});
    let more = json!({"backendRefs": backend("high"), "timeouts": {"request": "1s"}});
    let rules = json!({"http": {"rules": [rule("high"), rule("low"), more]}});
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
    play.happen(Event::Leading(false));

    let exported = json!({"cluster": "far", "namespace": "secure", "name": "payment", "readyPods": 2,
        "exportedAt": "2026-11-20T08:00:00Z", "ports": [{"port": 8080}], "defaultTier": "high",
        "gateways": ["10.20.0.7"]});
    let exported = mk("ExportedService", "mc-wan-registry", "far.secure.payment", &exported);
    play.meanwhile = Some(Event::Watch(mk_input(Watched::Emitted(Kind::ExportedService), exported)));
    play.happen(Event::Leading(true));
    assert!(play.meanwhile.is_none(), "the filter was read");
    play.now = play.now + Duration::from_millis(900);
    play.happen(Event::Time);
    assert_eq!(play.steering_values(), before, "gateways may not know the routes of the rules yet");
    play.pass(5);
    assert_ne!(play.steering_values(), before, "they do by now");
}
