//! Finds the import that has a host.

use hashbrown::HashTable;

use crate::hash::Hash;
use crate::host::{HostKind, HostPattern, StandardHost};
use crate::path_index::with_capacity;
use crate::store::{Import, Store};

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
    /// Finds the hosts of every import.
    pub(crate) fn new(imports: &Store) -> Self {
        let mut index = Self {
            by_name: with_capacity(imports.len()),
            bare: with_capacity(imports.len()),
            exact: HashTable::new(),
            wildcard: HashTable::new(),
        };
        for import in imports.iter() {
            index.insert(import, imports);
        }
        index
    }

    fn insert(&mut self, import: Import<'_>, imports: &Store) {
        let (number, namespace, name) = (import.number(), import.namespace(), import.name());
        if self.named(namespace, name, imports).is_none() {
            let rehash =
                |number: &u32| imports.import(*number).map_or(0, |import| name_hash(import.namespace(), import.name()));
            self.by_name.insert_unique(name_hash(namespace, name), number, rehash);
        }
        let same = |bare: &Bare| imports.import(bare.oldest).is_some_and(|import| import.name() == name);
        if let Some(bare) = self.bare.find_mut(text_hash(name), same) {
            bare.several_namespaces |=
                imports.import(bare.oldest).is_some_and(|import| import.namespace() != namespace);
        } else {
            let rehash = |bare: &Bare| imports.import(bare.oldest).map_or(0, |import| text_hash(import.name()));
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
    pub(crate) fn find(&self, host: &str, imports: &Store) -> Option<u32> {
        let standard = StandardHost::parse(host).and_then(|host| self.standard(host, imports));
        let exact = claimed(&self.exact, host).into_iter().chain(standard).min();
        exact.or_else(|| {
            let mut dots = host.bytes().enumerate().skip(1).filter(|(_, byte)| *byte == b'.');
            dots.find_map(|(at, _)| claimed(&self.wildcard, host.get(at..)?))
        })
    }

    /// The number of the import that has what a pattern stands for.
    pub(crate) fn owner(&self, pattern: &HostPattern, imports: &Store) -> Option<u32> {
        match pattern.kind() {
            HostKind::Exact(host) => self.find(host, imports),
            HostKind::Wildcard(suffix) => claimed(&self.wildcard, suffix),
        }
    }

    fn standard(&self, host: StandardHost<'_>, imports: &Store) -> Option<u32> {
        if let Some(namespace) = host.namespace {
            return host.names().filter_map(|name| self.named(namespace, name, imports)).min();
        }
        let mut oldest: Option<u32> = None;
        for name in host.names() {
            let same = |bare: &Bare| imports.import(bare.oldest).is_some_and(|import| import.name() == name);
            let Some(bare) = self.bare.find(text_hash(name), same) else { continue };
            let namespace_of = |number: u32| imports.import(number).map(Import::namespace);
            let elsewhere = oldest.is_some_and(|oldest| namespace_of(oldest) != namespace_of(bare.oldest));
            if bare.several_namespaces || elsewhere {
                return None;
            }
            oldest = oldest.into_iter().chain([bare.oldest]).min();
        }
        oldest
    }

    fn named(&self, namespace: &str, name: &str, imports: &Store) -> Option<u32> {
        let same = |number: &u32| {
            imports.import(*number).is_some_and(|import| import.name() == name && import.namespace() == namespace)
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
