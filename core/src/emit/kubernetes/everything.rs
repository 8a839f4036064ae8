//! All objects at once, for those who have no API server to keep up to date.

use std::collections::BTreeSet;

use crate::emit::claims::Claims;
use crate::emit::object::Object;
use crate::problem::Problem;
use crate::snapshot::Snapshot;
use crate::translate::{Import, Translator};

use super::egress::egress_objects;
use super::{
    ImportVersions, Places, Settings, cluster_object, common_objects, export_objects, ingress_objects, missing_grants,
};

/// The objects of everything that was translated, in the order in which they are created, and what is wrong beside
/// what the translation found.
pub fn everything(translator: &Translator, snapshot: &Snapshot, settings: &Settings) -> (Vec<Object>, Vec<Problem>) {
    let (mut objects, mut problems) = (common_objects(), Vec::new());
    let mut claims = Claims::default();
    let mut imports: Vec<_> = translator.imports().values().collect();
    imports.sort_by(|left, right| left.precedence().cmp(&right.precedence()));
    for import in imports {
        let (mut made, found) = ImportVersions::of(import).objects(settings, &mut Places::new()).into_all();
        problems.extend(claims.claim(&import.object, &import.object, &mut made));
        objects.extend(made);
        problems.extend(found);
        problems.extend(missing_grants(import, &snapshot.reference_grants));
    }
    for namespace in translator.imports().namespaces() {
        let imports = translator.imports_of(namespace);
        let imports: Vec<&Import> = imports.iter().map(|import| &***import).collect();
        let (made, found) = egress_objects(namespace, &imports, settings, translator.steering_key());
        objects.extend(made);
        problems.extend(found);
    }
    let mut exporting = BTreeSet::new();
    for export in translator.outgoing().values().filter(|export| export.is_exported()) {
        let mut made = export_objects(export, settings);
        problems.extend(claims.claim(&export.object, &export.object, &mut made));
        objects.extend(made);
        exporting.insert(&*export.key.namespace);
    }
    for namespace in exporting {
        let admitted = translator.admitted(snapshot, namespace);
        let (made, found) = ingress_objects(namespace, translator.exports().tier_ports(), &admitted, settings);
        objects.extend(made);
        problems.extend(found);
    }
    problems.extend(translator.cluster_problems(snapshot));
    objects.extend(cluster_object(&translator.cluster(snapshot), settings));
    objects.sort_by(|left, right| left.id.cmp(&right.id));
    (objects, problems)
}
