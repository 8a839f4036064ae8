//! Where the parts of compiled imports are kept.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::action::Action;
use crate::arena::{Arena, Span, Text, Texts};
use crate::error::Reason;
use crate::host::HostPattern;
use crate::import::{Compiled, Scope};
use crate::pattern::Pattern;
use crate::rule::Alternative;
use crate::target::CompiledTarget;
use crate::wire::{NoMatch, Serves};

/// Everything of the imports of a table but what finds them.
#[derive(Debug, Default)]
pub(crate) struct Store {
    texts: Texts,
    imports: Arena<ImportRecord>,
    targets: Arena<TargetRecord>,
    /// The actions of each rule.
    rules: Arena<Span>,
    /// How many imports were kept: one that has rules for certain hosts is several records.
    kept: u32,
    actions: Arena<Action>,
    by_regex: Arena<(Arc<Pattern>, Alternative)>,
}

#[derive(Debug)]
struct ImportRecord {
    /// `NAME.NAMESPACE.` and what follows in every cluster: the name and the namespace are slices of it.
    canonical_host: Text,
    name_bytes: u8,
    namespace_bytes: u8,
    /// The place of the import in the configuration.
    place: u32,
    /// Whether it has the hosts that follow from its name.
    has_standard_hosts: bool,
    serves: Serves,
    no_match: NoMatch,
    broken: Option<Reason>,
    hostnames: Box<[HostPattern]>,
    targets: Span,
    rules: Span,
    by_regex: Span,
}

#[derive(Debug)]
struct TargetRecord {
    steering_value: Text,
    name_bytes: u16,
}

/// One imported service, on those of its hosts that share rules.
#[derive(Clone, Copy)]
pub struct Import<'t> {
    store: &'t Store,
    record: &'t ImportRecord,
    number: u32,
}

impl Store {
    /// Keeps an import, and gives the numbers of its scopes, in order; none beyond what a configuration can hold.
    pub(crate) fn add(&mut self, import: Compiled) -> Option<Range<u32>> {
        let Compiled {
            canonical_host,
            name_bytes,
            namespace_bytes,
            serves,
            no_match,
            broken,
            targets,
            actions,
            scopes,
        } = import;
        let Self {
            texts,
            imports,
            targets: all_targets,
            rules: all_rules,
            kept,
            actions: all_actions,
            by_regex: all_by_regex,
        } = self;
        let mut records = Vec::with_capacity(targets.len());
        for target in targets {
            let steering_value = texts.add(&target.steering_value())?;
            records.push(TargetRecord { steering_value, name_bytes: u16::try_from(target.name.len()).ok()? });
        }
        let actions: Vec<_> = actions.into_iter().map(|actions| all_actions.extend(actions)).collect();
        let canonical_host = texts.add(&canonical_host)?;
        let (targets, rules) = (all_targets.extend(records), all_rules.extend(actions));
        let (first, last) = (imports.len(), scopes.len().saturating_sub(1));
        for (index, Scope { hostnames, by_path: _, by_regex }) in scopes.into_iter().enumerate() {
            imports.push(ImportRecord {
                canonical_host,
                name_bytes: u8::try_from(name_bytes).ok()?,
                namespace_bytes: u8::try_from(namespace_bytes).ok()?,
                place: *kept,
                has_standard_hosts: index == last && serves != Serves::Hosts,
                serves,
                no_match,
                broken,
                hostnames,
                targets,
                rules,
                by_regex: all_by_regex.extend(by_regex),
            });
        }
        *kept += 1;
        Some(first..imports.len())
    }

    pub(crate) fn import(&self, number: u32) -> Option<Import<'_>> {
        self.imports.get(number).map(|record| Import { store: self, record, number })
    }

    /// Every scope, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Import<'_>> {
        (0..self.len()).filter_map(|number| self.import(number))
    }

    /// The scopes of the import at a place of the configuration.
    pub(crate) fn scopes(&self, place: usize) -> impl Iterator<Item = Import<'_>> + Clone {
        // None has a number below its place.
        let first = u32::try_from(place).unwrap_or(u32::MAX);
        let scopes = (first..self.len()).filter_map(|number| self.import(number));
        scopes.skip_while(move |import| import.place() < place).take_while(move |import| import.place() == place)
    }

    /// How many scopes there are.
    pub(crate) fn len(&self) -> u32 {
        self.imports.len()
    }

    /// How many imports there are.
    pub(crate) fn kept(&self) -> u32 {
        self.kept
    }

    /// How many rules they have together.
    pub(crate) fn rules(&self) -> u32 {
        self.rules.len()
    }
}

impl<'t> Import<'t> {
    /// Namespace of the service.
    pub fn namespace(self) -> &'t str {
        let start = usize::from(self.record.name_bytes) + 1;
        let end = start + usize::from(self.record.namespace_bytes);
        self.canonical_host().get(start..end).unwrap_or_default()
    }

    /// Name of the service.
    pub fn name(self) -> &'t str {
        self.canonical_host().get(..self.record.name_bytes.into()).unwrap_or_default()
    }

    /// Namespace and name of the service.
    pub(crate) fn full_name(self) -> (&'t str, &'t str) {
        (self.namespace(), self.name())
    }

    /// What the upstream sees as `:authority`; none: what the client used.
    pub fn authority(self) -> Option<&'t str> {
        (self.record.serves != Serves::Hosts).then(|| self.canonical_host())
    }

    /// The one of its hosts that it has in every cluster, if it is a service.
    pub(crate) fn canonical_host(self) -> &'t str {
        self.store.texts.get(self.record.canonical_host)
    }

    /// Its place in the configuration.
    pub fn place(self) -> usize {
        usize::try_from(self.record.place).unwrap_or(usize::MAX)
    }

    /// Whether it has the hosts that follow from its name.
    pub(crate) fn has_standard_hosts(self) -> bool {
        self.record.has_standard_hosts
    }

    /// Whether the bare name is one of them.
    pub(crate) fn has_bare_name(self) -> bool {
        self.record.has_standard_hosts && self.record.serves == Serves::Service
    }

    /// The number of its scope in the table.
    pub(crate) fn number(self) -> u32 {
        self.number
    }

    /// Why it answers 500, if it does.
    pub(crate) fn broken(self) -> Option<Reason> {
        self.record.broken
    }

    pub(crate) fn no_match(self) -> NoMatch {
        self.record.no_match
    }

    /// The hosts beside the ones that follow from name and namespace.
    pub(crate) fn hostnames(self) -> &'t [HostPattern] {
        &self.record.hostnames
    }

    pub(crate) fn target(self, place: u32) -> Option<CompiledTarget<'t>> {
        let TargetRecord { steering_value, name_bytes } = self.store.targets.get(self.record.targets.at(place)?)?;
        Some(CompiledTarget { steering_value: self.store.texts.get(*steering_value), name_bytes: *name_bytes })
    }

    /// The actions of a rule.
    pub(crate) fn actions(self, rule: u16) -> impl Iterator<Item = &'t Action> + Clone {
        let actions = self.record.rules.at(rule.into()).and_then(|rule| self.store.rules.get(rule));
        self.store.actions.iter(actions.copied().unwrap_or_default())
    }

    /// The alternatives that match the path by regular expression, the highest rank first.
    pub(crate) fn by_regex(self) -> impl Iterator<Item = (&'t Pattern, &'t Alternative)> {
        self.store.by_regex.iter(self.record.by_regex).map(|(pattern, alternative)| (&**pattern, alternative))
    }
}

impl fmt::Debug for Import<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Import({}/{})", self.namespace(), self.name())
    }
}
