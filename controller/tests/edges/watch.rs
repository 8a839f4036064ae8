//! What is read of an API server, and what is left out as our own.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use kube::{Client, Config};
use mcwan::watch::{Source, Watches};
use mcwan_core::rollout::WatchEvent;
use mcwan_core::translate::FrontEnds;
use mcwan_core::watched::Watched;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// How long until everything is listed.
const PATIENCE: Duration = Duration::from_secs(30);

/// An API server that has these lists, by the last part of their paths, and whose watches are silent. One that is null it
/// does not let us read.
async fn serving(lists: Vec<(&'static str, Value)>) -> Client {
    serving_watches(lists, |_| None).await
}

/// The same with these answers to watches, where none: it is silent, and to who asks how far it is.
async fn serving_watches(
    lists: Vec<(&'static str, Value)>,
    watched: impl Fn(&Uri) -> Option<Response> + Clone + Send + Sync + 'static,
) -> Client {
    mcwan::module::use_ring();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let lists = Arc::new(lists);
    let answer = move |uri: Uri| {
        let (lists, watched) = (Arc::clone(&lists), watched.clone());
        async move {
            let has = |parameter| uri.query().is_some_and(|query| query.split('&').any(|given| given == parameter));
            match (has("watch=true"), has("limit=1")) {
                (false, false) => listed(&lists, &uri),
                (false, true) => watched(&uri).unwrap_or_else(|| listed(&lists, &uri)),
                (true, _) => match watched(&uri) {
                    Some(response) => response,
                    None => std::future::pending().await,
                },
            }
        }
    };
    let server = axum::serve(listener, Router::new().fallback(answer));
    tokio::spawn(async move { server.await });
    let config = Config::new(format!("http://{address}").parse().expect("a URI"));
    Client::try_from(config).expect("a client")
}

fn listed(lists: &[(&'static str, Value)], uri: &Uri) -> Response {
    let plural = uri.path().rsplit('/').next().unwrap_or_default();
    match lists.iter().find(|(known, _)| *known == plural) {
        Some((_, Value::Null)) => StatusCode::FORBIDDEN.into_response(),
        Some((_, list)) => ([(header::CONTENT_TYPE, "application/json")], list.to_string()).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A list of one object with our label, which our field manager has applied.
fn mk_list(kind: Watched, api_version: &str, more: &Value) -> Value {
    let mut object = json!({"metadata": {
        "name": "payment",
        "namespace": "secure",
        "resourceVersion": "7",
        "labels": {"app.kubernetes.io/managed-by": "mcwan"},
        "managedFields": [{
            "manager": "mcwan",
            "operation": "Apply",
            "apiVersion": api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {"f:app.kubernetes.io/managed-by": {}}}},
        }],
    }});
    if let (Some(object), Some(more)) = (object.as_object_mut(), more.as_object()) {
        object.extend(more.clone());
    }
    let name = format!("{}List", kind.name());
    json!({"apiVersion": api_version, "kind": name, "metadata": {"resourceVersion": "9"}, "items": [object]})
}

#[tokio::test]
async fn an_object_is_ours_only_if_we_write_its_kind() {
    let import = json!({
        "apiVersion": "mc-wan.l7mp.io/v1alpha1",
        "kind": "ServiceImport",
        "spec": {"http": {"rules": []}},
    });
    let written = Watched::Emitted(mcwan_core::emit::object::Kind::Service);
    let table = [
        (Watched::ServiceImport, "serviceimports", "mc-wan.l7mp.io/v1alpha1", import, true, "rules of a user"),
        (Watched::Namespace, "namespaces", "v1", json!({}), true, "a namespace, whose list does not name its kind"),
        (Watched::Pod, "pods", "v1", json!({}), true, "the pod of a gateway"),
        (written, "services", "v1", json!({}), false, "a Service, which we write"),
    ];
    let lists = table.iter().map(|(kind, plural, version, more, ..)| (*plural, mk_list(*kind, version, more)));
    let client = serving(lists.collect()).await;
    let source = Source::new(client.clone(), client, "own");
    let mut watches = Watches::start(&source, FrontEnds::default());
    let mut read = Vec::new();
    let mut listing = Vec::new();
    let mut synced = Vec::new();
    while !table.iter().all(|(kind, ..)| synced.contains(kind)) {
        let event = timeout(PATIENCE, watches.next()).await.expect("everything is listed").expect("the watches go on");
        match event {
            WatchEvent::Listing { kind } => listing.push(kind),
            WatchEvent::Changed { kind, input, .. } => {
                assert!(listing.contains(&kind), "{kind:?}: it is told that this is of a list");
                read.push((kind, input.is_some()));
            }
            WatchEvent::Synced { kind } => synced.push(kind),
            WatchEvent::Deleted { .. }
            | WatchEvent::NotInstalled { .. }
            | WatchEvent::Failed { .. }
            | WatchEvent::McsVersion(_) => {}
        }
    }
    for (kind, _, _, _, is_read, message) in table {
        let told: Vec<_> = read.iter().filter(|(known, _)| *known == kind).map(|(_, is_read)| *is_read).collect();
        assert_eq!(told, [is_read], "{message}");
    }
}

#[tokio::test]
async fn a_registry_may_lack_policies_but_not_withhold_them() {
    let discovery = |kind: &str| {
        let resource = json!({"name": "any", "singularName": "", "namespaced": true, "kind": kind, "verbs": ["list"]});
        json!({"kind": "APIResourceList", "groupVersion": "mc-wan.l7mp.io/v1alpha1", "resources": [resource]})
    };
    let list = json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ClusterConnectionPolicyList",
        "metadata": {"resourceVersion": "9"}, "items": []});
    let policies = "clusterconnectionpolicies";
    let served = ("v1alpha1", discovery("ClusterConnectionPolicy"));
    let table = [
        (vec![], "Failed", "no registry lacks the group: it is somebody else who answers"),
        (
            vec![("v1alpha1", discovery("WANCluster")), (policies, Value::Null)],
            "NotInstalled",
            "an older registry has no such kind, and an older Role no right",
        ),
        (vec![served.clone()], "Failed", "it is there, and is not found"),
        (vec![("v1alpha1", Value::Null), (policies, Value::Null)], "Failed", "it is not known whether it is there"),
        (vec![served.clone(), (policies, Value::Null)], "Failed", "it is there, and not for us to read"),
        (vec![served, (policies, list)], "Synced", "it is there"),
    ];
    for (lists, expected, message) in table {
        let client = serving(lists).await;
        let mut watches = Watches::start(&Source::new(client.clone(), client, "own"), FrontEnds::default());
        let found = loop {
            let event = timeout(PATIENCE, watches.next()).await.expect("it is told").expect("the watches go on");
            match event {
                WatchEvent::NotInstalled { kind: Watched::ConnectionPolicy } => break "NotInstalled",
                WatchEvent::Failed { kind: Watched::ConnectionPolicy, .. } => break "Failed",
                WatchEvent::Synced { kind: Watched::ConnectionPolicy } => break "Synced",
                _ => {}
            }
        };
        assert_eq!(found, expected, "{message}");
    }
}

/// What is told of namespaces, until so many lists are complete.
async fn told_of_namespaces(client: Client, lists: usize) -> Vec<&'static str> {
    let mut watches = Watches::start(&Source::new(client.clone(), client, "own"), FrontEnds::default());
    let mut told = Vec::new();
    while told.iter().filter(|event| **event == "Synced").count() < lists {
        let event = timeout(PATIENCE, watches.next()).await.expect("it goes on").expect("the watches go on");
        told.extend(match event {
            WatchEvent::Listing { kind: Watched::Namespace } => Some("Listing"),
            WatchEvent::Changed { kind: Watched::Namespace, .. } => Some("Changed"),
            WatchEvent::Synced { kind: Watched::Namespace } => Some("Synced"),
            WatchEvent::Failed { kind: Watched::Namespace, .. } => Some("Failed"),
            _ => None,
        });
    }
    told
}

fn namespaces() -> Vec<(&'static str, Value)> {
    vec![("namespaces", mk_list(Watched::Namespace, "v1", &json!({})))]
}

#[tokio::test]
async fn a_watch_that_fails_is_begun_anew_with_a_list() {
    let expired = r#"{"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}"#;
    let table = [
        (StatusCode::OK, "", "it ends at once, and would do so again"),
        (StatusCode::BAD_GATEWAY, "", "a load balancer answers"),
        (StatusCode::NOT_FOUND, "404 page not found\n", "the API server serves the kind no more"),
        (StatusCode::OK, "{\n", "nobody understands it, so that a change is missed"),
        (StatusCode::OK, expired, "the version is too old"),
    ];
    for (code, body, message) in table {
        let client = serving_watches(namespaces(), move |_| Some((code, body).into_response())).await;
        let told = told_of_namespaces(client, 2).await;
        assert_eq!(told, ["Listing", "Changed", "Synced", "Failed", "Listing", "Changed", "Synced"], "{message}");
    }
}

/// An API server whose watches of namespaces tell of version 12 and end, and which is as far as a version then. Says what
/// watches it was asked for.
async fn ending_watches(then: &'static str) -> (Client, mpsc::UnboundedReceiver<String>) {
    let (sender, watched) = mpsc::unbounded_channel();
    let client = serving_watches(namespaces(), move |uri| {
        if !uri.path().ends_with("/namespaces") {
            return None;
        }
        let query = uri.query().unwrap_or_default();
        if !query.contains("watch=true") {
            let list = json!({"kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": then}, "items": []});
            return Some(([(header::CONTENT_TYPE, "application/json")], list.to_string()).into_response());
        }
        sender.send(query.to_owned()).ok()?;
        let (events, body) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let event = r#"{"type": "MODIFIED", "object": {"metadata": {"name": "payment", "resourceVersion": "12"}}}"#;
            events.send(Ok::<_, std::io::Error>(Bytes::from(format!("{event}\n")))).ok();
            // One that ended at once would not be taken for a watch.
            sleep(Duration::from_millis(1_100)).await;
        });
        let body = futures_util::stream::unfold(body, async |mut body| Some((body.recv().await?, body)));
        Some(Body::from_stream(body).into_response())
    })
    .await;
    (client, watched)
}

