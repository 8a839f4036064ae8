//! What policies take away is taken at once, while what they leave waits for what it needs.

use std::sync::Arc;

use super::key::ReconcileKey;
use super::version::{Version, Versions};
use super::{Rollout, Timing, Work};
use crate::moment::Moment;
use crate::snapshot::Key;
use crate::translate::Exports;

impl Rollout {
    /// Refuses what an import's version in force steers to and policies do not permit any more. Returns whether there is such.
    pub(super) fn withdraw(&mut self, import: &Key, now: Moment) -> bool {
        let exports = self.model.translator.exports();
        let state = self.imports.get_mut(&import.namespace, &import.name);
        let is_news = state.is_some_and(|state| state.versions.withdraw(exports, self.timing, now));
        if is_news {
            self.queue.add(Work::Reconcile(ReconcileKey::egress(&import.namespace)));
        }
        is_news
    }
}

impl Versions {
    /// Where the newest version is not ready, lets the one in force be followed by one that only takes away, and so needs
    /// nothing that is not there. Returns whether it is.
    fn withdraw(&mut self, exports: &Exports, timing: Timing, now: Moment) -> bool {
        if self.is_full(timing, now) || !self.newest().is_some_and(Version::is_under_way) {
            return false;
        }
        let ready = self.ready().and_then(|ready| self.list.get(ready));
        let withdrawn = ready.and_then(|ready| {
            let import = ready.import.as_ref()?.withdrawn(exports)?;
            let mut version = Version::ready(Some(Arc::new(import)), now);
            version.lack(ready.missing.clone());
            Some(version)
        });
        let Some(withdrawn) = withdrawn else { return false };
        self.make_room(timing, now);
        self.list.insert(self.list.len().saturating_sub(1), withdrawn);
        true
    }
}
