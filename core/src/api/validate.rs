//! What the types do not say of a sound object: what is left of a CRD's schema, and the rules for names.
//!
//! What `mcwan-policy` checks when it compiles (hosts, matches, rewrites) is checked there alone, and what makes a
//! single rule answer 500 (filters, backends) in [`crate::translate`].

mod check;
mod connection_policy;
mod http_rule;
mod route;
mod wan_cluster;

use std::collections::HashSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use mcwan_policy::limits;

use super::exportable::{is_key, is_label_value};
use super::limits as bounds;
use super::{
    AddressType, Duration, ExportedEndpoints, ExportedService, HttpRule, ServiceExport, ServiceImport,
    ServiceProperties, WanPolicy,
};
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};
use check::Check;

pub use connection_policy::connection_policy;
pub use route::route;
pub use wan_cluster::wan_cluster;

/// Whoever promises a loss wants to know within less time that it is not kept.
const LONG_LOSS: std::time::Duration = std::time::Duration::from_mins(10);

/// The tiers that hold, and what is wrong: of two with one port the older has it, but both are told, and there are at
/// most [`limits::TIERS`]. The policies come oldest first.
pub fn tiers<'p>(policies: impl IntoIterator<Item = &'p WanPolicy>) -> (Vec<&'p WanPolicy>, Vec<Problem>) {
    let mut tiers: Vec<&WanPolicy> = Vec::new();
    let mut problems = Vec::new();
    for policy in policies {
        if let Some(older) = tiers.iter().find(|tier| tier.spec.port == policy.spec.port) {
            let (older, younger, port) = (ObjectRef::of(*older), ObjectRef::of(policy), policy.spec.port);
            let kept = format!("the younger {younger} also asks for port {port}, and does not get it");
            let refused = format!("port {port} is already {older}'s");
            let both = [
                Problem::warning(older, Reason::PortConflict, kept),
                Problem::error(younger, Reason::PortConflict, refused),
            ];
            let told = |problem: Problem| problem.at("spec.port").hint("give every tier a port of its own");
            problems.extend(both.map(told));
        } else if tiers.len() == limits::TIERS {
            let message = format!("there are already {} tiers", limits::TIERS);
            problems.push(Problem::error(ObjectRef::of(policy), Reason::TooLarge, message));
        } else {
            problems.extend(slow_loss(policy));
            tiers.push(policy);
        }
    }
    (tiers, problems)
}

/// That it takes long until a tier is found to lose more than it may.
fn slow_loss(policy: &WanPolicy) -> Option<Problem> {
    let takes = policy.spec.detection().loss.filter(|takes| *takes > LONG_LOSS)?;
    let minutes = takes.as_secs().div_ceil(60);
    let message = format!("a path that loses four times as much is found out after {minutes} minutes on average");
    let problem = Problem::warning(ObjectRef::of(policy), Reason::SlowToJudge, message).at("spec.sla.lossPercent");
    Some(problem.hint("allow more, or probe more often by spec.probe.interval"))
}

/// What is wrong with a `WANPolicy` by itself.
pub fn wan_policy(policy: &WanPolicy) -> Vec<Problem> {
    let mut check = Check::new(ObjectRef::of(policy));
    check.own_names();
    if let Some(driver) = &policy.spec.cable_driver {
        check.label("spec.cableDriver", driver);
    }
    let interval = policy.spec.probe.and_then(|probe| probe.interval);
    if let Some(interval) = interval.filter(|interval| !is_probe_interval(*interval)) {
        let (least, most) = (limits::PROBE_INTERVAL_MS.start(), limits::PROBE_INTERVAL_MS.end());
        let message = format!("{interval} is not from {least} ms to {most} ms");
        check.error("spec.probe.interval", Reason::InvalidValue, message);
    }
    check.problems
}

fn is_probe_interval(interval: Duration) -> bool {
    u32::try_from(interval.as_millis()).is_ok_and(|interval| limits::PROBE_INTERVAL_MS.contains(&interval))
}

