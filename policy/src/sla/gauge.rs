//! What a proxy shows of a path as gauges, so that those who read its statistics know it again.
//!
//! Gauges have no labels, and the form of Prometheus has no dots and dashes. So a gauge is called by its path and by its
//! figure: `mcwan_path_sd_wan_priority_high_TO_cluster_1_IN_secure_level`. Capitals are none of a name's own, and no two paths
//! have one name. The figure is last, as Envoy makes labels of some endings that a namespace may have, such as `_rq_200`.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::Duration;

use super::{Figures, Judgement, Level, Loss, Moment, Standing};
use crate::limits::PATHS;

/// What all gauges begin with, as a filter tells the proxy.
const PREFIX: &str = "mcwan.path.";
/// The same as Prometheus has it.
const SHOWN_PREFIX: &str = "mcwan_path_";
/// Between tier and cluster, and between cluster and namespace.
const TO: &str = "_TO_";
const IN: &str = "_IN_";

/// The names of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathName {
    /// Name of the tier.
    pub tier: Box<str>,
    /// Name of the remote cluster.
    pub cluster: Box<str>,
    /// Namespace of the imports, whose ingress gateway answers.
    pub namespace: Box<str>,
}

/// What a proxy shows of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its level, and the reason.
    pub judgement: Judgement,
    /// The median round trip, once it is known.
    pub latency: Option<Duration>,
    /// The mean difference of neighbouring round trips, once it is known.
    pub jitter: Option<Duration>,
    /// What is lost each way, of as many probes as `probes` says.
    pub loss: Loss,
    /// How many probes were counted for it.
    pub probes: u32,
    /// How long ago a probe was last answered or missed, if one was.
    pub age: Option<Duration>,
    /// How long the path must be better before its level is.
    pub hold: Duration,
    /// The status of the far gateway's last answer, if there was one: 403 where it does not admit us.
    pub http_status: Option<u16>,
}

/// A figure of a path. What is not known is 0; what is known, at least 1, where 0 would be a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gauge {
    /// 1 In, 2 Out, 3 Down; 0: it is measured no more.
    Level,
    /// 1 `InSla`, 2 `FewAnswers`, 3 `ProbeFailed`, 4 `Latency`, 5 `Jitter`, 6 `Loss`, 7 `NoAnswer`; 0: it is measured no more.
    Reason,
    /// The median round trip in microseconds.
    Latency,
    /// Jitter in microseconds.
    Jitter,
    /// What is lost each way, in parts per million.
    Loss,
    /// Of how many probes.
    Probes,
    /// How long ago a probe was last answered or missed, in milliseconds.
    Age,
    /// How long the path must be better before its level is, in milliseconds.
    Hold,
    /// The status of the far gateway's last answer.
    HttpStatus,
}

/// What a proxy shows, by path, as it is read. Whoever runs a proxy may show anything: no more is kept than may be measured.
#[derive(Debug, Default)]
pub struct Readings(BTreeMap<PathName, [u64; Gauge::ALL.len()]>);

impl Gauge {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Level,
        Self::Reason,
        Self::Latency,
        Self::Jitter,
        Self::Loss,
        Self::Probes,
        Self::Age,
        Self::Hold,
        Self::HttpStatus,
    ];

    /// What it is called for a path.
    pub fn name(self, path: &PathName) -> String {
        format!("{PREFIX}{path}_{}", self.figure())
    }

    /// Its value.
    pub fn value(self, shown: &Shown) -> u64 {
        let some = |value: u128| u64::try_from(value).unwrap_or(u64::MAX).max(1);
        match self {
            Self::Level => match shown.judgement.level() {
                Level::In => 1,
                Level::Out => 2,
                Level::Down => 3,
            },
            Self::Reason => u64::from(shown.judgement.code()) + 1,
            Self::Latency => shown.latency.map_or(0, |latency| some(latency.as_micros())),
            Self::Jitter => shown.jitter.map_or(0, |jitter| some(jitter.as_micros())),
            Self::Loss => shown.loss.parts_per_million().into(),
            Self::Probes => shown.probes.into(),
            Self::Age => shown.age.map_or(0, |age| some(age.as_millis())),
            Self::Hold => some(shown.hold.as_millis()),
            Self::HttpStatus => shown.http_status.map_or(0, u64::from),
        }
    }

    const fn figure(self) -> &'static str {
        match self {
            Self::Level => "level",
            Self::Reason => "reason",
            Self::Latency => "latency_us",
            Self::Jitter => "jitter_us",
            Self::Loss => "loss_ppm",
            Self::Probes => "probes",
            Self::Age => "age_ms",
            Self::Hold => "hold_ms",
            Self::HttpStatus => "http_status",
        }
    }
}

