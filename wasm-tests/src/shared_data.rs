//! Data that all VMs of a proxy share.

use std::collections::BTreeMap;

use crate::Status;

/// Values by their keys, which every VM can read and write, as Envoy has them for each `vm_id`. They outlive VMs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedData {
    values: BTreeMap<Vec<u8>, Versioned>,
    last: u32,
}

/// A value, and the number of its writing.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Versioned {
    value: Vec<u8>,
    version: u32,
}

impl SharedData {
    /// The value of a key.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<&[u8]> {
        self.versioned(key.as_ref()).map(|(value, _)| value)
    }

    /// All of them in order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.values.iter().map(|(key, versioned)| (key.as_slice(), versioned.value.as_slice()))
    }

    /// Writes a value, whatever there was.
    pub fn set(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) {
        self.last += 1;
        self.values.insert(key.into(), Versioned { value: value.into(), version: self.last });
    }

    /// Takes a value away.
    pub fn remove(&mut self, key: impl AsRef<[u8]>) {
        self.values.remove(key.as_ref());
    }

    /// The value of a key with the number of its writing.
    pub(crate) fn versioned(&self, key: &[u8]) -> Option<(&[u8], u32)> {
        self.values.get(key).map(|versioned| (versioned.value.as_slice(), versioned.version))
    }

    /// Writes a value if that of the key has this number. As in Envoy 0 is any, and a key that is not there can be written
    /// with any number.
    pub(crate) fn compare_and_set(&mut self, key: Vec<u8>, value: Vec<u8>, version: u32) -> Result<(), Status> {
        let is_other = self.versioned(&key).is_some_and(|(_, present)| version != 0 && version != present);
        if is_other {
            return Err(Status::CasMismatch);
        }
        self.set(key, value);
        Ok(())
    }
}
