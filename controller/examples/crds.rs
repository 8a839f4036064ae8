//! Writes `manifests/crds`, the `CustomResourceDefinition`s of our kinds, from their types: `cargo xtask generate`.
//!
//! An example, so that it is built from the library's types and yet is part of nothing that ships. Its tests run with
//! the crate's.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use mcwan_core::api::{
    ClusterConnection, ClusterConnectionPolicy, ExportedEndpoints, ExportedService, ServiceImport, WanCluster,
    WanPolicy, pattern,
};
use schemars::Schema;
use schemars::transform::{RecursiveTransform, Transform};
use serde_json::{Value, json};

fn main() -> Result<()> {
    let folder = folder();
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for crd in crds() {
        let file = file(&crd);
        fs::write(&file, manifest(&crd)?).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn crds() -> [CustomResourceDefinition; 7] {
    [
        WanPolicy::crd(),
        ServiceImport::crd(),
        ExportedService::crd(),
        ExportedEndpoints::crd(),
        WanCluster::crd(),
        ClusterConnectionPolicy::crd(),
        ClusterConnection::crd(),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("manifests").join("crds")
}

fn file(crd: &CustomResourceDefinition) -> PathBuf {
    folder().join(&crd.spec.names.plural).with_extension("yaml")
}

/// What the file of a definition holds.
fn manifest(crd: &CustomResourceDefinition) -> Result<String> {
    let yaml = serde_saphyr::to_string(&definition(crd)?)?;
    Ok(format!("# Made by `cargo xtask generate` from core/src/api.\n{yaml}"))
}

/// The definition with its schemas as an API server should have them.
fn definition(crd: &CustomResourceDefinition) -> Result<Value> {
    let mut crd = serde_json::to_value(crd)?;
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        let schema = &mut version["schema"]["openAPIV3Schema"];
        leave_out_empty_spec(schema);
        RecursiveTransform(adapt).transform(<&mut Schema>::try_from(schema)?);
    }
    Ok(crd)
}

/// A kind of which there is only a status has no spec; kube's derive gives it one all the same.
fn leave_out_empty_spec(schema: &mut Value) {
    if schema.pointer("/properties/spec/properties").is_none()
        && let Some(schema) = schema.as_object_mut()
    {
        schema.remove("required");
        schema.get_mut("properties").and_then(Value::as_object_mut).map(|fields| fields.remove("spec"));
    }
}

/// Turns what kube and schemars make of our types into what Kubernetes knows and our files accept.
fn adapt(schema: &mut Schema) {
    schema.remove("title"); // the name of a Rust type
    forbid_null(schema);
    spell_out_format(schema);
    for bound in ["minimum", "maximum"] {
        if let Some(bound) = schema.get_mut(bound) {
            print_whole(bound);
        }
    }
}

/// An optional field may be left out; without a value it is a slip.
fn forbid_null(schema: &mut Schema) {
    schema.remove("nullable");
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// Kubernetes ignores the formats that it does not know.
fn spell_out_format(schema: &mut Schema) {
    match schema.get("format").and_then(Value::as_str) {
        Some("ip") => {
            schema.remove("format");
            schema.insert("anyOf".to_owned(), json!([{"format": "ipv4"}, {"format": "ipv6"}]));
        }
        Some("path-match") => {
            schema.remove("format");
            let expression = json!({"properties": {"type": {"enum": ["RegularExpression"]}}});
            let path = json!({"properties": {"value": {"pattern": pattern::PATH}}});
            schema.insert("anyOf".to_owned(), json!([path, expression]));
        }
        Some("uint16") => {
            schema.remove("format"); // its bounds are there
        }
        Some("uint32") => {
            schema.remove("format");
            if schema.get("maximum").is_none() {
                schema.insert("maximum".to_owned(), u32::MAX.into());
            }
        }
        _ => {}
    }
}

/// `1.0` becomes `1`.
fn print_whole(bound: &mut Value) {
    if let Some(whole) = bound.as_f64().and_then(|bound| bound.to_string().parse::<i64>().ok()) {
        *bound = whole.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_files_are_up_to_date() -> Result<()> {
        for crd in crds() {
            let file = file(&crd);
            let committed = fs::read_to_string(&file).unwrap_or_default();
            assert!(committed == manifest(&crd)?, "{} is out of date: run `cargo xtask generate`", file.display());
        }
        Ok(())
    }

    #[test]
    fn the_folder_holds_nothing_else() -> Result<()> {
        let mut expected: Vec<_> = crds().iter().map(file).collect();
        let entries: std::io::Result<Vec<_>> = fs::read_dir(folder())?.map(|entry| Ok(entry?.path())).collect();
        let mut found = entries?;
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
        Ok(())
    }

    #[test]
    fn every_schema_is_one_that_kubernetes_knows() -> Result<()> {
        for crd in crds() {
            let kind = &crd.spec.names.kind;
            let mut crd = definition(&crd)?;
            let schema = <&mut Schema>::try_from(&mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])?;
            RecursiveTransform(|schema: &mut Schema| {
                for keyword in ["nullable", "$ref", "oneOf", "title"] {
                    assert_eq!(schema.get(keyword), None, "{kind}: {keyword}");
                }
                if let Some(format) = schema.get("format") {
                    let known = ["date-time", "int32", "int64", "ipv4", "ipv6"];
                    assert!(known.iter().any(|known| format == known), "{kind}: format {format}");
                }
                if let Some(Value::Array(values)) = schema.get("enum") {
                    assert!(!values.contains(&Value::Null), "{kind}: null among {values:?}");
                }
            })
            .transform(schema);
        }
        Ok(())
    }

    /// What a member of the registry says, or a user, must not take more than others have.
    #[test]
    fn every_list_has_a_bound() -> Result<()> {
        // An API server would conclude that its rules cost too much: a rule of what holds the list bounds it.
        let bounded_by_rules = ["spec.http.rules.backendRefs.filters"];
        let mut unbounded = Vec::new();
        for crd in crds() {
            let definition = definition(&crd)?;
            for version in definition["spec"]["versions"].as_array().into_iter().flatten() {
                lists_without_bound(&version["schema"]["openAPIV3Schema"], "", &mut unbounded);
            }
        }
        assert_eq!(unbounded, bounded_by_rules, "neither maxItems nor maxProperties");
        Ok(())
    }

    fn lists_without_bound(schema: &Value, path: &str, unbounded: &mut Vec<String>) {
        let is_unbounded = match schema["type"].as_str() {
            Some("array") => schema.get("maxItems").is_none(),
            Some("object") => schema.get("additionalProperties").is_some() && schema.get("maxProperties").is_none(),
            _ => false,
        };
        if is_unbounded {
            unbounded.push(path.trim_start_matches('.').to_owned());
        }
        for part in ["items", "additionalProperties"].into_iter().filter_map(|part| schema.get(part)) {
            lists_without_bound(part, path, unbounded);
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            lists_without_bound(field, &format!("{path}.{name}"), unbounded);
        }
    }

    /// Gateway API's and RESOURCES' defaults, but for a path's value: see `PathMatch`.
    #[test]
    fn defaults_are_spelt_out() -> Result<()> {
        let rule = "/properties/http/properties/rules/items/properties";
        let table = [
            // That it is there says that rules may come from others.
            (ServiceImport::crd(), "/properties/http/properties/noMatch".to_owned(), Value::Null),
            (ServiceImport::crd(), "/properties/http/properties/noMatch/properties/status".to_owned(), json!(403)),
            (ServiceImport::crd(), format!("{rule}/backendRefs/items/properties/group"), json!("")),
            (ServiceImport::crd(), format!("{rule}/backendRefs/items/properties/kind"), json!("Service")),
            (ServiceImport::crd(), format!("{rule}/backendRefs/items/properties/weight"), json!(1)),
            (
                ServiceImport::crd(),
                format!("{rule}/matches/items/properties/path/properties/type"),
                json!("PathPrefix"),
            ),
            (ServiceImport::crd(), format!("{rule}/matches/items/properties/path/properties/value"), Value::Null),
            (
                ServiceImport::crd(),
                format!("{rule}/matches/items/properties/headers/items/properties/type"),
                json!("Exact"),
            ),
            (ServiceImport::crd(), format!("{rule}/matches"), Value::Null),
            (ExportedService::crd(), "/properties/ports/items/properties/protocol".to_owned(), json!("TCP")),
            (ExportedService::crd(), "/properties/readyPods".to_owned(), json!(0)),
        ];
        for (crd, field, default) in table {
            let crd = definition(&crd)?;
            let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
            let schema = spec.pointer(&field).with_context(|| format!("no field {field}"))?;
            assert_eq!(schema["default"], default, "{field}");
        }
        Ok(())
    }
}
