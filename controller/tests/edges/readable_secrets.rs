//! Which Secrets may be read, as an API server says.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use kube::{Client, Config};
use mcwan::readable_secrets::ReadableSecrets;
use mcwan_core::snapshot::Key;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);
const PERIOD: Duration = Duration::from_millis(20);

/// How an API server fares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Well,
    Broken,
    /// Somebody whom it asks does not answer.
    Unsure,
}

/// An API server, what it grants, and how often it was asked so far and has told nothing.
#[derive(Debug, Default)]
struct Server {
    state: State,
    granted: BTreeSet<Key>,
    asked: usize,
    failed: usize,
}

async fn serving(server: Arc<watch::Sender<Server>>) -> Client {
    mcwan::module::use_ring();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let answer = async move |body: String| answer(&server, &body);
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    let mut config = Config::new(format!("http://{address}").parse().expect("a URI"));
    config.default_retry = false; // as the controller has it
    Client::try_from(config).expect("a client")
}

fn answer(server: &watch::Sender<Server>, body: &str) -> Response {
    let mut review: Value = serde_json::from_str(body).expect("a review");
    let asked = review["spec"]["resourceAttributes"].clone();
    let text = |field: &str| asked[field].as_str().unwrap_or_default();
    assert_eq!([text("verb"), text("resource"), text("group")], ["get", "secrets", ""]);
    let secret = Key::new(text("namespace"), text("name"));
    let mut state = State::Well;
    server.send_modify(|server| {
        state = server.state;
        server.asked += 1;
        server.failed += usize::from(state != State::Well);
        review["status"] = json!({"allowed": server.granted.contains(&secret)});
    });
    match state {
        State::Well => {}
        State::Broken => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        State::Unsure => review["status"] = json!({"allowed": false, "evaluationError": "no answer"}),
    }
    ([(header::CONTENT_TYPE, "application/json")], review.to_string()).into_response()
}

fn keys(names: &[&str]) -> BTreeSet<Key> {
    names.iter().map(|name| Key::new("secure", *name)).collect()
}

/// What is told next: `a+b-` where `a` may be read, and `b` may not.
async fn next(secrets: &mut ReadableSecrets) -> String {
    let told = timeout(PATIENCE, secrets.next()).await.expect("it is told in time").expect("it goes on");
    let said: Vec<_> = told.iter().flat_map(|(secret, may)| [&*secret.name, if *may { "+" } else { "-" }]).collect();
    said.concat()
}

#[tokio::test]
async fn an_answer_holds_until_there_is_another() {
    let server = Arc::new(watch::channel(Server { state: State::Broken, ..Server::default() }).0);
    let mut secrets = ReadableSecrets::start(serving(Arc::clone(&server)).await, PERIOD);
    for (state, named, first, granted, then, message) in [
        (State::Broken, &["a", "b"][..], None, &["a"][..], "a+b-", "the first answers are waited for"),
        (State::Broken, &["a", "b", "c"], None, &["a", "c"], "a+b-c+", "what was said holds, and a new one waits"),
        (State::Unsure, &["a", "b", "c"], None, &["a", "b", "c"], "a+b+c+", "who knows nothing has not said no"),
        (State::Well, &["a", "b", "c", "d"], Some("a+b+c+d-"), &["b", "c"], "a-b+c+d-", "a grant is taken back"),
        (State::Well, &["c"], Some("c+"), &[], "c-", "what is named no more is forgotten"),
        (State::Well, &[], None, &["a", "b"], "", "nothing is named"),
    ] {
        server.send_modify(|server| (server.state, server.failed) = (state, 0));
        secrets.ask(keys(named));
        if let Some(first) = first {
            assert_eq!(next(&mut secrets).await, first, "{message}");
        }
        if state != State::Well {
            let mut server = server.subscribe();
            let failed = timeout(PATIENCE, server.wait_for(|server| server.failed > 0)).await;
            assert!(failed.is_ok(), "{message}");
        }
        server.send_modify(|server| (server.state, server.granted) = (State::Well, keys(granted)));
        assert_eq!(next(&mut secrets).await, then, "{message}");
    }
}

#[tokio::test]
async fn where_nothing_is_named_nobody_is_asked() {
    let server = Arc::new(watch::channel(Server::default()).0);
    let mut secrets = ReadableSecrets::start(serving(Arc::clone(&server)).await, PERIOD);
    secrets.ask(BTreeSet::new());
    assert_eq!(next(&mut secrets).await, "", "it is told at once");
    assert_eq!(server.borrow().asked, 0);
}
