//! From JSON to a type.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::gather::Unreadable;

/// Reads an object as a type.
///
/// # Errors
/// It has not the type's form. What is known of it all the same goes with the error: it harms only itself.
pub fn typed<T: DeserializeOwned>(object: &Value) -> Result<T, Unreadable> {
    serde_path_to_error::deserialize(object).map_err(|error| Unreadable {
        metadata: object
            .get("metadata")
            .and_then(|metadata| ObjectMeta::deserialize(metadata).ok())
            .unwrap_or_default(),
        error: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::WanPolicy;

    #[test]
    fn an_object_that_has_not_the_form_is_told_with_its_name() {
        let object = |port| {
            json!({
                "apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "WANPolicy",
                "metadata": {"name": "high", "generation": 2},
                "spec": {"port": port, "tunnel": "business"},
            })
        };
        assert!(typed::<WanPolicy>(&object(json!(31111))).is_ok(), "a sound one");
        let Err(unreadable) = typed::<WanPolicy>(&object(json!("much"))) else { panic!("a port that is no number") };
        assert_eq!(unreadable.metadata.name.as_deref(), Some("high"), "its name");
        assert_eq!(unreadable.metadata.generation, Some(2), "its generation");
        assert!(unreadable.error.starts_with("spec.port: "), "where: {}", unreadable.error);
    }
}
