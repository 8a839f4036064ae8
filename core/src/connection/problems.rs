//! What is wrong with policies.

use std::collections::BTreeSet;

use kube_core::Resource;

use crate::api::{ClusterConnectionPolicy, limits, validate};
use crate::problem::{FieldPath, ObjectRef, Problem, Reason};
use crate::snapshot::{Key, Snapshot};

/// What is wrong with the policies of a registry, each by itself and all together.
pub fn all_problems(snapshot: &Snapshot) -> Vec<Problem> {
    let unreadable = snapshot.unreadable_policies.iter().map(|(Key { namespace, name }, unreadable)| {
        let object = ObjectRef::namespaced(ClusterConnectionPolicy::kind(&()), &*namespace, &*name);
        let message = format!("{}: the pairs that it may match are not connected", unreadable.error);
        Problem::error(object, Reason::Unreadable, message)
    });
    let alone = snapshot.connection_policies.iter().flat_map(validate::connection_policy);
    unreadable.chain(alone).chain(problems(snapshot)).collect()
}

/// What is wrong with policies that none of them shows by itself: there are too many, or names that mean nothing.
pub fn problems(snapshot: &Snapshot) -> Vec<Problem> {
    let policies = &snapshot.wan_policies;
    let clusters = || snapshot.wan_clusters.iter().map(|cluster| &cluster.spec);
    let listed = || clusters().flat_map(|cluster| &cluster.tiers);
    let own = policies.iter().filter_map(|policy| policy.metadata.name.as_ref());
    let tiers: BTreeSet<_> = own.chain(listed().map(|tier| &tier.name)).collect();
    let own = policies.iter().filter_map(|policy| policy.spec.cable_driver.as_ref());
    let supported = clusters().flat_map(|cluster| &cluster.cable_drivers);
    let drivers: BTreeSet<_> =
        own.chain(listed().filter_map(|tier| tier.cable_driver.as_ref())).chain(supported).collect();
    let mut problems = Vec::new();
    for (place, policy) in snapshot.connection_policies.by_age().into_iter().enumerate() {
        let object = ObjectRef::of(policy);
        if place >= limits::CONNECTION_POLICIES {
            let message = format!(
                "there are already {} policies: the pairs that it matches are not connected",
                limits::CONNECTION_POLICIES
            );
            problems.push(Problem::error(object.clone(), Reason::TooLarge, message));
        }
        if let Some(driver) = policy.spec.cable_driver.as_ref().filter(|driver| !drivers.contains(driver)) {
            let message = format!("no cluster has a cable driver `{driver}`: it permits nothing");
            problems.push(Problem::warning(object.clone(), Reason::UnknownDriver, message).at("spec.cableDriver"));
        }
        for (index, tier) in policy.spec.tiers.iter().flatten().enumerate().filter(|(_, tier)| !tiers.contains(tier)) {
            let message = format!("no cluster has a tier `{tier}`: it permits nothing");
            let warning = Problem::warning(object.clone(), Reason::UnknownTier, message);
            problems.push(warning.at(FieldPath::from("spec.tiers").index(index)));
        }
    }
    problems
}
