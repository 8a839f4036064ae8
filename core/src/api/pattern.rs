//! The forms of texts, as regular expressions that Kubernetes, Rust and CEL read alike.

/// A DNS label (RFC 1123), but for its length, which is 63 at most.
pub const LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// A host (Gateway API, `PreciseHostname`), labels of at most 63 characters.
pub const HOST: &str = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$";
/// A host, the first label of which may be `*` (Gateway API, `Hostname`).
pub const HOSTNAME: &str = r"^(\*\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$";
/// The name of a header or query parameter (Gateway API, `HTTPHeaderName`).
pub const HEADER_NAME: &str = r"^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$";
/// A method, or `*`, as a CORS filter names them.
pub const METHOD: &str = r"^(GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH|\*)$";
/// An origin, or `*` (Gateway API, `CORSOrigin`).
pub const ORIGIN: &str = r"^(\*|https?://((\*\.)?([a-zA-Z0-9\-]+\.)*[a-zA-Z0-9\-]+|\*)(:[0-9]{1,5})?)$";
/// An exact path or a prefix (Gateway API, validation of `HTTPPathMatch`): absolute, normalised, and percent-encoded
/// where it must be.
pub const PATH: &str = concat!(
    "^/$|^(/", // the root, or segments that are
    r"(\.{0,2}([-A-Za-z0-9_~!$&'()*+,;=:@]|%([013-9a-fA-F][0-9a-fA-F]|2[0-9a-eA-E]))|\.{3})", // neither empty nor `.` or `..`
    r"([-A-Za-z0-9._~!$&'()*+,;=:@]|%([013-9a-fA-F][0-9a-fA-F]|2[0-9a-eA-E]))*",              // and have no encoded `/`
    ")+/?$"
);
