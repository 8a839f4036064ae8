//! Objects to apply.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use mcwan::files;
use mcwan_core::api::{DataPlane, McsVersion};
use mcwan_core::emit::kubernetes::{AccessLog, FilterKind, Module, Settings, everything};
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::snapshot::change::{Change, Input, InputKind};
use mcwan_core::snapshot::{ClientService, Gathered, Key, input};
use mcwan_core::translate::{FrontEnds, Options, RouteOptions, Steering, Translator, Trust, clusterset_service};
use serde_json::{Value, json};

use super::edge::CLUSTER;

/// A service of two clusters on one network, of which one port is not HTTP.
const DIRECT: &str = "
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: CLUSTER, namespace: mc-wan-registry}
spec: {network: lan}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: WANCluster
metadata: {name: neighbour, namespace: mc-wan-registry}
spec: {network: lan}
---
apiVersion: mc-wan.l7mp.io/v1alpha1
kind: ExportedService
metadata: {name: CLUSTER.direct.vault, namespace: mc-wan-registry}
spec:
  cluster: CLUSTER
  namespace: direct
  name: vault
  exportedAt: '2026-11-20T08:00:00Z'
  ports: [{name: http, port: 8080}, {name: tcp-vault, port: 5432}, {name: dns, port: 53, protocol: UDP}]
  properties: {sessionAffinity: ClientIP}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: vault-x7k, namespace: direct, labels: {kubernetes.io/service-name: vault}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}, {name: tcp-vault, port: 6543, protocol: TCP}]
endpoints:
- {addresses: [10.1.0.7], hostname: vault-0, zone: a, conditions: {ready: true, serving: true, terminating: false}}
- {addresses: [10.1.0.8]}
";

/// What comes of every example, with either data plane and either kind of filter.
pub(crate) fn of_all_examples() -> Vec<Object> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let direct = Gathered::from_text("direct.yaml", &DIRECT.replace("CLUSTER", CLUSTER));
    let direct = of_example(99, direct, DataPlane::Wasm, FilterKind::default());
    let mut objects: BTreeMap<_, _> = direct.into_iter().map(|object| (object.id.clone(), object)).collect();
    for (number, example) in std::fs::read_dir(examples).unwrap().enumerate() {
        let manifests = example.unwrap().path().join("manifests.yaml");
        if manifests.exists() {
            for (data_plane, filter) in [
                (DataPlane::Wasm, FilterKind::WasmPlugin),
                (DataPlane::Wasm, FilterKind::TrafficExtension),
                (DataPlane::Native, FilterKind::default()),
            ] {
                let emitted = of_example(number, files::from_paths(&[&manifests]), data_plane, filter);
                objects.extend(emitted.into_iter().map(|object| (object.id.clone(), object)));
            }
        }
    }
    objects.into_values().collect()
}

/// Its imports have addresses already, by the number of the example.
fn of_example(number: usize, mut gathered: Gathered, data_plane: DataPlane, filter: FilterKind) -> Vec<Object> {
    let cluster = Some(CLUSTER.to_owned());
    let options = Options {
        cluster: cluster.clone(),
        steering_key: "a-key-of-the-tests".parse().unwrap(),
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    };
    let url = format!("oci://registry.example.com/mcwan-filter@sha256:{}", "0".repeat(64));
    let module = Module { url, sha256: None };
    let settings = Settings {
        cluster,
        wan_cluster: None,
        network: None,
        gateway_class: "istio".to_owned(),
        module,
        data_plane,
        filter,
        access_log: AccessLog::default(),
        has_mcs_imports: true,
        has_connections: true,
    };
    let mut translator = Translator::new(options);
    translator.update(&gathered.snapshot, &[Change::Everything]);
    let imports: Vec<_> = translator.imports().iter().map(|(import, _)| import).collect();
    for (index, import) in imports.into_iter().enumerate() {
        let shown =
            json!({"metadata": {"namespace": *import.namespace, "name": *import.name, "uid": "1-2-3"}, "spec": {}});
        let shown = input::read(InputKind::McsServiceImport, &shown).expect("it can be read");
        gathered.snapshot.put(shown);
        let key = Key::new(Arc::clone(&import.namespace), clusterset_service(&import.name));
        let addresses = vec![format!("10.112.{}.{}", 100 + number, 1 + index).parse().unwrap()];
        let changes = gathered.snapshot.put(Input::ClientService(ClientService { key, import, addresses }));
        translator.update(&gathered.snapshot, &changes);
    }
    let mut objects = everything(&translator, &gathered.snapshot, &settings).0;
    for object in &mut objects {
        // The garbage collector takes what belongs to a `ServiceImport` that is not there.
        object.body["metadata"].as_object_mut().expect("it has metadata").remove("ownerReferences");
    }
    objects
}

/// The namespaces that objects need.
pub(crate) fn namespaces(objects: &[Object]) -> BTreeSet<String> {
    let needed = objects.iter().map(|object| object.id.key.namespace.to_string());
    needed.filter(|namespace| namespace != "default").collect()
}

/// A Service of namespace `default`.
pub(crate) fn mk_service(name: &str) -> Object {
    mk_service_on(name, 80)
}

/// The same on another port.
pub(crate) fn mk_service_on(name: &str, port: u16) -> Object {
    let port = json!({"name": "http", "port": port, "protocol": "TCP", "targetPort": 80});
    mk_object(Kind::Service, name, json!({"spec": {"clusterIP": "None", "ports": [port]}}))
}

/// A `ConfigMap` of namespace `default`.
pub(crate) fn mk_config_map(name: &str) -> Object {
    mk_object(Kind::ConfigMap, name, json!({"data": {"deployment": "{}"}}))
}

fn mk_object(kind: Kind, name: &str, mut body: Value) -> Object {
    body["apiVersion"] = json!(kind.api_version());
    body["kind"] = json!(kind.name());
    body["metadata"] =
        json!({"name": name, "namespace": "default", "labels": {"app.kubernetes.io/managed-by": "mcwan"}});
    Object { id: ObjectId { kind, key: Key::new("default", name) }, body }
}
