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
    /// The API server did not answer in time.
    #[error("the API server did not answer in time")]
    Timeout,
    /// Anything else.
    #[error(transparent)]
    Other(watcher::Error),
}

impl WatchError {
    /// Whether the kind is not there at all.
    pub(super) fn is_not_installed(&self) -> bool {
        self.status().is_some_and(Status::is_not_found)
    }

    /// Whether a watch cannot go on from where it was, so that it takes a new list: what the API server answers to a
    /// version that it has never had, or no longer has. That it is busy or away passes.
    pub(super) fn is_beyond_recovery(&self) -> bool {
        let is_passing = |status: &Status| status.code == 429 || status.code >= 500;
        self.status().is_some_and(|status| !is_passing(status) || status.message.contains("Too large resource version"))
    }

    /// What the API server answered.
    fn status(&self) -> Option<&Status> {
        match self {
            Self::Other(
                watcher::Error::InitialListFailed(kube::Error::Api(status))
                | watcher::Error::WatchStartFailed(kube::Error::Api(status))
                | watcher::Error::WatchFailed(kube::Error::Api(status))
                | watcher::Error::WatchError(status),
            ) => Some(status),
            Self::Other(_) | Self::Forbidden(_) | Self::Timeout => None,
        }
    }
}

impl From<watcher::Error> for WatchError {
    fn from(error: watcher::Error) -> Self {
        let error = Self::Other(error);
        match error.status() {
            Some(status) if status.is_forbidden() => Self::Forbidden(status.message.clone()),
            _ => error,
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
