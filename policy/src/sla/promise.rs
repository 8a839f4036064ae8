//! What a tier promises.

use std::time::Duration;

/// The bounds of a tier. What is not promised is not judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Promise {
    /// The longest round trip between gateways.
    pub latency: Option<Duration>,
    /// The greatest mean difference between neighbouring round trips.
    pub jitter: Option<Duration>,
    /// The greatest loss, each way.
    pub loss: Option<Loss>,
}

/// A share of packets that are lost, each way, in parts per million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loss(u32);

impl Loss {
    /// No packet.
    pub const NONE: Self = Self(0);
    /// All packets.
    pub const ALL: Self = Self(MILLION);

    /// So many of a million packets; nothing where that is more than all.
    pub const fn from_parts_per_million(parts: u32) -> Option<Self> {
        if parts <= MILLION { Some(Self(parts)) } else { None }
    }

    /// How many of a million packets.
    pub const fn parts_per_million(self) -> u32 {
        self.0
    }

    /// The share of probes that are lost: those of which a packet is lost on the way there or back. In parts of
    /// [`PROBES`](Self::PROBES), in which it is exact.
    pub(super) fn of_probes(self) -> u64 {
        let lost = u64::from(self.0);
        lost * (2 * u64::from(MILLION) - lost)
    }

    /// What [`of_probes`](Self::of_probes) is a part of.
    pub(super) const PROBES: u64 = 1_000_000_000_000;

    /// What loses so many of so many probes.
    pub(super) fn from_probes(lost: u32, probes: u32) -> Self {
        let Some(share) = (Self::PROBES * u64::from(lost)).checked_div(u64::from(probes)) else {
            return Self::NONE;
        };
        let kept = Self::PROBES.saturating_sub(share).isqrt();
        Self(MILLION.saturating_sub(u32::try_from(kept).unwrap_or(MILLION)))
    }
}

const MILLION: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::Loss;

    fn loss(parts: u32) -> Loss {
        Loss::from_parts_per_million(parts).expect("a share")
    }

    #[test]
    fn a_share_is_at_most_all() {
        assert_eq!(Loss::from_parts_per_million(1_000_000), Some(Loss::ALL), "all");
        assert_eq!(Loss::from_parts_per_million(1_000_001), None, "more than all");
    }

    #[test]
    fn the_promise_allows_a_loss_each_way() {
        for (message, each_way, of_probes) in [
            ("none", 0, 0),
            ("0.1 %", 1_000, 1_999_000_000),
            ("0.5 %", 5_000, 9_975_000_000),
            ("2 %", 20_000, 39_600_000_000),
            ("all", 1_000_000, 1_000_000_000_000),
        ] {
            assert_eq!(loss(each_way).of_probes(), of_probes, "{message}");
        }
    }

    #[test]
    fn what_is_lost_of_probes_is_told_each_way() {
        for (message, lost, probes, each_way) in [
            ("nothing known", 0, 0, 0),
            ("none", 0, 500, 0),
            ("1 %", 5, 500, 5_013),
            ("half", 250, 500, 292_894),
            ("all", 500, 500, 1_000_000),
        ] {
            assert_eq!(Loss::from_probes(lost, probes), loss(each_way), "{message}");
        }
    }
}
