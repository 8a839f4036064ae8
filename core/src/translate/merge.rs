//! What a service is to the clients of every cluster, of what the clusters that export it say of it (KEP-1645,
//! "Constraints and Conflict Resolution"): the same in every cluster, as all see the same.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::{ExportedPort, Protocol, ServiceProperties};
use crate::problem::Reason;

/// What decides where clusters disagree about a service: the lesser is the older, and holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Precedence {
    /// The later of the export's own time and the time when the registry first had its cluster. The registry stamps
    /// that: no newcomer is older than he is, whatever he says.
    pub since: Time,
    /// When the `ServiceExport` was created.
    pub exported_at: Time,
    /// The cluster.
    pub cluster: String,
}

/// What one cluster says of a service.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'d> {
    /// How old its export is.
    pub precedence: &'d Precedence,
    /// The ports of the Service there.
    pub ports: &'d [ExportedPort],
    /// What else it is to its clients.
    pub properties: &'d ServiceProperties,
}

/// What a service is in every cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged<'d> {
    /// Whose properties hold.
    pub oldest: &'d Precedence,
    /// The union of all ports, those of older exports first. Of equal names, or equal protocols and numbers, the oldest's
    /// is there. Where there are several, each has a name, as a Service needs it.
    pub ports: Vec<ExportedPort>,
    /// The oldest export's.
    pub properties: &'d ServiceProperties,
    /// What the clusters disagree about, as the Multi-Cluster Services API names it; none: they agree.
    pub conflicts: Vec<Conflict>,
}

/// Something that clusters disagree about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What the Multi-Cluster Services API calls it.
    pub reason: Reason,
    /// The field that it is about: of the Service, or of the `ServiceExport`.
    pub field: &'static str,
}

/// Whether two clusters agree about a property.
type Agreement = fn(&ServiceProperties, &ServiceProperties) -> bool;

/// The properties in which the oldest export holds alone: each with its conflict and its field.
const PROPERTIES: [(Reason, &str, Agreement); 7] = [
    (Reason::TypeConflict, "type", |one, other| one.service_type == other.service_type),
    (Reason::SessionAffinityConflict, "sessionAffinity", |one, other| one.session_affinity == other.session_affinity),
    (Reason::SessionAffinityConfigConflict, "sessionAffinityConfig", |one, other| {
        one.session_affinity_seconds == other.session_affinity_seconds
    }),
    (Reason::AnnotationsConflict, "exportedAnnotations", |one, other| one.annotations == other.annotations),
    (Reason::LabelsConflict, "exportedLabels", |one, other| one.labels == other.labels),
    (Reason::InternalTrafficPolicyConflict, "internalTrafficPolicy", |one, other| {
        one.internal_traffic_policy == other.internal_traffic_policy
    }),
    (Reason::TrafficDistributionConflict, "trafficDistribution", |one, other| {
        one.traffic_distribution == other.traffic_distribution
    }),
];

