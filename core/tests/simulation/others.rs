//! The other clusters: whom their gateways admit and what they tell of it, and the pods that call what this cluster exports.
//!
//! They do with what they tell what the rollout promises, and no sooner. What they are told they heed without any delay: what
//! is lost then, some cluster loses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use mcwan_core::api::{self, EgressGateway, REGISTRY_NAMESPACE, WanClusterSpec};
use mcwan_core::emit::object::Kind;
use mcwan_core::moment::Moment;
use mcwan_core::snapshot::Key;
use mcwan_core::translate::gateways_digest;
use mcwan_core::watched::Watched;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::check::{AFTER_REFUSAL, GRACE};
use crate::gateway::{Channel, Gate, Pod, Stage};
use crate::inputs;
use crate::replica::CLUSTER;
use crate::script::{CLUSTERS, Cluster, NAMESPACES, Pace, TIERS};
use crate::world::{Happening, World};

/// How long whatever was sent before a policy is under way at most, where channels keep what they promise.
const UNDER_WAY: Duration = Duration::from_secs(20);

/// Something that becomes of another cluster.
#[derive(Clone, Debug)]
pub(crate) enum News {
    /// Its gateways hear of whom they admit.
    Admits,
    /// It tells the registry that they do; none: that they admit fewer.
    Tells(Option<Admission>),
}

/// Whom of this cluster another one admits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Admission {
    /// On which tiers.
    tiers: [bool; 2],
    addresses: BTreeSet<IpAddr>,
    /// What stands for the gateways that have them.
    digest: String,
}

/// Another cluster.
pub(crate) struct Other {
    cluster: Cluster,
    gateways: Channel<Admission>,
    /// What it has told.
    told: Option<Admission>,
    callers: Vec<Caller>,
    region: Option<&'static str>,
    /// Until then it hears of nothing.
    deaf: Moment,
}

/// A pod of its egress gateway.
struct Caller {
    address: IpAddr,
    number: u64,
    /// The states of its gateways since there is the pod.
    states: BTreeSet<String>,
    /// Whether it takes requests, as this cluster has told that it admits it.
    is_open: bool,
}

/// The other clusters, and what this one tells them.
pub(crate) struct Others {
    pub(crate) all: [Other; 2],
    /// What it has told last.
    own: WanClusterSpec,
    /// By cluster and tier, whether it has not yet told that a policy takes the tier away.
    is_late: [[bool; 2]; 2],
    /// By namespace here, cluster and tier: gateways may steer there though a policy has taken the tier away since then.
    steered: BTreeMap<(&'static str, Cluster, usize), Moment>,
    /// Admissions are refused: since when that may show, and until when.
    refused: Option<(Moment, Moment)>,
    pub(crate) is_due: bool,
    number: u64,
}

impl Admission {
    fn of(tiers: [bool; 2], gateways: &[EgressGateway]) -> Self {
        let addresses = gateways.iter().flat_map(|gateway| gateway.addresses.iter().copied()).collect();
        Self { tiers, addresses, digest: gateways_digest(gateways) }
    }
}

impl Other {
    fn new(cluster: Cluster) -> Self {
        let gateways = Channel { known: Some(Admission::of([true; 2], &[])), ..Channel::default() };
        Self { cluster, gateways, told: None, callers: Vec::new(), region: None, deaf: Moment::START }
    }

    /// What the registry has of it.
    pub(crate) fn input(&self, tiers: [Option<u16>; 2]) -> inputs::Input {
        let region = self.region.map_or(json!({}), |region| json!({"region": region}));
        let tiers = TIERS.iter().zip(tiers).filter_map(|(name, port)| Some(json!({"name": name, "port": port?})));
        let admits = self.told.as_ref().filter(|told| told.tiers != [true; 2]).map(|told| {
            let admitted = TIERS.iter().zip(told.tiers).filter_map(|(tier, is_admitted)| is_admitted.then_some(tier));
            let admitted: Vec<_> = admitted.collect();
            if admitted.is_empty() { json!([]) } else { json!([{"tiers": admitted, "clusters": [CLUSTER]}]) }
        });
        let admitted = self.told.as_ref().map(|told| json!([{"cluster": CLUSTER, "egressGateways": told.digest}]));
        let spec = json!({"tiers": tiers.collect::<Vec<_>>(), "egressGateways": self.calling(), "admits": admits,
            "admitted": admitted});
        inputs::cluster(self.cluster, region, &spec)
    }

