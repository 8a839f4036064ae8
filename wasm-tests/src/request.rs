//! Requests to play.

use crate::Headers;

/// A request as it reaches the filter.
///
/// ```
/// use mcwan_wasm_tests::Request;
///
/// let request = Request::get("pay.secure", "/payment?id=7").header("x-user", "test");
/// assert_eq!(request.headers().get(":method"), Some(&b"GET"[..]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    headers: Headers,
}

impl Request {
    /// A request with the four pseudo-headers that every request has; the scheme is `http`.
    pub fn new(method: impl AsRef<[u8]>, authority: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Self {
        let mut headers = Headers::default();
        headers.add(":authority", authority);
        headers.add(":path", path);
        headers.add(":method", method);
        headers.add(":scheme", "http");
        Self { headers }
    }

    /// A GET request.
    pub fn get(authority: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> Self {
        Self::new("GET", authority, path)
    }

    /// Adds a header line.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.headers.add(name, value);
        self
    }

    /// Takes every line of a name away, pseudo-headers included.
    #[must_use]
    pub fn without(mut self, name: impl AsRef<[u8]>) -> Self {
        self.headers.remove(name);
        self
    }

    /// Its header lines.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }
}

impl From<Headers> for Request {
    /// A request of just these lines.
    fn from(headers: Headers) -> Self {
        Self { headers }
    }
}
