//! Who owns what: `metadata.managedFields`.
//!
//! The form is `FieldsV1`, a tree. A key `f:NAME` stands for a field, `k:{…}` for the item of a list that has these
//! keys, `v:…` for an item of a set, `i:N` for an item by its place; `.` says that what contains them is owned, too. A
//! node without children is owned whole, with everything in it.

use serde_json::{Map, Value, json};

use super::FIELD_MANAGER;
use crate::json::put;

#[cfg(test)]
pub(super) mod tests;

/// More than any list of ours has whose items have owners: 64 ports, listeners or tiers. Each item is looked for among them,
/// and others may write lists of any length.
const MOST_ELEMENTS: usize = 256;

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

/// What takes away what another has added to an object of ours, and we do not own: a merge patch of this very state of it.
/// None if nobody has; of several, one at a time.
///
/// So it is with every kind that we write. What their controllers add, they add elsewhere: istiod to the status, and an
/// annotation to a Gateway; load balancers, clouds, tools for delivery and garbage collection to labels, annotations,
/// finalizers and owners. What the API server fills in by itself (defaults, the addresses of a Service), nobody owns.
pub fn without_additions(object: &Value) -> Option<Value> {
    let own = Fields::new(applied(object)?);
    let entries = object.pointer("/metadata/managedFields")?.as_array()?;
    let others = entries.iter().filter(|entry| !is_by(entry, "Apply") && text(entry, "subresource").is_empty());
    others.filter_map(|entry| entry.get("fieldsV1")?.as_object()).find_map(|fields| {
        let mut fields = fields.clone();
        fields.retain(|path, _| !matches!(path.as_str(), "f:metadata" | "f:status"));
        let theirs = Fields::new(&fields);
        let content = theirs.iter().filter_map(|(name, _)| Some((name.to_owned(), object.get(name)?.clone())));
        let mut patch = Value::Object(content.collect());
        take_out(&mut patch, own, theirs, false).then(|| {
            let version = object.pointer("/metadata/resourceVersion").cloned().unwrap_or_default();
            put(&mut patch, "metadata", json!({"resourceVersion": version}));
            patch
        })
    })
}

/// Takes out of a value what others own and we do not; returns whether there was any. In a list it is left out, elsewhere it
/// becomes null, as a merge patch has it.
fn take_out(value: &mut Value, own: Fields<'_>, theirs: Fields<'_>, in_list: bool) -> bool {
    let mut is_other = false;
    match value {
        // All of it is ours, together with them.
        _ if own.is_whole() => {}
        Value::Object(map) => {
            for (name, theirs) in theirs.iter() {
                let Some(value) = map.get_mut(name) else { continue };
                is_other |= match own.field(name) {
                    Some(own) => take_out(value, own, theirs, in_list),
                    None if in_list => map.remove(name).is_some(),
                    None => !value.take().is_null(),
                };
            }
        }
        Value::Array(items) => {
            let (own, theirs) = (own.elements(), theirs.elements());
            let mut places = 0..items.len();
            items.retain_mut(|item| {
                let place = places.next().unwrap_or_default();
                match (own.of(place, item), theirs.of(place, item)) {
                    (None, Some(_)) => return false,
                    (Some(own), Some(theirs)) => is_other |= take_out(item, own, theirs, true),
                    (_, None) => {}
                }
                true
            });
            is_other |= items.len() < places.end;
        }
        _ => {}
    }
    is_other
}

/// Whether an entry is of our field manager, of the object itself.
fn is_by(entry: &Value, operation: &str) -> bool {
    text(entry, "manager") == FIELD_MANAGER
        && text(entry, "operation") == operation
        && text(entry, "subresource").is_empty()
}

fn text<'e>(entry: &'e Value, field: &str) -> &'e str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
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

    /// What is owned of a field, if it is owned.
    fn field(self, name: &str) -> Option<Self> {
        self.0.get(&format!("f:{name}"))?.as_object().map(Self)
    }

    /// The fields that are owned, and what of each.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'a str, Self)> {
        self.0.iter().filter_map(|(path, fields)| Some((path.strip_prefix("f:")?, Self(fields.as_object()?))))
    }

    /// What is owned of a list, of its first items.
    pub(super) fn elements(self) -> Elements<'a> {
        let element = |(path, fields): (&String, &'a Value)| Some((Element::parse(path)?, Self(fields.as_object()?)));
        Elements(self.0.iter().filter_map(element).take(MOST_ELEMENTS).collect())
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
