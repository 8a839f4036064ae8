//! What a module did with a request.

use crate::{Headers, Trace};

/// What a module did with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// What it told the host to do next.
    pub action: Action,
    /// The request headers as they go on.
    pub headers: Headers,
    /// Its answer in place of the upstream's, if it gave one. The first one counts.
    pub reply: Option<LocalReply>,
    /// Whether the host will choose the route anew.
    pub route_cache: RouteCache,
    /// What went over the border.
    pub trace: Trace,
}

/// What a module tells the host to do next with the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It goes on.
    Continue,
    /// It waits. Envoy takes any other number for this, and a local reply too.
    Pause,
}

/// An answer in place of the upstream's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalReply {
    /// HTTP status; not checked.
    pub status: u32,
    /// What an access log shows as response code details.
    pub details: Vec<u8>,
    /// Header lines beside those that the host adds itself.
    pub headers: Headers,
    /// The body.
    pub body: Vec<u8>,
    /// gRPC status; -1 for none.
    pub grpc_status: i32,
}

/// Whether the host will choose the route anew, and from which headers.
///
/// Only the foreign function `clear_route_cache` counts here. Envoy also clears the cache by itself
/// where a module of ABI 0.2.1 or older changes a header; a module that relies on that is bound to
/// its ABI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RouteCache {
    /// It was not cleared.
    #[default]
    Kept,
    /// It was cleared, and a header changed afterwards: the route may be of the headers as they
    /// were before.
    ClearedTooEarly,
    /// It was cleared, and no header changed afterwards: the route is of [`Effects::headers`].
    Cleared,
}
