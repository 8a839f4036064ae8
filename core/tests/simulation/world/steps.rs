//! What the script does to a cluster.

use std::time::Duration;

use mcwan_core::api::REGISTRY_NAMESPACE;
use mcwan_core::emit::object::Kind;
use mcwan_core::moment::Moment;
use mcwan_core::rollout::ModuleVerdict;
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;
use serde_json::Value;

use super::{ADMISSION, Happening, LONG, World};
use crate::api_server::Refusal;
use crate::inputs;
use crate::replica;
use crate::script::{CLUSTERS, ExportWish, ImportWish, Module, NAMESPACES, OWN, PORTS, SERVICES, Step};

/// Until who leads has heard of what was written, and has done what follows from it.
pub(super) const HEARD: Duration = Duration::from_secs(2);

impl World {
    pub(super) fn next_step(&mut self, place: usize) {
        let (_, step) = self.script.steps[place].clone();
        self.note(|| format!("STEP {step:?}"));
        self.carry_out(step);
        match self.script.steps.get(place + 1) {
            Some((gap, _)) => {
                let gap = *gap;
                self.at(gap, Happening::Step(place + 1));
            }
            None => self.calm_down(),
        }
    }

    /// Nothing fails any more, once what fails now is over.
    pub(super) fn calm_down(&mut self) {
        let refused = self.api.refusals.iter().map(|refusal| refusal.until);
        let mute = self.pods.values().map(|pod| pod.mute);
        let quiet = refused.chain(mute).chain(self.silent).chain([self.outage, self.now]).max().unwrap_or(self.now);
        let is_complete = self.api.terminating.is_empty() && self.refused.is_empty();
        let quiet = if is_complete { quiet } else { quiet.max(self.now + Duration::from_secs(6)) };
        self.quiet = Some(quiet);
        if self.module != ModuleVerdict::Sound {
            self.module(Module::Sound);
        }
        for (namespace, name) in SERVICES {
            self.rival(namespace, name, false);
        }
    }

    pub(super) fn carry_out(&mut self, step: Step) {
        self.refused.retain(|refused| !step.revokes(refused));
        if step.makes_in().is_some_and(|namespace| !self.api.has_namespace(namespace)) {
            self.refuse(step);
            return;
        }
        match step {
            Step::Import(service, wish) => self.put(inputs::import(service, &wish)),
            Step::NoImport(service) => {
                let (namespace, name) = SERVICES[service];
                self.remove(Watched::ServiceImport, &Key::new(namespace, name));
            }
            Step::Route(service, wish, port) => self.put(inputs::route(service, &wish, port)),
            Step::NoRoute(service) => {
                self.remove(Watched::Emitted(Kind::HttpRoute), &inputs::route_key(service));
            }
            Step::Calls(wish) => self.put(inputs::calls(&wish)),
            Step::NoCalls => self.remove(Watched::GrpcRoute, &inputs::calls(&ImportWish::default()).key),
            Step::Export(cluster, service, wish) => {
                let takes_away = self.takes_away(cluster, service, &wish);
                self.put(inputs::export(cluster, service, &wish));
                if takes_away {
                    self.excuse(Some(service));
                }
            }
            Step::NoExport(cluster, service) => {
                self.remove(Watched::Emitted(Kind::ExportedService), &inputs::export_key(cluster, service));
                self.excuse(Some(service));
                self.others.gone = self.now;
            }
            Step::Tier(tier, port) if !self.tiers.contains(&Some(port)) => self.tier(tier, Some(port)),
            Step::NoTier(tier) => self.tier(tier, None),
            Step::Gateways(..) | Step::Policy(..) | Step::NoPolicy(_) | Step::Region(..) | Step::Deaf(..) => {
                self.between_clusters(step);
            }
            Step::Local => {
                self.put(inputs::service("a", "local", &crate::script::PORTS));
                // Who makes it again while gateways still have rules of before may be ahead of what istiod tells them of it.
                self.excuse(None);
            }
            Step::NoLocal => {
                // Who deletes a Service that rules name gets what the rules said of it.
                self.remove(Watched::Emitted(Kind::Service), &Key::new("a", "local"));
                self.excuse(None);
            }
            Step::Endpoints => self.put(inputs::slice("a", "local")),
            Step::NoEndpoints => {
                self.remove(Watched::Emitted(Kind::EndpointSlice), &inputs::slice("a", "local").key);
                self.excuse(None);
            }
            Step::OpenshiftRoute => self.put(inputs::openshift_route()),
            Step::TlsRoute(secret) => self.put(inputs::tls_route(secret)),
            Step::NoOpenshiftRoute => self.remove(Watched::OpenshiftRoute, &inputs::openshift_route().key),
            Step::Grant | Step::NoGrant | Step::Consumer(_) | Step::NoConsumer | Step::Admit | Step::NoAdmit => {
                self.between_namespaces(&step);
            }
            Step::OwnExport(service, ports) => self.own_export(service, ports),
            Step::NoOwnExport(service) => self.remove(Watched::ServiceExport, &Key::new("a", OWN[service])),
            Step::Key(key) => self.rotate(key),
            Step::MayRead(secret) => self.grant(secret, true),
            Step::MayNotRead(secret) => self.grant(secret, false),
            Step::Namespace(_) | Step::NamespaceComes(_) | Step::NamespaceGoes(_) => self.change_namespace(step),
            Step::Refuse(kind, service, long) => {
                let import = service.map(|service| Key::new(SERVICES[service].0, SERVICES[service].1));
                let until = self.now + long;
                self.disturbed = self.disturbed.max(until);
                self.check.refuse(kind, import.as_ref(), self.now, until);
                if kind == Kind::AuthorizationPolicy {
                    self.others.refuse(self.now, until);
                }
                self.api.refusals.push(Refusal { kind, import, until });
            }
            Step::Undefine(kind, long) => self.undefine(kind, self.now + long),
            Step::Silent(cluster, long) => {
                self.silent[cluster] = self.now + long;
                self.deafen(cluster, self.now + long);
            }
            Step::Outage(long) => {
                self.outage = self.outage.max(self.now + long);
                self.disturbed = self.disturbed.max(self.outage);
                self.check.blind(self.now, self.unseen());
            }
            Step::Restore(writes) => self.restore(writes),
            Step::Die => self.die(),
            Step::Release => self.release(),
            Step::Depose => self.depose(),
            Step::Restart(place) => self.restart(NAMESPACES[usize::from(place)]),
            Step::Mute(place, long) => {
                let pods = self.pods.values_mut().filter(|pod| pod.namespace == NAMESPACES[usize::from(place)]);
                let until = self.now + long;
                pods.into_iter().take(1).for_each(|pod| pod.mute = until);
            }
            Step::Module(module) => self.module(module),
            Step::Rival(service, is_there) => {
                let (namespace, name) = SERVICES[service];
                self.rival(namespace, name, is_there);
            }
            Step::NoClient(service, kind) => self.no_client(service, kind),
            Step::Expect(service) => self.check.expect(&self.told, service),
            Step::Tier(..) => {}
        }
    }

