//! The egress of a namespace: gateway and filter.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::kubernetes::{AccessLog, FilterKind, Module, Settings};
use mcwan_core::emit::object::Kind;
use mcwan_core::explain::Asked;
use mcwan_core::problem::Reason;
use mcwan_core::translate::Import;
use mcwan_policy::sla::Levels;
use mcwan_policy::wire::{Match, PathMatch, Rule};
use mcwan_policy::{Decision, RouteTable, limits};
use serde_json::Value;

use super::world::{World, at, egress_objects, import_objects, mk_import, mk_plain_export, of_kind, settings, to_high};

fn mk_imports(count: usize, change: impl Fn(usize, &mut Import)) -> Vec<Import> {
    let world = World::new(&[mk_plain_export(), mk_import("payment", &[to_high("")])]);
    let import = |number: usize| {
        let mut import = world.payment().clone();
        import.wire.name = format!("payment-{number}");
        import.object.name = import.wire.name.clone();
        change(number, &mut import);
        import
    };
    (0..count).map(import).collect()
}

#[test]
fn a_namespace_without_imports_has_nothing() {
    assert!(egress_objects("secure", &[], &settings(DataPlane::Wasm)).objects.is_empty());
}

#[test]
fn a_native_import_is_not_in_the_filter() {
    let imports = mk_imports(2, |number, import| {
        import.data_plane = (number == 1).then_some(DataPlane::Native);
    });
    let egress = egress_objects("secure", &imports.iter().collect::<Vec<_>>(), &settings(DataPlane::Wasm));
    let plugin = of_kind(&egress.objects, Kind::WasmPlugin)[0].1;
    let named: Vec<_> =
        at(plugin, "/spec/pluginConfig/imports").as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(named, ["payment-0"]);
    let gateways: Vec<_> = of_kind(&egress.objects, Kind::Gateway).into_iter().map(|(name, _)| name).collect();
    assert_eq!(gateways, ["mcwan-egress", "mcwan-egress-native"]);
}

#[test]
fn a_traffic_extension_says_what_a_wasm_plugin_does() {
    let imports = mk_imports(2, |_, _| {});
    let imports: Vec<_> = imports.iter().collect();
    let of = |filter: FilterKind| {
        let settings = Settings { filter, ..settings(DataPlane::Wasm) };
        let egress = egress_objects("secure", &imports, &settings);
        of_kind(&egress.objects, filter.kind())[0].1.clone()
    };
    let [plugin, extension] = [FilterKind::WasmPlugin, FilterKind::TrafficExtension].map(of);
    assert_eq!(extension["kind"], "TrafficExtension");
    for field in ["targetRefs", "phase"] {
        assert_eq!(extension["spec"][field], plugin["spec"][field], "{field}");
    }
    for field in ["url", "sha256", "failStrategy", "pluginConfig"] {
        assert!(!plugin["spec"][field].is_null(), "{field}");
        assert_eq!(extension["spec"]["wasm"][field], plugin["spec"][field], "{field}");
    }
    let egress = egress_objects("secure", &imports, &settings(DataPlane::Wasm));
    assert!(of_kind(&egress.objects, Kind::TrafficExtension).is_empty(), "a gateway never has both");
}

#[test]
fn each_egress_gateway_logs_unless_the_mesh_is_to_say() {
    let imports = mk_imports(2, |number, import| {
        import.data_plane = (number == 1).then_some(DataPlane::Native);
    });
    let imports: Vec<_> = imports.iter().collect();
    let egress = egress_objects("secure", &imports, &settings(DataPlane::Wasm));
    let telemetries = of_kind(&egress.objects, Kind::Telemetry);
    assert_eq!(telemetries.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["mcwan-egress"], "one for both");
    let spec = at(telemetries[0].1, "/spec");
    assert_eq!(at(spec, "/targetRefs/0/name"), "mcwan-egress");
    assert_eq!(at(spec, "/targetRefs/1/name"), "mcwan-egress-native");
    assert_eq!(at(spec, "/accessLogging/0/providers/0/name"), "envoy");
    let settings = Settings { access_log: AccessLog::Mesh, ..settings(DataPlane::Wasm) };
    let egress = egress_objects("secure", &imports, &settings);
    assert!(of_kind(&egress.objects, Kind::Telemetry).is_empty());
}

/// A rule for a prefix of about a kilobyte.
fn mk_long_rule(number: usize) -> Rule {
    let path = PathMatch::Prefix(format!("/{number}/{}", "x".repeat(1_000)));
    Rule { matches: vec![Match { path: Some(path), ..Match::default() }], ..Rule::default() }
}

