//! The probes of the VM that holds the lease, and what they say of paths.

use std::mem;
use std::time::Duration;

use mcwan_policy::sla::{Event, Judge, Moment, PathId, Promise, Standing};
use mcwan_policy::{HeaderLine, WanPath};

use crate::host;
use crate::plugin::Plugin;

/// The host that probes ask for: no gateway has it, so it is the gateway itself that answers.
const HOST: &str = "probe.mcwan.invalid";
/// What tells probes from requests, in access logs.
const MARK: &str = "x-mcwan-probe";

/// How long a probe waits at least: a lost packet is sent again after 200 ms and more, and is late, not lost.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(500);
/// How long it waits at most: a bound on how many are under way.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long it waits where nothing is promised.
const USUAL_TIMEOUT: Duration = Duration::from_secs(2);
/// The host tells of each answer, and of none, within the timeout. Of what it does not tell long after that, it never will.
const GRACE: Duration = Duration::from_secs(5);

/// Where the paths stand that are known.
#[derive(Default)]
pub(super) struct Standings(pub(super) Vec<(PathId, Standing)>);

/// The paths of a root context, and the probes that are under way.
pub(super) struct Probes {
    root: u32,
    paths: Vec<Probed>,
    under_way: Vec<Probe>,
}

struct Probed {
    id: PathId,
    promise: Promise,
    interval: Duration,
    judge: Judge,
    /// When the next probe is to be sent.
    due: Moment,
}

struct Probe {
    /// What the host knows it by.
    token: u32,
    /// Place of its path.
    path: usize,
    sent: Moment,
}

/// Whether a path has changed its level.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    Yes,
    No,
}

impl Standings {
    /// That of a path. It is looked for first at the place that it has where both are of one configuration.
    pub(super) fn of(&self, path: PathId, place: usize) -> Option<&Standing> {
        let is_it = |known: &&(PathId, Standing)| known.0 == path;
        let known = self.0.get(place).filter(is_it).or_else(|| self.0.iter().find(is_it))?;
        Some(&known.1)
    }
}

impl Probes {
    /// Those of a root context. What was measured of a path that has not changed goes on; else its level does, where it is
    /// known.
    pub(super) fn taking_over(
        root: u32,
        plugin: &Plugin,
        before: Option<Self>,
        known: &Standings,
        now: Moment,
    ) -> Self {
        let mut before = before.map(|probes| probes.paths).unwrap_or_default();
        let paths = plugin.paths().enumerate().map(|(place, (id, WanPath { promise, interval, .. }))| {
            let (promise, interval) = (*promise, *interval);
            let same = before.iter().position(|path| (path.id, path.promise, path.interval) == (id, promise, interval));
            if let Some(same) = same {
                return before.swap_remove(same);
            }
            let judge = match known.of(id, place) {
                Some(standing) => {
                    // It was shared, and so may be anybody's.
                    let standing = Standing { since: standing.since.min(now), ..*standing };
                    Judge::taking_over(promise, interval, now, standing)
                }
                None => Judge::new(promise, interval, now),
            };
            Probed { id, promise, interval, judge, due: now }
        });
        Self { root, paths: paths.collect(), under_way: Vec::new() }
    }

    pub(super) fn is_of(&self, root: u32) -> bool {
        self.root == root
    }

    /// Where the paths stand.
    pub(super) fn standings(&self) -> Standings {
        Standings(self.paths.iter().map(|path| (path.id, path.judge.standing())).collect())
    }

    /// Sends what is due, where ticks are this far apart.
    pub(super) fn send(&mut self, plugin: &Plugin, now: Moment, period: Duration) {
        self.forget(now);
        for (place, (path, (_, target))) in self.paths.iter_mut().zip(plugin.paths()).enumerate() {
            // What is due before the next tick by more than after this one.
            if path.due > now + period / 2 {
                continue;
            }
            path.due = (path.due + path.interval).max(now + path.interval / 2);
            match host::http_call(&target.envoy_cluster, &headers(), timeout(&path.promise)) {
                Ok(token) => self.under_way.push(Probe { token, path: place, sent: now }),
                Err(_) => {
                    path.judge.step(now, Event::Unsent);
                }
            }
        }
    }

    /// Takes what is under way by its token, with the time since when it is.
    pub(super) fn take(&mut self, token: u32) -> Option<(usize, Moment)> {
        let place = self.under_way.iter().position(|probe| probe.token == token)?;
        let Probe { token: _, path, sent } = self.under_way.swap_remove(place);
        Some((path, sent))
    }

    /// Tells the judge of a path what has become of a probe.
    pub(super) fn step(&mut self, path: usize, now: Moment, event: Event) -> Moved {
        let moved = self.paths.get_mut(path).and_then(|path| path.judge.step(now, event));
        if moved.is_some() { Moved::Yes } else { Moved::No }
    }

    /// What is under way says nothing: we were late ourselves.
    pub(super) fn void(&mut self, now: Moment) {
        for probe in mem::take(&mut self.under_way) {
            self.step(probe.path, now, Event::Voided);
        }
    }

    /// Forgets what the host will not tell of.
    fn forget(&mut self, now: Moment) {
        let Self { paths, under_way, .. } = self;
        under_way.retain(|probe| {
            let Some(path) = paths.get_mut(probe.path) else { return false };
            let is_expected = now.since(probe.sent) <= timeout(&path.promise) + GRACE;
            if !is_expected {
                path.judge.step(now, Event::Voided);
            }
            is_expected
        });
    }
}

fn timeout(promise: &Promise) -> Duration {
    match promise.latency {
        Some(latency) => latency.saturating_mul(3).clamp(SHORTEST_TIMEOUT, LONGEST_TIMEOUT),
        None => USUAL_TIMEOUT,
    }
}

fn headers() -> [HeaderLine; 4] {
    [(":method", "GET"), (":path", "/"), (":authority", HOST), (MARK, "1")]
        .map(|(name, value)| (name.into(), value.into()))
}