/// Merges what clusters say of one service; none where none says anything.
pub fn merge(mut declared: Vec<Declared<'_>>) -> Option<Merged<'_>> {
    declared.sort_by_key(|one| one.precedence);
    let (oldest, younger) = declared.split_first()?;
    let mut conflicts = Vec::new();
    if younger.iter().any(|one| !is_permutation(one.ports, oldest.ports)) {
        conflicts.push(Conflict { reason: Reason::PortConflict, field: "ports" });
    }
    for (reason, field, is_same) in PROPERTIES {
        if !younger.iter().all(|one| is_same(one.properties, oldest.properties)) {
            conflicts.push(Conflict { reason, field });
        }
    }
    let ports = named(union(&declared));
    Some(Merged { oldest: oldest.precedence, ports, properties: oldest.properties, conflicts })
}

/// Whether two lists have the same ports, in any order. Each has a number and protocol once.
fn is_permutation(one: &[ExportedPort], other: &[ExportedPort]) -> bool {
    one.len() == other.len() && one.iter().all(|port| other.contains(port))
}

fn union(declared: &[Declared<'_>]) -> Vec<ExportedPort> {
    let mut union: Vec<ExportedPort> = Vec::new();
    for port in declared.iter().flat_map(|one| one.ports) {
        let is_taken = |older: &ExportedPort| {
            let has_name = port.name.is_some() && port.name == older.name;
            has_name || port.number() == older.number()
        };
        if !union.iter().any(is_taken) {
            union.push(port.clone());
        }
    }
    union
}

/// Gives each of several ports a name, which a single one need not have (Kubernetes, `ServicePort`).
fn named(mut ports: Vec<ExportedPort>) -> Vec<ExportedPort> {
    if ports.len() < 2 {
        return ports;
    }
    let mut names: BTreeSet<_> = ports.iter().filter_map(|port| port.name.clone()).collect();
    for port in ports.iter_mut().filter(|port| port.name.is_none()) {
        // Istio reads a protocol out of a name that begins with one.
        let protocol = match port.protocol {
            Protocol::Tcp => "",
            Protocol::Udp => "udp-",
            Protocol::Sctp => "sctp-",
        };
        let mut name = format!("port-{protocol}{}", port.port);
        while !names.insert(name.clone()) {
            name.push('x');
        }
        port.name = Some(name);
    }
    ports
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::api::{ServiceType, SessionAffinity, TrafficPolicy};

    struct Export {
        precedence: Precedence,
        ports: Vec<ExportedPort>,
        properties: ServiceProperties,
    }

    impl Export {
        fn declared(&self) -> Declared<'_> {
            Declared { precedence: &self.precedence, ports: &self.ports, properties: &self.properties }
        }
    }

    fn at(day: i64) -> Time {
        Time(Timestamp::from_second(day * 86_400).unwrap())
    }

    fn mk_port(name: &str, port: u16, protocol: Protocol) -> ExportedPort {
        let name = (!name.is_empty()).then(|| name.to_owned());
        ExportedPort { name, port: port.try_into().unwrap(), protocol, app_protocol: None }
    }

    /// An export of a day by a cluster that has been there since another.
    fn mk(cluster: &str, joined: i64, exported: i64, ports: &[(&str, u16)]) -> Export {
        Export {
            precedence: Precedence {
                since: at(joined.max(exported)),
                exported_at: at(exported),
                cluster: cluster.to_owned(),
            },
            ports: ports.iter().map(|(name, port)| mk_port(name, *port, Protocol::Tcp)).collect(),
            properties: ServiceProperties::default(),
        }
    }

    fn merged(exports: &[&Export]) -> (String, Vec<(String, u16)>, Vec<Reason>) {
        let merged = merge(exports.iter().map(|export| export.declared()).collect()).unwrap();
        let ports = merged.ports.iter().map(|port| (port.name.clone().unwrap_or_default(), port.port.get()));
        let reasons = merged.conflicts.iter().map(|conflict| conflict.reason).collect();
        (merged.oldest.cluster.clone(), ports.collect(), reasons)
    }

    fn owned(ports: &[(&str, u16)]) -> Vec<(String, u16)> {
        ports.iter().map(|(name, port)| ((*name).to_owned(), *port)).collect()
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!(merge(Vec::new()), None);
    }

    #[test]
    fn the_oldest_holds_whoever_is_heard_first() {
        let table = [
            (mk("b", 1, 2, &[]), mk("a", 1, 3, &[]), "b", "who exported first"),
            (mk("b", 5, 1, &[]), mk("a", 1, 3, &[]), "a", "a newcomer who says that he exported first"),
            (mk("b", 5, 1, &[]), mk("a", 5, 2, &[]), "b", "two newcomers of one day: their own times"),
            (mk("b", 1, 2, &[]), mk("a", 1, 2, &[]), "a", "equal times: the name"),
        ];
        for (one, other, expected, row) in &table {
            for order in [[one, other], [other, one]] {
                assert_eq!(merged(&order).0, *expected, "{row}");
            }
        }
    }

    #[test]
    fn ports_are_the_union_in_which_the_older_holds() {
        type Ports<'p> = &'p [(&'p str, u16)];
        let table: [(Ports<'_>, Ports<'_>, Ports<'_>, bool, &str); 8] = [
            (&[("http", 80)], &[("http", 80)], &[("http", 80)], false, "the same"),
            (&[("a", 1), ("b", 2)], &[("b", 2), ("a", 1)], &[("a", 1), ("b", 2)], false, "in another order"),
            (&[("a", 1)], &[("a", 1), ("b", 2)], &[("a", 1), ("b", 2)], true, "one more"),
            (&[("a", 1), ("b", 2)], &[("a", 1)], &[("a", 1), ("b", 2)], true, "one less"),
            (&[("http", 80)], &[("http", 81)], &[("http", 80)], true, "another number of one name"),
            (&[("http", 80)], &[("web", 80)], &[("http", 80)], true, "another name of one number"),
            (&[("", 80)], &[("", 80)], &[("", 80)], false, "a single one needs no name"),
            (&[("", 80)], &[("web", 81)], &[("port-80", 80), ("web", 81)], true, "of several each has one"),
        ];
        for (older, younger, expected, is_conflict, row) in table {
            let (older, younger) = (mk("a", 1, 1, older), mk("b", 1, 2, younger));
            for order in [[&older, &younger], [&younger, &older]] {
                let (_, ports, reasons) = merged(&order);
                assert_eq!(ports, owned(expected), "{row}");
                assert_eq!(!reasons.is_empty(), is_conflict, "{row}: {reasons:?}");
            }
        }
        let mut both = mk("a", 1, 1, &[("dns", 53)]);
        both.ports.push(mk_port("dns-udp", 53, Protocol::Udp));
        assert_eq!(merged(&[&both]).1, owned(&[("dns", 53), ("dns-udp", 53)]), "a number of each protocol");
        let taken = mk("a", 1, 1, &[("port-80", 81), ("", 80)]);
        assert_eq!(merged(&[&taken]).1, owned(&[("port-80", 81), ("port-80x", 80)]), "a name that is taken");
    }

    #[test]
    fn every_difference_is_a_conflict_in_which_the_oldest_holds() {
        let one = || BTreeMap::from([("key".to_owned(), "value".to_owned())]);
        let none = ServiceProperties::default;
        let table = [
            (ServiceProperties { service_type: ServiceType::Headless, ..none() }, Reason::TypeConflict),
            (
                ServiceProperties { session_affinity: SessionAffinity::ClientIp, ..none() },
                Reason::SessionAffinityConflict,
            ),
            (ServiceProperties { session_affinity_seconds: Some(10), ..none() }, Reason::SessionAffinityConfigConflict),
            (ServiceProperties { annotations: one(), ..none() }, Reason::AnnotationsConflict),
            (ServiceProperties { labels: one(), ..none() }, Reason::LabelsConflict),
            (
                ServiceProperties { internal_traffic_policy: TrafficPolicy::Local, ..none() },
                Reason::InternalTrafficPolicyConflict,
            ),
            (
                ServiceProperties { traffic_distribution: Some("PreferClose".to_owned()), ..none() },
                Reason::TrafficDistributionConflict,
            ),
        ];
        for (properties, reason) in table {
            let mut older = mk("a", 1, 1, &[("http", 80)]);
            let younger = mk("b", 1, 2, &[("http", 80)]);
            older.properties = properties;
            let merged = merge(vec![younger.declared(), older.declared()]).unwrap();
            assert_eq!(merged.properties, &older.properties, "{reason}: whole, and none of the younger's");
            assert_eq!(merged.conflicts.iter().map(|conflict| conflict.reason).collect::<Vec<_>>(), [reason]);
        }
    }

    /// Whatever three clusters export, change and take back, in any order and at equal times: what comes of it depends on
    /// what is there, and on nothing else.
    #[test]
    fn three_exports_merge_alike_in_every_order() {
        let ports: [&[(&str, u16)]; 4] =
            [&[("http", 80)], &[("http", 81)], &[("web", 80), ("", 443)], &[("a", 1), ("b", 2)]];
        for choice in 0..4_usize.pow(3) * 8 {
            let of = |place: usize| ports[choice / 4_usize.pow(u32::try_from(place).unwrap()) % 4];
            let times = choice / 64;
            let day = |place: usize| i64::try_from(times >> place & 1).unwrap();
            let all = [0, 1, 2].map(|place| mk(["a", "b", "c"][place], day(place), 0, of(place)));
            for left in [&[0, 1, 2][..], &[0, 1], &[1, 2], &[0, 2]] {
                let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
                let results = orders.map(|order| {
                    let left: Vec<_> = order.iter().filter(|place| left.contains(place)).collect();
                    merged(&left.iter().map(|place| &all[**place]).collect::<Vec<_>>())
                });
                assert!(results.iter().all(|result| *result == results[0]), "{choice} of {left:?}: {results:?}");
            }
        }
    }
}