#[tokio::test]
async fn a_watch_that_has_ended_goes_on_where_it_was() {
    let (client, mut watched) = ending_watches("12").await;
    let listening = tokio::spawn(told_of_namespaces(client, 2));
    for version in ["9", "12"] {
        let query = timeout(PATIENCE, watched.recv()).await.expect("it is watched").expect("the server goes on");
        assert!(query.contains(&format!("resourceVersion={version}")), "{query}");
    }
    listening.abort();
}

#[tokio::test]
async fn an_api_server_that_is_less_far_after_a_watch_is_listed_anew() {
    let (client, _watched) = ending_watches("11").await;
    let told = timeout(PATIENCE, told_of_namespaces(client, 2)).await.expect("it is listed anew");
    assert_eq!(told, ["Listing", "Changed", "Synced", "Changed", "Listing", "Changed", "Synced"]);
}

#[tokio::test]
async fn a_kind_is_not_installed_only_if_the_api_server_says_so() {
    let group = |name: &str, version: &str| {
        let version = json!({"groupVersion": format!("{name}/{version}"), "version": version});
        json!({"name": name, "versions": [version]})
    };
    let groups = |groups: &[Value]| ("apis", json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}));
    let resources = json!({"kind": "APIResourceList", "groupVersion": "extensions.istio.io/v1alpha1", "resources": []});
    let plugins = Watched::Emitted(mcwan_core::emit::object::Kind::WasmPlugin);
    let exports = Watched::ServiceExport;
    let table = [
        (plugins, vec![], "Failed", "nothing is found: it is somebody else who answers"),
        (plugins, vec![groups(&[group("apps", "v1")])], "NotInstalled", "there is no such group"),
        (
            plugins,
            vec![groups(&[group("extensions.istio.io", "v1alpha1")]), ("v1alpha1", resources)],
            "NotInstalled",
            "the group has no such kind",
        ),
        (plugins, vec![groups(&[group("extensions.istio.io", "v1alpha1")])], "Failed", "the group is not found"),
        (Watched::Namespace, vec![groups(&[group("apps", "v1")])], "Failed", "every API server has it"),
        (exports, vec![], "Failed", "nothing is found: it is somebody else who answers"),
        (exports, vec![groups(&[])], "NotInstalled", "there is no such group"),
    ];
    for (asked, lists, expected, message) in table {
        let client = serving(lists).await;
        let mut watches = Watches::start(&Source::new(client.clone(), client, "own"), FrontEnds::default());
        let found = loop {
            let event = timeout(PATIENCE, watches.next()).await.expect("it is told").expect("the watches go on");
            match event {
                WatchEvent::NotInstalled { kind } if kind == asked => break "NotInstalled",
                WatchEvent::Failed { kind, .. } if kind == asked => break "Failed",
                _ => {}
            }
        };
        assert_eq!(found, expected, "{message}");
    }
}
