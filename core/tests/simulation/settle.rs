//! Once all is quiet: a fresh replica writes nothing, and what is there is what would be made from nothing.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use mcwan_core::emit::kubernetes::everything;
use mcwan_core::emit::object::{Kind, Object};
use mcwan_core::observed::Digest;
use mcwan_core::rollout::{Answer, Command, Event, GatewayReport, ModuleVerdict};
use mcwan_core::snapshot::change::Change;
use mcwan_core::translate::Translator;
use mcwan_core::watched::Watched;
use serde_json::Value;

use crate::replica::{self, Lack, Replica};
use crate::world::{World, conditions};

/// The annotation of a filter with the digest of its configuration.
const CONFIG_DIGEST: &str = "mc-wan.l7mp.io/config-digest";

/// For how long nothing is written where nothing happens: by then each of its own waits is long over.
const QUIET_MINUTES: Duration = Duration::from_mins(10);

impl World {
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        self.examine_end()?;
        self.examine_statuses()?;
        let fresh = self.fresh()?;
        self.is_as_from_nothing(&fresh)
    }

    /// Of every import it is said that gateways have it as it was told last.
    fn examine_statuses(&self) -> Result<(), String> {
        for (key, stored) in self.api.list(Watched::ServiceImport) {
            let newest = self.told.of(key).last(key);
            let is_accepted =
                conditions(&stored.body).any(|known| known["type"] == "Accepted" && known["status"] == "True");
            if newest.is_none_or(|import| import.ports.is_empty()) || !is_accepted {
                // Nobody exports it, so there is no gateway; or nothing of it holds.
                continue;
            }
            let Some(programmed) = conditions(&stored.body).find(|known| known["type"] == "Programmed") else {
                return Err(format!("in the end, nothing is said of {key}"));
            };
            if programmed["status"] != "True" || programmed["observedGeneration"] != stored.generation {
                return Err(format!("in the end, of generation {} of {key} is said: {programmed}", stored.generation));
            }
        }
        Ok(())
    }

    /// A replica that begins to lead when all is quiet.
    fn fresh(&self) -> Result<Replica, String> {
        let mut fresh = Replica::new(9, (self.release, self.key()), 1, Lack::Nothing, self.now);
        let mut events: VecDeque<Event> = VecDeque::new();
        for kind in Watched::all() {
            events.extend(fresh.events(kind, &self.api, true).into_iter().map(Event::Watch));
        }
        let secrets = Event::ReadableSecrets(self.readable());
        events.extend([secrets, Event::Module(ModuleVerdict::Sound), Event::Leading(true)]);
        let (mut now, end) = (self.now, self.now + QUIET_MINUTES);
        while now <= end {
            let event = events.pop_front().unwrap_or(Event::Time);
            for command in fresh.rollout.step(now, event).commands {
                events.extend(match command {
                    Command::Apply { object, .. } => {
                        return Err(format!("a fresh replica applies {} {}", object.id.kind.name(), object.id.key));
                    }
                    Command::Delete { id, .. } => {
                        return Err(format!("a fresh replica deletes {} {}", id.kind.name(), id.key));
                    }
                    Command::Read { id } => {
                        let result = Ok(self.api.emitted(&id).map(|stored| stored.read()));
                        Some(Event::Answer(Answer::Read { id, result }))
                    }
                    Command::Ask { namespace, pods } => {
                        let reports = pods.into_iter().map(|pod| {
                            let known = self.pods.values().find(|known| *known.name == *pod.name);
                            let revision = known.and_then(|known| known.filter()?.table.revision());
                            (pod, Some(GatewayReport { revision, ..GatewayReport::default() }))
                        });
                        Some(Event::Answer(Answer::Asked { namespace, reports: reports.collect() }))
                    }
                    Command::WriteStatus { patch } => {
                        return Err(format!("a fresh replica says {} of {}", patch.body, patch.key));
                    }
                    Command::Touch { .. } | Command::OpenGate { .. } | Command::Tell { .. } => None,
                });
            }
            if events.is_empty() {
                match fresh.rollout.next(now) {
                    Some(next) => now = next.max(now),
                    None => break,
                }
            }
        }
        Ok(fresh)
    }

    fn is_as_from_nothing(&self, fresh: &Replica) -> Result<(), String> {
        let snapshot = fresh.rollout.snapshot();
        let mut translator = Translator::new(replica::options(self.key()));
        translator.update(snapshot, &[Change::Everything]);
        let mut settings = replica::settings(self.release);
        let cluster = self.api.list(Watched::Emitted(Kind::WanCluster)).find(|(_, stored)| stored.ours.is_some());
        settings.wan_cluster = cluster.map(|(_, stored)| {
            serde_json::from_value(
                serde_json::json!({"apiVersion": Kind::WanCluster.api_version(), "kind": "WANCluster",
                "name": replica::CLUSTER, "uid": stored.uid, "controller": true}),
            )
            .expect("it is one")
        });
        let (objects, _) = everything(&translator, snapshot, &settings);
        let mut wanted = BTreeMap::new();
        let mut routes = Vec::new();
        for Object { id, body } in objects {
            if id.kind == Kind::HttpRoute {
                routes.extend(rules(&body));
            } else {
                wanted.insert((id.kind, id.key.clone()), Digest::of_desired(&without_revision(&body)));
            }
        }
        let mut found_routes = Vec::new();
        for kind in Kind::ALL {
            for (key, stored) in self.api.list(Watched::Emitted(kind)) {
                let Some(mut found) = stored.ours else { continue };
                if kind == Kind::WasmPlugin {
                    found = Digest::of_desired(&without_revision(&stored.body));
                }
                if kind == Kind::HttpRoute {
                    found_routes.extend(rules(&stored.body));
                } else if wanted.remove(&(kind, key.clone())) != Some(found) {
                    return Err(format!("{} {key} is not as made from nothing: {}", kind.name(), stored.body));
                }
            }
        }
        if let Some(((kind, key), _)) = wanted.pop_first() {
            return Err(format!("{} {key} is lacking", kind.name()));
        }
        routes.sort();
        found_routes.sort();
        if routes != found_routes {
            let lacking: Vec<_> = routes.iter().filter(|rule| !found_routes.contains(rule)).collect();
            let too_many: Vec<_> = found_routes.iter().filter(|rule| !routes.contains(rule)).collect();
            return Err(format!("rules of routes lack {lacking:?} and have {too_many:?}"));
        }
        Ok(())
    }
}

/// What an object says; of a filter without what tells how often it has changed: the fresh replica has compared that.
fn without_revision(body: &Value) -> Value {
    let mut body = body.clone();
    for (place, field) in [("/spec/pluginConfig", "revision"), ("/metadata/annotations", CONFIG_DIGEST)] {
        body.pointer_mut(place).and_then(Value::as_object_mut).and_then(|fields| fields.remove(field));
    }
    body
}

/// The rules of a route, each with what holds for the whole: in which of several routes a rule stands does not matter.
fn rules(route: &Value) -> Vec<String> {
    let rules = route.pointer("/spec/rules").and_then(Value::as_array).into_iter().flatten();
    let (parents, hosts) = (&route["spec"]["parentRefs"], &route["spec"]["hostnames"]);
    rules.map(|rule| format!("{} {parents} {hosts} {rule}", route["metadata"]["namespace"])).collect()
}
