//! Configurations that cannot be: refused whole where their envelope is bad, else as narrowly as is safe.

use mcwan_policy::limits;
use mcwan_wasm_tests::{Callback, Cause, Host, LogLevel};
use serde_json::{Value, json};

use super::config::{HIGH, LOW, always, config, host, import, load, payment, prefix, release, rule, to, with};
use super::outcome::FilterOutcome::Passed;
use super::outcome::{get, refused, steered};

/// The bytes are refused, and the log says in one line why.
fn assert_refused(what: &str, bytes: &[u8]) {
    let Err(failure) = Host::builder(&release()).load(bytes) else { panic!("{what}: want it refused") };
    assert_eq!(failure.callback, Callback::Configure, "{what}");
    assert!(matches!(failure.cause, Cause::Refused), "{what}: {failure:?}");
    let [line] = failure.trace.log.as_slice() else { panic!("{what}: want one line: {:?}", failure.trace.log) };
    assert_eq!(line.level, LogLevel::Error, "{what}");
    assert!(line.text.len() < 1_000, "{what}: {} bytes", line.text.len());
}

#[test]
fn an_envelope_that_cannot_be_read_is_refused() {
    let sound = config([payment()]);
    let text = sound.to_string();
    assert!(Host::builder(&release()).load(&text).is_ok());
    for (what, bytes) in [
        ("empty", Vec::new()),
        ("white space", b" \n".to_vec()),
        ("truncated", text.as_bytes()[..text.len() / 2].to_vec()),
        ("more than one value", [text.as_bytes(), b"{}"].concat()),
        ("not UTF-8", text.replace("secure", "s\u{ff}").into_bytes().iter().map(|byte| byte | 0x80).collect()),
        ("not UTF-8 in a string", [&br#"{"version":1,"imports":[],""#[..], b"\xff", br#"":1}"#].concat()),
        ("another value", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("no version", br#"{"imports":[]}"#.to_vec()),
        ("no imports", br#"{"version":1}"#.to_vec()),
        ("a field twice", br#"{"version":1,"version":1,"imports":[]}"#.to_vec()),
        ("a number that is none", br#"{"version":1e999,"imports":[]}"#.to_vec()),
        ("a negative number", br#"{"version":-1,"imports":[]}"#.to_vec()),
        ("an unknown field", with(sound.clone(), "extra", json!(1)).to_string().into_bytes()),
        ("an unknown version", with(sound.clone(), "version", json!(2)).to_string().into_bytes()),
        ("an unknown field of an import", config([with(payment(), "extra", json!(1))]).to_string().into_bytes()),
        ("a name that is no label", config([with(payment(), "name", json!("A.b"))]).to_string().into_bytes()),
        (
            "a weight that is no number",
            config([import("a", [always(json!({"forward": {"target": 0, "weight": "1"}}))])]).to_string().into_bytes(),
        ),
        (
            "an action of two kinds",
            config([import("a", [always(json!({"forward": {"target": 0}, "refuse": {"reason": "InvalidFilter"}}))])])
                .to_string()
                .into_bytes(),
        ),
    ] {
        assert_refused(what, &bytes);
    }
}

#[test]
fn an_unknown_version_is_named_whatever_else_is_there() {
    let future = json!({"version": 2, "imports": {"a": []}, "more": true}).to_string();
    let failure = Host::builder(&release()).load(future).err().expect("a failure");
    assert!(failure.trace.log[0].text.contains("version 2"), "{:?}", failure.trace.log);
}

#[test]
fn numbers_may_have_become_doubles() {
    let text = config([payment()]).to_string().replace("\"version\":1", "\"version\":1.0");
    let text = text.replace("\"target\":0", "\"target\":0e0");
    let mut host = Host::builder(&release()).load(text).expect("it loads");
    assert_eq!(get(&mut host, "payment", "/payment"), steered(HIGH));
}

#[test]
fn deep_nesting_is_refused() {
    for (open, close) in [("[", "]"), (r#"{"imports":"#, "}")] {
        for depth in [100, 1_000, 100_000] {
            assert_refused(
                &format!("{depth} times {open}"),
                (open.repeat(depth) + "1" + &close.repeat(depth)).as_bytes(),
            );
            assert_refused(&format!("{depth} times {open}, unclosed"), open.repeat(depth).as_bytes());
        }
    }
}

#[test]
fn a_config_over_a_bound_of_the_whole_is_refused() {
    let empty = |n: usize| json!({"namespace": "secure", "name": format!("s{n}")});
    let many_rules = |n: usize| with(empty(n), "rules", json!(vec![json!({}); limits::IMPORT_RULES]));
    let patterns = |from: usize, end: usize| {
        let rules = (from..end).map(|n| rule([json!({"path": {"regex": format!("/{n}")}})], [to(0)]));
        import(&format!("s{from}"), rules)
    };
    let padding = |size: usize| " ".repeat(size);
    let small = config([payment()]).to_string();
    let fits = padding(limits::CONFIG_BYTES - small.len()) + &small;
    assert!(Host::builder(&release()).load(&fits).is_ok(), "at the bound of bytes");
    assert_refused("bytes", (fits + " ").as_bytes());

    assert!(Host::builder(&release()).load(config((0..limits::IMPORTS).map(empty)).to_string()).is_ok());
    assert_refused("imports", config((0..=limits::IMPORTS).map(empty)).to_string().as_bytes());

    let full = limits::RULES / limits::IMPORT_RULES;
    assert!(Host::builder(&release()).load(config((0..full).map(many_rules)).to_string()).is_ok());
    let one_more = with(empty(full), "rules", json!([{}]));
    assert_refused("rules", config((0..full).map(many_rules).chain([one_more])).to_string().as_bytes());

    let half = limits::PATTERNS / 2;
    let at_bound = [patterns(0, half), patterns(half, limits::PATTERNS)];
    assert!(Host::builder(&release()).load(config(at_bound.clone()).to_string()).is_ok());
    let over = at_bound.into_iter().chain([patterns(limits::PATTERNS, limits::PATTERNS + 1)]);
    assert_refused("patterns", config(over).to_string().as_bytes());
}

/// A broken import answers 500 for this reason; one beside it and one after it are unharmed.
fn assert_broken_alone(what: &str, broken: Value, reason: &str) {
    let mut host = load(&config([payment(), broken, import("ledger", [always(to(1))])]));
    for path in ["/", "/fine"] {
        assert_eq!(get(&mut host, "broken.secure", path), refused(500, reason), "{what}");
    }
    assert_eq!(get(&mut host, "payment.secure", "/payment"), steered(HIGH), "{what}: the import before it");
    assert_eq!(get(&mut host, "ledger.secure", "/"), steered(LOW), "{what}: the import after it");
}

/// An import with a sound rule and one that has this match.
fn with_match(bad: Value) -> Value {
    import("broken", [rule([prefix("/fine")], [to(0)]), rule([bad], [to(0)])])
}

#[test]
fn a_match_that_cannot_be_read_breaks_its_import_alone() {
    let regex = |pattern: &str| json!({"path": {"regex": pattern}});
    for (what, bad) in [
        ("an expression that does not compile", regex("(")),
        ("one that RE2 reads differently", regex("(?x)a")),
        ("one that compiles to too much", regex("((a{50}){50}){50}")),
        ("one in a header", json!({"headers": [{"name": "a", "value": {"regex": "["}}]})),
        ("one in a query parameter", json!({"queryParams": [{"name": "a", "value": {"regex": "*"}}]})),
        ("a path without its slash", json!({"path": {"exact": "a"}})),
        ("a path that is not normal", prefix("/a/../b")),
        ("a header without a name", json!({"headers": [{"name": "", "value": {"exact": "1"}}]})),
    ] {
        assert_broken_alone(what, with_match(bad), "InvalidMatch");
    }
    assert_broken_alone("a hostname", with(with_match(prefix("/")), "hostnames", json!(["a b"])), "InvalidMatch");
}

#[test]
fn an_import_over_a_bound_breaks_alone() {
    let values = |count: usize| -> Vec<_> {
        (0..count).map(|n| json!({"name": format!("n{n}"), "value": {"exact": "1"}})).collect()
    };
    let hosts: Vec<_> = (0..=limits::WIRE_HOSTNAMES).map(|n| format!("h{n}.example.com")).collect();
    let long_path = format!("/{}", "a".repeat(limits::PATH_BYTES));
    for (what, broken) in [
        ("rules", with(with_match(prefix("/")), "rules", json!(vec![json!({}); limits::IMPORT_RULES + 1]))),
        ("matches", import("broken", [rule(vec![prefix("/a"); limits::RULE_MATCHES + 1], [to(0)])])),
        ("headers", with_match(json!({"headers": values(limits::MATCH_HEADERS + 1)}))),
        ("query parameters", with_match(json!({"queryParams": values(limits::MATCH_QUERY_PARAMS + 1)}))),
        ("hostnames", with(with_match(prefix("/")), "hostnames", json!(hosts))),
        ("a prefix", with_match(prefix(&long_path))),
        ("an exact path", with_match(json!({"path": {"exact": long_path}}))),
        ("a pattern", with_match(json!({"path": {"regex": "a".repeat(limits::PATTERN_BYTES + 1)}}))),
    ] {
        assert_broken_alone(what, broken, "TooLarge");
    }
}

#[test]
fn an_action_that_cannot_be_refuses_its_share_alone() {
    let redirect = |field: &str, value: Value| json!({"redirect": with(json!({"status": 301}), field, value)});
    for (what, action, reason) in [
        ("a target that is not there", to(9), "BackendNotFound"),
        ("a rewrite to no path", json!({"forward": {"target": 0, "path": {"full": "a"}}}), "InvalidFilter"),
        ("a status that is no redirect's", redirect("status", json!(200)), "InvalidFilter"),
        ("a hostname that is none", redirect("hostname", json!("a b")), "InvalidFilter"),
        ("port 0", redirect("port", json!(0)), "InvalidFilter"),
    ] {
        let rules = [rule([prefix("/a")], [action]), rule([prefix("/b")], [to(1)])];
        let mut host = host([import("payment", rules)]);
        assert_eq!(get(&mut host, "payment", "/a"), refused(500, reason), "{what}");
        assert_eq!(get(&mut host, "payment", "/b"), steered(LOW), "{what}: the rule beside it");
    }
}

#[test]
fn of_two_imports_with_one_host_the_older_has_it() {
    let with_host = |name: &str, target| {
        with(import(name, [always(to(target))]), "hostnames", json!(["pay.example.com", "ledger"]))
    };
    let mut host = host([with_host("payment", 0), with_host("ledger", 1)]);
    assert_eq!(get(&mut host, "pay.example.com", "/"), steered(HIGH));
    assert_eq!(get(&mut host, "ledger", "/"), steered(HIGH), "a host by name, claimed by an older import");
    assert_eq!(get(&mut host, "ledger.secure", "/"), steered(LOW), "a host that only the younger has");
    assert_eq!(get(&mut host, "else.example.com", "/"), Passed);
}
