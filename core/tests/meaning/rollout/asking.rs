//! Gateway pods are asked what they have.

use std::time::Duration;

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::{Answer, Command, Event, GatewayPod};
use mcwan_core::watched::Watched;
use serde_json::Value;

use super::{Play, mk_input};
use crate::translator::mk_pod;

/// A pod is another one than before.
fn pod(address: usize) -> Event {
    let pod = mk_pod("secure", "mcwan-egress", "pod-1", &format!("10.30.0.{address}"));
    Event::Watch(mk_input(Watched::Pod, pod))
}

/// Whom it asks as this happens, and nobody answers.
fn asks(play: &mut Play, event: Event) -> Vec<Vec<GatewayPod>> {
    play.now = play.now + Duration::from_millis(10);
    let commands = play.rollout.step(play.now, event).commands.into_iter();
    let asks = commands.filter_map(|command| match command {
        Command::Ask { pods, .. } => Some(pods),
        _ => None,
    });
    asks.collect()
}

/// One that takes its time, while a tenant changes its pods without end, costs one look at a time.
#[test]
fn pods_that_change_while_they_are_asked_are_asked_once_more() {
    let mut play = Play::of_payment();
    play.happen(pod(1));
    play.pass(60);
    let asked: Vec<_> = (2..50).flat_map(|address| asks(&mut play, pod(address))).collect();
    let [first] = asked.as_slice() else { panic!("{asked:?}") };
    let silent = first.iter().map(|pod| (pod.clone(), None)).collect();
    let again = asks(&mut play, Event::Answer(Answer::Asked { namespace: "secure".into(), reports: silent }));
    let [again] = again.as_slice() else { panic!("{again:?}") };
    assert!(again.iter().all(|pod| pod.address.to_string() == "10.30.0.49"), "the pods as they are by then: {again:?}");
    assert_eq!(asks(&mut play, Event::Time), Vec::<Vec<_>>::new());
}

/// Where the registry says that requests come from.
fn published(play: &Play) -> Value {
    let own = play.objects.iter().find(|(id, _)| id.kind == Kind::WanCluster);
    own.expect("it is published").1.0["spec"]["egressGateways"].clone()
}

#[test]
fn a_pod_may_become_one_of_another_gateway() {
    let mut play = Play::of_payment();
    play.happen(pod(1));
    play.pass(60);
    assert_eq!(published(&play)[0]["addresses"][0], "10.30.0.1");
    let other = mk_pod("secure", "mcwan-ingress", "pod-1", "10.30.0.1");
    play.happen(Event::Watch(mk_input(Watched::Pod, other)));
    play.pass(1);
    assert_eq!(published(&play), Value::Null);
}
