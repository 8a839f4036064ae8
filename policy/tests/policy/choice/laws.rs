//! The table, and what explains it, choose as the sentences of the naive reference do.

use mcwan_policy::sla::Levels;
use mcwan_policy::wire::{Action, PluginConfig};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{TableOutcome, compile, generate, get, mk_config, mk_import, mk_rule, naive, to};

/// With 1,000 choices, a million cases where they are optimised.
const CASES: usize = if cfg!(debug_assertions) { 20 } else { 1_000 };

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        max_shrink_iters: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_choice_is_made_as_the_naive_reference_makes_it(
        choose in generate::action::choice(true),
        asked in vec((generate::levels(), any::<u64>()), CASES),
    ) {
        let own = choose.candidates[0].sources[0].target;
        let import = mk_import("secure/payment", &[mk_rule(&[], &[to(own), Action::Choose(choose)])]);
        let config = PluginConfig { paths: generate::paths(), ..mk_config(&[import]) };
        let (table, request) = (compile(&config), get("payment.secure", "/a/b"));
        for (levels, draw) in asked {
            let Ok(decision) = table.decide(&request, Levels::new(&levels), || draw);
            let Ok(explanation) = table.explain(&request, Levels::new(&levels), || draw);
            let expected = naive::decide(&config, &request, &levels, draw);
            prop_assert_eq!(&TableOutcome::of(&decision, &request), &expected, "{:?}, {}", levels, draw);
            prop_assert_eq!(&TableOutcome::of(&explanation.decision, &request), &expected, "{:?}, {}", levels, draw);
            let taken = explanation.tiers.iter().flat_map(|tier| &tier.sources).filter(|source| source.is_taken);
            let taken: Vec<_> = taken.map(|source| source.target.name()).collect();
            let is_of_tier = !explanation.tiers.is_empty() && expected.target().is_some();
            prop_assert!(!is_of_tier || taken.contains(&expected.target().unwrap_or_default()), "{:?}", taken);
        }
    }
}
