//! Which Secrets may be read, as an API server says.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use kube::{Client, Config};
use mcwan::readable_secrets::{ReadableSecrets, Waits};
use mcwan_core::snapshot::Key;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(30);
const WAITS: Waits = Waits { period: Duration::from_millis(20), patience: Duration::from_mins(10) };

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
    /// It does not answer for the Secrets of these namespaces, of which so many questions wait, and at most did.
    silent: BTreeSet<&'static str>,
    waiting: usize,
    most_waiting: usize,
}

async fn serving(server: Arc<watch::Sender<Server>>) -> Client {
    mcwan::module::use_ring();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let answer = async move |body: String| {
        wait(&server, &body).await;
        answer(&server, &body)
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
    let mut config = Config::new(format!("http://{address}").parse().expect("a URI"));
    config.default_retry = false; // as the controller has it
    Client::try_from(config).expect("a client")
}

/// A question that waits, for as long as who asks does.
struct Waiting<'s>(&'s watch::Sender<Server>);

impl<'s> Waiting<'s> {
    fn new(server: &'s watch::Sender<Server>) -> Self {
        server.send_modify(|server| {
            server.waiting += 1;
            server.most_waiting = server.most_waiting.max(server.waiting);
        });
        Self(server)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|server| server.waiting -= 1);
    }
}

/// Waits while it is silent.
async fn wait(server: &watch::Sender<Server>, body: &str) {
    let review: Value = serde_json::from_str(body).expect("a review");
    let namespace = review["spec"]["resourceAttributes"]["namespace"].as_str().unwrap_or_default();
    let is_silent = |server: &Server| server.silent.contains(namespace);
    if is_silent(&server.borrow()) {
        let _waits = Waiting::new(server);
        drop(server.subscribe().wait_for(|server| !is_silent(server)).await);
    }
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
    let mut secrets = ReadableSecrets::start(serving(Arc::clone(&server)).await, WAITS);
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
async fn answers_that_do_not_come_hold_up_nobody_else() {
    let silent = BTreeSet::from(["hushed", "mute", "quiet"]);
    let of_silent = |count: usize| {
        let names = move |namespace| (0..count).map(move |number| Key::new(namespace, format!("s{number}")));
        ["hushed", "mute", "quiet"].into_iter().flat_map(names)
    };
    let server = Arc::new(watch::channel(Server { silent, ..Server::default() }).0);
    let mut secrets = ReadableSecrets::start(serving(Arc::clone(&server)).await, WAITS);
    secrets.ask(keys(&["a"]));
    assert_eq!(next(&mut secrets).await, "a-");
    // Asked one after the other, they would take hours.
    secrets.ask(of_silent(1_000).chain(keys(&["a", "b"])).collect());
    assert_eq!(next(&mut secrets).await, "a-b-", "of one that is named as they are");
    server.send_modify(|server| server.granted = keys(&["a"]));
    assert_eq!(next(&mut secrets).await, "a+b-", "of one that was named before");
    secrets.ask(of_silent(1_000).chain(keys(&["a", "b", "c"])).collect());
    assert_eq!(next(&mut secrets).await, "a+b-c-", "of one that is named later");
    let most = server.borrow().most_waiting;
    assert!(most < 50, "a few of each namespace are under way, and there is room for others: {most}");
}

#[tokio::test]
async fn the_first_answers_are_told_together_unless_some_do_not_come() {
    let silent = || Server { silent: BTreeSet::from(["mute"]), ..Server::default() };
    let both = || keys(&["a"]).into_iter().chain([Key::new("mute", "z")]).collect();
    let server = Arc::new(watch::channel(silent()).0);
    let mut secrets = ReadableSecrets::start(serving(Arc::clone(&server)).await, WAITS);
    secrets.ask(both());
    // It is asked again, so the first answer has come.
    let mut asked = server.subscribe();
    let are_asked = timeout(PATIENCE, asked.wait_for(|server| server.asked > 1 && server.waiting == 1)).await.is_ok();
    assert!(are_asked, "both are asked");
    server.send_modify(|server| server.silent.clear());
    assert_eq!(next(&mut secrets).await, "z-a-", "nothing is told before");

    let server = Arc::new(watch::channel(silent()).0);
    let waits = Waits { patience: Duration::from_millis(200), ..WAITS };
    let mut secrets = ReadableSecrets::start(serving(Arc::clone(&server)).await, waits);
    secrets.ask(both());
    assert_eq!(next(&mut secrets).await, "z-a-", "what is not known for long may not be read");
    server.send_modify(|server| (server.granted, server.silent) = (both(), BTreeSet::new()));
    while next(&mut secrets).await != "z+a+" {}
}

#[tokio::test]
async fn where_nothing_is_named_nobody_is_asked() {
    let server = Arc::new(watch::channel(Server::default()).0);
    let mut secrets = ReadableSecrets::start(serving(Arc::clone(&server)).await, WAITS);
    secrets.ask(BTreeSet::new());
    assert_eq!(next(&mut secrets).await, "", "it is told at once");
    assert_eq!(server.borrow().asked, 0);
}
