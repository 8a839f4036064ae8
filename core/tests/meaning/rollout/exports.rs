//! What other clusters are told of an export, and when.

use mcwan_core::emit::object::Kind;
use mcwan_core::rollout::Event;
use mcwan_core::watched::Watched;
use serde_json::{Value, json};

use super::{Play, mk_input, no_quota};
use crate::translator::{mk, mk_cluster_scoped, mk_options, mk_pod};

/// The Service that is exported, with these ports.
fn mk_service(ports: &[u16]) -> Event {
    let ports: Vec<_> = ports.iter().map(|port| json!({"name": format!("http-{port}"), "port": port})).collect();
    Event::Watch(mk_input(Watched::Emitted(Kind::Service), mk("Service", "secure", "ledger", &json!({"ports": ports}))))
}

/// The ports and the gateways that other clusters are told of.
fn announced(play: &Play) -> [Vec<Value>; 2] {
    let mut exports = play.objects.iter().filter(|(id, _)| id.kind == Kind::ExportedService);
    let (_, (export, _)) = exports.next().expect("an export");
    let list = |field: &str| export["spec"][field].as_array().cloned().unwrap_or_default();
    [list("ports").into_iter().map(|port| port["port"].clone()).collect(), list("gateways")]
}

#[test]
fn one_more_port_is_told_once_gateways_know_its_route_and_holds_up_nothing_else() {
    let told = vec![
        mk_input(Watched::Namespace, mk_cluster_scoped("Namespace", "secure", &json!({}))),
        mk_input(Watched::ServiceExport, mk("ServiceExport", "secure", "ledger", &json!({}))),
        mk_input(Watched::Pod, mk_pod("secure", "mcwan-ingress", "pod-1", "10.30.0.1")),
    ];
    let mut play = Play::new(mk_options(), told);
    play.happen(mk_service(&[8080]));
    play.pass(60);
    play.echo(Kind::ExportedService);
    assert_eq!(announced(&play), [vec![json!(8080)], vec![json!("10.30.0.1")]]);

    play.refused = Some(no_quota(Kind::HttpRoute));
    play.happen(mk_service(&[8080, 9090]));
    play.happen(Event::Watch(mk_input(Watched::Pod, mk_pod("secure", "mcwan-ingress", "pod-2", "10.30.0.2"))));
    play.pass(10);
    let gateways = vec![json!("10.30.0.1"), json!("10.30.0.2")];
    assert_eq!(announced(&play), [vec![json!(8080)], gateways.clone()], "no gateway has a route for the new port");

    play.refused = None;
    play.written.clear();
    for _ in 0..600 {
        play.pass(1);
        if play.written.iter().any(|id| id.kind == Kind::HttpRoute) {
            break;
        }
        assert_eq!(announced(&play), [vec![json!(8080)], gateways.clone()], "while the route is not there");
    }
    play.pass(2);
    assert_eq!(announced(&play), [vec![json!(8080), json!(9090)], gateways.clone()], "a lead later");
    // What was told is known by what was written, before the watch tells of it.
    play.refused = Some(no_quota(Kind::HttpRoute));
    play.happen(mk_service(&[8080, 9090, 7070]));
    play.happen(Event::Watch(mk_input(Watched::Pod, mk_pod("secure", "mcwan-ingress", "pod-3", "10.30.0.3"))));
    play.pass(10);
    let gateways = [gateways, vec![json!("10.30.0.3")]].concat();
    assert_eq!(
        announced(&play),
        [vec![json!(8080), json!(9090)], gateways.clone()],
        "no port is taken back for another one"
    );
    play.happen(mk_service(&[7070]));
    play.happen(Event::Watch(mk_input(Watched::Pod, mk_pod("secure", "mcwan-ingress", "pod-4", "10.30.0.4"))));
    let gateways = [gateways, vec![json!("10.30.0.4")]].concat();
    let before = vec![json!(8080), json!(9090)];
    assert_eq!(announced(&play), [before, gateways.clone()], "where all are new, those of before are told");
    play.refused = None;
    play.pass(60);
    assert_eq!(announced(&play), [vec![json!(7070)], gateways.clone()]);
    // One that is withdrawn and comes again is new, whatever the watch has told.
    play.echo(Kind::ExportedService);
    play.happen(mk_service(&[7070, 8080]));
    assert_eq!(announced(&play)[0], [json!(7070)], "gateways have lost its route");
    play.pass(60);
    assert_eq!(announced(&play), [vec![json!(7070), json!(8080)], gateways]);
}

#[test]
fn a_port_that_becomes_one_of_http_is_told_once_gateways_know_its_route() {
    let service = |protocol: &str| {
        let ports = json!({"ports": [{"name": "web", "port": 8080, "appProtocol": protocol}]});
        Event::Watch(mk_input(Watched::Emitted(Kind::Service), mk("Service", "secure", "ledger", &ports)))
    };
    let told = vec![
        mk_input(Watched::Namespace, mk_cluster_scoped("Namespace", "secure", &json!({}))),
        mk_input(Watched::ServiceExport, mk("ServiceExport", "secure", "ledger", &json!({}))),
    ];
    let mut play = Play::new(mk_options(), told);
    play.happen(service("tcp"));
    play.pass(60);
    let protocol = |play: &Play| {
        let mut exports = play.objects.iter().filter(|(id, _)| id.kind == Kind::ExportedService);
        exports.next().expect("an export").1.0["spec"]["ports"][0]["appProtocol"].clone()
    };
    assert_eq!(protocol(&play), "tcp");
    play.happen(service("http"));
    assert_eq!(protocol(&play), "tcp", "its route has just been written");
    play.pass(60);
    assert_eq!(protocol(&play), "http");
}

#[test]
fn an_export_that_is_new_is_told_with_all_its_ports() {
    let told = vec![
        mk_input(Watched::Namespace, mk_cluster_scoped("Namespace", "secure", &json!({}))),
        mk_input(Watched::ServiceExport, mk("ServiceExport", "secure", "ledger", &json!({}))),
    ];
    let mut play = Play::new(mk_options(), told);
    let ports = json!({"ports": [{"name": "http", "port": 8080}, {"name": "tcp", "port": 22}]});
    let service = mk("Service", "secure", "ledger", &ports);
    play.happen(Event::Watch(mk_input(Watched::Emitted(Kind::Service), service)));
    let is_told = |play: &Play| play.objects.keys().any(|id| id.kind == Kind::ExportedService);
    assert!(!is_told(&play), "the route of one has just been written");
    play.pass(60);
    assert_eq!(announced(&play)[0], [json!(8080), json!(22)]);
}
