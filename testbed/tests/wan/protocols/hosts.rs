//! Many hosts on one connection.

use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::header::HOST;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mcwan_testbed::echo::{ECHO_HEADER, NAME_HEADER, Seen};

use super::services::{CHECK, DESK_GRPC, DESK_HTTP, LINE_MIRROR, connect, ensure_spoken, gateway};
use crate::scene::{HIGH, LOW, Scene, mk_request};

/// How often every request is sent.
const ROUNDS: usize = 5;

/// What is asked, and what comes of it.
#[derive(Clone, Copy, Debug)]
struct Case {
    host: &'static str,
    path: &'static str,
    status: u16,
    /// The port of its tier.
    tier: Option<u16>,
    /// The Service that answers.
    answerer: &'static str,
}

/// Hosts of the two services, both on port 8080, of others, and of nobody.
const CASES: [Case; 11] = [
    mk_case("desk.talk:8080", "/high/1", 200, Some(HIGH.1), "desk"),
    mk_case("line.talk:8080", "/low/2", 200, Some(LOW.1), "line"),
    mk_case("desk-clusterset.talk.svc.cluster.local:8080", "/low/3", 200, Some(LOW.1), "desk"),
    mk_case("line.talk.svc.clusterset.local", "/high/4", 200, Some(HIGH.1), "line"),
    mk_case("desk", "/other", 403, None, ""),
    mk_case("DESK.talk.svc", "/high/5", 200, Some(HIGH.1), "desk"),
    mk_case("line", "/other", 403, None, ""),
    mk_case("nobody.talk:8080", "/high/6", 404, None, ""),
    mk_case("desk.talk.svc.cluster.local", "/low/7", 200, Some(LOW.1), "desk"),
    mk_case("line.talk:8080", "/desk/9", 200, Some(LOW.1), "desk"),
    mk_case("line-clusterset.talk:8080", "/high/8", 200, Some(HIGH.1), "line"),
];

const fn mk_case(
    host: &'static str,
    path: &'static str,
    status: u16,
    tier: Option<u16>,
    answerer: &'static str,
) -> Case {
    Case { host, path, status, tier, answerer }
}

pub(super) async fn a_service_has_two_ports(scene: &Scene) -> Result<()> {
    let http = gateway(scene, "desk", DESK_HTTP).await?;
    let answer = scene.client.send(http, &mk_request("GET", "desk.talk:8080", "/high")).await?;
    let seen = answer.seen().context("no echo answers")?;
    ensure!(seen.port == 9080, "port {} of the pod answers", seen.port);
    ensure!(seen.authority == "desk.talk.svc.cluster.local", "it is called {}", seen.authority);
    let left: Vec<_> = seen.headers.iter().filter(|(name, _)| name.starts_with("x-mcwan")).collect();
    ensure!(left.is_empty(), "it sees {left:?}");
    // The listener tells the port, whatever the host says, and each port has the rules of another route.
    let grpc = gateway(scene, "desk", DESK_GRPC).await?;
    for (gateway, path, is_refused) in [(http, CHECK, true), (grpc, "/high", true), (grpc, CHECK, false)] {
        let answer = scene.client.send(gateway, &mk_request("GET", "desk.talk:8080", path)).await?;
        ensure!((answer.status == 403) == is_refused, "{path} is answered with {} on {gateway}", answer.status);
        ensure!(answer.seen().is_none(), "the other port's server answers");
    }
    Ok(())
}

pub(super) async fn one_connection_serves_many_hosts(scene: &Scene) -> Result<()> {
    let stream = connect(scene, "line", LINE_MIRROR).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    for case in std::iter::repeat_n(CASES, ROUNDS).flatten() {
        let before = scene.wan.traffic();
        let request = Request::get(case.path).header(HOST, case.host).body(Empty::<Bytes>::new())?;
        sender.ready().await.context("the connection was closed")?;
        ensure_case(&case, sender.send_request(request).await?).await?;
        ensure_spoken(&scene.wan, &before, case.tier, &format!("{case:?}"))?;
    }
    drop(sender);
    Ok(connection.await??)
}

pub(super) async fn http_2_serves_many_hosts_at_a_time(scene: &Scene) -> Result<()> {
    let stream = connect(scene, "line", LINE_MIRROR).await?;
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let ask = async |case: Case| {
        let uri = format!("http://{}{}", case.host, case.path);
        let request = Request::get(uri).body(Empty::<Bytes>::new())?;
        ensure_case(&case, sender.clone().send_request(request).await?).await
    };
    // One after the other, as only then a tier is one request's.
    for case in CASES {
        let before = scene.wan.traffic();
        ask(case).await?;
        ensure_spoken(&scene.wan, &before, case.tier, &format!("{case:?} by HTTP/2"))?;
    }
    try_join_all(std::iter::repeat_n(CASES, ROUNDS).flatten().map(ask)).await?;
    drop(sender);
    Ok(connection.await??)
}

/// The answer is what is expected.
async fn ensure_case(case: &Case, answer: Response<Incoming>) -> Result<()> {
    let (head, body) = answer.into_parts();
    body.collect().await?;
    ensure!(head.status == case.status, "{case:?} answers {}", head.status);
    let name = head.headers.get(NAME_HEADER).map(|name| name.to_str()).transpose()?.unwrap_or_default();
    let expected = format!("cluster-1/talk/{}-", case.answerer);
    ensure!(case.answerer.is_empty() == name.is_empty(), "{case:?} is answered by {name:?}");
    ensure!(name.is_empty() || name.starts_with(&expected), "{case:?} is answered by {name}");
    if case.answerer == "desk" {
        let seen: Seen = serde_json::from_slice(head.headers.get(ECHO_HEADER).context("no echo")?.as_bytes())?;
        ensure!(seen.path == case.path, "{case:?} arrives as {}", seen.path);
        ensure!(seen.authority == "desk.talk.svc.cluster.local", "{case:?} arrives at {}", seen.authority);
    }
    Ok(())
}
