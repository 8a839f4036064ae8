//! What is wrong with a `WANCluster` by itself.

use super::check::Check;
use crate::api::{WanCluster, WanClusterSpec, limits};
use crate::problem::{FieldPath, ObjectRef, Problem};

/// What is wrong with a `WANCluster` by itself.
pub fn wan_cluster(cluster: &WanCluster) -> Vec<Problem> {
    let mut check = Check::new(ObjectRef::of(cluster));
    check.own_names();
    let WanClusterSpec { network, tiers, egress_gateways, cable_drivers, admits, admitted } = &cluster.spec;
    if let Some(network) = network {
        check.label("spec.network", network);
    }
    check.count("spec.tiers", tiers.len(), limits::TIERS);
    for (index, tier) in tiers.iter().enumerate() {
        let field = FieldPath::from("spec.tiers").index(index);
        check.label(field.field("name"), &tier.name);
        if let Some(driver) = &tier.cable_driver {
            check.label(field.field("cableDriver"), driver);
        }
    }
    check.distinct("spec.tiers", "name", tiers.iter().map(|tier| &tier.name));
    check.distinct("spec.tiers", "port", tiers.iter().map(|tier| tier.port));
    check.count("spec.egressGateways", egress_gateways.len(), limits::NAMESPACES);
    for (index, gateway) in egress_gateways.iter().enumerate() {
        let field = FieldPath::from("spec.egressGateways").index(index);
        check.count(field.field("addresses"), gateway.addresses.len(), limits::ADDRESSES);
        check.label(field.field("namespace"), &gateway.namespace);
        if let Some(pods) = &gateway.pods {
            check.length(field.field("pods"), pods, limits::DIGEST);
        }
    }
    check.distinct("spec.egressGateways", "namespace", egress_gateways.iter().map(|gateway| &gateway.namespace));
    check.labels(&"spec.cableDrivers".into(), cable_drivers, limits::CABLE_DRIVERS);
    let admits = admits.as_deref().unwrap_or_default();
    check.count("spec.admits", admits.len(), limits::CLUSTERS);
    for (index, admission) in admits.iter().enumerate() {
        let field = FieldPath::from("spec.admits").index(index);
        check.labels(&field.field("tiers"), &admission.tiers, limits::TIERS);
        check.labels(&field.field("clusters"), &admission.clusters, limits::CLUSTERS);
    }
    let admitted = admitted.as_deref().unwrap_or_default();
    check.count("spec.admitted", admitted.len(), limits::CLUSTERS);
    for (index, one) in admitted.iter().enumerate() {
        let field = FieldPath::from("spec.admitted").index(index);
        check.label(field.field("cluster"), &one.cluster);
        check.length(field.field("egressGateways"), &one.egress_gateways, limits::DIGEST);
    }
    check.distinct("spec.admitted", "cluster", admitted.iter().map(|one| &one.cluster));
    check.problems
}

#[cfg(test)]
mod tests {
    use crate::api::validate::tests::{fields, mk};

    #[test]
    fn a_cluster_by_itself() {
        let many: Vec<_> = (1..=17).map(|port| format!("{{name: t{port}, port: {port}}}")).collect();
        let (most, too_many) = (many[..16].join(", "), many.join(", "));
        let addresses = |count| vec!["10.0.0.1"; count].join(", ");
        let gateway = |count| format!("{{egressGateways: [{{namespace: a, addresses: [{}]}}]}}", addresses(count));
        let namespaces = |count| {
            let gateways: Vec<_> = (0..count).map(|number| format!("{{namespace: n{number}}}")).collect();
            format!("{{egressGateways: [{}]}}", gateways.join(", "))
        };
        let names = |count| (0..count).map(|number| format!("n{number}")).collect::<Vec<_>>().join(", ");
        let table: [(String, &[&str], &str); 21] = [
            (gateway(256), &[], "256 addresses of a gateway"),
            (
                format!("{{egressGateways: [{{namespace: a, pods: {}}}]}}", "x".repeat(65)),
                &["spec.egressGateways[0].pods"],
                "a long digest of pods",
            ),
            (gateway(257), &["spec.egressGateways[0].addresses"], "257 addresses"),
            (namespaces(1_000), &[], "1,000 importing namespaces"),
            (namespaces(1_001), &["spec.egressGateways"], "1,001 namespaces"),
            (format!("{{tiers: [{most}]}}"), &[], "16 tiers"),
            (format!("{{tiers: [{too_many}]}}"), &["spec.tiers"], "17 tiers"),
            ("{tiers: [{name: a, port: 1}, {name: a, port: 2}]}".to_owned(), &["spec.tiers[1].name"], "one name twice"),
            ("{tiers: [{name: a, port: 1}, {name: b, port: 1}]}".to_owned(), &["spec.tiers[1].port"], "one port twice"),
            (
                "{egressGateways: [{namespace: a}, {namespace: a}]}".to_owned(),
                &["spec.egressGateways[1].namespace"],
                "one namespace twice",
            ),
            ("{tiers: [{name: a, port: 1, cableDriver: vxlan}]}".to_owned(), &[], "a tier's driver"),
            (
                "{tiers: [{name: a, port: 1, cableDriver: VXLAN}]}".to_owned(),
                &["spec.tiers[0].cableDriver"],
                "a tier's driver in capitals",
            ),
            (format!("{{cableDrivers: [{}]}}", names(16)), &[], "16 drivers"),
            (format!("{{cableDrivers: [{}]}}", names(17)), &["spec.cableDrivers"], "17 drivers"),
            ("{cableDrivers: [a, a]}".to_owned(), &["spec.cableDrivers[1]"], "a driver twice"),
            ("{admits: []}".to_owned(), &[], "nobody is admitted"),
            (format!("{{admits: [{{tiers: [a], clusters: [{}]}}]}}", names(1_000)), &[], "1,000 clusters"),
            (
                format!("{{admits: [{{tiers: [a], clusters: [{}]}}]}}", names(1_001)),
                &["spec.admits[0].clusters"],
                "1,001 clusters",
            ),
            (
                format!("{{admits: [{{tiers: [{}], clusters: [b]}}]}}", names(17)),
                &["spec.admits[0].tiers"],
                "17 tiers that are admitted",
            ),
            (
                format!("{{admitted: [{{cluster: a, egressGateways: {}}}]}}", "0".repeat(64)),
                &["spec.admitted[0].egressGateways"],
                "a digest that YAML takes for a number",
            ),
            (
                format!("{{admitted: [{{cluster: a, egressGateways: {}}}]}}", "x".repeat(65)),
                &["spec.admitted[0].egressGateways"],
                "a long digest",
            ),
        ];
        for (spec, expected, message) in table {
            assert_eq!(fields(&mk("WANCluster", "c", &spec)), expected, "{message}");
        }
    }
}
