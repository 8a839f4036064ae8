//! One import, step by step.

use std::collections::BTreeSet;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use kube::Client;
use mcwan_core::api::{REGISTRY_NAMESPACE, TIER_NAMESPACE};
use mcwan_core::emit::kubernetes::FilterKind;
use mcwan_core::emit::kubernetes::names::{EGRESS_GATEWAY, NATIVE_EGRESS_GATEWAY, clusterset_service};
use mcwan_core::liveness::Liveness;
use mcwan_core::problem::Reason;
use mcwan_core::snapshot::Key;
use mcwan_core::translate::gateway_pods::{gateway_of, is_over, is_ready};
use mcwan_core::translate::{Destination, Import, Origin, Source};
use serde::Serialize;
use serde_json::Value;

use super::found::Found;
use super::import;
use super::leader::Leader;
use super::verdicts::{self, Step};
use crate::cli::cluster::{SYSTEM_NAMESPACE, World};
use crate::cli::report::printable;

const OK: Style = AnsiColor::Green.on_default();
const BROKEN: Style = AnsiColor::Red.on_default().bold();

/// What to do where something that the controller makes is not there.
const SEE_THE_LOG: &str = "the controller makes it: see its log, and the condition Programmed";

/// The way of a request to an import, step by step.
#[derive(Debug, Serialize)]
pub(super) struct Chain {
    namespace: String,
    name: String,
    /// Whether no step is broken.
    pub(super) ok: bool,
    steps: Vec<Step>,
}

impl Chain {
    /// Looks at every step.
    pub(super) async fn of(client: &Client, world: &World, leader: &Leader, import: &Import) -> anyhow::Result<Self> {
        let Key { namespace, name } = &import.key;
        let is_native = import::data_plane(import, world) == "Native";
        let gateway = if is_native { NATIVE_EGRESS_GATEWAY } else { EGRESS_GATEWAY };
        let filter = world.environment.filter_kind();
        let found = Found::read(client, namespace, name, gateway, filter).await?;
        let mut steps = vec![controller(leader)];
        steps.extend(exports(world, import));
        steps.extend(connections(world, import));
        for tier in import.tiers.iter().filter(|tier| tier.remote().next().is_some()) {
            steps.push(tier_service(&found, &tier.service, tier.port));
            steps.push(endpoints(&found, &tier.service));
        }
        let direct = import.direct.iter().map(|direct| direct.port.to_string());
        steps.extend(direct.map(|port| Step::ok("port", format!("{port} leads straight to pods"))));
        // Without HTTP, no request goes through a gateway.
        if !import.ports.is_empty() || import.direct.is_empty() {
            steps.extend(routes(&found));
            if !is_native {
                steps.push(plugin(&found, filter, import));
            }
            steps.push(pods(world, &found, namespace, gateway));
        }
        steps.extend(name_and_address(world, &found, import));
        steps.extend(Origin::places(&import.rules).into_iter().map(|place| Step::ok("rules", place)));
        steps.extend(verdicts::of(world, import));
        let ok = steps.iter().all(|step| step.ok);
        Ok(Self { namespace: namespace.to_string(), name: name.to_string(), ok, steps })
    }

    /// Prints a line for each step, and what to do below.
    pub(super) fn text(&self, out: &mut impl Write) -> io::Result<()> {
        for Step { stage, ok, message, hint } in &self.steps {
            let (style, word) = if *ok { (OK, "ok") } else { (BROKEN, "broken") };
            writeln!(out, "{style}{word:<6}{style:#}  {stage:<12}  {}", printable(message))?;
            if let Some(hint) = hint {
                writeln!(out, "{:22}hint: {}", "", printable(hint))?;
            }
        }
        let broken = self.steps.iter().filter(|step| !step.ok).count();
        match broken {
            0 => writeln!(out, "{}/{} works", self.namespace, self.name),
            _ => writeln!(out, "{}/{}: {broken} of {} steps broken", self.namespace, self.name, self.steps.len()),
        }
    }
}

fn controller(leader: &Leader) -> Step {
    match (leader, leader.is_missing()) {
        (_, Some(missing)) => Step::broken("controller", missing.what, missing.hint),
        (Leader::Is(holder), None) => Step::ok("controller", format!("{holder} leads")),
        (_, None) => Step::ok("controller", format!("not known: namespace {SYSTEM_NAMESPACE} is not for you to see")),
    }
}