/// What the filter answers requests for an import: a status and a reason, or a target.
fn answer(plugin: &Value, import: &Import) -> String {
    let config = at(plugin, "/spec/pluginConfig").to_string();
    let table = RouteTable::from_json(config.as_bytes()).unwrap();
    let asked = Asked::new("GET", "http", &import.canonical_host(), None, "/a", &[]);
    let Ok(decision) = table.decide(&asked, Levels::ALL_IN, || 0);
    match decision {
        Decision::Pass => "none of ours".to_owned(),
        Decision::Reply(reply) => format!("{} {}", reply.status, reply.reason.unwrap()),
        Decision::Route(route) => route.target.name().to_owned(),
    }
}

#[test]
fn an_import_over_a_bound_is_refused_alone() {
    let pattern = |number: usize| {
        let path = PathMatch::Regex(format!("/r{number}"));
        Rule { matches: vec![Match { path: Some(path), ..Match::default() }], ..Rule::default() }
    };
    let table = [
        ((0..4_097).map(pattern).collect::<Vec<_>>(), "expressions"),
        ((0..1_100).map(mk_long_rule).collect(), "bytes"),
    ];
    for (rules, message) in table {
        let mut imports = mk_imports(3, |_, _| {});
        imports[0].wire.rules.extend(rules);
        let egress = egress_objects("secure", &imports.iter().collect::<Vec<_>>(), &settings(DataPlane::Wasm));
        let plugin = of_kind(&egress.objects, Kind::WasmPlugin)[0].1;
        let answers: Vec<_> = imports.iter().map(|import| answer(plugin, import)).collect();
        assert_eq!(answers, ["500 TooLarge", "high", "high"], "{message}: the oldest alone");
        let told: Vec<_> =
            egress.problems.iter().map(|problem| (problem.reason, problem.object.name.as_str())).collect();
        assert_eq!(told, [(Reason::TooLarge, "payment-0")], "{message}: what is said");
    }
}

#[test]
fn what_does_not_fit_is_the_youngest() {
    // 50 KB each: 20 fit into a megabyte, with the hosts of the others.
    let imports = mk_imports(30, |_, import| import.wire.rules.extend((0..50).map(mk_long_rule)));
    let egress = egress_objects("secure", &imports.iter().collect::<Vec<_>>(), &settings(DataPlane::Wasm));
    let plugin = of_kind(&egress.objects, Kind::WasmPlugin)[0].1;
    let answers: Vec<_> = imports.iter().map(|import| answer(plugin, import)).collect();
    assert_eq!(answers, [["high"; 20].as_slice(), &["500 TooLarge"; 10]].concat());
    let refused: Vec<_> =
        egress.problems.iter().map(|problem| (problem.reason, problem.object.name.as_str())).collect();
    let expected: Vec<_> = imports[20..].iter().map(|import| (Reason::TooLarge, import.wire.name.as_str())).collect();
    assert_eq!(refused, expected);
    let bytes = egress.filter.bytes;
    assert!(bytes <= limits::WASM_PLUGIN_CONFIG_BYTES && bytes > limits::WASM_PLUGIN_CONFIG_BYTES * 19 / 20, "{bytes}");
}

#[test]
fn a_config_has_its_own_revision() {
    let of_module = |count, url: &str| {
        let imports = mk_imports(count, |_, _| ());
        let module = Module { url: url.to_owned(), sha256: None };
        let settings = Settings { module, ..settings(DataPlane::Wasm) };
        egress_objects("secure", &imports.iter().collect::<Vec<_>>(), &settings).filter.revision
    };
    let revision = |count| of_module(count, "oci://example.com/filter@sha256:a");
    assert_eq!(revision(1), revision(1));
    assert_ne!(revision(1), revision(2), "other imports");
    assert_ne!(revision(1), of_module(1, "oci://example.com/filter@sha256:b"), "another module");
    assert!((1..limits::REVISIONS).contains(&revision(1)));
}

#[test]
fn a_gateway_has_64_listeners() {
    let imports = mk_imports(66, |number, import| import.ports = vec![1_000 + u16::try_from(number).unwrap()]);
    let egress = egress_objects("secure", &imports.iter().collect::<Vec<_>>(), &settings(DataPlane::Wasm));
    let gateway = of_kind(&egress.objects, Kind::Gateway)[0].1;
    assert_eq!(at(gateway, "/spec/listeners").as_array().unwrap().len(), 64);
    let left_out: Vec<_> =
        egress.problems.iter().map(|problem| (problem.reason, problem.object.name.as_str())).collect();
    assert_eq!(left_out, [(Reason::TooLarge, "payment-64"), (Reason::TooLarge, "payment-65")]);
}

#[test]
fn an_import_without_a_port_needs_no_gateway() {
    let imports = mk_imports(1, |_, import| import.ports = Vec::new());
    let settings = settings(DataPlane::Wasm);
    assert!(egress_objects("secure", &[&imports[0]], &settings).objects.is_empty());
    let (objects, problems) = import_objects(&imports[0], &settings);
    assert!(of_kind(&objects, Kind::HttpRoute).is_empty());
    assert!(problems.is_empty(), "the translation has named it: {problems:?}");
}
