//! What can go wrong with a watch.

use kube::core::Status;
use kube::runtime::watcher;
use tokio::time::error::Elapsed;

/// What went wrong with a watch. It is tried again all the same.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Our rights do not suffice. What is there is unknown.
    #[error("not allowed to list and watch: {0}")]
    Forbidden(String),
    /// The API server refuses for another reason.
    #[error("the API server answers {code}: {message}")]
    Refused {
        /// The HTTP status.
        code: u16,
        /// What it says.
        message: String,
    },
    /// The registry does not have the kind. What is there is unknown.
    #[error("the kind is not installed: prepare the registry with `mcwan registry init`")]
    NotPrepared,
    /// The API server did not answer in time.
    #[error("the API server does not answer in time")]
    Timeout,
    /// There is no connection to the API server, or no sense in what it says.
    #[error(transparent)]
    Other(watcher::Error),
}

impl WatchError {
    /// Whether the kind is not there at all.
    pub(super) fn is_not_installed(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// Whether a watch cannot go on from where it was, so that it takes a new list: what the API server answers to a
    /// version that it has never had, or no longer has. That it is busy or away passes.
    pub(super) fn is_beyond_recovery(&self) -> bool {
        match self {
            Self::Refused { code, message } => {
                (*code < 500 && *code != 429) || message.contains("Too large resource version")
            }
            Self::Forbidden(_) | Self::NotPrepared => true,
            Self::Timeout | Self::Other(_) => false,
        }
    }
}

impl From<watcher::Error> for WatchError {
    fn from(error: watcher::Error) -> Self {
        match error {
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            | watcher::Error::WatchFailed(kube::Error::Api(status))
            | watcher::Error::WatchError(status) => match *status {
                Status { code: 403, message, .. } => Self::Forbidden(message),
                Status { code, message, .. } => Self::Refused { code, message: message.trim().to_owned() },
            },
            error => Self::Other(error),
        }
    }
}

impl From<kube::Error> for WatchError {
    fn from(error: kube::Error) -> Self {
        watcher::Error::InitialListFailed(error).into()
    }
}

impl From<Elapsed> for WatchError {
    fn from(_: Elapsed) -> Self {
        Self::Timeout
    }
}
