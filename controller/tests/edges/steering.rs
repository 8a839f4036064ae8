//! The steering key as its Secret changes.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use kube::{Client, Config};
use mcwan::steering_secret::{self, SECRET};
use mcwan_core::translate::SteeringKey;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);

/// How often the Secret has changed, and what it holds, if it is there.
type State = (u64, Option<Value>);

/// An API server that has at most this one Secret.
async fn serving(state: Arc<watch::Sender<State>>) -> Client {
    mcwan::module::use_ring();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let answer = async move |method: Method, uri: Uri, body: String| answer(&state, &method, &uri, &body);
    let server = axum::serve(listener, Router::new().fallback(answer));
    tokio::spawn(async move { server.await });
    Client::try_from(Config::new(format!("http://{address}").parse().expect("a URI"))).expect("a client")
}

fn answer(state: &Arc<watch::Sender<State>>, method: &Method, uri: &Uri, body: &str) -> Response {
    let told = |value: &Value| ([(header::CONTENT_TYPE, "application/json")], format!("{value}\n")).into_response();
    let query = uri.query().unwrap_or_default();
    if method == Method::POST {
        let made: Value = serde_json::from_str(body).expect("a Secret");
        state.send_modify(|(version, data)| (*version, *data) = (*version + 1, Some(made["data"].clone())));
        return told(&made);
    }
    if query.contains("watch=true") {
        assert!(query.contains(&format!("fieldSelector=metadata.name%3D{SECRET}")), "{query}: this one alone");
        let seen = state.borrow().0;
        let events = stream::unfold((state.subscribe(), seen), |(mut state, seen)| async move {
            let (version, data) = state.wait_for(|(version, _)| *version != seen).await.ok()?.clone();
            // Where what there is became older, the watch breaks off.
            let what = if data.is_some() { "MODIFIED" } else { "DELETED" };
            let event = json!({"type": what, "object": mk_secret(version, data.as_ref())});
            (version > seen).then(|| (Ok::<_, Infallible>(format!("{event}\n")), (state, version)))
        });
        return Body::from_stream(events).into_response();
    }
    assert!(uri.path().ends_with(SECRET), "{uri}: others' Secrets are theirs");
    let (version, data) = state.borrow().clone();
    match data {
        Some(data) => told(&mk_secret(version, Some(&data))),
        None => (StatusCode::NOT_FOUND, json!({"code": 404, "reason": "NotFound"}).to_string()).into_response(),
    }
}

fn mk_secret(version: u64, data: Option<&Value>) -> Value {
    let metadata = json!({"name": SECRET, "namespace": "ours", "resourceVersion": version.to_string()});
    json!({"kind": "Secret", "apiVersion": "v1", "metadata": metadata, "data": data})
}

fn digest(key: &SteeringKey) -> String {
    key.digest("secure", "payment", "high")
}

#[tokio::test]
async fn the_key_is_followed_as_its_secret_changes() {
    let (state, _) = watch::channel((1, None));
    let state = Arc::new(state);
    let client = serving(Arc::clone(&state)).await;
    let mut keys = steering_secret::follow(client, "ours").await.expect("a key is made");
    let mut known = vec![digest(&keys.borrow_and_update())];
    assert!(state.borrow().1.is_some(), "there was none");
    // `0123456789abcdef`, `too short`, `fedcba9876543210`.
    for (encoded, is_key, message) in [
        (Some("MDEyMzQ1Njc4OWFiY2RlZg=="), true, "another key"),
        (Some("dG9vIHNob3J0"), false, "what is none"),
        (Some("ZmVkY2JhOTg3NjU0MzIxMA=="), true, "a key again"),
        (None, true, "it is gone, and made anew"),
    ] {
        let data = encoded.map(|encoded| json!({"key": encoded}));
        state.send_modify(|(version, known)| (*version, *known) = (*version + 1, data));
        if is_key {
            timeout(PATIENCE, keys.changed()).await.expect(message).expect("it is watched");
            let found = digest(&keys.borrow_and_update());
            assert!(!known.contains(&found), "{message}: it is another one");
            known.push(found);
        }
    }
    // The API server is restored from a backup, and what is said over the watch breaks off.
    let data = json!({"key": "MDEyMzQ1Njc4OWFiY2RlZg=="});
    state.send_modify(|(version, known)| (*version, *known) = (1, Some(data)));
    timeout(PATIENCE, keys.changed()).await.expect("the key of the backup").expect("it is watched");
    assert_eq!(digest(&keys.borrow_and_update()), known[1]);
    assert_eq!(known[1], digest(&"0123456789abcdef".parse().expect("a key")), "the one that somebody wrote");
}
