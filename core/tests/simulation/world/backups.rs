//! The API server is restored from a backup: users' objects and ours are again as they were, each in its version of then.

use std::time::Duration;

use mcwan_core::emit::object::{Kind, ObjectId};
use mcwan_core::snapshot::Key;
use mcwan_core::watched::Watched;

use super::steps::HEARD;
use super::{LONG, World};
use crate::script::imports;

/// How long it takes, at least: whoever watches connects anew, and lists everything.
const RESTORING: Duration = Duration::from_secs(2);

impl World {
    /// The API server has what it had so many writes ago, but for pods and Leases, as those of then do not run, and for namespaces
    /// and tiers, which others here and in other clusters depend on. The registry is another API server.
    pub(super) fn restore(&mut self, writes: u64) {
        self.outage = self.outage.max(self.now + RESTORING + self.delay(8_000));
        let namespaces = self.api.log(Watched::Namespace).last().map_or(0, |entry| entry.version);
        let then = self.api.version().saturating_sub(writes).max(namespaces).max(self.begun);
        let is_kept = |kind: Watched| {
            kind.is_in_registry()
                || matches!(kind, Watched::Namespace | Watched::WanPolicy | Watched::Pod | Watched::Lease)
        };
        for kind in Watched::all().filter(|kind| !is_kept(*kind)) {
            for key in self.api.restore(kind, then) {
                self.restored(kind, &key);
            }
        }
        for place in 0..2 {
            for kind in Watched::all() {
                self.replicas[place].broken.insert(kind);
                self.watch(place, kind);
            }
        }
        self.unlisted = self.outage + HEARD;
        self.disturbed = self.disturbed.max(self.outage);
        // Gateways go back to what they were told then, and what leads them on is not as they were told last.
        self.check.pardon(self.outage);
        let gone_back = self.outage + LONG;
        let until = self.others.refused.map_or(gone_back, |(_, until)| until.max(gone_back));
        self.others.refused = Some((self.now, until));
        self.excuse(None);
        let both = [Kind::Service, Kind::McsServiceImport];
        self.taken.extend(imports().into_iter().flat_map(|import| both.map(|kind| ((import.clone(), kind), self.now))));
    }

    /// An object is as it was, or is gone again.
    fn restored(&mut self, kind: Watched, key: &Key) {
        let now = self.api.get(kind, key).cloned();
        let is_ours = now.as_ref().is_some_and(|now| now.ours.is_some());
        for ours in [true, false] {
            let Some(input) = kind.input_of(ours) else { continue };
            let changed = match &now {
                Some(now) if ours == is_ours => self.told.put(input, &now.read()),
                // One kind of input may be the same for both.
                Some(_) if kind.input_of(is_ours) == Some(input) => Vec::new(),
                _ => self.told.remove(input, key),
            };
            self.check.told(&changed);
        }
        // Nobody who leads has written it.
        if let Some(kind) = kind.emitted() {
            let id = ObjectId { kind, key: key.clone() };
            self.route_written(&id, false);
            if kind == Kind::WasmPlugin {
                self.plugin_written(&id, false);
            }
        }
    }
}
