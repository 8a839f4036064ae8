//! What is told of what gateways measure, and how often.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::{Answer, Event, GatewayPod, GatewayReport, WatchEvent};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use mcwan_policy::sla::{Judgement, Loss, PathName, Shown};
use serde_json::{Value, json};

use super::sla::choosing;
use super::{Play, mk_input};
use crate::translator::mk_pod as mk_gateway_pod;

/// Seconds between two times that it is told.
const TOLD: u64 = 30;
/// For which it is waited for pods that cannot be asked, and after which what they said is forgotten.
const PATIENCE: u64 = 120;
const SILENT: u64 = 60;

/// The pods of the egress gateway.
const PODS: [&str; 2] = ["a", "b"];

/// A world in which pods measure, after what is told of a new leader.
fn measuring() -> Play {
    let mut play = choosing();
    for name in PODS {
        let pod = mk_input(Watched::Pod, mk_gateway_pod("secure", "mcwan-egress", name, "10.0.0.1"));
        play.happen(Event::Watch(pod));
    }
    play.rollout.set_clock(Time(Timestamp::from_second(0).unwrap()));
    play.echo(Kind::ClusterConnection);
    play.told.clear();
    play.news.clear();
    play
}

fn mk_pod(name: &str) -> GatewayPod {
    let address = "10.0.0.1".parse().unwrap();
    GatewayPod { namespace: "secure".into(), name: name.into(), address, is_ready: true }
}

/// What a pod measures of the tier high to the cluster far.
fn mk_report(judgement: Judgement, latency: u64) -> GatewayReport {
    let path = PathName { tier: "high".into(), cluster: "far".into(), namespace: "secure".into() };
    let shown = Shown {
        judgement,
        latency: Some(Duration::from_millis(latency)),
        jitter: None,
        loss: Loss::NONE,
        probes: 50,
        age: None,
        hold: Duration::from_secs(10),
        http_status: Some(404),
    };
    GatewayReport { paths: vec![(path, shown)], ..GatewayReport::default() }
}

/// Pods a and b say this; none: one cannot be asked.
fn say(play: &mut Play, reports: [Option<GatewayReport>; 2]) {
    let reports = PODS.map(mk_pod).into_iter().zip(reports).collect();
    play.happen(Event::Answer(Answer::Asked { namespace: "secure".into(), reports }));
}

/// What was told of the tier since the last time, by each status that was written.
fn told(play: &mut Play) -> Vec<Value> {
    let statuses = std::mem::take(&mut play.told).into_iter().filter(|(name, _)| name == "mc-wan/far");
    statuses.map(|(_, status)| status["tiers"][0]["measured"].clone()).collect()
}

#[test]
fn a_tier_is_told_by_its_worst_gateway_and_its_moves_are_news() {
    let mut play = measuring();
    say(&mut play, [Some(mk_report(Judgement::InSla, 20)), Some(mk_report(Judgement::InSla, 21))]);
    play.pass(1);
    let first = told(&mut play);
    assert_eq!(first.len(), 1, "{first:?}");
    assert_eq!(
        (&first[0]["level"], &first[0]["latencyMs"], &first[0]["pods"]),
        (&json!("In"), &json!("21.0"), &json!(2))
    );
    say(&mut play, [None, Some(mk_report(Judgement::Latency, 103))]);
    play.pass(TOLD);
    let second = told(&mut play);
    assert_eq!(second.len(), 1, "{second:?}");
    let measured = &second[0];
    assert_eq!((&measured["level"], &measured["reason"]), (&json!("Out"), &json!("Latency")));
    assert_eq!((&measured["pods"], &measured["podsOut"]), (&json!(2), &json!(1)), "who cannot be asked measures on");
    let news = "mc-wan/far: tier high is Out at 1 of 2 gateway pods; round trip 103.0 ms; loss each way 0.00 %";
    let of_connections: Vec<_> = play.news.iter().filter(|news| news.starts_with("mc-wan/")).collect();
    assert_eq!(of_connections, [news]);
}

