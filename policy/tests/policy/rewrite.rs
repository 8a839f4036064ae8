//! Gateway API, `HTTPPathModifier`, on a request that is forwarded.

use mcwan_policy::wire::{Match, PathRewrite};

use crate::common::{
    ActionBuilder, HIGH, LOW, MatchBuilder, ask, full, get, mk_match, mk_rule, on_exact, on_prefix, on_regex,
    replacing_prefix, to,
};

/// The outcome of a rule of one match with one rewrite.
fn rewritten(alternative: &Match, rewrite: PathRewrite, path: &str) -> String {
    let rule = mk_rule(std::slice::from_ref(alternative), &[to(HIGH).rewriting(rewrite)]);
    ask(&[rule], &get("payment.secure", path))
}

/// Request path, prefix, replacement, new path.
#[track_caller]
fn check_prefix(rows: &[(&str, &str, &str, &str)]) {
    for (path, prefix, replacement, expected) in rows {
        let expected = if expected == path { "high".to_owned() } else { format!("high {expected}") };
        let outcome = rewritten(&on_prefix(prefix), replacing_prefix(replacement), path);
        assert_eq!(outcome, expected, "{path} on {prefix} to {replacement:?}");
    }
}

#[test]
fn replace_prefix_match_does_as_the_table_of_gateway_api_says() {
    check_prefix(&[
        ("/foo/bar", "/foo", "/xyz", "/xyz/bar"),
        ("/foo/bar", "/foo", "/xyz/", "/xyz/bar"),
        ("/foo/bar", "/foo/", "/xyz", "/xyz/bar"),
        ("/foo/bar", "/foo/", "/xyz/", "/xyz/bar"),
        ("/foo", "/foo", "/xyz", "/xyz"),
        ("/foo/", "/foo", "/xyz", "/xyz/"),
        ("/foo/bar", "/foo", "", "/bar"),
        ("/foo/", "/foo", "", "/"),
        ("/foo", "/foo", "", "/"),
        ("/foo/", "/foo", "/", "/"),
        ("/foo", "/foo", "/", "/"),
    ]);
}

#[test]
fn replace_prefix_match_keeps_what_follows_the_prefix_byte_for_byte() {
    check_prefix(&[
        ("/foo/bar", "/foo", "/", "/bar"),
        ("/foo/bar/", "/foo", "/xyz", "/xyz/bar/"),
        ("/foo//bar", "/foo", "/xyz", "/xyz//bar"),
        ("/foo/%2Fb%20r", "/foo", "/xyz", "/xyz/%2Fb%20r"),
        ("/foo/foo", "/foo", "/xyz", "/xyz/foo"),
        ("/foo/bar", "/foo", "/foo", "/foo/bar"),
        ("/foo/bar", "/foo", "/a/b/c", "/a/b/c/bar"),
        ("/foo", "/foo/", "/xyz/", "/xyz"),
        ("/a/b", "/", "/xyz", "/xyz/a/b"),
        ("/a/b", "/", "/xyz/", "/xyz/a/b"),
        ("/", "/", "/xyz", "/xyz/"),
        ("/a", "/", "", "/a"),
        ("/", "/", "", "/"),
    ]);
}

#[test]
fn the_query_is_kept() {
    check_prefix(&[
        ("/foo/bar?q=1&q=2", "/foo", "/xyz", "/xyz/bar?q=1&q=2"),
        ("/foo?q=/foo", "/foo", "/xyz", "/xyz?q=/foo"),
        ("/foo?", "/foo", "", "/?"),
        ("/foo?a?b", "/foo", "/", "/?a?b"),
    ]);
    assert_eq!(rewritten(&on_prefix("/foo"), full("/xyz"), "/foo/bar?q=1"), "high /xyz?q=1");
    assert_eq!(rewritten(&on_prefix("/foo"), full("/"), "/foo?"), "high /?");
}

#[test]
fn replace_full_path_replaces_the_path_whatever_matched() {
    let rows = [
        ("exact", on_exact("/foo/bar")),
        ("prefix", on_prefix("/foo")),
        ("regular expression", on_regex("/foo.*")),
        ("no path", mk_match()),
    ];
    for (message, alternative) in rows {
        assert_eq!(rewritten(&alternative, full("/x/y/"), "/foo/bar"), "high /x/y/", "{message}");
        assert_eq!(rewritten(&alternative, full("/foo/bar"), "/foo/bar"), "high", "{message}: to itself");
    }
}

