//! What a rule does, and which of its actions a request meets.

use crate::error::{At, ImportError, Part, Reason};
use crate::redirect::Redirect;
use crate::rewrite::PathRewrite;
use crate::{limits, wire};

/// A checked action.
#[derive(Debug)]
pub(crate) enum Action {
    Forward { target: usize, path: Option<Box<PathRewrite>> },
    Redirect(Box<Redirect>),
    Refuse(Reason),
}

/// What one rule does, each action with its weight.
#[derive(Debug, Default)]
pub(crate) struct Actions(Box<[(u32, Action)]>);

impl Actions {
    /// Checks the actions of a rule. One that cannot be keeps its share and refuses it.
    pub(crate) fn new(
        rule: usize,
        actions: Vec<wire::Action>,
        targets: usize,
        by_prefix: bool,
        report: &mut dyn FnMut(ImportError),
    ) -> Self {
        if let Err(part) = Part::bound("backends", actions.len(), limits::RULE_ACTIONS) {
            let reason = part.reason();
            report(ImportError { at: At::Actions(rule), part });
            return Self(Box::new([(1, Action::Refuse(reason))]));
        }
        let check = |(index, action): (usize, wire::Action)| {
            let weight = action.weight();
            let action = Action::new(action, targets, by_prefix).unwrap_or_else(|part| {
                let reason = part.reason();
                report(ImportError { at: At::Action(rule, index), part });
                Action::Refuse(reason)
            });
            (weight, action)
        };
        Self(actions.into_iter().enumerate().map(check).collect())
    }

    /// The action that a uniform draw falls on; none where all weights are zero.
    pub(crate) fn choose(&self, draw: impl FnOnce() -> u64) -> Option<&Action> {
        let weighed = || self.0.iter().filter(|(weight, _)| *weight > 0);
        let mut candidates = weighed();
        if let (Some((_, only)), None) = (candidates.next(), candidates.next()) {
            return Some(only);
        }
        let total: u64 = weighed().map(|(weight, _)| u64::from(*weight)).sum();
        let mut left = u64::try_from((u128::from(draw()) * u128::from(total)) >> 64).ok()?;
        weighed().find_map(|(weight, action)| {
            let below = left < u64::from(*weight);
            left = left.saturating_sub(u64::from(*weight));
            below.then_some(action)
        })
    }
}

impl Action {
    fn new(action: wire::Action, targets: usize, by_prefix: bool) -> Result<Self, Part> {
        match action {
            wire::Action::Forward(wire::Forward { target, weight: _, path }) => {
                let index =
                    usize::try_from(target).ok().filter(|index| *index < targets).ok_or(Part::Target(target))?;
                let path = path.map(|path| PathRewrite::new(path, by_prefix).map(Box::new)).transpose()?;
                Ok(Self::Forward { target: index, path })
            }
            wire::Action::Redirect(redirect) => Ok(Self::Redirect(Box::new(Redirect::new(redirect, by_prefix)?))),
            wire::Action::Refuse(wire::Refuse { weight: _, reason }) => Ok(Self::Refuse(reason.into())),
        }
    }
}

impl wire::Action {
    /// Share of the rule's requests, relative to its other actions.
    pub const fn weight(&self) -> u32 {
        match self {
            Self::Forward(forward) => forward.weight,
            Self::Redirect(redirect) => redirect.weight,
            Self::Refuse(refuse) => refuse.weight,
        }
    }
}

impl From<wire::RefuseReason> for Reason {
    fn from(reason: wire::RefuseReason) -> Self {
        match reason {
            wire::RefuseReason::BackendNotFound => Self::BackendNotFound,
            wire::RefuseReason::RefNotPermitted => Self::RefNotPermitted,
            wire::RefuseReason::UnsupportedFilter => Self::UnsupportedFilter,
            wire::RefuseReason::InvalidFilter => Self::InvalidFilter,
        }
    }
}
