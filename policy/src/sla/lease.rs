//! Which VM of a proxy probes.

use std::time::Duration;

use super::Moment;

/// After so many periods without a word of the holder anybody may take the lease.
const PERIODS: u32 = 3;
/// But not before: where probes are frequent, a thread that is busy for a moment stays the holder.
const SHORTEST: Duration = Duration::from_secs(1);

/// A VM, by a number that it drew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmId(pub u128);

/// The configuration by which a VM probes. Revisions are no numbers in order, so it has the time when the VM got it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigAge {
    /// What tells it from others.
    pub revision: u64,
    /// When the VM got it.
    pub since: Moment,
}

/// The right to probe, which one VM of a proxy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub holder: VmId,
    /// What it probes by.
    pub config: ConfigAge,
    /// When it last said so.
    pub renewed: Moment,
    /// How often it says so.
    pub period: Duration,
}

/// What a VM does about the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It holds it: it probes, and says so again.
    Hold,
    /// It takes it: it says that it holds it, and probes once it reads that.
    Take,
    /// Another one holds it.
    Follow,
}

impl ConfigAge {
    /// Whether it is another one, that came later. The VMs of a proxy get the same one one after the other: that is no reason
    /// to take the lease from each other.
    pub fn supersedes(&self, other: &Self) -> bool {
        self.revision != other.revision && self.since > other.since
    }
}

impl Claim {
    /// What a VM does that reads this lease, at a time that it looks at after it has read.
    pub fn of(vm: VmId, config: &ConfigAge, present: Option<&Lease>, now: Moment) -> Self {
        match present {
            None => Self::Take,
            Some(lease) if lease.holder == vm => Self::Hold,
            Some(lease) if config.supersedes(&lease.config) || lease.is_over(now) => Self::Take,
            Some(_) => Self::Follow,
        }
    }
}

impl Lease {
    /// Whether the holder is no longer heard of. One of the future is nobody's: all VMs have one clock.
    fn is_over(&self, now: Moment) -> bool {
        let patience = SHORTEST.max(self.period.saturating_mul(PERIODS));
        now < self.renewed || now.since(self.renewed) > patience
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Claim, ConfigAge, Lease, VmId};
    use crate::sla::Moment;

    fn at(milliseconds: u64) -> Moment {
        Moment::after_start(Duration::from_millis(milliseconds))
    }

    fn mk_config(revision: u64, since: u64) -> ConfigAge {
        ConfigAge { revision, since: at(since) }
    }

    /// That of VM 1, which has had revision 7 since 5 s, and renewed at 10 s.
    fn mk_lease(period: u64) -> Lease {
        let period = Duration::from_millis(period);
        Lease { holder: VmId(1), config: mk_config(7, 5_000), renewed: at(10_000), period }
    }

    #[test]
    fn one_vm_holds_the_lease() {
        for (message, vm, config, present, now, claim) in [
            ("nobody holds it", 2, mk_config(7, 5_000), None, 10_000, Claim::Take),
            ("its own", 1, mk_config(7, 5_000), Some(200), 10_200, Claim::Hold),
            ("its own, and it was asleep", 1, mk_config(7, 5_000), Some(200), 90_000, Claim::Hold),
            ("its own, with a new config", 1, mk_config(8, 9_000), Some(200), 10_200, Claim::Hold),
            ("another's with the same config", 2, mk_config(7, 5_001), Some(200), 10_200, Claim::Follow),
            ("another's with an earlier config", 2, mk_config(8, 5_001), Some(200), 10_200, Claim::Take),
            ("another's with a later config", 2, mk_config(8, 4_999), Some(200), 10_200, Claim::Follow),
            ("less than a second without a word", 2, mk_config(7, 5_000), Some(200), 11_000, Claim::Follow),
            ("more than a second", 2, mk_config(7, 5_000), Some(200), 11_001, Claim::Take),
            ("less than three long periods", 2, mk_config(7, 5_000), Some(1_000), 13_000, Claim::Follow),
            ("more than three long periods", 2, mk_config(7, 5_000), Some(1_000), 13_001, Claim::Take),
            ("one of the future", 2, mk_config(7, 5_000), Some(200), 9_999, Claim::Take),
        ] {
            let present = present.map(mk_lease);
            assert_eq!(Claim::of(VmId(vm), &config, present.as_ref(), at(now)), claim, "{message}");
        }
    }
}
