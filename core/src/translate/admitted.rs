//! From where requests of other clusters are let in.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The addresses that requests for the exports of a namespace may come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admitted {
    /// On any tier.
    pub anywhere: BTreeSet<IpAddr>,
    /// By port, those on a tier that fewer may use.
    pub fewer: BTreeMap<u16, BTreeSet<IpAddr>>,
}

impl Admitted {
    /// Those of clusters that may use each tier, by its port.
    pub fn new(tiers: BTreeMap<u16, BTreeSet<IpAddr>>) -> Self {
        let anywhere: BTreeSet<IpAddr> = tiers.values().flatten().copied().collect();
        let fewer = tiers.into_iter().filter(|(_, addresses)| *addresses != anywhere).collect();
        Self { anywhere, fewer }
    }
}
