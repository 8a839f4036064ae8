//! The filter of an importing namespace, with its configuration.

use std::sync::Arc;

use mcwan_policy::limits;
use mcwan_policy::wire::UnknownHosts;
use serde_json::{Value, json};

use crate::emit::object::{Kind, Object, ObjectId};
use crate::emit::plugin::Plugin;
use crate::problem::{Problem, Reason};
use crate::snapshot::Key;
use crate::translate::Import;

use super::draft::Draft;
use super::{Module, Settings, names};

/// The resource by which istiod loads the filter. Both say the same; a gateway never has both, as what one has steered
/// the other would judge once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FilterKind {
    /// `WasmPlugin`, which every Istio has.
    #[default]
    WasmPlugin,
    /// `TrafficExtension`, its successor since Istio 1.30.
    TrafficExtension,
}

impl FilterKind {
    /// The kind of the object.
    pub const fn kind(self) -> Kind {
        match self {
            Self::WasmPlugin => Kind::WasmPlugin,
            Self::TrafficExtension => Kind::TrafficExtension,
        }
    }

    /// The filter of a namespace.
    pub fn object_id(self, namespace: &Arc<str>) -> ObjectId {
        ObjectId { kind: self.kind(), key: Key::new(Arc::clone(namespace), names::PLUGIN) }
    }

    /// The object that must be gone before this one may be there; none: the object is no filter.
    pub fn rival(id: &ObjectId) -> Option<ObjectId> {
        let rival = match id.kind {
            Kind::WasmPlugin => Self::TrafficExtension,
            Kind::TrafficExtension => Self::WasmPlugin,
            _ => return None,
        };
        Some(ObjectId { kind: rival.kind(), key: id.key.clone() })
    }

    /// The module that an object of this kind names, as the API server gives it.
    pub fn module_of(self, object: &Value) -> Option<Module> {
        let wasm = object.pointer(match self {
            Self::WasmPlugin => "/spec",
            Self::TrafficExtension => "/spec/wasm",
        })?;
        let text = |field| wasm.get(field).and_then(Value::as_str).map(str::to_owned);
        Some(Module { url: text("url")?, sha256: text("sha256") })
    }

    /// Where the configuration of the filter is in an object of this kind.
    pub const fn config_pointer(self) -> &'static str {
        match self {
            Self::WasmPlugin => "/spec/pluginConfig",
            Self::TrafficExtension => "/spec/wasm/pluginConfig",
        }
    }
}

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
    let (plugin, kept) = fitting(imports, &settings.module)?;
    for import in imports.iter().skip(kept) {
        let message = "the config of its namespace's gateway is full: older imports come first";
        let problem = Problem::error(import.object.clone(), Reason::TooLarge, message);
        problems.push(problem.hint("shorten the rules, or use `dataPlane: Native` where they are simple"));
    }
    problems.extend(plugin.host_conflicts(imports.get(..kept).unwrap_or_default()));
    let shipped = Shipped { revision: plugin.table.revision().unwrap_or_default(), bytes: plugin.json.len() };
    let config: Value = serde_json::from_str(&plugin.json).ok()?;
    let Module { url, sha256 } = &settings.module;
    let mut wasm = json!({"url": url, "failStrategy": "FAIL_CLOSE", "pluginConfig": config});
    if let Some(sha256) = sha256 {
        wasm["sha256"] = sha256.as_str().into();
    }
    let mut spec = match settings.filter {
        FilterKind::WasmPlugin => wasm,
        FilterKind::TrafficExtension => json!({"wasm": wasm}),
    };
    spec["targetRefs"] =
        json!([{"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": names::EGRESS_GATEWAY}]);
    spec["phase"] = "AUTHN".into();
    Some((Draft::new(settings.filter.kind(), namespace, names::PLUGIN).with(json!({"spec": spec})), shipped))
}

/// The configuration of the greatest number of imports, in order, that fits and compiles, and that number. What fits
/// only shrinks as imports are added, so it is found by halving.
fn fitting(imports: &[&Import], module: &Module) -> Option<(Plugin, usize)> {
    let module = module.to_string();
    let fits = |count: usize| {
        let plugin = Plugin::for_module(imports.get(..count)?, UnknownHosts::Pass, &module).ok()?;
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
