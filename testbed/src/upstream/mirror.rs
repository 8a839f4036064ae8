//! A server that sends back what it is sent, while it comes.

use std::convert::Infallible;
use std::net::SocketAddr;

use anyhow::Result;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::connections::Connections;
use crate::echo::NAME_HEADER;

/// An HTTP/1.1 server whose answer's body is the request's: no more of it than is under way is ever here.
#[derive(Debug)]
pub struct Mirror {
    _connections: Connections,
}

impl Mirror {
    /// Starts to listen, and says its name with every answer.
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
    let answer = service_fn(move |request: Request<Incoming>| {
        let mut response = Response::new(request.into_body());
        response.headers_mut().insert(NAME_HEADER, name.clone());
        async { Ok::<_, Infallible>(response) }
    });
    // A connection that breaks is a matter of its client.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}
