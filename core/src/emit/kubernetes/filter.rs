//! The filter of an importing namespace, with its configuration.

use std::sync::Arc;

use mcwan_policy::limits;
use mcwan_policy::wire::{self, PluginConfig, UnknownHosts, VERSION};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::emit::object::{Kind, Object, ObjectId};
use crate::emit::plugin::Plugin;
use crate::json::put;
use crate::kind;
use crate::observed::Digest as ContentDigest;
use crate::problem::Problem;
use crate::snapshot::Key;
use crate::translate::{Import, SteeringKey};

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

/// The filter of a namespace, and what is known of it.
#[derive(Clone, Debug, Default)]
pub struct FilterObject {
    /// The object; none: there can be no configuration.
    pub object: Option<Object>,
    /// What its gauge says while it is in force.
    pub revision: u64,
    /// The bytes of its configuration ([`Plugin::bytes`]).
    pub bytes: usize,
    /// Whether it would have room for an import if others were smaller.
    pub is_crowded: bool,
    /// What is wrong with imports, whose hosts others have or that it has no room for.
    pub problems: Vec<Problem>,
}

/// The annotation of a filter that says that we composed its configuration: a keyed digest of it.
const SEAL: &str = "mc-wan.l7mp.io/config-digest";

/// The filter for imports, the oldest first, after the one whose configuration has the revision `newest`; those that it has
/// no room for answer 500.
pub fn filter_object(
    namespace: &str,
    imports: &[&Import],
    settings: &Settings,
    key: &SteeringKey,
    newest: Option<u64>,
) -> FilterObject {
    let mut filter = FilterObject::default();
    filter.object = object(namespace, imports, settings, key, newest, &mut filter);
    filter
}

/// The revision of the configuration of a live filter, whoever wrote it; none if it is none that a filter takes.
pub fn live_revision(live: &Value) -> Option<u64> {
    let kinds = [FilterKind::WasmPlugin, FilterKind::TrafficExtension];
    let revision = kinds.iter().find_map(|kind| live.pointer(kind.config_pointer())?.get("revision")?.as_u64());
    revision.filter(|revision| *revision < limits::REVISIONS)
}

/// What a live filter tells its imports, if we told it so, in the form that we tell it now: who may write to the namespace might have changed it.
pub fn sealed_config(kind: FilterKind, live: &Value, key: &SteeringKey) -> Option<PluginConfig<Vec<wire::Import>>> {
    let namespace = live.pointer("/metadata/namespace")?.as_str()?;
    let config = live.pointer(kind.config_pointer())?;
    let sealed = live.pointer("/metadata/annotations")?.get(SEAL)?.as_str()?;
    let config = (sealed == seal(namespace, config, key)).then(|| PluginConfig::deserialize(config).ok()).flatten();
    config.filter(|config| config.version == VERSION)
}

fn seal(namespace: &str, config: &Value, key: &SteeringKey) -> String {
    key.digest(namespace, "", &ContentDigest::of_desired(config).to_string())
}

fn object(
    namespace: &str,
    imports: &[&Import],
    settings: &Settings,
    key: &SteeringKey,
    newest: Option<u64>,
    filter: &mut FilterObject,
) -> Option<Object> {
    let module = settings.module.to_string();
    let plugin = Plugin::for_module(imports, UnknownHosts::Pass, &module, limits::WASM_PLUGIN_CONFIG_BYTES, newest);
    let plugin = plugin.inspect_err(|error| filter.problems.extend(error.problems(imports))).ok()?;
    filter.problems.extend(plugin.problems(imports));
    filter.is_crowded = plugin.is_crowded();
    filter.revision = plugin.table.revision().unwrap_or_default();
    filter.bytes = plugin.bytes;
    let config: Value = serde_json::from_str(&plugin.json).ok()?;
    let sealed = seal(namespace, &config, key);
    let Module { url, sha256 } = &settings.module;
    let mut wasm = json!({"url": url, "failStrategy": "FAIL_CLOSE"});
    put(&mut wasm, "pluginConfig", config);
    if let Some(sha256) = sha256 {
        put(&mut wasm, "sha256", sha256.as_str());
    }
    let mut spec = match settings.filter {
        FilterKind::WasmPlugin => wasm,
        FilterKind::TrafficExtension => Map::from_iter([("wasm".to_owned(), wasm)]).into(),
    };
    put(&mut spec, "targetRefs", vec![kind::GATEWAY.reference(names::EGRESS_GATEWAY)]);
    put(&mut spec, "phase", "AUTHN");
    let draft = Draft::new(settings.filter.kind(), namespace, names::PLUGIN).annotation(SEAL, &sealed);
    Some(draft.with_spec(spec))
}
