//! What this cluster tells the others of itself, and whom it admits.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{AdmittedCluster, ClusterTier, EgressGateway, REGISTRY_NAMESPACE, WanCluster, WanClusterSpec, limits};
use crate::connection::Member;
use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::Snapshot;
use crate::translate::gateway_pods::{EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, addresses_of, known_pods};
use crate::translate::{Admissions, Admitted, Import, Translator, gateways_digest, pods_digest};

/// The gateways that requests leave this cluster by.
const OURS: [&str; 2] = [EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY];

/// The namespaces whose egress gateways call exports, by the namespace of these exports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callers<'i>(BTreeMap<&'i str, BTreeSet<&'i str>>);

impl<'i> FromIterator<&'i Import> for Callers<'i> {
    fn from_iter<T: IntoIterator<Item = &'i Import>>(imports: T) -> Self {
        let mut callers: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for import in imports {
            callers.entry(&*import.wire.namespace).or_default().insert(&*import.key.namespace);
        }
        Self(callers)
    }
}

impl Translator {
    /// Who calls exports by the imports that are wanted. By what they were before, requests may still leave.
    pub fn callers(&self) -> Callers<'_> {
        self.imports.values().map(|import| &**import).collect()
    }

    /// What this cluster tells the registry of itself, but for its network.
    pub fn cluster(&self, snapshot: &Snapshot, callers: &Callers<'_>) -> WanClusterSpec {
        let tiers = self.exports.tier_ports().filter_map(|(name, port)| {
            let policy = snapshot.wan_policies.get("", name)?;
            let cable_driver = policy.spec.cable_driver.clone();
            Some(ClusterTier { name: name.to_owned(), port: port.try_into().ok()?, cable_driver })
        });
        // What is over a bound would make the registry refuse all of it.
        let mut egress_gateways = egress_gateways(snapshot, callers);
        egress_gateways.truncate(limits::NAMESPACES);
        for gateway in &mut egress_gateways {
            gateway.addresses.truncate(limits::ADDRESSES);
        }
        let own = |member: &&Member| self.options.cluster.as_deref() == Some(member.name());
        let own = || self.exports.everywhere().members().find(own);
        let known = || own().into_iter().flat_map(Member::cable_drivers).map(str::to_owned).collect();
        WanClusterSpec {
            tiers: tiers.collect(),
            egress_gateways,
            cable_drivers: self.options.cable_drivers.clone().unwrap_or_else(known),
            admits: Admissions::permitted(&self.exports).grouped(),
            admitted: Some(self.admitted_clusters(snapshot)).filter(|admitted| !admitted.is_empty()),
            ..WanClusterSpec::default()
        }
    }

    /// The other clusters whose egress gateways call what this one exports, as they are to be admitted.
    fn admitted_clusters(&self, snapshot: &Snapshot) -> Vec<AdmittedCluster> {
        let callers = self.admitted_from(snapshot).filter(|(_, cluster)| {
            cluster.spec.egress_gateways.iter().any(|gateway| self.is_exporting(&gateway.namespace))
        });
        let admitted = callers.map(|(name, cluster)| AdmittedCluster {
            cluster: name.to_owned(),
            egress_gateways: gateways_digest(&cluster.spec.egress_gateways),
        });
        admitted.take(limits::CLUSTERS).collect()
    }

    /// The other clusters, but those that have been silent for too long.
    fn admitted_from<'s>(&'s self, snapshot: &'s Snapshot) -> impl Iterator<Item = (&'s str, &'s WanCluster)> {
        let own = self.options.cluster.as_deref();
        let named =
            snapshot.wan_clusters.iter().filter_map(|cluster| Some((cluster.metadata.name.as_deref()?, cluster)));
        named.filter(move |(name, _)| Some(*name) != own && !snapshot.refused_clusters.contains(*name))
    }

    /// What of [`Self::cluster`] the registry is not told, as it is too much: requests from there are refused elsewhere.
    pub fn cluster_problems(&self, snapshot: &Snapshot, callers: &Callers<'_>) -> Vec<Problem> {
        let cluster = self.options.cluster.clone().unwrap_or_default();
        let object = ObjectRef::namespaced("WANCluster", REGISTRY_NAMESPACE, cluster);
        let error =
            |message: String| Problem::error(object.clone(), Reason::TooLarge, message).at("spec.egressGateways");
        let gateways = egress_gateways(snapshot, callers);
        let mut problems = Vec::new();
        if gateways.len() > limits::NAMESPACES {
            let message = format!("{} namespaces import, over the bound of {}", gateways.len(), limits::NAMESPACES);
            problems.push(error(message));
        }
        for EgressGateway { namespace, addresses, .. } in &gateways {
            if addresses.len() > limits::ADDRESSES {
                let (count, bound) = (addresses.len(), limits::ADDRESSES);
                let message = format!("the gateways of {namespace} have {count} addresses, over the bound of {bound}");
                problems.push(error(message));
            }
        }
        problems
    }

    /// From where requests for exports of a namespace are let in: from the egress gateways of that namespace in the other
    /// clusters, but for clusters that have been silent for too long, on the tiers that the pair of clusters may use.
    pub fn admitted(&self, snapshot: &Snapshot, namespace: &str) -> Admitted {
        let others: Vec<_> = self.admitted_from(snapshot).collect();
        let of_tier = |(tier, port): (&str, u16)| {
            let is_refused = |name: &str| self.exports.connection(name).is_some_and(|pair| pair.forbids(tier));
            let admitted = others.iter().filter(|(name, _)| !is_refused(name));
            let gateways = admitted.flat_map(|(_, cluster)| &cluster.spec.egress_gateways);
            let addresses = gateways.filter(|gateway| gateway.namespace == namespace);
            (port, addresses.flat_map(|gateway| gateway.addresses.iter().copied()).collect())
        };
        Admitted::new(self.exports.tier_ports().map(of_tier).collect())
    }
}

/// Where requests leave this cluster.
fn egress_gateways(snapshot: &Snapshot, callers: &Callers<'_>) -> Vec<EgressGateway> {
    let gateways = callers.0.iter().filter_map(|(namespace, places)| {
        let known = places.iter().flat_map(|place| known_pods(snapshot, place, &OURS));
        let pods: Vec<_> = known.collect();
        let addresses: BTreeSet<_> = pods.iter().copied().flat_map(addresses_of).collect();
        let addresses: Vec<_> = addresses.into_iter().collect();
        let pods = Some(pods_digest(pods));
        (!addresses.is_empty()).then(|| EgressGateway { namespace: (*namespace).to_owned(), addresses, pods })
    });
    gateways.collect()
}
