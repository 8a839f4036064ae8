//! Istiod, and the gateway pods that hear of it.

use std::sync::Arc;
use std::time::Duration;

use mcwan_core::emit::object::Kind;
use mcwan_core::moment::Moment;
use mcwan_core::snapshot::Key;
use mcwan_core::status::StatusPatch;
use mcwan_core::translate::gateway_pods::ADMITTED_CONDITION;
use mcwan_core::watched::Watched;

use super::{EGRESS, Happening, INGRESS, NATIVE, World, conditions};
use crate::gateway::{Channel, Gate, Pod, Stage};
use crate::inputs;
use crate::istiod::{Crossings, Plugin};
use crate::script::{NAMESPACES, Pace};

/// How soon requests may come to a pod at the latest, though requests of ours get lost: it waits for thirty seconds.
const OPENED: Duration = Duration::from_mins(1);

impl World {
    pub(super) fn sync_istiod(&mut self, kind: Kind) {
        self.syncing.remove(&kind);
        for (key, uid, generation) in self.istiod.sync(kind, &self.api) {
            let delay = if self.istiod.has_spoken { self.delay(600) } else { self.delay(100) };
            self.at(delay, Happening::Observe(key, uid, generation));
        }
        if kind == Kind::WasmPlugin {
            let numbers: Vec<_> = self.pods.keys().copied().collect();
            for number in numbers {
                self.tell_plugin(number);
            }
        } else if !self.is_pushing {
            self.is_pushing = true;
            let delay = self.delay(100);
            self.at(delay, Happening::Push);
        }
    }

    pub(super) fn push(&mut self) {
        self.is_pushing = false;
        for namespace in NAMESPACES {
            for gateway in [EGRESS, NATIVE, INGRESS] {
                let routes = self.istiod.routes(namespace, gateway);
                if self.pushed.get(&(namespace, gateway)).is_none_or(|known| **known != routes) {
                    self.pushed.insert((namespace, gateway), Arc::new(routes));
                }
                self.deploy(namespace, gateway);
            }
        }
        let services = self.istiod.services();
        if *self.pushed_services != services {
            self.pushed_services = Arc::new(services);
        }
        let numbers: Vec<_> = self.pods.keys().copied().collect();
        for number in numbers {
            self.tell_services(number);
            self.tell_routes(number);
        }
    }

    /// Starts the pods of a Gateway, or ends them.
    pub(super) fn deploy(&mut self, namespace: &'static str, gateway: &'static str) {
        let is_of = |pod: &Pod| pod.namespace == namespace && pod.gateway == gateway;
        let is_there = self.istiod.has_gateway(namespace, gateway) && self.api.has_namespace(namespace);
        let lacking = 2 - self.pods.values().filter(|pod| is_of(pod) && pod.stage != Stage::Draining).count().min(2);
        if is_there {
            for _ in 0..lacking {
                self.start_pod(namespace, gateway);
            }
        } else {
            let numbers: Vec<_> = self.pods.iter().filter(|(_, pod)| is_of(pod)).map(|(number, _)| *number).collect();
            for number in numbers {
                self.gone(number);
            }
        }
    }

    pub(super) fn start_pod(&mut self, namespace: &'static str, gateway: &'static str) {
        self.number += 1;
        let number = u32::try_from(self.number).unwrap_or_default();
        let pod = Pod {
            namespace,
            gateway,
            name: format!("{gateway}-{number}"),
            number,
            born: self.now,
            stage: Stage::Starting,
            gate: if gateway == INGRESS { Gate::Admitted } else { Gate::Closed },
            ready: None,
            mute: Moment::START,
            services: Channel::default(),
            routes: Channel::default(),
            plugin: Channel::default(),
            outcomes: Vec::new(),
            crosses: Crossings::default(),
        };
        self.put(inputs::pod(&pod));
        self.pods.insert(number, pod);
        self.at(OPENED, Happening::Open(number));
        let delay = Duration::from_secs(2) + self.delay(6_000);
        self.at(delay, Happening::Connect(number));
    }

    pub(super) fn connect(&mut self, number: u32) {
        if let Some(pod) = self.pods.get_mut(&number) {
            pod.stage = Stage::Connected;
            self.tell_services(number);
            self.tell_routes(number);
            self.tell_plugin(number);
        }
    }

    fn tell_services(&mut self, number: u32) {
        let delay = self.channel(400, 8_000);
        let services = &self.pushed_services;
        let Some(pod) = self.pods.get_mut(&number).filter(|pod| pod.stage != Stage::Starting) else { return };
        if pod.services.told().is_some_and(|told| Arc::ptr_eq(told, services)) {
            return;
        }
        let then = pod.services.tell(Arc::clone(services), self.now + delay);
        self.at_moment(then, Happening::Services(number));
    }

