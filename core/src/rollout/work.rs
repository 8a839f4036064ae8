//! What there is to do.

use std::sync::Arc;

use super::key::ReconcileKey;
use super::statuses::StatusKey;
use crate::emit::object::ObjectId;

/// A piece of work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// Bring a part of what is emitted into the wanted state.
    Reconcile(ReconcileKey),
    /// Ask the gateway pods of a namespace what they do.
    Ask(Arc<str>),
    /// Look which new gateway pods other clusters admit by now.
    Admit,
    /// Tell what gateways measure by now.
    Measure,
    /// Delete an object if it is ours and nobody wants it.
    Prune(ObjectId),
    /// Say in a status what has become of an object.
    Report(StatusKey),
    /// Say that a cluster is stale and will be refused.
    Warn(Arc<str>),
}
