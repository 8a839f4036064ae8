//! Which Secrets a replica may read, as it asks for each by itself: an answer may be late, or none.

use std::collections::{BTreeMap, BTreeSet};

use mcwan_core::snapshot::Key;

/// What a replica asks, and what is known of that.
#[derive(Default)]
pub(crate) struct Secrets {
    /// What `Route`s name; none before they are known.
    pub(crate) named: Option<BTreeSet<Key>>,
    /// Those that are asked for.
    pub(crate) asked: BTreeSet<Key>,
    pub(crate) known: BTreeMap<Key, bool>,
    /// What it was told last.
    told: Option<BTreeMap<Key, bool>>,
    /// It is about to be told.
    pub(crate) is_coming: bool,
    /// What it was told of each Secret last, whether it is named or not.
    heard: BTreeMap<Key, bool>,
}

impl Secrets {
    /// Whether there is something to tell: at first of all that is named.
    pub(crate) fn is_news(&self) -> bool {
        let is_known = || self.named.iter().flatten().all(|secret| self.known.contains_key(secret));
        self.named.is_some() && (self.told.is_some() || is_known()) && self.told.as_ref() != Some(&self.known)
    }

    /// What the replica is told.
    pub(crate) fn tell(&mut self) -> BTreeMap<Key, bool> {
        self.is_coming = false;
        self.told = Some(self.known.clone());
        self.heard.extend(self.known.clone());
        self.known.clone()
    }

    /// Whether it may be read, as it was told last; none: it was told nothing of it.
    pub(crate) fn heard(&self, secret: &Key) -> Option<bool> {
        self.heard.get(secret).copied()
    }
}
