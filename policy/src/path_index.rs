//! Finds the alternatives whose path matches a request's, without a look at the others.

use hashbrown::HashTable;

use crate::hash::Hash;
use crate::path::RequestPath;
use crate::rule::Alternative;

/// The exact paths and path prefixes of every import of a table.
#[derive(Debug, Default)]
pub(crate) struct PathIndex {
    groups: Vec<Group>,
    table: HashTable<u32>,
}

/// The alternatives of one import that ask for one path.
#[derive(Debug)]
pub(crate) struct Group {
    import: u32,
    key: PathKey,
    /// The highest rank first.
    pub(crate) alternatives: Box<[Alternative]>,
}

/// A path that alternatives ask for; the order is only there to group by.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathKey {
    Exact(Box<str>),
    /// Without a trailing `/`.
    Prefix(Box<str>),
}

/// An alternative that matches, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'t> {
    pub(crate) alternative: &'t Alternative,
    /// Bytes of the path that its prefix took; 0 where it matches otherwise.
    pub(crate) prefix: usize,
}

impl PathKey {
    pub(crate) fn matches(&self, path: RequestPath<'_>) -> bool {
        match self {
            Self::Exact(exact) => exact.as_bytes() == path.path,
            Self::Prefix(prefix) => {
                path.path.starts_with(prefix.as_bytes()) && path.boundaries().any(|boundary| boundary == prefix.len())
            }
        }
    }

    fn hash(&self, import: u32) -> u64 {
        match self {
            Self::Exact(path) => exact_hash(Hash::new().number(import).bytes(path.as_bytes())),
            Self::Prefix(path) => prefix_hash(Hash::new().number(import).bytes(path.as_bytes())),
        }
    }
}

fn exact_hash(path: Hash) -> u64 {
    path.bytes(b"=").finish()
}

fn prefix_hash(path: Hash) -> u64 {
    path.bytes(b"*").finish()
}

impl PathIndex {
    /// Adds the alternatives of an import that ask for one path, the highest rank first.
    pub(crate) fn insert(&mut self, import: u32, key: PathKey, alternatives: Box<[Alternative]>) {
        let hash = key.hash(import);
        let Ok(index) = u32::try_from(self.groups.len()) else {
            return; // beyond what the bounds of a configuration admit
        };
        self.groups.push(Group { import, key, alternatives });
        let groups = &self.groups;
        let rehash = |index: &u32| group(groups, *index).map_or(0, |group| group.key.hash(group.import));
        self.table.insert_unique(hash, index, rehash);
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.groups.shrink_to_fit();
    }

    /// The highest-ranked alternative of an import whose path matches and that `accept` takes.
    pub(crate) fn find<E>(
        &self,
        import: u32,
        path: RequestPath<'_>,
        mut accept: impl FnMut(&Alternative) -> Result<bool, E>,
    ) -> Result<Option<Found<'_>>, E> {
        let mut hash = Hash::new().number(import);
        let mut hashed = 0;
        let mut prefixes = Vec::new();
        for boundary in path.boundaries() {
            hash = hash.bytes(path.path.get(hashed..boundary).unwrap_or_default());
            hashed = boundary;
            let start = path.path.get(..boundary).unwrap_or_default();
            let same = |key: &PathKey| matches!(key, PathKey::Prefix(prefix) if prefix.as_bytes() == start);
            prefixes.extend(self.lookup(import, prefix_hash(hash), same).map(|group| (group, boundary)));
        }
        let same = |key: &PathKey| matches!(key, PathKey::Exact(exact) if exact.as_bytes() == path.path);
        let exact = self.lookup(import, exact_hash(hash), same).filter(|_| hashed == path.path.len());
        let by_rank = exact.map(|group| (group, 0)).into_iter().chain(prefixes.into_iter().rev());
        for (group, prefix) in by_rank {
            for alternative in &group.alternatives {
                if accept(alternative)? {
                    return Ok(Some(Found { alternative, prefix }));
                }
            }
        }
        Ok(None)
    }

    /// Every group of an import, by a scan.
    pub(crate) fn groups(&self, import: u32) -> impl Iterator<Item = (&PathKey, &[Alternative])> {
        let own = self.groups.iter().filter(move |group| group.import == import);
        own.map(|group| (&group.key, &*group.alternatives))
    }

    fn lookup(&self, import: u32, hash: u64, same: impl Fn(&PathKey) -> bool) -> Option<&Group> {
        let same =
            |index: &u32| group(&self.groups, *index).is_some_and(|group| group.import == import && same(&group.key));
        self.table.find(hash, same).and_then(|index| group(&self.groups, *index))
    }
}

fn group(groups: &[Group], index: u32) -> Option<&Group> {
    groups.get(usize::try_from(index).ok()?)
}
