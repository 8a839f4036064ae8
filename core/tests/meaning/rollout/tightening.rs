//! What policies take away waits for nothing that an import is waiting for.

use std::time::Duration;

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::{Event, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use mcwan_policy::wire::{self, Action};
use serde_json::json;

use super::{Play, mk_input};
use crate::translator::mk;

/// Each rule waits for routes of its own.
fn change_rules(play: &mut Play, timeout: &str) {
    let rule = |tier: &str| {
        json!({"matches": [{"path": {"value": format!("/{tier}")}}], "timeouts": {"request": timeout},
            "backendRefs": [{"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier}]})
    };
    let rules = json!({"http": {"rules": [rule("high"), rule("low")]}});
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
}

fn permit(play: &mut Play, tiers: &[&str]) {
    let policy = mk("ClusterConnectionPolicy", "mc-wan-registry", "default", &json!({"tiers": tiers}));
    play.happen(Event::Watch(mk_input(Watched::ConnectionPolicy, policy)));
}

fn permit_all(play: &mut Play) {
    let (kind, key) = (Watched::ConnectionPolicy, Key::new("mc-wan-registry", "default"));
    play.happen(Event::Watch(WatchEvent::Deleted { kind, key, version: None }));
}

/// What the filter does with each rule: the target that it takes, or why it refuses.
fn answers(play: &Play) -> Vec<String> {
    let (_, (filter, _)) = play.objects.iter().find(|(id, _)| id.kind == Kind::WasmPlugin).expect("a filter");
    let import = filter["spec"]["pluginConfig"]["imports"][0].clone();
    let import: wire::Import = serde_json::from_value(import).expect("an import");
    let action = |rule: &wire::Rule| match rule.actions.first() {
        Some(Action::Forward(forward)) => {
            let target = usize::try_from(forward.target).ok().and_then(|target| import.targets.get(target));
            target.map_or_else(String::new, |target| target.name.clone())
        }
        Some(Action::Refuse(refuse)) => format!("{:?}", refuse.reason),
        other => format!("{other:?}"),
    };
    import.rules.iter().map(action).collect()
}

#[test]
fn a_tier_that_is_taken_away_is_refused_while_other_rules_wait_for_their_routes() {
    let mut play = Play::of_payment();
    play.pass(60);
    assert_eq!(answers(&play), ["high", "low"]);
    change_rules(&mut play, "1s");
    permit(&mut play, &["low"]);
    assert_eq!(answers(&play), ["TierNotPermitted", "low"], "what is in force goes on but for that");
    play.pass(60);
    let wanted = answers(&play);
    assert_eq!(wanted[0], "TierNotPermitted");
    assert!(wanted[1].starts_with("low~"), "the new rules follow: {wanted:?}");
}

#[test]
fn each_tier_that_is_taken_away_meanwhile_is_refused() {
    let mut play = Play::of_payment();
    play.pass(60);
    change_rules(&mut play, "1s");
    for (permitted, expected) in
        [(&["low"][..], ["TierNotPermitted", "low"]), (&[], ["TierNotPermitted", "TierNotPermitted"])]
    {
        // Between two filters.
        play.now = play.now + Duration::from_millis(500);
        permit(&mut play, permitted);
        assert_eq!(answers(&play), expected, "{permitted:?} are permitted");
    }
    permit_all(&mut play);
    play.pass(120);
    assert!(answers(&play).iter().all(|target| target.contains('~')), "what is wanted follows: {:?}", answers(&play));
}

#[test]
fn where_nothing_is_waited_for_the_wanted_rules_take_it_away_themselves() {
    let mut play = Play::of_payment();
    play.pass(60);
    permit(&mut play, &["low"]);
    assert_eq!(answers(&play), ["TierNotPermitted", "low"]);
}

#[test]
fn what_goes_for_another_reason_than_a_policy_goes_in_turn() {
    let mut play = Play::of_payment();
    play.pass(60);
    change_rules(&mut play, "1s");
    let (kind, key) = (Watched::Emitted(Kind::ExportedService), Key::new("mc-wan-registry", "far.secure.payment"));
    play.happen(Event::Watch(WatchEvent::Deleted { kind, key, version: None }));
    play.pass(1);
    assert!(!answers(&play).iter().any(|answer| answer == "TierNotPermitted"), "{:?}", answers(&play));
}
