//! Who sees an import: clients of its own namespace, or those of another one by rules of theirs; and what is no service's.
//!
//! Each view has a key of its own, by which everything that is made for it is known: the namespace of the gateway that
//! serves it, and the import's name; in another namespace `payment.secure`, as the name of no Service has a dot. What the
//! `Route`s of a namespace ask for together has the name of their API group, which has two.

use super::Key;
use crate::kind::OPENSHIFT_ROUTE;

/// The key of an import as the gateways of a namespace see it.
pub fn view(gateway: &str, import: &Key) -> Key {
    if *gateway == *import.namespace {
        return import.clone();
    }
    Key::new(gateway, format!("{}.{}", import.name, import.namespace))
}

/// The import that a view is of.
pub fn viewed(view: &Key) -> Key {
    match view.name.split_once('.') {
        Some((name, namespace)) if !is_of_hosts(view) => Key::new(namespace, name),
        _ => view.clone(),
    }
}

/// Whether a key is that of a view from another namespace.
pub fn is_from_elsewhere(view: &Key) -> bool {
    view.name.contains('.') && !is_of_hosts(view)
}

/// The key of what the `Route`s of a namespace ask for.
pub fn of_hosts(namespace: &str) -> Key {
    Key::new(namespace, OPENSHIFT_ROUTE.group)
}

/// Whether a key is that of what the `Route`s of a namespace ask for.
pub fn is_of_hosts(key: &Key) -> bool {
    *key.name == *OPENSHIFT_ROUTE.group
}
