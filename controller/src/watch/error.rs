//! What can go wrong with a watch.

use kube::core::Status;
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
    /// A watch that ends as soon as it is begun.
    #[error("the API server ends the watch at once")]
    TooShort,
    /// A list or an event without a version to go on from.
    #[error("the API server does not tell the version of what it has")]
    Unversioned,
    /// There is no connection to the API server, or no sense in what it says.
    #[error(transparent)]
    Other(kube::Error),
}

impl WatchError {
    /// Whether there is nothing where the kind would be.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }
}

impl From<kube::Error> for WatchError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => match *status {
                Status { code: 403, message, .. } => Self::Forbidden(message),
                Status { code, message, .. } => Self::Refused { code, message: message.trim().to_owned() },
            },
            error => Self::Other(error),
        }
    }
}

impl From<Elapsed> for WatchError {
    fn from(_: Elapsed) -> Self {
        Self::Timeout
    }
}
