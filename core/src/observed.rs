//! What the API server has of the kinds that we write, one digest in place of each object.

mod digest;
pub mod fields;
mod live;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

pub use digest::Digest;
pub use live::{Istiod, Live, Owner, registry_writer};

use crate::emit::object::{Kind, Object, ObjectId};
use crate::snapshot::{Key, Keyed};

/// The field manager under which everything is written.
pub const FIELD_MANAGER: &str = "mcwan";

/// What the API server has of the kinds that we write: of ours and of others' objects, which may stand in our way.
#[derive(Debug, Default)]
pub struct Observed {
    kinds: BTreeMap<Kind, Keyed<Entry>>,
    /// Those that are for an import: at a take-over each import's are asked for, and there may be many of both.
    by_import: Keyed<BTreeSet<ObjectId>>,
}

#[derive(Debug)]
struct Entry {
    live: Live,
    /// What we applied, where the API server made something else of it. An apply of the same would change nothing.
    settled: Option<Digest>,
    /// Whether it is known from before the list that is under way, or comes next: that is later, whatever its version.
    is_unlisted: bool,
}

/// How a wanted object compares with what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Nothing of that name is there.
    Missing,
    /// What is there is what is wanted.
    Same,
    /// What is there is ours, and otherwise.
    Different {
        /// Its uid.
        uid: Box<str>,
    },
    /// What is there is about to go.
    Deleting,
    /// What is there is not ours.
    Foreign,
}

impl Observed {
    /// Takes note of what a watch saw. Returns whether it is news: false for a state that is not later than the one we
    /// know, and for the echo of what we wrote ourselves.
    pub fn changed(&mut self, kind: Kind, key: &Key, mut live: Live) -> bool {
        let known = self.kinds.entry(kind).or_default();
        let id = || ObjectId { kind, key: key.clone() };
        match known.get_mut(&key.namespace, &key.name) {
            Some(entry) if live.version < entry.live.version && !entry.is_unlisted => false,
            Some(entry) => {
                if entry.live.import == live.import {
                    live.import = entry.live.import.take();
                } else {
                    Self::unindex(&mut self.by_import, &id(), &entry.live);
                    Self::index(&mut self.by_import, id(), &mut live);
                }
                entry.is_unlisted = false;
                let same = entry.live.uid == live.uid && entry.live.owner == live.owner;
                let news = !same
                    || entry.live.deleting != live.deleting
                    || entry.live.istiod != live.istiod
                    || entry.live.unresolved != live.unresolved
                    || entry.live.has_additions != live.has_additions;
                if !same {
                    entry.settled = None;
                }
                entry.live = live;
                news
            }
            None => {
                Self::index(&mut self.by_import, id(), &mut live);
                known.insert(key, Entry { live, settled: None, is_unlisted: false });
                true
            }
        }
    }

    /// Takes note of what a watch no longer sees; `version` is that of the deletion, if it was seen. Returns whether it
    /// is news: false if there has been another object of the name since.
    pub fn deleted(&mut self, kind: Kind, key: &Key, version: Option<u64>) -> bool {
        let Some(known) = self.kinds.get_mut(&kind) else { return false };
        let Some(entry) = known.get(&key.namespace, &key.name) else { return false };
        let is_later = version.is_none_or(|version| entry.live.version <= version);
        if is_later && let Some(gone) = known.remove(key) {
            Self::unindex(&mut self.by_import, &ObjectId { kind, key: key.clone() }, &gone.live);
        }
        is_later
    }

    /// A list of a kind begins: what is known of it so far is older than what the list tells.
    pub fn listing(&mut self, kind: Kind) {
        self.kinds.entry(kind).or_default().values_mut().for_each(|entry| entry.is_unlisted = true);
    }

    /// A list of a kind has ended: what it does not have is gone. Gives that.
    pub fn listed(&mut self, kind: Kind) -> Vec<ObjectId> {
        let known = self.kinds.entry(kind).or_default();
        let gone: Vec<_> = known.iter().filter(|(_, entry)| entry.is_unlisted).map(|(key, _)| key).collect();
        let gone = gone.into_iter().filter_map(|key| Some((known.remove(&key)?, ObjectId { kind, key })));
        let forget = |(entry, id): &(Entry, ObjectId)| Self::unindex(&mut self.by_import, id, &entry.live);
        gone.inspect(forget).map(|(_, id)| id).collect()
    }

