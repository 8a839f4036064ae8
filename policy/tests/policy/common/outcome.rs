//! Decisions in a form that can be compared and read.

use std::fmt;

use mcwan_policy::{Decision, REASON_HEADER, Reply, RuleMatch};

use super::Asked;

/// A decision by values. `Display` says what a table of expectations needs: `pass`, the name of the
/// target (with the new path where there is one), the status and location of a redirect, or the
/// status and reason of a refusal. Bytes are escaped as in `escape_ascii`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TableOutcome {
    Pass,
    Route {
        /// `NAMESPACE/NAME`.
        import: String,
        matched: RuleMatch,
        /// The new `:authority`.
        authority: String,
        /// The value of the steering header.
        steering: String,
        /// The new path, unless it is the old one.
        path: Option<String>,
    },
    Redirect {
        import: String,
        matched: RuleMatch,
        status: u16,
        headers: Vec<(String, String)>,
    },
    Refuse {
        import: Option<String>,
        matched: Option<RuleMatch>,
        status: u16,
        reason: String,
    },
}

impl TableOutcome {
    /// Reads a decision on a request; asserts what holds for every decision.
    pub(crate) fn of(decision: &Decision<'_>, request: &Asked) -> Self {
        match decision {
            Decision::Pass => Self::Pass,
            Decision::Route(route) => Self::Route {
                import: key(route.import),
                matched: route.matched,
                authority: route.import.authority().unwrap_or("").to_owned(),
                steering: route.target.steering_value().to_owned(),
                path: route.path.as_ref().filter(|path| Some(*path) != request.path.as_ref()).map(|path| escaped(path)),
            },
            Decision::Reply(reply) => match reply.reason {
                None => Self::redirect(reply),
                Some(reason) => Self::refusal(reply, reason.as_str()),
            },
        }
    }

    fn redirect(reply: &Reply<'_>) -> Self {
        assert_eq!(reply.body, "", "a redirect has no body");
        Self::Redirect {
            import: key(reply.import.expect("a redirect is an import's")),
            matched: reply.matched.expect("a redirect is a rule's"),
            status: reply.status,
            headers: header_lines(reply),
        }
    }

    fn refusal(reply: &Reply<'_>, reason: &str) -> Self {
        let told: Vec<_> = header_lines(reply).into_iter().filter(|(name, _)| name == REASON_HEADER).collect();
        assert_eq!(told, [(REASON_HEADER.to_owned(), reason.to_owned())], "a refusal says why, once");
        assert!(!reply.body.is_empty(), "a refusal has a sentence for the person at the client");
        Self::Refuse {
            import: reply.import.map(key),
            matched: reply.matched,
            status: reply.status,
            reason: reason.to_owned(),
        }
    }

    /// What matched, where something did.
    pub(crate) fn matched(&self) -> Option<RuleMatch> {
        match self {
            Self::Pass => None,
            Self::Route { matched, .. } | Self::Redirect { matched, .. } => Some(*matched),
            Self::Refuse { matched, .. } => *matched,
        }
    }

    /// The name of the target of a routed request.
    pub(crate) fn target(&self) -> Option<&str> {
        match self {
            Self::Route { steering, .. } => steering.split('.').next(),
            Self::Pass | Self::Redirect { .. } | Self::Refuse { .. } => None,
        }
    }
}

fn key(import: mcwan_policy::Import<'_>) -> String {
    format!("{}/{}", import.namespace(), import.name())
}

fn header_lines(reply: &Reply<'_>) -> Vec<(String, String)> {
    reply.headers.iter().map(|(name, value)| (escaped(name), escaped(value))).collect()
}

pub(crate) fn escaped(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

impl fmt::Display for TableOutcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => formatter.write_str("pass"),
            Self::Route { path, .. } => {
                formatter.write_str(self.target().unwrap_or_default())?;
                path.as_ref().map_or(Ok(()), |path| write!(formatter, " {path}"))
            }
            Self::Redirect { status, headers, .. } => {
                let location = headers.iter().find(|(name, _)| name == "location");
                write!(formatter, "{status} {}", location.map_or("-", |(_, value)| value))
            }
            Self::Refuse { status, reason, .. } => write!(formatter, "{status} {reason}"),
        }
    }
}
