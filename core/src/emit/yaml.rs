//! Objects as YAML that people read.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value};

use super::object::Object;

/// The order of fields in objects of any kind, what tells an object apart first. Others follow by the alphabet.
const ORDER: [&str; 45] = [
    "apiVersion",
    "version",
    "revision",
    "group",
    "kind",
    "metadata",
    "type",
    "name",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
    "targetRefs",
    "parentRefs",
    "sectionName",
    "hostnames",
    "hostname",
    "url",
    "sha256",
    "phase",
    "action",
    "gatewayClassName",
    "infrastructure",
    "addressType",
    "clusterIP",
    "selector",
    "addresses",
    "from",
    "to",
    "path",
    "method",
    "headers",
    "queryParams",
    "port",
    "targetPort",
    "protocol",
    "weight",
    "matches",
    "filters",
    "backendRefs",
    "targets",
    "rules",
    "set",
    "add",
    "remove",
];

/// A document for each object, `---` between them.
pub fn documents(objects: &[Object]) -> Result<String, serde_saphyr::ser::Error> {
    let documents: Result<Vec<_>, _> = objects.iter().map(|object| document(&object.body)).collect();
    Ok(documents?.join("---\n"))
}

/// One document.
pub fn document(object: &Value) -> Result<String, serde_saphyr::ser::Error> {
    serde_saphyr::to_string(&Readable(object))
}

/// A value whose maps are in the order in which people read them.
struct Readable<'v>(&'v Value);

impl Serialize for Readable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (field, value) in in_order(fields) {
                    map.serialize_entry(field, &Readable(value))?;
                }
                map.end()
            }
            Value::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| sequence.serialize_element(&Readable(item)))?;
                sequence.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

fn in_order(fields: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let place = |field: &str| ORDER.iter().position(|known| *known == field).unwrap_or(ORDER.len());
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(field, _)| (place(field), *field));
    fields
}
