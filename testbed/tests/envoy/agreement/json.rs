//! JSON objects of what is there.

use serde_json::Value;

/// An object without the fields that have no value.
pub(crate) fn object<'f>(fields: impl IntoIterator<Item = (&'f str, Option<Value>)>) -> Value {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
