//! What came of each alternative of an import's rules, in words.

use mcwan_policy::Verdict;
use mcwan_policy::wire::{Match, PathMatch, Value, ValueMatch};

use crate::problem::Problem;
use crate::translate::{Import, Origin};

/// One alternative of a rule, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsideredAlternative {
    /// The index of the rule.
    pub rule: usize,
    /// The rule's name, where it has one.
    pub name: Option<String>,
    /// Where the rule was written, if not in the import's own resource.
    pub object: Option<String>,
    /// The index of the match; none for a rule without matches.
    pub alternative: Option<usize>,
    /// Whether this one was taken.
    pub taken: bool,
    /// Why, or why not.
    pub why: String,
}

impl ConsideredAlternative {
    /// `refusal`: why the request is refused by the rule that takes it, if it is.
    pub(super) fn new(considered: &mcwan_policy::Considered<'_>, import: &Import, refusal: Option<&str>) -> Self {
        let mcwan_policy::Considered { matched, verdict } = considered;
        let rule = import.wire.rules.get(matched.rule);
        let alternative = matched.alternative.and_then(|index| rule?.matches.get(index));
        let everything = Match::default();
        let refusal = refusal.filter(|_| *verdict == Verdict::Taken);
        let problems = refusal.into_iter().flat_map(|refusal| problems(import, matched.rule, refusal));
        let messages = problems.map(|problem| problem.message.clone());
        let why = why(verdict, rule.map_or(&[], |rule| &rule.ports), alternative.unwrap_or(&everything));
        Self {
            rule: matched.rule,
            name: import.rule_name(matched.rule).map(str::to_owned),
            object: import.rules.get(matched.rule).filter(|origin| *origin.object != import.object).map(Origin::place),
            alternative: matched.alternative,
            taken: *verdict == Verdict::Taken,
            why: [why].into_iter().chain(messages).collect::<Vec<_>>().join("; "),
        }
    }
}

/// What is wrong with a rule that requests are refused for. One that nobody wrote is the import's.
pub(super) fn problems<'i>(import: &'i Import, rule: usize, refusal: &str) -> impl Iterator<Item = &'i Problem> {
    let is_of_rule = move |problem: &Problem| match import.rules.get(rule) {
        Some(origin) => origin.has(problem),
        None => problem.object == import.object,
    };
    import.problems.iter().filter(move |problem| is_of_rule(problem) && problem.reason.to_string() == refusal)
}

fn why(verdict: &Verdict<'_>, ports: &[u16], alternative: &Match) -> String {
    match verdict {
        Verdict::Taken => "it matches, and no match ranks higher".to_owned(),
        Verdict::Outranked => "it matches, but another match ranks higher".to_owned(),
        Verdict::Path => format!("the path is not {}", path(alternative.path.as_ref())),
        Verdict::Port => format!("the port is not {}", one_of(ports)),
        Verdict::Method(method) => format!("the method is not {}", method.as_str()),
        Verdict::Header(name) => {
            let asked = alternative.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
            format!("no line of header {name} is {}", value(asked))
        }
        Verdict::QueryParam(name) => {
            let asked = alternative.query_params.iter().find(|param| param.name == *name);
            format!("query parameter {name} is not {}", value(asked))
        }
    }
}

fn one_of(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(" or ")
}

fn path(path: Option<&PathMatch>) -> String {
    match path {
        None => "under /".to_owned(),
        Some(PathMatch::Exact(exact)) => exact.clone(),
        Some(PathMatch::Prefix(prefix)) => format!("{prefix} or under it"),
        Some(PathMatch::RawPrefix(prefix)) => format!("under {prefix}"),
        Some(PathMatch::Regex(pattern)) => format!("matched by {pattern}"),
    }
}

fn value(asked: Option<&ValueMatch>) -> String {
    match asked.map(|asked| &asked.value) {
        Some(Value::Exact(exact)) => format!("{exact:?}"),
        Some(Value::Regex(pattern)) => format!("matched by {pattern}"),
        None => "as asked for".to_owned(),
    }
}
