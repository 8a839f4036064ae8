//! Which tiers two clusters may use, in any registry: both ends compute the same, and what should change nothing does not.

mod ends;

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use fastrand::Rng;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use mcwan_core::api::{
    ClusterConnectionPolicy, ClusterConnectionPolicySpec, ClusterRequirement, ClusterSelector, ClusterTier,
    REGISTRY_NAMESPACE, WanCluster, WanClusterSpec,
};
use mcwan_core::connection::{Connection, Connections, TierVerdict};
use mcwan_core::snapshot::{Objects, Snapshot};
use proptest::prelude::*;

/// The pair that is looked at; the other clusters are strangers to it.
const PAIR: [&str; 2] = ["a", "b"];
const STRANGERS: [&str; 2] = ["c", "d"];
const POLICIES: [&str; 4] = ["default", "p", "q", "r"];
const TIERS: [&str; 3] = ["high", "low", "sec"];
const DRIVERS: [&str; 2] = ["ipsec", "vxlan"];
const KEYS: [&str; 2] = ["env", "region"];
const VALUES: [&str; 2] = ["x", "y"];

/// How many are looked at. Without optimisation each takes ten times as long.
const CASES: u32 = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

/// Whether a law holds.
type Law = Result<(), TestCaseError>;

/// What the registry holds.
#[derive(Clone, Debug, Default)]
struct Registry {
    clusters: Vec<WanCluster>,
    policies: Vec<ClusterConnectionPolicy>,
}

fn some<'n>(rng: &mut Rng, names: &[&'n str]) -> Vec<&'n str> {
    let mut names: Vec<_> = names.iter().copied().filter(|_| rng.bool()).collect();
    rng.shuffle(&mut names);
    names
}

