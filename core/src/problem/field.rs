//! Where in an object something is.

use std::borrow::Cow;
use std::fmt;

/// The way from an object's root to one of its fields: `spec.http.rules[1].filters[0]`,
/// `metadata.annotations[mc-wan.l7mp.io/wan-policy]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Segment>);

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// Into a mapping.
    Key(Cow<'static, str>),
    /// Into a list, from 0.
    Index(usize),
}

impl FieldPath {
    /// The object itself.
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// A field of the metadata.
    pub fn metadata(name: &'static str) -> Self {
        Self::root().field("metadata").field(name)
    }

    /// A field of the spec.
    pub fn spec(name: &'static str) -> Self {
        Self::root().field("spec").field(name)
    }

    /// A field of what this leads to.
    #[must_use]
    pub fn field(mut self, name: &'static str) -> Self {
        self.0.push(Segment::Key(Cow::Borrowed(name)));
        self
    }

    /// An entry of the mapping that this leads to.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Segment::Key(Cow::Owned(key.into())));
        self
    }

    /// An item of the list that this leads to.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// The way on from what this leads to.
    #[must_use]
    pub fn join(mut self, rest: Self) -> Self {
        self.0.extend(rest.0);
        self
    }

    /// Whether it is the object itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Its steps.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The last step and the way up to it.
    pub fn split_last(&self) -> Option<(&Segment, &[Segment])> {
        self.0.split_last()
    }
}

impl From<&serde_path_to_error::Path> for FieldPath {
    fn from(path: &serde_path_to_error::Path) -> Self {
        use serde_path_to_error::Segment as Theirs;
        path.iter().fold(Self::root(), |field, segment| match segment {
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
            Theirs::Root => Self::root(),
            Theirs::Seq { parent, index } => Self::from(*parent).index(*index),
            Theirs::Map { parent, key } => Self::from(*parent).key(key),
            Theirs::Some { parent } | Theirs::NewtypeStruct { parent } | Theirs::NewtypeVariant { parent } => {
                Self::from(*parent)
            }
        }
    }
}

/// Whether a key can be printed without brackets.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.contains(['.', '[', ']', '"'])
}

/// As Kubernetes prints it.
impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(formatter, "[{index}]")?,
                Segment::Key(key) if !is_plain(key) => write!(formatter, "[{key}]")?,
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
    fn a_path_prints_as_in_kubernetes() {
        let root = FieldPath::root;
        let table = [
            (root(), "", "the root"),
            (root().field("spec"), "spec", "one field"),
            (FieldPath::spec("http").field("rules").index(1), "spec.http.rules[1]", "an item"),
            (FieldPath::spec("rules").index(1).field("name"), "spec.rules[1].name", "a field of an item"),
            (root().index(2).index(0), "[2][0]", "an item of an item"),
            (FieldPath::metadata("labels").key("a.b/c"), "metadata.labels[a.b/c]", "a key with dots"),
            (root().key("-name"), "-name", "a key with a dash"),
            (
                FieldPath::spec("rules").index(1).join(root().field("filters").index(0)),
                "spec.rules[1].filters[0]",
                "two",
            ),
        ];
        for (field, text, message) in table {
            assert_eq!(field.to_string(), text, "{message}");
        }
    }
}