#[test]
fn it_is_told_at_most_twice_a_minute_and_only_what_is_news() {
    let mut play = measuring();
    for second in 0..120 {
        let judgement = if second % 7 == 0 { Judgement::Loss } else { Judgement::InSla };
        say(&mut play, [Some(mk_report(judgement, 20)), None]);
        play.pass(1);
    }
    let flapping = told(&mut play);
    assert!((1..=4).contains(&flapping.len()), "{flapping:?}");
    play.pass(TOLD);
    play.told.clear();
    for second in 0..120 {
        say(&mut play, [Some(mk_report(Judgement::InSla, 20 + second % 5)), None]);
        play.pass(1);
    }
    let steady = told(&mut play);
    assert!(steady.len() <= 1, "nothing is promised, and no level moves: {steady:?}");
}

#[test]
fn where_no_rule_goes_by_it_any_more_nothing_is_told() {
    let mut play = measuring();
    say(&mut play, [Some(mk_report(Judgement::InSla, 20)), Some(mk_report(Judgement::InSla, 20))]);
    play.pass(1);
    assert_eq!(told(&mut play).len(), 1);
    say(&mut play, [Some(GatewayReport::default()), Some(GatewayReport::default())]);
    play.pass(TOLD);
    assert_eq!(told(&mut play), [Value::Null]);
}

#[test]
fn nor_where_there_is_no_gateway_any_more() {
    let mut play = measuring();
    say(&mut play, [Some(mk_report(Judgement::InSla, 20)), Some(mk_report(Judgement::InSla, 20))]);
    play.pass(1);
    assert_eq!(told(&mut play).len(), 1);
    for name in PODS {
        let key = Key::new("secure", name);
        play.happen(Event::Watch(WatchEvent::Deleted { kind: Watched::Pod, key, version: None }));
    }
    play.pass(TOLD);
    assert_eq!(told(&mut play), [Value::Null]);
}

#[test]
fn a_new_leader_leaves_what_is_told_until_it_has_asked_all() {
    let mut play = measuring();
    let late = || Some(mk_report(Judgement::Latency, 103));
    say(&mut play, [late(), Some(mk_report(Judgement::InSla, 20))]);
    play.pass(1);
    assert_eq!(told(&mut play).len(), 1);
    play.happen(Event::Leading(false));
    play.happen(Event::Leading(true));
    play.pass(TOLD - 2);
    assert_eq!(told(&mut play), [Value::Null; 0], "it has not asked anybody");
    say(&mut play, [None, Some(mk_report(Judgement::InSla, 20))]);
    play.pass(TOLD);
    assert_eq!(told(&mut play), [Value::Null; 0], "it does not know what the other says");
    say(&mut play, [late(), Some(mk_report(Judgement::InSla, 20))]);
    play.pass(TOLD);
    assert_eq!(told(&mut play), [Value::Null; 0], "it is as it was");
    play.happen(Event::Leading(false));
    play.happen(Event::Leading(true));
    play.pass(PATIENCE + TOLD);
    assert_eq!(told(&mut play), [Value::Null], "nobody measures any more that can be asked");
}

#[test]
fn what_a_pod_is_not_told_to_measure_is_none_of_its_business() {
    let mut play = measuring();
    let mut report = mk_report(Judgement::InSla, 20);
    let lie = PathName { namespace: "other".into(), ..report.paths[0].0.clone() };
    report.paths.push((lie, mk_report(Judgement::NoAnswer, 20).paths[0].1));
    say(&mut play, [Some(report), Some(GatewayReport::default())]);
    play.pass(1);
    let measured = told(&mut play);
    assert_eq!((&measured[0]["level"], &measured[0]["pods"]), (&json!("In"), &json!(1)));
}

#[test]
fn what_a_pod_said_that_cannot_be_asked_any_more_is_forgotten() {
    let mut play = measuring();
    say(&mut play, [Some(mk_report(Judgement::InSla, 20)), Some(mk_report(Judgement::InSla, 20))]);
    play.pass(SILENT - 10);
    let pods = |told: Vec<Value>| told.last().map(|measured| measured["pods"].clone());
    assert_eq!(pods(told(&mut play)), Some(json!(2)));
    play.pass(TOLD + 10);
    assert_eq!(told(&mut play).pop(), Some(Value::Null), "both were silent for a minute");
}
