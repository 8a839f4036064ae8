//! Makes a script that fails as short as it can be.

use std::time::Duration;

use crate::script::Script;

/// Drops steps and shortens the waits between them, as long as it fails for a reason of the same kind.
pub(crate) fn shrink(script: Script, why: &str, run: impl Fn(&Script) -> Result<(), String>) -> Script {
    let fails = |script: &Script| run(script).is_err_and(|other| kind_of(&other) == kind_of(why));
    let mut best = script;
    loop {
        let shorter = smaller(&best).find(&fails);
        match shorter {
            Some(shorter) => best = shorter,
            None => return best,
        }
    }
}

/// What failures of one kind have in common.
pub(crate) fn kind_of(why: &str) -> &str {
    why.split([':', '{', '[']).next().unwrap_or_default()
}

/// Scripts that are a little smaller, each under some other seeds, too: delays are drawn one after the other.
fn smaller(script: &Script) -> impl Iterator<Item = Script> + use<'_> {
    let without = (0..script.steps.len()).flat_map(move |place| {
        let mut steps = script.steps.clone();
        let (gap, _) = steps.remove(place);
        if let Some((next, _)) = steps.get_mut(place) {
            *next += gap;
        }
        (0..4).map(move |seed| Script { seed: script.seed + seed, steps: steps.clone(), ..script.clone() })
    });
    let sooner = (0..script.steps.len()).filter_map(move |place| {
        let mut steps = script.steps.clone();
        let gap = steps[place].0;
        steps[place].0 = gap / 2;
        (gap > Duration::from_secs(1)).then(|| Script { steps, ..script.clone() })
    });
    without.chain(sooner)
}
