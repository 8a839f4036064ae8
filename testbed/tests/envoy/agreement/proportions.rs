//! Weights are proportions of the requests.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use mcwan_testbed::client::Request;
use mcwan_testbed::example::{Case, Destination, End, Expected, Upstream};
use mcwan_testbed::mode::Mode;
use mcwan_testbed::setup::Setup;
use serde_json::{Value, json};

use super::surroundings::snapshot;

/// How often each request is sent.
const REPEAT: NonZeroU32 = NonZeroU32::new(1_000).unwrap();

/// Sends requests that are split by weight and checks that each destination gets its share.
pub(crate) async fn hold(mode: Mode) {
    let tier = |name: &str| json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": name});
    let [high, low] = ["sd-wan-priority-high", "sd-wan-priority-low"];
    let fallback = json!({"name": "fallback"});
    let import = json!({
        "apiVersion": "mc-wan.l7mp.io/v1alpha1",
        "kind": "ServiceImport",
        "metadata": {"name": "payment", "namespace": "secure"},
        "spec": {"http": {"rules": [
            rule("/two", [(tier(high), 90), (tier(low), 10)]),
            rule("/three", [(tier(high), 1), (tier(low), 2), (fallback, 3)]),
            rule("/twice", [(tier(high), 1), (tier(low), 3), (tier(high), 1), (tier(low), 0)]),
        ]}},
    });
    let setup = Setup::new(snapshot(vec![serde_json::from_value(import).unwrap()]), mode).unwrap();
    let testbed = setup.start().await.unwrap();
    let [high, low] = [high, low].map(|name| Destination::Tier(name.to_owned()));
    let fallback = Destination::Service { namespace: "secure".to_owned(), name: "fallback".to_owned() };
    let cases = [
        case("/two", [(&high, 90), (&low, 10)]),
        case("/three", [(&high, 1), (&low, 2), (&fallback, 3)]),
        case("/twice", [(&high, 2), (&low, 3)]),
    ];
    for case in &cases {
        let performance = testbed.perform(case).await.unwrap();
        assert!(performance.is_good(), "{mode}: {}: {:?}", case.name, performance.faults);
    }
}

fn rule<const N: usize>(path: &str, backends: [(Value, u32); N]) -> Value {
    let backends = backends.map(|(mut backend, weight)| {
        backend["weight"] = json!(weight);
        backend
    });
    json!({"matches": [{"path": {"type": "Exact", "value": path}}], "backendRefs": backends.to_vec()})
}

fn case<const N: usize>(path: &str, shares: [(&Destination, u32); N]) -> Case {
    let share = |(destination, share): (&Destination, u32)| (destination.clone(), NonZeroU32::new(share).unwrap());
    let upstream = Upstream {
        shares: BTreeMap::from(shares.map(share)),
        authority: None,
        path: None,
        headers: Vec::new(),
        absent_headers: Vec::new(),
    };
    Case {
        name: path.to_owned(),
        request: Request {
            method: "GET".to_owned(),
            host: Some(b"payment.secure".to_vec()),
            path: path.to_owned(),
            headers: Vec::new(),
        },
        repeat: REPEAT,
        expected: Expected { rule: None, response_headers: Vec::new(), end: End::Upstream(upstream) },
    }
}
