//! Gateway API, `HTTPHeaderMatch` and `HTTPQueryParamMatch`; RESOURCES, "Order of rules", on what is
//! compared.

use mcwan_policy::wire::Match;

use crate::common::{Asked, MatchBuilder, get, holds, mk_match};

/// A header line: name and value.
type Line<'l> = (&'l str, &'l [u8]);

/// A request with these header lines.
fn with_lines(lines: &[Line<'_>]) -> Asked {
    lines.iter().fold(get("payment.secure", "/"), |request, (name, value)| request.with_header(name, *value))
}

#[track_caller]
fn check_lines(alternative: &Match, rows: &[(&str, &[Line<'_>], bool)]) {
    for (message, lines, expected) in rows {
        assert_eq!(holds(alternative, &with_lines(lines)), *expected, "{message}");
    }
}

#[track_caller]
fn check_queries(alternative: &Match, rows: &[(&str, &str, bool)]) {
    for (message, path, expected) in rows {
        assert_eq!(holds(alternative, &get("payment.secure", path)), *expected, "{message}: {path}");
    }
}

#[test]
fn header_names_compare_in_any_case_and_values_as_they_are() {
    for name in ["x-tier", "X-Tier", "X-TIER"] {
        check_lines(
            &mk_match().header(name, "Gold"),
            &[
                ("lower case", &[("x-tier", b"Gold")], true),
                ("capitals", &[("X-TIER", b"Gold")], true),
                ("another case of the value", &[("x-tier", b"gold")], false),
                ("a longer value", &[("x-tier", b"Golden")], false),
                ("an empty value", &[("x-tier", b"")], false),
                ("a longer name", &[("x-tiers", b"Gold")], false),
                ("absent", &[], false),
            ],
        );
    }
}

#[test]
fn all_headers_of_a_match_must_hold() {
    check_lines(
        &mk_match().header("x-a", "1").header("x-b", "2"),
        &[
            ("both", &[("x-b", b"2"), ("x-a", b"1")], true),
            ("the first", &[("x-a", b"1")], false),
            ("the second", &[("x-b", b"2")], false),
            ("crossed", &[("x-a", b"2"), ("x-b", b"1")], false),
        ],
    );
}

#[test]
fn a_repeated_header_matches_if_any_of_its_lines_does() {
    let lines: &[Line<'_>] = &[("x-a", b"1"), ("x-b", b"3"), ("X-A", b"2")];
    check_lines(&mk_match().header("x-a", "1"), &[("the first line", lines, true)]);
    check_lines(&mk_match().header("x-a", "2"), &[("the second line", lines, true)]);
    check_lines(&mk_match().header("x-a", "3"), &[("another header's line", lines, false)]);
    check_lines(&mk_match().header_regex("x-a", "[2-9]"), &[("the second line", lines, true)]);
    check_lines(&mk_match().header_regex("x-a", "[3-9]"), &[("no line", lines, false)]);
}

#[test]
fn lines_of_a_repeated_header_are_not_joined() {
    let lines: &[Line<'_>] = &[("x-a", b"1"), ("x-a", b"2")];
    for joined in ["1,2", "1, 2", "12"] {
        check_lines(&mk_match().header("x-a", joined), &[("joined", lines, false)]);
    }
    check_lines(&mk_match().header_regex("x-a", "1.*2"), &[("joined", lines, false)]);
    check_lines(&mk_match().header("x-a", "1,2"), &[("one line with a comma", &[("x-a", b"1,2")], true)]);
    check_lines(&mk_match().header("x-a", "1"), &[("part of a line with a comma", &[("x-a", b"1,2")], false)]);
}

#[test]
fn of_equal_header_names_in_a_match_the_first_counts() {
    let alternative = mk_match().header("x-a", "1").header("X-A", "2");
    check_lines(
        &alternative,
        &[
            ("the first", &[("x-a", b"1")], true),
            ("the second", &[("x-a", b"2")], false),
            ("both", &[("x-a", b"2"), ("x-a", b"1")], true),
        ],
    );
}

#[test]
fn a_regular_expression_matches_the_whole_header_value() {
    check_lines(
        &mk_match().header_regex("x-a", "a[0-9]|b"),
        &[
            ("the whole value", &[("x-a", b"a1")], true),
            ("the other alternative", &[("x-a", b"b")], true),
            ("a tail", &[("x-a", b"a12")], false),
            ("a head", &[("x-a", b"ab")], false),
            ("a newline at the end", &[("x-a", b"b\n")], false),
        ],
    );
}

#[test]
fn the_seeds_cookie_expression_finds_its_user() {
    check_lines(
        &mk_match().header_regex("cookie", "^(.*?;)?(user=test)(;.*)?"),
        &[
            ("alone", &[("cookie", b"user=test")], true),
            ("first", &[("Cookie", b"user=test;a=b")], true),
            ("in the middle", &[("cookie", b"a=b;user=test;c=d")], true),
            ("after a space", &[("cookie", b"a=b; user=test")], false),
            ("another user", &[("cookie", b"user=tester")], false),
            ("part of another cookie", &[("cookie", b"xuser=test")], false),
        ],
    );
}

#[test]
fn an_absent_header_or_parameter_matches_nothing() {
    for pattern in [".*", "", "a*"] {
        check_lines(
            &mk_match().header_regex("x-a", pattern),
            &[("absent", &[("x-b", b"")], false), ("present and empty", &[("x-a", b"")], true)],
        );
        check_queries(
            &mk_match().query_regex("q", pattern),
            &[
                ("no query", "/", false),
                ("an empty query", "/?", false),
                ("another", "/?r=", false),
                ("empty", "/?q=", true),
            ],
        );
    }
}

#[test]
fn a_header_value_need_not_be_utf_8_for_a_regular_expression() {
    check_lines(
        &mk_match().header_regex("x-a", "a?."),
        &[
            ("not UTF-8", &[("x-a", b"\xff")], true),
            ("half of a character", &[("x-a", b"a\xc3")], true),
            ("a character of two bytes", &[("x-a", "é".as_bytes())], false),
            ("another line matches", &[("x-a", "é".as_bytes()), ("x-a", b"a")], true),
        ],
    );
    check_lines(
        &mk_match().header("x-a", "1"),
        &[("exact beside a line that is not UTF-8", &[("x-a", b"\xff"), ("x-a", b"1")], true)],
    );
}

#[test]
fn a_match_on_host_compares_with_the_authority_as_it_was_sent() {
    let rows = [
        ("as it is", "payment.secure", true),
        ("another case", "Payment.secure", false),
        ("a port", "payment.secure:8080", false),
        ("a dot", "payment.secure.", false),
        ("another name of the import", "payment", false),
    ];
    for name in ["Host", "host"] {
        for (message, authority, expected) in rows {
            let request = get(authority, "/");
            assert_eq!(holds(&mk_match().header(name, "payment.secure"), &request), expected, "{message}");
        }
        assert!(
            holds(&mk_match().header_regex(name, "payment.*:8080"), &get("payment.secure:8080", "/")),
            "with its port"
        );
    }
}

#[test]
fn query_parameters_compare_undecoded_name_and_value() {
    check_queries(
        &mk_match().query("q", "a b"),
        &[("a plus", "/?q=a+b", false), ("an escape", "/?q=a%20b", false), ("itself", "/?q=a b", true)],
    );
    check_queries(
        &mk_match().query("q", "%31"),
        &[("as it is", "/?q=%31", true), ("decoded", "/?q=1", false), ("escaped again", "/?q=%2531", false)],
    );
    check_queries(
        &mk_match().query("q", "1"),
        &[
            ("as it is", "/?q=1", true),
            ("an escaped name", "/?%71=1", false),
            ("another case of the name", "/?Q=1", false),
            ("a longer name", "/?qq=1", false),
            ("a longer value", "/?q=11", false),
            ("another value", "/?q=2", false),
            ("an index", "/?q[]=1", false),
        ],
    );
}

#[test]
fn a_query_splits_at_each_ampersand_then_at_the_first_equals_sign() {
    check_queries(
        &mk_match().query("q", "1"),
        &[
            ("second", "/?r=2&q=1", true),
            ("after empty segments", "/?&&q=1", true),
            ("before an empty segment", "/?q=1&", true),
            ("a semicolon does not split", "/?r=2;q=1", false),
            ("nor does it end", "/?q=1;r=2", false),
            ("a second equals sign belongs to the value", "/?q=1=", false),
            ("a question mark belongs to the value", "/?q=1?", false),
            ("and to the name", "/??q=1", false),
            ("the path is no query", "/q=1", false),
            ("a space", "/? q=1", false),
        ],
    );
    check_queries(
        &mk_match().query("q", "a=b"),
        &[("the first splits", "/?q=a=b", true), ("not the last", "/?q=a&b", false)],
    );
    check_queries(&mk_match().query("q", "1?r=2"), &[("a second question mark", "/?q=1?r=2", true)]);
}

#[test]
fn a_segment_without_equals_sign_has_the_empty_value() {
    let empty = mk_match().query_regex("q", "");
    check_queries(
        &empty,
        &[
            ("alone", "/?q", true),
            ("among others", "/?r=1&q&s", true),
            ("with its sign", "/?q=", true),
            ("with a value", "/?q=1", false),
            ("the first counts", "/?q&q=1", true),
            ("the first counts", "/?q=1&q", false),
        ],
    );
}

#[test]
fn the_first_value_of_a_query_parameter_counts() {
    check_queries(
        &mk_match().query("q", "1"),
        &[
            ("first", "/?q=1&q=2", true),
            ("second", "/?q=2&q=1", false),
            ("after one without value", "/?q&q=1", false),
            ("after another name", "/?Q=2&q=1", true),
        ],
    );
}

#[test]
fn a_fragment_is_no_part_of_the_query() {
    check_queries(
        &mk_match().query("q", "1"),
        &[
            ("before a fragment", "/?q=1#2", true),
            ("in a fragment", "/#?q=1", false),
            ("behind a fragment", "/?r=1#&q=1", false),
        ],
    );
}

#[test]
fn all_query_parameters_of_a_match_must_hold() {
    check_queries(
        &mk_match().query("q", "1").query("r", "2"),
        &[("both", "/?r=2&q=1", true), ("one", "/?q=1", false), ("crossed", "/?q=2&r=1", false)],
    );
}

#[test]
fn of_equal_query_names_in_a_match_the_first_counts() {
    check_queries(
        &mk_match().query("q", "1").query("q", "2"),
        &[("the first", "/?q=1", true), ("the second", "/?q=2", false)],
    );
    check_queries(
        &mk_match().query("q", "1").query("Q", "2"),
        &[("another case is another name", "/?q=1", false), ("both", "/?q=1&Q=2", true)],
    );
}

#[test]
fn a_query_value_need_not_be_utf_8_for_a_regular_expression() {
    let request = get("payment.secure", "").with_path(*b"/?q=\xff&r=1");
    assert!(holds(&mk_match().query_regex("q", "."), &request), "a byte is a character");
    assert!(!holds(&mk_match().query_regex("q", "[0-9]"), &request), "and no digit");
    assert!(holds(&mk_match().query_regex("r", "[0-9]"), &request), "its neighbour is");
}
