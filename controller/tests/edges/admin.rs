//! What the admin server answers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcwan::admin::{Admin, Health, Metrics};
use reqwest::header::CONTENT_TYPE;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

struct Running {
    address: SocketAddr,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
}

async fn start() -> Running {
    let (health, metrics) = (Arc::new(Health::default()), Arc::new(Metrics::default()));
    let admin = Admin::bind((Ipv4Addr::LOCALHOST, 0).into(), health.clone(), metrics.clone()).await.expect("a port");
    let address = admin.address().expect("an address");
    tokio::spawn(admin.serve());
    Running { address, health, metrics }
}

impl Running {
    /// The status, the media type and the body.
    async fn get(&self, path: &str) -> (u16, String, String) {
        mcwan::module::use_ring();
        let response = reqwest::get(format!("http://{}{path}", self.address)).await.expect("an answer");
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.unwrap_or_default().to_owned();
        (response.status().as_u16(), media_type, response.text().await.expect("a body"))
    }
}

#[tokio::test]
async fn it_lives_before_it_is_ready() {
    let running = start().await;
    assert_eq!(running.get("/livez").await.0, 200);
    let (status, _, body) = running.get("/readyz").await;
    assert_eq!((status, body.as_str()), (503, "the registry has not told everything yet\n"));
    running.health.registry_synced();
    let (status, _, body) = running.get("/readyz").await;
    assert_eq!((status, body.as_str()), (503, "not every watch has synced yet\n"));
    running.health.watches_synced();
    running.health.module_checked();
    assert_eq!(running.get("/readyz").await.0, 200);
    assert_eq!(running.get("/healthz").await.0, 404);
}

#[tokio::test]
async fn it_lives_no_longer_once_its_loop_is_stuck() {
    let running = start().await;
    let now = Instant::now();
    running.health.turned(now.checked_sub(Duration::from_secs(61)).expect("the machine runs for a minute"));
    let (status, _, body) = running.get("/livez").await;
    assert_eq!((status, body.as_str()), (503, "the main loop has not turned for 61 seconds\n"));
    running.health.turned(now);
    assert_eq!(running.get("/livez").await.0, 200);
}

#[tokio::test]
async fn connections_that_say_nothing_keep_nobody_from_being_answered() {
    let running = start().await;
    let mut silent = Vec::new();
    for _ in 0..1_000 {
        silent.push(TcpStream::connect(running.address).await.expect("a connection"));
    }
    assert_eq!(running.get("/livez").await.0, 200);
    let end = timeout(Duration::from_secs(30), silent[0].read(&mut [0])).await.expect("the oldest is cut");
    assert!(!matches!(end, Ok(1)), "and told nothing");
}

#[tokio::test]
async fn metrics_are_open_metrics() {
    let running = start().await;
    running.metrics.leader(true);
    let (status, media_type, body) = running.get("/metrics").await;
    assert_eq!(status, 200);
    assert!(media_type.starts_with("application/openmetrics-text"), "{media_type}");
    assert!(body.contains("mcwan_leader 1\n") && body.ends_with("# EOF\n"), "{body}");
}
