//! Errors in log lines, and in what users are told.

use std::error::Error;
use std::iter::successors;

/// An error with what caused it, as a field of a log line.
pub(crate) fn with_causes<'e>(error: &'e (dyn Error + 'static)) -> &'e (dyn Error + 'static) {
    error
}

/// An error with what caused it, as a text. Some say themselves what caused them: nothing is said twice in a row.
pub(crate) fn text_of(error: &dyn Error) -> String {
    let mut text = error.to_string();
    for cause in successors(error.source(), |cause| (*cause).source()).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("no connection")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("service: {0}")]
    struct Inner(#[source] io::Error);

    #[test]
    fn causes_are_told_once() {
        let error = Outer(Inner(io::Error::other("refused")));
        assert_eq!(text_of(&error), "no connection: service: refused");
    }
}