    /// Whom gateways admit, and where they steer, must be as policies and other clusters have it by now, and soon is.
    fn expect_admission(&mut self) {
        self.disturbed = self.disturbed.max(self.now);
        self.at(ADMISSION, Happening::Admitted(self.now));
        self.at(LONG, Happening::NotSteered(self.now));
    }

    fn rotate(&mut self, key: u8) {
        let is_other = std::mem::replace(&mut self.key, key) != key;
        self.rotated = Some(self.now);
        if is_other && self.terms > 1 && self.now.since(self.led) < LONG {
            self.check.pardon(self.now);
        }
        let changed = self.told.rotate(replica::steering_key(key));
        self.check.told(&changed);
        for place in 0..2 {
            let (life, delay) = (self.replicas[place].life, self.delay(500));
            self.at(delay, Happening::Key(place, life));
        }
    }

    fn own_export(&mut self, service: usize, ports: usize) {
        let key = Key::new(REGISTRY_NAMESPACE, format!("{}.a.{}", replica::CLUSTER, OWN[service]));
        let told = self.api.get(Watched::Emitted(Kind::ExportedService), &key).map(|told| told.read());
        let told = told.and_then(|told| Some(told["spec"]["ports"].as_array()?.len()));
        self.put(inputs::service("a", OWN[service], &PORTS[..ports]));
        self.put(inputs::slice("a", OWN[service]));
        self.put(inputs::own_export("a", OWN[service]));
        if told.is_some_and(|told| told > ports) {
            // A port that is withdrawn is an export that is, and gone before other clusters hear of it.
            self.check.excuse_until_told(service);
        } else if self.check.is_to_be_told(service) {
            self.excuse(Some(service));
        }
    }

    fn between_clusters(&mut self, step: Step) {
        match step {
            Step::Gateways(cluster, pods) => self.call(cluster, pods),
            Step::Policy(place, wish) => {
                self.put(inputs::policy(place, &wish));
                self.policies_changed();
            }
            Step::NoPolicy(place) => {
                self.remove(Watched::ConnectionPolicy, &inputs::policy_key(place));
                self.policies_changed();
            }
            Step::Region(cluster, region) => self.label(cluster, region),
            Step::Deaf(cluster, long) => return self.deafen(cluster, self.now + long),
            _ => return,
        }
        self.expect_admission();
    }