/// The counter of a path's moves for a reason.
pub fn moves_name(reason: Judgement, path: &PathName) -> String {
    format!("{PREFIX}{path}_moves_{reason}")
}

impl Readings {
    /// Takes a statistic, named as Prometheus has it. What is none of ours is left, and 0, which is there anyway: proxies never
    /// forget a path that they measure no more.
    pub fn take(&mut self, name: &str, value: u64) {
        if value == 0 {
            return;
        }
        let gauge = |rest: &str| {
            Gauge::ALL.into_iter().find_map(|gauge| {
                let path = rest.strip_suffix(gauge.figure())?.strip_suffix('_')?;
                Some((gauge, PathName::read(path)?))
            })
        };
        let Some((gauge, path)) = name.strip_prefix(SHOWN_PREFIX).and_then(gauge) else { return };
        if !self.0.contains_key(&path) && self.0.len() >= PATHS {
            return;
        }
        let values = self.0.entry(path).or_default().iter_mut();
        values.zip(Gauge::ALL).filter(|(_, other)| *other == gauge).for_each(|(known, _)| *known = value);
    }

    /// What is measured. What cannot be understood is left out.
    pub fn into_shown(self) -> Vec<(PathName, Shown)> {
        self.0.into_iter().filter_map(|(path, values)| Some((path, Shown::read(values)?))).collect()
    }
}

impl Shown {
    /// Of a path that stands there, of which that was measured.
    pub fn new(standing: Standing, figures: Figures, http_status: Option<u16>, now: Moment) -> Self {
        let Figures { latency, jitter, loss, probes, measured } = figures;
        let age = measured.map(|measured| now.since(measured));
        let Standing { judgement, hold, since: _ } = standing;
        Self { judgement, latency, jitter, loss, probes, age, hold, http_status }
    }

    /// The level is that of the reason, as a proxy may be read while it writes one after the other.
    fn read([_, reason, latency, jitter, loss, probes, age, hold, http_status]: [u64; 9]) -> Option<Self> {
        let known = |value: u64| (value > 0).then_some(value);
        Some(Self {
            judgement: Judgement::from_code(u8::try_from(reason.checked_sub(1)?).ok()?)?,
            latency: known(latency).map(Duration::from_micros),
            jitter: known(jitter).map(Duration::from_micros),
            loss: Loss::from_parts_per_million(u32::try_from(loss).ok()?)?,
            probes: u32::try_from(probes).ok()?,
            age: known(age).map(Duration::from_millis),
            hold: Duration::from_millis(hold),
            http_status: known(http_status).map(u16::try_from).transpose().ok()?,
        })
    }
}

impl PathName {
    /// Reads what [`Display`](fmt::Display) writes.
    fn read(text: &str) -> Option<Self> {
        let (tier, rest) = text.split_once(TO)?;
        let (cluster, namespace) = rest.split_once(IN)?;
        Some(Self { tier: unescaped(tier)?, cluster: unescaped(cluster)?, namespace: unescaped(namespace)? })
    }
}

/// As a part of a gauge's name.
impl fmt::Display for PathName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tier, cluster, namespace } = self;
        escape(tier, formatter)?;
        formatter.write_str(TO)?;
        escape(cluster, formatter)?;
        formatter.write_str(IN)?;
        escape(namespace, formatter)
    }
}

