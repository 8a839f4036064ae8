//! The routes behind the filter: a rule for each target, and none for a request that the filter did not steer.

use std::collections::{BTreeMap, BTreeSet};

use mcwan_policy::STEERING_HEADER;
use mcwan_policy::wire::Action;
use serde_json::{Value, json};

use crate::emit::object::{Kind, Object};
use crate::json::put;
use crate::kind;
use crate::problem::{FieldPath, MOST_TOLD, Problem, Reason};
use crate::translate::{HeaderChanges, Import, Target, in_turn};

use super::backend::{self, Backend};
use super::draft::Draft;
use super::forwarding::{self, Unsayable};
use super::gateway::is_secure;
use super::recovered::{Places, RecoveredRule};
use super::{gateway, names};

/// Rules of one `HTTPRoute` (Gateway API, `HTTPRouteSpec`).
const ROUTE_RULES: usize = 16;
/// Matches of all rules of one `HTTPRoute`.
const ROUTE_MATCHES: usize = 128;
/// Hostnames of one `HTTPRoute`.
const ROUTE_HOSTNAMES: usize = 16;

/// The routes of the versions of an import whose requests the filter steers, the newest first: every target of each, on
/// every port of each, as an older filter may steer what comes by a new port. A rule stays in the `HTTPRoute` that it
/// stands in. `newest` is the import as it is wanted, which may not have routes yet.
pub(super) fn steered(
    newest: &Import,
    versions: &[&Import],
    recovered: &[RecoveredRule],
    places: &mut Places,
    problems: &mut Vec<Problem>,
) -> Vec<Object> {
    // Those of no service keep their hosts, which no route need name: the steering header tells enough.
    let hosts: Vec<_> = newest.is_service().then(|| newest.canonical_host()).into_iter().collect();
    let (mut objects, mut stand) = (Vec::new(), Places::new());
    for (port, listener) in ports(versions, recovered) {
        let (mut rules, mut known) = (Vec::new(), BTreeSet::new());
        for (age, import) in versions.iter().enumerate() {
            for (index, target) in import.targets.iter().enumerate() {
                let value = target.steering_value();
                if !known.insert(value.clone()) {
                    continue;
                }
                // What is wrong with targets that the rules no longer name, nobody can mend.
                let mut old = Vec::new();
                let problems = if age == 0 { &mut *problems } else { &mut old };
                rules.push((value, rule(context(versions, import, target), import, index, target, port, problems)));
            }
        }
        for recovered in recovered.iter().filter(|recovered| recovered.port == port) {
            if known.insert(recovered.value.clone()) {
                rules.push((recovered.value.clone(), recovered.body.clone()));
            }
        }
        for (number, rules) in pack_in_place(rules, |(value, _)| places.get(&(port, value.clone())).copied()) {
            stand.extend(rules.iter().map(|(value, _)| ((port, value.clone()), number)));
            let rules: Vec<_> = rules.into_iter().map(|(_, rule)| rule).collect();
            objects.push(route(newest, (names::EGRESS_GATEWAY, port, listener), number, &hosts, rules));
        }
    }
    *places = stand;
    objects
}

/// The ports of versions of an import, with those of their listeners.
pub(super) fn ports(versions: &[&Import], recovered: &[RecoveredRule]) -> BTreeMap<u16, u16> {
    let served = versions.iter().flat_map(|import| gateway::served_ports(import, &mut Vec::new()));
    let recovered = recovered.iter().map(|rule| (rule.port, mcwan_policy::listener_port(rule.port)));
    recovered.chain(served).collect()
}

/// Of which version of an import the destinations are where they are now: the newest that has them.
fn context<'v>(versions: &[&'v Import], own: &'v Import, target: &Target) -> &'v Import {
    let mirrors = target.forwarding.mirrors.iter().map(|mirror| &mirror.destination);
    let destinations: Vec<_> = std::iter::once(&target.destination).chain(mirrors).collect();
    let has_all = |import: &Import| {
        let port = |import: &Import, destination| import.tier(destination).map(|tier| tier.port);
        destinations.iter().all(|destination| port(import, destination) == port(own, destination))
    };
    versions.iter().copied().find(|import| has_all(import)).unwrap_or(own)
}

/// The rule of a target; without backends, so that it answers 500, if it asks for what no `HTTPRoute` can say.
fn rule(
    context: &Import,
    import: &Import,
    index: usize,
    target: &Target,
    port: u16,
    problems: &mut Vec<Problem>,
) -> Value {
    let forwarded = forward(context, target, port);
    let mut rule = forwarded.unwrap_or_else(|unsayable| {
        for rule in rules_of(import, index) {
            report(import, rule, &unsayable, problems);
        }
        json!({})
    });
    put(&mut rule, "name", rule_name(&target.name));
    put(&mut rule, "matches", steered_to(&target.steering_value()));
    rule
}

/// The matches of a rule that takes what is steered to a target, and nothing else.
pub(super) fn steered_to(value: &str) -> Value {
    json!([{
        "path": {"type": "PathPrefix", "value": "/"},
        "headers": [{"type": "Exact", "name": STEERING_HEADER, "value": value}],
    }])
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
    let mut rule = json!({});
    put(&mut rule, "backendRefs", backend::refs(import, &[backend], port)?);
    if !filters.is_empty() {
        put(&mut rule, "filters", filters);
    }
    if let Some(timeouts) = &forwarding.timeouts {
        put(&mut rule, "timeouts", json!(timeouts));
    }
    Ok(rule)
}

