//! RESOURCES, on a config whose envelope cannot be read; the wire format as it arrives by way of a
//! protobuf `Struct`.

use std::error::Error;

use mcwan_policy::{ConfigError, RouteTable, limits};
use serde_json::{Value, json};

use crate::common::{ask_table, get};

/// A config that says everything that can be said, once.
fn everything() -> Value {
    json!({
        "version": 1,
        "revision": 281_474_976_710_655_u64,
        "unknownHosts": "refuse",
        "imports": [{
            "namespace": "secure",
            "name": "payment",
            "hostnames": ["pay.example.com", "*.pay.example.com"],
            "noMatch": "notFound",
            "targets": [{"name": "high", "digest": "0123"}, {"name": "low", "digest": "4567"}],
            "rules": [
                {
                    "ports": [8080, 15021],
                    "matches": [{
                        "path": {"prefix": "/a"},
                        "method": "GET",
                        "headers": [{"name": "x-a", "value": {"exact": "1"}}],
                        "queryParams": [{"name": "q", "value": {"regex": "[0-9]+"}}]
                    }],
                    "actions": [
                        {"forward": {"target": 1, "weight": 3, "path": {"prefix": "/x"}}},
                        {"refuse": {"weight": 0, "reason": "BackendNotFound"}}
                    ]
                },
                {
                    "matches": [{"path": {"exact": "/b"}}],
                    "actions": [{"redirect": {
                        "weight": 2,
                        "status": 301,
                        "scheme": "https",
                        "hostname": "new.example.com",
                        "port": 8443,
                        "path": {"full": "/y"},
                        "headers": {
                            "set": [{"name": "x-set", "value": "1"}],
                            "add": [{"name": "x-add", "value": "2"}],
                            "remove": ["x-gone"]
                        }
                    }}]
                }
            ]
        }]
    })
}

fn table(config: &Value) -> Result<RouteTable, ConfigError> {
    RouteTable::from_json(config.to_string().as_bytes())
}

