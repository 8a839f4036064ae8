//! Who is told of each request that an egress gateway forwards or refuses.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde_json::json;

use crate::emit::object::{Kind, Object};
use crate::kind;

use super::draft::Draft;
use super::names;

/// The word for [`AccessLog::Mesh`].
const MESH: &str = "mesh";

/// The provider that every mesh has: a line of text for each request, on the standard output of the gateway. It ends
/// with the name of the route, which is that of the target.
const BUILT_IN: &str = "envoy";

/// Who is told of each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLog {
    /// Whom the mesh tells of all its requests: by default nobody.
    Mesh,
    /// An extension provider of the mesh, by its name.
    Provider(String),
}

impl Default for AccessLog {
    fn default() -> Self {
        Self::Provider(BUILT_IN.to_owned())
    }
}

/// The name of a provider, or `mesh`.
impl FromStr for AccessLog {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(if text == MESH { Self::Mesh } else { Self::Provider(text.to_owned()) })
    }
}

impl fmt::Display for AccessLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Mesh => MESH,
            Self::Provider(name) => name,
        })
    }
}

impl AccessLog {
    /// What tells istiod so for the egress gateways of a namespace; none: nothing need be told.
    ///
    /// It is one for all of them: `istioctl analyze` takes what has `targetRefs` for the whole namespace's, and two of
    /// these for an error.
    pub(super) fn object(&self, namespace: &str, gateways: &[&str]) -> Option<Object> {
        let Self::Provider(provider) = self else { return None };
        let targets: Vec<_> = gateways.iter().map(|name| kind::GATEWAY.reference(name)).collect();
        // Without a target it would be everybody's in the namespace.
        (!targets.is_empty()).then(|| {
            Draft::new(Kind::Telemetry, namespace, names::EGRESS_GATEWAY).with(json!({
                "spec": {"targetRefs": targets, "accessLogging": [{"providers": [{"name": provider}]}]},
            }))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_words_are_read_as_they_are_printed() {
        for (log, word) in [(AccessLog::Mesh, "mesh"), (AccessLog::default(), "envoy")] {
            assert_eq!(log.to_string(), word);
            assert_eq!(word.parse(), Ok(log));
        }
    }

    #[test]
    fn nobody_else_is_told_what_to_log() {
        assert_eq!(AccessLog::Mesh.object("secure", &["mcwan-egress"]), None, "the mesh is to say");
        assert_eq!(AccessLog::default().object("secure", &[]), None, "there is no gateway");
    }
}
