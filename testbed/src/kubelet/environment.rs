//! The environment and the arguments that a Pod asks for.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::core::v1::{Container, EnvVar, Pod};

use super::downward;

/// The variables of a container, in their order.
pub(super) fn variables(pod: &Pod, container: &Container) -> Result<BTreeMap<String, String>> {
    let mut variables = BTreeMap::new();
    for variable in container.env.iter().flatten() {
        let value = value(pod, container, variable).with_context(|| format!("variable {}", variable.name))?;
        variables.insert(variable.name.clone(), expand(&value, &variables));
    }
    Ok(variables)
}

/// The arguments of a container.
pub(super) fn arguments(container: &Container, variables: &BTreeMap<String, String>) -> Vec<String> {
    container.args.iter().flatten().map(|argument| expand(argument, variables)).collect()
}

fn value(pod: &Pod, container: &Container, variable: &EnvVar) -> Result<String> {
    let Some(source) = &variable.value_from else { return Ok(variable.value.clone().unwrap_or_default()) };
    match (&source.field_ref, &source.resource_field_ref) {
        (Some(field), _) => downward::field(pod, &field.field_path),
        (None, Some(resource)) => downward::limit(container, resource),
        (None, None) => bail!("its source is not known here"),
    }
}

/// Puts values in the place of `$(NAME)`; a name that is not known stays.
fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        expanded += before;
        match after.split_once(')') {
            Some((name, after)) if variables.contains_key(name) => {
                expanded += variables.get(name).map_or("", String::as_str);
                rest = after;
            }
            _ => {
                expanded += "$(";
                rest = after;
            }
        }
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_come_from_the_pod_and_from_each_other() {
        let pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "namespace": "secure"},
            "spec": {"containers": [{
                "name": "c",
                "args": ["--domain", "$(POD_NAMESPACE).svc", "$(ABSENT)", "$(", "100$"],
                "resources": {"limits": {"cpu": "1500m"}},
                "env": [
                    {"name": "PLAIN", "value": "a b"},
                    {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
                    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                    {"name": "HOST", "value": "$(PLAIN).$(POD_NAMESPACE)"},
                ],
            }]},
        }));
        let pod: Pod = pod.unwrap();
        let container = &pod.spec.as_ref().unwrap().containers[0];
        let variables = variables(&pod, container).unwrap();
        let expected = [("PLAIN", "a b"), ("POD_NAMESPACE", "secure"), ("CPU", "2"), ("HOST", "a b.secure")];
        assert_eq!(variables, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        assert_eq!(arguments(container, &variables), ["--domain", "secure.svc", "$(ABSENT)", "$(", "100$"]);
    }
}
