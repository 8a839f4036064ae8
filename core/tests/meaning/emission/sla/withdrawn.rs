//! What policies take away from a choice, and what is gone.

use mcwan_policy::wire::{Action, RefuseReason};

use super::{candidates, mk_cluster, mk_import, mk_rule, mk_world};
use crate::emission::world::World;

fn mk_policy(tiers: &str) -> String {
    format!(
        "apiVersion: mc-wan.l7mp.io/v1alpha1\nkind: ClusterConnectionPolicy\nmetadata: {{name: default, namespace: \
         mc-wan-registry, creationTimestamp: '2026-11-20T08:00:00Z'}}\nspec: {{tiers: [{tiers}]}}\n"
    )
}

fn world(more: &[String]) -> World {
    let documents = [mk_cluster("c1", 3), mk_cluster("c2", 1), mk_import("payment", &[mk_rule("fallbacks: [low]")])];
    mk_world(&[&documents[..], more].concat())
}

#[test]
fn a_fallback_that_is_taken_away_is_none_to_choose() {
    let before = world(&[]);
    let now = world(&[mk_policy("gold")]);
    let withdrawn = before.payment().withdrawn(now.translator.exports()).expect("something is taken away");
    let left = candidates(&withdrawn, &withdrawn.wire.rules[0].actions[0]);
    assert_eq!(left, [["gold@c1 3 gold@c1", "gold@c2 1 gold@c2"]]);
    let nothing = world(&[mk_policy("gold, low")]);
    assert!(before.payment().withdrawn(nothing.translator.exports()).is_none(), "nothing is");
}

#[test]
fn where_the_own_tier_is_taken_away_requests_are_refused() {
    let before = world(&[]);
    let now = world(&[mk_policy("low")]);
    let withdrawn = before.payment().withdrawn(now.translator.exports()).expect("something is taken away");
    let [Action::Refuse(refuse)] = &withdrawn.wire.rules[0].actions[..] else { panic!("{:?}", withdrawn.wire.rules) };
    assert_eq!((refuse.reason, refuse.weight), (RefuseReason::TierNotPermitted, 1));
}

/// The API server did not take the route of one target.
#[test]
fn a_target_without_a_route_leaves_the_others_of_its_tier() {
    let world = world(&[]);
    let import = world.payment();
    let missing = |name: &str| import.targets.iter().find(|target| target.name == name).unwrap().steering_value();
    let without = |names: &[&str]| {
        let missing = names.iter().map(|name| missing(name)).collect();
        import.without(&missing, RefuseReason::BackendNotFound)
    };
    let one = without(&["gold@c1", "low@c1", "low@c2"]);
    assert_eq!(candidates(&one, &one.wire.rules[0].actions[0]), [["gold@c2 1 gold@c2"]]);
    let all = without(&["gold@c1", "gold@c2"]);
    assert!(
        matches!(&all.wire.rules[0].actions[..], [Action::Refuse(refuse)] if refuse.reason == RefuseReason::BackendNotFound)
    );
}
