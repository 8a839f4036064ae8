//! How many imports have which conditions.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::snapshot::change::Change;
use crate::snapshot::{Key, Snapshot};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// How many imports have which status of which condition; kept up to date by what changes, as there may be many.
#[derive(Debug, Default)]
pub(super) struct ConditionCounts {
    /// What is counted of each import: types of conditions with their statuses.
    counted: HashMap<Key, Vec<[Arc<str>; 2]>>,
    /// By type and status.
    numbers: BTreeMap<Arc<str>, BTreeMap<Arc<str>, u64>>,
}

impl ConditionCounts {
    /// Counts anew what changes concern.
    pub(super) fn update(&mut self, changes: &[Change], snapshot: &Snapshot) {
        if changes.contains(&Change::Everything) {
            *self = Self::default();
            for import in snapshot.service_imports.iter() {
                let conditions = import.status.iter().flat_map(|status| &status.conditions);
                self.count(&Key::of(&import.metadata), conditions);
            }
            return;
        }
        for change in changes {
            if let Change::Import(key) | Change::ImportStatus(key) = change {
                let import = snapshot.service_imports.get(&key.namespace, &key.name);
                let status = import.and_then(|import| import.status.as_ref());
                self.count(key, status.into_iter().flat_map(|status| &status.conditions));
            }
        }
    }

    /// How many imports have which status of which condition: its type, its status, their number.
    pub(super) fn numbers(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        let all = self.numbers.iter().flat_map(|(type_, numbers)| numbers.iter().map(move |of| (type_, of)));
        all.map(|(type_, (status, number))| (&**type_, &**status, *number))
    }

    fn count<'c>(&mut self, key: &Key, conditions: impl Iterator<Item = &'c Condition>) {
        for [type_, status] in self.counted.remove(key).into_iter().flatten() {
            self.one_less(&type_, &status);
        }
        let words: Vec<_> = conditions.map(|condition| self.one_more(&condition.type_, &condition.status)).collect();
        if !words.is_empty() {
            self.counted.insert(key.clone(), words);
        }
    }

    fn one_more(&mut self, type_: &str, status: &str) -> [Arc<str>; 2] {
        let type_ = self.numbers.get_key_value(type_).map_or_else(|| type_.into(), |(known, _)| Arc::clone(known));
        let numbers = self.numbers.entry(Arc::clone(&type_)).or_default();
        let status = numbers.get_key_value(status).map_or_else(|| status.into(), |(known, _)| Arc::clone(known));
        *numbers.entry(Arc::clone(&status)).or_default() += 1;
        [type_, status]
    }

    fn one_less(&mut self, type_: &str, status: &str) {
        let Some(numbers) = self.numbers.get_mut(type_) else { return };
        let Some(number) = numbers.get_mut(status) else { return };
        *number = number.saturating_sub(1);
        if *number == 0 {
            numbers.remove(status);
        }
        if numbers.is_empty() {
            self.numbers.remove(type_);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snapshot::change::{Input, InputKind};

    fn mk_import(name: &str, conditions: &[(&str, &str)]) -> Input {
        let condition = |(type_, status): &(&str, &str)| json!({"type": type_, "status": status, "reason": "R", "message": "", "lastTransitionTime": "2026-11-21T08:00:00Z"});
        let conditions: Vec<_> = conditions.iter().map(condition).collect();
        let import = json!({"apiVersion": "mc-wan.l7mp.io/v1alpha1", "kind": "ServiceImport",
            "metadata": {"namespace": "a", "name": name}, "spec": {}, "status": {"conditions": conditions}});
        Input::ServiceImport(serde_json::from_value(import).unwrap())
    }

    fn numbers(counts: &ConditionCounts) -> Vec<(&str, &str, u64)> {
        counts.numbers().collect()
    }

    #[test]
    fn what_changes_is_counted_as_everything_would_be() {
        let (mut snapshot, mut counts) = (Snapshot::default(), ConditionCounts::default());
        let steps = [
            snapshot_step(mk_import("x", &[("Accepted", "True"), ("Programmed", "False")])),
            snapshot_step(mk_import("y", &[("Accepted", "True")])),
            snapshot_step(mk_import("x", &[("Accepted", "True"), ("Programmed", "True")])),
            snapshot_step(mk_import("y", &[])),
            Box::new(|snapshot: &mut Snapshot| snapshot.remove(InputKind::ServiceImport, &Key::new("a", "x"))),
        ];
        let expected: [&[(&str, &str, u64)]; 5] = [
            &[("Accepted", "True", 1), ("Programmed", "False", 1)],
            &[("Accepted", "True", 2), ("Programmed", "False", 1)],
            &[("Accepted", "True", 2), ("Programmed", "True", 1)],
            &[("Accepted", "True", 1), ("Programmed", "True", 1)],
            &[],
        ];
        for (step, expected) in steps.into_iter().zip(expected) {
            let changes = step(&mut snapshot);
            counts.update(&changes, &snapshot);
            assert_eq!(numbers(&counts), expected);
            let mut anew = ConditionCounts::default();
            anew.update(&[Change::Everything], &snapshot);
            assert_eq!(numbers(&anew), expected);
        }
        assert!(counts.counted.is_empty());
    }

    type Step = Box<dyn FnOnce(&mut Snapshot) -> Vec<Change>>;

    fn snapshot_step(input: Input) -> Step {
        Box::new(move |snapshot| snapshot.put(input))
    }
}
