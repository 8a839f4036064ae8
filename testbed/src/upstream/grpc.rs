//! A real gRPC server with real services: health checks (unary, and a stream of answers) and reflection (streams both
//! ways).

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, anyhow};
use hyper::header::HeaderValue;
use tokio::task::AbortHandle;
use tokio::time::interval;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tower::util::MapResponseLayer;

use crate::echo::NAME_HEADER;

/// The name of a service whose health turns again and again, for those who watch it.
pub const FLAPPING: &str = "flapping";

/// How often it turns.
const TURN: Duration = Duration::from_millis(50);

/// A gRPC server on one port. It takes no more connections when this is dropped.
#[derive(Debug)]
pub struct GrpcServer {
    serving: AbortHandle,
}

impl GrpcServer {
    /// Starts to listen, and says its name with every answer.
    ///
    /// # Errors
    /// The address cannot be listened on, or the name is none for a header.
    pub async fn start(address: SocketAddr, name: &str) -> Result<Self> {
        let name = HeaderValue::try_from(name)?;
        let incoming = TcpIncoming::bind(address).map_err(|error| anyhow!("cannot listen on {address}: {error}"))?;
        let (reporter, health) = tonic_health::server::health_reporter();
        reporter.set_service_status(FLAPPING, ServingStatus::Serving).await;
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()?;
        let named = MapResponseLayer::new(move |mut response: http::Response<_>| {
            response.headers_mut().insert(NAME_HEADER, name.clone());
            response
        });
        let server = Server::builder().layer(named).add_service(health).add_service(reflection);
        let serving = tokio::spawn(async move {
            tokio::select! {
                // It ends where it cannot listen any more: its clients see that.
                _ = server.serve_with_incoming(incoming) => {}
                () = turn(reporter) => {}
            }
        });
        Ok(Self { serving: serving.abort_handle() })
    }
}

impl Drop for GrpcServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Turns the health of [`FLAPPING`] until nobody waits for it any more.
async fn turn(reporter: HealthReporter) {
    let mut turns = interval(TURN);
    loop {
        for status in [ServingStatus::Serving, ServingStatus::NotServing] {
            turns.tick().await;
            reporter.set_service_status(FLAPPING, status).await;
        }
    }
}