#[test]
fn replace_prefix_match_counts_no_path_as_the_prefix_of_one_slash() {
    assert_eq!(rewritten(&mk_match(), replacing_prefix("/xyz"), "/foo/bar?q"), "high /xyz/foo/bar?q");
    let rule = mk_rule(&[], &[to(HIGH).rewriting(replacing_prefix("/xyz"))]);
    assert_eq!(ask(&[rule], &get("payment.secure", "/foo")), "high /xyz/foo", "a rule without matches");
}

#[test]
fn replace_prefix_match_on_another_kind_of_path_is_invalid() {
    for alternative in [on_exact("/foo"), on_regex("/foo")] {
        let outcome = rewritten(&alternative, replacing_prefix("/xyz"), "/foo");
        assert_eq!(outcome, "500 InvalidFilter", "{alternative:?}");
    }
}

#[test]
fn the_prefix_that_is_replaced_is_that_of_the_match_that_was_taken() {
    let rule = mk_rule(
        &[on_prefix("/a"), on_prefix("/a/b"), on_prefix("/c").header("x-a", "1")],
        &[to(HIGH).rewriting(replacing_prefix("/x"))],
    );
    let rows = [("/a/c", "high /x/c"), ("/a/b/c", "high /x/c"), ("/a/bc", "high /x/bc"), ("/c/d", "403 NoRuleMatched")];
    for (path, expected) in rows {
        assert_eq!(ask(std::slice::from_ref(&rule), &get("payment.secure", path)), expected, "{path}");
    }
}

#[test]
fn each_action_has_its_own_rewrite() {
    let rules = [
        mk_rule(&[on_prefix("/a")], &[to(HIGH).rewriting(replacing_prefix("/x"))]),
        mk_rule(&[on_prefix("/b")], &[to(LOW).rewriting(full("/y"))]),
        mk_rule(&[on_prefix("/c")], &[to(LOW)]),
    ];
    for (path, expected) in [("/a/1", "high /x/1"), ("/b/1", "low /y"), ("/c/1", "low")] {
        assert_eq!(ask(&rules, &get("payment.secure", path)), expected, "{path}");
    }
}

#[test]
fn a_replacement_that_cannot_be_a_path_is_invalid() {
    let never = [
        "x",
        "x/y",
        "http://a.example",
        "/x?q=1",
        "/x?",
        "/x#y",
        "/x y",
        "/x\ty",
        "/x\r\ny",
        "/x\0",
        "/é",
        "?q",
        "#",
        " /x",
    ];
    for value in never {
        for rewrite in [full(value), replacing_prefix(value)] {
            let outcome = rewritten(&on_prefix("/foo"), rewrite.clone(), "/foo/bar");
            assert_eq!(outcome, "500 InvalidFilter", "{rewrite:?}");
        }
    }
    assert_eq!(rewritten(&on_prefix("/foo"), full(""), "/foo/bar"), "500 InvalidFilter", "no full path is empty");
}

#[test]
fn a_replacement_may_hold_every_other_character() {
    let sound = r#"/x /x/ / /x%20y /x;v=1 /-._~!$&'()*+,=:@ /a//b /%zz /{id} /[id] /a|b /a"b /a\b /<a> /a^b /a`b"#;
    let refused = |rewrite: PathRewrite| rewritten(&on_prefix("/foo"), rewrite, "/foo") == "500 InvalidFilter";
    let refused: Vec<_> =
        sound.split(' ').filter(|value| refused(full(value)) || refused(replacing_prefix(value))).collect();
    assert!(refused.is_empty(), "{refused:?}");
}

#[test]
fn a_path_that_is_not_utf_8_is_rewritten_all_the_same() {
    let rule = mk_rule(&[on_prefix("/foo")], &[to(HIGH).rewriting(replacing_prefix("/xyz"))]);
    let request = get("payment.secure", "").with_path(*b"/foo/\xff?\xfe");
    assert_eq!(ask(&[rule], &request), r"high /xyz/\xff?\xfe");
}
