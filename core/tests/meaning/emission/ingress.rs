//! The exporting side: who may come in, and what the registry is told.

use std::net::IpAddr;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::{cluster_object, export_objects, ingress_objects};
use mcwan_core::emit::object::Kind;
use mcwan_core::translate::Admitted;
use serde_json::json;

use super::world::{World, at, of_kind, reasons, settings};

#[test]
fn only_gateways_of_the_registry_come_in() {
    let address = |text: &str| text.parse::<IpAddr>().unwrap();
    let table = [
        (vec![], json!([{}]), "none is known: nobody, and never an empty list of addresses"),
        (
            vec![address("10.60.0.5"), address("10.60.0.4"), address("10.60.0.5")],
            json!([{"from": [{"source": {"notIpBlocks": ["10.60.0.4", "10.60.0.5"]}}]}]),
            "everybody else is denied",
        ),
        (
            vec![address("2001:db8::4")],
            json!([{"from": [{"source": {"notIpBlocks": ["2001:db8::4"]}}]}]),
            "the other family",
        ),
    ];
    for (admitted, expected, message) in table {
        let admitted = Admitted::new([(31_111, admitted.into_iter().collect())].into());
        let (objects, _) = ingress_objects("secure", [("high", 31_111)], &admitted, &settings(DataPlane::Wasm));
        let policy = of_kind(&objects, Kind::AuthorizationPolicy)[0].1;
        assert_eq!(at(policy, "/spec/action"), "DENY", "{message}");
        assert_eq!(at(policy, "/spec/rules"), &expected, "{message}");
    }
}

#[test]
fn a_tier_on_a_port_of_the_gateways_own_is_told() {
    let tiers = [("high", 31_111), ("health", 15_021)];
    let (objects, problems) = ingress_objects("secure", tiers, &Admitted::default(), &settings(DataPlane::Wasm));
    let gateway = of_kind(&objects, Kind::Gateway)[0].1;
    assert_eq!(at(gateway, "/spec/listeners").as_array().unwrap().len(), 1);
    assert_eq!(reasons(&problems), ["PortConflict spec.port"]);
    assert_eq!(problems[0].object.to_string(), "WANPolicy health");
}

#[test]
fn without_tiers_there_is_no_gateway() {
    let (objects, problems) = ingress_objects("secure", [], &Admitted::default(), &settings(DataPlane::Wasm));
    assert_eq!((objects, problems), (Vec::new(), Vec::new()));
}

#[test]
fn a_cluster_without_a_name_tells_the_registry_nothing() {
    let export = "apiVersion: multicluster.x-k8s.io/v1beta1\nkind: ServiceExport\nmetadata: {name: payment, namespace: secure}\n";
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: payment, namespace: secure}\nspec: {ports: [{port: 8080}]}\n";
    let world = World::new(&[export.to_owned(), service.to_owned()]);
    let exported = world.translator.local_exports().get("secure", "payment").unwrap();
    let spec = world.translator.cluster(&world.gathered.snapshot, &world.translator.callers());
    let mut settings = settings(DataPlane::Wasm);
    let kinds = |settings: &_| {
        let objects = export_objects(exported, settings).into_iter().chain(cluster_object(&spec, settings));
        objects.map(|object| object.id.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&settings), [Kind::HttpRoute, Kind::ExportedService, Kind::WanCluster]);
    settings.cluster = None;
    assert_eq!(kinds(&settings), [Kind::HttpRoute]);
}

#[test]
fn what_is_not_exported_is_not_there() {
    let export = "apiVersion: multicluster.x-k8s.io/v1beta1\nkind: ServiceExport\nmetadata: {name: payment, namespace: secure}\n";
    let world = World::new(&[export.to_owned()]);
    let exported = world.translator.local_exports().get("secure", "payment").unwrap();
    assert_eq!(export_objects(exported, &settings(DataPlane::Wasm)), []);
}
