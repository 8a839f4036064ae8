//! What people write who come from Submariner, whose proposal of cable driver policies ours follows.

use serde_json::Value;

use crate::api::ClusterConnectionPolicy;
use crate::problem::{FieldPath, Problem};

/// A fault of a `ClusterConnectionPolicy`, with what to write instead where it is one of these slips.
pub(super) fn hinted(fault: Problem, policy: &Value) -> Problem {
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let name = |of: &Value| of.get("name").and_then(Value::as_str).map(str::to_owned);
    if fault.field == FieldPath::from("spec.cableDriver")
        && let Some(driver) = spec.get("cableDriver").and_then(name)
    {
        return fault.hint(format!("write `cableDriver: {driver}`"));
    }
    let selectors = [ClusterConnectionPolicy::LEFT, ClusterConnectionPolicy::RIGHT];
    let label = selectors.iter().find_map(|selector| {
        let labels = policy.pointer(&format!("/{}", selector.replace('.', "/")))?.as_object()?;
        labels.iter().find(|(key, _)| FieldPath::from(*selector).key(*key) == fault.field)
    });
    match label {
        Some((key, Value::String(value))) => fault.hint(format!("write `matchLabels: {{{key}: {value}}}`")),
        Some((key, value @ (Value::Bool(_) | Value::Number(_)))) => {
            fault.hint(format!("write `matchLabels: {{{key}: \"{value}\"}}`"))
        }
        _ => fault,
    }
}

#[cfg(test)]
mod tests {
    use crate::snapshot::Gathered;

    /// Each hint about a policy.
    fn hints(spec: &str) -> Vec<String> {
        let head = "apiVersion: mc-wan.l7mp.io/v1alpha1, kind: ClusterConnectionPolicy";
        let metadata = "metadata: {name: on-prem-to-cloud, namespace: mc-wan-registry}";
        hints_of(&format!("{{{head}, {metadata}, spec: {spec}}}"))
    }

    fn hints_of(text: &str) -> Vec<String> {
        let gathered = Gathered::from_text("test.yaml", text);
        gathered.findings.into_iter().filter_map(|finding| finding.hint).collect()
    }

    #[test]
    fn the_proposal_itself_is_told_how_to_write() {
        let policy = "
kind: ClusterConnectionPolicy
metadata:
  name: on-prem-to-cloud
  namespace: submariner-operator
spec:
  leftClusterSelector:
    env: cloud
  cableDriver:
    name:  \"vxlan\"
";
        let hints = hints_of(policy);
        for expected in [
            "write `apiVersion: mc-wan.l7mp.io/v1alpha1`",
            "write `cableDriver: vxlan`",
            "write `matchLabels: {env: cloud}`",
        ] {
            assert!(hints.iter().any(|hint| hint == expected), "{expected}: {hints:?}");
        }
    }

    #[test]
    fn what_submariner_proposed_is_told_how_to_write() {
        let table: [(&str, &[&str], &str); 7] = [
            ("{cableDriver: {name: vxlan}}", &["write `cableDriver: vxlan`"], "the seed's driver"),
            (
                "{leftClusterSelector: {env: cloud}, rightClusterSelector: {env: on-premise}}",
                &["write `matchLabels: {env: cloud}`", "write `matchLabels: {env: on-premise}`"],
                "the seed's selectors",
            ),
            ("{leftClusterSelector: {cloud: true}}", &["write `matchLabels: {cloud: \"true\"}`"], "a boolean"),
            ("{leftClusterSelector: {matchLabel: {a: b}}}", &["did you mean `matchLabels`?"], "another slip"),
            ("{leftClusterSelector: {matchLabels: {env: cloud}}}", &[], "as it is written"),
            ("{CableDriver: ipsec}", &["did you mean `cableDriver`?"], "the seed's spelling in Go"),
            ("{NoConnectOnConflict: true}", &["did you mean `noConnectOnConflict`?"], "and of the flag"),
        ];
        for (spec, expected, message) in table {
            assert_eq!(hints(spec), expected, "{message}");
        }
    }
}
