//! Hosts that users' `Route`s of `OpenShift` choose.

use std::collections::BTreeSet;

use mcwan_core::api::DataPlane;
use mcwan_core::emit::object::Kind;
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::explain::Asked;
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Gathered, Key, Objects, Snapshot, input, of_hosts};
use mcwan_core::translate::{Admission, Import, Translator};
use mcwan_policy::wire::UnknownHosts;
use mcwan_policy::{Decision, Reply};
use serde_json::{Value, json};

use super::world::{World, at, egress_objects, import_objects, mk_export, of_kind, options, settings};

/// A route of ours.
fn mk_route(name: &str, spec: Value) -> Value {
    mk_route_of("secure", name, 0, &json!({}), spec)
}

/// The same of a namespace, created at a second, with annotations.
fn mk_route_of(namespace: &str, name: &str, second: u8, annotations: &Value, mut spec: Value) -> Value {
    if spec.get("to").is_none() {
        spec["to"] = json!({"kind": "Service", "name": "shop"});
    }
    json!({"apiVersion": "route.openshift.io/v1", "kind": "Route",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}-{second}"),
            "creationTimestamp": format!("2026-11-20T08:00:{second:02}Z"), "annotations": annotations,
            "labels": {"mc-wan.l7mp.io/router": "mcwan"}},
        "spec": spec})
}

fn mk_service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "secure"},
        "spec": {"ports": [{"name": "web", "port": 80, "targetPort": 8080}, {"name": "admin", "port": 81}]}})
}

fn world(documents: &[Value]) -> World {
    let exports = mk_export("c1", "ports: [{port: 8080}], gateways: [10.20.0.7], readyPods: 3, defaultTier: high");
    let documents = documents.iter().map(|document| format!("{document}\n"));
    World::new(&[exports].into_iter().chain(documents).collect::<Vec<_>>())
}

fn hosts(world: &World) -> &Import {
    let key = of_hosts("secure");
    world.translator.imports().get(&key.namespace, &key.name).expect("there are routes")
}

fn admission<'w>(world: &'w World, namespace: &str, name: &str) -> &'w Admission {
    let key = of_hosts(namespace);
    let import = world.translator.imports().get(&key.namespace, &key.name).expect("there are routes");
    &import.admissions[&Key::new(namespace, name)]
}

/// Why a route is not admitted.
fn refusal(world: &World, namespace: &str, name: &str) -> Option<String> {
    admission(world, namespace, name).admitted.as_ref().err().map(|(reason, _)| reason.to_string())
}

/// What becomes of a request: the target, with its new path if there is one, or the status.
fn ask(world: &World, host: &str, port: u16, path: &str) -> String {
    let imports = world.translator.imports_of("secure");
    let imports: Vec<&Import> = imports.iter().map(|import| &***import).collect();
    let plugin = Plugin::new(&imports, UnknownHosts::Pass).expect("the filter takes it");
    let asked = Asked::new("GET", "http", host, Some(port), path, &[]);
    let Ok(decision) = plugin.table.decide(&asked, || 0);
    match decision {
        Decision::Pass => "pass".to_owned(),
        Decision::Route(route) => {
            let path = route.path.map(|path| format!(" {}", String::from_utf8_lossy(&path))).unwrap_or_default();
            assert_eq!(route.import.authority(), None, "the host is kept");
            format!("{}{path}", route.target.name().split('~').next().unwrap_or_default())
        }
        Decision::Reply(Reply { status, headers, .. }) => {
            let to = headers.iter().find(|(name, _)| name == b"location");
            let to = to.map(|(_, value)| format!(" {}", String::from_utf8_lossy(value))).unwrap_or_default();
            format!("{status}{to}")
        }
    }
}

