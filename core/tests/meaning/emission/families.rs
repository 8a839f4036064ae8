//! Addresses of a family that no egress gateway of this cluster has.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::object::Kind;

use super::world::{World, at, import_objects, mk_export, mk_import, of_kind, reasons, settings, to_high};

const FOUR: &str = "10.20.0.7";
const SIX: &str = "2001:db8::7";

/// A pod of the egress gateway with these addresses.
fn mk_pod(number: usize, addresses: &[&str]) -> String {
    let addresses: Vec<_> = addresses.iter().map(|address| format!("{{ip: '{address}'}}")).collect();
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{number}, namespace: secure, \
         labels: {{gateway.networking.k8s.io/gateway-name: mcwan-egress}}}}\n\
         status: {{podIPs: [{}]}}\n",
        addresses.join(", ")
    )
}

fn mk_world(pods: &[&[&str]], exports: &[(u32, &[&str])]) -> World {
    let export = |(number, (pods, gateways)): (usize, &(u32, &[&str]))| {
        let gateways: Vec<_> = gateways.iter().map(|address| format!("'{address}'")).collect();
        let fields = format!("ports: [{{port: 8080}}], readyPods: {pods}, gateways: [{}]", gateways.join(", "));
        mk_export(&format!("c{number}"), &fields)
    };
    let pods = pods.iter().enumerate().map(|(number, addresses)| mk_pod(number, addresses));
    let exports = exports.iter().enumerate().map(export);
    World::new(&pods.chain(exports).chain([mk_import("payment", &[to_high("")])]).collect::<Vec<_>>())
}

/// Addresses of the egress pods, of the ingress gateways, the families of slices, the problems, and what it is about.
type Row = (&'static [&'static [&'static str]], &'static [&'static str], &'static [&'static str], usize, &'static str);

#[test]
fn an_address_must_be_of_a_family_that_the_gateways_have() {
    let table: [Row; 8] = [
        (&[], &[FOUR, SIX], &["IPv4", "IPv6"], 0, "no pod is known"),
        (&[&[]], &[SIX], &["IPv6"], 0, "the only pod has no address yet"),
        (&[&["10.1.0.1"]], &[FOUR], &["IPv4"], 0, "it fits"),
        (&[&["10.1.0.1"]], &[FOUR, SIX], &["IPv4"], 0, "one of both fits"),
        (&[&["10.1.0.1"]], &[SIX], &[], 1, "none fits"),
        (&[&["2001:db8:1::1"]], &[FOUR, "10.20.0.8"], &[], 2, "none fits the other family"),
        (&[&["10.1.0.1", "2001:db8:1::1"]], &[SIX], &["IPv6"], 0, "the pod has both"),
        (&[&["10.1.0.1"], &["2001:db8:1::1"]], &[SIX], &["IPv6"], 0, "one pod takes the place of another"),
    ];
    for (pods, gateways, expected, wrong, message) in table {
        let world = mk_world(pods, &[(3, gateways)]);
        let (objects, problems) = import_objects(world.payment(), &settings(DataPlane::Wasm));
        let slices = of_kind(&objects, Kind::EndpointSlice);
        let families: Vec<_> = slices.iter().map(|(_, slice)| slice["addressType"].as_str().unwrap()).collect();
        assert_eq!(families, expected, "{message}");
        assert_eq!(reasons(&problems), vec!["InvalidAddress spec.gateways"; wrong], "{message}");
    }
}

#[test]
fn the_problem_names_the_export_the_address_and_its_family() {
    let world = mk_world(&[&["10.1.0.1"]], &[(3, &[SIX])]);
    let (_, problems) = import_objects(world.payment(), &settings(DataPlane::Wasm));
    assert_eq!(problems[0].object.to_string(), "ExportedService mc-wan-registry/c0.secure.payment");
    let expected = "nothing can be sent to 2001:db8::7: the egress gateways of this cluster have no IPv6 address";
    assert_eq!(problems[0].message, expected);
}

#[test]
fn a_cluster_that_cannot_be_reached_takes_no_part() {
    let exports: [(u32, &[&str]); 2] = [(3, &[FOUR]), (9, &[SIX])];
    for (pods, expected, message) in [
        (&[&["10.1.0.1"] as &[&str]] as &[&[&str]], [3, 0], "without an address that fits: nothing"),
        (&[], [3, 9], "no pod is known: by pods"),
    ] {
        let world = mk_world(pods, &exports);
        let (objects, _) = import_objects(world.payment(), &settings(DataPlane::Wasm));
        let refs = at(of_kind(&objects, Kind::HttpRoute)[0].1, "/spec/rules/0/backendRefs").as_array().unwrap();
        let weights: Vec<_> = refs.iter().map(|one| one["weight"].as_u64().unwrap()).collect();
        assert_eq!(weights, expected, "{message}");
    }
}
