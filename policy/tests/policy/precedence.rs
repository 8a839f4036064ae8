//! RESOURCES, "Order of rules"; Gateway API, `HTTPRouteRule.matches`.

use mcwan_policy::RuleMatch;
use mcwan_policy::wire::{Match, Method, Rule};

use crate::common::{
    Asked, HIGH, LOW, MatchBuilder, TableOutcome, V2, ask, ask_config, get, mk_config, mk_import, mk_match, mk_rule,
    on_exact, on_prefix, on_raw_prefix, on_regex, to,
};

/// A GET of `/a/b?q=1&r=1` with `x-a: 1` and `x-b: 1`.
fn rich_request() -> Asked {
    get("payment.secure", "/a/b?q=1&r=1").with_header("x-a", "1").with_header("x-b", "1")
}

fn rule_to(alternative: &Match, target: u32) -> Rule {
    mk_rule(std::slice::from_ref(alternative), &[to(target)])
}

/// Both hold for the rich request; the first is taken wherever it stands.
#[track_caller]
fn check_outranks(message: &str, strong: &Match, weak: &Match) {
    for (alone, target) in [(strong, "strong"), (weak, "weak")] {
        assert_eq!(ask(&[rule_to(alone, HIGH)], &rich_request()), "high", "{message}: the {target} one holds alone");
    }
    let (strong, weak) = (rule_to(strong, HIGH), rule_to(weak, LOW));
    assert_eq!(ask(&[strong.clone(), weak.clone()], &rich_request()), "high", "{message}: in order");
    assert_eq!(ask(&[weak, strong], &rich_request()), "high", "{message}: in reverse");
}

/// Both hold for the rich request; the one that stands first is taken.
#[track_caller]
fn check_ties(message: &str, one: &Match, other: &Match) {
    for (first, second) in [(one, other), (other, one)] {
        let rules = [rule_to(first, HIGH), rule_to(second, LOW)];
        assert_eq!(ask(&rules, &rich_request()), "high", "{message}: {first:?} before {second:?}");
    }
}

#[test]
fn an_exact_path_goes_before_a_prefix_before_a_regular_expression() {
    check_outranks("exact, prefix", &on_exact("/a/b"), &on_prefix("/a/b"));
    check_outranks("exact, regular expression", &on_exact("/a/b"), &on_regex("/a/b"));
    check_outranks("prefix, regular expression", &on_prefix("/a/b"), &on_regex("/a/b"));
    check_outranks("a short prefix, a long regular expression", &on_prefix("/a"), &on_regex("/a/b|/and/more/of/it"));
    check_outranks("the prefix /, a regular expression", &on_prefix("/"), &on_regex("/a/.+"));
    check_outranks("no path, a regular expression", &mk_match(), &on_regex("/a/.+"));
}

#[test]
fn a_longer_prefix_goes_before_a_shorter_one() {
    check_outranks("by an element", &on_prefix("/a/b"), &on_prefix("/a"));
    check_outranks("before /", &on_prefix("/a"), &on_prefix("/"));
    check_outranks("before no path", &on_prefix("/a"), &mk_match());
    check_outranks("raw, the same", &on_raw_prefix("/a/"), &on_prefix("/a/"));
    check_outranks("raw, a longer one", &on_prefix("/a/b"), &on_raw_prefix("/a/"));
    check_outranks("raw, no path", &on_raw_prefix("/"), &mk_match());
}

#[test]
fn prefix_lengths_compare_without_the_trailing_slash() {
    check_ties("the same prefix", &on_prefix("/a"), &on_prefix("/a/"));
    check_ties("the root and no path", &on_prefix("/"), &mk_match());
    check_outranks("the longer one without its slash", &on_prefix("/a/b"), &on_prefix("/a/"));
}

#[test]
fn a_longer_regular_expression_goes_before_a_shorter_one() {
    check_outranks("by length alone", &on_regex("/a/b|/nothing/else"), &on_regex("/a/b"));
    check_ties("of one length", &on_regex("/a/b"), &on_regex("/./b"));
}

#[test]
fn the_method_decides_among_equal_paths() {
    check_outranks("with a method", &mk_match().method(Method::Get), &mk_match());
    check_outranks("on a prefix", &on_prefix("/a").method(Method::Get), &on_prefix("/a/"));
    check_outranks(
        "before any number of headers and parameters",
        &mk_match().method(Method::Get),
        &mk_match().header("x-a", "1").header("x-b", "1").query("q", "1").query("r", "1"),
    );
}

#[test]
fn the_number_of_headers_decides_among_equal_methods() {
    check_outranks("one", &mk_match().header("x-a", "1"), &mk_match());
    check_outranks("two", &mk_match().header("x-a", "1").header("x-b", "1"), &mk_match().header("x-a", "1"));
    check_outranks(
        "before any number of parameters",
        &mk_match().header("x-a", "1"),
        &mk_match().query("q", "1").query("r", "1"),
    );
    check_outranks(
        "with a method on both",
        &mk_match().method(Method::Get).header("x-a", "1"),
        &mk_match().method(Method::Get).query("q", "1"),
    );
    check_ties("different headers", &mk_match().header("x-a", "1"), &mk_match().header("x-b", "1"));
    check_ties("exact and regular expression", &mk_match().header("x-a", "1"), &mk_match().header_regex("x-a", ".+"));
}

