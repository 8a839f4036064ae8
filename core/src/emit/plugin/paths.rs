//! What is measured for the imports of a configuration.
//!
//! An import names its paths by their places among its own, as others know nothing of them; a configuration has each path
//! once.

use std::borrow::Cow;

use mcwan_policy::wire::{self, Action, WanPath};

use crate::translate::Import;

/// An import with what is measured for its rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured<'i> {
    pub(super) import: &'i wire::Import,
    pub(super) paths: &'i [WanPath],
}

/// The paths of a configuration.
#[derive(Debug, Default)]
pub(super) struct Paths(Vec<WanPath>);

impl<'i> Measured<'i> {
    pub(super) fn of(import: &'i Import) -> Self {
        Self { import: &import.wire, paths: &import.paths }
    }
}

impl Paths {
    /// An import that names its paths by their places among these and more, and what is more. Of two that are the same path,
    /// what is said first holds.
    pub(super) fn with<'i>(&self, Measured { import, paths }: Measured<'i>) -> (Cow<'i, wire::Import>, Vec<WanPath>) {
        let (mut import, mut more) = (Cow::Borrowed(import), Vec::new());
        if paths.is_empty() {
            return (import, more);
        }
        let mut places = vec![None; paths.len()];
        let actions = import.to_mut().rules.iter_mut().flat_map(|rule| &mut rule.actions);
        let choices = actions.filter_map(|action| match action {
            Action::Choose(choose) => Some(choose),
            Action::Forward(_) | Action::Redirect(_) | Action::Refuse(_) => None,
        });
        let sources = choices.flat_map(|choose| &mut choose.candidates).flat_map(|candidate| &mut candidate.sources);
        for named in sources.filter_map(|source| source.path.as_mut()) {
            let own = usize::try_from(*named).ok().and_then(|own| Some((places.get_mut(own)?, paths.get(own)?)));
            let place = own.map(|(place, path)| *place.get_or_insert_with(|| self.place_of(path, &mut more)));
            // A configuration that has no such path is refused.
            *named = place.and_then(|place| place.try_into().ok()).unwrap_or(u32::MAX);
        }
        (import, more)
    }

    /// The place of a path among these and more.
    fn place_of(&self, path: &WanPath, more: &mut Vec<WanPath>) -> usize {
        let is_known = |known: &WanPath| {
            (&known.tier, &known.cluster, &known.namespace) == (&path.tier, &path.cluster, &path.namespace)
        };
        let known = self.0.iter().chain(&*more).position(is_known);
        known.unwrap_or_else(|| {
            more.push(path.clone());
            self.len() + more.len() - 1
        })
    }

    /// The bytes that more paths take in a configuration that has these.
    pub(super) fn bytes_of(&self, more: &[WanPath]) -> serde_json::Result<usize> {
        let name = if self.0.is_empty() { r#""paths":[],"#.len() } else { 0 };
        Ok(if more.is_empty() { 0 } else { name + serde_json::to_string(more)?.len() })
    }

    pub(super) fn add(&mut self, more: Vec<WanPath>) {
        self.0.extend(more);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn into_list(self) -> Vec<WanPath> {
        self.0
    }
}

/// An import of a configuration with these paths, which names those that are its own.
pub fn apart(import: &wire::Import, paths: &[WanPath]) -> (wire::Import, Vec<WanPath>) {
    let (import, own) = Paths::default().with(Measured { import, paths });
    (import.into_owned(), own)
}

#[cfg(test)]
mod tests {
    use mcwan_policy::wire::{Candidate, Choose, Import, NoMatch, Rule, Serves, Source, WhenNoneInSla};

    use super::*;

    fn mk_path(tier: &str, cluster: &str) -> WanPath {
        WanPath {
            tier: tier.to_owned(),
            cluster: cluster.to_owned(),
            namespace: "secure".to_owned(),
            latency_ms: None,
            jitter_ms: None,
            loss_ppm: None,
            interval_ms: 1_000,
            envoy_cluster: format!("{tier}-{cluster}"),
        }
    }

    /// An import that chooses between the clusters of these paths, and this one.
    fn mk_import(paths: &[Option<u32>]) -> Import {
        let sources = (0..).zip(paths).map(|(target, path)| Source { target, weight: 1, path: *path }).collect();
        let (candidates, when_none_in_sla) = (vec![Candidate { sources }], WhenNoneInSla::default());
        let choose = Action::Choose(Choose { weight: 1, path: None, candidates, when_none_in_sla });
        Import {
            namespace: "secure".to_owned(),
            name: "payment".to_owned(),
            serves: Serves::Service,
            hostnames: Vec::new(),
            no_match: NoMatch::default(),
            targets: Vec::new(),
            rules: vec![Rule { actions: vec![choose], ..Rule::default() }],
        }
    }

    #[test]
    fn an_import_is_told_apart_as_it_was() {
        let (known, own) = ([mk_path("a", "1"), mk_path("b", "1")], [mk_path("b", "1"), mk_path("b", "2")]);
        let mut paths = Paths::default();
        paths.add(known.to_vec());
        let import = mk_import(&[Some(0), None, Some(1)]);
        let (told, more) = paths.with(Measured { import: &import, paths: &own });
        assert_eq!(*told, mk_import(&[Some(1), None, Some(2)]), "it names those that all have");
        assert_eq!(more, own[1..], "and one more");
        paths.add(more);
        assert_eq!(apart(&told, &paths.into_list()), (import, own.to_vec()));
    }

    #[test]
    fn what_no_rule_names_is_not_measured() {
        let own = [mk_path("a", "1"), mk_path("b", "1")];
        let import = mk_import(&[Some(1)]);
        let (told, more) = Paths::default().with(Measured { import: &import, paths: &own });
        assert_eq!((told.into_owned(), more), (mk_import(&[Some(0)]), own[1..].to_vec()));
    }

    #[test]
    fn of_two_that_are_the_same_the_first_holds() {
        let newer = [WanPath { latency_ms: Some(50), ..mk_path("a", "1") }];
        let mut paths = Paths::default();
        paths.add(vec![mk_path("a", "1")]);
        let import = mk_import(&[Some(0)]);
        let (told, more) = paths.with(Measured { import: &import, paths: &newer });
        assert_eq!((told.into_owned(), more), (mk_import(&[Some(0)]), Vec::new()));
    }

    #[test]
    fn a_path_that_an_import_lacks_is_none_of_anothers() {
        let (own, import) = ([mk_path("a", "1")], mk_import(&[Some(1)]));
        let (told, _) = Paths::default().with(Measured { import: &import, paths: &own });
        assert_eq!(*told, mk_import(&[Some(u32::MAX)]));
    }
}
