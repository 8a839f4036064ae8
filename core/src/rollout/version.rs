//! The versions of an import, and how far each is.

use std::collections::BTreeSet;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use mcwan_policy::wire::RefuseReason;

use super::Timing;
use super::stage::{Stage, StageProgress};
use crate::emit::kubernetes::{Places, Recovered, tier_services};
use crate::moment::Moment;
use crate::translate::Import;

/// How many versions of an import are kept at most: while gateways hold on to the oldest, newer wishes wait. A gateway that
/// is so far behind has lost its istiod.
pub(super) const MOST_VERSIONS: usize = 16;

/// For how long wishes replace each other before any of them is ready: longer than one takes where nothing is refused. Where
/// rules change all the time, the one that is under way by then is finished, and the newest comes next. One that nobody knows
/// of, as the API server gives no answer to what is behind it, is replaced all the same.
const REPLACEMENT: Duration = Duration::from_secs(5);

/// The versions of an import, the oldest first. The last is what the resources want; of those before, gateways may still
/// have some.
#[derive(Debug, Default)]
pub(super) struct Versions {
    pub(super) list: Vec<Version>,
    /// Where rules stand.
    pub(super) places: Places,
    /// What one who took over has found.
    pub(super) recovered: Option<Box<Recovered>>,
    /// Whether one who took over has found live routes that are as wanted, and does not know yet what gateways have.
    pub(super) is_live: bool,
    /// How far routes are that a version has gone without.
    pub(super) late: Option<StageProgress>,
    /// Since when wishes have replaced each other, none of them ready.
    replaced: Option<Moment>,
}

/// One version of an import.
#[derive(Debug)]
pub(super) struct Version {
    /// The import; none: nobody wants it any more.
    pub(super) import: Option<Arc<Import>>,
    pub(super) stage: Stage,
    /// The first configuration of the filter that carries it, by its number.
    pub(super) first: Option<u64>,
    /// The steering values of targets without a route, which the API server did not take.
    pub(super) missing: BTreeSet<String>,
    /// The import as the filter is told of it, where some are missing: it refuses what would take them.
    reduced: Option<Arc<Import>>,
}

impl Version {
    /// A version that is wanted from now on.
    pub(super) fn wanted(import: Option<Arc<Import>>, now: Moment) -> Self {
        Self {
            import,
            stage: Stage::Backing(StageProgress::begin(now)),
            first: None,
            missing: BTreeSet::new(),
            reduced: None,
        }
    }

    /// A version that needs nothing that is not there.
    pub(super) fn ready(import: Option<Arc<Import>>, now: Moment) -> Self {
        Self { stage: Stage::Ready, ..Self::wanted(import, now) }
    }

    /// What a filter of before may carry; none: it is not known yet, or it carries nothing of the import.
    pub(super) fn told(import: Option<Arc<Import>>) -> Self {
        Self { import, stage: Stage::Ready, first: Some(0), missing: BTreeSet::new(), reduced: None }
    }

    /// The API server does not take the routes of these targets.
    pub(super) fn lack(&mut self, missing: BTreeSet<String>) {
        let import = self.import.as_ref().filter(|_| !missing.is_empty());
        self.reduced = import.map(|import| Arc::new(import.without(&missing, RefuseReason::BackendNotFound)));
        self.missing = missing;
    }

    /// Whether gateways must not be steered to it yet.
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::Backing(_) | Stage::Routed(_))
    }

    /// Whether its routes are wanted.
    fn is_routed(&self) -> bool {
        matches!(self.stage, Stage::Routed(_) | Stage::Ready | Stage::Closing)
    }

    /// The import as the filter is told of it; none: it is told of none.
    pub(super) fn carried(&self) -> Option<Arc<Import>> {
        self.reduced.as_ref().or(self.import.as_ref()).cloned()
    }
}

impl Versions {
    /// What the resources want now. Returns whether that is another version than before.
    pub(super) fn want(
        &mut self,
        wanted: Option<&Arc<Import>>,
        is_unanswered: bool,
        timing: Timing,
        now: Moment,
    ) -> bool {
        if let Some(newest) = self.list.last_mut() {
            if newest.import.as_ref() == wanted {
                // One copy of what is the same.
                newest.import = wanted.cloned();
                return false;
            }
            if self.is_full(timing, now) {
                return false;
            }
        } else if wanted.is_none() {
            return false;
        }
        let is_under_way = self.newest().is_some_and(Version::is_under_way);
        let replaced = self.replaced.unwrap_or(now);
        let is_stuck = is_unanswered && self.newest().is_some_and(|newest| matches!(newest.stage, Stage::Backing(_)));
        if is_under_way && !is_stuck && replaced + REPLACEMENT <= now {
            return false;
        }
        self.replaced = is_under_way.then_some(replaced);
        if let Some(newest) = self.list.last_mut()
            && newest.first.is_none()
        {
            match newest.stage {
                // Nobody knows of it.
                Stage::Backing(_) => drop(self.list.pop()),
                // No filter steers to its targets, but routes that others share may lead to what is behind it.
                Stage::Routed(_) => newest.stage = Stage::Closing,
                // The filter is told of it, unless a later one is ready before.
                Stage::Ready | Stage::Closing | Stage::Draining(_) => {}
            }
        }
        let mut version = Version::wanted(wanted.cloned(), now);
        if self.is_live {
            version.stage = Stage::Routed(StageProgress::begin(now));
        }
        self.make_room(timing, now);
        self.list.push(version);
        true
    }

