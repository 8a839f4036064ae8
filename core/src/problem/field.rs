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

    /// A field of what this leads to.
    #[must_use]
    pub fn field(&self, rest: impl Into<Self>) -> Self {
        self.with(rest.into().0)
    }

    /// An entry of the mapping that this leads to.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.with([Segment::Key(Cow::Owned(key.into()))])
    }

    /// An item of the list that this leads to.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with([Segment::Index(index)])
    }

    fn with(&self, more: impl IntoIterator<Item = Segment>) -> Self {
        Self(self.0.iter().cloned().chain(more).collect())
    }

    /// Whether it is this field, or a part of it.
    pub fn is_within(&self, field: &Self) -> bool {
        self.0.starts_with(&field.0)
    }

    /// Whether it is the object itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Its steps.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }
}

/// Names of fields with dots between them: `spec.gateways`.
impl From<&'static str> for FieldPath {
    fn from(names: &'static str) -> Self {
        Self(names.split('.').filter(|name| !name.is_empty()).map(|name| Segment::Key(name.into())).collect())
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

/// As Kubernetes prints it.
impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(formatter, "[{index}]")?,
                Segment::Key(key) if key.is_empty() || key.contains(['.', '[', ']', '"']) => {
                    write!(formatter, "[{key}]")?;
                }
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
        let path = |names: &'static str| FieldPath::from(names);
        let table = [
            (path(""), "", "the root"),
            (path("spec"), "spec", "one field"),
            (path("spec.http.rules").index(1), "spec.http.rules[1]", "an item"),
            (path("spec.rules").index(1).field("name"), "spec.rules[1].name", "a field of an item"),
            (path("").index(2).index(0), "[2][0]", "an item of an item"),
            (path("metadata.labels").key("a.b/c"), "metadata.labels[a.b/c]", "a key with dots"),
            (path("").key("-name"), "-name", "a key with a dash"),
            (path("spec.rules").index(1).field(path("filters").index(0)), "spec.rules[1].filters[0]", "two"),
        ];
        for (field, text, message) in table {
            assert_eq!(field.to_string(), text, "{message}");
        }
    }

    #[test]
    fn a_field_is_within_what_it_is_a_part_of() {
        let (rules, rule) = (FieldPath::from("spec.rules"), FieldPath::from("spec.rules").index(1));
        for (field, is_within, message) in [
            (rule.clone(), true, "itself"),
            (rule.field("filters"), true, "a part"),
            (rules.index(11), false, "another"),
            (rules, false, "what it is a part of"),
        ] {
            assert_eq!(field.is_within(&rule), is_within, "{message}");
        }
    }
}