/// What the clusters export, and over which tiers.
fn exports(world: &World, import: &Import) -> Vec<Step> {
    let (namespace, name) = (&import.wire.namespace, &import.wire.name);
    let exports = world.translator.exports();
    let mut steps: Vec<_> = exports
        .sources(namespace, name)
        .map(|source| {
            if source.is_own {
                let what = format!("{}, this cluster: {} ready pods", source.cluster, source.ready_pods);
                return match source.ready_pods {
                    0 => Step::broken("export", what, format!("start the pods of {name}")),
                    _ => Step::ok("export", what),
                };
            }
            let gateways: Vec<_> = source.gateways.iter().map(ToString::to_string).collect();
            let what =
                format!("{}: {} ready pods, gateways at {}", source.cluster, source.ready_pods, gateways.join(", "));
            if source.liveness == Liveness::Stale {
                let hint = format!("is the controller of {} at work, and does it reach the registry?", source.cluster);
                return Step::broken("export", format!("{what}; it is not seen to renew its Lease"), hint);
            }
            match (gateways.is_empty(), source.ready_pods) {
                (true, _) => Step::broken(
                    "export",
                    format!("{}: no ingress gateway has an address", source.cluster),
                    format!("see `kubectl get gateways,pods -n {namespace}` in {}", source.cluster),
                ),
                (false, 0) => Step::broken("export", what, format!("start the pods of {name} in {}", source.cluster)),
                (false, _) => Step::ok("export", what),
            }
        })
        .collect();
    let unused = import.export_problems.iter().filter(|problem| problem.reason != Reason::NoAddress);
    steps.extend(unused.map(|problem| {
        let hint =
            problem.hint.clone().unwrap_or_else(|| format!("see `kubectl get wanclusters -n {REGISTRY_NAMESPACE}`"));
        Step::broken("export", format!("{}: {} ({})", problem.object, problem.message, problem.reason), hint)
    }));
    let has_source = exports.sources(namespace, name).next().is_some();
    let is_local = import.targets.iter().all(|target| matches!(target.destination, Destination::Service { .. }));
    if steps.is_empty() && is_local && !import.targets.is_empty() {
        steps.push(Step::ok("export", "none is needed: the rules name Services of this cluster only"));
    } else if steps.is_empty() {
        let hint =
            format!("create a ServiceExport {name} in namespace {namespace} of the cluster that runs the service");
        steps.push(Step::broken("export", format!("no cluster exports {namespace}/{name}"), hint));
    }
    if has_source && !is_local && import.own_tiers().next().is_none() {
        let hint = "create a WANPolicy of the same name and port here and there";
        steps.push(Step::broken("tier service", "no tier is the same here and in an exporting cluster", hint));
    }
    steps
}

/// Which policy says over which tiers each of these clusters can be called; nothing where none says anything.
fn connections(world: &World, import: &Import) -> Vec<Step> {
    let exports = world.translator.exports();
    let sources = exports.sources(&import.wire.namespace, &import.wire.name).filter(|source| !source.is_own);
    let step = |source: &Source| {
        let Source { cluster, .. } = source;
        let connection = exports.connection(cluster)?;
        let is_told = connection.policy.is_some() || !connection.conflicting.is_empty();
        let tiers: Vec<_> = connection.permitted().map(|tier| &*tier.name).collect();
        let basis = connection.basis();
        is_told.then(|| match connection.why_none() {
            None => Step::ok("connection", format!("{cluster} by {}: {basis}", tiers.join(", "))),
            Some(reason) => {
                let hint = format!("see `mcwan clusters {cluster}`");
                Step::broken("connection", format!("{cluster} by no tier: {basis} ({reason})"), hint)
            }
        })
    };
    sources.filter_map(step).collect()
}

fn tier_service(found: &Found, service: &str, port: u16) -> Step {
    if found.services.iter().any(|known| name_of(known) == service) {
        Step::ok("tier service", format!("{TIER_NAMESPACE}/{service}, port {port}"))
    } else {
        Step::broken("tier service", format!("there is no Service {TIER_NAMESPACE}/{service}"), SEE_THE_LOG)
    }
}

fn endpoints(found: &Found, service: &str) -> Step {
    let is_of = |slice: &&Value| text(slice, "/metadata/labels/kubernetes.io~1service-name") == service;
    let slices = found.slices.iter().filter(is_of);
    let endpoints = slices.filter_map(|slice| slice.pointer("/endpoints")?.as_array()).flatten();
    let addresses: BTreeSet<_> = endpoints.filter_map(|endpoint| endpoint.pointer("/addresses/0")?.as_str()).collect();
    if addresses.is_empty() {
        let hint = "they are the addresses of the exporting clusters' ingress gateways: see the exports above";
        Step::broken("endpoints", format!("{TIER_NAMESPACE}/{service} has none"), hint)
    } else {
        let addresses: Vec<_> = addresses.into_iter().collect();
        Step::ok("endpoints", format!("{TIER_NAMESPACE}/{service} has {}", addresses.join(", ")))
    }
}

