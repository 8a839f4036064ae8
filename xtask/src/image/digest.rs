//! How OCI names content.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The SHA-256 digest of some bytes; prints as `sha256:HEX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Digest {
    hex: String,
}

impl Digest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { hex: hex::encode(Sha256::digest(bytes)) }
    }

    pub(crate) fn hex(&self) -> &str {
        &self.hex
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.hex)
    }
}
