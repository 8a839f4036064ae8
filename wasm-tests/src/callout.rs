//! Requests that modules send by themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::Headers;

/// A request that a module sent through a cluster of the proxy, and that is not answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Callout {
    /// What the answer is known by: unique in the VM.
    pub token: u32,
    /// The root context that is told of the answer.
    pub root: u32,
    /// The cluster of the proxy.
    pub cluster: String,
    /// Its header lines.
    pub headers: Headers,
    /// After so long the proxy answers by itself.
    pub timeout: Duration,
    /// When it was sent, by the monotonic clock.
    pub sent: Duration,
}

/// The requests of one VM.
#[derive(Default)]
pub(crate) struct Callouts {
    pub(crate) waiting: Vec<Callout>,
    /// The headers of the answer that the module is being told of.
    pub(crate) answer: Option<Headers>,
    last: u32,
}

/// Which clusters a proxy has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    pub(crate) missing: BTreeSet<String>,
}

impl Callouts {
    /// Takes a new number.
    pub(crate) fn open(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    /// Takes one that is answered.
    pub(crate) fn take(&mut self, token: u32) -> Option<Callout> {
        let place = self.waiting.iter().position(|callout| callout.token == token)?;
        Some(self.waiting.remove(place))
    }

    /// Forgets those of a root context that is gone: nobody is told of their answers.
    pub(crate) fn cancel(&mut self, root: u32) {
        self.waiting.retain(|callout| callout.root != root);
    }
}
