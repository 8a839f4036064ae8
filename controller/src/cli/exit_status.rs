//! What a command answers.

use std::process::ExitCode;

/// What a command answers, as its exit status. (Wrong usage, status 2 as well, is found before a command runs.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitStatus {
    /// All is well: 0.
    Yes,
    /// The answer is no: 1.
    No,
    /// There is no answer where both others say something: 2.
    Unknown,
}

impl From<ExitStatus> for ExitCode {
    fn from(answer: ExitStatus) -> Self {
        match answer {
            ExitStatus::Yes => Self::SUCCESS,
            ExitStatus::No => Self::FAILURE,
            ExitStatus::Unknown => Self::from(2),
        }
    }
}
