//! `mcwan status` and `mcwan diff` on a small API server: whose rules they name.

use std::fs;
use std::net::Ipv4Addr;

use axum::Router;
use axum::extract::RawQuery;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::cli::{Result, mcwan};

const HIGH: &str = "{group: mc-wan.l7mp.io, kind: WANPolicy, name: high}";

/// An `HTTPRoute` below `secure/payment`, with rules for these paths.
fn mk_route(namespace: &str, paths: &[&str]) -> String {
    let rule = |path: &&str| format!("  - {{matches: [{{path: {{value: {path}}}}}], backendRefs: [{HIGH}]}}\n");
    let rules: String = paths.iter().map(rule).collect();
    format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {{name: pay, namespace: {namespace}}}\nspec:\n  \
         parentRefs: [{{group: multicluster.x-k8s.io, kind: ServiceImport, name: payment, namespace: secure}}]\n  rules:\n{rules}"
    )
}

/// What a cluster has, by the last part of its path.
fn lists() -> Result<Vec<(&'static str, Vec<Value>)>> {
    let ours =
        |name: &str, spec: Value| json!({"metadata": {"name": name, "namespace": "mc-wan-registry"}, "spec": spec});
    let exported = json!({"cluster": "c1", "namespace": "secure", "name": "payment", "exportedAt": "2026-11-20T08:00:00Z",
        "ports": [{"port": 8080}], "gateways": ["10.20.0.7"], "readyPods": 1});
    let of_system = json!({"cluster": "own", "namespace": "kube-system", "name": "dns", "exportedAt": "2026-11-20T08:00:00Z",
        "ports": [{"port": 8080}]});
    let namespace = |name: &str| json!({"metadata": {"name": name}});
    let named = |namespace: &str, name: &str| json!({"metadata": {"name": name, "namespace": namespace}});
    let route = |namespace| serde_saphyr::from_str::<Value>(&mk_route(namespace, &["/pay", "/stats"]));
    Ok(vec![
        ("namespaces", ["secure", "shop", "mc-wan"].map(namespace).into()),
        ("wanpolicies", vec![json!({"metadata": {"name": "high"}, "spec": {"port": 31111}})]),
        ("wanclusters", vec![ours("c1", json!({"tiers": [{"name": "high", "port": 31111}]}))]),
        ("exportedservices", vec![ours("c1.secure.payment", exported), ours("own.kube-system.dns", of_system)]),
        ("httproutes", vec![route("secure")?, route("shop")?]),
        ("serviceexports", vec![named("secure", "vault"), named("kube-system", "dns")]),
    ])
}

/// A kubeconfig of a server that has these lists, and of our own kinds empty ones.
async fn serve(lists: Vec<(&'static str, Vec<Value>)>) -> Result<(TempDir, String)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let answer = async move |uri: Uri, RawQuery(query): RawQuery| -> Response {
        let known = lists.iter().find(|(plural, _)| uri.path().ends_with(&format!("/{plural}")));
        let items = known.map(|(_, items)| items.as_slice());
        let is_of_import = query.is_some_and(|query| query.contains("mc-wan.l7mp.io%2Fimport"));
        let items = items.filter(|_| !is_of_import).or(uri.path().contains("/mc-wan.l7mp.io/").then_some(&[]));
        let (status, body) = match items {
            Some(items) => (StatusCode::OK, json!({"metadata": {"resourceVersion": "9"}, "items": items})),
            None => {
                (StatusCode::NOT_FOUND, json!({"status": "Failure", "code": 404, "reason": "NotFound", "message": ""}))
            }
        };
        (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
    };
    let server = axum::serve(listener, Router::new().fallback(answer));
    tokio::spawn(async move { server.await });
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("kubeconfig");
    let cluster = json!({"name": "a", "cluster": {"server": format!("http://{address}")}});
    let context = json!({"name": "a", "context": {"cluster": "a", "user": "a"}});
    let config = json!({"clusters": [cluster], "contexts": [context], "users": [{"name": "a", "user": {}}], "current-context": "a"});
    fs::write(&file, config.to_string())?;
    Ok((folder, file.display().to_string()))
}

#[tokio::test(flavor = "multi_thread")]
async fn status_names_the_rules_and_the_routes_that_are_refused() -> Result {
    let (_folder, kubeconfig) = serve(lists()?).await?;
    let ran = mcwan(&["status", "payment", "-n", "secure", "--kubeconfig", &kubeconfig], "")?;
    for line in [
        "ok      rules         HTTPRoute secure/pay, spec.rules[0], spec.rules[1]",
        "broken  route         HTTPRoute secure/pay: the HTTPRoute has no status",
        "ok      route         HTTPRoute shop/pay, which is refused: no ReferenceGrant of namespace secure admits HTTPRoutes of this \
         one to it (RefNotPermitted)",
    ] {
        assert!(ran.out.contains(line), "{line}\n{ran:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn status_says_that_what_is_exported_here_is_not_imported() -> Result {
    let (_folder, kubeconfig) = serve(lists()?).await?;
    for (namespace, name, why) in [
        (
            "secure",
            "vault",
            "its ServiceExport is not in the registry: see `kubectl describe serviceexport vault -n secure`",
        ),
        (
            "kube-system",
            "dns",
            "the controller takes nothing of that namespace: see its --import-namespaces and --denied-import-namespaces",
        ),
    ] {
        let ran = mcwan(&["status", name, "-n", namespace, "--kubeconfig", &kubeconfig], "")?;
        assert_eq!(ran.status, Some(1), "{name}: {ran:?}");
        let told = format!("this cluster exports {name} of namespace {namespace} and does not import it, as {why}");
        assert!(ran.log.contains(&told), "{name}: {ran:?}");
        assert!(!format!("{}{}", ran.out, ran.log).contains("broken"), "no broken steps: {ran:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_names_the_rules_beside_what_is_made_of_them() -> Result {
    let (_folder, kubeconfig) = serve(lists()?).await?;
    let same = mcwan(&["diff", "-", "--kubeconfig", &kubeconfig], &mk_route("secure", &["/pay", "/stats"]))?;
    assert_eq!((same.status, same.out.as_str()), (Some(0), ""), "{same:?}");
    let changed = mk_route("secure", &["/refund"]);
    let ran = mcwan(&["diff", "-", "--kubeconfig", &kubeconfig], &changed)?;
    let place = "secure/payment: HTTPRoute secure/pay, spec.rules[0]";
    assert!(ran.out.contains(&format!("\n# rules of {place}\n--- now/WasmPlugin/secure/mcwan\n")), "{ran:?}");
    let ran = mcwan(&["diff", "-", "-o", "json", "--kubeconfig", &kubeconfig], &changed)?;
    let answer: Value = serde_json::from_str(&ran.out)?;
    let rules: Vec<_> = answer["changes"].as_array().into_iter().flatten().map(|change| &change["rules"]).collect();
    assert_eq!(rules, [&json!([]), &json!([place])], "those of the user's own, and of the plugin");
    Ok(())
}
