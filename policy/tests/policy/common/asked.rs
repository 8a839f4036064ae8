//! A request that counts what it is asked for.

use std::borrow::Cow;
use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;

use mcwan_policy::{HeaderLine, Request};

/// A request; what is none is absent.
#[derive(Clone, Default)]
pub(crate) struct Asked {
    pub(crate) method: Option<Vec<u8>>,
    pub(crate) scheme: Option<Vec<u8>>,
    pub(crate) authority: Option<Vec<u8>>,
    pub(crate) port: Option<u16>,
    pub(crate) path: Option<Vec<u8>>,
    pub(crate) headers: Vec<HeaderLine>,
    /// How often each part was asked for.
    pub(crate) counts: Counts,
}

/// How often each part of a request was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) method: Cell<u32>,
    pub(crate) scheme: Cell<u32>,
    pub(crate) authority: Cell<u32>,
    pub(crate) port: Cell<u32>,
    pub(crate) path: Cell<u32>,
    pub(crate) headers: Cell<u32>,
}

/// `GET http://AUTHORITY/PATH` by a listener on port 8080, without headers.
pub(crate) fn get(authority: &str, path: &str) -> Asked {
    Asked {
        method: Some(b"GET".to_vec()),
        scheme: Some(b"http".to_vec()),
        authority: Some(authority.into()),
        port: Some(8080),
        path: Some(path.into()),
        headers: Vec::new(),
        counts: Counts::default(),
    }
}

impl Asked {
    pub(crate) fn with_method(mut self, method: impl Into<Vec<u8>>) -> Self {
        self.method = Some(method.into());
        self
    }

    pub(crate) fn with_scheme(mut self, scheme: &str) -> Self {
        self.scheme = Some(scheme.into());
        self
    }

    pub(crate) fn with_authority(mut self, authority: impl Into<Vec<u8>>) -> Self {
        self.authority = Some(authority.into());
        self
    }

    pub(crate) fn with_port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    pub(crate) fn with_path(mut self, path: impl Into<Vec<u8>>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Adds a header line.
    pub(crate) fn with_header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

impl Request for Asked {
    type Error = Infallible;

    fn authority(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(counted(&self.counts.authority, self.authority.as_deref()))
    }

    fn path(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(counted(&self.counts.path, self.path.as_deref()))
    }

    fn method(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(counted(&self.counts.method, self.method.as_deref()))
    }

    fn scheme(&self) -> Result<Option<Cow<'_, [u8]>>, Infallible> {
        Ok(counted(&self.counts.scheme, self.scheme.as_deref()))
    }

    fn port(&self) -> Result<Option<u16>, Infallible> {
        self.counts.port.update(|count| count + 1);
        Ok(self.port)
    }

    fn headers(&self) -> Result<&[HeaderLine], Infallible> {
        self.counts.headers.update(|count| count + 1);
        Ok(&self.headers)
    }
}

fn counted<'r>(count: &Cell<u32>, part: Option<&'r [u8]>) -> Option<Cow<'r, [u8]>> {
    count.update(|count| count + 1);
    part.map(Cow::Borrowed)
}

impl fmt::Display for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show =
            |part: &Option<Vec<u8>>| part.as_ref().map_or("-".to_owned(), |part| part.escape_ascii().to_string());
        write!(
            formatter,
            "{} {}://{} {}",
            show(&self.method),
            show(&self.scheme),
            show(&self.authority),
            show(&self.path)
        )?;
        for (name, value) in &self.headers {
            write!(formatter, ", {}: {}", name.escape_ascii(), value.escape_ascii())?;
        }
        Ok(())
    }
}

/// A failing law prints its requests: as people read them.
impl fmt::Debug for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self} (port {:?})", self.port)
    }
}