    fn calling(&self) -> Value {
        let addresses: Vec<_> = self.callers.iter().map(|caller| caller.address).collect();
        let pods: Vec<_> = self.callers.iter().map(|caller| caller.number.to_string()).collect();
        json!([{"namespace": "a", "addresses": addresses, "pods": pods.join("-") + "."}])
    }

    /// The tiers that it may tell of: on which its gateways have admitted this cluster and will go on to.
    fn admitted_throughout(&self) -> [bool; 2] {
        let all = || self.gateways.known.iter().chain(&self.gateways.under_way);
        [0, 1].map(|tier| all().all(|admission| admission.tiers[tier]))
    }
}

impl Others {
    pub(crate) fn new() -> Self {
        Self {
            all: [0, 1].map(Other::new),
            own: WanClusterSpec::default(),
            is_late: [[false; 2]; 2],
            steered: BTreeMap::new(),
            refused: None,
            is_due: false,
            number: 0,
        }
    }

    /// Admissions are refused until then. What was to be written before is waited for.
    pub(crate) fn refuse(&mut self, now: Moment, until: Moment) {
        let (since, until) = (now + GRACE, until + AFTER_REFUSAL);
        let known = self.refused.filter(|(_, known)| *known >= since).unwrap_or((since, until));
        self.refused = Some((known.0.min(since), known.1.max(until)));
    }

    /// Whether this cluster has told that it admits another on a tier.
    fn is_told(&self, cluster: Cluster, tier: usize) -> bool {
        self.own.admits.as_ref().is_none_or(|admits| {
            let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
            let is_it =
                |group: &api::Admission| has(&group.tiers, TIERS[tier]) && has(&group.clusters, CLUSTERS[cluster]);
            admits.iter().any(is_it)
        })
    }
}

impl World {
    /// Another cluster has so many egress gateway pods by now. Their addresses are used again.
    pub(crate) fn call(&mut self, cluster: Cluster, pods: u8) {
        let others = &mut self.others;
        let other = &mut others.all[cluster];
        other.callers.truncate(pods.into());
        for slot in u8::try_from(other.callers.len()).unwrap_or_default()..pods {
            others.number += 1;
            let address = Ipv4Addr::new(10, u8::try_from(cluster).unwrap_or_default() + 1, 1, slot).into();
            let caller = Caller { address, number: others.number, states: BTreeSet::new(), is_open: false };
            other.callers.push(caller);
        }
        let gateways = Vec::<EgressGateway>::deserialize(other.calling()).expect("it is one");
        let state = gateways_digest(&gateways);
        for caller in &mut other.callers {
            caller.states.insert(state.clone());
        }
        self.publish(cluster);
    }

    /// Somebody labels another cluster.
    pub(crate) fn label(&mut self, cluster: Cluster, region: Option<&'static str>) {
        self.others.all[cluster].region = region;
        self.publish(cluster);
        self.policies_changed();
    }

    pub(crate) fn deafen(&mut self, cluster: Cluster, until: Moment) {
        self.others.all[cluster].deaf = until;
    }

    pub(crate) fn publish(&mut self, cluster: Cluster) {
        let input = self.others.all[cluster].input(self.tiers);
        self.put(input);
    }

    /// On which tiers policies let this cluster and another one meet.
    fn permitted(&self, cluster: Cluster) -> [bool; 2] {
        TIERS.map(|tier| self.told.permits(CLUSTERS[cluster], tier))
    }

