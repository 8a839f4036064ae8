//! The filter of an importing namespace, with its configuration.

use mcwan_policy::limits;
use mcwan_policy::wire::UnknownHosts;
use serde_json::{Value, json};

use crate::emit::object::{Kind, Object};
use crate::emit::plugin::Plugin;
use crate::problem::Problem;
use crate::translate::Import;

use super::draft::Draft;
use super::{Module, Settings, names};

/// The configuration that ships.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// What the filter's gauge says while it is in force.
    pub revision: u64,
    /// Its size.
    pub bytes: usize,
}

/// The plugin for as many imports as fit, the oldest first; the younger ones go without.
pub(super) fn object(
    namespace: &str,
    imports: &[&Import],
    settings: &Settings,
    problems: &mut Vec<Problem>,
) -> Option<(Object, Shipped)> {
    let (plugin, kept) = fitting(imports)?;
    for import in imports.iter().skip(kept) {
        let message = "the config of its namespace's gateway is full: older imports come first";
        let problem = Problem::error(import.object.clone(), "TooLarge", message);
        problems.push(problem.hint("shorten the rules, or use `dataPlane: Native` where they are simple"));
    }
    problems.extend(plugin.host_conflicts(imports.get(..kept).unwrap_or_default()));
    let shipped = Shipped { revision: plugin.table.revision().unwrap_or_default(), bytes: plugin.json.len() };
    let config: Value = serde_json::from_str(&plugin.json).ok()?;
    let Module { url, sha256 } = &settings.module;
    let mut spec = json!({
        "targetRefs": [{
            "group": "gateway.networking.k8s.io",
            "kind": "Gateway",
            "name": names::EGRESS_GATEWAY,
        }],
        "url": url,
        "phase": "AUTHN",
        "failStrategy": "FAIL_CLOSE",
        "pluginConfig": config,
    });
    if let Some(sha256) = sha256 {
        spec["sha256"] = sha256.as_str().into();
    }
    Some((Draft::new(Kind::WasmPlugin, namespace, names::PLUGIN).with(json!({"spec": spec})), shipped))
}

/// The configuration of the greatest number of imports, in order, that fits and compiles, and that number. What fits
/// only shrinks as imports are added, so it is found by halving.
fn fitting(imports: &[&Import]) -> Option<(Plugin, usize)> {
    let fits = |count: usize| {
        let plugin = Plugin::new(imports.get(..count)?, UnknownHosts::Pass).ok()?;
        (plugin.json.len() <= limits::WASM_PLUGIN_CONFIG_BYTES).then_some((plugin, count))
    };
    if let Some(all) = fits(imports.len()) {
        return Some(all);
    }
    let (mut best, mut over) = (fits(0)?, imports.len());
    while over - best.1 > 1 {
        let middle = usize::midpoint(best.1, over);
        match fits(middle) {
            Some(fitting) => best = fitting,
            None => over = middle,
        }
    }
    Some(best)
}
