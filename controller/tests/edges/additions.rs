//! What others have added to an object of ours, and what is sent to take it away.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use kube::{Client, Config};
use mcwan::apply::Applier;
use mcwan::watch::Source;
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::snapshot::Key;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

/// The `ConfigMap` of a gateway as the API server has it; with a key that somebody else has added.
fn mk_config_map(version: &str, is_added: bool) -> Value {
    let entry = |manager: &str, operation: &str, key: &str| {
        let fields = json!({"f:data": {format!("f:{key}"): {}}, "f:metadata": {"f:labels": {}}});
        json!({"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields})
    };
    let (mut fields, mut data) = (vec![entry("mcwan", "Apply", "deployment")], json!({"deployment": "{}"}));
    if is_added {
        fields.push(entry("kubectl-edit", "Update", "service"));
        data["service"] = "{}".into();
    }
    let labels = json!({"app.kubernetes.io/managed-by": "mcwan"});
    let metadata = json!({"name": "mcwan-egress", "namespace": "secure", "uid": "u", "resourceVersion": version,
        "labels": labels, "managedFields": fields});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

#[tokio::test]
async fn what_an_apply_leaves_of_others_is_taken_away() {
    mcwan::module::use_ring();
    let sent: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
    let log = Arc::clone(&sent);
    let answer = move |method: Method, headers: HeaderMap, body: String| async move {
        assert_eq!(method, Method::PATCH);
        let form = headers[header::CONTENT_TYPE].to_str().expect("a text").to_owned();
        let is_apply = form.contains("apply-patch");
        log.lock().expect("a log").push((form, serde_json::from_str(&body).expect("JSON")));
        let object = mk_config_map(if is_apply { "7" } else { "8" }, is_apply);
        let answer: Response = ([(header::CONTENT_TYPE, "application/json")], object.to_string()).into_response();
        answer
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let server = axum::serve(listener, Router::new().fallback(answer));
    tokio::spawn(async move { server.await });
    let client = Client::try_from(Config::new(format!("http://{address}").parse().expect("a URI"))).expect("a client");
    let source = Source::new(client.clone(), client, "own");
    let (_leading, is_leading) = watch::channel(true);
    let applier = Applier::new(&source, is_leading);
    let id = ObjectId { kind: Kind::ConfigMap, key: Key::new("secure", "mcwan-egress") };
    let metadata = json!({"name": "mcwan-egress", "namespace": "secure"});
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"deployment": "{}"}});
    let live = applier.apply(Object { id, body }, Some("u")).await.expect("it is written");
    assert!(live.is_ours() && !live.has_additions && live.version == 8, "{live:?}");
    let sent = sent.lock().expect("a log");
    let [(_, _), (form, patch)] = &sent[..] else { panic!("an apply and a patch, not {sent:?}") };
    assert_eq!(form, "application/merge-patch+json");
    let expected = json!({"metadata": {"resourceVersion": "7"}, "data": {"deployment": "{}", "service": null}});
    assert_eq!(patch, &expected, "of the state that was seen, and nothing else");
}
