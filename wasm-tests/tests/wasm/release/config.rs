//! Configurations in the form that the module reads.

use mcwan_wasm_tests::{Host, Module};
use serde_json::{Value, json};

/// What the steering header says for target 0 of [`import`].
pub(crate) const HIGH: &str = "sd-wan-priority-high.d1";
/// What it says for target 1.
pub(crate) const LOW: &str = "sd-wan-priority-low.d2";
/// What it says for target 2.
pub(crate) const CANARY: &str = "service.payment-v2.d3";

/// The release module.
pub(crate) fn release() -> Module {
    Module::release().unwrap_or_else(|error| panic!("{error}"))
}

/// A host that has loaded these imports.
pub(crate) fn host(imports: impl IntoIterator<Item = Value>) -> Host {
    load(&config(imports))
}

/// A host that has loaded a configuration.
pub(crate) fn load(config: &Value) -> Host {
    Host::builder(&release()).load(config.to_string()).unwrap_or_else(|failure| panic!("{failure:?}"))
}

/// A configuration of these imports.
pub(crate) fn config(imports: impl IntoIterator<Item = Value>) -> Value {
    json!({"version": 1, "imports": imports.into_iter().collect::<Vec<_>>()})
}

/// An import of namespace `secure` with three targets.
pub(crate) fn import(name: &str, rules: impl IntoIterator<Item = Value>) -> Value {
    json!({
        "namespace": "secure",
        "name": name,
        "targets": [
            {"name": "sd-wan-priority-high", "digest": "d1"},
            {"name": "sd-wan-priority-low", "digest": "d2"},
            {"name": "service.payment-v2", "digest": "d3"},
        ],
        "rules": rules.into_iter().collect::<Vec<_>>(),
    })
}

/// The seed's example: `/payment` on the high tier, `/stats` on the low one, all else refused.
pub(crate) fn payment() -> Value {
    import("payment", [rule([prefix("/payment")], [to(0)]), rule([prefix("/stats")], [to(1)])])
}

/// `value` with one of its fields set.
pub(crate) fn with(mut value: Value, field: &str, content: Value) -> Value {
    value[field] = content;
    value
}

/// A rule.
pub(crate) fn rule(matches: impl IntoIterator<Item = Value>, actions: impl IntoIterator<Item = Value>) -> Value {
    json!({
        "matches": matches.into_iter().collect::<Vec<_>>(),
        "actions": actions.into_iter().collect::<Vec<_>>(),
    })
}

/// A rule that every request matches.
pub(crate) fn always(action: Value) -> Value {
    rule([], [action])
}

/// A match of a path prefix.
pub(crate) fn prefix(path: &str) -> Value {
    json!({"path": {"prefix": path}})
}

/// A match that asks for a header's exact value too.
pub(crate) fn with_header(candidate: Value, name: &str, value: &str) -> Value {
    with(candidate, "headers", json!([{"name": name, "value": {"exact": value}}]))
}

/// An action: the target of that index.
pub(crate) fn to(target: u32) -> Value {
    json!({"forward": {"target": target}})
}

/// An action: a redirect to https.
pub(crate) fn to_https() -> Value {
    json!({"redirect": {"status": 301, "scheme": "https"}})
}
