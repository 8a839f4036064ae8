//! What an API server makes of an apply, in small: the object, and who owns what of it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::without_additions;

/// A value that is applied, with what its schema says of it.
#[derive(Clone, Debug)]
pub(in crate::observed) enum Sent {
    /// Owned whole: a scalar, or a list or a map that is atomic.
    Atomic(Value),
    Map(BTreeMap<String, Sent>),
    Set(BTreeSet<String>),
    /// A list whose items are told apart by their `name`.
    Keyed(BTreeMap<String, BTreeMap<String, Sent>>),
}

impl Sent {
    pub(in crate::observed) fn object(&self) -> Value {
        self.written(false)
    }

    /// The value; with what others write beside it.
    fn written(&self, with_others: bool) -> Value {
        let others = || with_others.then(|| ("others".to_owned(), json!(["theirs"])));
        let map = |fields: &BTreeMap<String, Self>| -> serde_json::Map<_, _> {
            let fields = fields.iter().map(|(name, value)| (name.clone(), value.written(with_others)));
            fields.chain(others()).collect()
        };
        match self {
            Self::Atomic(value) => value.clone(),
            Self::Map(fields) => map(fields).into(),
            Self::Set(items) => {
                let items = items.iter().map(|item| json!(item));
                others().map(|(item, _)| json!(item)).into_iter().chain(items).collect()
            }
            Self::Keyed(items) => {
                let items = items.iter().map(|(name, fields)| {
                    let mut item = map(fields);
                    item.insert("name".to_owned(), json!(name));
                    Value::from(item)
                });
                others().map(|(name, _)| json!({"name": name})).into_iter().chain(items).collect()
            }
        }
    }

    fn owned(&self) -> Value {
        let map = |fields: &BTreeMap<String, Self>| -> serde_json::Map<_, _> {
            fields.iter().map(|(name, value)| (format!("f:{name}"), value.owned())).collect()
        };
        match self {
            Self::Atomic(_) => json!({}),
            Self::Map(fields) => map(fields).into(),
            Self::Set(items) => items.iter().map(|item| (format!("v:{}", json!(item)), json!({}))).collect(),
            Self::Keyed(items) => {
                let item = |(name, fields): (&String, &_)| {
                    let mut owned = map(fields);
                    owned.insert(".".to_owned(), json!({}));
                    owned.insert("f:name".to_owned(), json!({}));
                    (format!("k:{}", json!({"name": name})), Value::from(owned))
                };
                items.iter().map(item).collect()
            }
        }
    }

    /// What others own who have written beside us.
    fn others_own(&self) -> Value {
        let map = |fields: &BTreeMap<String, Self>| -> serde_json::Map<_, _> {
            let fields = fields.iter().filter(|(_, value)| !matches!(value, Self::Atomic(_)));
            let fields = fields.map(|(name, value)| (format!("f:{name}"), value.others_own()));
            fields.chain([("f:others".to_owned(), json!({}))]).collect()
        };
        match self {
            Self::Atomic(_) => json!({}),
            Self::Map(fields) => map(fields).into(),
            Self::Set(_) => json!({"v:\"others\"": {}}),
            Self::Keyed(items) => {
                let key = |name: &str| format!("k:{}", json!({"name": name}));
                let items = items.iter().map(|(name, fields)| (key(name), Value::from(map(fields))));
                items.chain([(key("others"), json!({".": {}, "f:name": {}}))]).collect()
            }
        }
    }

    /// The atoms in it.
    fn atoms(&mut self) -> Vec<&mut Value> {
        match self {
            Self::Atomic(value) => vec![value],
            Self::Map(fields) => fields.values_mut().flat_map(Self::atoms).collect(),
            Self::Set(_) => Vec::new(),
            Self::Keyed(items) => items.values_mut().flat_map(BTreeMap::values_mut).flat_map(Self::atoms).collect(),
        }
    }

    /// The same with another value in one of its atoms; none if it has no atom.
    pub(in crate::observed) fn changed(&self, index: prop::sample::Index) -> Option<Self> {
        let mut changed = self.clone();
        let mut atoms = changed.atoms();
        let atom = if atoms.is_empty() { None } else { Some(atoms.swap_remove(index.index(atoms.len()))) };
        *atom? = json!("changed");
        Some(changed)
    }
}

