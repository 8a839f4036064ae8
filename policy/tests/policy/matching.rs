//! Gateway API, `HTTPRouteMatch`: paths and methods, and how the parts of a match come together.

use mcwan_policy::wire::{Match, Method};

use crate::common::{
    Asked, HIGH, LOW, MatchBuilder, V2, ask, get, holds, mk_match, mk_rule, on_exact, on_prefix, on_raw_prefix,
    on_regex, to,
};

#[track_caller]
fn check_paths(rows: &[(&str, Match, &str, bool)]) {
    for (message, alternative, path, expected) in rows {
        assert_eq!(holds(alternative, &get("payment.secure", path)), *expected, "{message}: {path}");
    }
}

#[test]
fn an_exact_path_matches_itself_only() {
    check_paths(&[
        ("itself", on_exact("/abc"), "/abc", true),
        ("a trailing slash", on_exact("/abc"), "/abc/", false),
        ("another case", on_exact("/abc"), "/Abc", false),
        ("a longer path", on_exact("/abc"), "/abcd", false),
        ("a path below", on_exact("/abc"), "/abc/d", false),
        ("a shorter path", on_exact("/abc"), "/ab", false),
        ("itself with its slash", on_exact("/abc/"), "/abc/", true),
        ("itself without its slash", on_exact("/abc/"), "/abc", false),
        ("the root", on_exact("/"), "/", true),
        ("below the root", on_exact("/"), "/a", false),
        ("an escape, as it is", on_exact("/a%20b"), "/a%20b", true),
        ("an escape that means the same", on_exact("/a%2Db"), "/a-b", false),
        ("an escape in other case", on_exact("/a%2Db"), "/a%2db", false),
    ]);
}

#[test]
fn a_prefix_matches_path_element_by_path_element() {
    check_paths(&[
        ("itself", on_prefix("/abc"), "/abc", true),
        ("a trailing slash", on_prefix("/abc"), "/abc/", true),
        ("a path below", on_prefix("/abc"), "/abc/def", true),
        ("a longer element", on_prefix("/abc"), "/abcd", false),
        ("a longer element with more below", on_prefix("/abc"), "/abcd/def", false),
        ("a shorter element", on_prefix("/abc"), "/ab", false),
        ("the path above", on_prefix("/abc"), "/", false),
        ("another case", on_prefix("/abc"), "/ABC/def", false),
        ("not at the start", on_prefix("/abc"), "/x/abc", false),
        ("after an empty element", on_prefix("/abc"), "//abc", false),
        ("before an empty element", on_prefix("/abc"), "/abc//def", true),
        ("an escaped slash is no slash", on_prefix("/abc"), "/abc%2Fdef", false),
        ("a parameter is part of its element", on_prefix("/abc"), "/abc;v=1", false),
        ("two elements", on_prefix("/abc/def"), "/abc/def/ghi", true),
        ("the second one longer", on_prefix("/abc/def"), "/abc/defg", false),
        ("the first one only", on_prefix("/abc/def"), "/abc", false),
    ]);
}

#[test]
fn a_prefixs_trailing_slash_is_ignored() {
    check_paths(&[
        ("the path without it", on_prefix("/abc/"), "/abc", true),
        ("the path with it", on_prefix("/abc/"), "/abc/", true),
        ("a path below", on_prefix("/abc/"), "/abc/def", true),
        ("a longer element", on_prefix("/abc/"), "/abcd", false),
    ]);
}

#[test]
fn a_raw_prefix_needs_its_trailing_slash() {
    check_paths(&[
        ("the path without it", on_raw_prefix("/abc/"), "/abc", false),
        ("the path with it", on_raw_prefix("/abc/"), "/abc/", true),
        ("the path without it, and a query", on_raw_prefix("/abc/"), "/abc?/", false),
        ("a path below", on_raw_prefix("/abc/"), "/abc/def", true),
        ("an empty element", on_raw_prefix("/abc/"), "/abc//", true),
        ("a longer element", on_raw_prefix("/abc/"), "/abcd/", false),
        ("two elements", on_raw_prefix("/abc/def/"), "/abc/def/g", true),
        ("the first one only", on_raw_prefix("/abc/def/"), "/abc/", false),
        ("everything", on_raw_prefix("/"), "/", true),
    ]);
}

