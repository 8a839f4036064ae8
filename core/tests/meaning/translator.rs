//! A translation that is kept up to date means what a new one would.

use std::collections::BTreeMap;

use mcwan_core::api::{DataPlane, McsVersion, RouteKind, WanClusterSpec};
use mcwan_core::connection::Connection;
use mcwan_core::emit::kubernetes::{AccessLog, FilterKind, Module, Settings, everything};
use mcwan_core::emit::object::{Kind, Object};
use mcwan_core::problem::Problem;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Key, Snapshot, input};
use mcwan_core::translate::{FrontEnds, Import, Options, RouteOptions, Source, Steering, Translator, Trust};
use proptest::prelude::*;
use serde_json::{Value, json};

/// What happens to a cluster or the registry.
#[derive(Clone, Debug)]
enum Event {
    Put(InputKind, Value),
    Remove(InputKind, Key),
    /// These clusters are stale, and no others.
    Stale(Vec<&'static str>),
}

/// Names of services; `a-b` of `c` and `a` of `b-c` join to the same.
const SERVICES: [(&str, &str); 4] = [("c", "a-b"), ("b-c", "a"), ("c", "a"), ("c", "other")];
const CLUSTERS: [&str; 3] = ["cluster-1", "cluster-2", "own"];

pub(crate) fn mk(kind: &str, namespace: &str, name: &str, spec: &Value) -> Value {
    let api_version = match kind {
        "Service" | "Pod" | "Namespace" => "v1",
        "EndpointSlice" => "discovery.k8s.io/v1",
        "ReferenceGrant" => "gateway.networking.k8s.io/v1beta1",
        "HTTPRoute" | "GRPCRoute" => "gateway.networking.k8s.io/v1",
        "ServiceExport" => "multicluster.x-k8s.io/v1beta1",
        _ => "mc-wan.l7mp.io/v1alpha1",
    };
    json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"namespace": namespace, "name": name, "uid": format!("{namespace}/{name}"),
            "creationTimestamp": "2026-11-20T08:00:00Z"},
        "spec": spec,
    })
}

pub(crate) fn mk_cluster_scoped(kind: &str, name: &str, spec: &Value) -> Value {
    let mut object = mk(kind, "", name, spec);
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    object
}

pub(crate) fn mk_pod(namespace: &str, gateway: &str, name: &str, address: &str) -> Value {
    let mut pod = mk("Pod", namespace, name, &json!({"containers": []}));
    pod["metadata"]["labels"] = json!({"gateway.networking.k8s.io/gateway-name": gateway});
    pod["status"] = json!({"podIPs": [{"ip": address}], "conditions": [{"type": "Ready", "status": "True"}]});
    pod
}

fn cluster() -> impl Strategy<Value = (InputKind, Value)> {
    let day = "202[5-6]-01-01T00:00:00Z";
    let tells = (prop::option::of(Just("eu")), "(ipsec|vxlan)", prop::option::of("(high|low)"));
    let cluster = (prop::sample::select(&CLUSTERS[..]), 1..4_u16, any::<bool>(), day, tells);
    cluster.prop_map(|(name, port, gateway, joined, (region, driver, admits))| {
        let gateways = if gateway { json!([{"namespace": "c", "addresses": ["10.0.0.9"]}]) } else { json!([]) };
        let admits = admits.map(|tier| json!([{"tiers": [tier], "clusters": ["own"]}]));
        let spec = json!({"tiers": [{"name": "high", "port": port}], "egressGateways": gateways,
            "cableDrivers": [driver], "admits": admits});
        let mut cluster = mk("WANCluster", "mc-wan-registry", name, &spec);
        cluster["metadata"]["labels"] = region.map_or(json!({}), |region| json!({"region": region}));
        cluster["metadata"]["creationTimestamp"] = json!(joined);
        (InputKind::WanCluster, cluster)
    })
}

