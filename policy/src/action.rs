//! What a rule does, and which of its actions a request meets.

use crate::choice::Choice;
use crate::draw::Draw;
use crate::error::{At, ImportError, Part, Reason};
use crate::redirect::Redirect;
use crate::rewrite::PathRewrite;
use crate::{limits, wire};

/// A checked action with its share of the rule's requests.
#[derive(Debug)]
pub(crate) struct Action {
    weight: u32,
    pub(crate) effect: Effect,
}

/// What an action does.
#[derive(Debug)]
pub(crate) enum Effect {
    Forward {
        /// Place among the import's targets.
        target: u32,
        path: Option<Box<PathRewrite>>,
    },
    Choose(Box<Choice>),
    Redirect(Box<Redirect>),
    Refuse(Reason, wire::RefuseStatus),
}

/// Checks the actions of a rule. One that cannot be keeps its share and refuses it.
pub(crate) fn compile(
    rule: usize,
    actions: Vec<wire::Action>,
    targets: usize,
    by_prefix: bool,
    report: &mut dyn FnMut(ImportError),
) -> Vec<Action> {
    if let Err(part) = Part::bound("backends", actions.len(), limits::RULE_ACTIONS) {
        let effect = Effect::Refuse(part.reason(), wire::RefuseStatus::default());
        report(ImportError { at: At::Actions(rule), part });
        return vec![Action { weight: 1, effect }];
    }
    let check = |(index, action): (usize, wire::Action)| {
        let weight = action.weight();
        let effect = Effect::new(action, targets, by_prefix).unwrap_or_else(|part| {
            let reason = part.reason();
            report(ImportError { at: At::Action(rule, index), part });
            Effect::Refuse(reason, wire::RefuseStatus::default())
        });
        Action { weight, effect }
    };
    actions.into_iter().enumerate().map(check).collect()
}

/// The action that a uniform draw falls on, and what is left of that; none where all weights are zero.
pub(crate) fn choose<'t, F: FnOnce() -> u64>(
    actions: impl Iterator<Item = &'t Action> + Clone,
    draw: F,
) -> Option<(&'t Effect, Draw<F>)> {
    Draw::Undrawn(draw).pick(actions.map(|action| (action.weight, &action.effect)))
}

impl Effect {
    fn new(action: wire::Action, targets: usize, by_prefix: bool) -> Result<Self, Part> {
        match action {
            wire::Action::Forward(wire::Forward { target, weight: _, path }) => {
                Part::target(target, targets)?;
                let path = path.map(|path| PathRewrite::new(path, by_prefix).map(Box::new)).transpose()?;
                Ok(Self::Forward { target, path })
            }
            wire::Action::Choose(choose) => Ok(Self::Choose(Box::new(Choice::new(choose, targets, by_prefix)?))),
            wire::Action::Redirect(redirect) => Ok(Self::Redirect(Box::new(Redirect::new(redirect, by_prefix)?))),
            wire::Action::Refuse(wire::Refuse { weight: _, reason, status }) => Ok(Self::Refuse(reason.into(), status)),
        }
    }
}

impl wire::Action {
    /// Share of the rule's requests, relative to its other actions.
    pub const fn weight(&self) -> u32 {
        match self {
            Self::Forward(forward) => forward.weight,
            Self::Choose(choose) => choose.weight,
            Self::Redirect(redirect) => redirect.weight,
            Self::Refuse(refuse) => refuse.weight,
        }
    }

    /// The targets that it may send requests to, by their places in the import.
    pub fn targets(&self) -> impl Iterator<Item = u32> {
        let (one, choose) = match self {
            Self::Forward(forward) => (Some(forward.target), None),
            Self::Choose(choose) => (None, Some(choose)),
            Self::Redirect(_) | Self::Refuse(_) => (None, None),
        };
        let sources = choose.into_iter().flat_map(wire::Choose::sources).map(|source| source.target);
        one.into_iter().chain(sources)
    }
}

impl From<wire::RefuseReason> for Reason {
    fn from(reason: wire::RefuseReason) -> Self {
        match reason {
            wire::RefuseReason::BackendNotFound => Self::BackendNotFound,
            wire::RefuseReason::RefNotPermitted => Self::RefNotPermitted,
            wire::RefuseReason::TierNotPermitted => Self::TierNotPermitted,
            wire::RefuseReason::UnsupportedFilter => Self::UnsupportedFilter,
            wire::RefuseReason::InvalidFilter => Self::InvalidFilter,
            wire::RefuseReason::InvalidMatch => Self::InvalidMatch,
            wire::RefuseReason::NoBackend => Self::NoBackend,
        }
    }
}
