//! From a tree to a typed object, with everything that is wrong on the way.

use serde::de::DeserializeOwned;

use super::hint;
use crate::problem::{FieldPath, ObjectRef, Problem, Reason, Segment};

/// Faults of one object that are looked for in one run.
const FAULTS: usize = 20;
/// Fields of every object, whether its type reads them or not.
const ROOT_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// Reads an object of a kind of ours, in which nothing may be null: a key without a value is a slip, and in a rule it
/// would match more than was meant.
pub(super) fn read_ours<T: DeserializeOwned>(object: &ObjectRef, json: serde_json::Value) -> Result<T, Vec<Problem>> {
    let mut faults = Vec::new();
    if let Some(spec) = json.get("spec") {
        nulls(object, &"spec".into(), spec, &mut faults);
    }
    if faults.is_empty() { read(object, json) } else { Err(faults) }
}

fn nulls(object: &ObjectRef, field: &FieldPath, value: &serde_json::Value, faults: &mut Vec<Problem>) {
    match value {
        serde_json::Value::Null => {
            let fault =
                Problem::error(object.clone(), Reason::MissingValue, "the field has no value").at(field.clone());
            faults.push(fault.hint("write a value, or leave the field out"));
        }
        serde_json::Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                nulls(object, &field.index(index), item, faults);
            }
        }
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                nulls(object, &field.key(key), value, faults);
            }
        }
        serde_json::Value::Bool(_) | serde_json::Value::Number(_) | serde_json::Value::String(_) => {}
    }
}

/// Reads an object. Unknown fields are errors. A field with an error is taken away, to see what else there is.
pub(super) fn read<T: DeserializeOwned>(object: &ObjectRef, mut json: serde_json::Value) -> Result<T, Vec<Problem>> {
    let mut faults = Vec::new();
    let mut taken_away: Vec<FieldPath> = Vec::new();
    loop {
        let mut ignored = Vec::new();
        let mut track = serde_path_to_error::Track::new();
        let deserializer = serde_path_to_error::Deserializer::new(&json, &mut track);
        let fault = match serde_ignored::deserialize(deserializer, |path| ignored.push(FieldPath::from(&path))) {
            Err(error) => fault(object, FieldPath::from(&track.path()), &error),
            Ok(typed) => {
                faults.extend(ignored.into_iter().filter_map(|field| unknown(object, field)));
                return if faults.is_empty() { Ok(typed) } else { Err(faults) };
            }
        };
        let field = fault.field.clone();
        if !missing(&fault).is_some_and(|missing| taken_away.contains(&missing)) {
            faults.push(fault);
        }
        if faults.len() == FAULTS || !remove(&mut json, &field) {
            faults.extend(ignored.into_iter().filter_map(|field| unknown(object, field)));
            return Err(faults);
        }
        taken_away.push(field);
    }
}

/// Reads an object of which other fields mean nothing here. Where a fault is takes longer to find than whether there is one.
pub(super) fn read_in_part<T: DeserializeOwned>(
    object: &ObjectRef,
    json: serde_json::Value,
) -> Result<T, Vec<Problem>> {
    T::deserialize(&json).map_err(|error| {
        let whole = fault(object, FieldPath::default(), &error);
        read::<T>(object, json).err().unwrap_or_else(|| vec![whole])
    })
}

fn fault(object: &ObjectRef, field: FieldPath, error: &serde_json::Error) -> Problem {
    let error = error.to_string();
    let reason = match error.split_once(' ') {
        Some(("unknown", rest)) if rest.starts_with("field") => Reason::UnknownField,
        Some(("missing", _)) => Reason::MissingField,
        _ => Reason::InvalidValue,
    };
    let (message, hint) = hint::explain(&error);
    Problem { hint, ..Problem::error(object.clone(), reason, message).at(field) }
}

/// The field that is missing, if that is what is wrong.
fn missing(fault: &Problem) -> Option<FieldPath> {
    let name = fault.message.strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(fault.field.key(name))
}

/// A field that the type does not have.
fn unknown(object: &ObjectRef, field: FieldPath) -> Option<Problem> {
    let (Segment::Key(name), above) = field.segments().split_last()? else { return None };
    if above.is_empty() && ROOT_FIELDS.contains(&&**name) {
        return None;
    }
    let known = if above.is_empty() { &ROOT_FIELDS[..] } else { &[] };
    let hint = hint::nearest(name, known.iter().copied()).map(|meant| format!("did you mean `{meant}`?"));
    let fault = Problem::error(object.clone(), Reason::UnknownField, format!("unknown field `{name}`"));
    Some(Problem { hint, ..fault.at(field) })
}

/// Takes a field away; false if there is none.
fn remove(json: &mut serde_json::Value, field: &FieldPath) -> bool {
    let Some((Segment::Key(key), above)) = field.segments().split_last() else { return false };
    let parent = above.iter().try_fold(json, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(&**key),
        Segment::Index(index) => value.get_mut(index),
    });
    parent.and_then(serde_json::Value::as_object_mut).is_some_and(|map| map.remove(&**key).is_some())
}
