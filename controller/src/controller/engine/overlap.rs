//! What a unit consists of while targets come and go: routes and the filter reach gateways by two channels, in no order.

use std::collections::BTreeSet;
use std::time::Instant;

use mcwan_core::api::TIER_NAMESPACE;
use mcwan_core::emit::kubernetes::{LiveRules, Provenance, is_of_import, steering_value_of, tier_services_of};
use mcwan_core::emit::object::{Kind, Object, ObjectId};
use mcwan_core::observed::Live;
use mcwan_core::outcome::Outcome;
use mcwan_core::snapshot::Key;
use mcwan_core::translate::Import;
use serde_json::Value;

use super::super::batch::Batch;
use super::super::emission::Emission;
use super::super::leads::is_behind;
use super::super::unit::{Part, Unit};
use super::super::unwritten::Turn;
use super::{Engine, ROUTE_WAIT};

impl Engine {
    /// Works out what a unit consists of. Rules of live routes for targets that it no longer has stay for a while,
    /// unless that has passed: then they are released.
    ///
    /// # Errors
    /// The live routes, or the live filter, cannot be read.
    pub(super) async fn emit(&mut self, unit: &Unit, batch: &mut Batch) -> Result<Emission, Outcome> {
        let mut wanted = self.emission(unit, &LiveRules::default());
        if unit.part == Part::Egress {
            self.withhold_filter(&unit.namespace, &mut wanted, batch).await?;
        }
        if matches!(unit.part, Part::Export(_)) && self.is_told_too_early(unit, &wanted) {
            batch.delay_export(unit);
        }
        let Part::Import(name) = &unit.part else { return Ok(wanted) };
        if wanted.objects.is_empty() {
            self.strays.extend(self.retirements.end(unit).into_iter().flatten());
            return Ok(wanted);
        }
        let import = self.translator.imports().get(&unit.namespace, name);
        let mut new_targets = import.map(Import::steering_values).unwrap_or_default();
        let known = new_targets.clone();
        let released = self.released.get(unit).cloned().unwrap_or_default();
        let is_gone = |rule: &Value| {
            let value = steering_value_of(rule).unwrap_or_default();
            !known.contains(value) && released.contains(value)
        };
        let mut live = LiveRules::default();
        let mut rules = Vec::new();
        for id in &self.differing_routes(unit, &wanted) {
            let mut route = self.read(id, unit).await?;
            let found = route.as_mut().and_then(|route| route.pointer_mut("/spec/rules"));
            for rule in found.and_then(|rules| rules.as_array_mut().map(std::mem::take)).into_iter().flatten() {
                if !is_gone(&rule) {
                    live.stands(&id.key.name, &rule);
                }
                rules.push(rule);
            }
        }
        if rules.is_empty() {
            return Ok(wanted);
        }
        let services = self.own_tier_services(unit, name, &wanted, &rules).await?;
        let provenance = Provenance {
            namespace: &unit.namespace,
            name,
            steering_key: self.translator.steering_key(),
            services: &services,
        };
        rules.retain(|rule| {
            steering_value_of(rule).is_some_and(|value| {
                new_targets.remove(value);
                !known.contains(value) && !is_gone(rule) && provenance.is_own(rule)
            })
        });
        live.owns(services);
        if !new_targets.is_empty() {
            batch.lead(&unit.namespace);
        }
        if rules.is_empty() {
            self.retirements.retain_none(unit);
        } else {
            self.retirements.retain(unit, &rules, Instant::now());
        }
        for rule in rules {
            live.retain(rule);
        }
        let emission = self.emission(unit, &live);
        let is_written = |object: &&Object| object.id.kind == Kind::HttpRoute && !self.world.observed.is_same(object);
        if let (false, Some(route)) = (new_targets.is_empty(), emission.objects.iter().rfind(is_written)) {
            self.leads.lead(&unit.namespace, route.id.clone());
        }
        if emission.objects.iter().any(|object| self.is_new_to_routes(object)) {
            batch.delay_routes(unit);
        }
        Ok(emission)
    }

    /// The import's own tier services among those that rules of its live routes name: those of its wanted state, and those
    /// of before. Of the latter a new leader knows only the labels, which no tenant can write.
    async fn own_tier_services(
        &mut self,
        unit: &Unit,
        import: &str,
        wanted: &Emission,
        rules: &[Value],
    ) -> Result<BTreeSet<String>, Outcome> {
        let mut own = BTreeSet::new();
        for service in rules.iter().flat_map(tier_services_of).collect::<BTreeSet<_>>() {
            let id = ObjectId { kind: Kind::Service, key: Key::new(TIER_NAMESPACE, service) };
            let is_wanted = wanted.objects.iter().any(|object| object.id == id);
            let is_own = match self.desired.unit_of(&id) {
                _ if is_wanted => true,
                Some(known) => known == unit,
                None if self.world.observed.get(&id).is_some_and(Live::is_ours) => {
                    let live = self.read(&id, unit).await?;
                    live.is_some_and(|live| is_of_import(&live, &unit.namespace, import))
                }
                None => false,
            };
            if is_own {
                own.insert(service.to_owned());
            }
        }
        Ok(own)
    }

