//! Redirects (Gateway API, `HTTPRequestRedirectFilter`).

use crate::host::{is_label, without_port};
use crate::listener::client_port;
use crate::modifier::ModifierError;
use crate::path::RequestPath;
use crate::request::{HeaderLine, Request};
use crate::rewrite::{PathRewrite, RewriteError};
use crate::wire::{self, HeaderModifier, Scheme};

/// The statuses that a redirect may have.
const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

/// Why a redirect cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RedirectError {
    /// Not a redirect's.
    #[error("status {0} is not a redirect's: want 301, 302, 303, 307 or 308")]
    Status(u16),
    /// Not a host name.
    #[error("{0:?} is not a hostname")]
    Hostname(String),
    /// Not a port.
    #[error("port 0 cannot be redirected to")]
    Port,
    /// Its path.
    #[error(transparent)]
    Path(#[from] RewriteError),
    /// The headers of the answer.
    #[error(transparent)]
    Headers(#[from] ModifierError),
}

/// A checked redirect.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) status: u16,
    scheme: Option<Scheme>,
    hostname: Option<Box<str>>,
    port: Option<u16>,
    path: Option<PathRewrite>,
    headers: HeaderModifier,
}

impl Redirect {
    /// `by_prefix`: whether every match of the rule is by path prefix.
    pub(crate) fn new(redirect: wire::Redirect, by_prefix: bool) -> Result<Self, RedirectError> {
        let wire::Redirect { weight: _, status, scheme, hostname, port, path, headers } = redirect;
        if !STATUSES.contains(&status) {
            return Err(RedirectError::Status(status));
        }
        if let Some(hostname) = hostname.as_ref().filter(|hostname| !hostname.split('.').all(is_label)) {
            return Err(RedirectError::Hostname(hostname.clone()));
        }
        if port == Some(0) {
            return Err(RedirectError::Port);
        }
        headers.check()?;
        let path = path.map(|path| PathRewrite::new(path, by_prefix)).transpose()?;
        Ok(Self { status, scheme, hostname: hostname.map(Into::into), port, path, headers })
    }

    /// The header lines of the answer, `location` among them.
    pub(crate) fn headers<R: Request>(
        &self,
        request: &R,
        path: RequestPath<'_>,
        prefix: usize,
    ) -> Result<Vec<HeaderLine>, R::Error> {
        let mut lines = vec![(b"location".to_vec(), self.location(request, path, prefix)?)];
        self.headers.apply(&mut lines);
        Ok(lines)
    }

    fn location<R: Request>(&self, request: &R, path: RequestPath<'_>, prefix: usize) -> Result<Vec<u8>, R::Error> {
        let scheme = match self.scheme {
            Some(Scheme::Http) => "http",
            Some(Scheme::Https) => "https",
            None => {
                let https = request.scheme()?.is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"https"));
                if https { "https" } else { "http" }
            }
        };
        let authority = request.authority()?.unwrap_or_default();
        let authority = str::from_utf8(&authority).unwrap_or_default();
        let hostname = self.hostname.as_deref().unwrap_or_else(|| without_port(authority));
        let mut location = format!("{scheme}://{hostname}").into_bytes();
        let port = match (self.port, self.scheme) {
            (Some(port), _) => Some(port),
            (None, Some(_)) => None,
            (None, None) => client_port(request)?,
        };
        let well_known = if scheme == "https" { 443 } else { 80 };
        if let Some(port) = port.filter(|port| *port != well_known) {
            location.extend_from_slice(format!(":{port}").as_bytes());
        }
        match &self.path {
            Some(rewrite) => location.extend_from_slice(&rewrite.apply(path, prefix)),
            None => location.extend([path.path, path.query].concat()),
        }
        Ok(location)
    }
}
