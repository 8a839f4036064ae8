//! The routes behind the filter: a rule for each target, and none for a request that the filter did not steer.

use mcwan_policy::STEERING_HEADER;
use mcwan_policy::wire::Action;
use serde_json::{Value, json};

use crate::emit::object::{Kind, Object};
use crate::problem::Problem;
use crate::translate::{HeaderChanges, Import, Target, in_turn};

use super::backend::{self, Backend};
use super::draft::Draft;
use super::forwarding::{self, Unsayable};
use super::{gateway, names};

/// Rules of one `HTTPRoute` (Gateway API, `HTTPRouteSpec`).
const ROUTE_RULES: usize = 16;
/// Matches of all rules of one `HTTPRoute`.
const ROUTE_MATCHES: usize = 128;
/// Hostnames of one `HTTPRoute`.
const ROUTE_HOSTNAMES: usize = 16;

/// Adds the routes of an import whose requests the filter steers.
pub(super) fn steered(import: &Import, retained: &[Value], objects: &mut Vec<Object>, problems: &mut Vec<Problem>) {
    let hosts = [import.canonical_host()];
    for (port, listener) in gateway::served_ports(import, &mut Vec::new()) {
        let mut rules: Vec<_> = import
            .targets
            .iter()
            .enumerate()
            .map(|(index, target)| rule(import, index, target, port, problems))
            .collect();
        let values: Vec<_> = import.targets.iter().map(Target::steering_value).collect();
        let is_ours =
            |rule: &&Value| steering_value_of(rule).is_some_and(|value| values.iter().any(|own| own == value));
        rules.extend(retained.iter().filter(|rule| port_of(rule) == Some(port) && !is_ours(rule)).cloned());
        routes(import, names::EGRESS_GATEWAY, (port, listener), &hosts, rules, objects);
    }
}

/// What the steering header must be for a rule of an `HTTPRoute` of ours.
pub fn steering_value_of(rule: &Value) -> Option<&str> {
    let headers = rule.pointer("/matches/0/headers")?.as_array()?;
    let header = headers.iter().find(|header| header["name"] == STEERING_HEADER)?;
    header["value"].as_str()
}

/// The port that a rule of ours tells the far gateway; none: it sends nothing there.
fn port_of(rule: &Value) -> Option<u16> {
    let filters = rule.pointer("/backendRefs/0/filters")?.as_array()?;
    let set = filters.iter().filter_map(|filter| filter.pointer("/requestHeaderModifier/set")?.as_array()).flatten();
    set.filter(|header| header["name"] == mcwan_policy::PORT_HEADER)
        .find_map(|header| header["value"].as_str()?.parse().ok())
}

/// The rule of a target; without backends, so that it answers 500, if it asks for what no `HTTPRoute` can say.
fn rule(import: &Import, index: usize, target: &Target, port: u16, problems: &mut Vec<Problem>) -> Value {
    let forwarded = forward(import, target, port);
    let mut rule = forwarded.unwrap_or_else(|unsayable| {
        for rule in rules_of(import, index) {
            report(import, rule, &unsayable, problems);
        }
        json!({})
    });
    rule["name"] = rule_name(&target.name).into();
    rule["matches"] = json!([{
        "path": {"type": "PathPrefix", "value": "/"},
        "headers": [{"type": "Exact", "name": STEERING_HEADER, "value": target.steering_value()}],
    }]);
    rule
}

fn forward(import: &Import, target: &Target, port: u16) -> Result<Value, Unsayable> {
    let Target { destination, forwarding, .. } = target;
    // All in one place: a route's modifier and its only backend's are done in another order than those of several.
    let headers = HeaderChanges {
        request: in_turn(&forwarding.backend_headers.request, &forwarding.rule_headers.request),
        response: in_turn(&forwarding.backend_headers.response, &forwarding.rule_headers.response),
    };
    let filters = forwarding::filters(import, forwarding, &headers, forwarding.hostname.as_deref(), None, port)?;
    let backend = Backend { destination, weight: 1, headers: HeaderChanges::default() };
    let mut rule = json!({"backendRefs": backend::refs(import, &[backend], port)?});
    if !filters.is_empty() {
        rule["filters"] = filters.into();
    }
    if let Some(timeouts) = &forwarding.timeouts {
        rule["timeouts"] = json!(timeouts);
    }
    Ok(rule)
}

/// The rules that send requests to a target.
fn rules_of(import: &Import, target: usize) -> impl Iterator<Item = usize> {
    let takes = move |action: &Action| matches!(action, Action::Forward(forward) if usize::try_from(forward.target) == Ok(target));
    let rules = import.wire.rules.iter().enumerate();
    rules.filter(move |(_, rule)| rule.actions.iter().any(takes)).map(|(index, _)| index)
}

/// Reports what no `HTTPRoute` can say, once for each rule.
pub(super) fn report(import: &Import, rule: usize, unsayable: &Unsayable, problems: &mut Vec<Problem>) {
    let Unsayable { message } = unsayable;
    let problem = Problem::error(import.object.clone(), "UnsupportedFilter", message.as_ref());
    let problem = problem.at(format!("spec.http.rules[{rule}]"));
    if !problems.contains(&problem) {
        problems.push(problem);
    }
}

/// The name of a rule, which access logs show: what a target's name has and a rule's cannot becomes a dot.
fn rule_name(target: &str) -> String {
    target.replace([':', '~'], ".")
}

/// Adds `HTTPRoute`s that hold rules for hosts, as many as it takes.
pub(super) fn routes(
    import: &Import,
    gateway: &str,
    (port, listener): (u16, u16),
    hosts: &[String],
    rules: Vec<Value>,
    objects: &mut Vec<Object>,
) {
    let packs = pack(rules);
    let places = hosts.chunks(ROUTE_HOSTNAMES).flat_map(|hosts| packs.iter().map(move |rules| (hosts, rules)));
    for (number, (hosts, rules)) in places.enumerate() {
        let name = names::import_route(&import.wire.name, port, number);
        let draft = Draft::new(Kind::HttpRoute, &import.wire.namespace, name)
            .of_import(&import.wire.namespace, &import.wire.name)
            .owned_by(import.owner.as_ref());
        objects.push(draft.with(json!({
            "spec": {
                "parentRefs": [{
                    "group": "gateway.networking.k8s.io",
                    "kind": "Gateway",
                    "name": gateway,
                    "sectionName": names::listener(listener),
                }],
                "hostnames": hosts,
                "rules": rules,
            },
        })));
    }
}

/// Splits rules so that each part fits one `HTTPRoute`, in order.
pub(super) fn pack(rules: Vec<Value>) -> Vec<Vec<Value>> {
    let mut packs: Vec<Vec<Value>> = Vec::new();
    let mut matches = 0;
    for rule in rules {
        let more = rule["matches"].as_array().map_or(1, Vec::len);
        match packs.last_mut() {
            Some(pack) if pack.len() < ROUTE_RULES && matches + more <= ROUTE_MATCHES => {
                matches += more;
                pack.push(rule);
            }
            _ => {
                matches = more;
                packs.push(vec![rule]);
            }
        }
    }
    packs
}
