//! Routes of which a part cannot be read.

use mcwan_core::api::RouteKind;
use mcwan_core::snapshot::change::InputKind;
use serde_json::{Value, json};

use super::routes::{PARENT, mk_route, on, rules, verdicts};
use super::world::{World, mk_export, mk_plain_export, reasons};

/// What is not read of a parent would make the rules hold for more, and without them the default tier would be open.
#[test]
fn a_parent_that_cannot_be_read_takes_no_rules() {
    let table = [
        (json!({"sectonName": "http"}), "spec.parentRefs[0].sectonName", "a field that there is not"),
        (json!({"port": "8080"}), "spec.parentRefs[0].port", "a text for a number"),
        (json!({"port": 70_000}), "spec.parentRefs[0].port", "no port"),
    ];
    for (slip, field, message) in table {
        let mut parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "payment"});
        parent.as_object_mut().unwrap().extend(slip.as_object().unwrap().clone());
        let spec = json!({"parentRefs": [parent], "rules": [{}]});
        let export = mk_export("c1", "ports: [{port: 8080}], gateways: [10.20.0.7], defaultTier: high");
        let world = World::new(&[export]).named(InputKind::Route(RouteKind::Http), "pay", &spec);
        assert_eq!(verdicts(world.payment()), ["pay UnsupportedValue"], "{message}");
        assert_eq!(rules(world.payment()), [""; 0], "{message}: the default tier is not open");
        let route = world.gathered.snapshot.routes.iter().next().unwrap();
        let found = mcwan_core::api::validate::route(route);
        assert_eq!(reasons(&found), [format!("InvalidValue {field}")], "{message}");
    }
}

/// What an API server has that we cannot read, as it is of a later release, spoils nothing but itself.
#[test]
fn a_rule_that_cannot_be_read_answers_500() {
    let read = |rule: Value| {
        let world = World::new(&[mk_plain_export(), mk_route("pay", 0, &[PARENT], &[on("/pay")])]);
        let parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "payment"});
        world.named(InputKind::Route(RouteKind::Http), "odd", &json!({"parentRefs": [parent], "rules": [rule]}))
    };
    let action = read(json!({"matches": [{"path": {"value": "/odd"}}], "filters": [{"type": "Unheard"}]}));
    assert_eq!(rules(action.payment()), ["[] /pay high", "[] /odd UnsupportedFilter"], "for what it matches");
    let matches = read(json!({"matches": [{"color": "red"}]}));
    assert_eq!(rules(matches.payment()), ["[] * InvalidMatch"], "for all, as it may match anything");
}

/// It may match what is for no port of its own, or for a `GRPCRoute`.
#[test]
fn a_match_that_cannot_be_read_answers_500_on_every_port() {
    let export = mk_export(
        "c1",
        "ports: [{name: http, port: 8080}, {name: admin, port: 9090}], gateways: [10.20.0.7], defaultTier: high",
    );
    let other = mk_route("pay", 0, &[&PARENT.replace('}', ", sectionName: http}")], &[on("/pay")]);
    let table = [
        (RouteKind::Http, Some("admin"), json!({"color": "red"}), "of a route for one port"),
        (RouteKind::Grpc, None, json!({"method": {"color": "red"}}), "of a route of calls"),
        (RouteKind::Grpc, Some("admin"), json!({"method": {}}), "of one for one port"),
    ];
    for (kind, section, unread, message) in table {
        let mut parent = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "payment"});
        if let Some(section) = section {
            parent["sectionName"] = section.into();
        }
        let spec = json!({"parentRefs": [parent], "rules": [{"matches": [unread]}]});
        let world = World::new(&[export.clone(), other.clone()]).named(InputKind::Route(kind), "odd", &spec);
        assert_eq!(rules(world.payment()), ["[] * InvalidMatch"], "{message}");
        assert_eq!(reasons(&world.payment().problems).len(), 1, "{message}: {:?}", world.payment().problems);
    }
}