/// What is wrong with a `ServiceImport` by itself.
pub fn service_import(import: &ServiceImport) -> Vec<Problem> {
    let mut check = Check::new(ObjectRef::of(import));
    check.own_names();
    if import.spec.http.as_ref().is_some_and(|http| http.rules.is_none() && http.no_match.is_none()) {
        let message = "write rules, or `noMatch` alone, which leaves them to HTTPRoutes";
        check.error(ServiceImport::FIELDS.rules, Reason::MissingField, message);
    }
    let rules = import.spec.http.iter().flat_map(|http| &http.rules).flatten();
    let mut names = HashSet::new();
    for (index, rule) in rules.enumerate() {
        let field = ServiceImport::FIELDS.rule(index);
        if let Some(name) = rule.name.as_deref().filter(|name| !names.insert(*name)) {
            let message = format!("an earlier rule is named `{name}`: logs do not tell which one took a request");
            let problem = Problem::warning(check.object.clone(), Reason::Duplicate, message);
            check.problems.push(problem.at(field.field("name")));
        }
        http_rule::check(&mut check, &field, rule);
    }
    check.problems
}

/// What is wrong with a rule by itself, if anything is: the first field, as seen from the rule.
pub fn first_fault(rule: &HttpRule) -> Option<(FieldPath, String)> {
    let mut check = Check::new(ObjectRef::default());
    http_rule::check(&mut check, &FieldPath::root(), rule);
    check.problems.into_iter().next().map(|problem| (problem.field, problem.message))
}

/// What is wrong with an `ExportedService` by itself.
pub fn exported_service(export: &ExportedService) -> Vec<Problem> {
    let mut check = Check::new(ObjectRef::of(export));
    let spec = &export.spec;
    check.label("spec.cluster", &spec.cluster);
    check.label("spec.namespace", &spec.namespace);
    check.label("spec.name", &spec.name);
    if let Some(tier) = &spec.default_tier {
        check.label("spec.defaultTier", tier);
    }
    let expected = format!("{}.{}.{}", spec.cluster, spec.namespace, spec.name);
    if check.object.name != expected {
        check.error(
            "metadata.name",
            Reason::InvalidName,
            format!("the name is not CLUSTER.NAMESPACE.NAME: `{expected}`"),
        );
    }
    if spec.ports.is_empty() {
        check.error("spec.ports", Reason::Missing, "there is no port");
    }
    check.count("spec.ports", spec.ports.len(), bounds::PORTS);
    check.count("spec.gateways", spec.gateways.len(), bounds::ADDRESSES);
    for (index, port) in spec.ports.iter().enumerate() {
        for (field, text, max) in
            [("name", &port.name, bounds::PORT_NAME), ("appProtocol", &port.app_protocol, bounds::APP_PROTOCOL)]
        {
            let length = text.as_ref().map_or(0, |text| text.chars().count());
            check.count(FieldPath::from("spec.ports").index(index).field(field), length, max);
        }
        // The Service that clients call has it, and Kubernetes takes no other there (`ServicePort.appProtocol`).
        if let Some(protocol) = port.app_protocol.as_deref().filter(|protocol| !is_key(protocol)) {
            let field = FieldPath::from("spec.ports").index(index).field("appProtocol");
            check.error(field, Reason::InvalidName, format!("`{protocol}` is no name that Kubernetes takes"));
        }
    }
    let ServiceProperties { labels, annotations, .. } = &spec.properties;
    check.exported("spec.properties.labels", labels, is_label_value);
    check.exported("spec.properties.annotations", annotations, |_| true);
    check.distinct("spec.ports", "port", spec.ports.iter().map(|port| (port.port, port.protocol)));
    check.problems
}

/// What is wrong with an `ExportedEndpoints` by itself.
pub fn exported_endpoints(exported: &ExportedEndpoints) -> Vec<Problem> {
    let mut check = Check::new(ObjectRef::of(exported));
    let spec = &exported.spec;
    check.label("spec.cluster", &spec.cluster);
    check.label("spec.namespace", &spec.namespace);
    check.label("spec.name", &spec.name);
    let prefix = format!("{}.{}.{}.", spec.cluster, spec.namespace, spec.name);
    if !check.object.name.starts_with(&prefix) {
        let message = format!("the name is not CLUSTER.NAMESPACE.NAME.SLICE: `{prefix}…`");
        check.error("metadata.name", Reason::InvalidName, message);
    }
    check.count("spec.ports", spec.ports.len(), bounds::PORTS);
    check.count("spec.endpoints", spec.endpoints.len(), bounds::ENDPOINTS);
    for (index, endpoint) in spec.endpoints.iter().enumerate() {
        let field = FieldPath::from("spec.endpoints").index(index);
        if endpoint.address.is_ipv4() != (spec.address_type == AddressType::Ipv4) {
            let message = format!("{} is no {} address", endpoint.address, spec.address_type.name());
            check.error(field.field("address"), Reason::InvalidAddress, message);
        }
        if let Some(hostname) = &endpoint.hostname {
            check.label(field.field("hostname"), hostname);
        }
    }
    check.problems
}

