//! HTTP with bounds: in size, in time, in whom it trusts.

use std::path::Path;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Client, RequestBuilder, StatusCode, Url};
use rustls::crypto::ring;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::{MAX_BYTES, ModuleError};

/// Redirects in a row, as many as clients usually follow.
const REDIRECTS: usize = 10;
/// To connect: a registry that is far away is reached within a second, also where the first packet gets lost (RFC 6298, 2).
const CONNECT: Duration = Duration::from_secs(5);
/// Between two pieces of an answer: who sends nothing for so long has failed, however large the rest is.
const READ: Duration = Duration::from_secs(10);

/// Lets this process's TLS use the same cryptography as the client of the API server. To be called before
/// a `reqwest` client is made; once more does no harm.
pub fn use_ring() {
    // An error says that somebody has chosen before.
    let _ = ring::default_provider().install_default();
}

/// A client that trusts the system's certificate authorities, Mozilla's (a controller's image may have no
/// system), and those in this file.
pub(super) fn client(authorities: Option<&Path>) -> Result<Client, ModuleError> {
    use_ring();
    let unusable =
        |error: &dyn std::error::Error| ModuleError::Credentials(format!("certificate authorities: {error}"));
    let mozilla = TLS_SERVER_ROOT_CERTS.iter().map(|certificate| Certificate::from_der(certificate));
    let mut trusted = mozilla.collect::<Result<Vec<_>, _>>().map_err(|error| unusable(&error))?;
    if let Some(file) = authorities {
        let pem = std::fs::read(file).map_err(|error| unusable(&error))?;
        trusted.extend(Certificate::from_pem_bundle(&pem).map_err(|error| unusable(&error))?);
    }
    let client = Client::builder().connect_timeout(CONNECT).read_timeout(READ).tls_certs_merge(trusted);
    let client = client.redirect(Policy::custom(follow));
    client.user_agent(concat!("mcwan/", env!("CARGO_PKG_VERSION"))).build().map_err(|error| unusable(&error))
}

/// Follows redirects, but not from TLS to plain HTTP: a login is taken off the request only where host or port differ.
fn follow(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let is_downgrade = attempt.previous().last().is_some_and(|from| from.scheme() == "https");
    if is_downgrade && attempt.url().scheme() != "https" {
        attempt.error("it redirects from TLS to plain HTTP")
    } else if attempt.previous().len() > REDIRECTS {
        attempt.error("it redirects without end")
    } else {
        attempt.follow()
    }
}

/// The answer to a request.
pub(super) struct Response {
    /// Where it is from: another place than was asked, where that redirects.
    url: Url,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

/// Sends a request; `name` is what errors call it.
pub(super) async fn send(request: RequestBuilder, name: &str) -> Result<Response, ModuleError> {
    let failed = |error: reqwest::Error| ModuleError::fetch_failed(&name, &error.without_url());
    let mut response = request.send().await.map_err(failed)?;
    let (url, status, headers) = (response.url().clone(), response.status(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(failed)? {
        if body.len() + piece.len() > MAX_BYTES {
            return Err(ModuleError::TooLarge(name.to_owned()));
        }
        body.extend_from_slice(&piece);
    }
    Ok(Response { url, status, headers, body })
}

impl Response {
    /// Whether who is asked at `url` gives it: the same host, on the same port.
    pub(super) fn is_from(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|asked| asked.origin() == self.url.origin())
    }

    /// The body of an answer that is none of an error.
    pub(super) fn success(self, url: &str) -> Result<Vec<u8>, ModuleError> {
        match self.status {
            StatusCode::OK => Ok(self.body),
            StatusCode::NOT_FOUND => Err(ModuleError::NotFound(url.to_owned())),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(ModuleError::Unauthorized(url.to_owned())),
            status => Err(ModuleError::FetchFailed { url: url.to_owned(), why: status.to_string() }),
        }
    }
}
