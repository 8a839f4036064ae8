//! Translation alone, which is pure.

use std::time::Instant;

use mcwan::api::McsVersion;
use mcwan::gather::change::{Change, InputKind};
use mcwan::gather::{Snapshot, input};
use mcwan::translate::{Options, Steering, SteeringKey, Translator};
use mcwan_numbers::Number;
use serde_json::Value;

use crate::load;
use crate::{IMPORTS, RUNS};

/// How often one import is changed.
const CHANGES: usize = 100;

/// The numbers of translation.
pub(crate) fn numbers() -> Vec<Number> {
    let mut snapshot = snapshot();
    let mut full = Vec::new();
    let mut one = Vec::new();
    for _ in 0..RUNS {
        let mut translator = mk_translator();
        let start = Instant::now();
        translator.update(&snapshot, &[Change::Everything]);
        full.push(milliseconds(start));
        assert_eq!(translator.imports().len(), IMPORTS, "every import is translated");
        let mut worst = 0.0_f64;
        for change in 1..=CHANGES {
            let changes =
                put(&mut snapshot, InputKind::ServiceImport, &load::service_import(change * 97 % IMPORTS, change));
            let start = Instant::now();
            translator.update(&snapshot, &changes);
            worst = worst.max(milliseconds(start));
        }
        one.push(worst);
    }
    vec![
        Number::best_of("translate 10,000 imports", &full, "ms", 500.0),
        Number::best_of("translate one changed import of 10,000, the slowest of 100", &one, "ms", 5.0),
    ]
}

fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot { namespaces: Some([].into()), ..Snapshot::default() };
    for object in load::surroundings() {
        let kind = match object["kind"].as_str() {
            Some("WANPolicy") => InputKind::WanPolicy,
            _ => InputKind::WanCluster,
        };
        put(&mut snapshot, kind, &object);
    }
    let all = [
        (InputKind::Namespace, load::namespaces()),
        (InputKind::ExportedService, load::exported_services()),
        (InputKind::ServiceImport, load::service_imports()),
    ];
    for (kind, objects) in all {
        for object in &objects {
            put(&mut snapshot, kind, object);
        }
    }
    snapshot
}

fn put(snapshot: &mut Snapshot, kind: InputKind, object: &Value) -> Vec<Change> {
    match input::read(kind, object) {
        Ok(input) => snapshot.put(input),
        Err(error) => unreachable!("the load is sound: {error:?}"),
    }
}

fn mk_translator() -> Translator {
    let Ok(steering_key) = "a key of sixteen or more".parse::<SteeringKey>() else {
        unreachable!("the key is long enough")
    };
    Translator::new(Options {
        cluster: Some("cluster-2".to_owned()),
        steering_key,
        steering: Steering::RouteHeader,
        mcs_version: McsVersion::default(),
    })
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1_000.0
}
