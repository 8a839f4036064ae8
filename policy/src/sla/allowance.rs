//! How many lost probes are more than a path loses that keeps its promise.

use super::Loss;
use super::outcomes::{LONG, SHORT};

/// Fewer lost probes are no evidence, however little is allowed.
const LEAST: u32 = 3;
/// One window in so many of a path that just keeps its promise may show more.
const WINDOWS: f64 = 10_000.0;
/// Who is out gets in with at most so many hundredths of what is allowed.
pub(super) const MARGIN: u32 = 90;

/// What a bound on loss allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allowance {
    /// How many of the last 50 probes are too many.
    pub(super) short: u32,
    /// How many of the last 500 are.
    pub(super) long: u32,
    loss: Loss,
}

/// From where on lost probes are evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Floor {
    /// From three on, or from the first on where nothing may be lost.
    Three,
    /// From the first on.
    One,
}

impl Allowance {
    /// What a path may lose by chance.
    pub(super) fn new(loss: Loss, floor: Floor) -> Self {
        let least = match floor {
            Floor::Three if loss > Loss::NONE => LEAST,
            Floor::Three | Floor::One => 1,
        };
        let limit = |probes| too_many(loss, probes).max(least);
        Self { short: limit(SHORT), long: limit(LONG), loss }
    }

    /// 3 of 50, whatever may be lost.
    pub(super) const fn fixed(loss: Loss) -> Self {
        Self { short: LEAST, long: LONG + 1, loss }
    }

    /// After how many probes on average more is lost than is allowed, of a path that loses this: infinitely many where that
    /// never shows. The two windows are taken to be independent, which they nearly are where it takes long.
    pub(super) fn probes_to_show(&self, loss: Loss) -> f64 {
        let share = share_of_probes(loss);
        let rate = |(limit, probes)| probes_to_exceed(limit, probes, share).recip();
        (rate((self.short, SHORT)) + rate((self.long, LONG))).recip()
    }

    /// Whether so many of so many probes are no more than what is allowed, less a margin: what is allowed on average, not
    /// what may happen by chance.
    pub(super) fn has_margin(&self, lost: u32, probes: u32) -> bool {
        let allowed = self.loss.of_probes() / 100 * u64::from(MARGIN) * u64::from(probes);
        Loss::PROBES * u64::from(lost) <= allowed
    }
}

/// The least number of lost ones that at most one window in 10,000 of so many probes shows by chance; more than all where a
/// window without any other is that likely.
fn too_many(loss: Loss, probes: u32) -> u32 {
    let is_lost = share_of_probes(loss);
    let odds = is_lost / (1.0 - is_lost);
    if !odds.is_finite() {
        return probes + 1;
    }
    // The binomial distribution, as multiples of its likeliest count: so nothing is too small to be told from nothing.
    let likeliest = (0..probes).take_while(|lost| step(*lost, probes, odds) >= 1.0).count();
    let likeliest = u32::try_from(likeliest).unwrap_or(probes);
    let (mut below, mut weight) = (0.0, 1.0);
    for lost in (0..likeliest).rev() {
        weight /= step(lost, probes, odds);
        below += weight;
    }
    let (mut above, mut weight) = (1.0, 1.0);
    for lost in likeliest..probes {
        weight *= step(lost, probes, odds);
        above += weight;
    }
    let total = below + above;
    // What remains above, as counts are taken away from the bottom.
    let (mut count, mut weight) = (likeliest, 1.0);
    while count <= probes && above * WINDOWS > total {
        above -= weight;
        weight *= step(count, probes, odds);
        count += 1;
    }
    count
}

/// The share of probes that are lost of a path that loses this.
fn share_of_probes(loss: Loss) -> f64 {
    let each_way = f64::from(loss.parts_per_million()) / 1e6;
    each_way * (2.0 - each_way)
}

/// After how many probes on average so many of so many are lost, where this share is: as many as have that many lost, and then
/// until one is lost while all but one of them are (the binomial distribution, given that it has not been more).
fn probes_to_exceed(limit: u32, probes: u32, share: f64) -> f64 {
    if limit > probes || share <= 0.0 {
        return f64::INFINITY;
    }
    let odds = share / (1.0 - share);
    let before = limit.saturating_sub(1);
    let (mut at_most, mut weight) = (1.0, 1.0);
    for lost in (0..before).rev() {
        weight /= step(lost, probes - 1, odds);
        at_most += weight;
    }
    (f64::from(limit) + at_most) / share
}

