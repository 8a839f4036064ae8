//! Whether clusters admit whom they are to, and nobody steers to where policies forbid.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use mcwan_core::moment::Moment;
use mcwan_core::watched::Watched;

use super::{Admission, Caller, Other};
use crate::gateway::{Gate, Pod, Stage};
use crate::script::{CLUSTERS, Cluster, NAMESPACES, Pace, TIERS};
use crate::world::World;

/// How long whatever was sent before a policy is under way at most, where channels keep what they promise.
const UNDER_WAY: Duration = Duration::from_secs(20);

/// How long a cluster that hears nothing is waited for at least, from when it began to: half a minute, less what it had to
/// hear of just before.
const LEAST_WAIT: Duration = Duration::from_secs(20);

/// How long it takes such a cluster to renew its Lease, and to admit whom it has missed until that is seen, where channels
/// keep what they promise.
const CATCHES_UP: Duration = Duration::from_secs(20);

impl Other {
    /// Whether it has heard nothing for so long that pods here may steer to it all the same.
    fn is_waited_for_no_more(&self, gone: Moment, now: Moment) -> bool {
        let (since, until) = self.deaf;
        (since + LEAST_WAIT <= now || since < gone && gone < until) && now < until + CATCHES_UP
    }
}

impl World {
    /// Looks whether gateways admit those who were told that they do.
    pub(crate) fn examine_admission(&mut self) -> Result<(), String> {
        if self.script.pace == Pace::Late {
            return Ok(());
        }
        self.forget_steered();
        self.callers_are_admitted()?;
        NAMESPACES.into_iter().try_for_each(|namespace| self.others_admit(namespace))
    }

    /// No gateway steers any more to where it did before a policy.
    fn forget_steered(&mut self) {
        let now = self.now.max(Moment::START);
        let since = |then: Moment| then.max(self.disturbed) + UNDER_WAY;
        let own =
            |namespace: &str| -> Vec<&Pod> { self.pods.values().filter(|pod| pod.is_egress_of(namespace)).collect() };
        let tiers = self.tiers;
        let pods = NAMESPACES.map(|namespace| (namespace, own(namespace)));
        let is_steered = |(namespace, cluster, tier): &(&'static str, Cluster, usize), then: &mut Moment| {
            let own = pods.iter().find(|(known, _)| known == namespace).map(|(_, pods)| pods);
            let serves = own.is_some_and(|pods| pods.iter().any(|pod| pod.serves()));
            let crosses = |pod: &&Pod| tiers[*tier].is_some_and(|port| pod.crosses.has(*cluster, port));
            now < since(*then) || !serves || own.into_iter().flatten().any(crosses)
        };
        self.others.steered.retain(is_steered);
    }

    /// The pods of other clusters that were told to be admitted are, on every tier that is told and that policies permit.
    fn callers_are_admitted(&self) -> Result<(), String> {
        let is_refused = self.others.refused.is_some_and(|(since, until)| since <= self.now && self.now < until);
        // Where nothing is exported any more, a gateway that has not gone yet is told nothing.
        let exports = self.api.list(Watched::ServiceExport).next().is_some();
        if self.check.forgets("a") || is_refused || !exports {
            return Ok(());
        }
        for pod in self.pods.values().filter(|pod| pod.is_ingress() && pod.stage == Stage::Ready) {
            let Some(routes) = &pod.routes.known else { continue };
            let Some(admitted) = &routes.admitted else { continue };
            for other in &self.others.all {
                let cluster = other.cluster;
                for (tier, is_permitted) in self.permitted(cluster).into_iter().enumerate() {
                    let Some(port) = self.tiers[tier].filter(|port| routes.listeners.contains(port)) else { continue };
                    let is_late = self.others.is_late[cluster][tier];
                    if is_late || !is_permitted || !self.others.is_told(cluster, tier) {
                        continue;
                    }
                    let is_refused = |caller: &&Caller| {
                        let is_of_fewer = |fewer: &BTreeSet<IpAddr>| !fewer.contains(&caller.address);
                        let is_in = admitted.anywhere.contains(&caller.address);
                        caller.is_open && (!is_in || admitted.fewer.get(&port).is_some_and(is_of_fewer))
                    };
                    if let Some(caller) = other.callers.iter().find(is_refused) {
                        let (pod, from) = (&pod.name, CLUSTERS[cluster]);
                        return Err(format!("refused here: {pod} refuses {} of {from} on {port}", caller.address));
                    }
                }
            }
        }
        Ok(())
    }

    /// Other clusters admit the pods here that take requests, wherever these steer.
    fn others_admit(&self, namespace: &'static str) -> Result<(), String> {
        // Where an export goes, the namespace may be left without imports, and others admit nobody of it.
        if self.check.forgets(namespace) || self.check.is_excused(namespace) {
            return Ok(());
        }
        let told = |pod: &&Pod| pod.is_egress_of(namespace) && pod.serves() && pod.gate == Gate::Admitted;
        for pod in self.pods.values().filter(told) {
            for other in &self.others.all {
                let Some(known) = &other.gateways.known else { continue };
                for (tier, is_permitted) in self.permitted(other.cluster).into_iter().enumerate() {
                    let crosses = self.tiers[tier].is_some_and(|port| pod.crosses.has(other.cluster, port));
                    let is_steered = self.others.steered.contains_key(&(namespace, other.cluster, tier));
                    if !crosses
                        || !is_permitted
                        || is_steered
                        || other.is_waited_for_no_more(self.others.gone, self.now)
                    {
                        continue;
                    }
                    if !known.tiers[tier] || !known.addresses.contains(&pod.address()) {
                        let (pod, to) = (&pod.name, CLUSTERS[other.cluster]);
                        return Err(format!("refused there: {to} refuses {pod} on {}: {known:?}", TIERS[tier]));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a cluster's gateways admit a pod, on whatever tier.
    pub(crate) fn is_known_to(&self, pod: &Pod, cluster: &str) -> bool {
        let mut others = self.others.all.iter().filter(|other| CLUSTERS[other.cluster] == cluster);
        let admits = |known: &Admission| known.addresses.contains(&pod.address());
        others.all(|other| other.gateways.known.as_ref().is_some_and(admits))
    }

    /// No gateway steers to where policies forbid, so long after they did.
    pub(crate) fn must_not_steer(&mut self, since: Moment) {
        if self.script.pace == Pace::Late || self.disturbed > since {
            return;
        }
        for pod in self.pods.values().filter(|pod| !pod.is_ingress() && pod.serves()) {
            for other in &self.others.all {
                for (tier, is_permitted) in self.permitted(other.cluster).into_iter().enumerate() {
                    let crosses = self.tiers[tier].is_some_and(|port| pod.crosses.has(other.cluster, port));
                    if crosses && !is_permitted && !self.check.forgets(pod.namespace) {
                        let to = CLUSTERS[other.cluster];
                        let wrong = format!("forbidden: {} steers to {to} on {}", pod.name, TIERS[tier]);
                        self.check.wrongs.push(wrong);
                    }
                }
            }
        }
    }
}
