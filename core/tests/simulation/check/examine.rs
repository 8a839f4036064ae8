//! Looking at every pod and at the API server.

use std::collections::BTreeSet;

use mcwan_core::snapshot::{Key, view};
use mcwan_policy::wire::{self, Action, TargetConfig};

use crate::gateway::{Pod, Stage};
use crate::istiod::{Address, all_addresses};
use crate::script::NAMESPACES;
use crate::told::{host_of, is_served};
use crate::world::{EGRESS, World};

impl World {
    /// Looks whether everything holds that must.
    pub(crate) fn examine(&mut self) -> Result<(), String> {
        for import in std::mem::take(&mut self.told.turned) {
            self.check.turn(&import, &self.told);
        }
        if let Some(wrong) = self.api.trespasses.pop().or_else(|| self.check.wrongs.pop()) {
            return Err(wrong);
        }
        if std::mem::take(&mut self.others.is_due) | self.check.is_due {
            self.examine_admission()?;
        }
        if std::mem::take(&mut self.check.is_due) {
            for namespace in NAMESPACES {
                if !self.check.forgets(namespace) {
                    self.examine_pods(namespace)?;
                    self.examine_native(namespace)?;
                }
            }
        }
        if std::mem::take(&mut self.check.are_routes_due) {
            for namespace in NAMESPACES {
                self.examine_routes(namespace)?;
            }
        }
        Ok(())
    }

    fn examine_pods(&mut self, namespace: &'static str) -> Result<(), String> {
        let pods = self.pods.values().filter(|pod| pod.is_of(namespace, EGRESS));
        let pods: Vec<&Pod> = pods.filter(|pod| pod.serves()).collect();
        if pods.is_empty() {
            return Ok(());
        }
        // One that has just connected will have what it is being told, though others know more by then.
        let is_told = |pod: &&Pod| pod.is_of(namespace, EGRESS) && pod.stage != Stage::Starting;
        let connected: Vec<&Pod> = self.pods.values().filter(is_told).collect();
        self.check.hold(namespace, &connected, &self.told, self.now);
        let known = &self.told.namespaces[namespace];
        let states = known.states_since(|key| self.check.steered.held(key));
        for pod in &pods {
            for (place, request) in known.requests.iter().enumerate() {
                let outcome = &pod.outcomes[place];
                if !self.check.judge(place, request, outcome, states, &self.told, self.now) {
                    let expected: Vec<_> = states.iter().map(|state| &state.outcomes[place]).collect();
                    let held = &self.check.steered.held;
                    return Err(format!(
                        "{}: at {} {request:?} comes to {outcome:?}, told was {expected:?}, held {held:?}",
                        outcome.word(),
                        pod.name
                    ));
                }
            }
        }
        self.check.establish(namespace, &pods, &connected, &self.told, &known.requests);
        Ok(())
    }

    /// Routes hold every target that the live filter names, and nothing that was not steered takes one.
    fn examine_routes(&self, namespace: &'static str) -> Result<(), String> {
        if self.check.forgets(namespace) || self.check.is_anew(namespace, self.now) {
            return Ok(());
        }
        let addresses = all_addresses(&self.api, namespace);
        if let Some(open) = addresses.iter().find(|at| at.value.is_empty()) {
            return Err(format!("anything takes a route of {}", open.host));
        }
        let Some(live) = self.check.live.get(namespace) else { return Ok(()) };
        if live.is_last_word {
            // It came when who leads had read the one before, and is undone.
            return Ok(());
        }
        for import in &live.imports {
            let key = view(namespace, &Key::new(import.namespace.as_str(), import.name.as_str()));
            // Who takes over cannot tell of which tier routes are that has gone.
            let is_moving = self.terms > 1 && self.check.moving > self.now;
            if self.check.is_refused(&key, self.now) || is_moving || self.check.is_turning(&key) {
                continue;
            }
            let first = live.carried.get(&key).copied().unwrap_or_default().version;
            let alike = self.told.steered.versions[&key].iter().skip(first);
            let alike = alike.filter_map(|version| version.as_ref().filter(|known| known.wire == *import));
            let ports = alike.map(|version| version.ports.iter().copied().collect::<BTreeSet<u16>>());
            let ports = ports.reduce(|some, others| &some & &others).unwrap_or_default();
            let host = host_of(&key);
            for value in steered_values(import) {
                for port in &ports {
                    let at = Address { listener: *port, host: host.clone(), value: value.clone() };
                    if !at.is_among(&addresses) {
                        return Err(format!("no route in the API server for {at:?}, which the filter names"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Once all is quiet, every request is answered as the last state says.
    pub(crate) fn examine_end(&self) -> Result<(), String> {
        for namespace in NAMESPACES {
            let known = &self.told.namespaces[namespace];
            let Some(last) = known.states.last() else { continue };
            self.examine_native_end(namespace)?;
            for pod in self.pods.values().filter(|pod| pod.is_of(namespace, EGRESS) && pod.serves()) {
                for (place, request) in known.requests.iter().enumerate() {
                    let (wanted, found) = (&last.outcomes[place], &pod.outcomes[place]);
                    let version =
                        wanted.import().and_then(|import| self.told.steered.version(import, last.versions[import]));
                    if version.is_some_and(|version| is_served(version, request.port)) && wanted != found {
                        return Err(format!("in the end, {request:?} at {} is {found:?}, not {wanted:?}", pod.name));
                    }
                }
            }
            let served = last.versions.iter().filter_map(|(key, version)| self.told.steered.version(key, *version));
            let is_served = served.into_iter().any(|import| !import.ports.is_empty());
            if is_served && !self.pods.values().any(|pod| pod.is_of(namespace, EGRESS) && pod.serves()) {
                return Err(format!("in the end, no pod serves {namespace}"));
            }
        }
        Ok(())
    }
}

/// What the rules of an import steer to.
pub(super) fn steered_values(import: &wire::Import) -> BTreeSet<String> {
    let actions = import.rules.iter().flat_map(|rule| &rule.actions);
    let targets = actions.flat_map(Action::targets);
    let targets = targets.filter_map(|target| import.targets.get(usize::try_from(target).ok()?));
    targets.map(TargetConfig::steering_value).collect()
}
