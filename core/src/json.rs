//! JSON that is made field by field.

use serde_json::{Map, Value};

/// Sets a field of an object; what is no object stays as it is.
pub fn put(object: &mut Value, field: &str, value: impl Into<Value>) {
    put_at(object, &[field], value);
}

/// The same for a field of a field, and so on: what is not there yet becomes an object.
pub fn put_at(object: &mut Value, path: &[&str], value: impl Into<Value>) {
    let mut place = object;
    for field in path {
        if place.is_null() {
            *place = Map::new().into();
        }
        let Some(fields) = place.as_object_mut() else { return };
        place = fields.entry(*field).or_insert(Value::Null);
    }
    *place = value.into();
}
