//! What listens in pods: an [`Echo`], or what speaks more than a request and an answer.

mod connections;
mod grpc;
mod mirror;
mod websocket;

use std::net::SocketAddr;

use anyhow::Result;

pub use grpc::{FLAPPING, GrpcServer};
pub use mirror::Mirror;
pub use websocket::WebSocketServer;

use crate::echo::Echo;

/// What is spoken on a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
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
    /// What the name of a container's port stands for: that of a protocol, or else an echo.
    pub fn of_port(name: Option<&str>) -> Self {
        match name {
            Some("grpc") => Self::Grpc,
            Some("mirror") => Self::Mirror,
            Some("websocket") => Self::WebSocket,
            Some(_) | None => Self::Echo,
        }
    }

    /// Starts to listen. The answers say the name, in [`NAME_HEADER`](crate::echo::NAME_HEADER).
    ///
    /// # Errors
    /// The address cannot be listened on, most often because another program does.
    pub async fn listen(self, address: SocketAddr, name: String) -> Result<Upstream> {
        Ok(match self {
            Self::Echo => Upstream::Echo(Echo::start_as(address, name).await?),
            Self::Grpc => Upstream::Grpc(GrpcServer::start(address, &name).await?),
            Self::Mirror => Upstream::Mirror(Mirror::start(address, name).await?),
            Self::WebSocket => Upstream::WebSocket(WebSocketServer::start(address, name).await?),
        })
    }
}
