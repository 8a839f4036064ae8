//! Where in an object something is.

use std::fmt;
use std::str::FromStr;

/// The way from an object's root to one of its fields: `spec.http.rules[1].filters[0]`,
/// `metadata.annotations["mc-wan.l7mp.io/wan-policy"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldPath(Vec<Segment>);

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// Into a mapping.
    Key(String),
    /// Into a list, from 0.
    Index(usize),
}

/// A text that is no [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the path of a field")]
pub(super) struct FieldPathError(String);

impl FieldPath {
    pub(super) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.0
    }

    #[must_use]
    pub(super) fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Segment::Key(key.into()));
        self
    }

    #[must_use]
    pub(super) fn index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// The last step and the way up to it.
    pub(super) fn split_last(&self) -> Option<(&Segment, &[Segment])> {
        self.0.split_last()
    }
}

impl From<&serde_path_to_error::Path> for FieldPath {
    fn from(path: &serde_path_to_error::Path) -> Self {
        use serde_path_to_error::Segment as Theirs;
        path.iter().fold(Self::default(), |field, segment| match segment {
            Theirs::Seq { index } => field.index(*index),
            Theirs::Map { key } | Theirs::Enum { variant: key } => field.key(key),
            Theirs::Unknown => field,
        })
    }
}

impl From<&serde_ignored::Path<'_>> for FieldPath {
    fn from(path: &serde_ignored::Path<'_>) -> Self {
        use serde_ignored::Path as Theirs;
        match path {
            Theirs::Root => Self::default(),
            Theirs::Seq { parent, index } => Self::from(*parent).index(*index),
            Theirs::Map { parent, key } => Self::from(*parent).key(key),
            Theirs::Some { parent } | Theirs::NewtypeStruct { parent } | Theirs::NewtypeVariant { parent } => {
                Self::from(*parent)
            }
        }
    }
}

impl FromStr for FieldPath {
    type Err = FieldPathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut field = Self::default();
        let mut rest = text;
        while !rest.is_empty() {
            let (segment, after) = step(rest, field.is_root()).ok_or_else(|| FieldPathError(text.to_owned()))?;
            field.0.push(segment);
            rest = after;
        }
        Ok(field)
    }
}

/// The first step of a printed path, and what follows.
fn step(text: &str, first: bool) -> Option<(Segment, &str)> {
    if let Some(quoted) = text.strip_prefix("[\"") {
        let (key, after) = quoted.split_once("\"]")?;
        return Some((Segment::Key(key.to_owned()), after));
    }
    if let Some(index) = text.strip_prefix('[') {
        let (index, after) = index.split_once(']')?;
        return Some((Segment::Index(index.parse().ok()?), after));
    }
    let text = if first { text } else { text.strip_prefix('.')? };
    let (key, after) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    is_plain(key).then(|| (Segment::Key(key.to_owned()), after))
}

/// Whether a key can be printed without quotes.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.contains(['.', '[', ']', '"'])
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(formatter, "[{index}]")?,
                Segment::Key(key) if !is_plain(key) => write!(formatter, "[\"{key}\"]")?,
                Segment::Key(key) if position == 0 => formatter.write_str(key)?,
                Segment::Key(key) => write!(formatter, ".{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_prints_as_it_is_read() {
        let root = FieldPath::default;
        let table = [
            (root(), "", "the root"),
            (root().key("spec"), "spec", "one key"),
            (root().key("spec").key("http").key("rules").index(1), "spec.http.rules[1]", "an item"),
            (root().key("spec").key("rules").index(1).key("name"), "spec.rules[1].name", "a key of an item"),
            (root().index(2).index(0), "[2][0]", "an item of an item"),
            (root().key("labels").key("a.b/c"), "labels[\"a.b/c\"]", "a key with dots"),
            (root().key("-name"), "-name", "a key with a dash"),
        ];
        for (field, text, message) in table {
            assert_eq!(field.to_string(), text, "{message}: printed");
            assert_eq!(text.parse(), Ok(field), "{message}: read");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [".", "a.", "a..b", "a[", "a[x]", "a[-1]", "a]", "a[\"b", "[0]a"] {
            assert_eq!(text.parse::<FieldPath>(), Err(FieldPathError(text.to_owned())), "{text}");
        }
    }
}
