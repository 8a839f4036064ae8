//! How many imports are told what.

use mcwan_core::moment::Moment;
use mcwan_core::rollout::{Event, Rollout, Timing, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::json;

use super::{LEASE, mk_input};
use crate::translator::{mk, mk_options, mk_settings};

fn mk_import(name: &str, conditions: &[(&str, &str)]) -> WatchEvent {
    let condition = |(type_, status): &(&str, &str)| json!({"type": type_, "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-11-21T08:00:00Z"});
    let conditions: Vec<_> = conditions.iter().map(condition).collect();
    let mut import = mk("ServiceImport", "a", name, &json!({}));
    import["status"] = json!({"conditions": conditions});
    mk_input(Watched::ServiceImport, import)
}

#[test]
fn imports_are_counted_by_their_conditions() {
    let now = Moment::START;
    let mut rollout = Rollout::new("own", LEASE, mk_options(), mk_settings(), Timing::default(), 1, now);
    for kind in Watched::all() {
        rollout.observe(now, WatchEvent::Synced { kind });
    }
    let gone = WatchEvent::Deleted { kind: Watched::ServiceImport, key: Key::new("a", "x"), version: None };
    for (event, expected) in [
        (
            mk_import("x", &[("Accepted", "True"), ("Programmed", "False")]),
            &["Accepted True 1", "Programmed False 1"][..],
        ),
        (mk_import("y", &[("Accepted", "True")]), &["Accepted True 2", "Programmed False 1"]),
        (mk_import("x", &[("Accepted", "True"), ("Programmed", "True")]), &["Accepted True 2", "Programmed True 1"]),
        (mk_import("y", &[]), &["Accepted True 1", "Programmed True 1"]),
        (gone, &[]),
    ] {
        rollout.step(now, Event::Watch(event));
        let counts = rollout.condition_counts().into_iter();
        let counts: Vec<_> = counts.map(|((kind, status), count)| format!("{kind} {status} {count}")).collect();
        assert_eq!(counts, expected);
    }
}
