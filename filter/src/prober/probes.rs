//! The probes of the VM that holds the lease, and what they say of paths.

use std::mem;
use std::time::Duration;

use mcwan_policy::sla::{Event, Judge, Judgement, Moment, PathId, PathName, Promise, Shown, Standing};
use mcwan_policy::{HeaderLine, WanPath};

use crate::host::{self, HostError};
use crate::plugin::Plugin;

/// The host that probes ask for: no gateway has it, so it is the gateway itself that answers.
const HOST: &str = "probe.mcwan.invalid";
/// What tells probes from requests, in access logs.
const MARK: &str = "x-mcwan-probe";

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
    name: PathName,
    promise: Promise,
    interval: Duration,
    judge: Judge,
    /// The status of the far gateway's last answer.
    http_status: Option<u16>,
    /// The reasons of the moves that nobody was told of.
    moves: Vec<Judgement>,
    /// When the next probe is to be sent.
    due: Moment,
}

#[derive(Clone, Copy)]
struct Probe {
    /// What the host knows it by.
    token: u32,
    /// Place of its path.
    path: usize,
    sent: Moment,
    /// Whether a root context of before has sent it: once that is gone, the host tells of nothing (Envoy, `Context::onDestroy`).
    is_of_before: bool,
}

/// Whether a path has changed its level.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    Yes,
    No,
}

impl Standings {
    /// Forgets paths that are not measured for this configuration.
    pub(super) fn keep_those_of(&mut self, plugin: &Plugin) {
        self.0.retain(|(known, _)| plugin.paths().any(|(path, _)| path == *known));
    }

    /// That of a path. It is looked for first at the place that it has where both are of one configuration.
    pub(super) fn of(&self, path: PathId, place: usize) -> Option<&Standing> {
        let is_it = |known: &&(PathId, Standing)| known.0 == path;
        let known = self.0.get(place).filter(is_it).or_else(|| self.0.iter().find(is_it))?;
        Some(&known.1)
    }
}

impl Probes {
    /// Those of a root context, which has had its configuration since then. What was measured of a path that has not changed
    /// goes on, and so do probes that were overdue; else its level does, where it is known.
    pub(super) fn taking_over(
        root: u32,
        plugin: &Plugin,
        before: Option<Self>,
        known: &Standings,
        (since, now): (Moment, Moment),
    ) -> Self {
        let (before, sent) = before.map(|probes| (probes.paths, probes.under_way)).unwrap_or_default();
        let mut before: Vec<_> = before.into_iter().enumerate().collect();
        let mut under_way = Vec::new();
        let paths = plugin.paths().enumerate().map(|(place, (id, path))| {
            let WanPath { tier, cluster, namespace, promise, interval, envoy_cluster: _ } = path;
            let (promise, interval) = (*promise, *interval);
            let is_same = |path: &Probed| (path.id, path.promise, path.interval) == (id, promise, interval);
            if let Some(same) = before.iter().position(|(_, path)| is_same(path)) {
                let (former, mut path) = before.swap_remove(same);
                for probe in sent.iter().filter(|probe| probe.path == former) {
                    if path.judge.is_overdue(since.since(probe.sent)) {
                        under_way.push(Probe { path: place, is_of_before: true, ..*probe });
                    } else {
                        // Nobody knows what would have become of it.
                        path.due = now;
                    }
                }
                return path;
            }
            let judge = match known.of(id, place) {
                Some(standing) => {
                    // It was shared, and so may be anybody's.
                    let standing = Standing { since: standing.since.min(now), ..*standing };
                    Judge::taking_over(promise, interval, now, standing)
                }
                None => Judge::new(promise, interval, now),
            };
            let (tier, cluster, namespace) = (tier.clone(), cluster.clone(), namespace.clone());
            let name = PathName { tier, cluster, namespace };
            Probed { id, name, promise, interval, judge, http_status: None, moves: Vec::new(), due: now }
        });
        let paths = paths.collect();
        Self { root, paths, under_way }
    }