/// By how much one more lost probe than so many is likelier.
fn step(lost: u32, probes: u32, odds: f64) -> f64 {
    f64::from(probes - lost) / f64::from(lost + 1) * odds
}

#[cfg(test)]
mod tests {
    use super::{Allowance, Floor};
    use crate::sla::Loss;
    use crate::sla::outcomes::{LONG, Outcomes, SHORT};

    fn allowance(parts_per_million: u32) -> Allowance {
        Allowance::new(Loss::from_parts_per_million(parts_per_million).expect("a share"), Floor::Three)
    }

    #[test]
    fn more_than_one_window_in_ten_thousand_shows() {
        for (message, allowed, short, long) in [
            ("none: any excess", 0, 1, 1),
            ("0.0001 %: never less than three", 1, 3, 3),
            ("0.01 %", 100, 3, 4),
            ("0.1 %", 1_000, 4, 7),
            ("0.5 %", 5_000, 6, 16),
            ("2 %", 20_000, 10, 39),
            ("3 %", 30_000, 12, 52),
            ("half, of which three quarters of the probes", 500_000, 48, 411),
            ("almost all", 999_999, SHORT + 1, LONG + 1),
            ("all", 1_000_000, SHORT + 1, LONG + 1),
        ] {
            let allowance = allowance(allowed);
            assert_eq!((allowance.short, allowance.long), (short, long), "{message}");
        }
    }

    #[test]
    fn whose_bound_is_greater_may_lose_more() {
        let mut before = allowance(0);
        for parts_per_million in (0..=1_000_000).step_by(500) {
            let more = allowance(parts_per_million);
            assert!(more.short >= before.short && more.long >= before.long, "{parts_per_million}");
            before = more;
        }
    }

    /// The mean of what 200 such paths take, until they have lost too much.
    fn taken(allowance: Allowance, loss: Loss) -> f64 {
        let share = u128::from(loss.of_probes()) << 32;
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            // xorshift64* (Marsaglia, "Xorshift RNGs")
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32
        };
        let mut path = || {
            let (mut outcomes, mut probes) = (Outcomes::NONE, 0);
            while outcomes.lost_of_short() < allowance.short && outcomes.lost_of_long() < allowance.long {
                outcomes.push(u128::from(random()) * u128::from(Loss::PROBES) < share);
                probes += 1;
            }
            f64::from(probes)
        };
        (0..200).map(|_| path()).sum::<f64>() / 200.0
    }

    #[test]
    fn a_loss_shows_after_about_so_many_probes() {
        for (allowed, lost) in
            [(200, 800), (1_000, 4_000), (5_000, 20_000), (5_000, 200_000), (20_000, 80_000), (0, 1_000)]
        {
            let (allowance, lost) = (allowance(allowed), Loss::from_parts_per_million(lost).expect("a share"));
            let (told, taken) = (allowance.probes_to_show(lost), taken(allowance, lost));
            assert!((0.7..1.4).contains(&(told / taken)), "{allowed} {lost:?}: told {told}, taken {taken}");
        }
        assert!(allowance(1_000_000).probes_to_show(Loss::ALL).is_infinite(), "all may be lost");
        assert!(allowance(0).probes_to_show(Loss::NONE).is_infinite(), "none is lost");
    }

    #[test]
    fn below_ninety_percent_of_what_is_allowed() {
        for (message, allowed, lost, probes, has_margin) in [
            ("nothing is allowed, nothing lost", 0, 0, 500, true),
            ("nothing is allowed, one lost", 0, 1, 1_500, false),
            ("1 % of 50 is less than one", 5_000, 1, 50, false),
            ("0.9 % of 112 is more than one", 5_000, 1, 112, true),
            ("0.9 % of 112 is less than two", 5_000, 2, 112, false),
            ("no probe", 5_000, 0, 0, true),
            ("all are allowed, but for the margin", 1_000_000, 1_350, 1_500, true),
            ("more", 1_000_000, 1_351, 1_500, false),
        ] {
            assert_eq!(allowance(allowed).has_margin(lost, probes), has_margin, "{message}");
        }
    }
}
