//! Hosts that move from one import to another, or back, stay with the one that loses them until gateways may be told of the
//! one that gains them.

use std::collections::{BTreeMap, BTreeSet};

use mcwan_policy::have_common_host;

use super::version::Versions;
use crate::snapshot::Key;
use crate::translate::Import;

/// The imports that go on with what they were told before, as another one, or a later version of their own, wants a host of
/// theirs and is not ready, or goes on with what it was told before itself. `wanted`: what the resources want of an import,
/// which may be no version of it yet.
pub(super) fn held<'a>(
    imports: &[(&'a Key, &'a Versions)],
    wanted: impl Fn(&Key) -> Option<&'a Import>,
) -> BTreeSet<&'a Key> {
    let mut awaited = Awaited::default();
    for (import, versions) in imports {
        // Of most imports nothing is awaited.
        for awaiting in versions.awaiting(wanted(import)).into_iter().flatten() {
            let ready = versions.ready().and_then(|ready| versions.at(ready));
            let has: BTreeSet<_> = ready.into_iter().flat_map(hosts).collect();
            for host in hosts(awaiting).filter(|host| !has.contains(host)) {
                awaited.add(import, host);
            }
        }
    }
    let mut losing: Vec<(&Key, BTreeSet<String>, BTreeSet<&String>)> = Vec::new();
    for (import, versions) in imports {
        let Some(ready) = versions.ready() else { continue };
        let Some(told) = versions.told_before(ready) else { continue };
        let [before, mut gained] =
            [told, ready].map(|place| versions.at(place).into_iter().flat_map(routed_hosts).collect::<BTreeSet<_>>());
        let mut lost: BTreeSet<_> = before.difference(&gained).map(|host| (*host).clone()).collect();
        lost.extend(versions.lost_hosts(told, ready));
        gained.extend(versions.hosts(ready));
        if !lost.is_empty() {
            losing.push((import, lost, gained));
        }
    }
    let mut held = BTreeSet::new();
    loop {
        let before = held.len();
        losing.retain(|(import, lost, gained)| {
            let is_held = awaited.is_any_of(import, lost, gained);
            if is_held {
                held.insert(*import);
                for host in gained {
                    awaited.add(import, host);
                }
            }
            !is_held
        });
        if held.len() == before {
            return held;
        }
    }
}

/// Hosts that imports want, and gateways must not know them by yet.
#[derive(Default)]
struct Awaited<'a> {
    exact: BTreeMap<&'a str, Vec<&'a Key>>,
    wildcards: Vec<(&'a str, &'a Key)>,
}

impl<'a> Awaited<'a> {
    fn add(&mut self, import: &'a Key, host: &'a str) {
        if host.starts_with('*') {
            self.wildcards.push((host, import));
        } else {
            self.exact.entry(host).or_default().push(import);
        }
    }

    /// Whether one of the hosts that an import loses is awaited: by another one, or by a later version of its own, which
    /// wants it back.
    fn is_any_of(&self, import: &Key, lost: &BTreeSet<String>, gained: &BTreeSet<&'a String>) -> bool {
        let is_back = |other: &Key, host: &str| other != import || !gained.iter().any(|gained| *gained == host);
        lost.iter().any(|lost| {
            let mut wildcards = self.wildcards.iter().map(|(host, other)| (*host, *other));
            let meets = |(host, other): (&str, &Key)| is_back(other, host) && have_common_host(lost, host);
            if lost.starts_with('*') {
                let exact = self.exact.iter().flat_map(|(host, others)| others.iter().map(|other| (*host, *other)));
                wildcards.chain(exact).any(meets)
            } else {
                let mut exact = self.exact.get(&**lost).into_iter().flatten();
                exact.any(|other| is_back(other, lost)) || wildcards.any(meets)
            }
        })
    }
}

/// The hosts that an import has, by itself or by `Route`s.
fn hosts(import: &Import) -> impl Iterator<Item = &String> {
    routed_hosts(import).chain(&import.wire.hostnames)
}

/// The hosts that `Route`s of an import have.
fn routed_hosts(import: &Import) -> impl Iterator<Item = &String> {
    import.wire.rules.iter().filter_map(|rule| rule.host.as_ref())
}
