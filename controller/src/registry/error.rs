//! What can go wrong between us and the API server.

use std::time::Duration;

use super::{ClusterName, ObjectName};

/// Why the registry is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The API server refuses.
    #[error("{object}: {message}")]
    Refused {
        /// What was asked for.
        object: String,
        /// What the API server says.
        message: String,
    },
    /// The API server does not answer.
    #[error("the API server does not answer: {0}")]
    Unreachable(#[source] kube::Error),
    /// The API server was never prepared.
    #[error("this API server holds no registry, as there is no {missing}: run `mcwan registry init` first")]
    NotPrepared {
        /// What is not there.
        missing: String,
    },
    /// Something did not happen in time.
    #[error("waited {deadline:?} in vain until {what}")]
    Overdue {
        /// What should have happened.
        what: String,
        /// How long it was waited for.
        deadline: Duration,
    },
    /// A cluster could write what is not its own.
    #[error(
        "the API server lets {cluster} write what another cluster publishes, or label itself, so that {cluster} gets no \
         rights: run `mcwan registry init` again, and see whether ValidatingAdmissionPolicy {} and its binding are in \
         force",
        super::POLICY
    )]
    Unguarded {
        /// The cluster.
        cluster: ClusterName,
    },
}

impl RegistryError {
    pub(super) fn new(object: &ObjectName, error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused { object: object.to_string(), message: status.message },
            error => Self::Unreachable(error),
        }
    }
}
