//! What is compared: 128 bits in place of an object.

use std::fmt;

use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

use super::fields::{self, Fields};

/// Stands for what we say about an object. Equal digests mean equal content: they are of SHA-256, so that nobody can
/// make up a change that is not seen.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 16]);

/// The fields that tell which object it is. No field manager owns them.
const IDENTITY: [&str; 2] = ["apiVersion", "kind"];
/// The fields of `metadata` that no field manager owns.
const UNOWNED_METADATA: [&str; 8] =
    ["creationTimestamp", "generation", "managedFields", "name", "namespace", "resourceVersion", "selfLink", "uid"];

impl Digest {
    /// Of a manifest that we apply: everything in it that a field manager owns.
    pub fn of_desired(manifest: &Value) -> Self {
        let mut canonical = Canonical::new();
        let owned = entries(manifest).filter(|(key, _)| !IDENTITY.contains(key));
        canonical.map(owned.map(|(key, value)| (key, (key, value))), |canonical, (key, value)| {
            if key == "metadata" {
                let owned = entries(value).filter(|(key, _)| !UNOWNED_METADATA.contains(key));
                canonical.map(owned, Canonical::value);
            } else {
                canonical.value(value);
            }
        });
        canonical.finish()
    }

    /// Of an object of the API server: what we own of it by our last apply, which equals [`Digest::of_desired`] of what
    /// we sent as long as nobody changed it. None if we have not applied it.
    pub fn of_live(object: &Value) -> Option<Self> {
        let fields = fields::applied(object)?;
        let mut canonical = Canonical::new();
        canonical.owned(Fields::new(fields), object);
        Some(canonical.finish())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Writes values in one form only: keys in order, numbers as the API server keeps them (`1.0` is `1`).
struct Canonical(Vec<u8>);

impl Canonical {
    /// Has room for most objects.
    fn new() -> Self {
        Self(Vec::with_capacity(2_048))
    }

    fn finish(self) -> Digest {
        let mut digest = [0; 16];
        digest.iter_mut().zip(Sha256::digest(&self.0)).for_each(|(byte, hashed)| *byte = hashed);
        Digest(digest)
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.0.push(b'n'),
            Value::Bool(false) => self.0.push(b'f'),
            Value::Bool(true) => self.0.push(b't'),
            Value::Number(number) => self.text(b"#", &normal(number)),
            Value::String(text) => self.text(b"s", text),
            Value::Array(items) => {
                self.0.push(b'[');
                for item in items {
                    self.value(item);
                }
                self.0.push(b']');
            }
            Value::Object(_) => self.map(entries(value), Self::value),
        }
    }

    /// The part of a value that has the given fields.
    fn owned(&mut self, fields: Fields<'_>, value: &Value) {
        match value {
            Value::Object(map) if !fields.is_whole() => {
                let owned = fields.iter().filter_map(|(name, fields)| Some((name, (fields, map.get(name)?))));
                self.map(owned, |canonical, (fields, value)| canonical.owned(fields, value));
            }
            Value::Array(items) if !fields.is_whole() => {
                self.0.push(b'[');
                let elements = fields.elements();
                for (index, item) in items.iter().enumerate() {
                    if let Some(fields) = elements.of(index, item) {
                        self.owned(fields, item);
                    }
                }
                self.0.push(b']');
            }
            whole => self.value(whole),
        }
    }

    fn map<'a, T>(&mut self, entries: impl Iterator<Item = (&'a str, T)>, write: impl Fn(&mut Self, T)) {
        let mut entries: Vec<_> = entries.collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        self.0.push(b'{');
        for (key, value) in entries {
            self.text(b"k", key);
            write(self, value);
        }
        self.0.push(b'}');
    }

    fn text(&mut self, tag: &[u8], text: &str) {
        self.0.extend(tag);
        self.0.extend(text.len().to_le_bytes());
        self.0.extend(text.as_bytes());
    }
}

