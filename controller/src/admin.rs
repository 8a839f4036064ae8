//! What the outside may ask of a running controller: whether it lives, whether it is ready, how it does.

mod health;
mod metrics;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

pub use health::{Health, IDLE_TURN, NotReady, Stuck};
pub use metrics::Metrics;

/// The media type of what [`Metrics::encode`] writes.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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
    pub async fn serve(self) -> io::Result<()> {
        axum::serve(self.listener, self.router).await
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
