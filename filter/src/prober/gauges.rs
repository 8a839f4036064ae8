//! Shows the paths that are probed as gauges of the proxy.

use std::collections::BTreeMap;
use std::time::Duration;

use mcwan_policy::sla::{Gauge, Judgement, Moment, PathName, Shown, moves_name};

use crate::counters::Counter;
use crate::host;

/// Between two times that paths are shown: as often as anybody looks.
const PERIOD: Duration = Duration::from_secs(1);

/// The gauges of the paths that this VM probes. Another VM may have shown them last, so each is told each time.
#[derive(Default)]
pub(super) struct Gauges {
    paths: BTreeMap<PathName, OfPath>,
    told: Option<Moment>,
}

/// What the host knows the gauges of a path by, and how often the path has moved.
#[derive(Default)]
struct OfPath {
    ids: [Option<u32>; Gauge::ALL.len()],
    moves: Vec<(Judgement, Counter)>,
}

impl Gauges {
    pub(super) fn are_due(&self, now: Moment) -> bool {
        self.told.is_none_or(|told| now.since(told) >= PERIOD)
    }

    /// Shows these paths with the reasons of their moves, and no other.
    pub(super) fn show(&mut self, now: Moment, paths: impl Iterator<Item = (PathName, Shown, Vec<Judgement>)>) {
        self.told = Some(now);
        let mut before = std::mem::take(&mut self.paths);
        for (name, shown, moves) in paths {
            let mut path = before.remove(&name).unwrap_or_default();
            path.tell(&name, |gauge| gauge.value(&shown));
            path.count(&name, moves);
            self.paths.insert(name, path);
        }
        before.into_iter().for_each(OfPath::hide);
    }

    /// None is probed here any more. Those that another VM probes it shows.
    pub(super) fn leave(&mut self, is_anothers: impl Fn(&PathName) -> bool) {
        self.told = None;
        let own = std::mem::take(&mut self.paths).into_iter().filter(|(name, _)| !is_anothers(name));
        own.for_each(OfPath::hide);
    }
}

impl OfPath {
    /// A host that takes no gauge now may take it the next time.
    fn tell(&mut self, name: &PathName, value: impl Fn(Gauge) -> u64) {
        for (gauge, id) in Gauge::ALL.into_iter().zip(&mut self.ids) {
            if id.is_none() {
                *id = host::define_gauge(&gauge.name(name)).ok();
            }
            if let Some(id) = *id {
                let _ = host::set_gauge(id, value(gauge));
            }
        }
    }

    fn count(&mut self, name: &PathName, moves: Vec<Judgement>) {
        for reason in moves {
            let place = self.moves.iter().position(|(known, _)| *known == reason).unwrap_or_else(|| {
                self.moves.push((reason, Counter::default()));
                self.moves.len() - 1
            });
            if let Some((_, counter)) = self.moves.get_mut(place) {
                counter.add_one();
            }
        }
        for (reason, counter) in &mut self.moves {
            counter.flush(|| moves_name(*reason, name));
        }
    }

    fn hide((name, mut path): (PathName, Self)) {
        path.tell(&name, |_| 0);
    }
}
