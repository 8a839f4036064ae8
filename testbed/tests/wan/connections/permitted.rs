//! Which tiers may be used, and what comes of requests then.

use std::collections::BTreeSet;

use mcwan_testbed::client::Request;
use mcwan_testbed::load::LoadAnswer;

use crate::scene::mk_request;

/// The two clusters on the premises, of which the second sends the requests, and the one in the cloud.
pub(crate) const NEAR: u8 = 1;
pub(crate) const CONSUMER: u8 = 2;
pub(crate) const CLOUD: u8 = 3;

/// The clusters that requests go to.
pub(crate) const EXPORTERS: [u8; 2] = [NEAR, CLOUD];

/// A tier of the WAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tier {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    pub(crate) driver: &'static str,
}

pub(crate) const HIGH: Tier = Tier { name: "high", port: 31_111, driver: "vxlan" };
pub(crate) const LOW: Tier = Tier { name: "low", port: 31_112, driver: "vxlan" };
pub(crate) const SEC: Tier = Tier { name: "sec", port: 31_113, driver: "ipsec" };
pub(crate) const TIERS: [Tier; 3] = [HIGH, LOW, SEC];

/// A request of cluster 2: the service, the path, the tier that the rule for it names, and who exports the service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steered {
    pub(crate) service: &'static str,
    pub(crate) path: &'static str,
    pub(crate) tier: Tier,
    exporters: &'static [u8],
}

/// Services of the namespace `secure`.
pub(crate) const PAYMENT: &str = "payment";
pub(crate) const STATS: &str = "stats";

/// A request for each rule.
pub(crate) const REQUESTS: [Steered; 5] = [
    Steered { service: PAYMENT, path: "/payment", tier: HIGH, exporters: &EXPORTERS },
    Steered { service: PAYMENT, path: "/stats", tier: LOW, exporters: &EXPORTERS },
    Steered { service: PAYMENT, path: "/audit", tier: SEC, exporters: &EXPORTERS },
    Steered { service: STATS, path: "/today", tier: LOW, exporters: &[CLOUD] },
    Steered { service: STATS, path: "/ever", tier: SEC, exporters: &[CLOUD] },
];

/// The tiers that cluster 2 may use to the cluster near it, and to the one in the cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permitted {
    pub(crate) near: &'static [Tier],
    pub(crate) cloud: &'static [Tier],
}

/// What comes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SteeredOutcome {
    /// A cluster answers.
    Answered(u8),
    /// The egress gateway answers that the rule's tier may not be used.
    NotPermitted,
    /// A far gateway refuses it.
    Denied,
    /// Anything else.
    Lost,
}

impl Steered {
    pub(crate) fn request(&self) -> Request {
        mk_request("GET", &format!("{}.secure:8080", self.service), self.path)
    }
}

impl Permitted {
    pub(crate) const EVERYTHING: Self = Self { near: &TIERS, cloud: &TIERS };

    /// Whether a cluster may be reached over a tier.
    pub(crate) fn has(self, cluster: u8, tier: Tier) -> bool {
        let tiers = if cluster == CLOUD { self.cloud } else { self.near };
        tiers.contains(&tier)
    }

    /// The clusters that a request may go to.
    pub(crate) fn sources(self, request: &Steered) -> BTreeSet<u8> {
        request.exporters.iter().copied().filter(|cluster| self.has(*cluster, request.tier)).collect()
    }
}

impl SteeredOutcome {
    pub(crate) fn of(answer: &LoadAnswer) -> Self {
        let Ok(response) = &answer.outcome else { return Self::Lost };
        let body = String::from_utf8_lossy(&response.body);
        match (response.status, response.echo_name()) {
            (200, Some(name)) => {
                let cluster = EXPORTERS.into_iter().find(|number| name.starts_with(&format!("cluster-{number}/")));
                cluster.map_or(Self::Lost, Self::Answered)
            }
            (500, None) if body.contains("tier") && body.contains("not permitted") => Self::NotPermitted,
            // Envoy's own words: a rule that refuses has others.
            (403, None) if body.starts_with("RBAC: ") => Self::Denied,
            _ => Self::Lost,
        }
    }
}
