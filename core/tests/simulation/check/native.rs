//! What must hold at gateways whose routes are the rules: no filter tells which version of an import a pod has, so what it
//! does tells.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcwan_core::moment::Moment;
use mcwan_core::snapshot::Key;
use mcwan_core::translate::Import;

use super::{Check, is_lost};
use crate::gateway::{Pod, Stage};
use crate::native;
use crate::told::{History, Request, RequestOutcome, Told, host_of, is_served};
use crate::world::{NATIVE, World};

impl World {
    pub(super) fn examine_native(&mut self, namespace: &'static str) -> Result<(), String> {
        let pods: Vec<&Pod> = self.pods.values().filter(|pod| pod.is_of(namespace, NATIVE)).collect();
        if pods.is_empty() {
            return Ok(());
        }
        self.check.hold_natively(namespace, &pods, &self.told);
        let history = &self.told.native;
        for (key, place, request) in self.told.own_requests(namespace) {
            let held = self.check.native.held(key);
            for pod in pods.iter().filter(|pod| pod.serves()) {
                let outcome = &pod.outcomes[place];
                if !self.check.judge_natively(history, (key, place, request), outcome, self.now) {
                    let expected: Vec<_> = history.told_since(key, held, place).collect();
                    let (what, name) = (outcome.word(), &pod.name);
                    return Err(format!(
                        "native {what}: at {name} {request:?} of {key} comes to {outcome:?}, told was {expected:?} from {held} on"
                    ));
                }
            }
        }
        self.check.establish_natively(namespace, &pods, &self.told);
        Ok(())
    }

    /// Once all is quiet, every request is answered as the last version says.
    pub(super) fn examine_native_end(&self, namespace: &'static str) -> Result<(), String> {
        let history = &self.told.native;
        let serving = || self.pods.values().filter(|pod| pod.is_of(namespace, NATIVE) && pod.serves());
        for (key, place, request) in self.told.own_requests(namespace) {
            let Some(import) = history.last(key).filter(|import| is_served(import, request.port)) else { continue };
            let wanted = history.says_of(key, history.versions[key].len() - 1, place);
            if let Some(pod) = serving().find(|pod| pod.outcomes[place] != *wanted) {
                let (name, found) = (&pod.name, &pod.outcomes[place]);
                return Err(format!(
                    "in the end, {request:?} of {} at {name} is {found:?}, not {wanted:?}",
                    import.key
                ));
            }
            if serving().next().is_none() {
                return Err(format!("in the end, no pod serves native imports of {namespace}"));
            }
        }
        Ok(())
    }
}

impl Check {
    /// An import has another data plane, which is a break; also for requests to hosts that it gives up with that, until who
    /// gains them has them.
    pub(super) fn turn(&mut self, import: &Key, told: &Told) {
        let states = told.namespaces[&*import.namespace].states_since(|key| self.steered.held(key));
        let was_its = |place: &usize| states.iter().any(|state| state.outcomes[*place].import() == Some(import));
        let outcomes = states.last().map_or(&[][..], |last| &last.outcomes);
        let its = (0..outcomes.len()).filter(was_its);
        let heirs: BTreeSet<Key> = its.filter_map(|place| outcomes[place].import().cloned()).collect();
        heirs.iter().chain([import]).for_each(|import| self.excuse_one(import, told));
        self.turned.insert(import.clone(), told.steered.versions[import].len() - 1);
    }

    /// Whether an import has turned, and not everybody knows.
    pub(super) fn is_turning(&self, import: &Key) -> bool {
        self.turned.get(import).is_some_and(|version| self.steered.held(import) < *version)
    }

