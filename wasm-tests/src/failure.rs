//! What can go wrong in a VM.

use wasmtime::Trap;

use crate::{Callback, Trace};

/// A callback that did not end well, with all that went before it in the same operation.
#[derive(Debug, thiserror::Error)]
#[error("{callback} {cause}")]
pub struct Failure {
    /// The callback.
    pub callback: Callback,
    /// What happened in it.
    pub cause: Cause,
    /// What went over the border until then. A Rust module that panics says why in its log.
    pub trace: Trace,
}

/// How a callback did not end well. All but a refused configuration in a canary leave the VM
/// unusable, as in Envoy.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// It returned false: it does not want the configuration.
    #[error("returned false")]
    Refused,
    /// It trapped; for [`Callback::Initialize`] also: the module could not be instantiated.
    #[error("trapped: {0}")]
    Trapped(String),
    /// It ran longer than it may.
    #[error("ran out of fuel")]
    OutOfFuel,
    /// It was not called: the VM is unusable.
    #[error("was not called: the VM has failed before")]
    Unusable,
}

impl From<wasmtime::Error> for Cause {
    fn from(error: wasmtime::Error) -> Self {
        match error.downcast_ref::<Trap>() {
            Some(Trap::OutOfFuel) => Self::OutOfFuel,
            _ => Self::Trapped(error.root_cause().to_string()),
        }
    }
}

/// A failure without its trace.
pub(crate) struct Stop {
    pub(crate) callback: Callback,
    pub(crate) cause: Cause,
}

impl Stop {
    /// The VM is there no more.
    pub(crate) fn gone() -> Self {
        Self { callback: Callback::Initialize, cause: Cause::Unusable }
    }

    pub(crate) fn with(self, trace: Trace) -> Failure {
        Failure { callback: self.callback, cause: self.cause, trace }
    }
}
