//! What is wrong with a `ClusterConnectionPolicy` by itself.

use super::check::Check;
use crate::api::cluster_selector::{self, RequirementError};
use crate::api::{ClusterConnectionPolicy, ClusterConnectionPolicySpec, ClusterSelector, REGISTRY_NAMESPACE, limits};
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};

/// What is wrong with a `ClusterConnectionPolicy` by itself.
pub fn connection_policy(policy: &ClusterConnectionPolicy) -> Vec<Problem> {
    let mut check = Check::new(ObjectRef::of(policy));
    check.own_names();
    if policy.metadata.namespace.as_deref() != Some(REGISTRY_NAMESPACE) {
        let message = format!("policies are in the registry, which is the namespace {REGISTRY_NAMESPACE}");
        let problem = Problem::error(check.object.clone(), Reason::InvalidValue, message).at("metadata.namespace");
        check.problems.push(problem.hint(format!("write `namespace: {REGISTRY_NAMESPACE}`")));
    }
    let ClusterConnectionPolicySpec {
        left_cluster_selector,
        right_cluster_selector,
        cable_driver,
        tiers,
        no_connect_on_conflict,
    } = &policy.spec;
    for (field, one) in [
        (ClusterConnectionPolicy::LEFT, left_cluster_selector),
        (ClusterConnectionPolicy::RIGHT, right_cluster_selector),
    ] {
        let Some(one) = one else { continue };
        selector(&mut check, &field.into(), one);
        if policy.is_default() {
            let message = "`default` holds for the pairs that no other matches, and has no selectors";
            check.error(field, Reason::InvalidValue, message);
        }
    }
    if let Some(driver) = cable_driver {
        check.label("spec.cableDriver", driver);
    }
    check.labels(&"spec.tiers".into(), tiers.as_deref().unwrap_or_default(), limits::TIERS);
    if no_connect_on_conflict.is_some() && !policy.is_default() {
        let message = "only the policy `default` says what becomes of conflicts";
        check.error("spec.noConnectOnConflict", Reason::InvalidValue, message);
    }
    check.problems
}

fn selector(check: &mut Check, field: &FieldPath, selector: &ClusterSelector) {
    let count = selector.requirements();
    check.count(field.clone(), count, limits::REQUIREMENTS);
    for (key, value) in &selector.match_labels {
        if let Err(error) = cluster_selector::label(key, value) {
            check.error(field.field("matchLabels").key(key), Reason::InvalidValue, error.to_string());
        }
    }
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        let field = field.field("matchExpressions").index(index);
        check.count(field.field("values"), requirement.values.len(), limits::VALUES);
        if let Err(error) = requirement.compile() {
            let part = match error {
                RequirementError::Operator(_) => "operator",
                RequirementError::Key(_) => "key",
                RequirementError::NoValues(_) | RequirementError::Values(_) | RequirementError::Value(_) => "values",
            };
            check.error(field.field(part), Reason::InvalidValue, error.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::api::validate::tests::{fields, mk};

    fn mk_policy(name: &str, spec: &str) -> String {
        mk("ClusterConnectionPolicy", name, spec)
    }

    fn mk_requirement(rest: &str) -> String {
        mk_policy("p", &format!("{{leftClusterSelector: {{matchExpressions: [{{key: env, {rest}}}]}}}}"))
    }

    #[test]
    fn a_policy_by_itself() {
        let names = |count| (0..count).map(|number| format!("n{number}")).collect::<Vec<_>>();
        let labels = |count| format!("{{matchLabels: {{{}: a}}}}", names(count).join(": a, "));
        let values = |count| mk_requirement(&format!("operator: In, values: [{}]", names(count).join(", ")));
        let expressions = "matchExpressions: [{key: a, operator: Exists}]";
        let table: [(String, &[&str], &str); 26] = [
            (mk_policy("p", "{}"), &[], "any pair, any tier"),
            (mk_policy("p", "{cableDriver: ipsec, tiers: [a, b]}"), &[], "a driver and tiers"),
            (mk_policy("p", "{tiers: []}"), &[], "no tier"),
            (mk_policy("p", "{cableDriver: IPsec}"), &["spec.cableDriver"], "a driver with capitals"),
            (mk_policy("p", "{tiers: [a, B]}"), &["spec.tiers[1]"], "a tier with capitals"),
            (mk_policy("p", "{tiers: [a, a]}"), &["spec.tiers[1]"], "a tier twice"),
            (mk_policy("p", &format!("{{tiers: [{}]}}", names(16).join(", "))), &[], "16 tiers"),
            (mk_policy("p", &format!("{{tiers: [{}]}}", names(17).join(", "))), &["spec.tiers"], "17 tiers"),
            (mk_policy("p", "{noConnectOnConflict: false}"), &["spec.noConnectOnConflict"], "the flag elsewhere"),
            (mk_policy("default", "{noConnectOnConflict: false}"), &[], "the flag on default"),
            (
                mk_policy("default", "{leftClusterSelector: {matchLabels: {a: b}}, rightClusterSelector: {}}"),
                &["spec.leftClusterSelector", "spec.rightClusterSelector"],
                "selectors on default",
            ),
            (
                mk_policy("p", "{}").replace(", namespace: mc-wan-registry", ""),
                &["metadata.namespace"],
                "no namespace is the wrong one",
            ),
            (mk_policy("P", "{}"), &["metadata.name"], "a name with capitals"),
            (mk_policy("p", "{cabelDriver: a}"), &["spec.cabelDriver"], "an unknown field"),
            (mk_policy("p", &format!("{{leftClusterSelector: {}}}", labels(16))), &[], "16 labels"),
            (mk_policy("p", &format!("{{leftClusterSelector: {}}}", labels(17))), &["spec.leftClusterSelector"], "17"),
            (
                mk_policy(
                    "p",
                    &format!("{{leftClusterSelector: {}}}", labels(16).replace("}}", &format!("}}, {expressions}}}"))),
                ),
                &["spec.leftClusterSelector"],
                "labels and expressions are counted together",
            ),
            (values(64), &[], "64 values"),
            (values(65), &["spec.leftClusterSelector.matchExpressions[0].values"], "65 values"),
            (mk_requirement("operator: Exists"), &[], "a label that is there"),
            (
                mk_requirement("operator: in, values: [a]"),
                &["spec.leftClusterSelector.matchExpressions[0].operator"],
                "an unknown operator",
            ),
            (
                mk_requirement("operator: In"),
                &["spec.leftClusterSelector.matchExpressions[0].values"],
                "In without values",
            ),
            (
                mk_requirement("operator: Exists, values: [a]"),
                &["spec.leftClusterSelector.matchExpressions[0].values"],
                "Exists with values",
            ),
            (
                mk_requirement("operator: Exists").replace("env", "e nv"),
                &["spec.leftClusterSelector.matchExpressions[0].key"],
                "a key that no label has",
            ),
            (
                mk_policy("p", "{rightClusterSelector: {matchLabels: {env: a b}}}"),
                &["spec.rightClusterSelector.matchLabels.env"],
                "a value that no label has",
            ),
            (mk_policy("p", "{tiers: null}"), &["spec.tiers"], "a field without a value does not stand for any tier"),
        ];
        for (document, expected, message) in table {
            assert_eq!(fields(&document), expected, "{message}: {document}");
        }
    }
}
