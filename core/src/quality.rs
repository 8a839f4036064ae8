//! What gateways measure of the tiers to other clusters, summed up for people.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use mcwan_policy::sla::{Judgement, Level, Loss, Promise, Shown};

use crate::api::{MeasuredLevel, MeasuredTier};

/// A figure that has moved by so much of its bound is told: one of five parts. Without a bound, of what it was.
const PARTS: u64 = 5;

/// What a gateway answers that does not admit another one.
const NOT_ADMITTED: u16 = 403;

/// What the gateways measure of a tier to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Of each figure the worst of all gateways.
    pub worst: Shown,
    /// How many pods measure it.
    pub pods: u32,
    /// For how many of these it is not In.
    pub pods_out: u32,
}

/// Microseconds of a round trip and of jitter, and parts per million of loss: what can move, each with its bound.
type Moving = [(Option<u64>, Option<u64>); 3];

impl Measured {
    /// What one pod measures.
    pub fn of(shown: Shown) -> Self {
        Self { worst: shown, pods: 1, pods_out: u32::from(shown.judgement.level() > Level::In) }
    }

    /// With what other pods measure.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (one, another) = (self.worst, other.worst);
        let refused = [one, another].into_iter().find(|shown| shown.http_status == Some(NOT_ADMITTED));
        let worst = Shown {
            judgement: one.judgement.max(another.judgement),
            latency: one.latency.max(another.latency),
            jitter: one.jitter.max(another.jitter),
            loss: one.loss.max(another.loss),
            probes: one.probes.max(another.probes),
            age: one.age.max(another.age),
            hold: one.hold.max(another.hold),
            http_status: refused.unwrap_or(one).http_status.or(another.http_status),
        };
        Self { worst, pods: self.pods + other.pods, pods_out: self.pods_out + other.pods_out }
    }

    /// What is told of it now, where that was told before. Figures always move a little, which is no news.
    pub fn told(&self, before: Option<&MeasuredTier>, promise: &Promise, now: &Time) -> MeasuredTier {
        let fresh = self.as_told(before, now);
        before.filter(|before| !is_news(before, &fresh, promise)).cloned().unwrap_or(fresh)
    }

    fn as_told(&self, before: Option<&MeasuredTier>, now: &Time) -> MeasuredTier {
        let Shown { judgement, latency, jitter, loss, probes, http_status, age: _, hold: _ } = self.worst;
        let level = level(judgement);
        MeasuredTier {
            level,
            reason: judgement.to_string(),
            since: before.filter(|before| before.level == level).map_or_else(|| now.clone(), |same| same.since.clone()),
            latency_ms: latency.map(|latency| milliseconds(latency.as_micros())),
            jitter_ms: jitter.map(|jitter| milliseconds(jitter.as_micros())),
            loss_percent: (probes > 0).then(|| percent(loss)),
            http_status,
            pods: self.pods,
            pods_out: self.pods_out,
        }
    }
}

fn is_news(before: &MeasuredTier, fresh: &MeasuredTier, promise: &Promise) -> bool {
    let but_figures =
        |told: &MeasuredTier| MeasuredTier { latency_ms: None, jitter_ms: None, loss_percent: None, ..told.clone() };
    but_figures(before) != but_figures(fresh)
        || moving(before, promise).into_iter().zip(moving(fresh, promise)).any(|((before, bound), (fresh, _))| {
            match (before, fresh) {
                (Some(before), Some(fresh)) => {
                    before.abs_diff(fresh).saturating_mul(PARTS) >= bound.unwrap_or(before).max(1)
                }
                (before, fresh) => before != fresh,
            }
        })
}

fn level(judgement: Judgement) -> MeasuredLevel {
    match judgement.level() {
        Level::In => MeasuredLevel::In,
        Level::Out => MeasuredLevel::Out,
        Level::Down => MeasuredLevel::Down,
    }
}

fn moving(told: &MeasuredTier, promise: &Promise) -> Moving {
    let micros = |bound: std::time::Duration| u64::try_from(bound.as_micros()).unwrap_or(u64::MAX);
    [
        (told.latency_ms.as_deref().and_then(thousandths), promise.latency.map(micros)),
        (told.jitter_ms.as_deref().and_then(thousandths), promise.jitter.map(micros)),
        (
            // A percent is 10,000 parts of a million.
            told.loss_percent.as_deref().and_then(thousandths).map(|thousandths| thousandths.saturating_mul(10)),
            promise.loss.map(|loss| loss.parts_per_million().into()),
        ),
    ]
}

