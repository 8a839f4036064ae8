//! Probes the paths of the configuration in force. One VM of the proxy does, by a lease in shared data; the others read there
//! where paths stand.

mod gauges;
mod probes;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use mcwan_policy::sla::{Claim, ConfigAge, Event, Lease, Level, Moment, PathId, RECORD_KEY, Record, Standing, VmId};

use self::gauges::Gauges;
use self::probes::{Moved, Probes, Standings};
use crate::host::HostResult;
use crate::plugin::Plugin;
use crate::{draw, host};

/// For how long it is believed where paths stand after nobody measures them any more. A lease is renewed at each tick, and
/// ticks are half a minute apart at most: what is older may be of another day.
const BELIEVED: Duration = Duration::from_mins(1);

/// What a far gateway never answers by itself; what the proxy answers for it has such a status.
const SERVER_ERROR: u16 = 500;

thread_local! {
    /// The VM's, not a plugin's: a new configuration goes on measuring where the old one was.
    static PROBER: RefCell<Prober> = RefCell::default();
}

#[derive(Default)]
struct Prober {
    /// The root contexts that have a configuration. The one that was configured last speaks: those before are of listeners
    /// that drain.
    roots: Vec<Root>,
    /// Drawn when it is first needed.
    vm: Option<VmId>,
    /// Where paths stand, by who probes.
    known: Standings,
    /// Where this VM holds the lease, or did when it last looked.
    probes: Option<Probes>,
    gauges: Gauges,
    /// When the root context that speaks ticked last, and how long after that it does again.
    ticked: Option<(Moment, Duration)>,
}

struct Root {
    id: u32,
    plugin: Rc<Plugin>,
    since: Moment,
}

/// A root context has a configuration.
pub(crate) fn configured(root: u32, plugin: &Rc<Plugin>) {
    with(|prober| prober.configured(root, plugin));
}

/// A root context ends.
pub(crate) fn closed(root: u32) {
    with(|prober| prober.closed(root));
}

/// How often a root context is to tick; none: nothing is measured by it.
pub(crate) fn period(root: u32) -> Option<Duration> {
    with(|prober| prober.speaker(root).and_then(Root::period)).flatten()
}

/// A root context ticks. Gives the time, if something is measured by it.
pub(crate) fn tick(root: u32) -> Option<Moment> {
    with(|prober| prober.tick(root)).flatten()
}

/// The host tells of the answer to what was sent: it has so many header lines, none if the connection was cut.
pub(crate) fn answered(token: u32, headers: usize) {
    with(|prober| prober.answered(token, headers));
}

/// No host calls us from within a host call; one that did would be told nothing.
fn with<T>(work: impl FnOnce(&mut Prober) -> T) -> Option<T> {
    PROBER.with(|prober| prober.try_borrow_mut().ok().map(|mut prober| work(&mut prober)))
}

impl Prober {
    fn configured(&mut self, root: u32, plugin: &Rc<Plugin>) {
        self.roots.retain(|other| other.id != root);
        let mut since = Moment::START;
        if plugin.has_paths() {
            since = host::monotonic().unwrap_or_default();
            // To load it took so long that answers were not seen as they came.
            if self.is_late(since)
                && let (Some(probes), Some((looked, _))) = (&mut self.probes, self.ticked)
            {
                probes.void_since(looked, since);
            }
            if self.probes.is_none()
                && let Ok(Some((bytes, _))) = host::shared_data(RECORD_KEY)
                && let Some(record) = Record::from_bytes(&bytes)
            {
                self.known = believed(record, since);
            }
        } else {
            self.stop(&[]);
            self.known = Standings::default();
        }
        self.ticked = None;
        self.roots.push(Root { id: root, plugin: Rc::clone(plugin), since });
        self.tell_levels();
    }

    fn closed(&mut self, root: u32) {
        self.roots.retain(|other| other.id != root);
        if self.roots.is_empty() {
            self.stop(&[]);
        }
    }

    /// Another VM probes these paths, or none does.
    fn stop(&mut self, anothers: &[(PathId, Standing)]) {
        self.probes = None;
        self.gauges.leave(|name| {
            let id = PathId::new(&name.tier, &name.cluster, &name.namespace);
            anothers.iter().any(|(path, _)| *path == id)
        });
    }

