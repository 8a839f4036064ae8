//! What listens in pods: an [`Echo`], or what speaks more than a request and an answer.

mod connections;
mod datagrams;
mod grpc;
mod mirror;
mod websocket;

use std::net::SocketAddr;

use anyhow::Result;
use k8s_openapi::api::core::v1::ContainerPort;

pub use datagrams::Datagrams;
pub use grpc::{FLAPPING, GrpcServer};
pub use mirror::Mirror;
pub use websocket::WebSocketServer;

use crate::echo::Echo;

/// What is spoken on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Datagrams of UDP, each answered with the name of who answers.
    Datagrams,
    /// HTTP/1.1, answered with what was seen.
    Echo,
    /// gRPC.
    Grpc,
    /// HTTP/1.1, answered with the body that came.
    Mirror,
    /// WebSocket, answered message by message.
    WebSocket,
}

/// What listens on a port. It ends when this is dropped.
#[derive(Debug)]
pub enum Upstream {
    /// See [`Protocol::Datagrams`].
    Datagrams(Datagrams),
    /// See [`Protocol::Echo`].
    Echo(Echo),
    /// See [`Protocol::Grpc`].
    Grpc(GrpcServer),
    /// See [`Protocol::Mirror`].
    Mirror(Mirror),
    /// See [`Protocol::WebSocket`].
    WebSocket(WebSocketServer),
}

impl Protocol {
    /// What a container's port stands for, by its name where it is one of TCP: that of a protocol, or else an echo.
    pub fn of_port(port: &ContainerPort) -> Self {
        match port.name.as_deref() {
            _ if port.protocol.as_deref() == Some("UDP") => Self::Datagrams,
            Some("grpc") => Self::Grpc,
            Some("mirror") => Self::Mirror,
            Some("websocket") => Self::WebSocket,
            Some(_) | None => Self::Echo,
        }
    }

    /// Starts to listen. The answers say the name, those of HTTP in [`NAME_HEADER`](crate::echo::NAME_HEADER).
    ///
    /// # Errors
    /// The address cannot be listened on, most often because another program does.
    pub async fn listen(self, address: SocketAddr, name: String) -> Result<Upstream> {
        Ok(match self {
            Self::Datagrams => Upstream::Datagrams(Datagrams::start(address, name).await?),
            Self::Echo => Upstream::Echo(Echo::start_as(address, name).await?),
            Self::Grpc => Upstream::Grpc(GrpcServer::start(address, &name).await?),
            Self::Mirror => Upstream::Mirror(Mirror::start(address, name).await?),
            Self::WebSocket => Upstream::WebSocket(WebSocketServer::start(address, name).await?),
        })
    }
}