    /// Who withdraws a grant gets what gateways say of it.
    fn between_namespaces(&mut self, step: &Step) {
        let grants = Watched::Emitted(Kind::ReferenceGrant);
        match step {
            Step::NoGrant => self.remove(grants, &inputs::grant().key),
            Step::NoAdmit => self.remove(grants, &inputs::admission().key),
            Step::NoConsumer => {
                self.remove(Watched::Emitted(Kind::HttpRoute), &inputs::consumer(&ImportWish::default()).key);
            }
            Step::Grant => self.put(inputs::grant()),
            Step::Admit => self.put(inputs::admission()),
            Step::Consumer(wish) => self.put(inputs::consumer(wish)),
            _ => {}
        }
        if matches!(step, Step::NoGrant | Step::NoAdmit) {
            self.excuse(None);
        }
    }

    /// Whether a cluster says less of a service than before: clients lose what it takes back before it is heard of.
    fn takes_away(&self, cluster: usize, service: usize, wish: &ExportWish) -> bool {
        let known = self.api.get(Watched::Emitted(Kind::ExportedService), &inputs::export_key(cluster, service));
        let Some(before) = known.map(|known| known.read()["spec"].clone()) else { return false };
        let now = &inputs::export(cluster, service, wish).body["spec"];
        let ports = |spec: &Value| spec["ports"].as_array().cloned().unwrap_or_default();
        let now_ports = ports(now);
        let keeps = |field: &str| before[field] == now[field];
        !ports(&before).iter().all(|port| now_ports.contains(port)) || !keeps("properties") || !keeps("defaultTier")
    }

    /// The definition of a kind goes, with all its objects, and is away until then.
    fn undefine(&mut self, kind: Kind, until: Moment) {
        self.disturbed = self.disturbed.max(until);
        if kind == Kind::WasmPlugin || replica::is_routed_by(kind) {
            self.check.pardon(until);
        }
        self.api.refusals.push(Refusal { kind, import: None, until });
        let watched = Watched::Emitted(kind);
        let keys: Vec<_> = self.api.list(watched).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.remove(watched, &key);
            if kind == Kind::WasmPlugin {
                self.check.written((&key.namespace, self.api.version()), None, &self.told, (true, self.now));
            }
        }
    }

    /// What was just told breaks what was before.
    pub(super) fn excuse(&mut self, service: Option<usize>) {
        self.check.excuse(&self.told, service, self.unseen());
    }

    /// Until when what happens now may not be seen by all watches.
    fn unseen(&self) -> Moment {
        self.now.max(self.outage) + Duration::from_secs(1)
    }

    pub(super) fn tier(&mut self, tier: usize, port: Option<u16>) {
        self.tiers[tier] = port;
        for cluster in 0..2 {
            self.publish(cluster);
        }
        match port {
            Some(port) => self.put(inputs::tier(tier, port)),
            None => self.remove(Watched::WanPolicy, &Key::new("", crate::script::TIERS[tier])),
        }
        self.excuse(None);
        self.check.move_tier(self.now.max(self.outage));
    }

    fn no_client(&mut self, service: usize, kind: Kind) {
        let (namespace, name) = SERVICES[service];
        let name = if kind == Kind::Service { format!("{name}-clusterset") } else { name.to_owned() };
        let (watched, key) = (Watched::Emitted(kind), Key::new(namespace, name));
        if self.api.get(watched, &key).is_some_and(|known| known.ours.is_some()) {
            self.remove(watched, &key);
            self.taken.insert((Key::new(namespace, SERVICES[service].1), kind), self.now);
        }
    }

    /// Whether somebody has taken away both what clients of an import call and what shows them its address, the one before
    /// who leads had heard that the other was there again: then nobody knows the address any more.
    pub(super) fn is_without_address(&self, import: &Key) -> bool {
        let when = [Kind::Service, Kind::McsServiceImport].map(|kind| self.taken.get(&(import.clone(), kind)).copied());
        let [Some(one), Some(other)] = when else { return false };
        let (first, last) = (one.min(other), one.max(other));
        last <= first.max(self.outage) + HEARD && self.now <= last.max(self.outage) + HEARD
    }

    pub(super) fn rival(&mut self, namespace: &str, name: &str, is_there: bool) {
        let name = format!("{name}-clusterset");
        let (kind, key) = (Watched::Emitted(Kind::Service), Key::new(namespace, name.as_str()));
        match self.api.get(kind, &key) {
            None if is_there && self.api.has_namespace(namespace) => self.put(inputs::service(namespace, &name, &[1])),
            Some(known) if !is_there && known.ours.is_none() => self.remove(kind, &key),
            _ => {}
        }
    }

    /// Clusters renew their Leases, each a third of its time after it did before.
    pub(super) fn renew(&mut self) {
        if self.outage <= self.now {
            let others = CLUSTERS.iter().zip(self.silent).filter(|(_, silent)| *silent <= self.now);
            let clusters: Vec<_> = others.map(|(cluster, _)| *cluster).chain([replica::CLUSTER]).collect();
            for cluster in clusters {
                self.put(inputs::lease(cluster, self.now));
            }
        }
        self.at(replica::LEASE / 3, Happening::Renew);
    }
}