fn owned(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn driver(rng: &mut Rng) -> Option<String> {
    rng.choice([None, None, Some(DRIVERS[0]), Some(DRIVERS[1])]).flatten().map(str::to_owned)
}

fn metadata(name: &str) -> ObjectMeta {
    let (name, namespace) = (Some(name.to_owned()), Some(REGISTRY_NAMESPACE.to_owned()));
    ObjectMeta { name, namespace, ..ObjectMeta::default() }
}

fn labels(rng: &mut Rng) -> BTreeMap<String, String> {
    let pairs = some(rng, &KEYS).into_iter();
    pairs.map(|key| (key.to_owned(), VALUES[rng.usize(..VALUES.len())].to_owned())).collect()
}

fn cluster(rng: &mut Rng, name: &str) -> WanCluster {
    let tiers = some(rng, &TIERS).into_iter().chain(["all"]);
    let tiers = tiers.enumerate().map(|(place, name)| {
        let port = u16::try_from(10 * place).unwrap() + rng.u16(1..=2);
        ClusterTier { name: name.to_owned(), port: NonZeroU16::new(port).unwrap(), cable_driver: driver(rng) }
    });
    let mut tiers: Vec<_> = tiers.collect();
    // Most ports are the same everywhere.
    for tier in tiers.iter_mut().filter(|_| rng.u8(..4) > 0) {
        tier.port = NonZeroU16::MAX;
    }
    let cable_drivers = owned(some(rng, &DRIVERS));
    let mut metadata = metadata(name);
    metadata.labels = Some(labels(rng));
    WanCluster { metadata, spec: WanClusterSpec { tiers, cable_drivers, ..WanClusterSpec::default() } }
}

/// One of eight cannot be read.
fn requirement(rng: &mut Rng) -> ClusterRequirement {
    let operator = rng.choice(["In", "In", "NotIn", "NotIn", "Exists", "DoesNotExist", "Is"]).unwrap();
    let has_values = operator.ends_with("In") == (rng.u8(..16) > 0);
    let values = if has_values { owned(vec![VALUES[rng.usize(..VALUES.len())]]) } else { Vec::new() };
    let key = rng.choice(["env", "region", "kubernetes.io/metadata.name"]).unwrap().to_owned();
    ClusterRequirement { key, operator: operator.to_owned(), values }
}

fn selector(rng: &mut Rng) -> Option<ClusterSelector> {
    let match_expressions = (0..rng.usize(..3)).map(|_| requirement(rng)).collect();
    rng.bool().then(|| ClusterSelector { match_labels: labels(rng), match_expressions })
}

fn policy(rng: &mut Rng, name: &str) -> ClusterConnectionPolicy {
    let is_default = name == ClusterConnectionPolicy::DEFAULT;
    let (left, right) = if is_default { (None, None) } else { (selector(rng), selector(rng)) };
    let spec = ClusterConnectionPolicySpec {
        left_cluster_selector: left,
        right_cluster_selector: right,
        cable_driver: driver(rng),
        tiers: rng.bool().then(|| owned(some(rng, &["all", "high", "low", "sec", "unknown"]))),
        no_connect_on_conflict: rng.choice([None, Some(true), Some(false)]).flatten(),
    };
    let mut metadata = metadata(name);
    metadata.creation_timestamp = Timestamp::from_second(rng.i64(0..3)).ok().map(Time);
    ClusterConnectionPolicy { metadata, spec }
}

impl Registry {
    fn random(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let clusters = PAIR.iter().chain(&STRANGERS).map(|name| cluster(&mut rng, name)).collect();
        let policies = some(&mut rng, &POLICIES).into_iter().map(|name| policy(&mut rng, name)).collect();
        Self { clusters, policies }
    }

    fn connections(&self) -> Connections {
        Connections::new(&Snapshot {
            wan_clusters: Objects::from(self.clusters.clone()),
            connection_policies: Objects::from(self.policies.clone()),
            ..Snapshot::default()
        })
    }

    /// What holds for the pair.
    fn pair(&self) -> Connection {
        self.connections().between(PAIR[0], PAIR[1]).unwrap()
    }

    /// The same policies with their sides swapped, and every list in another order.
    fn swapped(&self) -> Self {
        let mut other = self.clone();
        other.clusters.reverse();
        other.policies.reverse();
        for WanCluster { spec, .. } in &mut other.clusters {
            spec.tiers.reverse();
            spec.cable_drivers.reverse();
        }
        for ClusterConnectionPolicy { spec, .. } in &mut other.policies {
            std::mem::swap(&mut spec.left_cluster_selector, &mut spec.right_cluster_selector);
            for selector in [&mut spec.left_cluster_selector, &mut spec.right_cluster_selector].into_iter().flatten() {
                selector.match_expressions.reverse();
            }
            spec.tiers.iter_mut().for_each(|tiers| tiers.reverse());
        }
        other
    }

    /// The same with strangers of other names and other labels.
    fn among_others(&self, seed: u64) -> Self {
        let mut rng = Rng::with_seed(!seed);
        let mut other = self.clone();
        other.clusters.truncate(PAIR.len());
        other.clusters.extend(["x", "y"].map(|name| cluster(&mut rng, name)));
        other
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_laws_hold_in_every_registry(seed: u64) {
        let registry = Registry::random(seed);
        let all = registry.connections();
        let pair = all.between(PAIR[0], PAIR[1]).unwrap();
        both_ends_compute_the_same(&registry, seed, &all, &pair)?;
        one_that_matches_both_ways_counts_once(&registry, &all, &pair)?;
        policies_only_take_away(&registry, &pair)?;
    }
}

fn both_ends_compute_the_same(registry: &Registry, seed: u64, all: &Connections, pair: &Connection) -> Law {
    let [one, other] = PAIR;
    prop_assert_eq!(&all.between(other, one).unwrap(), pair, "from the other end: {:?}", registry);
    prop_assert_eq!(&registry.swapped().pair(), pair, "sides swapped, in other orders: {:?}", registry);
    prop_assert_eq!(&registry.among_others(seed).pair(), pair, "renamed strangers: {:?}", registry);
    Ok(())
}

fn one_that_matches_both_ways_counts_once(registry: &Registry, all: &Connections, pair: &Connection) -> Law {
    let considered = all.considered(PAIR[0], PAIR[1]).unwrap();
    let matching: Vec<_> = considered.iter().filter(|policy| policy.way().is_some()).collect();
    let conflicting = if matching.len() > 1 { matching.len() } else { 0 };
    prop_assert_eq!(pair.conflicting.len(), conflicting, "{:?}", registry);
    let is_faulty = matching.iter().any(|policy| policy.fault.is_some());
    prop_assert!(!is_faulty || pair.permitted().next().is_none(), "a faulty one connects nobody: {:?}", registry);
    Ok(())
}

fn policies_only_take_away(registry: &Registry, pair: &Connection) -> Law {
    let mut free = registry.clone();
    free.policies.clear();
    let tiers = free.clusters.iter_mut().flat_map(|cluster| &mut cluster.spec.tiers);
    tiers.for_each(|tier| tier.cable_driver = None);
    let shared = free.pair();
    let is_shared = |name: &str| shared.tier(name).is_some_and(|tier| tier.refusal.is_none());
    prop_assert!(
        pair.permitted().all(|tier| is_shared(&tier.name)),
        "what was not shared is not given: {:?}",
        registry
    );
    let port = |of: usize, name: &str| {
        registry.clusters[of].spec.tiers.iter().find(|tier| tier.name == name).map(|tier| tier.port)
    };
    for TierVerdict { name, refusal, .. } in &shared.tiers {
        let has_one_port = port(0, name).is_some() && port(0, name) == port(1, name);
        prop_assert_eq!(refusal.is_none(), has_one_port, "without policies and drivers: {:?}", free);
        prop_assert!(!shared.forbids(name), "nothing is forbidden then: {:?}", free);
    }
    Ok(())
}
