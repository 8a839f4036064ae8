//! Choices and paths in the wire format.

use std::time::Duration;

use mcwan_policy::RouteTable;
use mcwan_policy::sla::{Loss, Promise};
use mcwan_policy::wire::{PluginConfig, VERSION};
use serde_json::{Value, json};

use super::ask;

/// A config with a choice that says everything that can be said.
fn everything() -> Value {
    json!({
        "version": 1,
        "paths": [
            {
                "tier": "high",
                "cluster": "a",
                "namespace": "secure",
                "latencyMs": 50,
                "jitterMs": 10,
                "lossPpm": 5_000,
                "intervalMs": 200,
                "envoyCluster": "outbound|31111||payment-secure-high-a.mc-wan.svc.cluster.local"
            },
            {
                "tier": "low",
                "cluster": "a",
                "namespace": "secure",
                "intervalMs": 1_000,
                "envoyCluster": "outbound|31112||payment-secure-low-a.mc-wan.svc.cluster.local"
            }
        ],
        "imports": [{
            "namespace": "secure",
            "name": "payment",
            "targets": [
                {"name": "high-a", "digest": "0123"},
                {"name": "high-own", "digest": "4567"},
                {"name": "low-a", "digest": "89ab"}
            ],
            "rules": [{"actions": [{"choose": {
                "weight": 3,
                "path": {"prefix": "/x"},
                "candidates": [
                    {"sources": [{"target": 0, "weight": 2, "path": 0}, {"target": 1, "weight": 0}]},
                    {"sources": [{"target": 2, "path": 1}]}
                ],
                "whenNoneInSla": "refuse"
            }}]}]
        }]
    })
}

fn table(config: &Value) -> Option<RouteTable> {
    RouteTable::from_json(config.to_string().as_bytes()).ok()
}

#[test]
fn a_config_with_a_choice_parses_and_prints() {
    let config: PluginConfig = serde_json::from_value(everything()).expect("it parses");
    assert_eq!(serde_json::to_value(&config).expect("it prints"), everything());
    assert_eq!(VERSION, 1);
    let table = table(&everything()).expect("it is sound");
    let [high, low] = table.paths() else { panic!("two paths: {:?}", table.paths()) };
    let milliseconds = Duration::from_millis;
    let (latency, jitter) = (Some(milliseconds(50)), Some(milliseconds(10)));
    assert_eq!(high.promise, Promise { latency, jitter, loss: Loss::from_parts_per_million(5_000) });
    assert_eq!((high.interval, low.interval), (milliseconds(200), milliseconds(1_000)));
    assert_eq!(low.promise, Promise::default(), "a tier that promises nothing");
    assert_eq!((&*low.tier, &*low.cluster, &*low.namespace), ("low", "a", "secure"));
    assert_eq!(&*low.envoy_cluster, "outbound|31112||payment-secure-low-a.mc-wan.svc.cluster.local");
}

#[test]
fn its_numbers_may_be_doubles() {
    fn with_doubles(value: Value) -> Value {
        match value {
            Value::Number(number) => json!(number.as_f64().expect("small numbers")),
            Value::Array(items) => items.into_iter().map(with_doubles).collect(),
            Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, with_doubles(field))).collect(),
            other => other,
        }
    }
    let config: PluginConfig = serde_json::from_value(with_doubles(everything())).expect("it parses");
    assert_eq!(serde_json::to_value(&config).expect("it prints"), everything());
}

#[test]
fn paths_may_come_before_the_imports_and_behind_them() {
    let (paths, imports) = (everything()["paths"].to_string(), everything()["imports"].to_string());
    for json in [
        format!(r#"{{"version":1,"paths":{paths},"imports":{imports}}}"#),
        format!(r#"{{"version":1,"imports":{imports},"paths":{paths}}}"#),
    ] {
        let table = RouteTable::from_json(json.as_bytes()).expect("it is sound");
        assert_eq!(ask(&table, &[], 0), "high-a /x/");
    }
}

#[test]
fn what_is_no_choice_is_refused() {
    let choose = "/imports/0/rules/0/actions/0/choose";
    let source = format!("{choose}/candidates/0/sources/0");
    let rows = [
        ("/paths/0", "latencyMs", json!(-1)),
        ("/paths/0", "jitterMs", json!(0.5)),
        ("/paths/0", "lossPpm", json!("0.5")),
        ("/paths/0", "intervalMs", Value::Null),
        ("/paths/0", "zonk", json!(1)),
        (choose, "weight", json!(-1)),
        (choose, "whenNoneInSla", json!("later")),
        (choose, "zonk", json!(1)),
        (&source, "target", json!(4_294_967_296_u64)),
        (&source, "weight", json!(1.5)),
        (&source, "path", json!(-1)),
        (&source, "zonk", json!(1)),
    ];
    for (place, field, value) in rows {
        let mut config = everything();
        config.pointer_mut(place).expect("it is there")[field] = value.clone();
        assert!(table(&config).is_none(), "{place}/{field}: {value}");
    }
    for (place, field) in [
        ("/paths/0", "tier"),
        ("/paths/0", "cluster"),
        ("/paths/0", "namespace"),
        ("/paths/0", "intervalMs"),
        ("/paths/0", "envoyCluster"),
        (choose, "candidates"),
        (&source, "target"),
    ] {
        let mut config = everything();
        config.pointer_mut(place).and_then(Value::as_object_mut).expect("an object").remove(field);
        assert!(table(&config).is_none(), "{place} without {field}");
    }
}

#[test]
fn a_config_without_choices_has_the_bytes_that_it_had() {
    let json = concat!(
        r#"{"version":1,"revision":7,"unknownHosts":"refuse","imports":[{"namespace":"secure","name":"payment","#,
        r#""targets":[{"name":"high","digest":"0123"}],"rules":[{"ports":[80],"matches":[{"path":{"prefix":"/a"}}],"#,
        r#""actions":[{"forward":{"target":0,"weight":3,"path":{"full":"/x"}}},{"redirect":{"status":301}},"#,
        r#"{"refuse":{"weight":0,"reason":"BackendNotFound"}}]}]}]}"#
    );
    let config: PluginConfig = serde_json::from_str(json).expect("it parses");
    assert_eq!(serde_json::to_string(&config).expect("it prints"), json);
}
