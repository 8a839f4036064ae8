//! What can be wrong with what is said of which clusters may use which tier.

use serde_json::{Value, json};

use super::objects::{cluster, object, policy};
use super::slips::{Row, row};

fn connection(name: &str, spec: &Value) -> Value {
    object("ClusterConnectionPolicy", name, spec)
}

fn left(selector: &Value) -> Value {
    connection("p", &json!({"leftClusterSelector": selector}))
}

fn right(selector: &Value) -> Value {
    connection("p", &json!({"rightClusterSelector": selector}))
}

fn requirement(operator: &str, values: &Value) -> Value {
    left(&json!({"matchExpressions": [{"key": "env", "operator": operator, "values": values}]}))
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("n{number}")).collect()
}

fn labels(count: usize) -> Value {
    names(count).into_iter().map(|name| (name, json!("a"))).collect::<serde_json::Map<_, _>>().into()
}

/// Everything that the API server refuses, and tells the field of.
pub(crate) fn slips() -> Vec<Row> {
    [of_selectors(), of_bare_labels(), of_policies()].into_iter().flatten().collect()
}

fn of_selectors() -> Vec<Row> {
    let field = "spec.leftClusterSelector.matchExpressions[0]: Invalid value";
    let many = |count| json!({"matchLabels": labels(count), "matchExpressions": [{"key": "a", "operator": "Exists"}]});
    vec![
        row(
            "an unknown operator",
            "spec.leftClusterSelector.matchExpressions[0].operator: Unsupported value",
            requirement("in", &json!(["cloud"])),
            requirement("In", &json!(["cloud"])),
        ),
        row("In without values", field, requirement("In", &json!([])), requirement("In", &json!(["a"]))),
        row("NotIn without values", field, requirement("NotIn", &json!([])), requirement("NotIn", &json!(["a"]))),
        row("Exists with values", field, requirement("Exists", &json!(["a"])), requirement("Exists", &json!([]))),
        row(
            "65 values",
            "spec.leftClusterSelector.matchExpressions[0].values: Too many",
            requirement("In", &json!(names(65))),
            requirement("In", &json!(names(64))),
        ),
        row("17 labels and expressions", "spec.leftClusterSelector: Invalid value", left(&many(16)), left(&many(15))),
        row(
            "17 labels",
            "spec.rightClusterSelector.matchLabels: Too many",
            right(&json!({"matchLabels": labels(17)})),
            right(&json!({"matchLabels": labels(16)})),
        ),
    ]
}

/// Taken away, they would leave selectors of every cluster: who asks here does not ask to be told of unknown fields.
fn of_bare_labels() -> Vec<Row> {
    const LEFT: &str = "\"spec.leftClusterSelector\" must validate at least one schema";
    const RIGHT: &str = "\"spec.rightClusterSelector\" must validate at least one schema";
    let bare = json!({"env": "cloud"});
    let (labels, expressions) = (json!({"env": "cloud"}), json!([{"key": "env", "operator": "Exists"}]));
    let both = json!({"matchLabels": labels, "matchExpressions": expressions});
    let with = |selector: &Value| {
        let mut more = selector.clone();
        more["env"] = json!("cloud");
        more
    };
    let one = json!({"matchLabels": labels});
    let other = json!({"matchExpressions": expressions});
    vec![
        row("a label as a selector", LEFT, left(&bare), left(&json!({}))),
        row("on the other side", RIGHT, right(&bare), right(&json!({}))),
        row("a field with a slip", LEFT, left(&json!({"matchLabel": labels})), left(&one)),
        row("one beside labels", LEFT, left(&with(&one)), left(&one)),
        row("one beside expressions", LEFT, left(&with(&other)), left(&other)),
        row("one beside both", LEFT, left(&with(&both)), left(&both)),
    ]
}

fn of_policies() -> Vec<Row> {
    let tiers = |tiers: Value| connection("p", &json!({"tiers": tiers}));
    let driver = |driver: Value| connection("p", &json!({"cableDriver": driver}));
    let flag = json!({"noConnectOnConflict": false});
    let drivers = |drivers: Value| cluster("c", &json!({"cableDrivers": drivers}));
    let of_tier = |driver: &str| policy("a", &json!({"port": 1, "cableDriver": driver}));
    let of_default = "the policy named default must have no selectors";
    vec![
        row("a name", "metadata.name must be a DNS label", connection("a.b", &json!({})), connection("a", &json!({}))),
        row("a driver with capitals", "spec.cableDriver", driver(json!("IPsec")), driver(json!("ipsec"))),
        row(
            "a driver as it was proposed",
            "spec.cableDriver",
            driver(json!({"name": "ipsec"})),
            driver(json!("ipsec")),
        ),
        row("a tier with capitals", "spec.tiers[0]", tiers(json!(["High"])), tiers(json!(["high"]))),
        row("a tier twice", "spec.tiers[1]", tiers(json!(["a", "a"])), tiers(json!(["a", "b"]))),
        row("17 tiers of a policy", "spec.tiers: Too many", tiers(json!(names(17))), tiers(json!(names(16)))),
        row(
            "a selector on default",
            of_default,
            connection("default", &json!({"leftClusterSelector": {}})),
            connection("default", &json!({})),
        ),
        row(
            "on its other side",
            of_default,
            connection("default", &json!({"rightClusterSelector": {}})),
            connection("other", &json!({"rightClusterSelector": {}})),
        ),
        row(
            "the flag elsewhere",
            "spec.noConnectOnConflict must be set on the policy named default only",
            connection("p", &flag),
            connection("default", &flag),
        ),
        row("a tier's driver with capitals", "spec.cableDriver", of_tier("IPsec"), of_tier("ipsec")),
        row(
            "a cluster's driver with capitals",
            "spec.cableDrivers[0]",
            drivers(json!(["IPsec"])),
            drivers(json!(["ipsec"])),
        ),
        row("17 drivers", "spec.cableDrivers: Too many", drivers(json!(names(17))), drivers(json!(names(16)))),
        row("a driver twice", "spec.cableDrivers[1]", drivers(json!(["a", "a"])), drivers(json!(["a", "b"]))),
    ]
}
