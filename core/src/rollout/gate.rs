//! Whether the filter of a namespace may be written.

use std::fmt;
use std::sync::Arc;

use super::Rollout;
use super::event::ModuleVerdict;
use crate::emit::kubernetes::FilterKind;

/// Whether the filter of a namespace may be written. A gateway that cannot load its module refuses everything, and so does
/// one whose module reads another wire version: a filter that works is left as it is until the next one is known to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// The module was not looked at yet.
    Unchecked,
    /// The module is not the filter, or another one than we write for.
    Unsound,
    /// The module cannot be fetched: where there is a filter, only one whose module gateways were told of takes its place.
    SameModuleOnly,
    /// A filter of the other kind is still there: two would judge each request twice.
    RivalPresent,
    /// It may.
    Open,
}

impl fmt::Display for Gate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unchecked => "it is not known yet whether the module can be fetched",
            Self::Unsound => "the module is not a filter of this version",
            Self::SameModuleOnly => "the module cannot be fetched, so that the filter keeps the one that it has",
            Self::RivalPresent => "a filter of the other kind is still there",
            Self::Open => "the filter may be written",
        })
    }
}

impl Rollout {
    /// Whether the filter of a namespace may be written.
    pub(super) fn gate(&self, namespace: &Arc<str>) -> Gate {
        let id = self.model.settings.filter.object_id(namespace);
        match &self.model.module {
            ModuleVerdict::Unchecked => return Gate::Unchecked,
            ModuleVerdict::Unsound(_) => return Gate::Unsound,
            ModuleVerdict::NotFetched(_) => {
                let is_told = self.egresses.get(namespace).is_some_and(|egress| egress.is_module_told);
                if self.is_there(&id) && !is_told {
                    return Gate::SameModuleOnly;
                }
            }
            ModuleVerdict::Sound => {}
        }
        if FilterKind::rival(&id).is_some_and(|rival| self.is_there(&rival)) { Gate::RivalPresent } else { Gate::Open }
    }
}