fn entries(map: &Value) -> impl Iterator<Item = (&str, &Value)> {
    map.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// A number without the ways to write it.
fn normal(number: &Number) -> String {
    match number.as_f64() {
        // Adding zero makes a negative zero positive.
        Some(float) if number.is_f64() && float.fract() == 0.0 => format!("{:.0}", float + 0.0),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::fields::tests::{managed, sent, with_others};
    use super::*;

    #[test]
    fn equal_content_has_one_digest_however_it_is_written() {
        let of = |text| Digest::of_desired(&serde_json::from_str(text).unwrap());
        let table = [
            (r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#, true, "the order of keys"),
            (r#"{"a": 1.0}"#, r#"{"a": 1}"#, true, "a number that is whole"),
            (r#"{"a": -0.0}"#, r#"{"a": 0}"#, true, "the negative zero"),
            (r#"{"a": 1e3}"#, r#"{"a": 1000}"#, true, "an exponent"),
            (r#"{"a": 0.5}"#, r#"{"a": 5e-1}"#, true, "a fraction"),
            (
                r#"{"kind": "A", "metadata": {"name": "b"}}"#,
                r#"{"metadata": {"uid": "c"}}"#,
                true,
                "which object it is",
            ),
            (r#"{"a": 1}"#, r#"{"a": "1"}"#, false, "a number and a text"),
            (r#"{"a": [1, 2]}"#, r#"{"a": [2, 1]}"#, false, "the order of items"),
            (r#"{"a": ["bc"]}"#, r#"{"a": ["b", "c"]}"#, false, "where a text ends"),
            (r#"{"a": {"b": 1}, "c": 1}"#, r#"{"a": {"b": 1, "c": 1}}"#, false, "where a map ends"),
            (r#"{"a": null}"#, r#"{"a": false}"#, false, "null and false"),
            (r#"{"a": []}"#, r#"{"a": {}}"#, false, "an empty list and an empty map"),
            (r#"{"metadata": {"labels": {"a": "b"}}}"#, r#"{"metadata": {}}"#, false, "labels"),
        ];
        for (one, other, same, message) in table {
            assert_eq!(of(one) == of(other), same, "{message}");
        }
    }

    #[test]
    fn what_others_wrote_has_no_digest() {
        let object = |entry: Value| json!({"metadata": {"managedFields": [entry]}, "spec": {"a": 1}});
        let table = [
            (json!({"manager": "mcwan", "operation": "Apply", "fieldsV1": {"f:spec": {}}}), true, "our apply"),
            (json!({"manager": "other", "operation": "Apply", "fieldsV1": {"f:spec": {}}}), false, "another's"),
            (json!({"manager": "mcwan", "operation": "Update", "fieldsV1": {"f:spec": {}}}), false, "an update"),
            (
                json!({"manager": "mcwan", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:status": {}}}),
                false,
                "a status",
            ),
        ];
        for (entry, has_one, message) in table {
            assert_eq!(Digest::of_live(&object(entry)).is_some(), has_one, "{message}");
        }
        assert_eq!(Digest::of_live(&json!({"metadata": {}})), None, "no entry at all");
    }

    proptest! {
        #[test]
        fn what_we_sent_has_the_digest_of_what_is_there(sent in sent()) {
            let live = managed(&sent, &sent.object());
            prop_assert_eq!(Digest::of_live(&live), Some(Digest::of_desired(&sent.object())));
        }

        #[test]
        fn what_others_add_does_not_matter(sent in sent()) {
            let live = managed(&sent, &with_others(&sent));
            prop_assert_eq!(Digest::of_live(&live), Some(Digest::of_desired(&sent.object())));
        }

        #[test]
        fn what_others_change_matters(sent in sent(), index: prop::sample::Index) {
            if let Some(changed) = sent.changed(index) {
                let live = managed(&sent, &changed.object());
                prop_assert_ne!(Digest::of_live(&live), Some(Digest::of_desired(&sent.object())));
            }
        }
    }
}
