//! Namespaces that come and go.

use std::time::Duration;

use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::emit::object::Kind;
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;

use super::{EGRESS, Happening, INGRESS, NATIVE, World};
use crate::inputs;
use crate::script::{NAMESPACES, OWN, Step};

/// How long who was refused for want of a namespace waits before he tries again.
const RETRY: Duration = Duration::from_millis(700);

impl World {
    pub(super) fn change_namespace(&mut self, step: Step) {
        let (Step::Namespace(place) | Step::NamespaceComes(place) | Step::NamespaceGoes(place)) = step else { return };
        let namespace = NAMESPACES[usize::from(place)];
        match step {
            Step::NamespaceComes(_) if self.api.terminating.iter().any(|known| known == namespace) => self.refuse(step),
            Step::NamespaceComes(_) => self.found(namespace),
            _ => {
                if self.terminate(namespace) && matches!(step, Step::Namespace(_)) {
                    self.at(Duration::from_secs(5), Happening::Again(namespace));
                }
            }
        }
    }

    /// A namespace is there from now on, with nothing in it.
    pub(super) fn found(&mut self, namespace: &'static str) {
        if self.api.has_namespace(namespace) {
            return;
        }
        self.put(inputs::namespace(namespace));
        self.at(Duration::from_secs(3), Happening::Trust(namespace));
        for gateway in [EGRESS, NATIVE, INGRESS] {
            self.deploy(namespace, gateway);
        }
    }

    /// A namespace begins to go, and everything in it, in whatever order. Whether it does.
    pub(super) fn terminate(&mut self, namespace: &'static str) -> bool {
        if !self.api.terminating.is_empty() || !self.api.has_namespace(namespace) {
            return false;
        }
        let mut input = inputs::namespace(namespace);
        input.body["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z".into();
        self.put(input);
        self.api.terminating.push(namespace.to_owned());
        self.check.forget(namespace);
        // What others had of it goes, too.
        self.excuse(None);
        self.queue.retain(|_, other| !matches!(other, Happening::Trust(known) if *known == namespace));
        self.disturbed = self.disturbed.max(self.now + Duration::from_secs(10));
        self.pods.retain(|_, pod| pod.namespace != namespace);
        for after in [500, 1_500, 4_000] {
            self.at(Duration::from_millis(after), Happening::Sweep(namespace));
        }
        true
    }

    pub(super) fn sweep(&mut self, namespace: &'static str) {
        let is_last = self.queue.values().filter(|other| matches!(other, Happening::Sweep(_))).count() == 0;
        for kind in Watched::all() {
            let keys: Vec<_> =
                self.api.list(kind).map(|(key, _)| key.clone()).filter(|key| *key.namespace == *namespace).collect();
            for key in keys {
                if is_last || self.rng.bool() {
                    self.remove(kind, &key);
                    if kind == Watched::Emitted(Kind::WasmPlugin) {
                        self.check.written((&key.namespace, self.api.version()), None, &self.told, (true, self.now));
                    }
                }
            }
        }
        self.excuse(None);
        if is_last {
            self.withdraw(namespace);
            self.remove(Watched::Namespace, &Key::new("", namespace));
            self.api.terminating.retain(|known| known != namespace);
        }
    }

    /// What happens in a namespace that has come again counts, once who leads may know that it went, and has told that its
    /// exports did: a write without an answer comes first.
    pub(super) fn trust(&mut self, namespace: &'static str) {
        let has_led =
            self.outage + Duration::from_secs(15) <= self.now && self.replicas.iter().any(|known| known.leads);
        let is_withdrawn = |name| {
            let export = Key::new(REGISTRY_NAMESPACE, format!("own.{namespace}.{name}"));
            self.api.get(Watched::ServiceExport, &Key::new(namespace, name)).is_some()
                || self.api.get(Watched::Emitted(Kind::ExportedService), &export).is_none()
        };
        if has_led && OWN.into_iter().all(is_withdrawn) {
            self.check.begin_anew(namespace, self.now);
        } else {
            self.at(Duration::from_secs(3), Happening::Trust(namespace));
        }
    }

    /// The API server takes nothing new in a namespace that is not there, or goes: who wants it tries again.
    pub(super) fn refuse(&mut self, step: Step) {
        if self.refused.is_empty() {
            self.at(RETRY, Happening::Retry);
        }
        self.refused.push(step);
    }

    pub(super) fn retry(&mut self) {
        for step in std::mem::take(&mut self.refused) {
            self.carry_out(step);
        }
    }
}
