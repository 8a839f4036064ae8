//! What may be lost, and until when.

use mcwan_core::emit::object::Kind;
use mcwan_core::moment::Moment;
use mcwan_core::snapshot::Key;

use super::{AFTER_AT_ONCE, AFTER_REFUSAL, Check, GRACE};
use crate::replica::is_routed_by;
use crate::script::{SERVICES, imports};
use crate::told::Told;

impl Check {
    /// Who leads has seen some of what was told, and by then not all: these imports are others for a moment.
    pub(crate) fn mixed(&mut self, changed: &[Key], told: &Told, now: Moment) {
        if now <= self.breaking {
            for key in changed {
                self.excuse_one(key, told);
            }
        }
        self.told(changed);
    }

    /// What was just told breaks what was before, by its nature; until then, who leads may not have seen it.
    pub(crate) fn excuse(&mut self, told: &Told, service: Option<usize>, unseen: Moment) {
        self.breaking = self.breaking.max(unseen);
        let service = service.map(import_of);
        for key in told.steered.versions.keys().filter(|key| service.as_ref().is_none_or(|service| service == *key)) {
            self.excuse_one(key, told);
        }
    }

    /// An import may be lost until its newest version holds.
    pub(super) fn excuse_one(&mut self, import: &Key, told: &Told) {
        self.steered.excuse(import, &told.steered);
        self.native.excuse(import, &told.native);
    }

    /// What a service of ours has lost breaks what was before, though nobody was told yet.
    pub(crate) fn excuse_until_told(&mut self, service: usize) {
        let import = import_of(service);
        self.steered.excuse_until_told(&import);
        self.native.excuse_until_told(&import);
    }

    /// Whether it is still to be told what a service of ours has lost.
    pub(crate) fn is_to_be_told(&self, service: usize) -> bool {
        self.steered.is_to_be_told(&import_of(service))
    }

    /// Nothing more is seen until then.
    pub(crate) fn blind(&mut self, now: Moment, unseen: Moment) {
        if now <= self.breaking {
            self.breaking = unseen;
        }
    }

    /// A tier has another port since then.
    pub(crate) fn move_tier(&mut self, since: Moment) {
        self.moving = self.moving.max(since + AFTER_AT_ONCE);
    }

    /// Something is refused for so long. What was ready before holds for the grace.
    pub(crate) fn refuse(&mut self, kind: Kind, import: Option<&Key>, now: Moment, until: Moment) {
        if is_routed_by(kind) {
            self.promise_nothing(import, now + GRACE, until);
        }
    }

    fn promise_nothing(&mut self, import: Option<&Key>, since: Moment, until: Moment) {
        let until = until + AFTER_REFUSAL;
        for key in imports().into_iter().filter(|key| import.is_none_or(|import| import == key)) {
            let known = self.refused.entry(key).or_insert((since, until));
            // Two that follow each other closely may show at any time.
            *known = if known.1 < since { (since, until) } else { (known.0.min(since), known.1.max(until)) };
        }
    }

    /// Whether an import of a namespace may be lost, as what it was was broken.
    pub(crate) fn is_excused(&self, namespace: &str) -> bool {
        let mut own = imports().into_iter().filter(|key| *key.namespace == *namespace);
        own.any(|key| self.steered.is_excused(&key) || self.native.is_excused(&key))
    }

    /// Whether something of an import is refused.
    pub(crate) fn is_refused(&self, import: &Key, now: Moment) -> bool {
        self.refused.get(import).is_some_and(|(since, until)| *since <= now && now < *until)
    }

    /// Whether something that was excused for a while is not any more: then all is looked at again.
    pub(crate) fn ends(&mut self, policies: Option<(Moment, Moment)>, since: Moment, now: Moment) -> bool {
        let refused = self.refused.values().chain(&policies).map(|(_, until)| until);
        let mut ends = refused.chain(self.uncertified.values()).chain(self.anew.values()).chain([&self.moving]);
        let is_over = ends.any(|end| since < *end && *end <= now);
        self.is_due |= is_over;
        self.are_routes_due |= is_over;
        is_over
    }

    /// Nothing is promised of any import until then, and a little longer.
    pub(crate) fn pardon(&mut self, until: Moment) {
        self.promise_nothing(None, Moment::START, until);
    }
}

/// The import of a service.
fn import_of(service: usize) -> Key {
    let (namespace, name) = SERVICES[service];
    Key::new(namespace, name)
}