fn connection_policy() -> impl Strategy<Value = (InputKind, Value)> {
    let between = ("(default|p|q)", prop::option::of("(high|low)"), any::<[bool; 3]>());
    between.prop_map(|(name, tier, [is_of_region, is_any, is_of_driver])| {
        let mut spec = json!({"tiers": if is_any { Value::Null } else { tier.into_iter().collect() },
            "cableDriver": is_of_driver.then_some("ipsec")});
        if name == "default" {
            spec["noConnectOnConflict"] = is_of_region.into();
        } else if is_of_region {
            spec["leftClusterSelector"] = json!({"matchLabels": {"region": "eu"}});
        }
        (InputKind::ConnectionPolicy, mk("ClusterConnectionPolicy", "mc-wan-registry", &name, &spec))
    })
}

fn event() -> impl Strategy<Value = Event> {
    let policy = ("(high|low)", 1..4_u16, prop::option::of(0..3_u32)).prop_map(|(name, port, latency)| {
        let spec = json!({"port": port, "sla": latency.map(|latency| json!({"latencyMs": latency}))});
        (InputKind::WanPolicy, mk_cluster_scoped("WANPolicy", &name, &spec))
    });
    let day = "202[5-6]-01-01T00:00:00Z";
    let service = || prop::sample::select(&SERVICES[..]);
    let export = (service(), prop::sample::select(&CLUSTERS[..]), 1..3_u16, day, 0..3_u32).prop_map(
        |((namespace, name), cluster, port, day, pods)| {
            let spec = json!({"cluster": cluster, "namespace": namespace, "name": name, "exportedAt": day,
                "ports": [{"port": port}], "defaultTier": "high", "gateways": ["10.0.0.7"], "readyPods": pods});
            let name = format!("{cluster}.{namespace}.{name}");
            (InputKind::ExportedService, mk("ExportedService", "mc-wan-registry", &name, &spec))
        },
    );
    let to_import = json!({"group": "multicluster.x-k8s.io", "kind": "ServiceImport", "name": "a", "port": 1});
    let backend = prop_oneof![
        Just(to_import),
        Just(json!({"name": "a-b-c-high", "namespace": "mc-wan"})),
        Just(json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": "low"})),
        Just(json!({"name": "local", "port": 1})),
        Just(json!({"name": "local", "namespace": "b-c"})),
        Just(json!({"bad": "form"})),
    ];
    let parent = (service(), "(Service|ServiceImport)").prop_map(|((namespace, name), kind)| {
        let group = if kind == "Service" { "" } else { "multicluster.x-k8s.io" };
        json!({"group": group, "kind": kind, "namespace": namespace, "name": name})
    });
    let route = ("(c|b-c)", "(HTTPRoute|GRPCRoute)", prop::collection::vec(parent, 1..3), backend.clone());
    let route = route.prop_map(|(namespace, kind, parents, backend)| {
        let spec = json!({"parentRefs": parents, "rules": [{"backendRefs": [backend]}]});
        let input = if kind == "HTTPRoute" { RouteKind::Http } else { RouteKind::Grpc };
        (InputKind::Route(input), mk(&kind, &namespace, "route", &spec))
    });
    let fallbacks = prop::option::of(prop::collection::vec("(high|low)", 0..2));
    let import = (service(), backend, fallbacks).prop_map(|((namespace, name), backend, fallbacks)| {
        let sla = fallbacks.map(|fallbacks| json!({"fallbacks": fallbacks}));
        let spec = json!({"http": {"rules": [{"backendRefs": [backend], "sla": sla}]}});
        (InputKind::ServiceImport, mk("ServiceImport", namespace, name, &spec))
    });
    let local = ("(c|b-c)", 1..3_u16).prop_map(|(namespace, port)| {
        (InputKind::Service, mk("Service", &namespace, "local", &json!({"ports": [{"port": port}]})))
    });
    let own = (service(), 1..3_u16).prop_map(|((namespace, name), port)| {
        (InputKind::Service, mk("Service", namespace, name, &json!({"ports": [{"port": port}]})))
    });
    let own_export = (service(), "(high|none)").prop_map(|((namespace, name), tier)| {
        let mut export = mk("ServiceExport", namespace, name, &json!({}));
        export["metadata"]["annotations"] = json!({"mc-wan.l7mp.io/wan-policy": tier});
        (InputKind::ServiceExport, export)
    });
    let slice = (service(), any::<bool>()).prop_map(|((namespace, name), ready)| {
        let mut slice = mk("EndpointSlice", namespace, name, &json!({}));
        slice["metadata"]["labels"] = json!({"kubernetes.io/service-name": name});
        slice["addressType"] = json!("IPv4");
        slice["endpoints"] = json!([{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}]);
        (InputKind::EndpointSlice, slice)
    });
    let pod =
        ("(c|b-c)", "mcwan-(ingress|egress)", "(10.0.0.|2001:db8::)[1-3]").prop_map(|(namespace, gateway, address)| {
            (InputKind::GatewayPod, mk_pod(&namespace, &gateway, &gateway, &address))
        });
    let namespace =
        "(c|b-c)".prop_map(|name| (InputKind::Namespace, mk_cluster_scoped("Namespace", &name, &json!({}))));
    let grant = "(c|other)".prop_map(|from| {
        let route = |kind: &str| json!({"group": "gateway.networking.k8s.io", "kind": kind, "namespace": from});
        let import = json!({"group": "mc-wan.l7mp.io", "kind": "ServiceImport", "namespace": from});
        let spec = json!({"from": [import, route("HTTPRoute"), route("GRPCRoute")],
            "to": [{"group": "", "kind": "Service"}]});
        (InputKind::ReferenceGrant, mk("ReferenceGrant", "b-c", "grant", &spec))
    });
    let addressed =
        (service(), r"10\.96\.0\.[1-3]", any::<bool>()).prop_map(|((namespace, name), address, is_service)| {
            let labels = json!({"app.kubernetes.io/managed-by": "mcwan", "mc-wan.l7mp.io/import": name});
            let (kind, mut object) = if is_service {
                let spec = json!({"clusterIPs": [address]});
                (InputKind::ClientService, mk("Service", namespace, &format!("{name}-clusterset"), &spec))
            } else {
                (InputKind::McsServiceImport, mk("ServiceImport", namespace, name, &json!({"ips": [address]})))
            };
            object["metadata"]["labels"] = labels;
            (kind, object)
        });
    let grant = prop_oneof![grant, addressed, route];
    let cluster = prop_oneof![cluster(), connection_policy()];
    let object = prop_oneof![policy, cluster, export, import, local, own, own_export, slice, pod, namespace, grant];
    let object = (object, prop::bool::weighted(0.8)).prop_map(|((kind, object), put)| {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key = Key::new(text("namespace"), text("name"));
        if put { Event::Put(kind, object) } else { Event::Remove(kind, key) }
    });
    let stale = prop::sample::subsequence(&CLUSTERS[..], 0..CLUSTERS.len()).prop_map(Event::Stale);
    prop_oneof![10 => object, 1 => stale]
}

fn mk_translator() -> Translator {
    Translator::new(mk_options())
}

pub(crate) fn mk_options() -> Options {
    Options {
        cluster: Some("own".to_owned()),
        steering_key: "0123456789abcdef".parse().unwrap(),
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    }
}

/// Where the services can be had from, whether they are imported or not.
fn sources(translator: &Translator) -> Vec<Source> {
    let exports = translator.exports();
    SERVICES.iter().flat_map(|(namespace, name)| exports.sources(namespace, name)).cloned().collect()
}

/// What holds between this cluster and each other one.
fn connections(translator: &Translator) -> Vec<(String, Connection)> {
    let all = translator.exports().connections();
    all.map(|(cluster, connection)| (cluster.to_owned(), connection.clone())).collect()
}

fn happen(snapshot: &mut Snapshot, event: &Event) -> Vec<Change> {
    match event {
        Event::Put(kind, object) => snapshot.put(input::read(*kind, object).unwrap()),
        Event::Remove(kind, key) => snapshot.remove(*kind, key),
        Event::Stale(clusters) => snapshot.judge(clusters.iter().map(|cluster| (*cluster).to_owned()).collect()),
    }
}

proptest! {
    #[test]
    fn it_means_what_a_new_one_would(events in prop::collection::vec(event(), 1..60)) {
        let mut snapshot = Snapshot { namespaces: Some([].into()), ..Snapshot::default() };
        let mut kept = mk_translator();
        for event in &events {
            let changes = happen(&mut snapshot, event);
            kept.update(&snapshot, &changes);
        }
        let mut new = mk_translator();
        new.update(&snapshot, &[Change::Everything]);
        let parts = |translator: &Translator| {
            (translator.imports().clone(), translator.local_exports().clone(), translator.problems(),
             translator.cluster(&snapshot, &translator.callers()), translator.admitted(&snapshot, "c"), sources(translator),
             connections(translator))
        };
        prop_assert_eq!(parts(&kept), parts(&new), "after {:#?}", events);
    }

    #[test]
    fn what_it_does_not_name_is_as_it_was(events in prop::collection::vec(event(), 1..40)) {
        let mut snapshot = Snapshot { namespaces: Some([].into()), ..Snapshot::default() };
        let mut kept = mk_translator();
        for event in &events {
            let before = (kept.imports().clone(), kept.local_exports().clone(), kept.cluster(&snapshot, &kept.callers()));
            let admitted = kept.admitted(&snapshot, "c");
            let changes = happen(&mut snapshot, event);
            let affected = kept.update(&snapshot, &changes);
            prop_assert!(before.2 == kept.cluster(&snapshot, &kept.callers()) || affected.cluster, "the cluster by {:?}", event);
            let is_exporting = kept.local_exports().in_namespace("c").next().is_some();
            let is_told = !is_exporting || affected.ingress.contains("c");
            prop_assert!(is_told || admitted == kept.admitted(&snapshot, "c"), "whom c admits by {:?}", event);
            for (key, import) in kept.imports().iter() {
                let same = before.0.get(&key.namespace, &key.name) == Some(import);
                prop_assert!(same || affected.imports.contains(&key), "import {} by {:?}", key, event);
                prop_assert!(same || affected.egress.contains(&key.namespace), "egress of {} by {:?}", key, event);
            }
            for (key, exported) in kept.local_exports().iter() {
                let same = before.1.get(&key.namespace, &key.name) == Some(exported);
                prop_assert!(same || affected.exports.contains(&key), "export {} by {:?}", key, event);
            }
        }
    }
}

#[test]
fn the_payment_example_means_the_same_in_every_order() {
    let text = include_str!("../../../examples/payment/manifests.yaml");
    let objects = text.split("\n---\n").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    let mut events: Vec<_> = objects.map(created).collect();
    events.push(created(mk_cluster_scoped("Namespace", "secure", &json!({}))));
    let expected = outcome(&events);
    assert_eq!(expected.imports.len(), 1, "there is one import");
    assert!(expected.emitted.0.iter().any(|object| object.id.kind == Kind::WasmPlugin), "its rules are emitted");
    let mut orders = 0;
    permute(&mut events, 0, &mut |order| {
        orders += 1;
        assert_eq!(outcome(order), expected, "in the order {order:#?}");
    });
    assert_eq!(orders, 720, "all orders of six objects");
}

/// An object of the example, as an API server has it.
fn created(mut object: Value) -> Event {
    object["metadata"]["creationTimestamp"] = "2026-11-20T08:00:00Z".into();
    let kind = match object["kind"].as_str().unwrap() {
        "WANPolicy" => InputKind::WanPolicy,
        "WANCluster" => InputKind::WanCluster,
        "ExportedService" => InputKind::ExportedService,
        "ServiceImport" => InputKind::ServiceImport,
        "Namespace" => InputKind::Namespace,
        other => panic!("the example has a {other}"),
    };
    Event::Put(kind, object)
}

/// What events come to.
#[derive(Debug, PartialEq)]
struct EndState {
    imports: BTreeMap<Key, Import>,
    problems: Vec<Problem>,
    cluster: WanClusterSpec,
    /// The objects of everything, and what is wrong with them.
    emitted: (Vec<Object>, Vec<Problem>),
}

/// What events come to, one after the other.
fn outcome(events: &[Event]) -> EndState {
    let mut snapshot = Snapshot { namespaces: Some([].into()), ..Snapshot::default() };
    let mut translator = mk_translator();
    for event in events {
        let changes = happen(&mut snapshot, event);
        translator.update(&snapshot, &changes);
    }
    EndState {
        imports: translator.imports().iter().map(|(key, import)| (key, Import::clone(import))).collect(),
        problems: translator.problems(),
        cluster: translator.cluster(&snapshot, &translator.callers()),
        emitted: everything(&translator, &snapshot, &mk_settings()),
    }
}

pub(crate) fn mk_settings() -> Settings {
    Settings {
        cluster: Some("own".to_owned()),
        wan_cluster: None,
        network: None,
        gateway_class: "istio".to_owned(),
        module: Module { url: "https://example.com/filter.wasm".to_owned(), sha256: Some("0".repeat(64)) },
        data_plane: DataPlane::Wasm,
        filter: FilterKind::default(),
        access_log: AccessLog::default(),
        has_mcs_imports: true,
        has_connections: true,
    }
}

/// Visits all orders of what comes from this place on.
fn permute(events: &mut [Event], place: usize, visit: &mut impl FnMut(&[Event])) {
    if place == events.len() {
        return visit(events);
    }
    for other in place..events.len() {
        events.swap(place, other);
        permute(events, place + 1, visit);
        events.swap(place, other);
    }
}

#[test]
fn imports_are_looked_at_again_where_their_gateways_have_addresses_of_other_families() {
    let mut snapshot = Snapshot::default();
    let mut translator = mk_translator();
    let spec = json!({"http": {"rules": [{"backendRefs": [{"name": "local", "port": 1}]}]}});
    let imports = [("c", "a"), ("b-c", "a")].map(|(namespace, name)| mk("ServiceImport", namespace, name, &spec));
    for import in imports {
        let changes = happen(&mut snapshot, &Event::Put(InputKind::ServiceImport, import));
        translator.update(&snapshot, &changes);
    }
    let put = |gateway, name, address| Event::Put(InputKind::GatewayPod, mk_pod("c", gateway, name, address));
    let remove = |name| Event::Remove(InputKind::GatewayPod, Key::new("c", name));
    for (event, expected, message) in [
        (put("mcwan-ingress", "in", "2001:db8::1"), false, "nothing of theirs leaves through it"),
        (put("mcwan-egress", "one", "10.0.0.1"), true, "now it is known"),
        (put("mcwan-egress", "two", "10.0.0.2"), false, "one more"),
        (remove("one"), false, "one is left"),
        (put("mcwan-egress-native", "three", "2001:db8::3"), true, "now there are both"),
        (remove("two"), true, "now there is the other alone"),
        (remove("three"), true, "nothing is known any more"),
    ] {
        let changes = happen(&mut snapshot, &event);
        let affected = translator.update(&snapshot, &changes);
        let imports: Vec<_> = affected.imports.into_iter().collect();
        assert_eq!(imports, Vec::from_iter(expected.then(|| Key::new("c", "a"))), "{message}");
    }
}
