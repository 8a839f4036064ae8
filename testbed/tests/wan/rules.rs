//! Rules that change, so that an answer tells by which of them it came.

use std::collections::BTreeMap;

use mcwan_testbed::echo::Seen;
use mcwan_testbed::load::LoadAnswer;
use serde_json::{Value, json};

use crate::scene::{HIGH, LOW};

/// The header by which an answer tells the target that it came by, and by which the upstream is told.
pub(crate) const TARGET: &str = "x-target";

/// The path that no rule allows.
pub(crate) const REFUSED: &str = "/refused";

/// So many rules never change: with those that do they are more than one `HTTPRoute` holds.
const FIXED: usize = 12;

/// The rules as they are at a time.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    /// The backends of each path that changes.
    backends: BTreeMap<&'static str, Vec<Backend>>,
    timeout: Option<&'static str>,
}

/// A backend, and the mark that its target puts on requests and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Backend {
    to: To,
    mark: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    High,
    Low,
    Canary,
}

/// Every path that is asked for.
pub(crate) fn paths() -> Vec<String> {
    let fixed = (0..FIXED).map(|number| format!("/fixed/{number}"));
    ["/payment", "/stats", REFUSED].map(str::to_owned).into_iter().chain(fixed).collect()
}

impl Rules {
    /// The rules after so many changes: targets are added and removed, given other headers and timeouts, shared
    /// between, and swapped.
    pub(crate) fn nth(number: usize, before: Option<&Self>) -> Self {
        let backend = |to: To| Backend { to, mark: format!("{to:?}-{number}") };
        let (payment, stats) = match (number % 5, before) {
            (1, _) => (vec![backend(To::High)], vec![backend(To::Canary)]),
            (2, _) => (vec![backend(To::Low)], vec![backend(To::High), backend(To::Low)]),
            // The targets stay: only the filter is told.
            (3, Some(before)) => (before.backends["/stats"].clone(), before.backends["/payment"].clone()),
            (4, _) => (vec![backend(To::Canary), backend(To::High)], vec![backend(To::High)]),
            _ => (vec![backend(To::High)], vec![backend(To::Low)]),
        };
        let timeout = match (number % 5, before) {
            (3, Some(before)) => before.timeout,
            _ => [None, Some("30s"), Some("60s")][number % 3],
        };
        Self { backends: [("/payment", payment), ("/stats", stats)].into(), timeout }
    }

    /// As an import has them.
    pub(crate) fn spec(&self) -> Value {
        let mut rules: Vec<_> = self.backends.iter().map(|(path, backends)| self.rule(path, backends)).collect();
        rules.extend((0..FIXED).map(|number| {
            let backend = Backend { to: To::Low, mark: format!("fixed-{number}") };
            self.rule(&format!("/fixed/{number}"), &[backend])
        }));
        json!(rules)
    }

    /// Whether other rules may answer a request for this path otherwise.
    pub(crate) fn changes(&self, path: &str) -> bool {
        self.backends.contains_key(path)
    }

    /// Whether they give this answer to a request for a path.
    pub(crate) fn gives(&self, path: &str, answer: &LoadAnswer) -> bool {
        self.allow(path, answer.status(), mark(answer).as_deref())
    }

    /// Whether they give an answer with this status and mark.
    pub(crate) fn allow(&self, path: &str, status: u16, mark: Option<&str>) -> bool {
        if path == REFUSED {
            return status == 403;
        }
        if let Some(number) = path.strip_prefix("/fixed/") {
            return status == 200 && mark == Some(&*format!("fixed-{number}"));
        }
        let Some(backends) = self.backends.get(path) else { return false };
        status == 200 && backends.iter().any(|backend| Some(&*backend.mark) == mark)
    }

    fn rule(&self, path: &str, backends: &[Backend]) -> Value {
        let mut rule = json!({"matches": [{"path": {"type": "Exact", "value": path}}],
            "backendRefs": backends.iter().map(Backend::spec).collect::<Vec<_>>()});
        if let (Some(timeout), true) = (self.timeout, self.changes(path)) {
            rule["timeouts"] = json!({"request": timeout});
        }
        rule
    }
}

impl Backend {
    fn spec(&self) -> Value {
        let mark = json!({"set": [{"name": TARGET, "value": self.mark}]});
        let filters = json!([
            {"type": "RequestHeaderModifier", "requestHeaderModifier": mark},
            {"type": "ResponseHeaderModifier", "responseHeaderModifier": mark},
        ]);
        match self.to {
            To::Canary => json!({"name": "canary", "port": 8080, "filters": filters}),
            To::High | To::Low => {
                let tier = if self.to == To::High { HIGH.0 } else { LOW.0 };
                json!({"group": "mc-wan.l7mp.io", "kind": "WANPolicy", "name": tier, "filters": filters})
            }
        }
    }
}

/// The port of the WAN that a request is due, by the mark of its target.
pub(crate) fn port(request: &Seen) -> Option<u16> {
    let (_, mark) = request.headers.iter().find(|(name, _)| name == TARGET)?;
    match mark.split('-').next()? {
        "High" => Some(HIGH.1),
        "Low" | "fixed" => Some(LOW.1),
        // It stays in its cluster.
        _ => Some(0),
    }
}

/// The target that an answer came by.
pub(crate) fn mark(answer: &LoadAnswer) -> Option<String> {
    let response = answer.outcome.as_ref().ok()?;
    Some(String::from_utf8_lossy(response.values(TARGET).next()?).into_owned())
}

/// Whether the upstream was told the same target as the client, and is the one that it leads to.
pub(crate) fn is_marked_throughout(answer: &LoadAnswer) -> bool {
    let Ok(response) = &answer.outcome else { return false };
    let (Some(seen), Some(mark), Some(name)) = (response.seen(), mark(answer), response.echo_name()) else {
        return false;
    };
    let told = seen.headers.iter().any(|(name, value)| name == TARGET && *value == mark);
    told && name.starts_with("cluster-2/") == mark.starts_with("Canary")
}
