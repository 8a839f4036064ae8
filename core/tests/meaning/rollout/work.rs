//! How much is done at once.

use mcwan_core::moment::Moment;
use mcwan_core::rollout::{Event, ModuleVerdict, Rollout, Timing, WatchEvent};
use mcwan_core::watched::Watched;
use serde_json::json;

use super::{LEASE, mk_input};
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
        assert!(steps.len() < 100, "it never comes to rest: {steps:?}");
    }
    let (all, most) = (steps.iter().sum::<usize>(), steps.iter().max().copied().unwrap_or_default());
    assert!(all >= 1_000, "every import is looked at: {steps:?}");
    assert!(most <= 256, "what happens meanwhile is looked at in between: {steps:?}");
}
