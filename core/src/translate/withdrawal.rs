//! What policies have taken away from an import since it was translated.

use std::collections::BTreeSet;
use std::iter;

use mcwan_policy::wire::RefuseReason;

use super::{Destination, Exports, Import, Target};

impl Import {
    /// The same import with the shares refused whose tiers policies do not permit any more: it needs nothing that this one does
    /// not. None: all of them may be taken.
    pub fn withdrawn(&self, exports: &Exports) -> Option<Self> {
        let forbidden = self.targets.iter().filter(|target| self.is_forbidden(target, exports));
        let forbidden: BTreeSet<_> = forbidden.map(Target::steering_value).collect();
        let withdrawn = (!forbidden.is_empty()).then(|| self.without(&forbidden, RefuseReason::TierNotPermitted));
        withdrawn.filter(|withdrawn| withdrawn.wire != self.wire)
    }

    /// Whether policies let nobody be called where a target or one of its mirrors leads to.
    fn is_forbidden(&self, target: &Target, exports: &Exports) -> bool {
        let mirrors = target.forwarding.mirrors.iter().map(|mirror| &mirror.destination);
        iter::once(&target.destination).chain(mirrors).any(|destination| match destination {
            Destination::Tier { name, .. } => exports.forbids(&self.wire.namespace, &self.wire.name, name),
            Destination::Import { namespace, name, tier, port: _ } => exports.forbids(namespace, name, tier),
            Destination::Service { .. } => false,
        })
    }
}
