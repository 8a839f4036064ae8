//! How far the wanted state is reached.

use super::condition::{PROGRAMMED, Saying};
use super::message;
use crate::emit::object::ObjectId;
use crate::liveness::RegistryState;
use crate::problem::Reason;

/// How far what an import or export is made of has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// What is not applied yet.
    pub pending: Vec<ObjectId>,
    /// What cannot be applied: somebody else's object has the name.
    pub conflicts: Vec<ObjectId>,
    /// What the API server refuses, and why.
    pub refused: Vec<(ObjectId, String)>,
    /// The module of the filter.
    pub module: ModuleState,
    /// The gateways.
    pub gateways: GatewayState,
    /// The registry.
    pub registry: RegistryState,
}

/// Whether gateways can have the module of the filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModuleState {
    /// Nobody needs it.
    #[default]
    NotNeeded,
    /// It is being looked for.
    Unknown,
    /// They can.
    Fetchable,
    /// They cannot, and why.
    NotFetched(String),
}

/// Whether gateways do what they are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GatewayState {
    /// They do.
    #[default]
    InForce,
    /// Not yet: what is waited for.
    Waiting(String),
    /// They cannot, and why.
    Failed(String),
}

impl Delivery {
    /// Why it does not arrive, as reason and message; none: it does, or will.
    pub(super) fn failure(&self) -> Option<(Reason, String)> {
        if !self.conflicts.is_empty() {
            let objects = message::joined(self.conflicts.iter().map(name));
            return Some((Reason::Conflict, format!("somebody else owns {objects}: delete or rename it")));
        }
        if !self.refused.is_empty() {
            let refused = self.refused.iter().map(|(object, error)| format!("{}: {error}", name(object)));
            return Some((Reason::Refused, message::joined(refused)));
        }
        if let ModuleState::NotFetched(error) = &self.module {
            return Some((Reason::ModuleNotFetched, message::joined([error.clone()])));
        }
        None
    }

    /// What is waited for.
    pub(super) fn wait(&self) -> Option<String> {
        if !self.pending.is_empty() {
            let objects = message::joined(self.pending.iter().map(name));
            return Some(format!("not applied yet: {objects}"));
        }
        match (&self.module, &self.gateways) {
            (ModuleState::Unknown, _) => Some("it is not known yet whether the module can be fetched".to_owned()),
            (_, GatewayState::Waiting(what)) => Some(message::joined([what.clone()])),
            (_, GatewayState::InForce | GatewayState::Failed(_)) => None,
        }
    }

    /// Whether gateways do what an import says.
    pub(super) fn programmed(&self, accepted: bool) -> Saying {
        let bad = |reason, message| Saying::new(PROGRAMMED, false, reason, message);
        if let Some((reason, message)) = self.failure() {
            bad(reason, message)
        } else if !accepted {
            bad(Reason::Invalid, "the import is not accepted".to_owned())
        } else if let Some(message) = self.wait() {
            bad(Reason::Pending, message)
        } else if let GatewayState::Failed(error) = &self.gateways {
            bad(Reason::ConfigNotLoaded, message::joined([error.clone()]))
        } else {
            Saying::new(PROGRAMMED, true, Reason::Programmed, "the gateways do what the import says")
        }
    }
}

/// `HTTPRoute secure/payment.8080`.
fn name(object: &ObjectId) -> String {
    format!("{} {}", object.kind.title(), object.key)
}