/// An error with its causes, as the filter logs it.
fn chain(error: &ConfigError) -> String {
    let causes = std::iter::successors(Some(error as &dyn Error), |error: &&dyn Error| (**error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Asserts that a table decides as the config of [`everything`] says.
#[track_caller]
fn check_decides(table: &RouteTable, message: &str) {
    let rows = [
        (get("payment", "/a/1?q=7").with_header("x-a", "1"), "low /x/1?q=7"),
        (get("b.pay.example.com", "/b"), "301 https://new.example.com:8443/y"),
        (get("pay.example.com", "/c"), "404 NoRuleMatched"),
        (get("elsewhere", "/"), "404 UnknownHost"),
    ];
    for (request, expected) in rows {
        assert_eq!(ask_table(table, &request).to_string(), expected, "{message}: {request}");
    }
}

#[test]
fn a_config_that_says_everything_compiles() {
    check_decides(&table(&everything()).expect("it is sound"), "as written");
}

#[test]
fn what_may_be_left_out_has_a_default() {
    let config = json!({"version": 1, "imports": [{
        "namespace": "secure",
        "name": "payment",
        "targets": [{"name": "high", "digest": "0123"}],
        "rules": [{"matches": [{"path": {"exact": "/a"}}], "actions": [{"forward": {"target": 0}}]}]
    }]});
    let table = table(&config).expect("it is sound");
    assert_eq!(table.revision(), None);
    let rows = [("payment", "/a", "high"), ("payment", "/b", "403 NoRuleMatched"), ("elsewhere", "/", "pass")];
    for (authority, path, expected) in rows {
        assert_eq!(ask_table(&table, &get(authority, path)).to_string(), expected, "{authority} {path}");
    }
}

#[test]
fn the_order_of_keys_means_nothing() {
    // A map of serde_json is sorted by key: `imports` comes before `version`.
    let sorted = everything().to_string();
    assert!(sorted.find("imports") < sorted.find("version"), "sorted");
    check_decides(&table(&everything()).expect("it is sound"), "imports first");

    let import = everything()["imports"][0].to_string();
    let ordered = format!(r#"{{"version":1,"unknownHosts":"refuse","imports":[{import}]}}"#);
    check_decides(&RouteTable::from_json(ordered.as_bytes()).expect("it is sound"), "the version first");
    let amid = format!(r#"{{"unknownHosts":"refuse","imports":[{import}],"version":1}}"#);
    check_decides(&RouteTable::from_json(amid.as_bytes()).expect("it is sound"), "the version last");
}

#[test]
fn white_space_means_nothing() {
    let pretty = serde_json::to_string_pretty(&everything()).expect("it prints");
    check_decides(&RouteTable::from_json(format!(" \r\n\t{pretty}\n").as_bytes()).expect("it is sound"), "pretty");
}

/// Turns every number into a double.
fn with_doubles(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64().expect("small numbers")),
        Value::Array(items) => items.into_iter().map(with_doubles).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, with_doubles(field))).collect(),
        other => other,
    }
}

#[test]
fn integers_may_be_doubles() {
    let doubles = with_doubles(everything());
    assert!(doubles.to_string().contains("1.0"), "a Struct prints its numbers so");
    check_decides(&table(&doubles).expect("it is sound"), "doubles");
}

#[test]
fn a_revision_is_kept_digit_by_digit() {
    for config in [everything(), with_doubles(everything())] {
        assert_eq!(table(&config).expect("it is sound").revision(), Some(limits::REVISIONS - 1), "{config}");
    }
    for revision in [json!(limits::REVISIONS), json!(-1), json!(1.5), json!("1"), json!(null)] {
        let mut config = everything();
        config["revision"] = revision.clone();
        assert!(table(&config).is_err(), "{revision}");
    }
}

#[test]
fn numbers_that_are_no_integers_of_their_size_are_refused() {
    let places = [
        ("version", "/version"),
        ("target", "/imports/0/rules/0/actions/0/forward/target"),
        ("weight", "/imports/0/rules/0/actions/0/forward/weight"),
        ("weight of a refusal", "/imports/0/rules/0/actions/1/refuse/weight"),
        ("weight of a redirect", "/imports/0/rules/1/actions/0/redirect/weight"),
        ("status", "/imports/0/rules/1/actions/0/redirect/status"),
        ("port", "/imports/0/rules/1/actions/0/redirect/port"),
    ];
    let bad = [
        json!(-1),
        json!(1.5),
        json!(-1.0),
        json!("1"),
        json!(true),
        json!([1]),
        json!(4_294_967_296_u64),
        json!(1e300),
    ];
    for (message, place) in places {
        for number in &bad {
            let mut config = everything();
            *config.pointer_mut(place).expect("it is there") = number.clone();
            assert!(table(&config).is_err(), "{message}: {number}");
        }
    }
    for (message, place) in &places[5..] {
        let mut config = everything();
        *config.pointer_mut(place).expect("it is there") = json!(65536);
        assert!(table(&config).is_err(), "{message}: 65536");
    }
}

#[test]
fn an_unknown_version_is_refused() {
    for version in [json!(0), json!(2), json!(2.0), json!(4_294_967_295_u64), json!(null)] {
        let mut config = everything();
        config["version"] = version.clone();
        assert!(table(&config).is_err(), "{version}");
    }
    for field in ["version", "imports"] {
        let mut config = everything();
        config.as_object_mut().expect("an object").remove(field);
        assert!(table(&config).is_err(), "without {field}");
    }
}

#[test]
fn an_unknown_field_is_refused_at_every_level() {
    let rule = "/imports/0/rules/0";
    let redirect = "/imports/0/rules/1/actions/0/redirect";
    let levels = [
        String::new(),
        "/imports/0".to_owned(),
        "/imports/0/targets/1".to_owned(),
        rule.to_owned(),
        format!("{rule}/matches/0"),
        format!("{rule}/matches/0/path"),
        format!("{rule}/matches/0/headers/0"),
        format!("{rule}/matches/0/headers/0/value"),
        format!("{rule}/matches/0/queryParams/0"),
        format!("{rule}/matches/0/queryParams/0/value"),
        format!("{rule}/actions/0"),
        format!("{rule}/actions/0/forward"),
        format!("{rule}/actions/0/forward/path"),
        format!("{rule}/actions/1/refuse"),
        redirect.to_owned(),
        format!("{redirect}/path"),
        format!("{redirect}/headers"),
        format!("{redirect}/headers/set/0"),
        format!("{redirect}/headers/add/0"),
    ];
    for level in levels {
        let mut config = everything();
        let object = config.pointer_mut(&level).and_then(Value::as_object_mut).expect("an object");
        object.insert("zonk".to_owned(), json!({"anything": []}));
        assert!(table(&config).is_err(), "{level}");
    }
}

#[test]
fn the_error_or_its_cause_names_an_unknown_field() {
    for level in ["", "/imports/0", "/imports/0/rules/1"] {
        let mut config = everything();
        config
            .pointer_mut(level)
            .and_then(Value::as_object_mut)
            .expect("an object")
            .insert("zonk".to_owned(), json!(1));
        let error = chain(&table(&config).expect_err("it is refused"));
        assert!(error.contains("zonk"), "{level}: {error}");
    }
}

#[test]
fn an_unknown_variant_is_refused() {
    let rows = [
        ("/unknownHosts", json!("drop")),
        ("/imports/0/noMatch", json!("teapot")),
        ("/imports/0/noMatch", json!(404)),
        ("/imports/0/rules/0/matches/0/method", json!("get")),
        ("/imports/0/rules/0/matches/0/method", json!("PROPFIND")),
        ("/imports/0/rules/0/matches/0/path", json!({"suffix": "/a"})),
        ("/imports/0/rules/0/matches/0/path", json!("/a")),
        ("/imports/0/rules/0/matches/0/headers/0/value", json!({"present": true})),
        ("/imports/0/rules/0/actions/0", json!({"mirror": {}})),
        ("/imports/0/rules/0/actions/0/forward/path", json!({"regex": "/a"})),
        ("/imports/0/rules/0/actions/1/refuse/reason", json!("Teapot")),
        ("/imports/0/rules/1/actions/0/redirect/scheme", json!("ftp")),
    ];
    for (place, variant) in rows {
        let mut config = everything();
        *config.pointer_mut(place).expect("it is there") = variant.clone();
        assert!(table(&config).is_err(), "{place}: {variant}");
    }
}

#[test]
fn what_must_be_there_must_be_there() {
    let rows = [
        ("/imports/0", "namespace"),
        ("/imports/0", "name"),
        ("/imports/0/targets/0", "name"),
        ("/imports/0/targets/0", "digest"),
        ("/imports/0/rules/0/matches/0/headers/0", "name"),
        ("/imports/0/rules/0/matches/0/headers/0", "value"),
        ("/imports/0/rules/0/actions/0/forward", "target"),
        ("/imports/0/rules/0/actions/1/refuse", "reason"),
        ("/imports/0/rules/1/actions/0/redirect", "status"),
    ];
    for (object, field) in rows {
        let mut config = everything();
        config.pointer_mut(object).and_then(Value::as_object_mut).expect("an object").remove(field);
        assert!(table(&config).is_err(), "{object} without {field}");
    }
}

#[test]
fn what_is_no_config_is_refused() {
    let rows: [(&str, &[u8]); 14] = [
        ("empty", b""),
        ("white space", b" \n"),
        ("no JSON", b"version: 1\nimports: []\n"),
        ("null", b"null"),
        ("a list", b"[]"),
        ("a number", b"1"),
        ("a string", br#""{}""#),
        ("an empty object", b"{}"),
        ("imports that are no list", br#"{"version":1,"imports":{}}"#),
        ("an import that is no object", br#"{"version":1,"imports":[1]}"#),
        ("a tail", br#"{"version":1,"imports":[]} x"#),
        ("a second config", br#"{"version":1,"imports":[]}{"version":1,"imports":[]}"#),
        ("a trailing comma", br#"{"version":1,"imports":[],}"#),
        ("a byte order mark", b"\xef\xbb\xbf{\"version\":1,\"imports\":[]}"),
    ];
    for (message, bytes) in rows {
        assert!(RouteTable::from_json(bytes).is_err(), "{message}");
    }
    assert!(RouteTable::from_json(br#"{"version":1,"imports":[]}"#).is_ok(), "the least that is one");
}

#[test]
fn a_truncated_config_is_refused_wherever_it_ends() {
    let whole = everything().to_string();
    for end in 0..whole.len() {
        assert!(RouteTable::from_json(&whole.as_bytes()[..end]).is_err(), "{}", &whole[..end]);
    }
}

#[test]
fn text_that_is_not_utf_8_is_refused() {
    let whole = everything().to_string();
    for (place, _) in whole.match_indices("payment").chain(whole.match_indices("/a")) {
        let mut bytes = whole.clone().into_bytes();
        bytes[place] = 0xff;
        assert!(RouteTable::from_json(&bytes).is_err(), "at {place}");
    }
}

#[test]
fn deep_nesting_is_refused_without_harm() {
    const DEEP: usize = 100_000;
    let rows = [
        ("lists", "[".repeat(DEEP)),
        ("objects", r#"{"a":"#.repeat(DEEP)),
        ("in the imports", format!(r#"{{"version":1,"imports":{}"#, "[".repeat(DEEP))),
        (
            "in an unknown field",
            format!(r#"{{"version":1,"imports":[],"x":{}{}}}"#, "[".repeat(DEEP), "]".repeat(DEEP)),
        ),
        (
            "in an import",
            format!(r#"{{"version":1,"imports":[{{"rules":{}{}}}]}}"#, "[".repeat(DEEP), "]".repeat(DEEP)),
        ),
    ];
    for (message, json) in rows {
        assert!(RouteTable::from_json(json.as_bytes()).is_err(), "{message}");
    }
}

#[test]
fn errors_are_sentences_in_lower_case() {
    for json in ["", "{}", r#"{"version":2,"imports":[]}"#, r#"{"version":1,"imports":[],"x":1}"#] {
        let error = RouteTable::from_json(json.as_bytes()).expect_err("it is refused").to_string();
        assert!(error.starts_with(char::is_lowercase), "{json}: {error}");
    }
}