#[test]
fn the_prefix_of_one_slash_and_a_match_without_path_match_every_path() {
    for alternative in [on_prefix("/"), mk_match()] {
        for path in ["/", "/a", "//", "//a", "/a/b?q", "/?", "/#", "/%00"] {
            assert!(holds(&alternative, &get("payment.secure", path)), "{alternative:?}: {path}");
        }
    }
}

#[test]
fn the_path_ends_where_a_query_or_a_fragment_begins() {
    for tail in ["?", "?q=1", "?/def", "#", "#def", "?q#f", "#f?q"] {
        let path = format!("/abc{tail}");
        check_paths(&[
            ("exact", on_exact("/abc"), &path, true),
            ("prefix", on_prefix("/abc"), &path, true),
            ("regular expression", on_regex("/abc"), &path, true),
            ("exact, longer", on_exact("/abc/def"), &path, false),
            ("prefix, longer", on_prefix("/abc/def"), &path, false),
            ("a regular expression that would need the tail", on_regex("/abc.+"), &path, false),
        ]);
    }
}

#[test]
fn a_regular_expression_matches_the_whole_path() {
    check_paths(&[
        ("the whole path", on_regex("/a[0-9]+"), "/a12", true),
        ("with a tail", on_regex("/a[0-9]+"), "/a12/", false),
        ("with a head", on_regex("/a[0-9]+"), "/x/a12", false),
        ("its middle only", on_regex("a"), "/a", false),
        ("the first of two alternatives", on_regex("/a|/b"), "/a", true),
        ("the second of two alternatives", on_regex("/a|/b"), "/b", true),
        ("an alternative and a tail", on_regex("/a|/b"), "/ax", false),
        ("a head before the second alternative", on_regex("/a|/b"), "/x/b", false),
        ("a shorter alternative first", on_regex("/a|/ab"), "/ab", true),
        ("a lazy repetition", on_regex("/a+?"), "/aaa", true),
        ("with anchors of its own", on_regex("^/a$"), "/a", true),
        ("anchors that cannot hold", on_regex("/a$b"), "/ab", false),
        ("another case", on_regex("/a"), "/A", false),
        ("any path", on_regex(".*"), "/a/b", true),
        ("undecoded", on_regex("/a b"), "/a%20b", false),
        ("text beyond ASCII", on_regex("/é.+"), "/é€", true),
        ("text beyond ASCII, of which each byte is a character", on_regex("/é."), "/é€", false),
    ]);
}

#[test]
fn a_dot_matches_no_newline_unless_the_flag_says_so() {
    let name = "x-a";
    let request = get("payment.secure", "/").with_header(name, "a\nb");
    assert!(!holds(&mk_match().header_regex(name, "a.b"), &request), "no flag");
    assert!(holds(&mk_match().header_regex(name, "(?s)a.b"), &request), "flag s");
    assert!(!holds(&mk_match().header_regex(name, "a$\n^b"), &request), "no flag");
    assert!(holds(&mk_match().header_regex(name, "(?m)a$\n^b"), &request), "flag m");
    assert!(!holds(&mk_match().header_regex(name, "(?m)^a$"), &request), "flag m, still the whole value");
}

#[test]
fn a_path_need_not_be_utf_8_for_a_regular_expression() {
    let request = get("payment.secure", "").with_path(*b"/a/\xff");
    assert!(holds(&on_regex("/a/."), &request), "a byte is a character");
    assert!(!holds(&on_regex("/a/.."), &request), "and not two");
    assert!(!holds(&on_regex(r"/a/\w"), &request), "and no letter");
    assert!(holds(&on_prefix("/a"), &request), "a prefix compares bytes");
    assert!(!holds(&on_prefix("/b"), &request), "another prefix");
}

