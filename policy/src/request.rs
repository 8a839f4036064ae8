//! What a decision may ask of a request, each thing only when it needs it.

use std::borrow::Cow;

/// A header line: its name and its value. Names are compared in any case; values are bytes.
pub type HeaderLine = (Vec<u8>, Vec<u8>);

/// A request as the data plane sees it. Every method may cost a call into the host, so that the
/// table asks only for what the decision needs; an implementation caches what is dear.
pub trait Request {
    /// Why something could not be read. A decision that meets one ends with it.
    type Error;

    /// `:authority`, as the client sent it.
    fn authority(&self) -> Result<Option<Cow<'_, [u8]>>, Self::Error>;

    /// `:path`, with its query.
    fn path(&self) -> Result<Option<Cow<'_, [u8]>>, Self::Error>;

    /// `:method`.
    fn method(&self) -> Result<Option<Cow<'_, [u8]>>, Self::Error>;

    /// `:scheme`.
    fn scheme(&self) -> Result<Option<Cow<'_, [u8]>>, Self::Error>;

    /// The port of the listener that the request came in by.
    fn port(&self) -> Result<Option<u16>, Self::Error>;

    /// Every header line, in order; pseudo-headers may be among them.
    fn headers(&self) -> Result<&[HeaderLine], Self::Error>;
}
