//! The functions that the host calls in a module.

use std::fmt;

/// A function that the host calls in a module. One that the module does not export is not called,
/// as in Envoy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Callback {
    /// Starts the instance, before all else.
    Initialize,
    /// A root context or a request begins.
    ContextCreate,
    /// The VM has started; asked of every root context. False: the configuration is refused.
    VmStart,
    /// A root context gets its configuration. False: the configuration is refused.
    Configure,
    /// The period that a root context asked for has passed.
    Tick,
    /// What the module sent by itself is answered.
    HttpCallResponse,
    /// The request headers are there.
    RequestHeaders,
    /// The request is over and may be logged.
    Log,
    /// A context ends. False: it will call `proxy_done` when it is ready.
    Done,
    /// The context is gone.
    Delete,
}

impl Callback {
    /// The name under which a module exports it.
    pub const fn export(self) -> &'static str {
        match self {
            Self::Initialize => "_initialize",
            Self::ContextCreate => "proxy_on_context_create",
            Self::VmStart => "proxy_on_vm_start",
            Self::Configure => "proxy_on_configure",
            Self::Tick => "proxy_on_tick",
            Self::HttpCallResponse => "proxy_on_http_call_response",
            Self::RequestHeaders => "proxy_on_request_headers",
            Self::Log => "proxy_on_log",
            Self::Done => "proxy_on_done",
            Self::Delete => "proxy_on_delete",
        }
    }
}

impl fmt::Display for Callback {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.export())
    }
}
