//! JSON that is made field by field.

use serde_json::Value;

/// Sets a field of an object; what is no object stays as it is.
pub fn put(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(object) = object.as_object_mut() {
        object.insert(field.to_owned(), value.into());
    }
}
