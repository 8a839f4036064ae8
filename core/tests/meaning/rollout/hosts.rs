//! Hosts that move from one import to another.

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::Event;
use mcwan_core::watched::Watched;
use mcwan_policy::wire::PluginConfig;
use serde_json::json;

use super::{Play, mk_input, no_quota};
use crate::translator::mk;

const HOST: &str = "shop.example.com";

/// An import with these hosts, and a target of its own for each limit.
fn mk_import(name: &str, hosts: &[&str], limit: &str) -> Event {
    let backend = json!([{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "high"}]);
    let rule = json!({"backendRefs": backend, "timeouts": {"request": limit}});
    let spec = json!({"hostnames": hosts, "http": {"rules": [rule]}});
    Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", name, &spec)))
}

/// The imports `secure/payment`, which has the host, and `secure/ledger`, which may get it.
fn mk_two() -> Play {
    let exported = json!({"cluster": "far", "namespace": "secure", "name": "ledger", "readyPods": 1,
        "exportedAt": "2026-11-20T09:00:00Z", "ports": [{"port": 8080}], "defaultTier": "high",
        "gateways": ["10.20.0.7"]});
    let export = mk("ExportedService", "mc-wan-registry", "far.secure.ledger", &exported);
    let mut play = Play::of_payment_and(vec![mk_input(Watched::Emitted(Kind::ExportedService), export)]);
    play.happen(mk_import("payment", &[HOST], "1s"));
    play.happen(mk_import("ledger", &[], "1s"));
    play.pass(60);
    play
}

/// The imports that the filter has the host of.
fn who_has_it(play: &Play) -> Vec<String> {
    let filter = play.objects.iter().find(|(id, _)| id.kind == Kind::WasmPlugin).expect("a filter");
    let config: PluginConfig = serde_json::from_value(filter.1.0["spec"]["pluginConfig"].clone()).expect("a config");
    let imports = config.imports.into_iter().filter(|import| import.hostnames.iter().any(|host| host == HOST));
    imports.map(|import| import.name).collect()
}

/// A wish waits as one before it is under way: the host that it wants is nobody's until gateways may be told of it.
#[test]
fn a_host_waits_for_who_gains_it_however_many_wishes_come_before() {
    let mut play = mk_two();
    play.refused = Some(no_quota(Kind::HttpRoute));
    for (limit, hosts, seconds) in [("2s", &[][..], 1), ("3s", &[], 7), ("4s", &[HOST], 0)] {
        play.happen(mk_import("ledger", hosts, limit));
        play.pass(seconds);
    }
    play.happen(mk_import("payment", &[], "1s"));
    for _ in 0..120 {
        play.pass(1);
        assert_eq!(who_has_it(&play).len(), 1, "at {:?}", play.now);
    }
    assert_eq!(who_has_it(&play), ["ledger"]);
}

/// Whoever has gained it goes on to other rules.
#[test]
fn a_host_that_has_moved_waits_for_nothing_else() {
    let mut play = mk_two();
    play.refused = Some(no_quota(Kind::HttpRoute));
    // The older one has it until it gives it up.
    play.happen(mk_import("ledger", &[HOST], "2s"));
    play.happen(mk_import("payment", &[], "1s"));
    for (limit, seconds) in [("3s", 7), ("4s", 0)] {
        play.pass(1);
        play.happen(mk_import("ledger", &[HOST], limit));
        play.pass(seconds);
    }
    assert_eq!(who_has_it(&play), ["payment"]);
    for _ in 0..120 {
        play.pass(1);
        assert_eq!(who_has_it(&play).len(), 1, "at {:?}", play.now);
    }
    assert_eq!(who_has_it(&play), ["ledger"]);
}