    /// Takes note of what holds everywhere by now. A pod may have any version that does what it does: the first counts, so
    /// that none is taken for gone that may still come, and with it those after it that do the same.
    fn hold_natively(&mut self, namespace: &str, pods: &[&Pod], told: &Told) {
        let requests = &told.namespaces[namespace].requests;
        // One that has just connected will have what it is being told, though others know more by then. What one does not do
        // as it has no listener, its routes may say all the same; and whether what they say is there does not matter here.
        let outcomes = pods.iter().filter(|pod| pod.stage != Stage::Starting).map(|pod| {
            let routes = pod.routes.known.as_ref().or(pod.routes.under_way.front())?;
            Some([native::said_by(&routes.paths, requests), native::outcomes(routes, requests, |_| Ok(()))])
        });
        let Some(outcomes) = outcomes.collect::<Option<Vec<_>>>().filter(|outcomes| !outcomes.is_empty()) else {
            return;
        };
        for (key, versions) in told.native.versions.iter().filter(|(key, _)| *key.namespace == *namespace) {
            let host = host_of(key);
            let own = requests.iter().enumerate().filter(|(_, request)| request.host == host);
            let own: Vec<usize> = own.map(|(place, _)| place).collect();
            let says = |version, place| told.native.says_of(key, version, place);
            let does = |outcomes: &[RequestOutcome], version| own.iter().all(|at| *says(version, *at) == outcomes[*at]);
            let is_as_before = |version: &usize| own.iter().all(|at| says(*version, *at) == says(*version - 1, *at));
            let held = self.native.held(key);
            let first = |outcomes: &Vec<_>| (held..versions.len()).find(|version| does(outcomes, *version));
            let everywhere = outcomes.iter().flatten().map(first).min().flatten().unwrap_or(held);
            let everywhere = (everywhere + 1..versions.len()).take_while(is_as_before).last().unwrap_or(everywhere);
            self.native.held.insert(key.clone(), everywhere);
            self.native.forget_gone(key, &told.native);
        }
    }

    /// Takes note of the imports that work.
    fn establish_natively(&mut self, namespace: &str, pods: &[&Pod], told: &Told) {
        for key in told.native.versions.keys().filter(|key| *key.namespace == *namespace) {
            let Some(import) = told.native.version(key, self.native.held(key)) else { continue };
            let own = || {
                told.own_requests(namespace)
                    .filter(|(own, _, request)| *own == key && import.ports.contains(&request.port))
            };
            let is_answered = |outcome: &RequestOutcome| !is_lost(outcome);
            let works = |pod: &&Pod| own().all(|(_, place, _)| pod.outcomes.get(place).is_some_and(is_answered));
            if own().next().is_some() && pods.iter().filter(|pod| pod.serves()).all(works) {
                self.native.established.insert(key.clone());
            }
        }
    }

    /// Whether what becomes of a request at a pod is as one of the versions says that may hold.
    fn judge_natively(
        &self,
        history: &History,
        (key, place, request): (&Key, usize, &Request),
        outcome: &RequestOutcome,
        now: Moment,
    ) -> bool {
        let held = self.native.held(key);
        let has_port =
            |version: &Option<Arc<Import>>| version.as_ref().is_some_and(|import| is_served(import, request.port));
        history.says(key, held, place, outcome)
            || history.told_since(key, held, place).any(|told| told == outcome)
            || self.may_be_lost(&self.native, key, request, outcome, now)
            || is_lost(outcome) && !history.versions[key].iter().skip(held).all(has_port)
    }
}

impl History {
    /// What a version of an import says of a request: where there is none, nobody knows its host.
    fn says_of(&self, import: &Key, version: usize, place: usize) -> &RequestOutcome {
        self.outcome(import, version, place).unwrap_or(&RequestOutcome::Unknown)
    }

    /// What versions of an import from one on say of a request.
    fn told_since(&self, import: &Key, version: usize, place: usize) -> impl Iterator<Item = &RequestOutcome> {
        (version..self.versions[import].len()).map(move |version| self.says_of(import, version, place))
    }
}

impl Told {
    /// The requests to each import of a namespace by its own host, with their places.
    fn own_requests<'t>(&'t self, namespace: &'t str) -> impl Iterator<Item = (&'t Key, usize, &'t Request)> {
        let own = self.native.versions.keys().filter(move |key| *key.namespace == *namespace);
        own.flat_map(move |key| {
            let host = host_of(key);
            let requests = self.namespaces[namespace].requests.iter().enumerate();
            requests.filter(move |(_, request)| request.host == host).map(move |(place, request)| (key, place, request))
        })
    }
}