    /// Takes note of what came back when `desired` was applied. Returns whether it is what was applied, as it should be.
    pub fn applied(&mut self, id: &ObjectId, desired: Digest, live: Live) -> bool {
        let is_same = live.owner == Owner::Ours(desired);
        self.changed(id.kind, &id.key, live);
        if !is_same && let Some(entry) = self.entry(id) {
            entry.settled = Some(desired);
        }
        is_same
    }

    /// Takes note that the object with this uid was asked to go.
    pub fn going(&mut self, id: &ObjectId, uid: &str) {
        if let Some(entry) = self.entry(id).filter(|entry| *entry.live.uid == *uid) {
            entry.live.deleting = true;
        }
    }

    /// Our objects of a kind in a namespace that are for an import.
    pub fn of_import(&self, kind: Kind, namespace: &str, import: &Key) -> impl Iterator<Item = ObjectId> {
        let first = ObjectId { kind, key: Key::new(namespace, "") };
        let is_it = move |id: &ObjectId| id.kind == kind && *id.key.namespace == *namespace;
        let all = self.by_import.get(&import.namespace, &import.name).into_iter();
        let all = all.flat_map(move |all| all.range(&first..).take_while(move |id| is_it(id)));
        all.filter(|id| self.get(id).is_some_and(Live::is_ours)).cloned()
    }

    /// Compares a wanted object, by its digest, with what is there.
    pub fn compare(&self, id: &ObjectId, desired: Digest) -> Comparison {
        let Some(entry) = self.kinds.get(&id.kind).and_then(|known| known.get(&id.key.namespace, &id.key.name)) else {
            return Comparison::Missing;
        };
        match entry.live.owner {
            Owner::Foreign => Comparison::Foreign,
            Owner::Ours(_) if entry.live.deleting => Comparison::Deleting,
            Owner::Ours(content) if content == desired || entry.settled == Some(desired) => Comparison::Same,
            Owner::Ours(_) => Comparison::Different { uid: entry.live.uid.clone() },
        }
    }

    /// The uid of what is there of an object of ours, where others have added to it.
    pub fn with_additions(&self, id: &ObjectId) -> Option<Box<str>> {
        self.get(id).filter(|live| live.has_additions).map(|live| live.uid.clone())
    }

    /// What is there of an object.
    pub fn get(&self, id: &ObjectId) -> Option<&Live> {
        Some(&self.kinds.get(&id.kind)?.get(&id.key.namespace, &id.key.name)?.live)
    }

    /// Whether an object is in the wanted state.
    pub fn is_same(&self, object: &Object) -> bool {
        self.compare(&object.id, Digest::of_desired(&object.body)) == Comparison::Same
    }

    /// Our objects of a kind that are not about to go, in order: those that nobody wants are deleted.
    pub fn ours(&self, kind: Kind) -> impl Iterator<Item = ObjectId> {
        let known = self.kinds.get(&kind).into_iter().flat_map(Keyed::iter);
        known
            .filter(|(_, entry)| matches!(entry.live.owner, Owner::Ours(_)) && !entry.live.deleting)
            .map(move |(key, _)| ObjectId { kind, key })
    }

    /// The `WANCluster` of a cluster, as the owner of what that cluster exports, if it is ours.
    pub fn wan_cluster(&self, cluster: &str) -> Option<OwnerReference> {
        let kind = Kind::WanCluster;
        let is_it = |id: &ObjectId| &*id.key.name == cluster;
        let live = self.ours(kind).find(is_it).and_then(|id| self.get(&id))?;
        Some(OwnerReference {
            api_version: kind.api_version(),
            kind: kind.name().to_owned(),
            name: cluster.to_owned(),
            uid: live.uid.to_string(),
            controller: Some(true),
            block_owner_deletion: None,
        })
    }

