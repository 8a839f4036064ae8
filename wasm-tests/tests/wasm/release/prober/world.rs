//! A proxy in virtual time: VMs tick, and the network answers what they send.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcwan_policy::sla::{Judgement, PathId, RECORD_KEY, Record};
use mcwan_wasm_tests::{Callout, Envoy, Headers, Host, RootId, VmId};
use serde_json::{Value, json};

use super::super::config::{config, payment, release, with};

/// Milliseconds.
pub(super) const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// What becomes of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is answered with this status after so long.
    Answer(u16, Duration),
    /// It is not answered: the proxy says 504 after the timeout.
    Lost,
    /// Its connection is cut after so long.
    Cut(Duration),
    /// Not even the proxy tells of it.
    Forgotten,
}

/// A probe that was sent.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) root: RootId,
    pub(super) callout: Callout,
}

/// A proxy with a network.
pub(super) struct World {
    pub(super) envoy: Envoy,
    /// The root contexts, and when each ticks next.
    ticks: BTreeMap<RootId, Duration>,
    /// What will be answered, and when.
    answers: BTreeMap<(Duration, RootId, u32), Headers>,
    seen: BTreeSet<(VmId, u32)>,
    /// Of each Envoy cluster; what is not there is answered 404 after 20 ms.
    pub(super) network: BTreeMap<String, Fate>,
    pub(super) sent: Vec<Sent>,
}

/// A path, with its Envoy cluster of the same name.
pub(super) fn path(tier: &str, interval: u32) -> Value {
    json!({
        "tier": tier,
        "cluster": "cluster1",
        "namespace": "secure",
        "latencyMs": 50,
        "jitterMs": 10,
        "lossPpm": 5_000,
        "intervalMs": interval,
        "envoyCluster": tier,
    })
}

/// A configuration of a revision that measures these paths.
pub(super) fn measuring(revision: u64, paths: impl IntoIterator<Item = Value>) -> Value {
    let paths = paths.into_iter().collect();
    with(with(config([payment()]), "revision", json!(revision)), "paths", Value::Array(paths))
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            envoy: Host::builder(&release()).envoy(),
            ticks: BTreeMap::new(),
            answers: BTreeMap::new(),
            seen: BTreeSet::new(),
            network: BTreeMap::new(),
            sent: Vec::new(),
        }
    }

    /// Starts a VM.
    pub(super) fn start(&mut self, config: &Value) -> RootId {
        let root = self.envoy.start(&release(), config.to_string()).unwrap_or_else(|failure| panic!("{failure:?}"));
        self.schedule(root);
        root
    }

    /// Gives a VM a new root context. Those that it has tick on.
    pub(super) fn configure(&mut self, vm: VmId, config: &Value) -> RootId {
        let root = self.envoy.configure(vm, config.to_string()).unwrap_or_else(|failure| panic!("{failure:?}"));
        self.schedule(root);
        root
    }

    pub(super) fn close(&mut self, root: RootId) {
        self.envoy.close(root).unwrap_or_else(|failure| panic!("{failure:?}"));
        self.ticks.remove(&root);
        self.answers.retain(|(_, to, _), _| *to != root);
    }

    pub(super) fn kill(&mut self, vm: VmId) {
        self.envoy.kill(vm);
        self.ticks.retain(|root, _| root.vm != vm);
        self.answers.retain(|(_, root, _), _| root.vm != vm);
    }

    /// Lets so much time pass.
    pub(super) fn run(&mut self, time: Duration) {
        let end = self.envoy.monotonic() + time;
        loop {
            let tick = self.ticks.iter().map(|(root, at)| (*at, *root)).min();
            let answer = self.answers.keys().next().copied();
            let next = [tick.map(|(at, _)| at), answer.map(|(at, _, _)| at)].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.envoy.set_monotonic(next.max(self.envoy.monotonic()));
            match answer {
                Some(key @ (at, root, token)) if at == next => {
                    let headers = self.answers.remove(&key).expect("it is there");
                    let told = self.envoy.answer(root, token, headers);
                    told.unwrap_or_else(|failure| panic!("{failure:?}"));
                }
                _ => {
                    let (_, root) = tick.expect("one of them is next");
                    self.envoy.tick(root).unwrap_or_else(|failure| panic!("{failure:?}"));
                    self.schedule(root);
                    self.deliver(root.vm);
                }
            }
        }
        self.envoy.set_monotonic(end);
    }

    /// Lets so much time pass in which no thread does anything; what was due happens after it.
    pub(super) fn stall(&mut self, time: Duration) {
        let end = self.envoy.monotonic() + time;
        self.envoy.set_monotonic(end);
    }

    /// The next tick of a root context.
    fn schedule(&mut self, root: RootId) {
        let next = self.envoy.tick_period(root).map(|period| self.envoy.monotonic() + period);
        match next {
            Some(next) => self.ticks.insert(root, next),
            None => self.ticks.remove(&root),
        };
    }

    /// Takes what a VM has sent to the network.
    fn deliver(&mut self, vm: VmId) {
        for callout in self.envoy.callouts(vm).to_vec() {
            if !self.seen.insert((vm, callout.token)) {
                continue;
            }
            let root = self.envoy.root_of(vm, &callout);
            let status = |status: u16| [(":status", status.to_string())].into_iter().collect();
            let fate = self.network.get(&callout.cluster).copied().unwrap_or(Fate::Answer(404, ms(20)));
            let answer = match fate {
                Fate::Answer(code, after) if after < callout.timeout => Some((after, status(code))),
                Fate::Answer(..) | Fate::Lost => Some((callout.timeout, status(504))),
                Fate::Cut(after) => Some((after, Headers::default())),
                Fate::Forgotten => None,
            };
            if let Some((after, headers)) = answer {
                self.answers.insert((callout.sent + after, root, callout.token), headers);
            }
            self.sent.push(Sent { root, callout });
        }
    }

    /// What is in shared data.
    pub(super) fn record(&mut self) -> Record {
        let bytes = self.envoy.shared_data().get(RECORD_KEY).expect("somebody has shared something");
        Record::from_bytes(bytes).expect("it can be read")
    }

    /// Why the path of a tier is on its level.
    pub(super) fn judgement(&mut self, tier: &str) -> Judgement {
        let id = PathId::new(tier, "cluster1", "secure");
        let record = self.record();
        let standing = record.standings.iter().find(|(path, _)| *path == id);
        standing.unwrap_or_else(|| panic!("{tier} in {record:?}")).1.judgement
    }

    /// The root contexts that have sent since then, each as often as it took over from another one.
    pub(super) fn probers(&self, since: Duration) -> Vec<RootId> {
        let sent = self.sent.iter().filter(|sent| sent.callout.sent >= since).map(|sent| sent.root);
        let mut probers: Vec<_> = sent.collect();
        probers.dedup();
        probers
    }
}