    /// Makes room for one more version, if [there is any](Self::is_full).
    pub(super) fn make_room(&mut self, timing: Timing, now: Moment) {
        if self.is_at_limit()
            && let Some(place) = self.gives_way(timing, now)
        {
            self.list.remove(place);
            self.forget_found();
        }
    }

    /// The version that gives way: one that no gateway has been steered to for the grace, and that drains still, as the API
    /// server refuses routes without its own. The newest of these, as the API server may have the oldest one's routes.
    fn gives_way(&self, timing: Timing, now: Moment) -> Option<usize> {
        self.list.iter().rposition(|version| match version.stage {
            Stage::Draining(progress) => progress.written.is_none() && progress.since + timing.grace <= now,
            Stage::Backing(_) | Stage::Routed(_) | Stage::Ready | Stage::Closing => false,
        })
    }

    /// Nothing is left of the version that one who took over has found.
    pub(super) fn forget_found(&mut self) {
        if self.list.first().is_none_or(|oldest| oldest.first != Some(0)) {
            self.recovered = None;
        }
    }

    /// The newest version is ready: no filter is told of those before it any more.
    pub(super) fn close_untold(&mut self) {
        let before = self.list.len().saturating_sub(1);
        let untold = |version: &&mut Version| version.stage == Stage::Ready && version.first.is_none();
        self.list.iter_mut().take(before).filter(untold).for_each(|version| version.stage = Stage::Closing);
    }

    /// Whether there are as many as there may be.
    pub(super) fn is_at_limit(&self) -> bool {
        self.list.len() >= MOST_VERSIONS
    }

    /// Whether gateways are so far behind that newer wishes wait.
    pub(super) fn is_full(&self, timing: Timing, now: Moment) -> bool {
        self.is_at_limit() && self.gives_way(timing, now).is_none()
    }

    /// Nothing of it is left, nor wanted.
    pub(super) fn is_gone(&self) -> bool {
        self.list.iter().all(|version| version.import.is_none())
    }

    /// The newest version.
    pub(super) fn newest(&self) -> Option<&Version> {
        self.list.last()
    }

    /// The import of the newest version, while that is Backing.
    pub(super) fn backing(&self) -> Option<&Arc<Import>> {
        self.newest().filter(|newest| matches!(newest.stage, Stage::Backing(_)))?.import.as_ref()
    }

    /// What is known of the import itself: its newest version that is one.
    pub(super) fn import(&self) -> Option<&Arc<Import>> {
        self.list.iter().rev().find_map(|version| version.import.as_ref())
    }

    /// Every version that is there in some form, the newest first.
    pub(super) fn backed(&self) -> Vec<&Import> {
        self.list.iter().rev().filter_map(|version| version.import.as_deref()).collect()
    }

    /// What was found in live routes, as long as gateways may be steered there, and whether it still has routes.
    pub(super) fn found(&self) -> Option<(&Recovered, bool)> {
        let oldest = self.list.first().filter(|oldest| oldest.first == Some(0))?;
        Some((self.recovered.as_deref()?, oldest.is_routed()))
    }

    /// Whether what clients call stays though no filter that we sent has ports for it: gateways may have a filter from
    /// before, or are about to be told of one.
    pub(super) fn keeps_clients(&self) -> bool {
        let is_from_before = |oldest: &Version| oldest.first == Some(0) && oldest.stage == Stage::Ready;
        let is_to_come = |newest: &Version| {
            newest.first.is_none() && newest.import.as_ref().is_some_and(|import| !import.ports.is_empty())
        };
        self.list.first().is_some_and(is_from_before) || self.newest().is_some_and(is_to_come)
    }

    /// Every version that has routes, the newest first.
    pub(super) fn routed(&self) -> Vec<&Import> {
        let routed = self.list.iter().rev().filter(|version| version.is_routed());
        routed.filter_map(|version| version.import.as_deref()).collect()
    }

    /// The ports that clients may use: those of versions that a filter carries.
    pub(super) fn client_ports(&self) -> BTreeSet<u16> {
        let carried = self.list.iter().filter(|version| version.stage == Stage::Ready && version.first.is_some());
        carried.filter_map(|version| version.import.as_ref()).flat_map(|import| import.ports.iter().copied()).collect()
    }

    /// The newest version that gateways may be steered to, by its place.
    pub(super) fn ready(&self) -> Option<usize> {
        self.list.iter().rposition(|version| version.stage == Stage::Ready)
    }