    pub(super) fn tell_routes(&mut self, number: u32) {
        let delay = self.channel(400, 8_000);
        let Some(pod) = self.pods.get_mut(&number).filter(|pod| pod.stage != Stage::Starting) else { return };
        let Some(routes) = self.pushed.get(&(pod.namespace, pod.gateway)) else { return };
        if pod.routes.told().is_some_and(|told| Arc::ptr_eq(told, routes)) {
            return;
        }
        let then = pod.routes.tell(Arc::clone(routes), self.now + delay);
        self.at_moment(then, Happening::Routes(number));
    }

    pub(super) fn tell_plugin(&mut self, number: u32) {
        let delay = self.channel(5_000, 60_000);
        let Some(pod) = self.pods.get_mut(&number).filter(|pod| pod.stage != Stage::Starting) else { return };
        let plugin = if pod.gateway == EGRESS { self.istiod.plugin(pod.namespace) } else { None };
        let version = |plugin: &Option<Arc<Plugin>>| plugin.as_ref().map(|plugin| plugin.version);
        if pod.plugin.told().is_some_and(|told| version(told) == version(&plugin)) {
            return;
        }
        let then = pod.plugin.tell(plugin, self.now + delay);
        self.at_moment(then, Happening::Plugin(number));
    }

    /// A pod knows other Services. Mostly no request takes notice.
    pub(super) fn services_arrive(&mut self, number: u32) {
        let Some(pod) = self.pods.get_mut(&number) else { return };
        pod.services.arrive();
        let before = pod.outcomes.clone();
        if pod.serves() && !pod.is_ingress() {
            pod.judge(&self.told.namespaces[pod.namespace].requests);
        }
        if !pod.serves() || pod.outcomes != before {
            self.arrived(number);
        }
    }

    /// A pod knows something else.
    pub(super) fn arrived(&mut self, number: u32) {
        let Some(pod) = self.pods.get_mut(&number) else { return };
        if pod.stage == Stage::Connected && pod.is_told() && pod.gate != Gate::Closed {
            pod.stage = Stage::Ready;
            pod.ready = Some(self.now);
            let input = inputs::pod(pod);
            self.put(input);
        }
        let Some(pod) = self.pods.get_mut(&number) else { return };
        if pod.gateway != INGRESS {
            pod.judge(&self.told.namespaces[pod.namespace].requests);
        }
        let (name, version) = (pod.name.clone(), pod.filter().map(|plugin| plugin.version));
        self.note(|| format!("    {name} has filter {version:?}, or routes, or Services"));
        self.check.is_due = true;
    }

    pub(super) fn restart(&mut self, namespace: &'static str) {
        let ready = self.pods.values_mut().find(|pod| pod.namespace == namespace && pod.stage == Stage::Ready);
        let Some(pod) = ready else { return };
        pod.stage = Stage::Draining;
        let (gateway, number, mut input) = (pod.gateway, pod.number, inputs::pod(pod));
        input.body["metadata"]["deletionTimestamp"] = "2026-11-23T00:00:00Z".into();
        self.put(input);
        let drains = Duration::from_millis(500) + self.delay(20_000);
        self.at(drains, Happening::Gone(number));
        self.start_pod(namespace, gateway);
    }

    pub(super) fn gone(&mut self, number: u32) {
        if let Some(pod) = self.pods.remove(&number) {
            self.remove(Watched::Pod, &Key::new(pod.namespace, pod.name.as_str()));
            self.check.is_due = true;
        }
    }

    /// A pod was told whether other clusters admit it.
    pub(super) fn gate_is_told(&mut self, patch: &StatusPatch) {
        let pod = self.pods.values_mut().find(|pod| *pod.name == *patch.key.name);
        let Some((number, pod)) = pod.map(|pod| (pod.number, pod)) else { return };
        let condition = conditions(&patch.body).find(|known| known["type"] == ADMITTED_CONDITION);
        pod.gate = match condition.map(|known| (known["status"] == "True", known["reason"] == "Timeout")) {
            Some((true, true)) => Gate::Late,
            Some((true, false)) => Gate::Admitted,
            Some((false, _)) | None => Gate::Closed,
        };
        self.arrived(number);
    }

    /// A pod that has waited for so long takes requests, if nothing was in the way since then.
    pub(super) fn must_be_open(&mut self, number: u32) {
        let Some(pod) = self.pods.get(&number).filter(|pod| pod.gate == Gate::Closed) else { return };
        if self.disturbed <= pod.born {
            self.check.wrongs.push(format!("closed: {} is not told that it takes requests", pod.name));
        }
    }

    /// What other clusters have published a while ago holds at gateways, if nothing was in the way since then.
    pub(super) fn must_admit(&mut self, since: Moment) {
        if self.script.pace == Pace::Late || self.disturbed > since {
            return;
        }
        let wanted = self.told.admitted("a");
        for pod in self.pods.values().filter(|pod| pod.gateway == INGRESS && pod.stage == Stage::Ready) {
            let admitted = pod.routes.known.as_ref().and_then(|routes| routes.admitted.as_ref());
            if admitted != Some(&wanted) {
                self.check.wrongs.push(format!("admission: {} admits {admitted:?}, not {wanted:?}", pod.name));
            }
        }
    }
}
