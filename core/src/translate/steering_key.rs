//! The key that keeps clients from forging steering values.

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::target;

/// Bytes of a digest: enough that guessing one by requests is hopeless.
const DIGEST_BYTES: usize = 16;

/// A secret of at least 16 bytes. It does not print itself.
#[derive(Clone, PartialEq, Eq)]
pub struct SteeringKey(Box<[u8]>);

/// A text that is no [`SteeringKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a steering key has at least {} characters", SteeringKey::LEAST_BYTES)]
pub struct SteeringKeyError;

impl SteeringKey {
    const LEAST_BYTES: usize = 16;

    /// A key of random bytes.
    pub fn of_random_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes.into())
    }

    /// The digest over an import and what one of its targets means, in hexadecimal.
    pub fn digest(&self, namespace: &str, name: &str, target: &str) -> String {
        let mut mac = match Hmac::<Sha256>::new_from_slice(&self.0) {
            Ok(mac) => mac,
            Err(error) => unreachable!("HMAC takes keys of any length: {error}"),
        };
        for part in [namespace, "/", name, "/", target] {
            mac.update(part.as_bytes());
        }
        let digest = mac.finalize().into_bytes();
        hex::encode(digest.get(..DIGEST_BYTES).unwrap_or_default())
    }

    /// Whether a steering value is one that an import has, or had, for a target whose tiers are on these ports.
    pub fn made(&self, value: &str, namespace: &str, name: &str, ports: impl Iterator<Item = u16>) -> bool {
        let target = value.rsplit_once('.');
        target.is_some_and(|(target, digest)| self.digest(namespace, name, &target::meaning(target, ports)) == digest)
    }
}

impl FromStr for SteeringKey {
    type Err = SteeringKeyError;

    fn from_str(text: &str) -> Result<Self, SteeringKeyError> {
        if text.len() < Self::LEAST_BYTES {
            return Err(SteeringKeyError);
        }
        Ok(Self(text.as_bytes().into()))
    }
}

impl fmt::Debug for SteeringKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SteeringKey")
    }
}
