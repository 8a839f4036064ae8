//! Upstreams that answer with what they saw.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use crate::latin1;

/// The response header that holds what the upstream saw, so that an answer to HEAD has it too.
pub const ECHO_HEADER: &str = "x-echo";

/// The request header that asks for a later answer: by this many milliseconds.
pub const DELAY_HEADER: &str = "x-echo-delay";

/// The response header that says which [`Echo`] answered.
pub const NAME_HEADER: &str = "x-echo-name";

/// More header lines than Envoy lets through.
const MAX_HEADERS: usize = 1024;

/// What an upstream saw of a request. Text holds the bytes as [`latin1`] has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The port it came in by.
    pub port: u16,
    /// The `Host` header.
    pub authority: String,
    /// The request's method.
    pub method: String,
    /// The request's target: path and query.
    pub path: String,
    /// All header lines, names in lower case. Lines of one name are together, in their order; names
    /// are in the order in which each came first.
    pub headers: Vec<(String, String)>,
}

/// What the connections of an [`Echo`] share.
#[derive(Clone, Debug)]
struct Server {
    port: u16,
    name: Arc<str>,
    arrivals: Arc<AtomicU64>,
}

/// An HTTP/1.1 server on one port; it ends when this is dropped.
#[derive(Debug)]
pub struct Echo {
    accepting: AbortHandle,
    arrivals: Arc<AtomicU64>,
}

impl Echo {
    /// Starts to listen.
    ///
    /// # Errors
    /// The address cannot be listened on, most often because another program does.
    pub async fn start(address: SocketAddr) -> io::Result<Self> {
        Self::start_as(address, String::new()).await
    }

    /// Starts to listen, and says its name with every answer.
    ///
    /// # Errors
    /// As for [`Echo::start`].
    pub async fn start_as(address: SocketAddr, name: String) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let arrivals = Arc::new(AtomicU64::new(0));
        let server = Server { port: address.port(), name: name.into(), arrivals: Arc::clone(&arrivals) };
        let accepting = tokio::spawn(accept(listener, server));
        Ok(Self { accepting: accepting.abort_handle(), arrivals })
    }

    /// How many requests have come in, answered or not.
    pub fn arrivals(&self) -> u64 {
        self.arrivals.load(Ordering::SeqCst)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Serves every connection; they end with this future.
async fn accept(listener: TcpListener, server: Server) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A failed accept is the connection's misfortune, not ours.
                if let Ok((stream, _)) = accepted {
                    connections.spawn(serve(stream, server.clone()));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, server: Server) {
    let answer = service_fn(|request| {
        server.arrivals.fetch_add(1, Ordering::SeqCst);
        answer(request, &server)
    });
    // A connection that breaks is a matter of its client.
    let _ = http1::Builder::new().max_headers(MAX_HEADERS).serve_connection(TokioIo::new(stream), answer).await;
}

async fn answer(request: Request<Incoming>, server: &Server) -> Result<Response<Full<Bytes>>, Infallible> {
    let seen = Seen {
        port: server.port,
        authority: values(request.headers(), HOST.as_str()).collect(),
        method: request.method().to_string(),
        path: request.uri().to_string(),
        headers: request
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), latin1::text(value.as_bytes())))
            .collect(),
    };
    let delay = values(request.headers(), DELAY_HEADER).next().and_then(|delay| delay.parse().ok());
    // The body is read, so that the connection can be used again.
    let _ = request.into_body().collect().await;
    if let Some(delay) = delay {
        tokio::time::sleep(Duration::from_millis(delay)).await;
    }
    Ok(response(&seen, &server.name))
}

fn response(seen: &Seen, name: &str) -> Response<Full<Bytes>> {
    let json = serde_json::to_string(seen).unwrap_or_default();
    let mut response = Response::new(Full::from(format!("{json}\n")));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Ok(name) = HeaderValue::try_from(name)
        && !name.is_empty()
    {
        response.headers_mut().insert(NAME_HEADER, name);
    }
    match HeaderValue::try_from(json) {
        Ok(json) => {
            response.headers_mut().insert(ECHO_HEADER, json);
        }
        Err(_) => *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
    }
    response
}

fn values(headers: &HeaderMap, name: &str) -> impl Iterator<Item = String> {
    headers.get_all(name).iter().map(|value| latin1::text(value.as_bytes()))
}
