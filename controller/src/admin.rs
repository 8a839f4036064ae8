//! What the outside may ask of a running controller: whether it lives, whether it is ready, how it does.

mod health;
mod metrics;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use tokio::time::sleep;

pub use health::{Health, IDLE_TURN, NotReady, Stuck};
pub use metrics::Metrics;

/// The media type of what [`Metrics::encode`] writes.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How many connections there are at most. Every pod may open some and say nothing: with one more the oldest is cut, so
/// that whoever asks is answered.
const CONNECTIONS: usize = 64;
/// How long is waited where none can be accepted: the process may have no descriptor left.
const ACCEPT_WAIT: Duration = Duration::from_millis(100);

/// The server of `/livez`, `/readyz` and `/metrics`.
#[derive(Debug)]
pub struct Admin {
    listener: TcpListener,
    router: Router,
}

#[derive(Clone)]
struct Shared {
    health: Arc<Health>,
    metrics: Arc<Metrics>,
}

impl Admin {
    /// Takes the address; connections wait until it is served.
    ///
    /// # Errors
    /// The address cannot be had.
    pub async fn bind(address: SocketAddr, health: Arc<Health>, metrics: Arc<Metrics>) -> io::Result<Self> {
        let router = Router::new()
            .route("/livez", get(livez))
            .route("/readyz", get(readyz))
            .route("/metrics", get(serve_metrics))
            .with_state(Shared { health, metrics });
        let listener = match TcpListener::bind(address).await {
            // Where the kernel has no IPv6, every address is one of IPv4.
            Err(_) if address.ip() == Ipv6Addr::UNSPECIFIED => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await?
            }
            listener => listener?,
        };
        Ok(Self { listener, router })
    }

    /// The address, with the port that the system chose where it was asked to.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is dropped.
    pub async fn serve(self) -> Infallible {
        let mut newest: VecDeque<AbortHandle> = VecDeque::with_capacity(CONNECTIONS);
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                sleep(ACCEPT_WAIT).await;
                continue;
            };
            newest.retain(|connection| !connection.is_finished());
            if newest.len() == CONNECTIONS
                && let Some(oldest) = newest.pop_front()
            {
                oldest.abort();
            }
            let service = TowerToHyperService::new(self.router.clone());
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            newest.push_back(tokio::spawn(connection).abort_handle());
        }
    }
}

async fn livez(State(shared): State<Shared>) -> Response {
    match shared.health.alive(Instant::now()) {
        Ok(()) => "ok\n".into_response(),
        Err(stuck) => (StatusCode::SERVICE_UNAVAILABLE, format!("{stuck}\n")).into_response(),
    }
}

async fn readyz(State(shared): State<Shared>) -> Response {
    match shared.health.ready() {
        Ok(()) => "ok\n".into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")).into_response(),
    }
}

async fn serve_metrics(State(shared): State<Shared>) -> Response {
    match shared.metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, OPEN_METRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
