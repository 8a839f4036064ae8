//! What the tests of this crate share: builders that let a test read as a document, a request that
//! counts what it is asked for, decisions in a form that can be compared, generators, and the naive
//! scan that the table is held against.

pub(crate) mod asked;
pub(crate) mod generate;
pub(crate) mod naive;
pub(crate) mod outcome;

use mcwan_policy::RouteTable;
use mcwan_policy::sla::Levels;
use mcwan_policy::wire::{
    Action, Forward, Import, Match, Method, NoMatch, PathMatch, PathRewrite, PluginConfig, Redirect, Refuse,
    RefuseReason, Rule, Serves, TargetConfig, UnknownHosts, VERSION, Value, ValueMatch, WanPath,
};

pub(crate) use self::asked::{Asked, get};
pub(crate) use self::outcome::TableOutcome;

/// Indices of the targets that every import of [`mk_import`] has; their names are `high`, `low` and `v2`.
pub(crate) const HIGH: u32 = 0;
pub(crate) const LOW: u32 = 1;
pub(crate) const V2: u32 = 2;

/// A config of these imports; hosts of none of them pass.
pub(crate) fn mk_config(imports: &[Import]) -> PluginConfig {
    PluginConfig {
        version: VERSION,
        revision: None,
        unknown_hosts: UnknownHosts::Pass,
        paths: Vec::new(),
        imports: imports.to_vec(),
    }
}

/// The import `NAMESPACE/NAME` with these rules.
pub(crate) fn mk_import(key: &str, rules: &[Rule]) -> Import {
    let (namespace, name) = key.split_once('/').expect("an import is named NAMESPACE/NAME");
    let target = |name: &str| TargetConfig { name: name.to_owned(), digest: format!("{name}-digest") };
    Import {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        serves: Serves::Service,
        hostnames: Vec::new(),
        no_match: NoMatch::Forbidden,
        targets: vec![target("high"), target("low"), target("v2")],
        rules: rules.to_vec(),
    }
}

/// An import that sends everything to its target `high`.
pub(crate) fn mk_open_import(key: &str, hostnames: &[&str]) -> Import {
    let hostnames = hostnames.iter().map(ToString::to_string).collect();
    Import { hostnames, ..mk_import(key, &[mk_rule(&[], &[to(HIGH)])]) }
}

pub(crate) fn mk_rule(matches: &[Match], actions: &[Action]) -> Rule {
    Rule { matches: matches.to_vec(), actions: actions.to_vec(), ..Rule::default() }
}

pub(crate) fn mk_match() -> Match {
    Match::default()
}

pub(crate) fn on_exact(path: &str) -> Match {
    Match { path: Some(PathMatch::Exact(path.to_owned())), ..mk_match() }
}

pub(crate) fn on_prefix(path: &str) -> Match {
    Match { path: Some(PathMatch::Prefix(path.to_owned())), ..mk_match() }
}

pub(crate) fn on_raw_prefix(path: &str) -> Match {
    Match { path: Some(PathMatch::RawPrefix(path.to_owned())), ..mk_match() }
}

pub(crate) fn on_regex(path: &str) -> Match {
    Match { path: Some(PathMatch::Regex(path.to_owned())), ..mk_match() }
}

/// Adds conditions to a match.
pub(crate) trait MatchBuilder {
    fn method(self, method: Method) -> Match;
    fn header(self, name: &str, value: &str) -> Match;
    fn header_regex(self, name: &str, pattern: &str) -> Match;
    fn query(self, name: &str, value: &str) -> Match;
    fn query_regex(self, name: &str, pattern: &str) -> Match;
}

impl MatchBuilder for Match {
    fn method(mut self, method: Method) -> Match {
        self.method = Some(method);
        self
    }

    fn header(mut self, name: &str, value: &str) -> Match {
        self.headers.push(mk_value_match(name, Value::Exact(value.to_owned())));
        self
    }

    fn header_regex(mut self, name: &str, pattern: &str) -> Match {
        self.headers.push(mk_value_match(name, Value::Regex(pattern.to_owned())));
        self
    }

    fn query(mut self, name: &str, value: &str) -> Match {
        self.query_params.push(mk_value_match(name, Value::Exact(value.to_owned())));
        self
    }

    fn query_regex(mut self, name: &str, pattern: &str) -> Match {
        self.query_params.push(mk_value_match(name, Value::Regex(pattern.to_owned())));
        self
    }
}

