//! What an explanation says of the tiers that a backend may take.

use mcwan_policy::sla::Level::{self, Down, In, Out};
use mcwan_policy::sla::Levels;
use mcwan_policy::wire::Action;
use mcwan_policy::{ConsideredTier, TierVerdict};

use super::{BULK_A, HIGH_A, HIGH_B, HIGH_OWN, LOW_A, LOW_B, mk_choose, mk_choosing, or_refuse};
use crate::common::{compile, get, to};

/// A tier in words: its verdict, and of each source the cluster and the level; what takes requests has a star.
fn words(tier: &ConsideredTier<'_>) -> String {
    let verdict = match tier.verdict {
        TierVerdict::Taken(level) => format!("taken {level}"),
        TierVerdict::Behind(level) => format!("behind {level}"),
        TierVerdict::Passed(level) => format!("passed {level}"),
        TierVerdict::NoPods => "no pods".to_owned(),
    };
    let source = |source: &mcwan_policy::ConsideredSource<'_>| {
        let place = source.path.map_or("here".to_owned(), |path| format!("{}@{}", path.tier, path.cluster));
        format!(" {place}={}{}", source.level, if source.is_taken { "*" } else { "" })
    };
    verdict + ":" + &tier.sources.iter().map(source).collect::<String>()
}

fn explain(actions: &[Action], levels: &[Level], draw: u64) -> Vec<String> {
    let table = compile(&mk_choosing(actions));
    let Ok(explanation) = table.explain(&get("payment.secure", "/"), Levels::new(levels), || draw);
    explanation.tiers.iter().map(words).collect()
}

#[test]
fn it_says_of_each_tier_why_or_why_not() {
    let tiers = mk_choose(&[&[HIGH_A, HIGH_B], &[LOW_A, LOW_B], &[BULK_A]]);
    let preferred = [Action::Choose(tiers.clone())];
    let rows: [(&str, &[Level], [&str; 3]); 5] = [
        (
            "every path is taken for In",
            &[],
            ["taken In: high@a=In* high@b=In*", "behind In: low@a=In low@b=In", "behind In: bulk@a=In"],
        ),
        (
            "one cluster is Out",
            &[Out],
            ["taken In: high@a=Out high@b=In*", "behind In: low@a=In low@b=In", "behind In: bulk@a=In"],
        ),
        (
            "a fallback",
            &[Out, Down, Down, In, Out],
            ["passed Out: high@a=Out high@b=Down", "taken In: low@a=Down low@b=In*", "behind Out: bulk@a=Out"],
        ),
        (
            "none is In",
            &[Down, Down, Out, Down, Out],
            ["passed Down: high@a=Down high@b=Down", "taken Out: low@a=Out* low@b=Down", "behind Out: bulk@a=Out"],
        ),
        (
            "all are Down",
            &[Down; 5],
            ["taken Down: high@a=Down* high@b=Down*", "behind Down: low@a=Down low@b=Down", "behind Down: bulk@a=Down"],
        ),
    ];
    for (message, levels, expected) in rows {
        assert_eq!(explain(&preferred, levels, 0), expected, "{message}");
    }
    let refusing = [Action::Choose(or_refuse(tiers))];
    let expected = ["passed Out: high@a=Out high@b=Out", "passed Out: low@a=Out low@b=Out", "passed Out: bulk@a=Out"];
    assert_eq!(explain(&refusing, &[Out; 5], 0), expected, "a refusal");
}

#[test]
fn this_cluster_has_no_path() {
    let here = [Action::Choose(mk_choose(&[&[HIGH_A, HIGH_OWN], &[LOW_A]]))];
    assert_eq!(explain(&here, &[Out], 0), ["taken In: high@a=Out here=In*", "behind In: low@a=In"]);
}

#[test]
fn a_tier_without_pods_says_so() {
    let idle = mcwan_policy::wire::Source { weight: 0, ..HIGH_A };
    let choose = [Action::Choose(mk_choose(&[&[idle], &[LOW_A]]))];
    assert_eq!(explain(&choose, &[], 0), ["no pods: high@a=In", "taken In: low@a=In*"]);
}

#[test]
fn it_is_about_the_backend_that_was_drawn() {
    let actions = [to(5), Action::Choose(mk_choose(&[&[HIGH_A], &[LOW_A]]))];
    assert_eq!(explain(&actions, &[Out], 0), [""; 0], "a backend without fallbacks");
    assert_eq!(explain(&actions, &[Out], u64::MAX), ["passed Out: high@a=Out", "taken In: low@a=In*"]);
}