/// What is wrong with a `ServiceExport` by itself. Whether there is the tier that it names, [`crate::translate`] tells.
pub fn service_export(export: &ServiceExport) -> Vec<Problem> {
    let ObjectMeta { namespace, name, .. } = export.metadata.clone();
    let mut check =
        Check::new(ObjectRef { kind: ServiceExport::KIND.to_owned(), namespace, name: name.unwrap_or_default() });
    check.own_names();
    check.problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Gathered;
    use crate::snapshot::finding::Finding;

    /// The fields that errors name, of the only object in a document.
    pub(super) fn fields(document: &str) -> Vec<String> {
        let gathered = Gathered::from_text("test.yaml", document);
        let findings = gathered.findings.into_iter();
        let text = |Finding { field, message, .. }| if field.is_root() { message } else { field.to_string() };
        findings.map(text).collect()
    }

    pub(super) fn mk(kind: &str, name: &str, spec: &str) -> String {
        let namespace = match kind {
            "WANPolicy" => "",
            "ClusterConnectionPolicy" => ", namespace: mc-wan-registry",
            _ => ", namespace: secure",
        };
        format!(
            "{{apiVersion: mc-wan.l7mp.io/v1alpha1, kind: {kind}, metadata: {{name: {name:?}{namespace}}}, spec: {spec}}}"
        )
    }

    fn mk_rule(rule: &str) -> String {
        mk("ServiceImport", "payment", &format!("{{http: {{rules: [{rule}]}}}}"))
    }

    fn mk_export(name: &str, spec: &str) -> String {
        let spec = format!("{{cluster: c, namespace: ns, name: pay, exportedAt: '2026-11-20T08:00:00Z', {spec}}}");
        mk("ExportedService", name, &spec)
    }

    #[test]
    fn names_are_dns_labels() {
        let (longest, longer) = ("a".repeat(63), "a".repeat(64));
        let table = [
            ("a", true, "one letter"),
            ("a-1", true, "a dash inside"),
            ("1a", true, "a digit first"),
            (&longest, true, "the longest"),
            (&longer, false, "too long"),
            ("-a", false, "a dash first"),
            ("a-", false, "a dash last"),
            ("A", false, "upper case"),
            ("a.b", false, "a dot"),
            ("a_b", false, "an underscore"),
            ("é", false, "not ASCII"),
        ];
        for (name, sound, message) in table {
            let expected: &[&str] = if sound { &[] } else { &["metadata.name"] };
            assert_eq!(fields(&mk("WANPolicy", name, "{port: 1}")), expected, "{message}: {name}");
        }
    }

    #[test]
    fn a_wan_policy_by_itself() {
        let table: [(&str, &[&str], &str); 6] = [
            ("{}", &[], "as it comes"),
            ("{interval: 200ms}", &[], "the shortest"),
            ("{interval: 10s}", &[], "the longest"),
            ("{interval: 199ms}", &["spec.probe.interval"], "shorter"),
            ("{interval: 10s1ms}", &["spec.probe.interval"], "longer"),
            ("{interval: 99999h}", &["spec.probe.interval"], "longer than can be counted"),
        ];
        for (probe, expected, message) in table {
            assert_eq!(fields(&mk("WANPolicy", "a", &format!("{{port: 1, probe: {probe}}}"))), expected, "{message}");
        }
    }

    #[test]
    fn a_service_import_by_itself() {
        let backend = |rest: &str| format!("{{backendRefs: [{{name: a}}, {{name: b, {rest}}}]}}");
        let fallbacks = |count| format!("{{sla: {{fallbacks: [{}]}}}}", vec!["a"; count].join(", "));
        let table: [(String, &[&str], &str); 10] = [
            ("{sla: {}}".to_owned(), &[], "no fallback"),
            (fallbacks(8), &[], "as many fallbacks as there may be"),
            (fallbacks(9), &["spec.http.rules[0].sla.fallbacks"], "a fallback more"),
            ("{sla: {fallbacks: [a, A]}}".to_owned(), &["spec.http.rules[0].sla.fallbacks[1]"], "no name of a tier"),
            (backend("weight: 1000000"), &[], "the greatest weight"),
            (backend("weight: 1000001"), &["spec.http.rules[0].backendRefs[1].weight"], "too great a weight"),
            ("{timeouts: {request: 1s, backendRequest: 1s}}".to_owned(), &[], "equal timeouts"),
            (
                "{timeouts: {request: 1s, backendRequest: 2s}}".to_owned(),
                &["spec.http.rules[0].timeouts.backendRequest"],
                "an attempt longer than the whole",
            ),
            ("{timeouts: {request: 0s, backendRequest: 2s}}".to_owned(), &[], "no limit for the whole"),
            ("{name: a}, {name: b}, {name: a}".to_owned(), &["spec.http.rules[2].name"], "a name used twice"),
        ];
        for (rule, expected, message) in table {
            assert_eq!(fields(&mk_rule(&rule)), expected, "{message}");
        }
    }

    #[test]
    fn an_exported_service_by_itself() {
        let ports = |count| (1..=count).map(|port| format!("{{port: {port}}}")).collect::<Vec<_>>().join(", ");
        let table: [(String, &[&str], &str); 10] = [
            (
                mk_export("c.ns.pay", &format!("ports: [{}]", ports(64))),
                &[],
                "as many ports as a Gateway has listeners",
            ),
            (mk_export("c.ns.pay", &format!("ports: [{}]", ports(65))), &["spec.ports"], "a port more"),
            (mk_export("c.ns.pay", "ports: [{port: 1}]"), &[], "sound"),
            (mk_export("c.ns.other", "ports: [{port: 1}]"), &["metadata.name"], "another name"),
            (mk_export("c.ns.pay", "ports: []"), &["spec.ports"], "no port"),
            (mk_export("c.ns.pay", "ports: [{port: 1, appProtocol: kubernetes.io/h2c}]"), &[], "a qualified name"),
            (
                mk_export("c.ns.pay", "ports: [{port: 1, appProtocol: a b}]"),
                &["spec.ports[0].appProtocol"],
                "one that no Service can have",
            ),
            (mk_export("c.ns.pay", "ports: [{port: 1}, {port: 1, protocol: UDP}]"), &[], "a port of each protocol"),
            (mk_export("c.ns.pay", "ports: [{port: 1}, {port: 1}]"), &["spec.ports[1].port"], "one port twice"),
            (mk_export("c.ns.pay", "ports: [{port: 1}], defaultTier: A"), &["spec.defaultTier"], "a bad tier name"),
        ];
        for (document, expected, message) in table {
            assert_eq!(fields(&document), expected, "{message}");
        }
    }

    #[test]
    fn of_two_tiers_with_one_port_the_older_holds_and_both_are_told() {
        let mut documents: Vec<_> =
            (1..=17).map(|n| mk("WANPolicy", &format!("t{n}"), &format!("{{port: {n}}}"))).collect();
        documents.insert(1, mk("WANPolicy", "younger", "{port: 1}"));
        let gathered = Gathered::from_text("test.yaml", &documents.join("\n---\n"));
        let (tiers, problems) = tiers(gathered.snapshot.wan_policies.by_age());
        assert_eq!(tiers.len(), limits::TIERS);
        let problems: Vec<_> = problems.iter().map(|problem| (problem.object.name.as_str(), problem.reason)).collect();
        assert_eq!(
            problems,
            [("t1", Reason::PortConflict), ("younger", Reason::PortConflict), ("t17", Reason::TooLarge)]
        );
    }

    #[test]
    fn a_loss_that_takes_long_to_show_is_told_with_the_time() {
        for (spec, minutes) in [
            ("{port: 1, sla: {lossPercent: '0.5'}}", None),
            ("{port: 1, sla: {lossPercent: '0.1'}}", Some(30)),
            ("{port: 1, sla: {lossPercent: '0.1'}, probe: {interval: 200ms}}", None),
            ("{port: 1, sla: {lossPercent: '0.5'}, probe: {interval: 10s}}", Some(54)),
            ("{port: 1, sla: {lossPercent: '0'}, probe: {interval: 10s}}", None),
            ("{port: 1, sla: {latencyMs: 1}, probe: {interval: 10s}}", None),
        ] {
            let gathered = Gathered::from_text("test.yaml", &mk("WANPolicy", "high", spec));
            let (tiers, problems) = tiers(gathered.snapshot.wan_policies.by_age());
            assert_eq!(tiers.len(), 1, "{spec}: it holds");
            let told: Vec<_> = problems.iter().map(|problem| (problem.reason, problem.message.clone())).collect();
            let message = |minutes: i32| {
                format!("a path that loses four times as much is found out after {minutes} minutes on average")
            };
            let want: Vec<_> = minutes.into_iter().map(|minutes| (Reason::SlowToJudge, message(minutes))).collect();
            assert_eq!(told, want, "{spec}");
        }
    }
}