    /// Whether the newest version needs tier services or listeners that no version before it has made known.
    pub(super) fn needs_backing(&self) -> bool {
        let Some(wanted) = self.newest().and_then(|newest| newest.import.as_ref()) else { return false };
        let known = self.known();
        let services: BTreeSet<_> = known.iter().flat_map(|import| tier_services(import)).collect();
        let ports: BTreeSet<_> = known.iter().flat_map(|import| &import.ports).collect();
        !tier_services(wanted).is_subset(&services) || wanted.ports.iter().any(|port| !ports.contains(port))
    }

    /// Whether the newest version needs routes that no version before it has made known. What was found in live routes may
    /// have been written just now.
    pub(super) fn needs_routes(&self) -> bool {
        let Some(wanted) = self.newest().and_then(|newest| newest.import.as_ref()) else { return false };
        let known = self.known();
        let ports: BTreeSet<_> = known.iter().flat_map(|import| &import.ports).collect();
        let values: BTreeSet<_> = known.iter().flat_map(|import| import.steering_values()).collect();
        !wanted.steering_values().is_subset(&values) || wanted.ports.iter().any(|port| !ports.contains(port))
    }

    /// The steering values that there are routes for.
    pub(super) fn routed_values(&self) -> BTreeSet<String> {
        let found = self.found().filter(|(_, is_routed)| *is_routed).map(|(recovered, _)| &recovered.rules);
        let recovered = found.into_iter().flatten().map(|rule| rule.value.clone());
        let routed = |version: &Version| Some(&version.import.as_ref()?.steering_values() - &version.missing);
        self.ready_before().filter_map(routed).flatten().chain(recovered).collect()
    }

    /// The versions before the newest of which gateways know everything.
    fn known(&self) -> Vec<&Import> {
        let known = self.ready_before().filter(|version| version.missing.is_empty());
        known.filter_map(|version| version.import.as_deref()).collect()
    }

    /// The versions before the newest that gateways may be steered to.
    fn ready_before(&self) -> impl Iterator<Item = &Version> {
        let before = self.list.len().saturating_sub(1);
        self.list.iter().take(before).filter(|version| version.stage == Stage::Ready)
    }

    /// The newest version before one that a filter was told of.
    pub(super) fn told_before(&self, place: usize) -> Option<usize> {
        let told = |version: &Version| version.stage == Stage::Ready && version.first.is_some();
        if self.list.get(place).is_some_and(|version| version.first.is_some()) {
            return None;
        }
        self.list.iter().take(place).rposition(told)
    }

    /// The hosts that one version claims, and a later one does not.
    pub(super) fn lost_hosts(&self, before: usize, after: usize) -> Vec<String> {
        let kept = self.hosts(after);
        self.hosts(before).iter().filter(|host| !kept.contains(host)).cloned().collect()
    }

    /// The hosts that a version claims.
    pub(super) fn hosts(&self, place: usize) -> &[String] {
        self.at(place).map_or(&[], |import| &import.wire.hostnames)
    }

    /// The import of a version.
    pub(super) fn at(&self, place: usize) -> Option<&Import> {
        self.list.get(place)?.import.as_deref()
    }

    /// What gateways must not be steered to yet: the newest version, while it is under way, and what is wanted, where that
    /// waits for its turn.
    pub(super) fn awaiting<'a>(&'a self, wanted: Option<&'a Import>) -> [Option<&'a Import>; 2] {
        let newest = self.newest();
        let under_way = newest.filter(|newest| newest.is_under_way()).and_then(|newest| newest.import.as_deref());
        let newest = newest.and_then(|newest| newest.import.as_deref());
        // It is the same copy, but for what has just changed.
        let is_newest = |wanted: &&Import| newest.is_some_and(|newest| ptr::eq(newest, *wanted) || newest == *wanted);
        [under_way, wanted.filter(|wanted| !is_newest(wanted))]
    }

    /// Lets the versions before this one go.
    pub(super) fn close_before(&mut self, newest: usize) -> bool {
        self.close(0..newest)
    }

    /// The same, but for the oldest.
    pub(super) fn close_between(&mut self, newest: usize) -> bool {
        self.close(1..newest)
    }

    fn close(&mut self, places: Range<usize>) -> bool {
        let versions = self.list.iter_mut().take(places.end).skip(places.start);
        let ready = versions.filter(|version| version.stage == Stage::Ready);
        ready.map(|version| version.stage = Stage::Closing).count() > 0
    }

    /// Every gateway has a configuration with this number, or a later one: what only older ones carried goes. Returns
    /// whether anything does.
    pub(super) fn confirm(&mut self, number: u64) -> bool {
        // What was found from before is in force until something later is.
        let in_force = |version: &Version| version.first.is_some_and(|first| 0 < first && first <= number);
        let Some(newest) = self.list.iter().rposition(in_force) else { return false };
        let mut is_news = false;
        for version in self.list.iter_mut().take(newest).filter(|version| version.stage == Stage::Ready) {
            version.stage = Stage::Closing;
            is_news = true;
        }
        is_news
    }
}
