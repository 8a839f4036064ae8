//! Host calls that fail on purpose.

use crate::{HostCall, Status};

/// An order to answer a host call with a status instead of doing what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    call: HostCall,
    status: Status,
    /// Calls left until the one that fails; none: all fail.
    countdown: Option<usize>,
}

impl Fault {
    /// Every call of this function fails.
    pub const fn always(call: HostCall, status: Status) -> Self {
        Self { call, status, countdown: None }
    }

    /// Only the nth call of this function fails, counted from 1 since the order was given.
    pub const fn nth(call: HostCall, n: usize, status: Status) -> Self {
        Self { call, status, countdown: Some(n) }
    }

    /// Takes notice of a call: the status that it must get, if any.
    pub(crate) fn answer(&mut self, call: HostCall) -> Option<Status> {
        if self.call != call {
            return None;
        }
        let Some(countdown) = &mut self.countdown else {
            return Some(self.status);
        };
        let due = *countdown == 1;
        *countdown = countdown.saturating_sub(1);
        due.then_some(self.status)
    }
}
