//! Translation alone, which is pure.

use std::time::Instant;

use mcwan_core::api::{McsVersion, RouteKind};
use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Snapshot, input};
use mcwan_core::translate::{FrontEnds, Options, RouteOptions, Steering, SteeringKey, Translator, Trust};
use mcwan_numbers::Number;
use serde_json::Value;

use crate::{NAMESPACES, RUNS, load};

/// How often one import is changed.
const CHANGES: usize = 100;

/// How many imports have their rules from routes.
const ROUTES: usize = 5_000;

/// Who gives the rules of an import, by its number; they differ with each change.
type Source = fn(number: usize, change: usize) -> Value;

/// The numbers of translation.
pub(crate) fn numbers(imports: usize) -> Vec<Number> {
    let [full, one] = measure(imports, InputKind::ServiceImport, load::service_import);
    let [by_routes, by_route] = measure(ROUTES, InputKind::Route(RouteKind::Http), load::http_route);
    let [by_hosts, by_host] = measure(ROUTES, InputKind::OpenshiftRoute, load::openshift_route);
    vec![
        Number::best_of("translate every import", &full, "ms", 500.0),
        Number::best_of("translate one changed import, the slowest of 100", &one, "ms", 5.0),
        Number::best_of("translate 5,000 HTTPRoutes", &by_routes, "ms", 400.0),
        Number::best_of("translate one changed HTTPRoute, the slowest of 100", &by_route, "ms", 5.0),
        Number::best_of("translate 5,000 Routes of hosts", &by_hosts, "ms", 400.0),
        Number::best_of("translate one changed Route of a host, the slowest of 100", &by_host, "ms", 5.0),
    ]
}

/// How long it takes to translate everything, and one change, the longest of some: of each run.
fn measure(imports: usize, kind: InputKind, source: Source) -> [Vec<f64>; 2] {
    let mut snapshot = snapshot(imports);
    for number in 0..imports {
        put(&mut snapshot, kind, &source(number, 0));
    }
    let mut full = Vec::new();
    let mut one = Vec::new();
    for run in 0..RUNS {
        let mut translator = mk_translator("cluster-2");
        let start = Instant::now();
        translator.update(&snapshot, &[Change::Everything]);
        full.push(milliseconds(start));
        let units = if kind == InputKind::OpenshiftRoute { NAMESPACES } else { 0 };
        assert_eq!(translator.imports().len(), imports + units, "every import is translated");
        let mut worst = 0.0_f64;
        for change in 1..=CHANGES {
            // Rules that no run before had.
            let newer = source(change * 97 % imports, run * CHANGES + change);
            let changes = put(&mut snapshot, kind, &newer);
            let start = Instant::now();
            translator.update(&snapshot, &changes);
            worst = worst.max(milliseconds(start));
        }
        one.push(worst);
    }
    [full, one]
}

/// What there is beside the rules.
fn snapshot(imports: usize) -> Snapshot {
    let mut snapshot = Snapshot { namespaces: Some([].into()), ..Snapshot::default() };
    for object in load::surroundings() {
        let kind = match object["kind"].as_str() {
            Some("WANPolicy") => InputKind::WanPolicy,
            _ => InputKind::WanCluster,
        };
        put(&mut snapshot, kind, &object);
    }
    let all =
        [(InputKind::Namespace, load::namespaces()), (InputKind::ExportedService, load::exported_services(imports))];
    for (kind, objects) in all {
        for object in &objects {
            put(&mut snapshot, kind, object);
        }
    }
    snapshot
}

pub(crate) fn put(snapshot: &mut Snapshot, kind: InputKind, object: &Value) -> Vec<Change> {
    match input::read(kind, object) {
        Ok(input) => snapshot.put(input),
        Err(error) => unreachable!("the load is sound: {error:?}"),
    }
}

/// A translator that has seen nothing, of this cluster.
pub(crate) fn mk_translator(cluster: &str) -> Translator {
    let Ok(steering_key) = "a key of sixteen or more".parse::<SteeringKey>() else {
        unreachable!("the key is long enough")
    };
    Translator::new(Options {
        cluster: Some(cluster.to_owned()),
        steering_key,
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
        trust: Trust::default(),
        front_ends: FrontEnds::default(),
        routes: RouteOptions::default(),
        cable_drivers: None,
    })
}

pub(crate) fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1_000.0
}
