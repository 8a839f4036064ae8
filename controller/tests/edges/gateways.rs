//! What is read from gateway pods.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::{MethodRouter, get};
use mcwan::gateways::GatewayReader;
use mcwan_core::rollout::{GatewayPod, GatewayReport};
use tokio::net::TcpListener;

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

fn mk_pod(address: Ipv4Addr) -> GatewayPod {
    GatewayPod {
        namespace: "secure".into(),
        name: format!("mcwan-egress-{address}").into(),
        address: IpAddr::V4(address),
        is_ready: true,
    }
}

#[tokio::test]
async fn reports_are_in_the_order_of_the_pods_and_silence_is_unknown() {
    let (mut pods, port) = serve(vec![get(STATS), get(StatusCode::SERVICE_UNAVAILABLE), get("")]).await;
    pods.push(mk_pod(Ipv4Addr::new(127, 0, 0, 99)));
    let reports = GatewayReader::new(port).expect("a reader").read(pods).await;
    let reports: Vec<_> = reports.into_iter().map(|(_, report)| report).collect();
    let reported = GatewayReport { revision: Some(7), module_failures: 2 };
    assert_eq!(reports, [Some(reported), None, Some(GatewayReport::default()), None]);
}

#[tokio::test]
async fn a_pod_that_never_answers_holds_nobody_up_for_long() {
    let silent = get(async || std::future::pending::<String>().await);
    let (pods, port) = serve(vec![silent, get(STATS)]).await;
    let start = Instant::now();
    let reports = GatewayReader::new(port).expect("a reader").read(pods).await;
    assert!(matches!(reports.as_slice(), [(_, None), (_, Some(_))]), "{reports:?}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
