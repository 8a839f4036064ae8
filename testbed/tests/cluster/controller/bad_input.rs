//! What cannot be honoured is said in a condition that names it, and the neighbours go on.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::objects::{
    mk, mk_export, mk_exported, mk_exported_by, mk_import, mk_namespace, mk_rule, mk_service, mk_tier, mk_tier_ref,
};
use crate::scene::Scene;

const TIER: &str = "sd-wan-priority-high";
const PAYMENT: &str = "ServiceImport secure/payment";

/// Objects, and what is said of one of them.
struct Row {
    what: &'static str,
    objects: Vec<Value>,
    of: String,
    condition: &'static str,
    /// Parts of the message.
    message: Vec<String>,
}

fn row(what: &'static str, of: &str, condition: &'static str, message: &[&str], objects: Vec<Value>) -> Row {
    let message = message.iter().map(|part| (*part).to_owned()).collect();
    Row { what, objects, of: of.to_owned(), condition, message }
}

/// An exported service, imported with one rule.
fn mk_imported(name: &str, backend: Value) -> Vec<Value> {
    vec![mk_exported("secure", name), mk_import("secure", name, &json!([mk_rule(backend)]))]
}

fn with_host(mut import: Vec<Value>, host: &str) -> Vec<Value> {
    import[1]["spec"]["hostnames"] = json!([host]);
    import
}

fn mk_external(namespace: &str, name: &str) -> Value {
    mk("Service", namespace, name, json!({"spec": {"type": "ExternalName", "externalName": "pay.example.com"}}))
}

fn backends() -> Vec<Row> {
    let import = |name| format!("ServiceImport secure/{name}");
    let unresolved = "ResolvedRefs=False/BackendNotFound";
    let of_another = json!({"name": format!("payment-secure-{TIER}"), "namespace": "mc-wan"});
    let there = json!({"name": "ledger", "namespace": "retail", "port": 8080});
    let external = json!({"name": "external", "port": 8080});
    vec![
        row(
            "an unknown tier",
            &import("b1"),
            unresolved,
            &["spec.http.rules[0]", "WANPolicy nowhere"],
            mk_imported("b1", mk_tier_ref("nowhere")),
        ),
        row(
            "a tier service of another import",
            &import("b2"),
            unresolved,
            &["rules[0]", &format!("mc-wan/payment-secure-{TIER}")],
            mk_imported("b2", of_another),
        ),
        row(
            "a Service of another namespace without grant",
            &import("b3"),
            "ResolvedRefs=False/RefNotPermitted",
            &["rules[0]", "retail"],
            [mk_imported("b3", there), vec![mk_service("retail", "ledger")]].concat(),
        ),
        row(
            "a Service that is nowhere",
            &import("b4"),
            unresolved,
            &["rules[0]", "secure/none"],
            mk_imported("b4", json!({"name": "none", "port": 8080})),
        ),
        row(
            "a Service of type ExternalName",
            &import("b5"),
            unresolved,
            &["rules[0]", "secure/external"],
            [mk_imported("b5", external), vec![mk_external("secure", "external")]].concat(),
        ),
        row(
            "rules that need an export that nobody makes",
            &import("b6"),
            unresolved,
            &["rules[0]", "secure/b6"],
            vec![mk_import("secure", "b6", &json!([mk_rule(mk_tier_ref(TIER))]))],
        ),
    ]
}

fn registry() -> Vec<Row> {
    let import = |name| format!("ServiceImport secure/{name}");
    let exported = |cluster, name, gateways| {
        let import = mk_import("secure", name, &json!([mk_rule(mk_tier_ref(TIER))]));
        vec![mk_exported_by(cluster, "secure", name, &gateways), import]
    };
    vec![
        row(
            "an export of a cluster that is none",
            &import("r1"),
            "ResolvedRefs=False/BackendNotFound",
            &["nobody.secure.r1", "WANCluster nobody"],
            exported("nobody", "r1", json!(["10.20.0.8"])),
        ),
        row(
            "a loopback address",
            &import("r2"),
            "ResolvedRefs=False/InvalidAddress",
            &["cluster-1.secure.r2", "127.0.0.1"],
            exported("cluster-1", "r2", json!(["127.0.0.1", "10.20.0.8"])),
        ),
        row(
            "an address of no host",
            &import("r3"),
            "ResolvedRefs=False/InvalidAddress",
            &["cluster-1.secure.r3", "::ffff:10.20.0.8"],
            exported("cluster-1", "r3", json!(["::ffff:10.20.0.8"])),
        ),
        row(
            "no address",
            &import("r4"),
            "ResolvedRefs=False/NoAddress",
            &["cluster-1.secure.r4"],
            exported("cluster-1", "r4", json!([])),
        ),
    ]
}

fn names_and_sizes() -> Vec<Row> {
    let import = |name: &str| format!("ServiceImport secure/{name}");
    let many: Vec<_> = (0..1_000)
        .map(|number| {
            json!({"matches": [{"path": {"type": "PathPrefix", "value": format!("/{number}")}}],
            "backendRefs": [mk_tier_ref(TIER)]})
        })
        .collect();
    let long = "n".repeat(63);
    vec![
        row(
            "a host that another import has",
            &import("h2"),
            "PartiallyInvalid=True/HostConflict",
            &["host.example.com", "secure/h1"],
            [
                with_host(mk_imported("h1", mk_tier_ref(TIER)), "host.example.com"),
                with_host(mk_imported("h2", mk_tier_ref(TIER)), "host.example.com"),
            ]
            .concat(),
        ),
        row(
            "a thousand rules",
            &import("many"),
            "Accepted=True/Accepted",
            &["sound"],
            vec![mk_exported("secure", "many"), mk_import("secure", "many", &json!(many))],
        ),
        row(
            "a name at the limit",
            &import(&long),
            "Accepted=True/Accepted",
            &["too long"],
            mk_imported(&long, mk_tier_ref(TIER)),
        ),
    ]
}