    /// Policies, or the clusters that they match, are others.
    pub(crate) fn policies_changed(&mut self) {
        for cluster in 0..CLUSTERS.len() {
            for (tier, is_permitted) in self.permitted(cluster).into_iter().enumerate() {
                if !is_permitted {
                    self.others.is_late[cluster][tier] |= self.others.is_told(cluster, tier);
                    for namespace in NAMESPACES {
                        self.others.steered.insert((namespace, cluster, tier), self.now);
                    }
                }
            }
            // What is taken away is told at once.
            let then = (self.now + self.delay(300)).max(self.others.all[cluster].deaf);
            self.at_moment(then, Happening::Other(cluster, News::Tells(None)));
        }
        self.others_hear();
        self.others.is_due = true;
    }

    /// Other clusters hear of policies and of this cluster's gateways.
    fn others_hear(&mut self) {
        for cluster in 0..CLUSTERS.len() {
            let wanted = Admission::of(self.permitted(cluster), &self.others.own.egress_gateways);
            let delay = self.channel(900, 8_000);
            let other = &mut self.others.all[cluster];
            if other.gateways.told() == Some(&wanted) {
                continue;
            }
            other.gateways.under_way.push_back(wanted);
            other.gateways.last = other.gateways.last.max(self.now + delay).max(other.deaf);
            let then = other.gateways.last;
            self.at_moment(then, Happening::Other(cluster, News::Admits));
        }
    }

    pub(crate) fn of_other(&mut self, cluster: Cluster, news: News) {
        match news {
            News::Admits => {
                let gateways = &mut self.others.all[cluster].gateways;
                gateways.arrive();
                let admission = gateways.known.clone();
                self.note(|| format!("    {} admits {admission:?}", CLUSTERS[cluster]));
                let delay = self.delay(300);
                self.at(delay, Happening::Other(cluster, News::Tells(admission)));
                self.others.is_due = true;
            }
            News::Tells(told) if self.outage > self.now => {
                self.at_moment(self.outage, Happening::Other(cluster, News::Tells(told)));
            }
            News::Tells(told) => {
                let permitted = self.permitted(cluster);
                let other = &mut self.others.all[cluster];
                let throughout = other.admitted_throughout();
                let Some(mut told) = told.or_else(|| other.told.clone()) else { return };
                told.tiers = [0, 1].map(|tier| told.tiers[tier] && permitted[tier] && throughout[tier]);
                if other.told.as_ref() != Some(&told) {
                    other.told = Some(told);
                    self.publish(cluster);
                }
            }
        }
    }

    /// This cluster has told the registry something of itself.
    pub(crate) fn own_is_told(&mut self) {
        let own = self.api.get(Watched::Emitted(Kind::WanCluster), &Key::new(REGISTRY_NAMESPACE, CLUSTER));
        let own = own.and_then(|own| WanClusterSpec::deserialize(&own.body["spec"]).ok());
        self.others.own = own.unwrap_or_default();
        for (cluster, name) in CLUSTERS.iter().enumerate() {
            for tier in 0..TIERS.len() {
                self.others.is_late[cluster][tier] &= self.others.is_told(cluster, tier);
            }
            let mut admitted = self.others.own.admitted.iter().flatten();
            let admitted = admitted.find(|admitted| admitted.cluster == *name);
            if let Some(digest) = admitted.map(|admitted| &admitted.egress_gateways) {
                for caller in &mut self.others.all[cluster].callers {
                    caller.is_open |= caller.states.contains(digest);
                }
            }
        }
        self.others_hear();
        self.others.is_due = true;
    }

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
        let own = |namespace: &str| -> Vec<&Pod> { self.pods.values().filter(|pod| pod.is_of(namespace)).collect() };
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
        if self.check.forgets("a") || is_refused {
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
        let told = |pod: &&Pod| pod.serves_imports(namespace) && pod.gate == Gate::Admitted;
        for pod in self.pods.values().filter(told) {
            for other in &self.others.all {
                let Some(known) = &other.gateways.known else { continue };
                for (tier, is_permitted) in self.permitted(other.cluster).into_iter().enumerate() {
                    let crosses = self.tiers[tier].is_some_and(|port| pod.crosses.has(other.cluster, port));
                    let is_steered = self.others.steered.contains_key(&(namespace, other.cluster, tier));
                    if !crosses || !is_permitted || is_steered {
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
        for pod in self.pods.values().filter(|pod| NAMESPACES.iter().any(|namespace| pod.serves_imports(namespace))) {
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
