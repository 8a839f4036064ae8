//! What a host call answers.

/// The result of a host call, as `WasmResult` in Envoy's Proxy-Wasm host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the Proxy-Wasm specification describes them")]
pub enum Status {
    Ok = 0,
    NotFound = 1,
    BadArgument = 2,
    SerializationFailure = 3,
    ParseFailure = 4,
    BadExpression = 5,
    InvalidMemoryAccess = 6,
    Empty = 7,
    CasMismatch = 8,
    ResultMismatch = 9,
    InternalFailure = 10,
    BrokenConnection = 11,
    Unimplemented = 12,
}

impl Status {
    /// Every status that is an error.
    pub const ERRORS: [Self; 12] = [
        Self::NotFound,
        Self::BadArgument,
        Self::SerializationFailure,
        Self::ParseFailure,
        Self::BadExpression,
        Self::InvalidMemoryAccess,
        Self::Empty,
        Self::CasMismatch,
        Self::ResultMismatch,
        Self::InternalFailure,
        Self::BrokenConnection,
        Self::Unimplemented,
    ];

    /// The number that the module sees.
    pub const fn code(self) -> u32 {
        self as u32
    }
}