fn tiers_and_exports() -> Vec<Row> {
    let policy = |name| format!("WANPolicy {name}");
    let twins = || vec![mk_tier("twin-a", 31_199), mk_tier("twin-b", 31_199)];
    vec![
        row(
            "a port that a younger tier has, too",
            &policy("twin-a"),
            "Accepted=True/PortConflict",
            &["twin-b"],
            twins(),
        ),
        row("a port that an older tier has", &policy("twin-b"), "Accepted=False/PortConflict", &["twin-a"], twins()),
        row(
            "an export of an ExternalName Service",
            "ServiceExport retail/e1",
            "Valid=False/InvalidServiceType",
            &["retail/e1", "ExternalName"],
            vec![mk_external("retail", "e1"), mk_export("retail", "e1")],
        ),
        row(
            "an export of no Service",
            "ServiceExport retail/e2",
            "Valid=False/NoService",
            &["retail/e2"],
            vec![mk_export("retail", "e2")],
        ),
    ]
}

#[tokio::test]
async fn what_cannot_be_honoured_is_said_and_the_neighbours_go_on() -> Result<()> {
    let scene = Scene::start().await?;
    let controller = scene.replica("a").await?;
    scene.put(&mk_namespace("retail")).await?;
    scene.apply_payment().await?;
    scene.until_payment_delivered().await?;
    scene.settled().await?;
    let before = scene.emitted().await?;
    let neighbour = |id: &&String| id.contains("payment");

    let rows = [backends(), registry(), names_and_sizes(), tiers_and_exports()].into_iter().flatten();
    let rows: Vec<_> = rows.collect();
    for object in rows.iter().flat_map(|row| &row.objects) {
        scene.put(object).await?;
    }
    for Row { what, of, condition, message, .. } in &rows {
        let told = scene.until_condition(of, condition).await.context(*what)?;
        for part in message {
            ensure!(told.contains(part.as_str()), "{what}: the message names {part}: {told}");
        }
    }
    names_that_join_to_the_same_are_kept_apart(&scene).await?;
    a_namespace_is_terminating(&scene).await?;

    scene.until_delivered(PAYMENT).await?;
    let after = scene.emitted().await?;
    for id in before.keys().filter(neighbour) {
        ensure!(before.get(id) == after.get(id), "{id} is as it was: {:?}", after.get(id));
    }
    let plugin = after.get("WasmPlugin secure/mcwan").context("no plugin")?.to_string();
    ensure!(plugin.contains("\"payment\"") && plugin.contains("/999"), "the neighbours' rules are in force");
    scene.end(controller).await
}

/// It stays so, as somebody keeps an import in it from going.
async fn a_namespace_is_terminating(scene: &Scene) -> Result<()> {
    let id = "ServiceImport ending/shop";
    let mut import = mk_import("ending", "shop", &json!([mk_rule(mk_tier_ref(TIER))]));
    import["metadata"]["finalizers"] = json!(["example.com/anchor"]);
    for object in [mk_namespace("ending"), mk_exported("ending", "shop"), import] {
        scene.put(&object).await?;
    }
    scene.until_delivered(id).await?;
    scene.delete("Namespace ending").await?;
    // In whichever order the namespace is emptied.
    let message = scene.until_said(id, "Programmed=False/Refused", "HTTPRoute ending/shop.8080: ").await?;
    ensure!(message.contains("in namespace ending because it is being terminated"), "{message}");
    // Meanwhile, a neighbour's rules are taken.
    let neighbour = mk_imported("t2", mk_tier_ref(TIER));
    for object in &neighbour {
        scene.put(object).await?;
    }
    scene.until_delivered("ServiceImport secure/t2").await?;
    scene.edit(id, &json!({"metadata": {"finalizers": null}})).await?;
    scene.until_gone("Namespace ending").await?;
    scene.until_gone(&format!("Service mc-wan/shop-ending-{TIER}")).await
}

/// `a-b` of `c` and `a` of `b-c` with one tier.
async fn names_that_join_to_the_same_are_kept_apart(scene: &Scene) -> Result<()> {
    for (namespace, name) in [("c", "a-b"), ("b-c", "a")] {
        scene.put(&mk_namespace(namespace)).await?;
        scene.put(&mk_exported(namespace, name)).await?;
        scene.put(&mk_import(namespace, name, &json!([mk_rule(mk_tier_ref(TIER))]))).await?;
    }
    scene.until_delivered("ServiceImport c/a-b").await?;
    scene.until_delivered("ServiceImport b-c/a").await?;
    let emitted = scene.emitted().await?;
    let services = |namespace: &str| {
        let of = |object: &Value| object["metadata"]["labels"]["mc-wan.l7mp.io/namespace"] == namespace;
        let services = emitted.iter().filter(|(id, object)| id.starts_with("Service mc-wan/") && of(object));
        services.map(|(id, _)| id.clone()).collect::<Vec<_>>()
    };
    let expected = format!("Service mc-wan/a-b-c-{TIER}");
    let (one, other) = (services("b-c"), services("c"));
    ensure!(one.contains(&expected), "the name goes to one: {one:?}");
    ensure!(other.len() == one.len() && !other.contains(&expected), "the other one has its own: {other:?}");
    Ok(())
}
