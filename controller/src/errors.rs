//! Errors in log lines.

use std::error::Error;

/// An error with what caused it, as a field of a log line.
pub(crate) fn with_causes<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    error
}
