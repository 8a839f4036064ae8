//! What is measured for the rules of a gateway.

use mcwan_core::api::DataPlane;
use mcwan_core::emit::envoy::{self, EnvoyOptions};
use mcwan_core::emit::plugin::Plugin;
use mcwan_core::problem::Reason;
use mcwan_core::translate::{Import, Options, Steering, translate};
use mcwan_policy::wire::{Action, UnknownHosts, WanPath};

use super::{HEAD, candidates, config, mk_cluster, mk_import, mk_rule, mk_source, mk_world};
use crate::emission::world::{World, options, reasons};

/// The same of another service.
fn of(name: &str, document: &str) -> String {
    document.replace("payment", name)
}

fn import<'w>(world: &'w World, name: &str) -> &'w Import {
    world.translator.imports().get("secure", name).unwrap()
}

#[test]
fn a_path_has_what_its_tier_promises() {
    let world = mk_world(&[mk_cluster("c1", 1), mk_import("payment", &[mk_rule("fallbacks: [low, high]")])]);
    let path = |tier: &str, port: u16| WanPath {
        tier: tier.to_owned(),
        cluster: "c1".to_owned(),
        namespace: "secure".to_owned(),
        latency_ms: None,
        jitter_ms: None,
        loss_ppm: None,
        interval_ms: 1_000,
        envoy_cluster: format!("outbound|{port}||payment-secure-{tier}.mc-wan.svc.cluster.local"),
    };
    let gold = WanPath {
        latency_ms: Some(50),
        jitter_ms: Some(10),
        loss_ppm: Some(5_000),
        interval_ms: 200,
        ..path("gold", 31_113)
    };
    let low = WanPath { latency_ms: Some(0), ..path("low", 31_112) };
    assert_eq!(config(&[world.payment()]).paths, [gold, low, path("high", 31_111)]);
}

#[test]
fn imports_share_what_is_measured() {
    let rules = |sla: &str| [mk_rule(sla)];
    let export = mk_cluster("c1", 1);
    let world = mk_world(&[
        export.clone(),
        of("bank", export.split_once("---\n").unwrap().1),
        mk_import("payment", &rules("fallbacks: [low]")),
        mk_import("bank", &rules("fallbacks: [high, low]")),
    ]);
    let (payment, bank) = (import(&world, "payment"), import(&world, "bank"));
    let both = config(&[payment, bank]);
    let paths: Vec<_> = both.paths.iter().map(|path| (&*path.tier, &*path.envoy_cluster)).collect();
    let expected = [
        ("gold", "outbound|31113||payment-secure-gold.mc-wan.svc.cluster.local"),
        ("low", "outbound|31112||payment-secure-low.mc-wan.svc.cluster.local"),
        ("high", "outbound|31111||bank-secure-high.mc-wan.svc.cluster.local"),
    ];
    assert_eq!(paths, expected, "each once, through a Service of the first that names it");
    // What an import says of a path, it says of the same one in the config of all.
    for (place, own) in [payment, bank].into_iter().enumerate() {
        let shared = Import { wire: both.imports[place].clone(), paths: both.paths.clone(), ..own.clone() };
        let named = |import: &Import| candidates(import, &import.wire.rules[0].actions[0]);
        assert_eq!(named(&shared), named(own), "{}", own.key.name);
    }
    assert_eq!(config(&[bank, payment]).paths.len(), 3, "in another order");
}