#[test]
fn the_number_of_query_parameters_decides_among_equal_headers() {
    check_outranks("one", &mk_match().query("q", "1"), &mk_match());
    check_outranks("two", &mk_match().query("q", "1").query("r", "1"), &mk_match().query("q", "1"));
    check_outranks(
        "with a header on both",
        &mk_match().header("x-a", "1").query("q", "1"),
        &mk_match().header("x-b", "1"),
    );
    check_ties("different parameters", &mk_match().query("q", "1"), &mk_match().query("r", "1"));
}

#[test]
fn what_is_ignored_in_a_match_does_not_count() {
    check_ties(
        "a header of an equal name",
        &mk_match().header("x-a", "1"),
        &mk_match().header("x-a", "1").header("X-A", "2"),
    );
    check_ties(
        "a parameter of an equal name",
        &mk_match().query("q", "1"),
        &mk_match().query("q", "1").query("q", "2"),
    );
}

#[test]
fn the_path_decides_before_everything_else() {
    let everything =
        |path: Match| path.method(Method::Get).header("x-a", "1").header("x-b", "1").query("q", "1").query("r", "1");
    check_outranks("exact", &on_exact("/a/b"), &everything(on_prefix("/a/b")));
    check_outranks("a longer prefix", &on_prefix("/a/b"), &everything(on_prefix("/a")));
    check_outranks("a prefix", &on_prefix("/"), &everything(on_regex("/a/b")));
    check_outranks("a longer regular expression", &on_regex("/a/b|/x"), &everything(on_regex("/a/b")));
}

#[test]
fn the_first_rule_decides_among_equals() {
    let rules = [rule_to(&on_prefix("/a"), HIGH), rule_to(&on_prefix("/a"), LOW), rule_to(&on_prefix("/a"), V2)];
    assert_eq!(ask(&rules, &rich_request()), "high");
    assert_eq!(ask(&rules[1..], &rich_request()), "low");
}

#[test]
fn the_match_is_ranked_not_its_rule() {
    let rules = [
        mk_rule(&[on_prefix("/a"), on_exact("/x")], &[to(LOW)]),
        mk_rule(&[on_prefix("/"), on_prefix("/a/b")], &[to(HIGH)]),
    ];
    let rows = [("/a/b", "high"), ("/a/c", "low"), ("/x", "low"), ("/y", "high")];
    for (path, expected) in rows {
        assert_eq!(ask(&rules, &get("payment.secure", path)), expected, "{path}");
    }
}

#[test]
fn a_stronger_match_that_does_not_hold_leaves_the_request_to_the_weaker() {
    let rules = [
        rule_to(&on_exact("/a").header("x-a", "1"), HIGH),
        rule_to(&on_prefix("/a").method(Method::Post), V2),
        rule_to(&on_regex("/a"), LOW),
    ];
    let rows = [
        ("the strongest", get("payment.secure", "/a").with_header("x-a", "1"), "high"),
        ("the second", get("payment.secure", "/a").with_method("POST"), "v2"),
        ("the weakest", get("payment.secure", "/a"), "low"),
        ("none", get("payment.secure", "/a/b"), "403 NoRuleMatched"),
    ];
    for (message, request, expected) in rows {
        assert_eq!(ask(&rules, &request), expected, "{message}");
    }
}

#[test]
fn a_longer_prefix_that_does_not_hold_leaves_the_request_to_each_shorter_one() {
    let rules = [
        rule_to(&on_prefix("/"), LOW),
        rule_to(&on_prefix("/a").header("x-a", "2"), V2),
        rule_to(&on_prefix("/a/b/c").header("x-a", "1"), HIGH),
    ];
    let rows = [("1", "/a/b/c/d", "high"), ("2", "/a/b/c/d", "v2"), ("3", "/a/b/c/d", "low"), ("1", "/a/b/cd", "low")];
    for (value, path, expected) in rows {
        let request = get("payment.secure", path).with_header("x-a", value);
        assert_eq!(ask(&rules, &request), expected, "{request}");
    }
}

#[test]
fn a_decision_names_the_rule_and_the_match_that_it_comes_from() {
    let rules = [
        mk_rule(&[on_prefix("/b")], &[to(LOW)]),
        mk_rule(&[on_prefix("/a"), on_exact("/a/b"), on_prefix("/a/")], &[to(HIGH)]),
        mk_rule(&[], &[to(V2)]),
    ];
    let config = mk_config(&[mk_import("secure/payment", &rules)]);
    let rows = [
        ("/b", 0, Some(0), "its only match"),
        ("/a/b", 1, Some(1), "its strongest match"),
        ("/a/c", 1, Some(0), "the first of two equal matches"),
        ("/c", 2, None, "no match of its own"),
    ];
    for (path, rule, alternative, message) in rows {
        match ask_config(&config, &get("payment.secure", path)) {
            TableOutcome::Route { matched, .. } => {
                assert_eq!(matched, RuleMatch { rule, alternative }, "{message}: {path}");
            }
            other => panic!("{message}: {path}: {other}"),
        }
    }
}
