//! What the imports of a configuration share: the bounds on all of them together.

use std::collections::BTreeSet;

use crate::import::Compiled;
use crate::pattern_pool::PatternPool;
use crate::{HostPattern, limits, wire};

/// What imports take of the bounds of a configuration, but for its bytes.
#[derive(Debug, Default)]
pub struct Budget {
    rules: usize,
    patterns: PatternPool,
}

/// What an import is too large for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// A configuration that has no other import.
    Alone,
    /// One that has the imports before it, too.
    Together,
}

impl Budget {
    /// Takes what an import needs.
    ///
    /// # Errors
    /// Where that is too much; then nothing is taken.
    pub fn take(&mut self, import: &wire::Import) -> Result<(), Excess> {
        let mut patterns = PatternPool::default();
        let compiled = Compiled::new(import.clone(), &mut patterns, &mut |_| ()).ok_or(Excess::Alone)?;
        let rules = compiled.actions.len();
        if rules > limits::RULES || patterns.is_over() {
            return Err(Excess::Alone);
        }
        if self.rules + rules > limits::RULES || !self.patterns.has_room_for(&patterns) {
            return Err(Excess::Together);
        }
        self.rules += rules;
        self.patterns.extend(patterns);
        Ok(())
    }
}

impl wire::Import {
    /// An import that claims the hosts of this one, takes little room and answers 500 `TooLarge`. It is over a bound of
    /// its own, as modules of before know no other way to say so.
    #[must_use]
    pub fn too_large(&self) -> Self {
        let matches = vec![wire::Match::default(); limits::RULE_MATCHES + 1];
        // What is no hostname claims nothing, and would be the reason of the answer.
        let hosts: BTreeSet<_> = self.rules.iter().filter_map(|rule| rule.host.as_ref()).collect();
        let hostnames = self.hostnames.iter().chain(hosts);
        let hostnames = hostnames.filter(|hostname| hostname.parse::<HostPattern>().is_ok());
        Self {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            serves: self.serves,
            hostnames: hostnames.cloned().collect(),
            no_match: wire::NoMatch::default(),
            targets: Vec::new(),
            rules: vec![wire::Rule { matches, ..wire::Rule::default() }],
        }
    }
}
