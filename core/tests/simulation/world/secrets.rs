//! Who may read Secrets, and who asks that.

use std::collections::BTreeMap;
use std::time::Duration;

use mcwan_core::emit::object::{Kind, Object};
use mcwan_core::rollout::Event;
use mcwan_core::snapshot::{Key, named_secret};
use mcwan_core::status::{StatusKind, StatusPatch};

use super::{Happening, World};
use crate::script::{NAMESPACES, SECRETS, Secret};

/// How often the same is asked again.
const PERIOD: Duration = Duration::from_secs(30);

impl World {
    /// Somebody grants that a Secret may be read, or does so no more.
    pub(super) fn grant(&mut self, secret: Secret, may: bool) {
        let secret = Key::new(NAMESPACES[0], SECRETS[secret]);
        if may {
            self.once_granted.insert(secret.clone());
            self.granted.insert(secret);
        } else {
            self.granted.remove(&secret);
        }
        self.tell_granted();
    }

    /// A namespace goes with all that was granted in it.
    pub(super) fn withdraw(&mut self, namespace: &str) {
        self.granted.retain(|secret| *secret.namespace != *namespace);
        self.tell_granted();
    }

    /// Of each Secret, whether it may be read.
    pub(crate) fn readable(&self) -> BTreeMap<Key, bool> {
        let all = SECRETS.map(|name| Key::new(NAMESPACES[0], name));
        all.into_iter().map(|secret| (secret.clone(), self.granted.contains(&secret))).collect()
    }

    fn tell_granted(&mut self) {
        let changed = self.told.allow(self.readable());
        self.check.told(&changed);
    }

    /// A replica asks for the Secrets that are news to it.
    pub(super) fn ask_for_secrets(&mut self, place: usize) {
        let replica = &mut self.replicas[place];
        let (life, secrets) = (replica.life, &mut replica.secrets);
        let Some(named) = replica.rollout.named_secrets() else { return };
        secrets.known.retain(|secret, _| named.contains(secret));
        let new: Vec<_> = named.difference(&secrets.asked).cloned().collect();
        secrets.asked.extend(new.iter().cloned());
        secrets.named = Some(named);
        for secret in new {
            let delay = self.delay(2_000);
            self.at(delay, Happening::MayRead(place, life, secret));
        }
        self.come(place);
    }

    pub(super) fn may_read(&mut self, place: usize, secret: Key) {
        let is_lost = self.outage > self.now || self.may_fail() && self.rng.u8(..8) == 0;
        let may = self.granted.contains(&secret);
        let replica = &mut self.replicas[place];
        let (life, secrets) = (replica.life, &mut replica.secrets);
        if !secrets.named.iter().flatten().any(|named| *named == secret) {
            secrets.asked.remove(&secret);
            return;
        }
        if !is_lost {
            secrets.known.insert(secret.clone(), may);
        }
        let after = if is_lost { self.delay(15_000) } else { PERIOD };
        self.at(after, Happening::MayRead(place, life, secret));
        self.come(place);
    }

    fn come(&mut self, place: usize) {
        let replica = &mut self.replicas[place];
        if replica.secrets.is_news() && !std::mem::replace(&mut replica.secrets.is_coming, true) {
            let life = replica.life;
            let delay = self.delay(300);
            self.at(delay, Happening::Secrets(place, life));
        }
    }

    pub(super) fn tell_secrets(&mut self, place: usize) {
        let told = self.replicas[place].secrets.tell();
        self.step(place, Event::ReadableSecrets(told));
    }

    /// Whether a replica leaves a `Route` of a namespace out, as it is not told yet whether its Secret may be read.
    pub(super) fn holds_route(&self, place: usize, namespace: &str) -> bool {
        let replica = &self.replicas[place];
        let told = replica.rollout.snapshot().secrets.as_ref();
        let mut named = replica.secrets.named.iter().flatten().filter(|secret| *secret.namespace == *namespace);
        named.any(|secret| told.is_none_or(|told| !told.contains_key(secret)))
    }

    /// A `Route` with a Secret is looked at only once it is told whether that may be read, and then as it was told last.
    pub(super) fn knows_secrets(&mut self, place: usize) {
        let replica = &self.replicas[place];
        let snapshot = replica.rollout.snapshot();
        for secret in snapshot.openshift_routes.iter().filter_map(named_secret) {
            let heard = replica.secrets.heard(&secret);
            if heard != Some(snapshot.may_read(&secret)) {
                self.check.wrongs.push(format!("a Secret is taken for another: of {secret} was told {heard:?}"));
            }
        }
    }

    /// A `Route` whose Secret may not be read is not admitted.
    pub(super) fn is_granted(&mut self, place: usize, patch: &StatusPatch) {
        let replica = &self.replicas[place];
        let routes = &replica.rollout.snapshot().openshift_routes;
        let route =
            routes.get(&patch.key.namespace, &patch.key.name).filter(|_| patch.kind == StatusKind::OpenshiftRoute);
        let secret = route.and_then(named_secret);
        let body = patch.body["status"]["ingress"].to_string();
        let is_admitted = body.contains(r#""status":"True","type":"Admitted""#);
        if let Some(secret) = secret.filter(|secret| is_admitted && replica.secrets.heard(secret) != Some(true)) {
            self.check.wrongs.push(format!("admitted without a grant: {} with {secret}", patch.key));
        }
    }

    /// A gateway shows no certificate of a Secret that might never be read.
    pub(super) fn shows_no_secret(&mut self, gateway: &Object) {
        if gateway.id.kind != Kind::Gateway {
            return;
        }
        let body = gateway.body.to_string();
        let unread = SECRETS.into_iter().filter(|name| !self.once_granted.contains(&Key::new(NAMESPACES[0], *name)));
        let shown: Vec<_> = unread.filter(|name| body.contains(&format!("\"{name}\""))).collect();
        if !shown.is_empty() {
            self.check.wrongs.push(format!("shown without a grant: {} has {shown:?}", gateway.id.key));
        }
    }
}
