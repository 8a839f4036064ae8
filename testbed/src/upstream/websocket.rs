//! A server that sends back each message.

use std::net::SocketAddr;

use anyhow::Result;
use futures_util::{SinkExt, StreamExt};
use hyper::header::HeaderValue;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use super::connections::Connections;
use crate::echo::NAME_HEADER;

/// A WebSocket server on one port.
#[derive(Debug)]
pub struct WebSocketServer {
    _connections: Connections,
}

impl WebSocketServer {
    /// Starts to listen, and says its name as it agrees to the upgrade.
    ///
    /// # Errors
    /// The address cannot be listened on, or the name is none for a header.
    pub async fn start(address: SocketAddr, name: String) -> Result<Self> {
        let name = HeaderValue::try_from(name)?;
        let listener = TcpListener::bind(address).await?;
        let connections = Connections::accept(listener, move |stream| serve(stream, name.clone()));
        Ok(Self { _connections: connections })
    }
}

async fn serve(stream: TcpStream, name: HeaderValue) {
    #[expect(clippy::result_large_err, reason = "the library's callback is so")]
    let agree = |_: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        response.headers_mut().insert(NAME_HEADER, name);
        Ok(response)
    };
    // A connection that breaks is a matter of its client.
    let Ok(mut socket) = accept_hdr_async(stream, agree).await else { return };
    while let Some(Ok(message)) = socket.next().await {
        // The library answers the others itself.
        if (message.is_text() || message.is_binary()) && socket.send(message).await.is_err() {
            return;
        }
    }
}
