//! Which clusters are meant, by their labels (Kubernetes, `LabelSelector`, field for field).
//!
//! A selector that cannot be read is told, and not taken for one that takes fewer clusters, or more.

use std::collections::BTreeMap;

use kube_core::{Expression, Selector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::exportable::{is_key, is_label_value};
use super::{cel, limits};

/// Which clusters: those that satisfy everything that it says. Empty: any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend(
    "x-kubernetes-validations" = [cel::at_most_16_requirements()],
    "x-kubernetes-preserve-unknown-fields" = true,
    "anyOf" = nothing_else(),
))]
pub struct ClusterSelector {
    /// The labels that a cluster must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = limits::REQUIREMENTS))]
    pub match_labels: BTreeMap<String, String>,
    /// What else its labels must satisfy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::REQUIREMENTS))]
    pub match_expressions: Vec<ClusterRequirement>,
}

/// What one label of a cluster must satisfy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = [cel::values_of_operator()]))]
pub struct ClusterRequirement {
    /// The key of the label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`. `NotIn` and `DoesNotExist` take clusters without the label.
    #[schemars(extend("enum" = OPERATORS))]
    pub operator: String,
    /// The values that `In` and `NotIn` speak of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::VALUES))]
    pub values: Vec<String>,
}

/// Why a selector cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// There is no such operator.
    #[error("`{0}` is not one of In, NotIn, Exists, DoesNotExist")]
    Operator(String),
    /// It compares with nothing.
    #[error("{0} needs values")]
    NoValues(String),
    /// It has nothing to compare with.
    #[error("{0} has no values")]
    Values(String),
    /// No label has such a key.
    #[error("`{0}` is no key of a label")]
    Key(String),
    /// No label has such a value.
    #[error("`{0}` is no value of a label")]
    Value(String),
}

/// That a selector has no field but its own. What a schema does not name, an API server takes away before it looks at the rest
/// (in silence, if the client asks for that): `{env: cloud}` would become a selector of every cluster. So what is not named is
/// kept and counted.
fn nothing_else() -> Value {
    let only = |fields: &[&str]| json!({"required": fields, "maxProperties": fields.len()});
    json!([only(&[]), only(&["matchLabels"]), only(&["matchExpressions"]), only(&["matchLabels", "matchExpressions"])])
}

/// The operators of a requirement.
const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];

impl ClusterSelector {
    /// The same, to be compared with labels.
    ///
    /// # Errors
    /// Something of it cannot be read.
    pub fn compile(&self) -> Result<Selector, RequirementError> {
        let labels = self.match_labels.iter().map(|(key, value)| label(key, value));
        labels.chain(self.match_expressions.iter().map(ClusterRequirement::compile)).collect()
    }

    /// How much it asks for.
    pub fn requirements(&self) -> usize {
        self.match_labels.len() + self.match_expressions.len()
    }
}

impl ClusterRequirement {
    /// The same, to be compared with labels.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn compile(&self) -> Result<Expression, RequirementError> {
        let Self { key, operator, values } = self;
        checked_key(key)?;
        if let Some(value) = values.iter().find(|value| !is_label_value(value)) {
            return Err(RequirementError::Value(value.clone()));
        }
        match (operator.as_str(), values.is_empty()) {
            ("In", false) => Ok(Expression::In(key.clone(), values.iter().cloned().collect())),
            ("NotIn", false) => Ok(Expression::NotIn(key.clone(), values.iter().cloned().collect())),
            ("Exists", true) => Ok(Expression::Exists(key.clone())),
            ("DoesNotExist", true) => Ok(Expression::DoesNotExist(key.clone())),
            ("In" | "NotIn", true) => Err(RequirementError::NoValues(operator.clone())),
            ("Exists" | "DoesNotExist", false) => Err(RequirementError::Values(operator.clone())),
            _ => Err(RequirementError::Operator(operator.clone())),
        }
    }
}

/// What a label that is given with its value asks for.
///
/// # Errors
/// There is no such label.
pub fn label(key: &str, value: &str) -> Result<Expression, RequirementError> {
    checked_key(key)?;
    if is_label_value(value) {
        Ok(Expression::Equal(key.to_owned(), value.to_owned()))
    } else {
        Err(RequirementError::Value(value.to_owned()))
    }
}

fn checked_key(key: &str) -> Result<(), RequirementError> {
    if is_key(key) { Ok(()) } else { Err(RequirementError::Key(key.to_owned())) }
}

#[cfg(test)]
mod tests {
    use kube_core::SelectorExt;
    use serde_json::{Value, json};

    use super::*;

    fn mk(selector: Value) -> ClusterSelector {
        serde_json::from_value(selector).unwrap()
    }

    fn mk_requirement(key: &str, operator: &str, values: &[&str]) -> ClusterSelector {
        mk(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
    }

    #[test]
    fn a_selector_takes_what_kubernetes_would() {
        let of = |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let (cloud, none) = (of(&[("env", "cloud"), ("region", "eu")]), of(&[]));
        let table = [
            (mk(json!({})), true, true, "an empty one takes any"),
            (mk(json!({"matchLabels": {"env": "cloud"}})), true, false, "a label"),
            (mk(json!({"matchLabels": {"env": "cloud", "region": "us"}})), false, false, "all labels must be there"),
            (mk_requirement("env", "In", &["edge", "cloud"]), true, false, "one of the values"),
            (mk_requirement("env", "In", &["edge"]), false, false, "none of the values"),
            (mk_requirement("env", "NotIn", &["edge"]), true, true, "NotIn takes what has no such label"),
            (mk_requirement("env", "NotIn", &["cloud"]), false, true, "but not what has one of the values"),
            (mk_requirement("env", "Exists", &[]), true, false, "the label is there"),
            (mk_requirement("env", "DoesNotExist", &[]), false, true, "the label is not there"),
            (
                mk(
                    json!({"matchLabels": {"env": "cloud"}, "matchExpressions": [{"key": "region", "operator": "DoesNotExist"}]}),
                ),
                false,
                false,
                "labels and expressions must both hold",
            ),
        ];
        for (selector, takes_cloud, takes_none, message) in table {
            let compiled = selector.compile().unwrap();
            assert_eq!(compiled.matches(&cloud), takes_cloud, "{message}: env=cloud,region=eu");
            assert_eq!(compiled.matches(&none), takes_none, "{message}: no labels");
        }
    }

    #[test]
    fn a_selector_that_cannot_be_read_is_told() {
        let table = [
            (mk_requirement("env", "in", &["a"]), "`in` is not one of In, NotIn, Exists, DoesNotExist"),
            (mk_requirement("env", "In", &[]), "In needs values"),
            (mk_requirement("env", "NotIn", &[]), "NotIn needs values"),
            (mk_requirement("env", "Exists", &["a"]), "Exists has no values"),
            (mk_requirement("env", "DoesNotExist", &["a"]), "DoesNotExist has no values"),
            (mk_requirement("e nv", "Exists", &[]), "`e nv` is no key of a label"),
            (mk_requirement("env", "In", &["a", "b c"]), "`b c` is no value of a label"),
            (mk(json!({"matchLabels": {"": "a"}})), "`` is no key of a label"),
            (mk(json!({"matchLabels": {"env": "!production"}})), "`!production` is no value of a label"),
        ];
        for (selector, message) in table {
            let error = selector.compile().map_err(|error| error.to_string());
            assert_eq!(error.err().as_deref(), Some(message));
        }
    }
}
