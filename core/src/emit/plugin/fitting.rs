//! What fits the configuration of one gateway.

use std::borrow::Cow;
use std::collections::BTreeMap;

use mcwan_policy::{Budget, Excess, limits, wire};

use super::paths::{Measured, Paths};

/// The imports of a gateway as its filter is told of them.
#[derive(Debug, Default)]
pub(super) struct Fitting<'i> {
    /// The imports; the youngest are left out where not even the hosts of all fit.
    pub(super) imports: Vec<Cow<'i, wire::Import>>,
    /// What is measured for them.
    pub(super) paths: Paths,
    /// Those that are too large, by their place.
    pub(super) too_large: BTreeMap<usize, Excess>,
}

/// An import, and the bytes that it takes whole and refused.
struct Candidate<'i> {
    measured: Measured<'i>,
    whole: usize,
    refused: usize,
}

impl<'i> Fitting<'i> {
    /// All imports as they are.
    pub(super) fn everything(imports: &[Measured<'i>]) -> Self {
        let mut fitting = Self::default();
        for measured in imports {
            let (import, more) = fitting.paths.with(*measured);
            fitting.paths.add(more);
            fitting.imports.push(import);
        }
        fitting
    }

    /// What fits so many bytes, the older import before the younger. Room is kept for the hosts of all: an import that
    /// does not fit answers 500.
    pub(super) fn within(imports: &[Measured<'i>], bytes: usize) -> serde_json::Result<Self> {
        let candidates = imports.iter().take(limits::IMPORTS).map(|measured| Candidate::new(*measured));
        let mut candidates = candidates.collect::<serde_json::Result<Vec<_>>>()?;
        let mut used = 0;
        let present = candidates.iter().take_while(|candidate| {
            used += candidate.least();
            used <= bytes
        });
        candidates.truncate(present.count());
        let mut used: usize = candidates.iter().map(Candidate::least).sum();
        let (mut fitting, mut budget) = (Self::default(), Budget::default());
        for (place, candidate) in candidates.iter().enumerate() {
            used -= candidate.least();
            let (import, more) = match candidate.take(bytes, used, &mut budget, &mut fitting.paths)? {
                Ok(taken) => taken,
                Err(excess) => {
                    fitting.too_large.insert(place, excess);
                    (Cow::Owned(candidate.measured.import.too_large()), candidate.refused)
                }
            };
            used += more;
            if used > bytes {
                break;
            }
            fitting.imports.push(import);
        }
        for place in fitting.imports.len()..imports.len() {
            fitting.too_large.entry(place).or_insert(Excess::Together);
        }
        Ok(fitting)
    }
}

impl<'i> Candidate<'i> {
    fn new(measured: Measured<'i>) -> serde_json::Result<Self> {
        let Measured { import, .. } = measured;
        Ok(Self { measured, whole: bytes_of(import)?, refused: bytes_of(&import.too_large())? })
    }

    /// What it takes at the least: a few rules are shorter than a refusal.
    fn least(&self) -> usize {
        self.whole.min(self.refused)
    }

    /// Takes what it needs whole, of so many bytes, some of which are used. Gives how many it needs.
    fn take(
        &self,
        bytes: usize,
        used: usize,
        budget: &mut Budget,
        paths: &mut Paths,
    ) -> serde_json::Result<Result<(Cow<'i, wire::Import>, usize), Excess>> {
        let (import, more) = paths.with(self.measured);
        let whole = bytes_of(&import)? + paths.bytes_of(&more)?;
        if whole > bytes {
            return Ok(Err(Excess::Alone));
        }
        if used + whole > bytes || paths.len() + more.len() > limits::PATHS {
            return Ok(Err(Excess::Together));
        }
        let taken = budget.take(&import).map(|()| (import, whole));
        if taken.is_ok() {
            paths.add(more);
        }
        Ok(taken)
    }
}

/// The bytes of an import, with the comma behind it.
fn bytes_of(import: &wire::Import) -> serde_json::Result<usize> {
    serde_json::to_string(import).map(|json| json.len() + 1)
}

#[cfg(test)]
mod tests {
    use mcwan_policy::wire::{Import, Match, PathMatch, Rule};
    use proptest::prelude::*;

    use super::*;

    /// An import with these rules.
    fn mk_import(name: &str, rules: Vec<Rule>) -> Import {
        let (namespace, name) = ("secure".to_owned(), name.to_owned());
        Import {
            namespace,
            name,
            serves: wire::Serves::Service,
            hostnames: Vec::new(),
            no_match: wire::NoMatch::default(),
            targets: Vec::new(),
            rules,
        }
    }

    fn mk_rule(path: PathMatch) -> Rule {
        Rule { matches: vec![Match { path: Some(path), ..Match::default() }], ..Rule::default() }
    }

    /// An import of about so many kilobytes.
    fn mk_large(name: &str, kilobytes: usize) -> Import {
        let rule = |number: usize| mk_rule(PathMatch::Prefix(format!("/{number}/{}", "x".repeat(950))));
        mk_import(name, (0..kilobytes).map(rule).collect())
    }

    /// An import with so many expressions.
    fn mk_patterned(name: &str, count: usize) -> Import {
        let rule = |number: usize| mk_rule(PathMatch::Regex(format!("/{name}/{number}")));
        mk_import(name, (0..count).map(rule).collect())
    }

    /// Imports for which nothing is measured.
    fn unmeasured(imports: &[Import]) -> Vec<Measured<'_>> {
        imports.iter().map(|import| Measured { import, paths: &[] }).collect()
    }

    /// What becomes of imports: `+` whole, `A` and `T` refused, alone and together, `-` left out.
    fn outcomes(imports: &[Import], bytes: usize) -> String {
        let fitting = Fitting::within(&unmeasured(imports), bytes).unwrap();
        let outcome = |place: usize| match (fitting.imports.get(place), fitting.too_large.get(&place)) {
            (None, Some(_)) => '-',
            (Some(Cow::Borrowed(_)), None) => '+',
            (Some(Cow::Owned(_)), Some(Excess::Alone)) => 'A',
            (Some(Cow::Owned(_)), Some(Excess::Together)) => 'T',
            odd => panic!("{place}: {odd:?}"),
        };
        (0..imports.len()).map(outcome).collect()
    }

    #[test]
    fn who_does_not_fit_is_refused_alone() {
        const BYTES: usize = 100_000;
        let small = || mk_large("small", 1);
        let table = [
            (vec![], "", "nothing"),
            (vec![small(), small()], "++", "all fit"),
            (vec![mk_large("a", 110), small()], "A+", "the oldest is too large by itself"),
            (vec![small(), mk_large("b", 110), small()], "+A+", "one between is"),
            (vec![mk_large("a", 60), mk_large("b", 60)], "+T", "two are too large together: the younger"),
            (vec![mk_large("a", 60), mk_large("b", 60), small()], "+T+", "what fits beside them stays"),
            (vec![mk_large("a", 100), small(), small()], "+TT", "one leaves the others room for their hosts"),
            ([vec![mk_large("a", 100)], vec![small(); 5]].concat(), "T+++++", "one does not even do that"),
            (vec![mk_patterned("a", 4_097), small()], "A+", "too many expressions"),
            (vec![mk_patterned("a", 4_090), mk_patterned("b", 7), small()], "+T+", "too many together"),
            (vec![mk_import("a", Vec::new()); 2_900], &"+".repeat(2_900), "many that are shorter than a refusal"),
        ];
        for (imports, expected, message) in table {
            let is_patterned = imports.iter().any(|import| import.rules.len() > 4_000);
            assert_eq!(outcomes(&imports, if is_patterned { 10 * BYTES } else { BYTES }), expected, "{message}");
        }
    }

    #[test]
    fn the_youngest_are_left_out_where_not_even_the_hosts_of_all_fit() {
        let imports = vec![mk_large("a", 1); 5];
        assert_eq!(outcomes(&imports, 700), "AA---");
        assert_eq!(outcomes(&imports, 10), "-----");
        let imports = vec![mk_import("a", Vec::new()); limits::IMPORTS + 1];
        assert_eq!(outcomes(&imports, limits::CONFIG_BYTES), format!("{}-", "+".repeat(limits::IMPORTS)));
    }

    /// The bytes of imports, each with the comma behind it.
    fn bytes_of(imports: &[Cow<'_, Import>]) -> usize {
        serde_json::to_string(imports).unwrap().len() - "[".len()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_fits_is_no_longer_than_it_may_be(kilobytes in prop::collection::vec(0..12_usize, 1..12)) {
            const BYTES: usize = 30_000;
            let imports: Vec<_> = kilobytes.iter().map(|kilobytes| mk_large("payment", *kilobytes)).collect();
            let Fitting { imports: fitting, too_large, .. } = Fitting::within(&unmeasured(&imports), BYTES).unwrap();
            prop_assert_eq!(fitting.len(), imports.len(), "there is room for the hosts of all");
            prop_assert!(bytes_of(&fitting) <= BYTES);
            for place in too_large.keys() {
                let mut more = fitting.clone();
                more[*place] = Cow::Borrowed(&imports[*place]);
                for (younger, import) in more.iter_mut().enumerate().skip(place + 1) {
                    // Those without rules are shorter than a refusal.
                    if !imports[younger].rules.is_empty() {
                        *import = Cow::Owned(import.too_large());
                    }
                }
                prop_assert!(bytes_of(&more) > BYTES, "whole, {place} does not fit beside the older ones");
            }
        }
    }
}
