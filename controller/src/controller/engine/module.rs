//! Which modules gateways are told to load.
//!
//! A gateway that cannot load its module refuses everything, and one whose module reads another wire version would. So a
//! filter that works is left as it is until it is known that the next module is the filter.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcwan_core::emit::kubernetes::FilterKind;
use mcwan_core::emit::object::{Object, ObjectId};
use mcwan_core::observed::Live;
use mcwan_core::outcome::Outcome;

use super::super::batch::Batch;
use super::super::emission::Emission;
use super::super::unit::Unit;
use super::Engine;
use crate::module::ModuleStatus;

/// Whether a filter may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Write,
    Withhold,
    /// Where the one that is there has the same module.
    Compare,
}

impl Engine {
    /// What is known of the module has changed.
    pub(in super::super) fn module_changed(&mut self, module: ModuleStatus) {
        for namespace in self.withheld.iter().chain(self.shipped.keys()) {
            self.agenda.add(Unit::egress(namespace));
        }
        self.statuses.module_changed(module, &self.world.snapshot);
    }

    /// Leaves the filter of a namespace as it is, where its module may not be what it should be.
    ///
    /// # Errors
    /// The live filter cannot be read.
    pub(super) async fn withhold_filter(
        &mut self,
        namespace: &Arc<str>,
        emission: &mut Emission,
        batch: &mut Batch,
    ) -> Result<(), Outcome> {
        let kind = self.settings.filter;
        let filter = emission.objects.iter().find(|object| object.id.kind == kind.kind());
        let withheld = match filter {
            None => false,
            Some(filter) => self.is_withheld(filter).await?,
        };
        if withheld {
            batch.withhold(namespace);
            // Nothing new is in force anywhere.
            emission.shipped = None;
            if self.withheld.insert(Arc::clone(namespace)) {
                tracing::warn!(
                    namespace = &**namespace,
                    "the filter is not written: its module is not known to be sound"
                );
            }
        } else if self.withheld.remove(namespace) {
            // One of the other kind may have stayed meanwhile.
            self.strays.extend(FilterKind::rival(&kind.object_id(namespace)));
        }
        Ok(())
    }

    async fn is_withheld(&mut self, filter: &Object) -> Result<bool, Outcome> {
        let exists = self.world.observed.get(&filter.id).is_some_and(Live::is_ours);
        match verdict(&self.statuses.module, exists) {
            Verdict::Write => Ok(false),
            Verdict::Withhold => Ok(true),
            Verdict::Compare if self.world.observed.is_same(filter) => Ok(false),
            Verdict::Compare => {
                let live = self.read(&filter.id, &Unit::egress(&filter.id.key.namespace)).await?;
                let known = live.as_ref().and_then(|live| self.settings.filter.module_of(live));
                Ok(known.is_some_and(|known| known != self.settings.module))
            }
        }
    }
}

/// Whether an object is a filter, of whichever kind, of one of these namespaces.
pub(super) fn is_filter_of(namespaces: &BTreeSet<Arc<str>>, id: &ObjectId) -> bool {
    FilterKind::rival(id).is_some() && namespaces.contains(&id.key.namespace)
}

/// Whether a filter with a module of which this is known may be written where one exists, or where none does.
fn verdict(module: &ModuleStatus, exists: bool) -> Verdict {
    match module {
        ModuleStatus::Unknown => Verdict::Withhold,
        ModuleStatus::Failed(error) if error.is_wrong() => Verdict::Withhold,
        // Gateways may have it, or may reach what we do not.
        ModuleStatus::Failed(_) if exists => Verdict::Compare,
        ModuleStatus::Failed(_) | ModuleStatus::Ok => Verdict::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::ModuleError;

    #[test]
    fn a_working_filter_is_not_replaced_by_what_may_not_work() {
        let away = ModuleStatus::Failed(ModuleError::FetchFailed { url: "u".to_owned(), why: "w".to_owned() });
        let missing = ModuleStatus::Failed(ModuleError::NotFound("u".to_owned()));
        let newer = ModuleStatus::Failed(ModuleError::WireVersionMismatch(9));
        let other = ModuleStatus::Failed(ModuleError::NotAModule("text".to_owned()));
        for (module, exists, want) in [
            (ModuleStatus::Ok, true, Verdict::Write),
            (ModuleStatus::Ok, false, Verdict::Write),
            (ModuleStatus::Unknown, true, Verdict::Withhold),
            (ModuleStatus::Unknown, false, Verdict::Withhold),
            (away.clone(), true, Verdict::Compare),
            (away, false, Verdict::Write),
            (missing.clone(), true, Verdict::Compare),
            (missing, false, Verdict::Write),
            (newer.clone(), true, Verdict::Withhold),
            (newer, false, Verdict::Withhold),
            (other, false, Verdict::Withhold),
        ] {
            assert_eq!(verdict(&module, exists), want, "{module:?}, exists: {exists}");
        }
    }
}