fn routes(found: &Found) -> Vec<Step> {
    if found.routes.is_empty() {
        return vec![Step::broken("route", "there is no HTTPRoute of this import", SEE_THE_LOG)];
    }
    found.routes.iter().map(route).collect()
}

fn route(route: &Value) -> Step {
    let name = name_of(route);
    let parents = route.pointer("/status/parents").and_then(Value::as_array).into_iter().flatten();
    let conditions: Vec<_> = parents.filter_map(|parent| parent.pointer("/conditions")?.as_array()).flatten().collect();
    if conditions.is_empty() {
        let hint = "is istiod running, and does it serve the class of the Gateway?";
        return Step::broken("route", format!("no gateway has taken HTTPRoute {name} yet"), hint);
    }
    match conditions.into_iter().find(|condition| text(condition, "/status") == "False") {
        Some(bad) => {
            let (kind, reason) = (text(bad, "/type"), text(bad, "/reason"));
            let message = format!("HTTPRoute {name}: {kind} is False ({reason})");
            Step::broken("route", message, text(bad, "/message"))
        }
        None => Step::ok("route", format!("HTTPRoute {name} is accepted")),
    }
}

fn plugin(found: &Found, filter: FilterKind, import: &Import) -> Step {
    let (namespace, told) = (&import.key.namespace, &import.wire);
    let kind = filter.kind().name();
    let Some(plugin) = &found.plugin else {
        return Step::broken("plugin", format!("there is no {kind} in namespace {namespace}"), SEE_THE_LOG);
    };
    let config = plugin.pointer(filter.config_pointer());
    let imports = config.and_then(|config| config.pointer("/imports")?.as_array()).into_iter().flatten();
    let is_it = |import: &&Value| text(import, "/namespace") == told.namespace && text(import, "/name") == told.name;
    let mut ours = imports.filter(is_it);
    let plugin = name_of(plugin);
    match ours.next() {
        Some(import) => {
            let rules = import.pointer("/rules").and_then(Value::as_array).map_or(0, Vec::len);
            Step::ok("plugin", format!("{kind} {namespace}/{plugin} has {rules} rules of it"))
        }
        None => Step::broken("plugin", format!("{kind} {namespace}/{plugin} does not have it"), SEE_THE_LOG),
    }
}

fn pods(world: &World, found: &Found, namespace: &str, gateway: &str) -> Step {
    if found.gateway.is_none() {
        return Step::broken("gateway", format!("there is no Gateway {namespace}/{gateway}"), SEE_THE_LOG);
    }
    let all = world.live.snapshot.gateway_pods.in_namespace(namespace);
    let pods: Vec<_> = all.filter(|pod| gateway_of(pod) == Some(gateway) && !is_over(pod)).collect();
    let ready = pods.iter().filter(|pod| is_ready(pod)).count();
    let message = format!("{ready} of {} pods of Gateway {namespace}/{gateway} are ready", pods.len());
    if ready > 0 {
        return Step::ok("gateway", message);
    }
    let hint = if pods.is_empty() {
        "Istio makes them: is istiod running, and does it serve the class of the Gateway?".to_owned()
    } else {
        format!("see `kubectl describe pods -n {namespace}`")
    };
    Step::broken("gateway", message, hint)
}

/// What clients call it by.
fn name_and_address(world: &World, found: &Found, import: &Import) -> Vec<Step> {
    let Key { namespace, name } = &import.key;
    let service = clusterset_service(name);
    let Some(known) = &found.client else {
        return vec![Step::broken("service", format!("there is no Service {namespace}/{service}"), SEE_THE_LOG)];
    };
    let addresses = known.pointer("/spec/clusterIPs").and_then(Value::as_array).into_iter().flatten();
    let addresses: Vec<_> = addresses.filter_map(Value::as_str).collect();
    let mut steps = vec![Step::ok("service", format!("{namespace}/{service} has {}", addresses.join(", ")))];
    if let Some(shown) = world.live.snapshot.mcs_service_imports.get(namespace, name) {
        let ips: Vec<_> = shown.spec.ips.iter().map(ToString::to_string).collect();
        let host = mcwan_policy::clusterset_host(namespace, name);
        steps.push(Step::ok("name", format!("{host} is {}", ips.join(", "))));
    }
    steps
}

fn name_of(object: &Value) -> &str {
    text(object, "/metadata/name")
}

fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