#[test]
fn a_backend_is_a_tier_an_import_or_a_service() {
    let to = |name: &str, more: Value| {
        let mut spec = json!({"host": "www.example.com", "to": {"kind": "Service", "name": name}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let table = [
        (to("payment-secure-high", json!({})), "import.payment:8080.high", "a tier service"),
        (to("payment-clusterset", json!({})), "import.payment:8080.high", "an import, over its default tier"),
        (to("shop", json!({})), "service.shop:80", "a Service: its first port"),
        (to("shop", json!({"port": {"targetPort": "admin"}})), "service.shop:81", "a port by its name"),
        (to("shop", json!({"port": {"targetPort": 8080}})), "service.shop:80", "by the pods' number"),
        (to("shop", json!({"port": {"targetPort": 80}})), "503", "the Service's number is none of the pods'"),
        (to("nobody", json!({})), "503", "nobody"),
        (
            to("nobody", json!({"alternateBackends": [{"kind": "Service", "name": "shop", "weight": 1}]})),
            "service.shop:80",
            "who is not there leaves the split",
        ),
        (
            to("shop", json!({"alternateBackends": [{"kind": "Service", "name": "shop", "weight": 0}]})),
            "503",
            "named again, the later weight holds",
        ),
    ];
    for (spec, expected, message) in table {
        let world = world(&[mk_route("www", spec), mk_service("shop")]);
        assert_eq!(ask(&world, "www.example.com", 80, "/"), expected, "{message}");
        assert_eq!(refusal(&world, "secure", "www"), None, "{message}");
    }
}

#[test]
fn an_annotation_names_the_tier() {
    let spec = json!({"host": "a.b", "to": {"kind": "Service", "name": "payment-clusterset"}});
    let on = |tier: &str| mk_route_of("secure", "www", 0, &json!({"mc-wan.l7mp.io/wan-policy": tier}), spec.clone());
    assert_eq!(ask(&world(&[on("high")]), "a.b", 80, "/"), "import.payment:8080.high");
    let lost = world(&[on("low")]);
    assert_eq!(ask(&lost, "a.b", 80, "/"), "503", "never another tier");
    assert_eq!(admission(&lost, "secure", "www").unresolved.as_ref().unwrap().0.to_string(), "BackendNotFound");
}

#[test]
fn paths_are_by_segment_and_the_longest_goes_first() {
    let on = |name: &str, path: &str, port: &str| {
        mk_route(name, json!({"host": "a.b", "path": path, "port": {"targetPort": port}}))
    };
    let world = world(&[on("one", "/a", "web"), on("two", "/a/b/", "admin"), mk_service("shop")]);
    for (path, expected) in [
        ("/a", "service.shop:80"),
        ("/a/b", "service.shop:80"),
        ("/a/b/", "service.shop:81"),
        ("/a/b/c", "service.shop:81"),
        ("/ab", "503"),
        ("/", "503"),
        ("/A", "503"),
    ] {
        assert_eq!(ask(&world, "a.b", 80, path), expected, "{path}");
    }
    assert_eq!(ask(&world, "A.B.:80", 80, "/a"), "service.shop:80", "hosts in any case, with a dot and a port");
    assert_eq!(ask(&world, "b.b", 80, "/a"), "pass");
}

#[test]
fn tls_ends_at_the_gateway() {
    let tls = |insecure: &str| {
        json!({"host": "a.b", "tls": {"termination": "edge", "insecureEdgeTerminationPolicy": insecure,
            "externalCertificate": {"name": "a-tls"}}})
    };
    let table = [
        (json!({"host": "a.b"}), ["service.shop:80", "503"], "in the clear only"),
        (tls("None"), ["503", "service.shop:80"], "by TLS only"),
        (tls(""), ["503", "service.shop:80"], "the same"),
        (tls("Redirect"), ["302 https://a.b/x?y", "service.shop:80"], "redirected"),
        (tls("Allow"), ["service.shop:80", "service.shop:80"], "both"),
    ];
    for (spec, expected, message) in table {
        let world = world(&[mk_route("www", spec), mk_service("shop")]);
        assert_eq!([80, 443].map(|port| ask(&world, "a.b:1", port, "/x?y")), expected, "{message}");
        let objects = egress_objects("secure", &[hosts(&world)], &settings(DataPlane::Wasm)).objects;
        let (_, gateway) = of_kind(&objects, Kind::Gateway)[0];
        let secure = at(gateway, "/spec/listeners").as_array().unwrap().iter().filter(|one| one["protocol"] == "HTTPS");
        let secure: Vec<_> = secure.map(|one| (&one["hostname"], &one["tls"]["certificateRefs"][0]["name"])).collect();
        let has_tls = message != "in the clear only";
        assert_eq!(secure, [(&json!("a.b"), &json!("a-tls"))].into_iter().filter(|_| has_tls).collect::<Vec<_>>());
    }
}

#[test]
fn what_a_route_cannot_have_it_is_told() {
    let host = |host: &str| json!({"host": host});
    let with = |more: Value| {
        let mut spec = json!({"host": "a.b"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let edge = |more: Value| {
        let mut tls = json!({"termination": "edge"});
        tls.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        with(json!({"tls": tls}))
    };
    let set_all = |pairs: &[(&str, &str)]| {
        let action =
            |(name, value): &(&str, &str)| json!({"name": name, "action": {"type": "Set", "set": {"value": value}}});
        with(json!({"httpHeaders": {"actions": {"request": pairs.iter().map(action).collect::<Vec<_>>()}}}))
    };
    let set = |value: &str| set_all(&[("x-a", value)]);
    let haproxy = |key: &str, value: &str| json!({format!("haproxy.router.openshift.io/{key}"): value});
    let none = json!({});
    let table = [
        (json!({}), &none, Some("NoHostValue"), "pass"),
        (json!({"subdomain": "www"}), &none, Some("NoHostValue"), "pass"),
        (host("A.b"), &none, Some("InvalidHost"), "pass"),
        (host("a b"), &none, Some("InvalidHost"), "pass"),
        (host("a#b"), &none, Some("InvalidHost"), "pass"),
        (host(&format!("{}.b", "a".repeat(64))), &none, Some("InvalidHost"), "pass"),
        (with(json!({"path": "/a b"})), &none, Some("ExtendedValidationFailed"), "pass"),
        (with(json!({"path": "/a#b"})), &none, Some("ExtendedValidationFailed"), "pass"),
        (with(json!({"path": "a"})), &none, Some("ExtendedValidationFailed"), "pass"),
        (with(json!({"wildcardPolicy": "Subdomain"})), &none, Some("RouteNotAdmitted"), "pass"),
        (with(json!({"wildcardPolicy": "None", "path": "/"})), &none, None, "service.shop:80"),
        (edge(json!({})), &none, Some("ExtendedValidationFailed"), "503"),
        (edge(json!({"key": "k", "certificate": "c"})), &none, Some("ExtendedValidationFailed"), "503"),
        (with(json!({"tls": {"termination": "passthrough"}})), &none, Some("TerminationUnsupported"), "503"),
        (with(json!({"tls": {"termination": "reencrypt"}})), &none, Some("TerminationUnsupported"), "503"),
        (set("%[src]"), &none, Some("UnsupportedHeaderValue"), "503"),
        (set("5%% off"), &none, None, "service.shop:80"),
        (set(""), &none, Some("UnsupportedHeaderValue"), "503"),
        (set(&"%%".repeat(2_049)), &none, Some("UnsupportedHeaderValue"), "503"),
        (set_all(&[("x-a", "1"), ("X-A", "2")]), &none, Some("UnsupportedHeaderValue"), "503"),
        (host("a.b"), &haproxy("ip_allowlist", "10.0.0.0/8"), Some("UnsupportedAnnotation"), "503"),
        (host("a.b"), &haproxy("rate-limit-connections", "true"), Some("UnsupportedAnnotation"), "503"),
        (host("a.b"), &haproxy("ip_allowlist", " "), None, "service.shop:80"),
        (host("a.b"), &haproxy("ip_allowlist", "10.0.0.0/8,"), Some("UnsupportedAnnotation"), "503"),
        (host("a.b"), &haproxy("rate-limit-connections", "false"), None, "service.shop:80"),
        (host("a.b"), &haproxy("rate-limit-connections.rate-http", "9"), None, "service.shop:80"),
        (host("a.b"), &haproxy("pod-concurrent-connections", "9"), Some("UnsupportedAnnotation"), "503"),
        (host("a.b"), &haproxy("timeout", "soon"), None, "service.shop:80"),
        (host("a.b"), &haproxy("rewrite-target", "new"), None, "service.shop:80"),
        (host("a.b"), &haproxy("rewrite-target", "/a b"), Some("UnsupportedAnnotation"), "503"),
        (
            host("a.b"),
            &haproxy("rewrite-target", &format!("/{}", "a".repeat(1_024))),
            Some("UnsupportedAnnotation"),
            "503",
        ),
        (host("a.b"), &haproxy("balance", "source"), None, "service.shop:80"),
        (host("a.b"), &haproxy("rewrite-target", "/new"), None, "service.shop:80 /new/"),
        (host("payment.secure"), &none, Some("HostAlreadyClaimed"), "import"),
    ];
    for (spec, annotations, expected, answer) in table {
        let message = format!("{spec} {annotations}");
        let route = mk_route_of("secure", "www", 0, annotations, spec);
        let neighbour = mk_route("neighbour", json!({"host": "other.b"}));
        let world = world(&[route, neighbour, mk_service("shop")]);
        assert_eq!(refusal(&world, "secure", "www").as_deref(), expected, "{message}");
        if answer != "import" {
            assert_eq!(ask(&world, "a.b", 80, "/"), answer, "{message}");
        }
        assert_eq!(ask(&world, "other.b", 80, "/"), "service.shop:80", "a neighbour of {message}");
        assert_eq!(mcwan_policy::check(&hosts(&world).wire), [], "{message}");
    }
}

#[test]
fn the_oldest_has_the_host_for_its_namespace() {
    let on = |namespace: &str, name: &str, second, path: &str| {
        mk_route_of(namespace, name, second, &json!({}), json!({"host": "a.b", "path": path}))
    };
    let all = [
        on("other", "first", 1, "/x"),
        on("secure", "second", 2, "/"),
        on("secure", "third", 3, "/"),
        on("other", "fourth", 4, "/y"),
        on("other", "fifth", 5, "/x"),
    ];
    let mut world = world(&[&all[..], &[mk_service("shop")]].concat());
    let told = |world: &World| {
        [("other", "first"), ("secure", "second"), ("secure", "third"), ("other", "fourth"), ("other", "fifth")]
            .map(|(namespace, name)| refusal(world, namespace, name).is_none())
    };
    assert_eq!(told(&world), [true, false, false, true, false], "paths coexist in its namespace, the older first");
    assert_eq!(ask(&world, "a.b", 80, "/"), "pass");
    for gone in ["first", "fourth", "fifth"] {
        let changes = world.gathered.snapshot.remove(InputKind::OpenshiftRoute, &Key::new("other", gone));
        world.translator.update(&world.gathered.snapshot, &changes);
    }
    let told = ["second", "third"].map(|name| refusal(&world, "secure", name).is_none());
    assert_eq!(told, [true, false], "those that waited are promoted in turn");
    assert_eq!(ask(&world, "a.b", 80, "/"), "service.shop:80");
}

#[test]
fn routes_to_one_destination_share_one_target() {
    let on =
        |number: u8, path: &str| mk_route(&format!("r{number}"), json!({"host": format!("h{number}.b"), "path": path}));
    let all: Vec<_> = (0..40).map(|number| on(number, "/a")).chain([mk_service("shop")]).collect();
    let mut world = world(&all);
    assert_eq!(hosts(&world).targets.len(), 1);
    let routes = |world: &World| -> Vec<Value> {
        let (objects, _) = import_objects(hosts(world), &settings(DataPlane::Wasm));
        of_kind(&objects, Kind::HttpRoute).into_iter().map(|(_, body)| body.clone()).collect()
    };
    let before = routes(&world);
    assert_eq!(before.len(), 1);
    assert!(before[0]["spec"].get("hostnames").is_none(), "hosts are kept, and no route names them");
    let wire = hosts(&world).wire.clone();
    let changes = put(&mut world.gathered.snapshot, &on(7, "/b"));
    world.translator.update(&world.gathered.snapshot, &changes);
    assert_eq!(routes(&world), before, "a path is the filter's");
    assert_ne!(hosts(&world).wire, wire);
}

fn put(snapshot: &mut Snapshot, object: &Value) -> Vec<Change> {
    let kind = match object["kind"].as_str().unwrap() {
        "Route" => InputKind::OpenshiftRoute,
        "Service" => InputKind::Service,
        "EndpointSlice" => InputKind::EndpointSlice,
        "Namespace" => InputKind::Namespace,
        "WANPolicy" => InputKind::WanPolicy,
        "WANCluster" => InputKind::WanCluster,
        _ => InputKind::ExportedService,
    };
    snapshot.put(input::read(kind, object).unwrap_or_else(|unreadable| panic!("{}", unreadable.error)))
}

/// Whatever comes first, and whatever goes first: one end state.
#[test]
fn things_come_and_go_in_any_order() {
    let slice = json!({"kind": "EndpointSlice", "metadata": {"name": "shop-1", "namespace": "secure",
        "labels": {"kubernetes.io/service-name": "shop"}}, "addressType": "IPv4",
        "ports": [{"name": "web", "port": 8080}], "endpoints": [{"addresses": ["10.0.0.1"]}]});
    let export = json!({"kind": "ExportedService", "metadata": {"name": "c1.secure.payment", "namespace": "mc-wan-registry"},
        "spec": {"cluster": "c1", "namespace": "secure", "name": "payment", "exportedAt": "2026-11-20T08:00:00Z",
            "ports": [{"port": 8080}], "gateways": ["10.20.0.7"], "readyPods": 3, "defaultTier": "high"}});
    let cluster = json!({"kind": "WANCluster", "metadata": {"name": "c1", "namespace": "mc-wan-registry"},
        "spec": {"tiers": [{"name": "high", "port": 31111}]}});
    let route = mk_route(
        "www",
        json!({"host": "a.b", "to": {"kind": "Service", "name": "shop", "weight": 1},
        "alternateBackends": [{"kind": "Service", "name": "payment-clusterset", "weight": 1}]}),
    );
    let parts = [
        (InputKind::OpenshiftRoute, Key::new("secure", "www"), route),
        (InputKind::Service, Key::new("secure", "shop"), mk_service("shop")),
        (InputKind::EndpointSlice, Key::new("secure", "shop-1"), slice),
        (InputKind::ExportedService, Key::new("mc-wan-registry", "c1.secure.payment"), export),
        (
            InputKind::WanPolicy,
            Key::new("", "high"),
            json!({"kind": "WANPolicy", "metadata": {"name": "high"}, "spec": {"port": 31111}}),
        ),
        (InputKind::Namespace, Key::new("", "secure"), json!({"kind": "Namespace", "metadata": {"name": "secure"}})),
    ];
    let mut ends = BTreeSet::new();
    for order in permutations(parts.len()) {
        let mut snapshot = Snapshot { namespaces: Some(Objects::default()), ..Snapshot::default() };
        put(&mut snapshot, &cluster);
        let mut translator = Translator::new(options());
        translator.update(&snapshot, &[Change::Everything]);
        let empty = format!("{:?}", translator.imports());
        for part in &order {
            let changes = put(&mut snapshot, &parts[*part].2);
            translator.update(&snapshot, &changes);
            agrees(&translator, &snapshot);
        }
        ends.insert(format!("{:?}", translator.imports()));
        for part in &order {
            let (kind, key, _) = &parts[*part];
            let changes = snapshot.remove(*kind, key);
            translator.update(&snapshot, &changes);
            agrees(&translator, &snapshot);
        }
        assert_eq!(format!("{:?}", translator.imports()), empty, "{order:?}");
    }
    assert_eq!(ends.len(), 1);
    let end = ends.first().unwrap();
    assert!(end.contains("service.shop:80") && end.contains("import.payment:8080.high"), "{end}");
}

/// What is kept up to date is what is translated anew.
fn agrees(translator: &Translator, snapshot: &Snapshot) {
    let mut anew = Translator::new(options());
    anew.update(snapshot, &[Change::Everything]);
    assert_eq!(format!("{:?}", translator.imports()), format!("{:?}", anew.imports()));
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let shorter = if count == 0 { return vec![Vec::new()] } else { permutations(count - 1) };
    shorter
        .into_iter()
        .flat_map(|order| {
            (0..=order.len()).map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, count - 1);
                longer
            })
        })
        .collect()
}

#[test]
fn the_seeds_two_slips_are_both_named() {
    let seed = "apiVersion: v1\nkind: Route\nmetadata:\n  name: test\n  spec:\n    host: www.example.com\n    to:\n      kind: Service\n      name: s1\n";
    let findings = Gathered::from_text("seed.yaml", seed).findings;
    let hints: Vec<_> = findings.iter().filter_map(|finding| finding.hint.as_deref()).collect();
    assert_eq!(hints, ["write `apiVersion: route.openshift.io/v1` and `kind: Route`", "write it beside `metadata`"]);
}