    /// Until when the filter of a namespace must wait on for its routes, if it must.
    pub(super) async fn must_wait(&mut self, namespace: &str, now: Instant) -> Option<Instant> {
        let routes = match self.unwritten.turn(namespace, now) {
            Turn::Go => return self.routes_are_behind(namespace, now).await,
            Turn::Wait => Vec::new(),
            Turn::Try(routes) => routes,
        };
        for (id, unit) in routes {
            self.applier.insist_on(&id);
            self.agenda.add(unit);
        }
        Some(now + ROUTE_WAIT)
    }

    /// Until when it must wait because gateways do not know all routes, if it must: istiod may be behind with them, as
    /// after its API server was away, and ahead with the filter. One that does not say so is not waited for, nor for
    /// longer than gateways get to take note of anything.
    async fn routes_are_behind(&mut self, namespace: &str, now: Instant) -> Option<Instant> {
        let id = self.leads.route(namespace, self.grace, now)?;
        let route = self.applier.read(&id).await.ok().flatten()?;
        self.leads.looked(namespace, is_behind(&route), now)
    }

    /// Whether routes need an object that istiod cannot know yet: it would answer 500 for them, where it hears of the
    /// routes first. What is not taken does not keep them waiting.
    fn is_new_to_routes(&self, object: &Object) -> bool {
        matches!(object.id.kind, Kind::Service | Kind::ReferenceGrant)
            && *object.id.key.namespace == *TIER_NAMESPACE
            && !self.world.observed.is_same(object)
            && !self.failures.contains_key(&object.id)
    }

    /// Whether other clusters would hear of an export before its gateways know the routes.
    fn is_told_too_early(&mut self, export: &Unit, wanted: &Emission) -> bool {
        let observed = &self.world.observed;
        let is_new = |object: &Object| {
            object.id.kind == Kind::ExportedService && observed.get(&object.id).is_none_or(|live| live.deleting)
        };
        if !wanted.objects.iter().any(is_new) {
            self.announcements.end(export);
            return false;
        }
        let mut routes = wanted.objects.iter().filter(|object| object.id.kind == Kind::HttpRoute);
        self.announcements.must_wait(export, routes.all(|route| observed.is_same(route)), Instant::now())
    }

    /// Something of a unit is not written yet: it is looked at again when gateways know what was written.
    pub(super) fn hold(&mut self, unit: Unit, now: Instant) {
        let until = if matches!(unit.part, Part::Export(_)) {
            let has_failed = |id: &ObjectId| id.kind == Kind::HttpRoute && self.failures.contains_key(id);
            if self.desired.objects_of(&unit).iter().any(has_failed) {
                // It is tried again, and its status says so meanwhile.
                return;
            }
            self.announcements.routed(&unit, now)
        } else {
            let until = self.leads.wait(&unit.namespace, now);
            self.agenda.hold(Unit::egress(&unit.namespace), until);
            until
        };
        self.agenda.hold(unit, until);
    }

    fn emission(&self, unit: &Unit, live: &LiveRules) -> Emission {
        Emission::of(unit, &self.translator, &self.world.snapshot, &self.settings, live)
    }

    /// An import's live routes, where these are not as they are to be.
    fn differing_routes(&self, unit: &Unit, wanted: &Emission) -> BTreeSet<ObjectId> {
        let is_route = |id: &&ObjectId| id.kind == Kind::HttpRoute;
        let is_same = |object: &Object| object.id.kind != Kind::HttpRoute || self.world.observed.is_same(object);
        let wanted_routes: BTreeSet<_> = wanted.objects.iter().map(|object| &object.id).filter(is_route).collect();
        let mut before = self.desired.objects_of(unit).iter().filter(is_route);
        if wanted.objects.iter().all(is_same) && before.all(|id| wanted_routes.contains(id)) {
            return BTreeSet::new();
        }
        let before = self.desired.objects_of(unit).iter().filter(is_route);
        let is_ours = |id: &&ObjectId| self.world.observed.get(id).is_some_and(Live::is_ours);
        wanted_routes.into_iter().chain(before).filter(is_ours).cloned().collect()
    }
}
