//! What became of a request.

use crate::client::Response;
use crate::echo::Seen;
use crate::example::Destination;

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOutcome {
    /// The answer that the client got.
    pub response: Response,
    /// Where the answer came from, and what the request looked like there; none where it was
    /// answered on the way.
    pub arrival: Option<(Destination, Seen)>,
}
