//! Why a policy matches a pair of clusters, or does not.

use std::sync::Arc;

use crate::problem::Reason;

/// What becomes of one policy for a pair of clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsideredPolicy {
    /// The policy.
    pub policy: Arc<str>,
    /// Whom its left selector takes.
    pub left: Taken,
    /// Whom its right selector takes.
    pub right: Taken,
    /// Why the pairs that it matches are not connected, if they are not.
    pub fault: Option<Reason>,
}

/// Which clusters of a pair a selector takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// None of them.
    Neither,
    /// The first.
    One,
    /// The second.
    Other,
    /// Both.
    Both,
}

/// Which way round a policy matches a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The first cluster is on the left.
    OneLeft,
    /// The second cluster is on the left.
    OtherLeft,
    /// Both.
    Either,
}

impl Taken {
    pub(super) const fn of(one: bool, other: bool) -> Self {
        match (one, other) {
            (false, false) => Self::Neither,
            (true, false) => Self::One,
            (false, true) => Self::Other,
            (true, true) => Self::Both,
        }
    }
}

impl ConsideredPolicy {
    /// Which way round it matches, if it does.
    pub const fn way(&self) -> Option<Way> {
        match (self.left, self.right) {
            (Taken::Both, Taken::Both) => Some(Way::Either),
            (Taken::One | Taken::Both, Taken::Other | Taken::Both) => Some(Way::OneLeft),
            (Taken::Other | Taken::Both, Taken::One | Taken::Both) => Some(Way::OtherLeft),
            (Taken::Neither, _) | (_, Taken::Neither) | (Taken::One, Taken::One) | (Taken::Other, Taken::Other) => None,
        }
    }

    /// The same in words, of clusters of these names.
    pub fn explain(&self, one: &str, other: &str) -> String {
        let match_of = |left: &str, right: &str| {
            format!("matches: leftClusterSelector takes {left}, rightClusterSelector takes {right}")
        };
        match (self.way(), self.left, self.right) {
            (Some(Way::OneLeft), ..) => match_of(one, other),
            (Some(Way::OtherLeft), ..) => match_of(other, one),
            (Some(Way::Either), ..) => "matches either way round: both selectors take both".to_owned(),
            (None, Taken::Neither, Taken::Neither) => "does not match: neither selector takes one of them".to_owned(),
            (None, Taken::Neither, _) => "does not match: leftClusterSelector takes neither".to_owned(),
            (None, _, Taken::Neither) => "does not match: rightClusterSelector takes neither".to_owned(),
            (None, Taken::One, _) => format!("does not match: neither selector takes {other}"),
            (None, Taken::Other | Taken::Both, _) => format!("does not match: neither selector takes {one}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_which_selector_takes_whom() {
        let (left, right) = ("leftClusterSelector", "rightClusterSelector");
        let as_written = format!("matches: {left} takes a, {right} takes b");
        let swapped = format!("matches: {left} takes b, {right} takes a");
        let table = [
            (Taken::One, Taken::Other, Some(Way::OneLeft), as_written.as_str()),
            (Taken::Both, Taken::Other, Some(Way::OneLeft), as_written.as_str()),
            (Taken::One, Taken::Both, Some(Way::OneLeft), as_written.as_str()),
            (Taken::Other, Taken::One, Some(Way::OtherLeft), swapped.as_str()),
            (Taken::Both, Taken::One, Some(Way::OtherLeft), swapped.as_str()),
            (Taken::Other, Taken::Both, Some(Way::OtherLeft), swapped.as_str()),
            (Taken::Both, Taken::Both, Some(Way::Either), "matches either way round: both selectors take both"),
            (Taken::Neither, Taken::Both, None, "does not match: leftClusterSelector takes neither"),
            (Taken::One, Taken::Neither, None, "does not match: rightClusterSelector takes neither"),
            (Taken::Neither, Taken::Neither, None, "does not match: neither selector takes one of them"),
            (Taken::One, Taken::One, None, "does not match: neither selector takes b"),
            (Taken::Other, Taken::Other, None, "does not match: neither selector takes a"),
        ];
        for (left, right, way, text) in table {
            let considered = ConsideredPolicy { policy: "p".into(), left, right, fault: None };
            assert_eq!((considered.way(), considered.explain("a", "b").as_str()), (way, text), "{left:?} {right:?}");
        }
    }
}