/// Writes small letters and digits as they are, a dash as `_`, all else as X and two hexadecimal digits.
fn escape(name: &str, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    name.bytes().try_for_each(|byte| match byte {
        b'a'..=b'z' | b'0'..=b'9' => formatter.write_char(byte.into()),
        b'-' => formatter.write_char('_'),
        _ => write!(formatter, "X{byte:02X}"),
    })
}

fn unescaped(text: &str) -> Option<Box<str>> {
    let mut bytes = text.bytes();
    let mut name = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        name.push(match byte {
            b'a'..=b'z' | b'0'..=b'9' => byte,
            b'_' => b'-',
            b'X' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            _ => return None,
        });
    }
    String::from_utf8(name).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mk_path(tier: &str, cluster: &str) -> PathName {
        PathName { tier: tier.into(), cluster: cluster.into(), namespace: "secure".into() }
    }

    /// As Envoy tells Prometheus.
    fn sanitized(name: &str) -> String {
        name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
    }

    fn path() -> impl Strategy<Value = PathName> {
        let name = || prop_oneof!["[a-z0-9.-]{1,9}", "[TOINX_a.-]{1,9}", "\\PC{1,4}"];
        (name(), name(), name()).prop_map(|(tier, cluster, namespace)| PathName {
            tier: tier.into(),
            cluster: cluster.into(),
            namespace: namespace.into(),
        })
    }

    fn shown() -> impl Strategy<Value = Shown> {
        let duration = || proptest::option::of((1_u64..1 << 40).prop_map(Duration::from_millis));
        let reason = proptest::sample::select(Judgement::ALL.to_vec());
        let rest = (duration(), 1_u64..1 << 40, proptest::option::of(100_u16..600));
        (reason, duration(), duration(), 0_u32..=1_000_000, 0_u32..=500, rest).prop_map(
            |(judgement, latency, jitter, loss, probes, (age, hold, http_status))| Shown {
                judgement,
                latency,
                jitter,
                loss: Loss::from_parts_per_million(loss).unwrap(),
                probes,
                age,
                hold: Duration::from_millis(hold),
                http_status,
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(paths in proptest::collection::btree_map(path(), shown(), 0..4)) {
            let mut readings = Readings::default();
            for (path, shown) in &paths {
                for gauge in Gauge::ALL {
                    readings.take(&sanitized(&gauge.name(path)), gauge.value(shown));
                }
                readings.take(&sanitized(&moves_name(shown.judgement, path)), 7);
            }
            prop_assert_eq!(readings.into_shown(), paths.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn whatever_is_shown_is_read_or_left(names in proptest::collection::vec("mcwan_path_[XTOIN_a-z0-9]{0,20}_(level|reason|age_ms|x)", 0..20)) {
            let mut readings = Readings::default();
            for name in &names {
                readings.take(name, u64::MAX);
            }
            prop_assert_eq!(readings.into_shown(), []);
        }
    }

    #[test]
    fn a_name_can_be_read_by_people() {
        let name = Gauge::Latency.name(&mk_path("sd-wan-priority-high", "cluster-1.example"));
        assert_eq!(name, "mcwan.path.sd_wan_priority_high_TO_cluster_1X2Eexample_IN_secure_latency_us");
    }

    #[test]
    fn what_is_measured_no_more_is_left() {
        let mut readings = Readings::default();
        let mut show = |cluster: &str, value| {
            let names = Gauge::ALL.map(|gauge| sanitized(&gauge.name(&mk_path("high", cluster))));
            for name in &names {
                readings.take(name, value);
            }
        };
        (0..PATHS).for_each(|number| show(&format!("a{number}"), 0));
        show("b", 1);
        let shown: Vec<_> = readings.into_shown().into_iter().map(|(path, _)| path).collect();
        assert_eq!(shown, [mk_path("high", "b")], "they take no place of others");
    }

    #[test]
    fn no_more_is_kept_than_may_be_measured() {
        let mut readings = Readings::default();
        for number in 0..=PATHS {
            readings.take(&sanitized(&Gauge::Level.name(&mk_path("high", &number.to_string()))), 1);
        }
        assert_eq!(readings.0.len(), PATHS);
    }
}
