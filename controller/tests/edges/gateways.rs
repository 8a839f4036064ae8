//! What is read from gateway pods.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, get};
use mcwan::gateways::GatewayReader;
use mcwan_core::rollout::{GatewayPod, GatewayReport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

const STATS: &str = "istio_agent_wasm_config_conversion_count{result=\"fetch_failure\"} 2\nmcwan_config_revision{} 7\n";

/// Serves each answer at an address of its own, all on one port; returns the pods and the port.
async fn serve(answers: Vec<MethodRouter>) -> (Vec<GatewayPod>, u16) {
    let mut port = 0;
    let mut pods = Vec::new();
    for (host, answer) in (1..).zip(answers) {
        let address = Ipv4Addr::new(127, 0, 0, host);
        let listener = TcpListener::bind((address, port)).await.expect("a free port");
        port = listener.local_addr().expect("an address").port();
        let router = Router::new().route("/stats/prometheus", answer);
        tokio::spawn(async move { axum::serve(listener, router).await });
        pods.push(mk_pod(address));
    }
    (pods, port)
}

/// What pods say, in their order.
async fn reports_of(reader: &GatewayReader, pods: &[GatewayPod]) -> Vec<Option<GatewayReport>> {
    let mut reports = reader.read(pods.to_vec()).await;
    reports.sort_by_key(|(pod, _)| pods.iter().position(|asked| asked == pod));
    reports.into_iter().map(|(_, report)| report).collect()
}

fn mk_pod(address: Ipv4Addr) -> GatewayPod {
    GatewayPod {
        namespace: "secure".into(),
        name: format!("mcwan-egress-{address}").into(),
        address: IpAddr::V4(address),
        is_ready: true,
    }
}

#[tokio::test]
async fn whoever_does_not_answer_is_unknown() {
    let (mut pods, port) = serve(vec![get(STATS), get(StatusCode::SERVICE_UNAVAILABLE), get("")]).await;
    pods.push(mk_pod(Ipv4Addr::new(127, 0, 0, 99)));
    let reports = reports_of(&GatewayReader::new(port).expect("a reader"), &pods).await;
    let reported = GatewayReport { revision: Some(7), module_failures: 2, paths: Vec::new() };
    assert_eq!(reports, [Some(reported), None, Some(GatewayReport::default()), None]);
}

/// An answer without end that counts how often it is asked for and how many bytes of it are taken.
fn endless(asked: &Arc<AtomicUsize>, taken: &Arc<AtomicUsize>) -> MethodRouter {
    let (asked, taken) = (Arc::clone(asked), Arc::clone(taken));
    get(async move || {
        asked.fetch_add(1, Ordering::Relaxed);
        let piece = move || {
            let piece = Bytes::from("endless{} 1\n".repeat(1_000));
            taken.fetch_add(piece.len(), Ordering::Relaxed);
            Some(Ok::<_, std::io::Error>(piece))
        };
        Body::from_stream(futures_util::stream::iter(std::iter::from_fn(piece)))
    })
}

#[tokio::test]
async fn a_pod_that_never_ends_costs_a_mebibyte_and_is_asked_ever_less() {
    let (asked, taken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (pods, port) = serve(vec![endless(&asked, &taken), get(STATS)]).await;
    let reader = GatewayReader::new(port).expect("a reader");
    for _ in 0..10 {
        let reports = reports_of(&reader, &pods).await;
        assert!(matches!(reports.as_slice(), [None, Some(_)]), "{reports:?}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1, "not again so soon");
    let taken = taken.load(Ordering::Relaxed);
    assert!(taken < 16 << 20, "{taken} bytes: a mebibyte, and what buffers on the way hold");
}

#[tokio::test]
async fn a_pod_with_much_to_say_is_asked_for_the_one_number() {
    let much = format!("{STATS}{}", "much{} 1\n".repeat(1 << 18)).replace("mcwan_config_revision", "other");
    let one = get(async |RawQuery(query): RawQuery| match query.as_deref() {
        Some("filter=mcwan.(config.revision|path)") => "mcwan_config_revision{} 7\n",
        _ => "",
    });
    let (pods, port) = serve(vec![get(much)]).await;
    let (_, envoy) = serve(vec![one]).await;
    let reader = GatewayReader::new(port).expect("a reader").with_envoy_port(envoy);
    for _ in 0..2 {
        let report = GatewayReport { revision: Some(7), module_failures: 2, paths: Vec::new() };
        assert_eq!(reports_of(&reader, &pods).await, [Some(report)], "it is no worse for it");
    }
}

#[tokio::test]
async fn what_is_known_of_a_pod_with_much_to_say_stays_where_its_envoy_says_nothing() {
    let much = format!("{STATS}{}", "much{} 1\n".repeat(1 << 18));
    let (pods, port) = serve(vec![get(much)]).await;
    let (_, envoy) = serve(vec![get(StatusCode::SERVICE_UNAVAILABLE)]).await;
    let reader = GatewayReader::new(port).expect("a reader").with_envoy_port(envoy);
    let report = GatewayReport { revision: Some(7), module_failures: 2, paths: Vec::new() };
    assert_eq!(reports_of(&reader, &pods).await, [Some(report)]);
}

#[tokio::test]
async fn no_connection_is_kept_to_a_pod_until_it_is_asked_again() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let reader = GatewayReader::new(port).expect("a reader");
    let asking = tokio::spawn(async move { (reader.read(vec![mk_pod(Ipv4Addr::LOCALHOST)]).await, reader) });
    let (mut connection, _) = listener.accept().await.expect("a connection");
    let (mut asked, mut buffer) = (Vec::new(), [0; 1_024]);
    while !asked.ends_with(b"\r\n\r\n") {
        let read = connection.read(&mut buffer).await.expect("a request");
        asked.extend_from_slice(&buffer[..read]);
    }
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{STATS}", STATS.len());
    connection.write_all(answer.as_bytes()).await.expect("somebody listens");
    let (reports, _reader) = asking.await.expect("it does not panic");
    assert!(matches!(reports.as_slice(), [(_, Some(_))]), "{reports:?}");
    let end = timeout(Duration::from_secs(30), connection.read(&mut buffer)).await.expect("it is closed at once");
    assert_eq!(end.expect("an end"), 0);
}

#[tokio::test]
async fn a_pod_that_never_answers_holds_nobody_up_for_long() {
    let silent = get(async || std::future::pending::<String>().await);
    let (pods, port) = serve(vec![silent, get(STATS)]).await;
    let start = Instant::now();
    let reports = reports_of(&GatewayReader::new(port).expect("a reader"), &pods).await;
    assert!(matches!(reports.as_slice(), [None, Some(_)]), "{reports:?}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// One that waits until all others were asked, of more than are asked at a time.
#[tokio::test]
async fn a_slow_pod_keeps_no_other_of_its_namespace_from_being_asked() {
    let asked = Arc::new(Semaphore::new(0));
    let others = 8;
    let waiting = Arc::clone(&asked);
    let slow = get(async move || waiting.acquire_many(others).await.map_or("", |_| STATS));
    let quick = (0..others).map(|_| {
        let asked = Arc::clone(&asked);
        get(async move || {
            asked.add_permits(1);
            STATS
        })
    });
    let (pods, port) = serve([slow].into_iter().chain(quick).collect()).await;
    let reports = reports_of(&GatewayReader::new(port).expect("a reader"), &pods).await;
    assert!(reports.iter().all(Option::is_some), "{reports:?}");
}