/// 16 tiers of 16 clusters are all that a config measures: what is more is refused, and the youngest import is.
#[test]
fn the_youngest_import_is_refused_where_too_much_would_be_measured() {
    let tiers: Vec<_> = (1..16).map(|number| (format!("t{number}"), 31_200 + number)).collect();
    let all: Vec<_> = tiers.iter().map(|(name, port)| format!("{{name: {name}, port: {port}}}")).collect();
    let policies = tiers
        .iter()
        .map(|(name, port)| format!("{HEAD} WANPolicy\nmetadata: {{name: {name}}}\nspec: {{port: {port}}}\n"));
    let export = |namespace: &str, number: usize| {
        let fields = format!("ports: [{{port: 80}}], readyPods: 1, gateways: ['10.20.{number}.7'], defaultTier: high");
        let export = mk_source(&format!("c{number}"), &["high"], &fields).replace("secure", namespace);
        let export = export.replace("port: 31111}", &format!("port: 31111}}, {}", all.join(", ")));
        export.split_once("---\n").map(|(cluster, export)| (cluster.to_owned(), export.to_owned())).unwrap()
    };
    // Nine tiers are all that one rule chooses among.
    let rule = |own: &str, fallbacks: std::ops::Range<u16>| {
        let fallbacks: Vec<_> = fallbacks.map(|number| format!("t{number}")).collect();
        mk_rule(&format!("fallbacks: [{}]", fallbacks.join(", "))).replace("gold", own)
    };
    let rules = [rule("high", 1..9), rule("t9", 10..16)];
    let mut documents: Vec<_> = policies.collect();
    for number in 0..16 {
        let (cluster, export_here) = export("secure", number);
        documents.extend([cluster, export_here, export("other", number).1]);
    }
    let younger = mk_import("payment", &[rule("high", 1..2)]).replace("secure", "other");
    documents.extend([mk_import("payment", &rules), younger]);
    let world = World::new(&documents);
    let older = world.payment();
    let younger = world.translator.imports().get("other", "payment").unwrap();
    let plugin = Plugin::new(&[older, younger], UnknownHosts::Pass).unwrap();
    assert_eq!(config(&[older]).paths.len(), 256, "the bound");
    assert_eq!(config(&[older, younger]).paths.len(), 256);
    let problems = plugin.problems(&[older, younger]);
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!((problem.reason, problem.object.namespace.as_deref()), (Reason::TooLarge, Some("other")));
}

#[test]
fn what_is_measured_counts_among_the_bytes_of_a_config() {
    let world = mk_world(&[mk_cluster("c1", 1), mk_import("payment", &[mk_rule("fallbacks: [low]")])]);
    let imports = [world.payment()];
    let whole = Plugin::new(&imports, UnknownHosts::Pass).unwrap().json.len();
    for (bytes, is_whole) in [(whole + 16, true), (whole - 200, false)] {
        let plugin = Plugin::for_module(&imports, UnknownHosts::Pass, "", bytes, None).unwrap();
        assert!(plugin.json.len() <= bytes, "{bytes}");
        assert_eq!(plugin.problems(&imports).is_empty(), is_whole, "{bytes}");
        assert_eq!(plugin.json.contains("paths"), is_whole, "{bytes}");
    }
}

/// Where requests name Envoy clusters, they name those that are measured.
#[test]
fn a_plain_envoy_is_measured_through_the_clusters_that_requests_take() {
    for steering in [Steering::RouteHeader, Steering::ClusterHeader] {
        let options = Options { steering, ..options() };
        let mut documents = vec![format!(
            "{HEAD} WANPolicy\nmetadata: {{name: gold}}\nspec: {{port: 31113}}\n---\n{HEAD} WANPolicy\nmetadata: \
             {{name: low}}\nspec: {{port: 31112}}\n"
        )];
        documents.extend([mk_cluster("c1", 1), mk_cluster("c2", 2)]);
        documents.push(mk_import("payment", &[mk_rule("fallbacks: [low]")]));
        let world = World::with(options.clone(), &documents);
        let import = world.payment();
        let plugin = Plugin::new(&[import], UnknownHosts::Pass).unwrap();
        let translation = translate(&world.gathered.snapshot, &options);
        let envoy = EnvoyOptions {
            data_plane: DataPlane::Wasm,
            steering,
            module: "filter.wasm".into(),
            bind_address: [127, 0, 0, 1].into(),
            admin: None,
        };
        let (config, problems) = envoy::render(&world.gathered.snapshot, &translation, &plugin, &envoy);
        assert_eq!(reasons(&problems), [""; 0]);
        for path in &import.paths {
            let clusters = config["static_resources"]["clusters"].as_array().unwrap();
            let cluster = clusters.iter().find(|cluster| cluster["name"] == *path.envoy_cluster);
            let endpoints = &cluster.expect("it is there")["load_assignment"]["endpoints"][0]["lb_endpoints"];
            assert_eq!(endpoints.as_array().unwrap().len(), 1, "one gateway of one cluster: {endpoints}");
            let address = if path.cluster == "c1" { "10.20.1.7" } else { "10.20.2.7" };
            assert!(endpoints.to_string().contains(address), "{}: {endpoints}", path.cluster);
        }
        let Action::Choose(choose) = &import.wire.rules[0].actions[0] else { panic!("no choice") };
        let target = &import.targets[usize::try_from(choose.candidates[0].sources[1].target).unwrap()];
        if steering == Steering::ClusterHeader {
            assert_eq!(import.paths[1].envoy_cluster, target.steering_value(), "the one that the header names");
        }
    }
}
