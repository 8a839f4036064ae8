//! Finds the import that has a host.

use crate::arena::Arena;
use crate::hash::Hash;
use crate::host::{HostKind, HostPattern, StandardHost};
use crate::index::Index;
use crate::limits;
use crate::store::{Import, Store};

/// Which import has which host. Imports are numbered in the order of age; of several that claim a host
/// the oldest has it. The hosts that follow from an import's name are not stored: a request's host is
/// taken apart instead.
#[derive(Debug, Default)]
pub(crate) struct HostIndex {
    /// Imports by namespace and name.
    by_full_name: Index,
    /// The oldest import of each name.
    by_name: Index,
    /// By the number of the oldest import of a name: whether another namespace has one too.
    in_several_namespaces: Arena<bool>,
    /// The hostnames of all imports, and which import each belongs to.
    hostnames: Arena<(HostPattern, u32)>,
    by_hostname: Index,
}

impl HostIndex {
    /// Finds the hosts of every import of a store.
    pub(crate) fn new(imports: &Store) -> Self {
        let mut hostnames = Arena::default();
        for import in imports.iter() {
            hostnames.extend(import.hostnames().iter().map(|pattern| (pattern.clone(), import.number())));
        }
        let import = |number| imports.import(number);
        let standard = |number| import(number).filter(|import| import.has_standard_hosts());
        let pattern = |number| hostnames.get(number).map(|(pattern, _): &(HostPattern, u32)| pattern.kind());
        let by_full_name = Index::new(
            imports.len(),
            &|number| standard(number).map(|import| full_name_hash(import.namespace(), import.name())),
            &mut |new, old| import(new).map(Import::full_name) == import(old).map(Import::full_name),
        );
        let mut in_several_namespaces = Arena::default();
        in_several_namespaces.extend(imports.iter().map(|_| false));
        let by_name = Index::new(
            imports.len(),
            &|number| import(number).filter(|import| import.has_bare_name()).map(|import| name_hash(import.name())),
            &mut |new, old| {
                let (new, oldest) = (import(new), import(old));
                let known = new.map(Import::name) == oldest.map(Import::name);
                if known
                    && new.map(Import::namespace) != oldest.map(Import::namespace)
                    && let Some(several) = in_several_namespaces.get_mut(old)
                {
                    *several = true;
                }
                known
            },
        );
        let by_hostname = Index::new(
            hostnames.len(),
            &|number| pattern(number).map(|pattern| hostname_hash(&pattern)),
            &mut |new, old| pattern(new) == pattern(old),
        );
        Self { by_full_name, by_name, in_several_namespaces, hostnames, by_hostname }
    }

    /// The number of the import that has a host: exact before wildcard, the longest wildcard first.
    pub(crate) fn find(&self, host: &str, imports: &Store) -> Option<u32> {
        if host.len() > limits::HOST_BYTES {
            // Nobody can have it, and each of its dots would cost a look at all that follows.
            return None;
        }
        let standard = StandardHost::parse(host).and_then(|host| self.standard(host, imports));
        let exact = self.hostname(&HostKind::Exact(host)).into_iter().chain(standard).min();
        exact.or_else(|| {
            let mut dots = host.bytes().enumerate().skip(1).filter(|(_, byte)| *byte == b'.');
            dots.find_map(|(at, _)| self.hostname(&HostKind::Wildcard(host.get(at..)?)))
        })
    }

    /// The number of the import that has what a pattern stands for.
    pub(crate) fn owner(&self, pattern: &HostPattern, imports: &Store) -> Option<u32> {
        match pattern.kind() {
            HostKind::Exact(host) => self.find(host, imports),
            wildcard @ HostKind::Wildcard(_) => self.hostname(&wildcard),
        }
    }

    /// The oldest import with a hostname.
    fn hostname(&self, asked: &HostKind<'_>) -> Option<u32> {
        if self.hostnames.len() == 0 {
            return None;
        }
        let candidates = self.by_hostname.candidates(hostname_hash(asked));
        let mut hostnames = candidates.filter_map(|number| self.hostnames.get(number));
        hostnames.find(|(pattern, _)| pattern.kind() == *asked).map(|(_, import)| *import)
    }

    /// The import that has a host by its name. A bare name that imports of several namespaces would have
    /// is nobody's.
    fn standard(&self, host: StandardHost<'_>, imports: &Store) -> Option<u32> {
        if let Some(namespace) = host.namespace {
            return host.names().filter_map(|name| self.full_name(namespace, name, imports)).min();
        }
        let mut claims = host.names().filter_map(|name| {
            let mut candidates = self.by_name.candidates(name_hash(name)).filter_map(|number| imports.import(number));
            candidates.find(|import| import.name() == name)
        });
        let first = claims.next()?;
        let alone = |import: Import<'_>| {
            let several = self.in_several_namespaces.get(import.number()) == Some(&true);
            !several && import.namespace() == first.namespace()
        };
        let oldest = alone(first).then(|| first.number())?;
        claims.try_fold(oldest, |oldest, import| alone(import).then(|| oldest.min(import.number())))
    }

    /// The oldest import of a namespace and name.
    fn full_name(&self, namespace: &str, name: &str, imports: &Store) -> Option<u32> {
        let candidates = self.by_full_name.candidates(full_name_hash(namespace, name));
        let mut imports = candidates.filter_map(|number| imports.import(number));
        imports.find(|import| import.name() == name && import.namespace() == namespace).map(Import::number)
    }
}

fn full_name_hash(namespace: &str, name: &str) -> u64 {
    Hash::new().bytes(namespace.as_bytes()).bytes(b"/").bytes(name.as_bytes()).finish()
}

fn name_hash(name: &str) -> u64 {
    Hash::new().bytes(name.as_bytes()).finish()
}

fn hostname_hash(hostname: &HostKind<'_>) -> u64 {
    match hostname {
        HostKind::Exact(host) => Hash::new().bytes(host.as_bytes()).finish(),
        HostKind::Wildcard(suffix) => Hash::new().bytes(b"*").bytes(suffix.as_bytes()).finish(),
    }
}