#[test]
fn a_query_that_is_not_utf_8_is_no_part_of_the_path() {
    let request = get("payment.secure", "").with_path(*b"/a?\xff");
    assert!(holds(&on_regex("/a"), &request));
    assert!(holds(&on_exact("/a"), &request));
}

#[test]
fn a_method_is_compared_as_it_is() {
    let all = [
        (Method::Get, "GET"),
        (Method::Head, "HEAD"),
        (Method::Post, "POST"),
        (Method::Put, "PUT"),
        (Method::Delete, "DELETE"),
        (Method::Connect, "CONNECT"),
        (Method::Options, "OPTIONS"),
        (Method::Trace, "TRACE"),
        (Method::Patch, "PATCH"),
    ];
    for (asked, name) in all {
        for (_, sent) in all {
            let request = get("payment.secure", "/").with_method(sent);
            assert_eq!(holds(&mk_match().method(asked), &request), name == sent, "{name} asked, {sent} sent");
        }
        let lower = get("payment.secure", "/").with_method(name.to_ascii_lowercase());
        assert!(!holds(&mk_match().method(asked), &lower), "{name} in lower case");
    }
    for sent in [&b""[..], b"GE", b"GETS", b"\xff", b"PROPFIND"] {
        let request = get("payment.secure", "/").with_method(sent);
        assert!(!holds(&mk_match().method(Method::Get), &request), "{}", sent.escape_ascii());
        assert!(holds(&mk_match(), &request), "any method: {}", sent.escape_ascii());
    }
}

#[test]
fn a_request_without_method_matches_none_that_asks_for_one() {
    let request = Asked { method: None, ..get("payment.secure", "/") };
    assert!(!holds(&mk_match().method(Method::Get), &request));
    assert!(holds(&mk_match(), &request));
}

#[test]
fn all_parts_of_a_match_must_hold() {
    let alternative = on_prefix("/a").method(Method::Get).header("x-a", "1").query("q", "1");
    let good = get("payment.secure", "/a?q=1").with_header("x-a", "1");
    assert!(holds(&alternative, &good), "all hold");
    let bad = [
        ("the path", good.clone().with_path("/b?q=1")),
        ("the method", good.clone().with_method("POST")),
        ("the header", Asked { headers: Vec::new(), ..good.clone() }),
        ("the query parameter", good.clone().with_path("/a")),
    ];
    for (message, request) in bad {
        assert!(!holds(&alternative, &request), "{message} does not hold");
    }
}

#[test]
fn a_rule_matches_where_any_of_its_matches_does() {
    let rules = [
        mk_rule(&[on_prefix("/foo").header("version", "v2"), on_prefix("/v2/foo")], &[to(V2)]),
        mk_rule(&[on_exact("/low")], &[to(LOW)]),
    ];
    let rows = [
        ("the first", get("payment.secure", "/foo").with_header("version", "v2"), "v2"),
        ("the second", get("payment.secure", "/v2/foo/x"), "v2"),
        ("another rule", get("payment.secure", "/low"), "low"),
        ("half of the first", get("payment.secure", "/foo"), "403 NoRuleMatched"),
        ("neither", get("payment.secure", "/v2"), "403 NoRuleMatched"),
    ];
    for (message, request, expected) in rows {
        assert_eq!(ask(&rules, &request), expected, "{message}");
    }
}

#[test]
fn a_rule_without_matches_matches_every_request() {
    let rules = [mk_rule(&[], &[to(HIGH)])];
    for request in [get("payment.secure", "/"), get("payment", "/a?q").with_method("DELETE").with_header("x", "y")] {
        assert_eq!(ask(&rules, &request), "high", "{request}");
    }
}
