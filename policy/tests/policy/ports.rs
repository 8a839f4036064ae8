//! Rules for certain ports that clients use.

use mcwan_policy::Verdict;
use mcwan_policy::sla::Levels;
use mcwan_policy::wire::{Rule, VERSION};
use serde_json::{Value, json};

use crate::common::{self, HIGH, LOW, ask, compile, get, mk_config, mk_import, mk_rule, on_exact, on_prefix, to};

fn on(ports: &[u16], rule: Rule) -> Rule {
    Rule { ports: ports.to_vec(), ..rule }
}

#[test]
fn a_rule_holds_on_its_ports_alone() {
    let rules = [on(&[80, 8080], mk_rule(&[], &[to(HIGH)])), on(&[9090], mk_rule(&[], &[to(LOW)]))];
    for (port, expected) in [(80, "high"), (8080, "high"), (9090, "low"), (443, "403 NoRuleMatched")] {
        assert_eq!(ask(&rules, &get("payment.secure", "/").with_port(port)), expected, "{port}");
    }
    let unknown = common::Asked { port: None, ..get("payment.secure", "/") };
    assert_eq!(ask(&rules, &unknown), "403 NoRuleMatched", "who does not tell his port");
}

#[test]
fn a_rule_of_another_port_outranks_nobody() {
    let rules =
        [on(&[9090], mk_rule(&[on_exact("/a")], &[to(HIGH)])), on(&[8080], mk_rule(&[on_prefix("/")], &[to(LOW)]))];
    assert_eq!(ask(&rules, &get("payment.secure", "/a").with_port(8080)), "low");
    assert_eq!(ask(&rules, &get("payment.secure", "/a").with_port(9090)), "high");
}

/// A gateway cannot listen on 15021, and does so on 65021 in its place.
#[test]
fn the_port_is_the_clients_and_not_the_listeners() {
    let rules = [on(&[15_021], mk_rule(&[], &[to(HIGH)])), on(&[65_021], mk_rule(&[], &[to(LOW)]))];
    for (authority, expected) in
        [("payment.secure:15021", "high"), ("payment.secure", "high"), ("payment.secure:65021", "low")]
    {
        assert_eq!(ask(&rules, &get(authority, "/").with_port(65_021)), expected, "{authority}");
    }
}

#[test]
fn the_port_is_asked_for_where_a_rule_asks_for_it() {
    let asked = |rule: Rule| {
        let request = get("payment.secure", "/");
        ask(&[rule], &request);
        request.counts.port.get()
    };
    assert_eq!(asked(mk_rule(&[], &[to(HIGH)])), 0);
    assert_eq!(asked(on(&[8080], mk_rule(&[], &[to(HIGH)]))), 1);
}

#[test]
fn an_explanation_names_the_port() {
    let table = compile(&mk_config(&[mk_import("secure/payment", &[on(&[9090], mk_rule(&[], &[to(HIGH)]))])]));
    let Ok(explanation) = table.explain(&get("payment.secure", "/"), Levels::ALL_IN, || 0);
    let verdicts: Vec<_> = explanation.considered.iter().map(|considered| considered.verdict).collect();
    assert_eq!(verdicts, [Verdict::Port]);
}

#[test]
fn ports_are_written_only_where_a_rule_has_some() {
    let written = |rule: Rule| serde_json::to_value(rule).expect("a rule prints");
    assert_eq!(written(Rule::default()), json!({}), "an older module does not know the field");
    assert_eq!(written(on(&[8080], Rule::default())), json!({"ports": [8080]}));
    // As a protobuf `Struct` has them.
    let read: Rule = serde_json::from_value(json!({"ports": [8080.0]})).expect("a double is a port");
    assert_eq!(read.ports, [8080]);
    for odd in [json!([65_536]), json!([80.5]), json!(["80"]), Value::Null] {
        assert!(serde_json::from_value::<Rule>(json!({"ports": odd})).is_err(), "{odd}");
    }
    assert_eq!(VERSION, 1);
}
