//! RESOURCES, "Order of rules": regular expressions are the common part of RE2 and regex-lite, else
//! refused. What both read alike is accepted; what one refuses or reads otherwise is not.

use crate::common::{self, HIGH, MatchBuilder, ask, get, mk_match, mk_rule, on_regex, to};

/// Where a pattern stands: in a path, in a header, in a query parameter.
fn everywhere(pattern: &str) -> [common::TableOutcome; 3] {
    let request = get("payment.secure", "/").with_method("TRACE");
    let method = mcwan_policy::wire::Method::Get;
    let matches = [on_regex(pattern), mk_match().header_regex("x-a", pattern), mk_match().query_regex("q", pattern)];
    matches.map(|alternative| {
        let rule = mk_rule(&[alternative.method(method)], &[to(HIGH)]);
        common::ask_config(&common::mk_config(&[common::mk_import("secure/payment", &[rule])]), &request)
    })
}

/// Checks patterns that are set apart by white space.
#[track_caller]
fn check(patterns: &str, expected: &str) {
    check_each(&patterns.split_whitespace().collect::<Vec<_>>(), expected);
}

#[track_caller]
fn check_each(patterns: &[&str], expected: &str) {
    let is_wrong = |pattern: &str| everywhere(pattern).iter().any(|outcome| outcome.to_string() != expected);
    let wrong: Vec<_> = patterns.iter().filter(|pattern| is_wrong(pattern)).collect();
    assert!(wrong.is_empty(), "not {expected}: {wrong:?}");
}

const ACCEPTED: &str = "403 NoRuleMatched";
const REFUSED: &str = "500 InvalidMatch";

#[test]
fn what_both_read_alike_is_accepted() {
    check(r"a a|b (a) (?:a|b)+ ((((a)))) (a|b)(c|d) a| (|a) é+", ACCEPTED);
    check(r"a* a+ a? a*? a+? a?? a{2} a{2,} a{2,3} a{2}? a{0} a{0,1}", ACCEPTED);
    check(r". .* ^a$ \Aa\z \ba\b \Ba", ACCEPTED);
    check(r"[abc] [^abc] [a-z0-9_-] []a] [^]a] [\]a] [\d.]+ [[:alpha:]] [[:^digit:]]", ACCEPTED);
    check(r"\d+ \w \D \W \. \/ \- \t \x41 \x{41}", ACCEPTED);
    check(r"(?s). (?m)^a$ (?U)a+ (?s:.)a (?sm)a (?s-m)a (?P<name>a)", ACCEPTED);
    check(r"/v[12]/(?:users|groups)/[^/]+ ^(.*?;)?(user=test)(;.*)?", ACCEPTED);
    check_each(&["", "a b", " "], ACCEPTED);
}

#[test]
fn what_is_no_expression_is_refused() {
    check(
        r"( ) a) (a [ [a a)|(b (?:a * +a ? {2} |* (*a) [z-a] \ a\ a{3,2} (?P<a>x)(?P<a>y) (?P<>x) [[:nope:]]",
        REFUSED,
    );
}

#[test]
fn what_neither_can_do_is_refused() {
    check(r"(?=a) (?!a) (?<=a) (?<!a) (a)\1 (?>a) (?P=name) a++ (?#x)", REFUSED);
}

#[test]
fn flags_other_than_s_m_and_u_are_refused() {
    check(r"(?i)é (?i:\xe9) (?si)é (?x)a (?R)a (?u)a (?-u)a (?) (?s", REFUSED);
}

#[test]
fn what_only_re2_reads_is_refused() {
    check(r"\pL \p{Greek} \PL \Q.\E \C \101 [a&&b] [a[b]] a{ a{,2} a{x} a{2", REFUSED);
}

#[test]
fn what_only_regex_lite_reads_is_refused() {
    check(r"\u0041 \u{41} \U00000041 \b{start}a \b{end}a \b{start-half}", REFUSED);
}

#[test]
fn what_both_read_but_not_alike_is_refused() {
    // To RE2 these are the characters `<` and `>`, to regex-lite the borders of words.
    check(r"\<a a\>", REFUSED);
    // To RE2 this is text, to regex-lite a counted repetition.
    check_each(&["a{ 2}", "a{2 }", "a{2, 3}"], REFUSED);
}

#[test]
fn a_repetition_of_a_repetition_is_refused() {
    check(r"a** a*+ a+* a?* a*?* a??? a{2}{3} a{2}* a*{2} a{2}?+ (a)**", REFUSED);
    check(r"(a*)* (?:a+)? (a{2}){3}", ACCEPTED);
}

#[test]
fn a_counted_repetition_ends_at_1000_also_when_nested() {
    check("a{1000} a{0,1000} a{1000,} (a{10}){100} ((a{10}){10}){10} a{1000}b{1000} (a{1000}|b{1000})", ACCEPTED);
    check("a{1001} a{0,1001} a{1001,} (a{10}){101} ((a{10}){10}){11} (a{500}){3} (b(a{1000})c){2}", REFUSED);
    check("a{4294967296} a{99999999999999999999}", REFUSED);
}

#[test]
fn a_pattern_is_read_alone_not_with_what_is_put_around_it() {
    let rule = mk_rule(&[on_regex("/a)|(.*")], &[to(HIGH)]);
    for path in ["/a", "/b"] {
        assert_eq!(ask(std::slice::from_ref(&rule), &get("payment.secure", path)), "500 InvalidMatch", "{path}");
    }
}

#[test]
fn flags_of_a_pattern_do_not_loosen_its_ends() {
    let multi_line = mk_match().header_regex("x-a", "(?m)a");
    for value in ["a\n", "\na", "b\na\nb"] {
        assert!(!common::holds(&multi_line, &get("payment.secure", "/").with_header("x-a", value)), "{value:?}");
    }
    assert!(common::holds(&multi_line, &get("payment.secure", "/").with_header("x-a", "a")));
}

#[test]
fn deep_nesting_is_refused_without_harm() {
    let deep = format!("{}a{}", "(".repeat(400), ")".repeat(400));
    let outcome = ask(&[mk_rule(&[on_regex(&deep)], &[to(HIGH)])], &get("payment.secure", "/"));
    assert!(["403 NoRuleMatched", "500 InvalidMatch"].contains(&outcome.as_str()), "{outcome}");
}