    fn index(by_import: &mut Keyed<BTreeSet<ObjectId>>, id: ObjectId, live: &mut Live) {
        if let Some(import) = live.import.as_deref_mut() {
            by_import.entry(import).insert(id);
            by_import.share(import);
        }
    }

    fn unindex(by_import: &mut Keyed<BTreeSet<ObjectId>>, id: &ObjectId, live: &Live) {
        let Some(import) = live.import.as_deref() else { return };
        let Some(all) = by_import.get_mut(&import.namespace, &import.name) else { return };
        all.remove(id);
        if all.is_empty() {
            by_import.remove(import);
        }
    }

    fn entry(&mut self, id: &ObjectId) -> Option<&mut Entry> {
        self.kinds.get_mut(&id.kind)?.get_mut(&id.key.namespace, &id.key.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn digest(content: &str) -> Digest {
        Digest::of_desired(&json!({"spec": content}))
    }

    fn mk_id() -> ObjectId {
        ObjectId { kind: Kind::Service, key: Key::new("secure", "payment-clusterset") }
    }

    fn mk_live(version: u64, content: &str) -> Live {
        Live { version, uid: "a".into(), owner: Owner::Ours(digest(content)), ..Live::default() }
    }

    /// What the API server has after these states, in the order in which they were told; with what of it was news.
    fn mk_observed<const N: usize>(told: [(u64, &str); N]) -> (Observed, [bool; N]) {
        let mut observed = Observed::default();
        let id = mk_id();
        let news = told.map(|(version, content)| observed.changed(id.kind, &id.key, mk_live(version, content)));
        (observed, news)
    }

    #[test]
    fn states_are_taken_in_the_order_of_their_versions() {
        let table = [
            (mk_observed([(9, "a"), (10, "b")]), [true, true], "b", "one after the other"),
            (mk_observed([(10, "b"), (9, "a")]), [true, false], "b", "an older one that comes late"),
            (mk_observed([(9, "a"), (10, "a")]), [true, false], "a", "another's change, or the echo of ours"),
        ];
        for ((observed, found), news, content, message) in table {
            assert_eq!(found, news, "{message}: what is news");
            assert_eq!(observed.compare(&mk_id(), digest(content)), Comparison::Same, "{message}: what is there");
        }
    }

    #[test]
    fn a_full_list_is_believed_though_its_versions_are_lower() {
        let id = mk_id();
        let (mut observed, _) = mk_observed([(1_000, "a")]);
        observed.changed(id.kind, &Key::new("secure", "unlisted"), mk_live(1_001, "a"));
        observed.listing(id.kind);
        assert!(observed.changed(id.kind, &id.key, mk_live(7, "b")), "what the restored API server has is news");
        assert_eq!(observed.compare(&id, digest("b")), Comparison::Same);
        assert!(!observed.changed(id.kind, &id.key, mk_live(6, "a")), "of what follows, the later counts again");
        let unlisted = ObjectId { key: Key::new("secure", "unlisted"), ..id.clone() };
        assert_eq!(observed.listed(id.kind), std::slice::from_ref(&unlisted), "what it does not have is gone");
        assert_eq!(observed.get(&unlisted), None);
        assert!(observed.get(&id).is_some());
        assert_eq!(observed.listed(id.kind), [], "once");
    }

    #[test]
    fn what_is_for_an_import_is_found_as_it_is_now() {
        let (import, other) = (Key::new("secure", "payment"), Key::new("secure", "payment-two"));
        let id = mk_id();
        let mut observed = Observed::default();
        let tell = |observed: &mut Observed, version, owner, import: &Key| {
            let live = Live { version, owner, import: Some(Box::new(import.clone())), ..Live::default() };
            observed.changed(id.kind, &id.key, live);
        };
        let found = |observed: &Observed| {
            [&import, &other].map(|import| observed.of_import(id.kind, "secure", import).collect::<Vec<_>>())
        };
        let (one, none) = (vec![id.clone()], Vec::new());
        tell(&mut observed, 1, Owner::Ours(digest("a")), &import);
        assert_eq!(found(&observed), [one.clone(), none.clone()]);
        assert!(observed.of_import(id.kind, "mc-wan", &import).next().is_none(), "of another namespace");
        assert!(observed.of_import(Kind::EndpointSlice, "secure", &import).next().is_none(), "of another kind");
        tell(&mut observed, 2, Owner::Ours(digest("a")), &other);
        assert_eq!(found(&observed), [none.clone(), one.clone()], "it is for another one by now");
        tell(&mut observed, 3, Owner::Foreign, &other);
        assert_eq!(found(&observed), [none.clone(), none.clone()], "it is somebody else's by now");
        tell(&mut observed, 4, Owner::Ours(digest("a")), &other);
        observed.deleted(id.kind, &id.key, Some(5));
        assert_eq!(found(&observed), [none.clone(), none.clone()], "it is gone");
        tell(&mut observed, 6, Owner::Ours(digest("a")), &import);
        observed.listing(id.kind);
        observed.listed(id.kind);
        assert_eq!(found(&observed), [none.clone(), none], "a list does not have it");
        assert!(observed.by_import.is_empty());
    }

    #[test]
    fn what_is_written_while_a_list_is_under_way_stays() {
        let id = mk_id();
        let (mut observed, _) = mk_observed([(9, "a")]);
        observed.listing(id.kind);
        observed.applied(&id, digest("b"), mk_live(11, "b"));
        assert!(!observed.changed(id.kind, &id.key, mk_live(9, "a")), "the list is of before");
        assert_eq!(observed.listed(id.kind), []);
        assert_eq!(observed.compare(&id, digest("b")), Comparison::Same);
    }

    #[test]
    fn a_deletion_ends_only_what_is_older() {
        let id = mk_id();
        let table = [
            (Some(11), true, "the deletion of what is there"),
            (Some(9), false, "of what was there before"),
            (None, true, "a deletion that nobody saw"),
        ];
        for (version, is_news, message) in table {
            let (mut observed, _) = mk_observed([(10, "a")]);
            assert_eq!(observed.deleted(id.kind, &id.key, version), is_news, "{message}");
            assert_eq!(observed.get(&id).is_none(), is_news, "{message}: whether it is gone");
            assert!(!observed.deleted(id.kind, &Key::new("secure", "other"), version), "{message}: of another object");
        }
    }

    #[test]
    fn what_the_api_server_changes_at_once_is_not_applied_again_and_again() {
        let id = mk_id();
        let (mut observed, _) = mk_observed([(9, "a")]);
        assert!(observed.applied(&id, digest("b"), mk_live(10, "b")), "it came back as it was sent");
        assert!(!observed.applied(&id, digest("c"), mk_live(11, "c, and a default")), "it did not");
        assert_eq!(observed.compare(&id, digest("c")), Comparison::Same, "once is enough");
        observed.changed(id.kind, &id.key, mk_live(12, "c, and a default"));
        assert_eq!(observed.compare(&id, digest("c")), Comparison::Same, "after another's change");
        observed.changed(id.kind, &id.key, mk_live(13, "d"));
        let uid = "a".into();
        assert_eq!(observed.compare(&id, digest("c")), Comparison::Different { uid }, "after an edit of ours");
    }

    #[test]
    fn what_is_not_ours_or_about_to_go_is_told_apart() {
        let id = mk_id();
        let (mut observed, _) = mk_observed([(9, "a")]);
        observed.going(&id, "another");
        assert_eq!(observed.compare(&id, digest("a")), Comparison::Same, "one that had its name was asked to go");
        observed.going(&id, "a");
        assert_eq!(observed.compare(&id, digest("a")), Comparison::Deleting, "asked to go");
        assert_eq!(observed.ours(id.kind).count(), 0, "what is about to go need not be deleted");
        observed.changed(id.kind, &id.key, Live { owner: Owner::Foreign, ..mk_live(10, "a") });
        assert_eq!(observed.compare(&id, digest("a")), Comparison::Foreign, "another's");
        assert_eq!(observed.ours(id.kind).count(), 0, "another's must not be deleted");
    }
}
