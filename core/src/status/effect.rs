//! What each reason of a problem means for an import.

use crate::problem::Problem;

/// What a problem means for the import that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The import as a whole is refused: not `Accepted`.
    Refused,
    /// Some of its rules or hosts do not hold: `PartiallyInvalid`; where none is left, not `Accepted`.
    Partial,
    /// Something that it refers to is not there, or not to be had: not `ResolvedRefs`.
    Unresolved,
    /// It should be known, but changes nothing.
    Harmless,
}

/// Every reason that problems have, the weightiest first: a condition has one reason only.
const EFFECTS: [(&str, Effect); 27] = [
    ("Unreadable", Effect::Refused),
    ("InvalidMatch", Effect::Refused),
    ("TooLarge", Effect::Refused),
    ("DataPlaneConflict", Effect::Refused),
    ("InvalidName", Effect::Refused),
    ("InvalidValue", Effect::Refused),
    ("Duplicate", Effect::Refused),
    ("Missing", Effect::Refused),
    ("HostConflict", Effect::Partial),
    ("Conflict", Effect::Partial),
    ("UnsupportedFilter", Effect::Partial),
    ("InvalidFilter", Effect::Partial),
    ("BackendNotFound", Effect::Unresolved),
    ("RefNotPermitted", Effect::Unresolved),
    ("NoBackend", Effect::Unresolved),
    ("UnknownTier", Effect::Unresolved),
    ("PortConflict", Effect::Unresolved),
    ("TierPortMismatch", Effect::Unresolved),
    ("ClusterNotFound", Effect::Unresolved),
    ("NamespaceNotPermitted", Effect::Unresolved),
    ("InvalidAddress", Effect::Unresolved),
    ("NoAddress", Effect::Unresolved),
    ("NoService", Effect::Unresolved),
    ("InvalidServiceType", Effect::Unresolved),
    ("NoPort", Effect::Unresolved),
    ("NameTooLong", Effect::Harmless),
    ("UnsupportedStatus", Effect::Harmless),
];

impl Effect {
    /// What a problem means. One whose reason is unknown is taken for the worst.
    pub fn of(problem: &Problem) -> Self {
        EFFECTS.iter().find(|(reason, _)| *reason == problem.reason).map_or(Self::Refused, |(_, effect)| *effect)
    }
}

/// How much the reason of a problem weighs: less is more.
pub(super) fn weight(problem: &Problem) -> usize {
    EFFECTS.iter().position(|(reason, _)| *reason == problem.reason).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::{fs, io};

    use super::*;

    /// The reasons in the sources: the first CamelCase literal after each `Problem::error(` and the like.
    fn reasons(folder: &Path, found: &mut BTreeSet<String>) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                reasons(&path, found)?;
                continue;
            }
            let text = fs::read_to_string(&path)?;
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            for call in ["Problem::error(", "Problem::warning(", "check.error(", "self.error("] {
                for rest in code.split(call).skip(1) {
                    let statement = rest.split(';').next().unwrap_or_default();
                    let literals = statement.split('"').skip(1).step_by(2);
                    let is_reason = |text: &&str| {
                        text.starts_with(|first: char| first.is_ascii_uppercase())
                            && text.chars().all(|letter| letter.is_ascii_alphabetic())
                            && *text != "WANPolicy" // the kind of the object
                    };
                    found.extend(literals.filter(is_reason).take(1).map(str::to_owned));
                }
            }
        }
        Ok(())
    }

    #[test]
    fn every_reason_in_the_sources_has_an_effect() {
        let mut found = BTreeSet::new();
        reasons(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found).unwrap();
        assert!(found.contains("PortConflict") && found.contains("InvalidAddress"), "some are found: {found:?}");
        let known: Vec<_> = EFFECTS.iter().map(|(reason, _)| *reason).collect();
        let unknown: Vec<_> = found.iter().filter(|reason| !known.contains(&reason.as_str())).collect();
        assert!(unknown.is_empty(), "without an effect: {unknown:?}");
    }

    #[test]
    fn no_reason_has_two_effects() {
        let distinct: BTreeSet<_> = EFFECTS.iter().map(|(reason, _)| *reason).collect();
        assert_eq!(distinct.len(), EFFECTS.len());
    }

    #[test]
    fn what_the_filter_refuses_a_request_for_has_an_effect() {
        use mcwan_policy::Reason;
        for reason in [
            Reason::NoBackend,
            Reason::BackendNotFound,
            Reason::RefNotPermitted,
            Reason::UnsupportedFilter,
            Reason::InvalidFilter,
            Reason::InvalidMatch,
            Reason::TooLarge,
        ] {
            assert!(EFFECTS.iter().any(|(known, _)| *known == reason.as_str()), "{reason:?}");
        }
    }
}