    fn tick(&mut self, root: u32) -> Option<Moment> {
        let speaker = self.speaker(root)?;
        let (plugin, config, period) = (Rc::clone(&speaker.plugin), speaker.config(), speaker.period()?);
        let shared = Shared::read();
        let now = host::monotonic().ok()?;
        if self.is_late(now)
            && let Some(probes) = &mut self.probes
        {
            probes.void(now);
        }
        self.ticked = Some((now, period));
        let Some(Shared { record, version }) = shared else {
            return Some(now);
        };
        let vm = *self.vm.get_or_insert_with(|| VmId(u128::from(draw::draw()) << 64 | u128::from(draw::draw())));
        let claim = Claim::of(vm, &config, record.as_ref().map(|record| &record.lease), now);
        if let Some(record) = record {
            if record.lease.holder != vm {
                self.stop(&record.standings);
            }
            if self.probes.is_none() {
                self.known = believed(record, now);
            }
        }
        let lease = Lease { holder: vm, config, renewed: now, period };
        match claim {
            Claim::Hold => {
                let before = self.probes.take();
                let mut probes = match before {
                    Some(probes) if probes.is_of(root) => probes,
                    before => Probes::taking_over(root, &plugin, before, &self.known, (config.since, now)),
                };
                probes.send(&plugin, now, period);
                self.known = probes.standings();
                if self.gauges.are_due(now) {
                    self.gauges.show(now, probes.show(now));
                }
                self.probes = Some(probes);
                self.share(lease, version);
            }
            Claim::Take => {
                // The one before shows none of the others any more.
                self.known.keep_those_of(&plugin);
                self.share(lease, version);
            }
            Claim::Follow => {}
        }
        self.tell_levels();
        Some(now)
    }

    fn answered(&mut self, token: u32, headers: usize) {
        let Some((path, sent)) = self.probes.as_mut().and_then(|probes| probes.take(token)) else {
            return;
        };
        let now = host::monotonic();
        let is_late = now.is_ok_and(|now| self.is_late(now));
        let Some(probes) = &mut self.probes else {
            return;
        };
        let event = match now {
            Ok(now) if !is_late => {
                let status = http_status(headers);
                if let Ok(Some(status)) = status
                    && status < SERVER_ERROR
                {
                    probes.saw(path, status);
                }
                outcome(now.since(sent), status)
            }
            _ => Event::Voided,
        };
        let now = now.unwrap_or(sent);
        if is_late {
            probes.void(now);
        }
        if probes.step(path, now, event) == Moved::Yes {
            self.known = probes.standings();
            self.tell_levels();
            self.share_at_once();
        }
    }

    /// Tells the others of a move, as they may not wait for the next tick.
    fn share_at_once(&mut self) {
        let Some(Shared { record: Some(Record { lease, .. }), version }) = Shared::read() else {
            return;
        };
        if self.vm == Some(lease.holder) {
            self.share(lease, version);
        }
    }

    /// Who cannot tell the others now can at the next tick, unless it has lost the lease by then.
    fn share(&self, lease: Lease, version: u32) {
        let record = Record { lease, standings: self.known.0.clone() };
        let _ = host::set_shared_data(RECORD_KEY, &record.to_bytes(), version);
    }

    /// Whether the tick is overdue by more than a period: then nobody was there to see answers come.
    fn is_late(&self, now: Moment) -> bool {
        self.ticked.is_some_and(|(ticked, period)| now.since(ticked) > period.saturating_mul(2))
    }

    fn tell_levels(&self) {
        for root in &self.roots {
            let level =
                |path, place| self.known.of(path, place).map_or(Level::In, |standing| standing.judgement.level());
            root.plugin.set_levels(level);
        }
    }

    /// A root context, if it is the one that speaks.
    fn speaker(&self, root: u32) -> Option<&Root> {
        self.roots.last().filter(|last| last.id == root)
    }
}

impl Root {
    fn config(&self) -> ConfigAge {
        ConfigAge { revision: self.plugin.revision(), since: self.since }
    }

    fn period(&self) -> Option<Duration> {
        self.plugin.paths().map(|(_, path)| path.interval).min()
    }
}

/// What is in shared data, and the number of its writing.
struct Shared {
    /// None where there is nothing, or nothing of ours.
    record: Option<Record>,
    version: u32,
}

impl Shared {
    /// None where it cannot be read.
    fn read() -> Option<Self> {
        Some(match host::shared_data(RECORD_KEY).ok()? {
            Some((bytes, version)) => Self { record: Record::from_bytes(&bytes), version },
            None => Self { record: None, version: 0 },
        })
    }
}

/// Where paths stand, by who has measured them just now.
fn believed(record: Record, now: Moment) -> Standings {
    let is_new = now.since(record.lease.renewed) <= BELIEVED;
    if is_new { Standings(record.standings) } else { Standings::default() }
}

/// The status of an answer with so many header lines; none: its connection was cut, or it has none.
fn http_status(headers: usize) -> HostResult<Option<u16>> {
    let status = if headers == 0 { None } else { host::answer_status()? };
    Ok(status.and_then(|status| std::str::from_utf8(&status).ok()?.parse().ok()))
}

/// What an answer with such a status says.
fn outcome(round_trip: Duration, status: HostResult<Option<u16>>) -> Event {
    match status {
        Ok(Some(status)) if status < SERVER_ERROR => Event::Answered(round_trip),
        Ok(_) => Event::Missed,
        Err(_) => Event::Voided,
    }
}
