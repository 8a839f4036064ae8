//! A YAML document as a tree that knows its lines.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{MessageFormatter, Options, Spanned, UserMessageFormatter};

use crate::problem::Segment;

/// A document nests no deeper than this: the deepest CRD of ours has 26, and a thread's stack holds some 50.
const DEPTH: usize = 40;
/// Scalars, lists and mappings of one document; an import of 10,000 rules has some 300,000.
const NODES: usize = 1_000_000;
/// What the aliases of one document may expand to.
const ALIASED_NODES: usize = 100_000;

/// A value and where it starts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// From 1, in the document.
    pub(super) line: usize,
    pub(super) value: Value,
}

/// What a document can hold.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a mapping and its value. Keys are unique.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// Line of the key.
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: Node,
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct SyntaxError {
    /// From 1, in the document.
    pub(super) line: usize,
    message: String,
}

/// Reads one document. Duplicate keys, unknown tags and what is over a bound are errors; only `true` and `false`
/// are booleans.
pub(super) fn parse(document: &str) -> Result<Node, SyntaxError> {
    serde_saphyr::from_str_with_options(document, options()).map_err(|error| SyntaxError {
        line: error.location().map_or(1, |location| line(&location)),
        message: UserMessageFormatter.format_message(&error).into_owned(),
    })
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH,
            max_nodes: NODES,
            max_events: 2 * NODES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: ALIASED_NODES,
        },
        strict_booleans: true,
        reject_unsupported_tags: true,
        emit_comments: false,
        with_snippet: false,
    }
}

fn line(location: &serde_saphyr::Location) -> usize {
    usize::try_from(location.line()).unwrap_or(usize::MAX)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { line: line(&spanned.referenced), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        serde_json::Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a finite number"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            entries.push(Entry { line: line(&key.referenced), key: key.value, value: map.next_value()? });
        }
        Ok(Value::Map(entries))
    }
}

impl Node {
    /// As serde reads it.
    pub(super) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(value) => value.clone().into(),
            Value::Text(value) => value.clone().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect(),
        }
    }

    /// The value of a key, if this is a mapping that has it.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// A key and its value, if this is a mapping that has it.
    pub(super) fn into_entry(self, key: &str) -> Option<Entry> {
        match self.value {
            Value::Map(entries) => entries.into_iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The line of a field, or of what is nearest above it.
    pub(super) fn line_of(&self, field: &[Segment]) -> usize {
        let (mut node, mut line) = (self, self.line);
        for segment in field {
            (line, node) = match (segment, &node.value) {
                (Segment::Key(key), _) => match node.entry(key) {
                    Some(entry) => (entry.line, &entry.value),
                    None => return line,
                },
                (Segment::Index(index), Value::List(items)) => match items.get(*index) {
                    Some(item) => (item.line, item),
                    None => return line,
                },
                // A mapping without the dash of an item is read as the only one.
                (Segment::Index(0), Value::Map(_)) => (node.line, node),
                (Segment::Index(_), _) => return line,
            };
        }
        line
    }
}
