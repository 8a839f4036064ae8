//! Shares equal regular expressions and counts the different ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Part;
use crate::limits;
use crate::pattern::Pattern;

/// The regular expressions met so far.
#[derive(Debug, Default)]
pub(crate) struct PatternPool(BTreeMap<Box<str>, Arc<Pattern>>);

impl PatternPool {
    /// The pattern of a text, compiled at most once.
    pub(crate) fn get(&mut self, text: &str) -> Result<Arc<Pattern>, Part> {
        if let Some(pattern) = self.0.get(text) {
            return Ok(Arc::clone(pattern));
        }
        Part::length("the regular expression", text, limits::PATTERN_BYTES)?;
        let pattern = Arc::new(Pattern::new(text)?);
        self.0.insert(text.into(), Arc::clone(&pattern));
        Ok(pattern)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// How many there are with those of another pool.
    pub(crate) fn len_with(&self, other: &Self) -> usize {
        self.len() + other.0.keys().filter(|text| !self.0.contains_key(*text)).count()
    }

    /// Adds those of another pool.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}
