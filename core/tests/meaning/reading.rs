//! What is read of a `ServiceImport`, and what of one that cannot be read.

use mcwan_core::problem::{Reason, Severity};
use mcwan_core::snapshot::change::{Change, Input, InputKind};
use mcwan_core::snapshot::{Gathered, Snapshot, input};
use mcwan_core::translate::Translator;
use serde_json::json;

use crate::translator::{mk, mk_options};

#[test]
fn one_that_cannot_be_read_is_there_and_keeps_its_hosts() {
    let spec = json!({"hostnames": ["pay.example.com"], "http": {"rules": [{"matches": "all"}]}});
    let import = input::read(InputKind::ServiceImport, &mk("ServiceImport", "c", "a", &spec)).unwrap();
    assert!(matches!(import, Input::UnreadableImport(_)));
    let mut snapshot = Snapshot::default();
    snapshot.put(import);
    let mut translator = Translator::new(mk_options());
    translator.update(&snapshot, &[Change::Everything]);
    let import = translator.imports().get("c", "a").unwrap();
    assert_eq!((&*import.wire.hostnames, import.wire.rules.len()), (&["pay.example.com".to_owned()][..], 0));
}

#[test]
fn two_rules_of_one_name_hold() {
    let spec = json!({"http": {"rules": [{"name": "twice"}, {"name": "twice"}]}});
    let object = mk("ServiceImport", "c", "a", &spec);
    assert!(matches!(input::read(InputKind::ServiceImport, &object), Ok(Input::ServiceImport(_))));
    let gathered = Gathered::from_text("import.yaml", &object.to_string());
    let found: Vec<_> = gathered.findings.iter().map(|finding| (finding.severity, finding.reason)).collect();
    assert_eq!(found, [(Severity::Warning, Reason::Duplicate)]);
    assert!(gathered.snapshot.service_imports.get("c", "a").is_some(), "else what it forbids would be open");
}
