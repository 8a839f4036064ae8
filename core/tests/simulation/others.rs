//! The other clusters: whom their gateways admit and what they tell of it, and the pods that call what this cluster exports.
//!
//! They do with what they tell what the rollout promises, and no sooner. What they are told they heed without any delay: what
//! is lost then, some cluster loses.

mod examine;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use mcwan_core::api::{self, EgressGateway, REGISTRY_NAMESPACE, WanClusterSpec};
use mcwan_core::emit::object::Kind;
use mcwan_core::moment::Moment;
use mcwan_core::snapshot::Key;
use mcwan_core::translate::gateways_digest;
use mcwan_core::watched::Watched;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::check::{AFTER_REFUSAL, GRACE};
use crate::gateway::Channel;
use crate::inputs;
use crate::replica::CLUSTER;
use crate::script::{CLUSTERS, Cluster, NAMESPACES, TIERS};
use crate::world::{Happening, World};

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
    /// Since when, and until when it hears of nothing.
    deaf: (Moment, Moment),
    /// When it tells of the last thing that its gateways have.
    tells: Moment,
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
    pub(crate) refused: Option<(Moment, Moment)>,
    /// When an export went last: its tier Services lead to those that are left at once, though these admit nobody yet.
    pub(crate) gone: Moment,
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
        Self {
            cluster,
            gateways,
            told: None,
            callers: Vec::new(),
            region: None,
            deaf: (Moment::START, Moment::START),
            tells: Moment::START,
        }
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
            gone: Moment::START,
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
        let deaf = &mut self.others.all[cluster].deaf;
        let since = if self.now < deaf.1 { deaf.0 } else { self.now };
        *deaf = (since, deaf.1.max(until));
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
            let then = (self.now + self.delay(300)).max(self.others.all[cluster].deaf.1);
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
            other.gateways.last = other.gateways.last.max(self.now + delay).max(other.deaf.1);
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
                // It tells of nothing older later.
                let then = (self.now + self.delay(300)).max(self.others.all[cluster].tells);
                self.others.all[cluster].tells = then;
                self.at_moment(then, Happening::Other(cluster, News::Tells(admission)));
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
}
