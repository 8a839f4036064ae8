//! All objects at once, for those who have no API server to keep up to date.

use std::collections::BTreeSet;

use crate::emit::object::{Object, ObjectId};
use crate::problem::{ObjectRef, Problem, Reason};
use crate::snapshot::Snapshot;
use crate::translate::{Import, Translator};

use super::egress::egress_objects;
use super::{
    ImportVersions, Places, Settings, cluster_object, clusterset_object, common_objects, connection_objects,
    export_objects, ingress_objects, slice_objects,
};

/// The objects of everything that was translated, in the order in which they are created, and what is wrong beside
/// what the translation found.
pub fn everything(translator: &Translator, snapshot: &Snapshot, settings: &Settings) -> (Vec<Object>, Vec<Problem>) {
    let (mut objects, mut problems) = (common_objects(), Vec::new());
    let mut made_of = BTreeSet::new();
    let mut imports: Vec<_> = translator.imports().values().collect();
    imports.sort_by(|left, right| left.precedence().cmp(&right.precedence()));
    for import in imports {
        let (mut made, found) = ImportVersions::of(import).objects(settings, &mut Places::new()).into_all();
        made.extend(clusterset_object(import, settings));
        made.extend(slice_objects(&import.key, translator, snapshot, settings));
        problems.extend(claim(&mut made_of, &import.object, &mut made));
        objects.extend(made);
        problems.extend(found);
    }
    for namespace in translator.imports().namespaces() {
        let imports = translator.imports_of(namespace);
        let imports: Vec<&Import> = imports.iter().map(|import| &***import).collect();
        let (made, found) = egress_objects(namespace, &imports, settings, translator.steering_key());
        objects.extend(made);
        problems.extend(found);
    }
    let mut exporting = BTreeSet::new();
    for export in translator.local_exports().values().filter(|export| export.is_exported()) {
        let mut made = export_objects(export, settings);
        problems.extend(claim(&mut made_of, &export.object, &mut made));
        objects.extend(made);
        exporting.insert(&*export.key.namespace);
    }
    for namespace in exporting {
        let admitted = translator.admitted(snapshot, namespace);
        let (made, found) = ingress_objects(namespace, translator.exports().tier_ports(), &admitted, settings);
        objects.extend(made);
        problems.extend(found);
    }
    problems.extend(translator.cluster_problems(snapshot, &translator.callers()));
    objects.extend(cluster_object(&translator.cluster(snapshot, &translator.callers()), settings));
    objects.extend(connection_objects(translator.exports(), settings));
    objects.sort_by(|left, right| left.id.cmp(&right.id));
    (objects, problems)
}

/// Takes out of `objects`, which `subject` is made of, those that something before it is made of: the first has them, as in
/// the rollout. Each that is taken out is a problem.
fn claim(made_of: &mut BTreeSet<ObjectId>, subject: &ObjectRef, objects: &mut Vec<Object>) -> Vec<Problem> {
    let refused = objects.extract_if(.., |object| !made_of.insert(object.id.clone()));
    let problems = refused.map(|Object { id: ObjectId { kind, key }, .. }| {
        let message = format!("{} {key} is already made of something else, and is not made of this", kind.title());
        Problem::error(subject.clone(), Reason::Conflict, message).hint("rename one of the two")
    });
    problems.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::emit::object::Kind;
    use crate::snapshot::Key;

    #[test]
    fn of_two_that_are_made_of_one_object_the_later_is_refused() {
        let mk = |names: &[&str]| -> Vec<Object> {
            let id = |name: &&str| ObjectId { kind: Kind::Service, key: Key::new("mc-wan", *name) };
            names.iter().map(|name| Object { id: id(name), body: Value::Null }).collect()
        };
        let [one, two] = ["one", "two"].map(|name| ObjectRef::namespaced("ServiceImport", "secure", name));
        let (mut first, mut second, mut made_of) = (mk(&["a", "b"]), mk(&["b", "c"]), BTreeSet::new());
        assert_eq!(claim(&mut made_of, &one, &mut first), []);
        let problems = claim(&mut made_of, &two, &mut second);
        assert_eq!((first, second), (mk(&["a", "b"]), mk(&["c"])), "the first has all, the second what is left");
        let [Problem { reason: Reason::Conflict, object, message, .. }] = &problems[..] else { panic!("{problems:?}") };
        assert_eq!(object, &two);
        assert!(message.starts_with("Service mc-wan/b "), "{message}");
    }
}
