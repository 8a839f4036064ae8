//! The configuration of the filter at one gateway.

mod fitting;
mod paths;
mod revision;

use std::borrow::Borrow;
use std::collections::BTreeMap;

use mcwan_policy::wire::{Action, PluginConfig, RefuseStatus, Rule, UnknownHosts, VERSION};
use mcwan_policy::{At, ConfigError, Excess, ImportError, RouteTable, limits};

use crate::problem::{Problem, Reason};
use crate::translate::Import;
use fitting::Fitting;
use paths::Measured;
use revision::revision;

pub use paths::apart;

/// A configuration as it ships, and what the filter will make of it.
#[derive(Debug)]
pub struct Plugin {
    /// The configuration.
    pub json: String,
    /// The bytes of the configuration, were its revision as long as one can be: whether it fits does not depend on what
    /// was sent before.
    pub bytes: usize,
    /// The table that the filter compiles from it; imports by their place in the list that it was made of.
    pub table: RouteTable,
    /// The imports that are too large for it, by their place.
    too_large: BTreeMap<usize, Excess>,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    /// It cannot be written.
    #[error("the filter's config cannot be written")]
    Write(#[from] serde_json::Error),
    /// The filter would refuse it.
    #[error("the filter would refuse its config")]
    Compile(#[from] ConfigError),
}

impl Plugin {
    /// Writes and compiles the configuration of a gateway that serves these imports, the oldest first. Those that it has
    /// no room for answer 500.
    ///
    /// # Errors
    /// There can be none for these imports.
    pub fn new(imports: &[impl Borrow<Import>], unknown_hosts: UnknownHosts) -> Result<Self, PluginError> {
        Self::for_module(imports, unknown_hosts, "", limits::CONFIG_BYTES, None)
    }

    /// The same for a module, of so many bytes, after the configuration of that revision. If it says the same as that one
    /// it has the same revision, else none of those before. A revision is another one for another module, so that a gateway
    /// that has the revision has the module, too.
    ///
    /// # Errors
    /// There can be none for these imports.
    pub fn for_module(
        imports: &[impl Borrow<Import>],
        unknown_hosts: UnknownHosts,
        module: &str,
        bytes: usize,
        newest: Option<u64>,
    ) -> Result<Self, PluginError> {
        let imports: Vec<_> = imports.iter().map(|import| Measured::of(import.borrow())).collect();
        let everything = Self::of(Fitting::everything(&imports), unknown_hosts, module, newest);
        if let Ok(plugin) = everything
            && plugin.bytes <= bytes
        {
            return Ok(plugin);
        }
        let envelope = PluginConfig {
            version: VERSION,
            revision: Some(limits::REVISIONS),
            unknown_hosts,
            paths: Vec::new(),
            imports: [(); 0],
        };
        let room = bytes.saturating_sub(serde_json::to_string(&envelope)?.len());
        Self::of(Fitting::within(&imports, room)?, unknown_hosts, module, newest)
    }

    fn of(
        fitting: Fitting<'_>,
        unknown_hosts: UnknownHosts,
        module: &str,
        newest: Option<u64>,
    ) -> Result<Self, PluginError> {
        let Fitting { imports, paths, too_large } = fitting;
        let (paths, longest) = (paths.into_list(), Some(limits::REVISIONS));
        let mut config = PluginConfig { version: VERSION, revision: longest, unknown_hosts, paths, imports };
        let content = serde_json::to_vec(&config)?;
        config.revision = Some(revision(&content, module, newest));
        let json = serde_json::to_string(&config)?;
        let table = RouteTable::from_json(json.as_bytes())?;
        Ok(Self { json, bytes: content.len(), table, too_large })
    }

    /// What the filter finds wrong with an import that it is told of, at this place.
    pub fn errors(&self, place: usize, import: &Import) -> Vec<ImportError> {
        match self.too_large.get(&place) {
            Some(_) => mcwan_policy::check(&import.wire.too_large()),
            None => mcwan_policy::check(&import.wire),
        }
    }

    /// Whether there would be room for an import if others were smaller.
    pub fn is_crowded(&self) -> bool {
        self.too_large.values().any(|excess| matches!(excess, Excess::Together))
    }

    /// What is wrong with the imports that it was made of, as they share a gateway.
    pub fn problems(&self, imports: &[impl Borrow<Import>]) -> Vec<Problem> {
        let hint = format!(
            "write fewer or shorter rules: the imports of a gateway have at most {} rules, {} different regular expressions \
             that take at most {} MiB once compiled, {} paths over the WAN that `sla` measures and, in Kubernetes, {} bytes",
            limits::RULES,
            limits::PATTERNS,
            limits::PATTERNS_COMPILED_BYTES >> 20,
            limits::PATHS,
            limits::WASM_PLUGIN_CONFIG_BYTES
        );
        let too_large = self.too_large.iter().filter_map(|(place, excess)| {
            let message = match excess {
                Excess::Alone => "it is too large for the config of a gateway",
                Excess::Together => "the config of its gateway is full: older imports come first",
            };
            let object = imports.get(*place)?.borrow().object.clone();
            let problem = Problem::error(object, Reason::TooLarge, message);
            Some(problem.hint(hint.as_str()))
        });
        let mut problems: Vec<_> = too_large.collect();
        for (index, import) in imports.iter().map(Borrow::borrow).enumerate() {
            for claim in self.table.claims(index) {
                let Some(owner) = claim.owner.filter(|owner| *owner != index).and_then(|owner| imports.get(owner))
                else {
                    continue;
                };
                let message = format!("host {} belongs to the older {}", claim.host, owner.borrow().object);
                let objects = import.objects_of_host(&claim.host, None).into_iter();
                problems.extend(objects.map(|object| Problem::error(object, Reason::HostConflict, message.as_str())));
            }
        }
        problems
    }
}

impl PluginError {
    /// The same of each import that there is no configuration for.
    pub fn problems(&self, imports: &[impl Borrow<Import>]) -> Vec<Problem> {
        let problem = |import: &Import| Problem::error(import.object.clone(), Reason::TooLarge, self.to_string());
        imports.iter().map(|import| problem(import.borrow())).collect()
    }
}

/// The actions of a rule that take requests, and why and how the filter would refuse each.
pub(super) type Chosen<'r> = Vec<(&'r Action, Option<(mcwan_policy::Reason, RefuseStatus)>)>;

/// Takes from a rule the actions that take requests.
pub(super) fn chosen<'r>(errors: &[ImportError], index: usize, rule: &'r Rule) -> Chosen<'r> {
    let chosen = rule.actions.iter().enumerate().filter(|(_, action)| action.weight() > 0);
    let refused = |position, action: &Action| match action {
        Action::Refuse(refuse) => Some((refuse.reason.into(), refuse.status)),
        Action::Forward(_) | Action::Choose(_) | Action::Redirect(_) => {
            let places = [At::Actions(index), At::Action(index, position)];
            errors
                .iter()
                .find(|error| places.contains(&error.at))
                .map(|error| (error.part.reason(), RefuseStatus::default()))
        }
    };
    chosen.map(|(position, action)| (action, refused(position, action))).collect()
}
