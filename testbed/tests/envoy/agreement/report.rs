//! Tells all that is needed to see a disagreement again.

use std::fmt::{Debug, Write};

use mcwan_testbed::client::Request;
use mcwan_testbed::latin1;

use super::world::{Case, World};

/// How many disagreements are told in full.
const TOLD: usize = 5;

/// What came of the cases of one mode.
pub(crate) struct Report<'w> {
    world: &'w World,
    mode: String,
    disagreements: Vec<String>,
}

impl<'w> Report<'w> {
    pub(crate) fn new(world: &'w World, mode: String) -> Self {
        Self { world, mode, disagreements: Vec::new() }
    }

    /// Notes a case where what was seen is not among what is expected.
    pub(crate) fn compare<E: Debug + PartialEq>(&mut self, case: &Case, expected: &[E], seen: &E) {
        if expected.contains(seen) {
            return;
        }
        // The import that decides may be another one than the one that the request was made for.
        let mut imports = self.world.snapshot.service_imports.iter();
        let decider = imports.find(|import| {
            let [namespace, name] =
                [&import.metadata.namespace, &import.metadata.name].map(|part| part.as_deref().unwrap_or_default());
            case.possible[0].import == Some(format!("{namespace}/{name}"))
        });
        let import = decider.unwrap_or(self.world.snapshot.service_imports.by_age()[case.import]);
        let yaml = serde_saphyr::to_string(import).unwrap();
        let Request { method, host, path, headers } = &case.request;
        let mut told =
            format!("{yaml}\n{method} {path}\nhost: {}\n", latin1::text(host.as_deref().unwrap_or_default()));
        for (name, value) in headers {
            writeln!(told, "{name}: {}", latin1::text(value)).unwrap();
        }
        let rule = case.possible[0].rule;
        write!(told, "\nexpected one of {expected:#?}\nof rule {rule:?}\nseen {seen:#?}\n").unwrap();
        self.disagreements.push(told);
    }

    /// Ends the comparison.
    ///
    /// # Panics
    /// There were disagreements.
    pub(crate) fn finish(self) {
        let Self { world, mode, disagreements } = self;
        let told = disagreements.iter().take(TOLD).map(String::as_str).collect::<Vec<_>>().join("\n--------\n");
        let count = disagreements.len();
        assert!(count == 0, "{mode}: {count} cases differ with MCWAN_SEED={}:\n{told}", world.seed);
    }
}
