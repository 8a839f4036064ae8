//! Asks gateway pods whether they do what they were told.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use mcwan_core::emit::kubernetes::Shipped;
use mcwan_core::snapshot::Snapshot;
use mcwan_core::status::GatewayState;
use mcwan_core::translate::gateway_pods::{EGRESS_GATEWAY, addresses_of, gateway_of, is_over, is_ready};
use tokio::sync::mpsc;

use crate::gateways::{GatewayPod, GatewayReader, GatewayReport, Progress, Record, Reload};
use crate::module::ModuleStatus;

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
    /// Every pod has the configuration that was shipped last, and none that cannot be asked may serve by another.
    pub(super) is_everywhere: bool,
    /// The agents must be made to fetch the module again.
    pub(super) reload: bool,
}

/// What is known of the gateway of a namespace.
struct Poll {
    revision: u64,
    pods: Vec<GatewayPod>,
    /// Whether others may hold connections, which are not asked.
    others_serve: bool,
    /// What the pods had failed at before.
    record: Record,
    /// None: nothing is known yet of the configuration that was shipped last.
    progress: Option<Progress>,
    /// When it was shipped.
    since: Instant,
    /// Whether it is said that pods do not have it yet.
    is_late: bool,
    /// Whether it is said that it is everywhere.
    is_everywhere: bool,
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
        let (now, pods, others_serve) = (Instant::now(), pods(namespace, snapshot), others_serve(namespace, snapshot));
        let known = self.namespaces.get_mut(namespace);
        if let Some(known) = known.filter(|known| known.revision == revision && known.pods == pods) {
            if known.others_serve && !others_serve {
                // Those that are asked now speak for all.
                known.next = known.next.map(|_| now);
            }
            known.others_serve = others_serve;
            return;
        }
        let next = (!pods.is_empty()).then_some(now);
        let record = self.namespaces.remove(namespace).map(|known| known.record).unwrap_or_default();
        let reload = Reload::default();
        let poll = Poll {
            revision,
            pods,
            others_serve,
            record,
            progress: None,
            since: now,
            is_late: false,
            is_everywhere: false,
            next,
            reload,
        };
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
        let known = self.namespaces.get_mut(&namespace);
        let poll = known.filter(|poll| poll.revision == revision && poll.pods == pods)?;
        let progress = Progress::of(revision, &poll.record.since_success(revision, &pods, &reports));
        let now = Instant::now();
        poll.next = Some(now + progress.look_again_after());
        let reload = poll.reload.is_due(now, module, progress);
        let is_late = now.duration_since(poll.since) >= SETTLING;
        let is_everywhere = progress.is_everywhere() && !poll.others_serve;
        let is_news = poll.progress.replace(progress) != Some(progress)
            || poll.is_late != is_late
            || poll.is_everywhere != is_everywhere;
        (poll.is_late, poll.is_everywhere) = (is_late, is_everywhere);
        (is_news || reload).then_some(Finding { namespace, is_everywhere, reload })
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

/// Whether pods of a namespace's egress gateway may serve that are not asked: those that drain, and those that are not
/// ready, go on with the connections that they have.
fn others_serve(namespace: &str, snapshot: &Snapshot) -> bool {
    let may_serve = |pod: &Pod| !is_ready(pod) && !is_over(pod) && addresses_of(pod).next().is_some();
    let mut pods = snapshot.gateway_pods.in_namespace(namespace);
    pods.any(|pod| gateway_of(pod) == Some(EGRESS_GATEWAY) && may_serve(pod))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use mcwan_core::snapshot::Key;
    use mcwan_core::translate::gateway_pods::{GATEWAY_LABEL, NATIVE_EGRESS_GATEWAY};

    const SHIPPED: Option<Shipped> = Some(Shipped { revision: 7, bytes: 0 });

    fn mk_pod(name: &str, gateway: &str, address: Option<&str>, changes: &Value) -> Pod {
        let addresses = address.map(|address| json!([{"ip": address}]));
        let mut pod = json!({
            "metadata": {"name": name, "namespace": "secure", "labels": {GATEWAY_LABEL: gateway}},
            "status": {"podIPs": addresses, "conditions": [{"type": "Ready", "status": "True"}]},
        });
        json_patch(&mut pod, changes);
        serde_json::from_value(pod).unwrap()
    }

    fn json_patch(whole: &mut Value, changes: &Value) {
        match changes {
            Value::Object(changes) => changes.iter().for_each(|(key, value)| json_patch(&mut whole[key], value)),
            value => *whole = value.clone(),
        }
    }

    fn mk_polling() -> Polling {
        Polling::new(GatewayReader::new(1).unwrap())
    }

    /// What it means that every pod that is asked has the configuration.
    fn all_have_it(polling: &mut Polling, snapshot: &Snapshot) -> Option<Finding> {
        let (namespace, pods) = ("secure".into(), pods(&"secure".into(), snapshot));
        let reports = vec![Some(GatewayReport { revision: Some(7), module_failures: 0 }); pods.len()];
        polling.heard(Answer { namespace, revision: 7, pods, reports }, &ModuleStatus::Ok)
    }

    #[tokio::test]
    async fn a_pod_that_is_not_asked_and_may_serve_is_waited_for() {
        let drains = json!({"metadata": {"deletionTimestamp": "2026-11-20T08:00:00Z"}});
        let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        let over = json!({"status": {"phase": "Failed"}});
        let (there, nowhere) = (Some("10.0.0.2"), None);
        let table = [
            (mk_pod("b", EGRESS_GATEWAY, there, &json!({})), true, "it is asked"),
            (mk_pod("b", EGRESS_GATEWAY, there, &drains), false, "it drains"),
            (mk_pod("b", EGRESS_GATEWAY, there, &unready), false, "it is not ready"),
            (mk_pod("b", EGRESS_GATEWAY, nowhere, &unready), true, "it has no address yet"),
            (mk_pod("b", EGRESS_GATEWAY, there, &over), true, "it has ended"),
            (mk_pod("b", NATIVE_EGRESS_GATEWAY, there, &unready), true, "it has no filter"),
        ];
        for (other, expected, message) in table {
            let pod = mk_pod("a", EGRESS_GATEWAY, Some("10.0.0.1"), &json!({}));
            let snapshot = Snapshot { gateway_pods: [pod, other].into(), ..Snapshot::default() };
            let mut polling = mk_polling();
            polling.shipped(&"secure".into(), SHIPPED, &snapshot);
            let finding = all_have_it(&mut polling, &snapshot).unwrap();
            assert_eq!(finding.is_everywhere, expected, "{message}");
            assert_eq!(polling.state("secure"), GatewayState::InForce, "{message}: those that take requests have it");
        }
    }

    #[tokio::test]
    async fn once_the_last_has_drained_the_others_are_asked_again() {
        let drains = json!({"metadata": {"deletionTimestamp": "2026-11-20T08:00:00Z"}});
        let pods = ["a", "b"].map(|name| {
            let changes = if name == "b" { drains.clone() } else { json!({}) };
            mk_pod(name, EGRESS_GATEWAY, Some("10.0.0.1"), &changes)
        });
        let mut snapshot = Snapshot { gateway_pods: pods.into(), ..Snapshot::default() };
        let mut polling = mk_polling();
        polling.shipped(&"secure".into(), SHIPPED, &snapshot);
        assert!(!all_have_it(&mut polling, &snapshot).unwrap().is_everywhere);
        assert!(polling.next().unwrap() > Instant::now(), "nothing is to be asked for now");
        snapshot.gateway_pods.remove(&Key::new("secure", "b"));
        polling.pods_changed(&"secure".into(), &snapshot);
        assert!(polling.next().unwrap() <= Instant::now(), "at once");
        assert!(!polling.awaits("secure"), "meanwhile, what is said of imports stays");
        assert!(all_have_it(&mut polling, &snapshot).unwrap().is_everywhere);
        assert!(all_have_it(&mut polling, &snapshot).is_none(), "that is known");
    }

    #[tokio::test]
    async fn an_answer_of_other_pods_says_nothing() {
        let pod = |name| mk_pod(name, EGRESS_GATEWAY, Some("10.0.0.1"), &json!({}));
        let before = Snapshot { gateway_pods: [pod("a")].into(), ..Snapshot::default() };
        let now = Snapshot { gateway_pods: [pod("a"), pod("b")].into(), ..Snapshot::default() };
        let mut polling = mk_polling();
        polling.shipped(&"secure".into(), SHIPPED, &now);
        assert!(all_have_it(&mut polling, &before).is_none());
        assert!(all_have_it(&mut polling, &now).is_some_and(|finding| finding.is_everywhere));
    }
}
