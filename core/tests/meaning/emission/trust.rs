//! What is taken from other clusters, and what is not.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::everything;
use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::change::InputKind;
use mcwan_core::snapshot::{Key, input};
use mcwan_core::translate::{NamespaceList, NamespaceRule, Trust};
use serde_json::json;

use super::world::{
    World, at, import_objects, mk_export, mk_import, mk_plain_export, of_kind, reasons, settings, to_high,
};

fn into(namespace: &str) -> String {
    mk_plain_export()
        .replace("c1.secure.payment", &format!("c1.{namespace}.payment"))
        .replace("namespace: secure, name: payment", &format!("namespace: {namespace}, name: payment"))
}

#[test]
fn an_export_makes_an_import_only_where_that_is_permitted() {
    let only_secure = NamespaceRule { allowed: "secure".parse().unwrap(), denied: NamespaceList::default() };
    for (rule, namespace, expected, message) in [
        (NamespaceRule::default(), "secure", true, "anywhere"),
        (NamespaceRule::default(), "kube-system", false, "but where Kubernetes itself is"),
        (only_secure.clone(), "secure", true, "where it is said"),
        (only_secure, "other", false, "nowhere else"),
    ] {
        let trust = Trust { import_namespaces: rule, ..Trust::default() };
        let world = World::trusting(trust, &[into(namespace)]);
        let import = world.translator.imports().get(namespace, "payment");
        assert_eq!(import.is_some(), expected, "{message}: {namespace}");
        let refused: &[_] = if expected { &[] } else { &["NamespaceNotPermitted spec.namespace"] };
        assert_eq!(reasons(&world.translator.problems()), refused, "{message}: {namespace}");
        let (objects, _) = everything(&world.translator, &world.gathered.snapshot, &settings(DataPlane::Wasm));
        let made = objects.iter().any(|object| *object.id.key.namespace == *namespace);
        assert_eq!(made, expected, "{message}: {namespace}: something is made of it");
    }
}

#[test]
fn what_a_namespace_says_of_its_own_services_holds_wherever_it_is() {
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: old, namespace: kube-system}\nspec: {ports: [{port: 80}]}\n";
    let import = mk_import("payment", &["{backendRefs: [{name: old, port: 80}]}".to_owned(), to_high("")]);
    let import = import.replace("namespace: secure", "namespace: kube-system");
    let world = World::new(&[into("kube-system"), service.to_owned(), import]);
    let import = world.translator.imports().get("kube-system", "payment").unwrap();
    assert_eq!(import.ports, [80], "the export's port is not served");
    assert_eq!(reasons(&import.problems), ["BackendNotFound spec.http.rules[1].backendRefs[0]"]);
    assert_eq!(reasons(&import.export_problems), ["NamespaceNotPermitted spec.namespace"]);
}

/// The addresses that requests are sent to, and what is wrong with the export.
fn reached(world: &World) -> (Vec<String>, Vec<String>) {
    let (objects, _) = import_objects(world.payment(), &settings(DataPlane::Wasm));
    let slices = of_kind(&objects, Kind::EndpointSlice).into_iter();
    let endpoints = slices.flat_map(|(_, slice)| at(slice, "/endpoints").as_array().unwrap());
    let addresses = endpoints.map(|endpoint| at(endpoint, "/addresses/0").as_str().unwrap().to_owned()).collect();
    (addresses, reasons(&world.payment().export_problems))
}

const REFUSED: &str = "InvalidAddress spec.gateways";

#[test]
fn nothing_is_sent_to_an_api_server() {
    let export = mk_export("c1", "ports: [{port: 8080}], gateways: [10.20.0.7, 10.0.0.1, 10.96.0.1, 192.0.2.1]");
    let own = "\
apiVersion: v1
kind: Service
metadata: {name: kubernetes, namespace: default}
spec: {clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1], ports: [{port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: kubernetes, namespace: default, labels: {kubernetes.io/service-name: kubernetes}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
";
    let documents = [export, own.to_owned(), mk_import("payment", &[to_high("")])];
    let trust = Trust { refused_addresses: ["192.0.2.1".parse().unwrap()].into(), ..Trust::default() };
    let mut world = World::trusting(trust, &documents);
    assert_eq!(
        reached(&world),
        (vec!["10.20.0.7".to_owned()], vec![REFUSED.to_owned(); 3]),
        "its own, and those it is told of"
    );

    let moved = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "endpoints": [{"addresses": ["10.20.0.7"]}],
    });
    let changes = world.gathered.snapshot.put(input::read(InputKind::EndpointSlice, &moved).unwrap());
    let affected = world.translator.update(&world.gathered.snapshot, &changes);
    assert!(affected.imports.contains(&Key::new("secure", "payment")));
    assert_eq!(reached(&world), (vec!["10.0.0.1".to_owned()], vec![REFUSED.to_owned(); 3]), "it has moved");
}

#[test]
fn of_too_many_addresses_the_registry_is_told_those_that_it_takes() {
    let pod = |number: usize| {
        let (high, low) = (number / 250, number % 250 + 1);
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p{number}, namespace: secure, \
             labels: {{gateway.networking.k8s.io/gateway-name: mcwan-egress}}}}\n\
             status: {{podIPs: [{{ip: 10.1.{high}.{low}}}], conditions: [{{type: Ready, status: 'True'}}]}}\n"
        )
    };
    for (pods, told) in [(256, 256), (257, 256)] {
        let mut documents = vec![mk_plain_export(), mk_import("payment", &[to_high("")])];
        documents.extend((0..pods).map(pod));
        let world = World::new(&documents);
        let snapshot = &world.gathered.snapshot;
        assert_eq!(
            world.translator.cluster(snapshot, &world.translator.callers()).egress_gateways[0].addresses.len(),
            told,
            "{pods} pods"
        );
        let expected = Vec::from_iter((pods > told).then_some("TooLarge spec.egressGateways"));
        assert_eq!(
            reasons(&world.translator.cluster_problems(snapshot, &world.translator.callers())),
            expected,
            "{pods} pods"
        );
    }
}
