//! How much is done at once.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::emit::object::Kind;
use mcwan_core::liveness::RegistryState;
use mcwan_core::moment::Moment;
use mcwan_core::rollout::{Command, Event, ModuleVerdict, Rollout, Timing, WatchEvent};
use mcwan_core::watched::Watched;
use serde_json::json;

use super::{LEASE, Play, mk_input};
use crate::translator::{mk, mk_cluster_scoped, mk_options, mk_settings};

#[test]
fn the_work_of_one_namespace_is_done_in_many_steps() {
    let now = Moment::START;
    let mut rollout = Rollout::new("own", LEASE, mk_options(), mk_settings(), Timing::default(), 1, now);
    rollout.observe(now, mk_input(Watched::Namespace, mk_cluster_scoped("Namespace", "secure", &json!({}))));
    for number in 0..1_000 {
        let import = mk("ServiceImport", "secure", &format!("payment-{number}"), &json!({"http": {"rules": []}}));
        rollout.observe(now, mk_input(Watched::ServiceImport, import));
    }
    for kind in Watched::all() {
        rollout.observe(now, WatchEvent::Synced { kind });
    }
    rollout.step(now, Event::Module(ModuleVerdict::Sound));
    let mut steps = vec![rollout.step(now, Event::Leading(true)).reconciled];
    while rollout.next(now).is_some_and(|next| next <= now) {
        steps.push(rollout.step(now, Event::Time).reconciled);
        assert!(steps.len() < 1_000, "it never comes to rest: {steps:?}");
    }
    let (all, most) = (steps.iter().sum::<usize>(), steps.iter().max().copied().unwrap_or_default());
    assert!(all >= 1_000, "every import is looked at: {steps:?}");
    assert!(most <= 256, "what happens meanwhile is looked at in between: {steps:?}");
}

#[test]
fn statuses_that_are_not_answered_hold_up_no_rules() {
    let import = |number| mk("ServiceImport", "secure", &format!("ledger-{number}"), &json!({"http": {"rules": []}}));
    let mut play =
        Play::of_payment_and((0..600).map(|number| mk_input(Watched::ServiceImport, import(number))).collect());
    play.pass(60);
    play.rollout.set_clock(Time(Timestamp::UNIX_EPOCH));
    play.are_statuses_unanswered = true;
    play.told.clear();
    play.rollout.say_of_registry(RegistryState::Unreachable("it is away".into()));
    let step = play.rollout.step(play.now, Event::Time);
    let said = step.commands.iter().filter(|command| matches!(command, Command::WriteStatus { .. })).count();
    assert!((1..=16).contains(&said), "what gateways are to be told waits for little of it: {said}");
    play.pass(60);
    let under_way = play.told.len();
    assert!((1..512).contains(&under_way), "it is told to all, and not to all at once: {under_way}");
    play.written.clear();
    let rules = json!({"http": {"rules": []}});
    play.happen(Event::Watch(mk_input(Watched::ServiceImport, mk("ServiceImport", "secure", "payment", &rules))));
    play.pass(60);
    assert!(play.written.iter().any(|id| id.kind == Kind::WasmPlugin), "{:?}", play.written);
}
