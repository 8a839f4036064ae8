//! Whatever comes first.

use std::collections::BTreeSet;

use mcwan_core::snapshot::change::{Change, InputKind};
use mcwan_core::snapshot::{Key, Objects, Snapshot};
use mcwan_core::translate::Translator;
use serde_json::json;

use super::super::world::options;
use super::{mk_route, mk_service, mk_slice, put};

/// Whatever comes first, and whatever goes first: one end state.
#[test]
fn things_come_and_go_in_any_order() {
    let slice = mk_slice("shop", "web", 8080, &json!({}));
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
pub(super) fn agrees(translator: &Translator, snapshot: &Snapshot) {
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