/// A decimal number with one digit behind the point.
fn milliseconds(micros: u128) -> String {
    let tenths = (micros + 50) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// A decimal number with two digits behind the point.
fn percent(loss: Loss) -> String {
    let hundredths = (loss.parts_per_million() + 50) / 100;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// How many thousandths a decimal number is; none where it is none.
fn thousandths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction: u64 = format!("{:0<3}", fraction.get(..fraction.len().min(3))?).parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000)?.checked_add(fraction)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn at(second: i64) -> Time {
        Time(Timestamp::from_second(second).unwrap())
    }

    fn mk(judgement: Judgement, latency_us: u64, loss_ppm: u32) -> Shown {
        Shown {
            judgement,
            latency: Some(Duration::from_micros(latency_us)),
            jitter: None,
            loss: Loss::from_parts_per_million(loss_ppm).unwrap(),
            probes: 500,
            age: None,
            hold: Duration::from_secs(10),
            http_status: Some(404),
        }
    }

    fn promise() -> Promise {
        let loss = Loss::from_parts_per_million(5_000);
        Promise { latency: Some(Duration::from_millis(50)), jitter: None, loss }
    }

    #[test]
    fn the_worst_gateway_is_told_and_how_many_there_are() {
        let of = [
            mk(Judgement::InSla, 20_449, 0),
            mk(Judgement::Loss, 21_000, 20_049),
            mk(Judgement::Latency, 61_050, 0),
            mk(Judgement::InSla, 70_000, 0),
        ];
        let all = of.into_iter().map(Measured::of).reduce(Measured::and).unwrap();
        let told = all.told(None, &promise(), &at(7));
        assert_eq!((told.level, &*told.reason, told.pods, told.pods_out), (MeasuredLevel::Out, "Loss", 4, 2));
        assert_eq!((told.latency_ms.as_deref(), told.loss_percent.as_deref()), (Some("70.0"), Some("2.00")));
        assert_eq!((told.since, told.http_status), (at(7), Some(404)));
    }

    #[test]
    fn only_what_matters_is_news() {
        let before = Measured::of(mk(Judgement::InSla, 20_000, 0)).told(None, &promise(), &at(1));
        for (latency, loss, is_told, message) in [
            (20_000, 0, false, "the same"),
            (29_900, 900, false, "a little"),
            (30_000, 0, true, "a fifth of the bound"),
            (10_000, 0, true, "a fifth less"),
            (20_000, 1_000, true, "a fifth of the loss"),
        ] {
            let told = Measured::of(mk(Judgement::InSla, latency, loss)).told(Some(&before), &promise(), &at(2));
            assert_eq!(told != before, is_told, "{message}");
            assert_eq!(told.since, at(1), "{message}: it is the same level");
        }
        for (latency, is_told) in [(23_900, false), (24_000, true)] {
            let told = Measured::of(mk(Judgement::InSla, latency, 0)).told(Some(&before), &Promise::default(), &at(2));
            assert_eq!(told != before, is_told, "nothing is promised: a fifth of what it was, {latency}");
        }
        let out = Measured::of(mk(Judgement::Latency, 20_000, 0)).told(Some(&before), &promise(), &at(2));
        assert_eq!((out.level, out.since), (MeasuredLevel::Out, at(2)), "another level");
        let unknown = Shown { probes: 0, latency: None, ..mk(Judgement::InSla, 0, 0) };
        let unknown = Measured::of(unknown).told(Some(&before), &promise(), &at(2));
        assert_eq!((unknown.latency_ms, unknown.loss_percent), (None, None), "it is known no more");
    }

    #[test]
    fn figures_are_decimal_numbers() {
        assert_eq!([0, 49, 50, 103_250].map(milliseconds), ["0.0", "0.0", "0.1", "103.3"]);
        let percent = |parts| percent(Loss::from_parts_per_million(parts).unwrap());
        assert_eq!([0, 49, 5_013, 1_000_000].map(percent), ["0.00", "0.00", "0.50", "100.00"]);
        assert_eq!(["20.4", "0.50", "7", "1.23456"].map(thousandths), [20_400, 500, 7_000, 1_234].map(Some));
        assert_eq!(["", ".", "a", "-1", "1.x"].map(thousandths), [None; 5]);
    }
}