/// The rules that send requests to a target.
fn rules_of(import: &Import, target: usize) -> impl Iterator<Item = usize> {
    let takes = move |action: &Action| action.targets().any(|taken| usize::try_from(taken) == Ok(target));
    let rules = import.wire.rules.iter().enumerate();
    rules.filter(move |(_, rule)| rule.actions.iter().any(takes)).map(|(index, _)| index)
}

/// Reports what no `HTTPRoute` can say, once for each rule.
pub(super) fn report(import: &Import, rule: usize, unsayable: &Unsayable, problems: &mut Vec<Problem>) {
    let Unsayable { message } = unsayable;
    let problem = import.rule_error(rule, FieldPath::root(), Reason::UnsupportedFilter, message.as_ref());
    let mut alike = problems.iter().filter(|known| known.object == problem.object);
    if alike.clone().count() < MOST_TOLD && alike.all(|known| *known != problem) {
        problems.push(problem);
    }
}

/// The name of a rule, which access logs show: what a target's name has and a rule's cannot becomes a dot.
fn rule_name(target: &str) -> String {
    target.replace([':', '~', '@'], ".")
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
        objects.push(route(import, (gateway, port, listener), number, hosts, rules.clone()));
    }
}

/// The `HTTPRoute` of this number for a port of an import, at a listener of a gateway.
fn route(
    import: &Import,
    (gateway, port, listener): (&str, u16, u16),
    number: usize,
    hosts: &[String],
    rules: Vec<Value>,
) -> Object {
    let name = names::import_route(&import.key.name, port, number);
    let draft = Draft::new(Kind::HttpRoute, &import.key.namespace, name).of_import(&import.key);
    let mut parent = kind::GATEWAY.reference(gateway);
    if is_secure(import, port) {
        // Each host has a listener of its own.
        put(&mut parent, "port", listener);
    } else {
        put(&mut parent, "sectionName", names::listener(listener));
    }
    let mut spec = json!({"parentRefs": [parent]});
    if !hosts.is_empty() {
        put(&mut spec, "hostnames", hosts);
    }
    put(&mut spec, "rules", rules);
    draft.with_spec(spec)
}

/// Splits rules of one match each so that each part fits one `HTTPRoute`, of which this is the number. A rule that has
/// a place keeps it: two routes are written one after the other, and what moves between them may be in neither for
/// a moment. The others go where there is room.
fn pack_in_place<R>(rules: Vec<R>, place: impl Fn(&R) -> Option<usize>) -> BTreeMap<usize, Vec<R>> {
    let mut packs: BTreeMap<usize, Vec<(usize, R)>> = BTreeMap::new();
    let mut others = Vec::new();
    for (index, rule) in rules.into_iter().enumerate() {
        let pack = place(&rule).map(|number| packs.entry(number).or_default());
        match pack.filter(|pack| pack.len() < ROUTE_RULES) {
            Some(pack) => pack.push((index, rule)),
            None => others.push((index, rule)),
        }
    }
    let mut number = 0;
    for rule in others {
        while packs.get(&number).is_some_and(|pack| pack.len() >= ROUTE_RULES) {
            number += 1;
        }
        packs.entry(number).or_default().push(rule);
    }
    // Within a route they are in the order in which they came, wherever they stood before.
    let in_order = |mut pack: Vec<(usize, R)>| {
        pack.sort_by_key(|(index, _)| *index);
        pack.into_iter().map(|(_, rule)| rule).collect()
    };
    packs.into_iter().map(|(number, pack)| (number, in_order(pack))).collect()
}

/// Splits rules so that each part fits one `HTTPRoute`, in order.
pub(super) fn pack(rules: Vec<Value>) -> Vec<Vec<Value>> {
    let mut packs: Vec<Vec<Value>> = Vec::new();
    let mut matches = 0;
    for rule in rules {
        let more = rule.get("matches").and_then(Value::as_array).map_or(1, Vec::len);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_rules(numbers: std::ops::Range<usize>) -> Vec<Value> {
        numbers.map(|number| json!({"name": number})).collect()
    }

    /// Where each rule is.
    fn places(packs: &BTreeMap<usize, Vec<Value>>) -> BTreeMap<u64, usize> {
        let rules = packs.iter().flat_map(|(place, rules)| rules.iter().map(move |rule| (rule, *place)));
        rules.map(|(rule, place)| (rule["name"].as_u64().unwrap(), place)).collect()
    }

    #[test]
    fn rules_without_a_place_fill_one_route_after_the_other() {
        let packs = pack_in_place(mk_rules(0..40), |_| None);
        assert_eq!(packs.into_values().collect::<Vec<_>>(), pack(mk_rules(0..40)));
    }

    #[test]
    fn a_rule_never_moves() {
        let mut rules = mk_rules(0..20);
        let mut before = places(&pack_in_place(rules.clone(), |_| None));
        for first in 20..60 {
            // New ones come in front, as targets of new rules do, and old ones go.
            rules.insert(0, json!({"name": first}));
            if first % 2 == 0 {
                rules.pop();
            }
            let packs = pack_in_place(rules.clone(), |rule| before.get(&rule["name"].as_u64().unwrap()).copied());
            assert!(packs.values().all(|pack| (1..=ROUTE_RULES).contains(&pack.len())));
            let after = places(&packs);
            assert_eq!(after.len(), rules.len());
            let moved = after.iter().filter(|(rule, place)| before.get(rule).is_some_and(|known| known != *place));
            assert_eq!(moved.count(), 0);
            before = after;
        }
    }
}
