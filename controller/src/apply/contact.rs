//! Whether the registry answers.

/// Whether the registry answers, as those say who ask it all the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Contact {
    /// It does, as far as is known.
    #[default]
    Answers,
    /// It does, but not as we would have it: why.
    Refuses(String),
    /// It does not: why. Nobody need wait for it then.
    Silent(String),
}

impl Contact {
    /// Whether there is no answer to be had.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Silent(_))
    }

    /// What is wrong, if anything.
    pub fn complaint(&self) -> Option<&str> {
        match self {
            Self::Answers => None,
            Self::Refuses(why) | Self::Silent(why) => Some(why),
        }
    }
}
