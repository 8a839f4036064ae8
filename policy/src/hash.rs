//! A streaming hash for the indices, whose keys come from configurations, not from clients.

/// FNV-1a over 64 bits: cheap on the short keys here, and its state after each byte is the hash of
/// the prefix read so far, which is what looking up every prefix of a path in one pass needs.
#[derive(Clone, Copy)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        self
    }

    pub(crate) fn number(self, number: u32) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// The hash, its bits mixed into the upper half, which an [`crate::index::Index`] looks at.
    pub(crate) fn finish(self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }
}
