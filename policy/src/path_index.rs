//! Finds the alternatives whose path matches a request's, without a look at the others.

use crate::arena::{Arena, Span, Text, Texts};
use crate::hash::Hash;
use crate::index::Index;
use crate::path::RequestPath;
use crate::rule::Alternative;

/// The exact paths and path prefixes of every import of a table.
#[derive(Debug, Default)]
pub(crate) struct PathIndex {
    texts: Texts,
    alternatives: Arena<Alternative>,
    groups: Arena<Group>,
    index: Index,
}

/// The alternatives of one import that ask for one path.
#[derive(Debug)]
struct Group {
    import: u32,
    kind: PathKind,
    path: Text,
    /// The highest rank first.
    alternatives: Span,
}

/// How alternatives that are found by a path ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathKind {
    Exact,
    /// The path has no trailing `/`.
    Prefix,
    /// The path has none either, but a request's goes on with one.
    RawPrefix,
}

/// An alternative that matches, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'t> {
    pub(crate) alternative: &'t Alternative,
    /// Bytes of the path that its prefix took; 0 where it matches otherwise.
    pub(crate) prefix: usize,
}

impl PathKind {
    fn matches(self, asked: &str, path: RequestPath<'_>) -> bool {
        match self {
            Self::Exact => asked.as_bytes() == path.path,
            Self::RawPrefix => path.path.strip_prefix(asked.as_bytes()).is_some_and(|rest| rest.starts_with(b"/")),
            Self::Prefix => {
                path.path.starts_with(asked.as_bytes()) && path.boundaries().any(|boundary| boundary == asked.len())
            }
        }
    }

    /// The hash of a path of this kind, by the hash of import and path.
    fn hash(self, path: Hash) -> u64 {
        match self {
            Self::Exact => path.bytes(b"=").finish(),
            Self::Prefix | Self::RawPrefix => path.bytes(b"*").finish(),
        }
    }
}

impl PathIndex {
    /// Adds the alternatives of an import that ask for one path, the highest rank first; found once
    /// [`PathIndex::index`] was called. None beyond what a configuration can hold.
    pub(crate) fn add(
        &mut self,
        import: u32,
        kind: PathKind,
        path: &str,
        alternatives: impl IntoIterator<Item = Alternative>,
    ) -> Option<()> {
        let path = self.texts.add(path)?;
        let alternatives = self.alternatives.extend(alternatives);
        self.groups.push(Group { import, kind, path, alternatives });
        Some(())
    }

    /// Makes everything that was added found.
    pub(crate) fn index(&mut self) {
        let hash = |group: &Group| {
            let path = self.texts.get(group.path).as_bytes();
            group.kind.hash(Hash::new().number(group.import).bytes(path))
        };
        let hash = |number| self.groups.get(number).map(hash);
        self.index = Index::new(self.groups.len(), &hash, &mut |_, _| false); // an import's groups differ
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
            let [by_element, raw] = self.prefixes(import, hash, start);
            let raw = raw.filter(|_| boundary < path.path.len());
            prefixes.extend(by_element.into_iter().chain(raw).map(|group| (group, boundary)));
        }
        let whole = hashed == path.path.len();
        let exact = if whole { self.exact(import, hash, path.path) } else { None };
        let by_rank = exact.map(|group| (group, 0)).into_iter().chain(prefixes.into_iter().rev());
        for (group, prefix) in by_rank {
            for alternative in self.alternatives.iter(group.alternatives) {
                if accept(alternative)? {
                    return Ok(Some(Found { alternative, prefix }));
                }
            }
        }
        Ok(None)
    }

    /// Every alternative of an import that is found by its path, and whether that matches; by a scan.
    pub(crate) fn all<'t>(
        &'t self,
        import: u32,
        path: RequestPath<'_>,
    ) -> impl Iterator<Item = (&'t Alternative, bool)> {
        let groups = (0..self.groups.len()).filter_map(|number| self.groups.get(number));
        groups.filter(move |group| group.import == import).flat_map(move |group| {
            let on_path = group.kind.matches(self.texts.get(group.path), path);
            self.alternatives.iter(group.alternatives).map(move |alternative| (alternative, on_path))
        })
    }

    fn exact(&self, import: u32, hash: Hash, path: &[u8]) -> Option<&Group> {
        self.lookup(import, hash, PathKind::Exact, path).find(|group| group.kind == PathKind::Exact)
    }

    /// The two groups that ask for a prefix: by element, and raw. One walk finds both.
    fn prefixes(&self, import: u32, hash: Hash, path: &[u8]) -> [Option<&Group>; 2] {
        let mut found = [None, None];
        for group in self.lookup(import, hash, PathKind::Prefix, path) {
            match group.kind {
                PathKind::Prefix => found[0] = Some(group),
                PathKind::RawPrefix => found[1] = Some(group),
                PathKind::Exact => {}
            }
        }
        found
    }

    /// The groups of an import that ask for a path, of every kind that has the hash of this one.
    fn lookup(&self, import: u32, hash: Hash, kind: PathKind, path: &[u8]) -> impl Iterator<Item = &Group> {
        let candidates = self.index.candidates(kind.hash(hash)).filter_map(|number| self.groups.get(number));
        candidates.filter(move |group| group.import == import && self.texts.get(group.path).as_bytes() == path)
    }
}
