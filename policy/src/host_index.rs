//! Finds the import that has a host.

use hashbrown::HashTable;

use crate::hash::Hash;
use crate::host::{HostKind, StandardHost};
use crate::import::Import;

/// Which import has which host. Imports are numbered in the order of age; of several that claim a host
/// the oldest has it. The hosts that follow from an import's name are not stored: a request's host is
/// taken apart instead.
#[derive(Debug, Default)]
pub(crate) struct HostIndex {
    by_name: HashTable<u32>,
    bare: HashTable<Bare>,
    exact: HashTable<(Box<str>, u32)>,
    /// By suffix, the leading dot included.
    wildcard: HashTable<(Box<str>, u32)>,
}

/// A name that one namespace, or several, have an import of.
#[derive(Clone, Copy, Debug)]
struct Bare {
    oldest: u32,
    several_namespaces: bool,
}

impl HostIndex {
    /// Adds the hosts of the import with a number; `imports` holds it and all before it.
    pub(crate) fn insert(&mut self, number: u32, import: &Import, imports: &[Import]) {
        let (namespace, name) = (import.namespace(), import.name());
        if self.named(namespace, name, imports).is_none() {
            let rehash =
                |number: &u32| get(imports, *number).map_or(0, |import| name_hash(import.namespace(), import.name()));
            self.by_name.insert_unique(name_hash(namespace, name), number, rehash);
        }
        let same = |bare: &Bare| get(imports, bare.oldest).is_some_and(|import| import.name() == name);
        if let Some(bare) = self.bare.find_mut(text_hash(name), same) {
            let other = get(imports, bare.oldest).is_some_and(|import| import.namespace() != namespace);
            bare.several_namespaces |= other;
        } else {
            let rehash = |bare: &Bare| get(imports, bare.oldest).map_or(0, |import| text_hash(import.name()));
            let bare = Bare { oldest: number, several_namespaces: false };
            self.bare.insert_unique(text_hash(name), bare, rehash);
        }
        for pattern in import.hostnames() {
            let (table, text) = match pattern.kind() {
                HostKind::Exact(host) => (&mut self.exact, host),
                HostKind::Wildcard(suffix) => (&mut self.wildcard, suffix),
            };
            if claimed(table, text).is_none() {
                table.insert_unique(text_hash(text), (text.into(), number), |(text, _)| text_hash(text));
            }
        }
    }

    /// The number of the import that has a host: exact before wildcard, the longest wildcard first.
    pub(crate) fn find(&self, host: &str, imports: &[Import]) -> Option<u32> {
        let standard = StandardHost::parse(host).and_then(|host| self.standard(host, imports));
        let exact = claimed(&self.exact, host).into_iter().chain(standard).min();
        exact.or_else(|| {
            let dots = host.bytes().enumerate().skip(1).filter(|(_, byte)| *byte == b'.');
            dots.into_iter().find_map(|(at, _)| self.wildcard(host.get(at..)?))
        })
    }

    /// The number of the import that has a wildcard, by its suffix with the leading dot.
    pub(crate) fn wildcard(&self, suffix: &str) -> Option<u32> {
        claimed(&self.wildcard, suffix)
    }

    fn standard(&self, host: StandardHost<'_>, imports: &[Import]) -> Option<u32> {
        if let Some(namespace) = host.namespace {
            return host.names().filter_map(|name| self.named(namespace, name, imports)).min();
        }
        let mut oldest: Option<u32> = None;
        for name in host.names() {
            let same = |bare: &Bare| get(imports, bare.oldest).is_some_and(|import| import.name() == name);
            let Some(bare) = self.bare.find(text_hash(name), same) else { continue };
            let namespace_of = |number: u32| get(imports, number).map(Import::namespace);
            let elsewhere = oldest.is_some_and(|oldest| namespace_of(oldest) != namespace_of(bare.oldest));
            if bare.several_namespaces || elsewhere {
                return None;
            }
            oldest = oldest.into_iter().chain([bare.oldest]).min();
        }
        oldest
    }

    fn named(&self, namespace: &str, name: &str, imports: &[Import]) -> Option<u32> {
        let same = |number: &u32| {
            get(imports, *number).is_some_and(|import| import.name() == name && import.namespace() == namespace)
        };
        self.by_name.find(name_hash(namespace, name), same).copied()
    }
}

fn claimed(table: &HashTable<(Box<str>, u32)>, text: &str) -> Option<u32> {
    table.find(text_hash(text), |(claimed, _)| **claimed == *text).map(|(_, number)| *number)
}

fn name_hash(namespace: &str, name: &str) -> u64 {
    Hash::new().bytes(namespace.as_bytes()).bytes(b"/").bytes(name.as_bytes()).finish()
}

fn text_hash(text: &str) -> u64 {
    Hash::new().bytes(text.as_bytes()).finish()
}

fn get(imports: &[Import], number: u32) -> Option<&Import> {
    imports.get(usize::try_from(number).ok()?)
}
