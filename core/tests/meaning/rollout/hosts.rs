//! Hosts that move from one import to another.

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::Event;
use mcwan_core::watched::Watched;
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

/// A wish waits as one before it is under way: the host that it wants is nobody's until gateways may be told of it.
#[test]
fn a_host_waits_for_who_gains_it_however_many_wishes_come_before() {
    let exported = json!({"cluster": "far", "namespace": "secure", "name": "ledger", "readyPods": 1,
        "exportedAt": "2026-11-20T09:00:00Z", "ports": [{"port": 8080}], "defaultTier": "high",
        "gateways": ["10.20.0.7"]});
    let export = mk("ExportedService", "mc-wan-registry", "far.secure.ledger", &exported);
    let mut play = Play::of_payment_and(vec![mk_input(Watched::Emitted(Kind::ExportedService), export)]);
    play.happen(mk_import("payment", &[HOST], "1s"));
    play.happen(mk_import("ledger", &[], "1s"));
    play.pass(60);
    play.refused = Some(no_quota(Kind::HttpRoute));
    for (limit, hosts, seconds) in [("2s", &[][..], 1), ("3s", &[], 7), ("4s", &[HOST], 0)] {
        play.happen(mk_import("ledger", hosts, limit));
        play.pass(seconds);
    }
    play.happen(mk_import("payment", &[], "1s"));
    for _ in 0..120 {
        play.pass(1);
        let filter = play.objects.iter().find(|(id, _)| id.kind == Kind::WasmPlugin).expect("a filter");
        assert!(filter.1.0.to_string().contains(HOST), "{HOST} is nobody's at {:?}", play.now);
    }
}
