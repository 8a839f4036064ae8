//! The matches of a `GRPCRoute` rule (Gateway API v1.5, `GRPCRouteMatch`), field for field.

use serde::Deserialize;

use super::HeaderMatch;
use crate::problem::FieldPath;

/// Bytes of the name of a service or method.
const NAME_BYTES: usize = 1_024;
/// Headers of a match.
const HEADERS: usize = 16;

/// What a call must be like: everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GrpcMatch {
    /// What is called. Absent: anything.
    pub method: Option<GrpcMethodMatch>,
    /// Headers, all of which must match. Of equal names the first one counts.
    pub headers: Vec<HeaderMatch>,
}

/// What is called: a service, a method, or both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct GrpcMethodMatch {
    /// How both are compared.
    pub r#type: GrpcMethodMatchType,
    /// The service with its package. Absent: any.
    pub service: Option<String>,
    /// The method. Absent: any.
    pub method: Option<String>,
}

/// How a service or method is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum GrpcMethodMatchType {
    /// By the whole name, in its case.
    #[default]
    Exact,
    /// By a regular expression over the whole name.
    RegularExpression,
}

impl GrpcMatch {
    /// What the definition of `GRPCRoute` refuses.
    ///
    /// # Errors
    /// The first field that is wrong, and why.
    pub(super) fn check(&self) -> Result<(), (FieldPath, String)> {
        if self.headers.len() > HEADERS {
            return Err(("headers".into(), format!("more than {HEADERS} headers")));
        }
        let Some(GrpcMethodMatch { r#type, service, method }) = &self.method else { return Ok(()) };
        if service.is_none() && method.is_none() {
            return Err(("method".into(), "neither a service nor a method is given".to_owned()));
        }
        for (field, name, marks) in [("service", service, "_."), ("method", method, "_")] {
            let is_sound = |name: &String| match r#type {
                GrpcMethodMatchType::Exact => {
                    name.chars().all(|one| one.is_ascii_alphanumeric() || marks.contains(one)) && !name.is_empty()
                }
                GrpcMethodMatchType::RegularExpression => true,
            };
            if let Some(name) = name.as_ref().filter(|name| name.len() > NAME_BYTES || !is_sound(name)) {
                return Err((FieldPath::from("method").field(field), format!("{name:?} is no name of a {field}")));
            }
        }
        Ok(())
    }
}
