//! RESOURCES, "Bounds": what is over them is refused, never truncated. A bound on an import refuses
//! that import, with `TooLarge`; a bound on the config refuses the config.

use std::fmt::Write;

use mcwan_policy::wire::{Import, Match, PluginConfig, Rule, UnknownHosts, VERSION};
use mcwan_policy::{Budget, Excess, RouteTable};

use crate::common::{
    self, HIGH, MatchBuilder, ask_table, compile, get, mk_config, mk_import, mk_match, mk_open_import, mk_rule,
    on_exact, on_prefix, on_regex, to,
};

const NEIGHBOUR: &str = "stats.secure";

/// What `GET /a` gets from this import, whose neighbour must be unharmed.
#[track_caller]
fn beside_a_neighbour(import: Import) -> String {
    let table = compile(&mk_config(&[mk_open_import("secure/stats", &[]), import]));
    assert_eq!(ask_table(&table, &get(NEIGHBOUR, "/a")).to_string(), "high", "the neighbour");
    ask_table(&table, &get("payment.secure", "/a")).to_string()
}

/// An import that is as large as it may be answers as its rules say, one that is larger refuses.
#[track_caller]
fn check(message: &str, largest: Import, over: Import) {
    assert_eq!(beside_a_neighbour(largest), "high", "{message}: at the bound");
    assert_eq!(beside_a_neighbour(over), "500 TooLarge", "{message}: over the bound");
}

/// An import of some matches in one rule beside a rule for everything.
fn with_matches(matches: &[Match]) -> Import {
    mk_import("secure/payment", &[mk_rule(matches, &[to(HIGH)]), mk_rule(&[], &[to(HIGH)])])
}

#[test]
fn sixty_four_matches_a_rule() {
    let matches: Vec<Match> = (0..65).map(|index| on_exact(&format!("/m{index}"))).collect();
    check("matches", with_matches(&matches[..64]), with_matches(&matches));
}

#[test]
fn sixty_four_ports_a_rule() {
    let with_ports = |ports: std::ops::Range<u16>| {
        let rule = Rule { ports: ports.collect(), ..mk_rule(&[], &[to(HIGH)]) };
        mk_import("secure/payment", &[rule])
    };
    check("ports", with_ports(8_080..8_144), with_ports(8_080..8_145));
}

#[test]
fn sixteen_header_and_sixteen_query_matches_a_match() {
    let headers = |count| (0..count).fold(mk_match(), |done, index| done.header(&format!("x-{index}"), "1"));
    let params = |count| (0..count).fold(mk_match(), |done, index| done.query(&format!("q{index}"), "1"));
    check("headers", with_matches(&[headers(16)]), with_matches(&[headers(17)]));
    check("query parameters", with_matches(&[params(16)]), with_matches(&[params(17)]));
}

#[test]
fn path_values_of_1024_bytes() {
    let path = |length: usize| format!("/{}", "a".repeat(length - 1));
    check("exact", with_matches(&[on_exact(&path(1024))]), with_matches(&[on_exact(&path(1025))]));
    check("prefix", with_matches(&[on_prefix(&path(1024))]), with_matches(&[on_prefix(&path(1025))]));
}

#[test]
fn patterns_of_1024_bytes() {
    let ascii = |length: usize| "a".repeat(length);
    check("of a path", with_matches(&[on_regex(&ascii(1024))]), with_matches(&[on_regex(&ascii(1025))]));
    let header = |length| mk_match().header_regex("x-a", &ascii(length));
    check("of a header", with_matches(&[header(1024)]), with_matches(&[header(1025)]));
    let param = |length| mk_match().query_regex("q", &ascii(length));
    check("of a parameter", with_matches(&[param(1024)]), with_matches(&[param(1025)]));
    // Bytes, not characters.
    let wide = |count| on_regex(&"é".repeat(count));
    check("beyond ASCII", with_matches(&[wide(512)]), with_matches(&[wide(513)]));
}

