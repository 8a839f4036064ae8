//! The request of the current callback, read from the host piece by piece.

use std::borrow::Cow;
use std::cell::OnceCell;

use mcwan_policy::{HeaderLine, Request};

use crate::host::{self, HostError};

/// Reads each thing once, when it is first asked for.
#[derive(Default)]
pub(crate) struct HostRequest {
    authority: OnceCell<Option<Vec<u8>>>,
    path: OnceCell<Option<Vec<u8>>>,
    method: OnceCell<Option<Vec<u8>>>,
    port: OnceCell<Option<u16>>,
    headers: OnceCell<Vec<HeaderLine>>,
}

impl Request for HostRequest {
    type Error = HostError;

    fn authority(&self) -> Result<Option<Cow<'_, [u8]>>, HostError> {
        cached(&self.authority, ":authority")
    }

    fn path(&self) -> Result<Option<Cow<'_, [u8]>>, HostError> {
        cached(&self.path, ":path")
    }

    fn method(&self) -> Result<Option<Cow<'_, [u8]>>, HostError> {
        cached(&self.method, ":method")
    }

    fn scheme(&self) -> Result<Option<Cow<'_, [u8]>>, HostError> {
        Ok(host::request_header(":scheme")?.map(Cow::Owned))
    }

    fn port(&self) -> Result<Option<u16>, HostError> {
        if let Some(port) = self.port.get() {
            return Ok(*port);
        }
        let port = host::property(&["destination", "port"])?;
        let port = port.and_then(|port| port.try_into().ok()).map(i64::from_le_bytes);
        Ok(*self.port.get_or_init(|| port.and_then(|port| port.try_into().ok())))
    }

    fn headers(&self) -> Result<&[HeaderLine], HostError> {
        if let Some(headers) = self.headers.get() {
            return Ok(headers);
        }
        let headers = host::request_headers()?;
        Ok(self.headers.get_or_init(|| headers))
    }
}

fn cached<'c>(cell: &'c OnceCell<Option<Vec<u8>>>, name: &str) -> Result<Option<Cow<'c, [u8]>>, HostError> {
    if cell.get().is_none() {
        let value = host::request_header(name)?;
        cell.get_or_init(|| value);
    }
    Ok(cell.get().and_then(Option::as_deref).map(Cow::Borrowed))
}
