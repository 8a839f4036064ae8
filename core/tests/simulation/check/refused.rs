//! What a filter may refuse for want of a route.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcwan_core::snapshot::{Key, view};
use mcwan_core::translate::Import;
use mcwan_policy::wire::{self, RefuseReason};

use super::Check;
use super::examine::steered_values;
use crate::istiod::{Address, Plugin};
use crate::told::{History, Told, host_of};

impl Check {
    /// A filter takes the place of another. Where that one steers to a target whose routes are all there, so does this one, or
    /// nothing wants it: only what has no route is refused.
    pub(crate) fn must_keep_routed(
        &mut self,
        namespace: &Arc<str>,
        plugin: &Plugin,
        told: &Told,
        addresses: impl Fn() -> BTreeSet<Address>,
    ) {
        let Some(live) = self.live.get(namespace) else { return };
        for import in &plugin.imports {
            let key = view(namespace, &Key::new(import.namespace.as_str(), import.name.as_str()));
            let is_it = |live: &&wire::Import| (&live.namespace, &live.name) == (&import.namespace, &import.name);
            let Some(before) = live.imports.iter().find(is_it) else { continue };
            let (known, now) = (steered_values(before), steered_values(import));
            let since = live.carried.get(&key).copied().unwrap_or_default().version;
            if known.is_subset(&now) || told.steered.carried(&key, Some(import), since).is_some() {
                continue;
            }
            let addresses = addresses();
            let is_there = |value: &&String, ports: &[u16]| {
                let at = |port: &u16| Address { listener: *port, host: host_of(&key), value: (*value).clone() };
                ports.iter().all(|port| at(port).is_among(&addresses))
            };
            // What falls back to another tier is refused with its own.
            let takes_more = |(version, refused): (&Arc<Import>, BTreeSet<String>)| {
                let routed =
                    refused.intersection(&known).filter(|value| is_there(value, &version.ports)).cloned().collect();
                version.without(&(&refused - &routed), RefuseReason::BackendNotFound).wire != *import
            };
            let mut whole = told.steered.without_routes(&key, import, since).peekable();
            let is_wrong = whole.peek().is_some() && whole.all(takes_more);
            if is_wrong {
                self.wrongs.push(format!("withdrawn: the filter refuses what has a route, of {key}"));
            }
        }
    }
}

impl History {
    /// The versions since this one that an import of a filter may be without some of their targets, and the steering values
    /// of what is refused.
    fn without_routes<'a>(
        &'a self,
        key: &Key,
        import: &'a wire::Import,
        since: usize,
    ) -> impl Iterator<Item = (&'a Arc<Import>, BTreeSet<String>)> {
        self.versions[key].iter().skip(since).flatten().filter_map(|version| {
            let refused = &steered_values(&version.wire) - &steered_values(import);
            let reduced = version.without(&refused, RefuseReason::BackendNotFound);
            (reduced.wire == *import).then_some((version, refused))
        })
    }
}
