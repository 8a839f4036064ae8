//! Shares equal regular expressions and counts the different ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Part;
use crate::limits;
use crate::pattern::Pattern;

/// The regular expressions met so far, never more than a configuration may have.
#[derive(Debug, Default)]
pub(crate) struct PatternPool {
    /// Each with the bytes that it is counted by.
    patterns: BTreeMap<Box<str>, (Arc<Pattern>, usize)>,
    bytes: usize,
    /// Whether one was refused as there is no room for it: no other is compiled then.
    is_over: bool,
}

impl PatternPool {
    /// The pattern of a text, compiled at most once.
    pub(crate) fn get(&mut self, text: &str) -> Result<Arc<Pattern>, Part> {
        if let Some((pattern, _)) = self.patterns.get(text) {
            return Ok(Arc::clone(pattern));
        }
        Part::length("the regular expression", text, limits::PATTERN_BYTES)?;
        if self.is_over {
            return Err(Part::Patterns);
        }
        let (pattern, bytes) = Pattern::new(text)?;
        self.is_over = self.patterns.len() >= limits::PATTERNS || self.bytes + bytes > limits::PATTERNS_COMPILED_BYTES;
        if self.is_over {
            return Err(Part::Patterns);
        }
        let pattern = Arc::new(pattern);
        self.bytes += bytes;
        self.patterns.insert(text.into(), (Arc::clone(&pattern), bytes));
        Ok(pattern)
    }

    /// Whether there were more, or larger ones, than a configuration may have.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether those of another pool fit as well.
    pub(crate) fn has_room_for(&self, other: &Self) -> bool {
        let new = || other.patterns.iter().filter(|(text, _)| !self.patterns.contains_key(*text));
        let bytes = new().map(|(_, (_, bytes))| bytes).sum::<usize>();
        self.patterns.len() + new().count() <= limits::PATTERNS && self.bytes + bytes <= limits::PATTERNS_COMPILED_BYTES
    }

    /// Adds those of another pool.
    pub(crate) fn extend(&mut self, other: Self) {
        for (text, (pattern, bytes)) in other.patterns {
            if self.patterns.insert(text, (pattern, bytes)).is_none() {
                self.bytes += bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_compiled_as_long_as_there_is_room() {
        let mut pool = PatternPool::default();
        // Each takes more than half of what one may take, and counts as all of that.
        let large = |number: usize| format!("[ac]{{999}}[ac]{{999}}[ac]{{999}}{number}");
        let room = limits::PATTERNS_COMPILED_BYTES / limits::PATTERN_COMPILED_BYTES;
        for number in 0..room {
            pool.get(&large(number)).unwrap();
        }
        assert!(pool.get("(").is_err() && !pool.is_over(), "no pattern at all");
        assert_eq!(pool.get(&large(room)).unwrap_err().to_string(), Part::Patterns.to_string());
        assert!(pool.is_over() && pool.get("small").is_err(), "what comes later is not tried");
        pool.get(&large(0)).unwrap();
    }

    #[test]
    fn as_many_patterns_as_there_may_be_have_room_if_they_are_small() {
        let (mut pool, mut other) = (PatternPool::default(), PatternPool::default());
        for number in 0..limits::PATTERNS {
            pool.get(&format!("/items/[0-9a-f]{{8}}-{number}")).unwrap();
        }
        other.get("/items/[0-9a-f]{8}-0").unwrap();
        assert!(pool.has_room_for(&other), "an equal one");
        assert!(pool.get("(").is_err() && !pool.is_over(), "what is no pattern takes no room");
        other.get("new").unwrap();
        assert!(!pool.has_room_for(&other));
        assert!(pool.get("new").is_err() && pool.is_over());
    }
}