pub(crate) fn mk_value_match(name: &str, value: Value) -> ValueMatch {
    ValueMatch { name: name.to_owned(), value }
}

/// Forwards to a target, with weight 1 and the path as it is.
pub(crate) fn to(target: u32) -> Action {
    Action::Forward(Forward { target, weight: 1, path: None })
}

/// Refuses, with weight 1.
pub(crate) fn refuse(reason: RefuseReason) -> Action {
    Action::Refuse(Refuse::new(1, reason))
}

/// A path of a tier to a cluster, for the imports of namespace `secure`.
pub(crate) fn mk_path(tier: &str, cluster: &str) -> WanPath {
    WanPath {
        tier: tier.to_owned(),
        cluster: cluster.to_owned(),
        namespace: "secure".to_owned(),
        latency_ms: Some(50),
        jitter_ms: None,
        loss_ppm: Some(5_000),
        interval_ms: 1_000,
        envoy_cluster: format!("outbound|31111||payment-secure-{tier}-{cluster}.mc-wan.svc.cluster.local"),
    }
}

/// A redirect with 302 that changes nothing, with weight 1.
pub(crate) fn mk_redirect() -> Redirect {
    Redirect {
        weight: 1,
        status: 302,
        scheme: None,
        hostname: None,
        port: None,
        path: None,
        headers: mcwan_policy::wire::HeaderModifier::default(),
    }
}

pub(crate) fn full(path: &str) -> PathRewrite {
    PathRewrite::Full(path.to_owned())
}

pub(crate) fn replacing_prefix(path: &str) -> PathRewrite {
    PathRewrite::Prefix(path.to_owned())
}

/// Changes an action.
pub(crate) trait ActionBuilder {
    fn weighing(self, weight: u32) -> Action;
    fn rewriting(self, path: PathRewrite) -> Action;
}

impl ActionBuilder for Action {
    fn weighing(mut self, weight: u32) -> Action {
        match &mut self {
            Action::Forward(forward) => forward.weight = weight,
            Action::Redirect(redirect) => redirect.weight = weight,
            Action::Choose(choose) => choose.weight = weight,
            Action::Refuse(refuse) => refuse.weight = weight,
        }
        self
    }

    fn rewriting(mut self, path: PathRewrite) -> Action {
        match &mut self {
            Action::Forward(forward) => forward.path = Some(path),
            Action::Redirect(redirect) => redirect.path = Some(path),
            Action::Choose(choose) => choose.path = Some(path),
            Action::Refuse(_) => unreachable!("a refusal rewrites nothing"),
        }
        self
    }
}

/// Compiles a config by way of its JSON, as the filter does.
pub(crate) fn compile(config: &PluginConfig) -> RouteTable {
    let json = serde_json::to_vec(config).expect("a config prints");
    RouteTable::from_json(&json).expect("the envelope is sound")
}

/// What the table does with a request whose decision must not depend on a draw.
pub(crate) fn ask_config(config: &PluginConfig, request: &Asked) -> TableOutcome {
    ask_table(&compile(config), request)
}

/// As [`ask_config`], with the table already compiled.
pub(crate) fn ask_table(table: &RouteTable, request: &Asked) -> TableOutcome {
    let Ok(decision) = table.decide(request, Levels::ALL_IN, || panic!("nothing is to be drawn for {request}"));
    TableOutcome::of(&decision, request)
}

/// What a draw does to a request.
pub(crate) fn ask_drawing(table: &RouteTable, request: &Asked, draw: u64) -> TableOutcome {
    let Ok(decision) = table.decide(request, Levels::ALL_IN, || draw);
    TableOutcome::of(&decision, request)
}

/// What these rules, those of the import `secure/payment`, do with a request: see [`TableOutcome`]'s `Display`.
pub(crate) fn ask(rules: &[Rule], request: &Asked) -> String {
    ask_config(&mk_config(&[mk_import("secure/payment", rules)]), request).to_string()
}

/// Whether a match alone holds for a request.
pub(crate) fn holds(alternative: &Match, request: &Asked) -> bool {
    let outcome = ask(&[mk_rule(std::slice::from_ref(alternative), &[to(HIGH)])], request);
    match outcome.as_str() {
        "high" => true,
        "403 NoRuleMatched" => false,
        other => panic!("{alternative:?} on {request}: {other}"),
    }
}
