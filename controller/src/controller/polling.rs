//! Asks gateway pods whether they do what they were told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::emit::kubernetes::Shipped;
use crate::gateways::{GatewayPod, GatewayReader, GatewayReport, Progress, Record, Reload};
use crate::gather::Snapshot;
use crate::module::ModuleStatus;
use crate::status::GatewayState;
use crate::translate::gateway_pods::{EGRESS_GATEWAY, addresses_of, gateway_of, is_ready};

/// How long pods may take to load a configuration before their imports are said not to be programmed.
const SETTLING: Duration = Duration::from_secs(10);
/// How many answers wait to be taken note of.
const WAITING: usize = 256;

/// Asks the pods of the egress gateways where the filter decides, one namespace at a time.
pub(super) struct Polling {
    reader: GatewayReader,
    sender: mpsc::Sender<Answer>,
    answers: mpsc::Receiver<Answer>,
    namespaces: BTreeMap<Arc<str>, Poll>,
}

/// What the pods of a namespace said.
pub(super) struct Answer {
    namespace: Arc<str>,
    revision: u64,
    pods: Vec<GatewayPod>,
    reports: Vec<Option<GatewayReport>>,
}

/// What an answer means for a namespace.
pub(super) struct Finding {
    pub(super) namespace: Arc<str>,
    /// Every pod has the configuration that was shipped last.
    pub(super) is_everywhere: bool,
    /// The agents must be made to fetch the module again.
    pub(super) reload: bool,
}

/// What is known of the gateway of a namespace.
struct Poll {
    revision: u64,
    pods: Vec<GatewayPod>,
    /// What the pods had failed at before.
    record: Record,
    /// None: nothing is known yet of the configuration that was shipped last.
    progress: Option<Progress>,
    /// When it was shipped.
    since: Instant,
    /// Whether it is said that pods do not have it yet.
    is_late: bool,
    /// None: an answer is under way, or there is nobody to ask.
    next: Option<Instant>,
    reload: Reload,
}

impl Polling {
    pub(super) fn new(reader: GatewayReader) -> Self {
        let (sender, answers) = mpsc::channel(WAITING);
        Self { reader, sender, answers, namespaces: BTreeMap::new() }
    }

    /// What was shipped to the gateway of a namespace, if anything, and who runs it.
    pub(super) fn shipped(&mut self, namespace: &Arc<str>, shipped: Option<Shipped>, snapshot: &Snapshot) {
        let Some(Shipped { revision, .. }) = shipped else {
            self.namespaces.remove(namespace);
            return;
        };
        let pods = pods(namespace, snapshot);
        let known = self.namespaces.get(namespace);
        if known.is_some_and(|known| known.revision == revision && known.pods == pods) {
            return;
        }
        let now = Instant::now();
        let next = (!pods.is_empty()).then_some(now);
        let record = self.namespaces.remove(namespace).map(|known| known.record).unwrap_or_default();
        let reload = Reload::default();
        let poll = Poll { revision, pods, record, progress: None, since: now, is_late: false, next, reload };
        self.namespaces.insert(Arc::clone(namespace), poll);
    }

    /// The pods of a namespace may be others.
    pub(super) fn pods_changed(&mut self, namespace: &Arc<str>, snapshot: &Snapshot) {
        if let Some(Poll { revision, .. }) = self.namespaces.get(namespace) {
            self.shipped(namespace, Some(Shipped { revision: *revision, bytes: 0 }), snapshot);
        }
    }

    /// When the next are to be asked.
    pub(super) fn next(&self) -> Option<Instant> {
        self.namespaces.values().filter_map(|poll| poll.next).min()
    }

    /// Asks those that are due.
    pub(super) fn ask(&mut self, now: Instant) {
        for (namespace, poll) in &mut self.namespaces {
            if poll.next.is_none_or(|next| next > now) {
                continue;
            }
            poll.next = None;
            let (reader, sender) = (self.reader.clone(), self.sender.clone());
            let (namespace, revision, pods) = (Arc::clone(namespace), poll.revision, poll.pods.clone());
            tokio::spawn(async move {
                let reports = reader.read(&pods).await;
                // Nobody waits for it where the controller ends.
                let _ = sender.send(Answer { namespace, revision, pods, reports }).await;
            });
        }
    }

    /// The next answer.
    pub(super) async fn answer(&mut self) -> Option<Answer> {
        self.answers.recv().await
    }

    /// Takes note of an answer; none: it comes too late to mean anything, or says what is known.
    pub(super) fn heard(&mut self, answer: Answer, module: &ModuleStatus) -> Option<Finding> {
        let Answer { namespace, revision, pods, reports } = answer;
        let poll = self.namespaces.get_mut(&namespace).filter(|poll| poll.revision == revision)?;
        let progress = Progress::of(revision, &poll.record.since_success(revision, &pods, &reports));
        let now = Instant::now();
        poll.next = Some(now + progress.look_again_after());
        let reload = poll.reload.is_due(now, module, progress);
        let is_late = now.duration_since(poll.since) >= SETTLING;
        let is_news = poll.progress.replace(progress) != Some(progress) || poll.is_late != is_late;
        poll.is_late = is_late;
        (is_news || reload).then(|| Finding { namespace, is_everywhere: progress.is_everywhere(), reload })
    }

    /// Whether the gateway of a namespace is about to do what it was told: until it does, or takes long, there is
    /// nothing new to say of its imports.
    pub(super) fn awaits(&self, namespace: &str) -> bool {
        let Some(poll) = self.namespaces.get(namespace) else { return false };
        match poll.progress {
            None => !poll.pods.is_empty(),
            Some(progress) => progress.awaited > 0 && progress.failing == 0 && !poll.is_late,
        }
    }

    /// Whether the gateway of a namespace does what it was told.
    pub(super) fn state(&self, namespace: &str) -> GatewayState {
        let Some(poll) = self.namespaces.get(namespace) else {
            return GatewayState::Waiting("nothing was sent to the gateway yet".to_owned());
        };
        let all = poll.pods.len();
        match poll.progress {
            None if poll.pods.is_empty() => {
                GatewayState::Waiting(format!("no pod of Gateway {namespace}/{EGRESS_GATEWAY} is ready"))
            }
            Some(progress) if progress.failing > 0 => GatewayState::Failed(format!(
                "{} of {all} pods of Gateway {namespace}/{EGRESS_GATEWAY} could not fetch the module",
                progress.failing
            )),
            Some(progress) if progress.in_force == all => GatewayState::InForce,
            Some(progress) => GatewayState::Waiting(format!(
                "{} of {all} pods of Gateway {namespace}/{EGRESS_GATEWAY} have the rules in force, {} cannot be asked",
                progress.in_force, progress.unknown
            )),
            None => GatewayState::Waiting(format!("Gateway {namespace}/{EGRESS_GATEWAY} is being asked")),
        }
    }
}

/// The ready pods of a namespace's egress gateway.
fn pods(namespace: &Arc<str>, snapshot: &Snapshot) -> Vec<GatewayPod> {
    let pods = snapshot.gateway_pods.in_namespace(namespace);
    let ready = pods.filter(|pod| gateway_of(pod) == Some(EGRESS_GATEWAY) && is_ready(pod));
    ready
        .filter_map(|pod| {
            Some(GatewayPod {
                namespace: Arc::clone(namespace),
                gateway: EGRESS_GATEWAY.into(),
                name: pod.metadata.name.as_deref()?.into(),
                address: addresses_of(pod).next()?,
            })
        })
        .collect()
}