/// The object after `sent` was applied and, of the same fields, `now` is there.
pub(in crate::observed) fn managed(sent: &Sent, now: &Value) -> Value {
    let mut object = now.clone();
    let entry = json!({"manager": "mcwan", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": sent.owned()});
    object["metadata"] = json!({"name": "a", "uid": "b", "managedFields": [{"manager": "other"}, entry]});
    object
}

/// What is there where others have written beside us.
pub(in crate::observed) fn with_others(sent: &Sent) -> Value {
    sent.written(true)
}

/// Anything that may be applied.
pub(in crate::observed) fn sent() -> impl Strategy<Value = Sent> {
    let scalar = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        "[a-z \"]{0,4}".prop_map(Value::from),
    ];
    let atom = prop_oneof![
        scalar.clone(),
        prop::collection::vec(scalar.clone(), 0..3).prop_map(Value::from),
        prop::collection::btree_map("[a-d]", scalar, 0..3).prop_map(|map| map.into_iter().collect()),
    ];
    let leaf = prop_oneof![
        3 => atom.prop_map(Sent::Atomic),
        1 => prop::collection::btree_set("[a-z\"]{1,3}", 1..4).prop_map(Sent::Set),
    ];
    let tree = leaf.prop_recursive(4, 24, 4, |inner| {
        let fields = prop::collection::btree_map("[a-d]", inner, 1..4);
        prop_oneof![
            fields.clone().prop_map(Sent::Map),
            prop::collection::btree_map("[a-z\"]{1,3}", fields, 1..3).prop_map(Sent::Keyed),
        ]
    });
    prop::collection::btree_map("[a-d]", tree, 1..4).prop_map(Sent::Map)
}

/// What comes of a merge patch (RFC 7396).
fn merge(object: &mut Value, patch: &Value) {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            for (name, value) in patch {
                if value.is_null() {
                    object.remove(name);
                } else {
                    merge(object.entry(name).or_insert(Value::Null), value);
                }
            }
        }
        (object, patch) => *object = patch.clone(),
    }
}

fn by(manager: &str, more: &Value) -> Value {
    let mut entry = json!({"manager": manager, "operation": "Update", "fieldsType": "FieldsV1"});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    entry
}

#[test]
fn what_others_may_add_is_no_addition() {
    let table = [
        (json!({"fieldsV1": {"f:metadata": {"f:annotations": {"f:a": {}}}}}), false, "an annotation"),
        (json!({"fieldsV1": {"f:metadata": {"f:finalizers": {".": {}, "v:\"a\"": {}}}}}), false, "a finalizer"),
        (json!({"fieldsV1": {"f:status": {"f:conditions": {}}}}), false, "a status without a subresource"),
        (json!({"subresource": "status", "fieldsV1": {"f:spec": {"f:a": {}}}}), false, "what a subresource wrote"),
        (json!({"fieldsV1": {"f:spec": {"f:own": {}}}}), false, "what is ours, too"),
        (json!({"fieldsV1": {"f:spec": {"f:gone": {}}}}), false, "what is not there"),
        (json!({"fieldsV1": {"f:spec": {"f:added": {}}}}), true, "a field"),
        (json!({"fieldsV1": {"f:other": {}}}), true, "a field beside all of ours"),
        (json!({"operation": "Apply", "fieldsV1": {"f:spec": {"f:added": {}}}}), true, "an apply"),
        (json!({"manager": "mcwan", "fieldsV1": {"f:spec": {"f:added": {}}}}), true, "an update in our name"),
    ];
    for (entry, expected, message) in table {
        let own = by("mcwan", &json!({"operation": "Apply", "fieldsV1": {"f:spec": {"f:own": {}}}}));
        let fields = json!([own, by("other", &entry)]);
        let mut object = json!({"metadata": {"resourceVersion": "7", "managedFields": fields},
            "spec": {"own": 1, "added": 2, "defaulted": 3}, "other": 4, "status": {"conditions": []}});
        let patch = without_additions(&object);
        assert_eq!(patch.is_some(), expected, "{message}: {patch:?}");
        if let Some(patch) = patch {
            assert_eq!(patch["metadata"], json!({"resourceVersion": "7"}), "{message}: of this state alone");
            merge(&mut object, &patch);
            assert_eq!(object["spec"]["own"], 1, "{message}");
            assert_eq!(object["spec"]["defaulted"], 3, "{message}: what nobody owns stays");
            assert_eq!(without_additions(&object), None, "{message}: once");
        }
    }
    let foreign =
        json!({"metadata": {"managedFields": [by("other", &json!({"fieldsV1": {"f:spec": {}}}))]}, "spec": {}});
    assert_eq!(without_additions(&foreign), None, "what is not ours at all");
}

proptest! {
    #[test]
    fn what_others_add_can_be_taken_away(sent in sent()) {
        let mut live = managed(&sent, &with_others(&sent));
        let entries = live["metadata"]["managedFields"].as_array_mut().unwrap();
        entries[0] = by("other", &json!({"fieldsV1": sent.others_own()}));
        let patch = without_additions(&live).expect("they have added something");
        let metadata = live["metadata"].clone();
        merge(&mut live, &patch);
        prop_assert_eq!(&live["metadata"]["managedFields"], &metadata["managedFields"]);
        prop_assert_eq!(without_additions(&live), None, "all of it");
        live.as_object_mut().unwrap().remove("metadata");
        prop_assert_eq!(live, sent.object());
        prop_assert_eq!(without_additions(&managed(&sent, &sent.object())), None, "nobody else is there");
    }
}
