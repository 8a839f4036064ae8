//! Who owns what: `metadata.managedFields`.
//!
//! The form is `FieldsV1`, a tree. A key `f:NAME` stands for a field, `k:{…}` for the item of a list that has these
//! keys, `v:…` for an item of a set, `i:N` for an item by its place; `.` says that what contains them is owned, too. A
//! node without children is owned whole, with everything in it.

use serde_json::{Map, Value};

use super::FIELD_MANAGER;

#[cfg(test)]
pub(super) mod tests;

/// What our field manager owns of an object by server-side apply; none if it has not applied it.
pub(super) fn applied(object: &Value) -> Option<&Map<String, Value>> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    entries.iter().find(|entry| is_by(entry, "Apply"))?.get("fieldsV1")?.as_object()
}

/// The entries but for those of our field manager's updates; none if there is none of these.
pub fn without_updates(object: &Value) -> Option<Vec<&Value>> {
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let others: Vec<_> = entries.iter().filter(|entry| !is_by(entry, "Update")).collect();
    (others.len() < entries.len()).then_some(others)
}

/// Whether an entry is of our field manager, of the object itself.
fn is_by(entry: &Value, operation: &str) -> bool {
    let text = |field| entry.get(field).and_then(Value::as_str).unwrap_or_default();
    text("manager") == FIELD_MANAGER && text("operation") == operation && text("subresource").is_empty()
}

/// A node of the tree.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a Map<String, Value>);

/// The items of a list that are owned.
pub(super) struct Elements<'a>(Vec<(Element, Fields<'a>)>);

enum Element {
    Keys(Map<String, Value>),
    Value(Value),
    Index(usize),
}

impl<'a> Fields<'a> {
    pub(super) fn new(tree: &'a Map<String, Value>) -> Self {
        Self(tree)
    }

    /// Whether everything below is owned, too.
    pub(super) fn is_whole(self) -> bool {
        self.0.is_empty()
    }

    /// The fields that are owned, and what of each.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'a str, Self)> {
        self.0.iter().filter_map(|(path, fields)| Some((path.strip_prefix("f:")?, Self(fields.as_object()?))))
    }

    /// What is owned of a list.
    pub(super) fn elements(self) -> Elements<'a> {
        let element = |(path, fields): (&String, &'a Value)| Some((Element::parse(path)?, Self(fields.as_object()?)));
        Elements(self.0.iter().filter_map(element).collect())
    }
}

impl<'a> Elements<'a> {
    /// What is owned of an item, if it is owned.
    pub(super) fn of(&self, index: usize, item: &Value) -> Option<Fields<'a>> {
        self.0.iter().find(|(element, _)| element.is(index, item)).map(|(_, fields)| *fields)
    }
}

impl Element {
    fn parse(path: &str) -> Option<Self> {
        let (tag, rest) = path.split_once(':')?;
        match tag {
            "k" => serde_json::from_str(rest).ok().map(Self::Keys),
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    fn is(&self, index: usize, item: &Value) -> bool {
        match self {
            Self::Keys(keys) => keys.iter().all(|(key, value)| item.get(key) == Some(value)),
            Self::Value(value) => value == item,
            Self::Index(place) => *place == index,
        }
    }
}
