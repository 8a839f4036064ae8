//! A client that sends what it is told to.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderName, HeaderValue};
use hyper::http::response::Parts;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::echo::{ECHO_HEADER, NAME_HEADER, Seen};

/// How long a request may take, from the connection to the last byte.
const DEADLINE: Duration = Duration::from_secs(30);

/// A request without a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The `Host` header; none: it is not sent.
    pub host: Option<Vec<u8>>,
    /// The request's target: path and query, or a whole URL (absolute form), or `*`.
    pub path: String,
    /// More header lines, in this order. Names are sent in title case (`X-Mcwan-Target`), as many
    /// clients do.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The header lines, names in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// The values of the header lines of one name, given in lower case.
    pub fn values<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r [u8]> {
        self.headers.iter().filter(move |line| line.0 == name).map(|line| &*line.1)
    }

    /// The name of the [`Echo`](crate::echo::Echo) that answered: `CLUSTER/NAMESPACE/POD`; none where it has none, or
    /// another answered.
    pub fn echo_name(&self) -> Option<String> {
        Some(String::from_utf8_lossy(self.values(NAME_HEADER).next()?).into_owned())
    }

    /// What the upstream saw; none where no [`Echo`](crate::echo::Echo) answered.
    pub fn seen(&self) -> Option<Seen> {
        let json = self.values(ECHO_HEADER).next()?;
        serde_json::from_slice(json).ok()
    }
}

/// Sends a request over a connection of its own and reads the answer.
///
/// # Errors
/// The request cannot be written in HTTP/1.1, nobody listens, or the answer does not come in time
/// or is not HTTP.
pub async fn send(address: SocketAddr, request: &Request) -> Result<Response> {
    let exchange = async { send_over(TcpStream::connect(address).await?, request).await };
    timeout(DEADLINE, exchange)
        .await
        .map_err(anyhow::Error::new)
        .and_then(|answer| answer)
        .with_context(|| format!("no answer to {} {} from {address}", request.method, request.path))
}

/// The same over a connection that is there, without end: who calls waits as long as he likes.
///
/// # Errors
/// As [`send`].
pub async fn send_over(stream: TcpStream, request: &Request) -> Result<Response> {
    let request = compose(request)?;
    let (mut sender, connection) =
        http1::Builder::new().title_case_headers(true).handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        anyhow::Ok(response(&head, &body.collect().await?.to_bytes()))
    };
    // The connection's future does the reading and writing; it ends with the exchange.
    tokio::pin!(exchange);
    tokio::select! {
        response = &mut exchange => response,
        result = connection => {
            result?;
            exchange.await
        }
    }
}

/// A request as it is sent.
pub(crate) fn compose(request: &Request) -> Result<hyper::Request<Empty<Bytes>>> {
    let mut composed = hyper::Request::builder().method(&*request.method).uri(&request.path).body(Empty::new())?;
    let headers = composed.headers_mut();
    if let Some(host) = &request.host {
        headers.insert(HOST, HeaderValue::from_bytes(host)?);
    }
    for (name, value) in &request.headers {
        headers.append(HeaderName::try_from(name)?, HeaderValue::from_bytes(value)?);
    }
    Ok(composed)
}

/// An answer as it has come.
pub(crate) fn response(head: &Parts, body: &[u8]) -> Response {
    let headers = head.headers.iter();
    Response {
        status: head.status.as_u16(),
        headers: headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect(),
        body: body.to_vec(),
    }
}