    pub(super) fn is_of(&self, root: u32) -> bool {
        self.root == root
    }

    /// Where the paths stand.
    pub(super) fn standings(&self) -> Standings {
        Standings(self.paths.iter().map(|path| (path.id, path.judge.standing())).collect())
    }

    /// What is shown of the paths, with the reasons of the moves since the last time.
    pub(super) fn show(&mut self, now: Moment) -> impl Iterator<Item = (PathName, Shown, Vec<Judgement>)> {
        self.paths.iter_mut().map(move |path| {
            let shown = Shown::new(path.judge.standing(), path.judge.figures(), path.http_status, now);
            (path.name.clone(), shown, mem::take(&mut path.moves))
        })
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
            match host::http_call(&target.envoy_cluster, &headers(), path.promise.timeout()) {
                Ok(token) => self.under_way.push(Probe { token, path: place, sent: now, is_of_before: false }),
                Err(HostError::BAD_ARGUMENT) => {
                    path.step(now, Event::Unsent);
                }
                // It ended before it began, as one does for which there is no healthy far gateway (Envoy, `AsyncClient::send`).
                Err(_) => {
                    path.step(now, Event::Missed);
                }
            }
        }
    }

    /// Takes what is under way by its token, with the time since when it is.
    pub(super) fn take(&mut self, token: u32) -> Option<(usize, Moment)> {
        let place = self.under_way.iter().position(|probe| probe.token == token)?;
        let Probe { token: _, path, sent, is_of_before: _ } = self.under_way.swap_remove(place);
        Some((path, sent))
    }

    /// The far gateway has answered with a status.
    pub(super) fn saw(&mut self, path: usize, http_status: u16) {
        if let Some(path) = self.paths.get_mut(path) {
            path.http_status = Some(http_status);
        }
    }

    /// Tells the judge of a path what has become of a probe.
    pub(super) fn step(&mut self, path: usize, now: Moment, event: Event) -> Moved {
        self.paths.get_mut(path).map_or(Moved::No, |path| path.step(now, event))
    }

    /// What is under way says nothing: we were late ourselves.
    pub(super) fn void(&mut self, now: Moment) {
        for probe in mem::take(&mut self.under_way) {
            self.step(probe.path, now, Event::Voided);
        }
    }

    /// The same of what was not overdue when we looked last.
    pub(super) fn void_since(&mut self, looked: Moment, now: Moment) {
        let Self { paths, under_way, .. } = self;
        under_way.retain(|probe| {
            let Some(path) = paths.get_mut(probe.path) else { return false };
            let is_overdue = path.judge.is_overdue(looked.since(probe.sent));
            if !is_overdue {
                path.step(now, Event::Voided);
            }
            is_overdue
        });
    }

    /// Forgets what the host will not tell of. A probe of a root context of before is missed where nothing has come back since
    /// it was sent: configurations may follow each other faster than any probe is told of.
    fn forget(&mut self, now: Moment) {
        let Self { paths, under_way, .. } = self;
        under_way.retain(|probe| {
            let Some(path) = paths.get_mut(probe.path) else { return false };
            let grace = if probe.is_of_before { Duration::ZERO } else { GRACE };
            let is_expected = now.since(probe.sent) <= path.promise.timeout() + grace;
            if !is_expected {
                let is_missed = probe.is_of_before && path.judge.answered_at() < probe.sent;
                path.step(now, if is_missed { Event::Missed } else { Event::Voided });
            }
            is_expected
        });
    }
}

impl Probed {
    fn step(&mut self, now: Moment, event: Event) -> Moved {
        let Some(moved) = self.judge.step(now, event) else { return Moved::No };
        self.moves.push(moved.to);
        Moved::Yes
    }
}

fn headers() -> [HeaderLine; 4] {
    [(":method", "GET"), (":path", "/"), (":authority", HOST), (MARK, "1")]
        .map(|(name, value)| (name.into(), value.into()))
}