#[test]
fn sixty_eight_hostnames_an_import() {
    let names: Vec<String> = (0..69).map(|index| format!("h{index}.example.com")).collect();
    let with = |names: &[String]| Import { hostnames: names.to_vec(), ..mk_open_import("secure/payment", &[]) };
    check("hostnames", with(&names[..68]), with(&names));
}

#[test]
fn ten_thousand_rules_in_one_import() {
    let rules = |count: usize| -> Vec<Rule> {
        (0..count).map(|index| mk_rule(&[on_prefix(&format!("/a/{index}"))], &[])).collect()
    };
    let everything = mk_rule(&[], &[to(HIGH)]);
    let with = |count: usize| mk_import("secure/payment", &[rules(count - 1), vec![everything.clone()]].concat());
    check("rules", with(10_000), with(10_001));
}

/// A config in JSON of these imports.
fn json(imports: &str) -> Vec<u8> {
    format!(r#"{{"version":1,"imports":[{imports}]}}"#).into_bytes()
}

/// A config in JSON of imports with the given numbers of rules.
fn json_of_imports(rules: impl IntoIterator<Item = usize>, rule: impl Fn(usize) -> String) -> Vec<u8> {
    let mut imports = String::new();
    let mut number = 0;
    for (index, count) in rules.into_iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        let rules: Vec<String> = (number..number + count).map(&rule).collect();
        number += count;
        write!(imports, r#"{separator}{{"namespace":"secure","name":"i{index}","rules":[{}]}}"#, rules.join(","))
            .expect("a string takes everything");
    }
    json(&imports)
}

#[test]
fn twenty_thousand_imports_a_config() {
    let config = |count| json_of_imports(std::iter::repeat_n(0, count), |_| String::new());
    let table = RouteTable::from_json(&config(20_000)).expect("at the bound");
    assert_eq!(ask_table(&table, &get("i19999.secure", "/")).to_string(), "403 NoRuleMatched");
    assert!(RouteTable::from_json(&config(20_001)).is_err(), "over the bound");
}

#[test]
fn forty_thousand_rules_a_config() {
    let config = |last| json_of_imports([10_000, 10_000, 10_000, last], |_| "{}".to_owned());
    let table = RouteTable::from_json(&config(10_000)).expect("at the bound");
    assert_eq!(common::ask_drawing(&table, &get("i3.secure", "/"), 0).to_string(), "500 NoBackend");
    let over = json_of_imports([10_000, 10_000, 10_000, 10_000, 1], |_| "{}".to_owned());
    assert!(RouteTable::from_json(&over).is_err(), "over the bound");
}

#[test]
fn four_thousand_and_ninety_six_patterns_a_config() {
    let pattern = |number: usize| format!(r#"{{"matches":[{{"path":{{"regex":"/r{number}"}}}}]}}"#);
    let table = RouteTable::from_json(&json_of_imports([2048, 2048], pattern)).expect("at the bound");
    assert_eq!(common::ask_drawing(&table, &get("i1.secure", "/r4095"), 0).to_string(), "500 NoBackend");
    assert!(RouteTable::from_json(&json_of_imports([2048, 2049], pattern)).is_err(), "over the bound");
}

#[test]
fn eight_mebibytes_a_config() {
    const LARGEST: usize = 8 * 1024 * 1024;
    let mut config = json(r#"{"namespace":"secure","name":"payment"}"#);
    config.resize(LARGEST, b' ');
    let table = RouteTable::from_json(&config).expect("at the bound");
    assert_eq!(ask_table(&table, &get("payment", "/")).to_string(), "403 NoRuleMatched");
    config.push(b' ');
    assert!(RouteTable::from_json(&config).is_err(), "over the bound");
}

#[test]
fn an_import_over_a_bound_answers_so_on_every_path() {
    let over = with_matches(&[on_regex(&"a".repeat(1025))]);
    let table = compile(&mk_config(&[over]));
    for path in ["/", "/a", "/elsewhere"] {
        assert_eq!(ask_table(&table, &get("payment", path)).to_string(), "500 TooLarge", "{path}");
    }
    assert_eq!(ask_table(&table, &get("payment", "*")).to_string(), "400 BadRequest", "the path comes first");
}

/// An import with so many rules, each with an expression that begins so.
fn mk_patterned(key: &str, count: usize, front: &str) -> Import {
    let rule = |number: usize| mk_rule(&[on_regex(&format!("/{front}{number}"))], &[to(HIGH)]);
    mk_import(key, &(0..count).map(rule).collect::<Vec<_>>())
}

#[test]
fn a_budget_takes_what_a_config_takes() {
    let bare = |key: &str, count: usize| mk_import(key, &vec![Rule::default(); count]);
    let four = |count| ["secure/a", "secure/b", "secure/c", "secure/d"].map(|key| bare(key, count));
    let [a, b] = ["secure/a", "secure/b"];
    // Each counts as all that one may take.
    let large = |number: usize| mk_rule(&[on_regex(&format!("[ac]{{999}}[ac]{{999}}[ac]{{999}}{number}"))], &[]);
    let large = |count: usize| mk_import(a, &(0..count).map(large).collect::<Vec<_>>());
    let unreadable = mk_import(b, &[mk_rule(&[on_regex("(")], &[])]);
    let table = [
        (vec![mk_patterned(a, 4_096, "r"), unreadable], Ok(()), "what is no expression takes no room"),
        (vec![large(128)], Ok(()), "the most bytes of expressions"),
        (vec![large(129)], Err(Excess::Alone), "one more of these"),
        (vec![mk_patterned(a, 4_096, "r")], Ok(()), "the most expressions"),
        (vec![mk_patterned(a, 4_097, "r")], Err(Excess::Alone), "one more"),
        (vec![mk_patterned(a, 4_096, "r"), mk_patterned(b, 4_096, "r")], Ok(()), "the same twice"),
        (vec![mk_patterned(a, 4_096, "r"), mk_patterned(b, 1, "s")], Err(Excess::Together), "one of another import"),
        (four(10_000).to_vec(), Ok(()), "the most rules"),
        ([&four(10_000)[..], &[bare("secure/e", 1)]].concat(), Err(Excess::Together), "one more rule"),
        (vec![bare(a, 10_001)], Ok(()), "over a bound of its own: it answers so by itself"),
        (vec![mk_patterned(a, 4_097, "r").too_large()], Ok(()), "what stands for an import that is too large"),
    ];
    for (imports, expected, message) in table {
        let mut budget = Budget::default();
        let taken = imports.iter().try_for_each(|import| budget.take(import));
        assert_eq!(taken, expected, "{message}");
        let json = serde_json::to_vec(&mk_config(&imports)).expect("a config prints");
        assert_eq!(RouteTable::from_json(&json).is_ok(), expected.is_ok(), "{message}: the config itself");
    }
}

#[test]
fn what_did_not_fit_takes_nothing() {
    let mut budget = Budget::default();
    budget.take(&mk_patterned("secure/a", 4_000, "r")).expect("it fits");
    assert_eq!(budget.take(&mk_patterned("secure/b", 97, "s")), Err(Excess::Together));
    assert_eq!(budget.take(&mk_patterned("secure/c", 96, "t")), Ok(()), "as if that had not been there");
}

#[test]
fn what_is_too_large_keeps_its_hosts_and_answers_so() {
    let hostnames = vec!["pay.example.com".to_owned(), "*.shop.example.com".to_owned(), "no host".to_owned()];
    let import = Import { hostnames, ..mk_patterned("secure/payment", 4_097, "r") }.too_large();
    let mut config: PluginConfig = mk_config(&[import]);
    config.unknown_hosts = UnknownHosts::Refuse;
    assert_eq!(config.version, VERSION, "a module of before reads it, too");
    let table = compile(&config);
    for host in ["payment.secure", "payment-clusterset", "pay.example.com", "a.shop.example.com"] {
        assert_eq!(ask_table(&table, &get(host, "/a")).to_string(), "500 TooLarge", "{host}");
    }
    assert_eq!(ask_table(&table, &get("stats.secure", "/a")).to_string(), "404 UnknownHost", "a host of nobody");
}
