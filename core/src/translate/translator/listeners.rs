//! Which ports of imports a Gateway has listeners for.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcwan_policy::listener_port;

use super::{Affected, Translator};
use crate::api::limits;
use crate::translate::Import;

impl Translator {
    /// Says of the imports of a namespace which ports no listener is left for. Whoever applies their rules, they have as
    /// many as one Gateway together: which of its gateways serves an import is no part of what the import means.
    pub(super) fn allot_listeners(&mut self, namespace: &str, affected: &mut Affected) {
        let of = |import: &Arc<Import>| import.ports.iter().copied().map(listener_port).collect::<BTreeSet<_>>();
        let all: BTreeSet<u16> = self.imports.in_namespace(namespace).flat_map(of).collect();
        let is_all_served = self.imports.in_namespace(namespace).all(|import| import.unserved.is_empty());
        if is_all_served && all.len() <= limits::PORTS {
            return;
        }
        let mut listeners = BTreeSet::new();
        let mut changed = Vec::new();
        for import in self.imports_of(namespace) {
            let mut unserved = BTreeSet::new();
            for port in &import.ports {
                if listeners.len() < limits::PORTS || listeners.contains(&listener_port(*port)) {
                    listeners.insert(listener_port(*port));
                } else {
                    unserved.insert(*port);
                }
            }
            if unserved != import.unserved {
                changed.push((import.key.clone(), unserved));
            }
        }
        for (key, unserved) in changed {
            if let Some(import) = self.imports.get_mut(&key.namespace, &key.name) {
                Arc::make_mut(import).unserved = unserved;
            }
            affected.import(key);
        }
    }
}
