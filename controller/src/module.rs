//! The filter's module: where it is, and whether a gateway could have it from there.
//!
//! Istio does not say when a module cannot be fetched: it refuses every request. So we fetch it ourselves.

mod binary;
mod check;
mod credentials;
mod http;
mod image;
mod reference;

use std::error::Error;

use mcwan_core::problem::Reason;

pub use check::{ModuleCheck, ModuleStatus};
pub use http::use_ring;
pub use reference::{Digest, DigestError, ModuleRef, ModuleRefError};

use crate::errors::text_of;

/// Bytes of anything that is fetched or unpacked; a module has half a megabyte.
const MAX_BYTES: usize = 16 << 20;

/// Why the module cannot be had, or is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleError {
    /// No answer, or one that says no.
    #[error("{url} cannot be fetched: {why}")]
    FetchFailed {
        /// What was asked for.
        url: String,
        /// What came instead.
        why: String,
    },
    /// The server knows no such thing.
    #[error("{0} does not exist")]
    NotFound(String),
    /// The server does not know us.
    #[error("{0} needs credentials, or others than we have")]
    Unauthorized(String),
    /// It wants a login, and whoever listens would learn it.
    #[error("{0} wants a login, and none is sent over plain HTTP: serve it by TLS")]
    InsecureLogin(String),
    /// The file of credentials cannot be used.
    #[error("the credentials cannot be read: {0}")]
    Credentials(String),
    /// What came is not what the digest names.
    #[error("{url} has the digest {actual}")]
    DigestMismatch {
        /// What was asked for, with the digest that it should have.
        url: String,
        /// The digest that it has.
        actual: Digest,
    },
    /// More than anything that could be the module.
    #[error("{0} is larger than {MAX_BYTES} bytes")]
    TooLarge(String),
    /// It is not the filter, or not in a form that Istio takes.
    #[error("it is not mcwan's filter as Istio takes it: {0}")]
    NotAModule(String),
    /// The filter of another release.
    #[error(
        "the module reads wire version {0}, this controller writes {ours}: give both from one release",
        ours = mcwan_policy::wire::VERSION
    )]
    WireVersionMismatch(u32),
}

impl ModuleError {
    /// The name in conditions, events and metrics.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::FetchFailed { .. } => Reason::FetchFailed,
            Self::NotFound(_) => Reason::NotFound,
            Self::Unauthorized(_) => Reason::Unauthorized,
            Self::InsecureLogin(_) => Reason::InsecureLogin,
            Self::Credentials(_) => Reason::InvalidCredentials,
            Self::DigestMismatch { .. } => Reason::DigestMismatch,
            Self::TooLarge(_) => Reason::TooLarge,
            Self::NotAModule(_) => Reason::NotAModule,
            Self::WireVersionMismatch(_) => Reason::WireVersionMismatch,
        }
    }

    /// Whether it is known what is there, and that no gateway may have it.
    pub const fn is_wrong(&self) -> bool {
        matches!(
            self.reason(),
            Reason::DigestMismatch | Reason::TooLarge | Reason::NotAModule | Reason::WireVersionMismatch
        )
    }

    /// No answer, for these reasons.
    fn fetch_failed(url: &impl ToString, error: &dyn Error) -> Self {
        Self::FetchFailed { url: url.to_string(), why: text_of(error) }
    }
}
