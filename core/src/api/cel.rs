//! The rules of the schemas, in CEL: slips that can be told from one object, so that kubectl tells them at once.
//!
//! As far as rules of HTTP go, these are the slips that the CRD of `HTTPRoute` refuses, too. What a request is answered
//! with 500 for, and a condition tells (an extension, a retry, an expression that cannot be read), is admitted. An API
//! server estimates what a rule may cost from the bounds of the lists around it, here 10,000 rules of 64 matches: too
//! dear are unique names of rules, of which `mcwan validate` warns, what a backend's filters are to each other, and a lone `*`
//! in a CORS filter, which the controller tells.

use serde_json::{Value, json};

/// The rule, and its message, of the kinds that are named by a DNS label.
pub(super) const NAMED_BY_LABEL: (&str, &str) = (
    "self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
    "metadata.name must be a DNS label: at most 63 of a-z, 0-9 and -, with a letter or digit at both ends",
);

/// An export is named after its Service. A comparison with the joined parts would have no bound on its cost.
pub(super) const NAMED_BY_SERVICE: (&str, &str) = (
    "self.metadata.name.split('.').size() == 3 \
     && self.metadata.name.split('.')[0] == self.spec.cluster \
     && self.metadata.name.split('.')[1] == self.spec.namespace \
     && self.metadata.name.split('.')[2] == self.spec.name",
    "metadata.name must be CLUSTER.NAMESPACE.NAME, of spec.cluster, spec.namespace and spec.name",
);

/// Pods are named after their cluster, its Service and the slice there.
pub(super) const NAMED_BY_SLICE: (&str, &str) = (
    "self.metadata.name.split('.').size() >= 4 \
     && self.metadata.name.split('.')[0] == self.spec.cluster \
     && self.metadata.name.split('.')[1] == self.spec.namespace \
     && self.metadata.name.split('.')[2] == self.spec.name",
    "metadata.name must be CLUSTER.NAMESPACE.NAME.SLICE, of spec.cluster, spec.namespace and spec.name",
);

/// The policy for all other pairs says nothing of which.
pub(super) const DEFAULT_WITHOUT_SELECTORS: (&str, &str) = (
    "self.metadata.name != 'default' \
     || (!has(self.spec.leftClusterSelector) && !has(self.spec.rightClusterSelector))",
    "the policy named default must have no selectors: it holds for the pairs that no other matches",
);

/// What becomes of conflicts is said once.
pub(super) const FLAG_ON_DEFAULT: (&str, &str) = (
    "self.metadata.name == 'default' || !has(self.spec.noConnectOnConflict)",
    "spec.noConnectOnConflict must be set on the policy named default only",
);

/// Rules are not left out by accident.
pub(super) fn rules_or_no_match() -> Value {
    rule(
        "has(self.rules) || has(self.noMatch)",
        "spec.http.rules is required, unless noMatch alone leaves the rules to HTTPRoutes",
    )
}

/// A tier has a port of its own.
pub(super) fn distinct_ports() -> Value {
    rule(
        "self.all(tier, self.exists_one(other, other.port == tier.port))",
        "spec.tiers must not have two tiers with one port",
    )
}

/// One attempt takes no longer than the whole, unless that has no limit.
pub(super) fn attempt_within_request() -> Value {
    rule(
        "!has(self.request) || !has(self.backendRequest) || duration(self.request) == duration('0s') \
         || duration(self.backendRequest) <= duration(self.request)",
        "backendRequest must not be longer than request",
    )
}

/// Probes are neither so frequent that they load a tier, nor so rare that they tell nothing.
pub(super) fn interval_of_probes() -> Value {
    rule(
        "!has(self.interval) || (duration(self.interval) >= duration('200ms') && duration(self.interval) <= duration('10s'))",
        "interval must be from 200ms to 10s",
    )
}

/// What redirects sends nothing on.
pub(super) fn redirect_without_backends() -> Value {
    rule(
        "!has(self.backendRefs) || self.backendRefs.size() == 0 || !has(self.filters) \
         || self.filters.all(filter, filter.type != 'RequestRedirect')",
        "a rule with a RequestRedirect filter must have no backendRefs",
    )
}

/// What redirects rewrites nothing.
pub(super) fn redirect_without_rewrite() -> Value {
    rule(
        "!(self.exists(filter, filter.type == 'RequestRedirect') && self.exists(filter, filter.type == 'URLRewrite'))",
        "filters must not have both a RequestRedirect and a URLRewrite",
    )
}

/// A prefix is replaced where one was matched. The field is that of a filter with a path.
pub(super) fn prefix_where_matched(field: &str) -> Value {
    rule(
        &format!(
            "!has(self.matches) || !has(self.filters) \
             || self.matches.all(match, !has(match.path) || match.path.type == 'PathPrefix') \
             || self.filters.all(filter, !has(filter.{field}) || !has(filter.{field}.path) \
             || !has(filter.{field}.path.replacePrefixMatch))"
        ),
        &format!(
            "filters can have {field}.path.replacePrefixMatch only where every match's path is of type PathPrefix"
        ),
    )
}

/// A filter that a rule has once.
pub(super) fn at_most_once(kind: &str) -> Value {
    rule(
        &format!("self.filter(filter, filter.type == '{kind}').size() <= 1"),
        &format!("filters must have at most one of type {kind}"),
    )
}

/// In place of `maxItems` for a backend's filters: from 10,000 rules of 16 backends of 16 filters an API server would
/// conclude that the rules of a filter cost too much; a list without `maxItems` it measures by what a request can hold.
pub(super) fn at_most_16_filters() -> Value {
    rule("!has(self.filters) || self.filters.size() <= 16", "filters must have at most 16 items")
}

/// The field that goes with a `type`, and with no other.
pub(super) fn field_of_type(field: &str, kind: &str) -> Value {
    rule(
        &format!("has(self.{field}) == (self.type == '{kind}')"),
        &format!("{field} must be set where type is {kind}, and only there"),
    )
}

/// A mirror has one share.
pub(super) fn one_share() -> Value {
    rule("!has(self.percent) || !has(self.fraction)", "percent and fraction must not both be set")
}

/// A fraction is at most all.
pub(super) fn at_most_all() -> Value {
    rule("self.numerator <= self.denominator", "numerator must not be greater than denominator")
}

/// Labels and expressions count together.
pub(super) fn at_most_16_requirements() -> Value {
    rule(
        "(has(self.matchLabels) ? self.matchLabels.size() : 0) \
         + (has(self.matchExpressions) ? self.matchExpressions.size() : 0) <= 16",
        "a selector must have at most 16 labels and expressions",
    )
}

/// What is compared has something to be compared with, and nothing else has.
pub(super) fn values_of_operator() -> Value {
    rule(
        "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
        "values must be set where operator is In or NotIn, and only there",
    )
}

fn rule(rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message})
}
