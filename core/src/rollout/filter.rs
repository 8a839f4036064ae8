//! The configurations that the filter of a namespace was sent, and which of them gateways have.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::event::{GatewayPod, GatewayReport};
use super::pods::{Asking, Progress, Record, Reload};
use super::timing::FILTER_PERIOD;
use crate::moment::Moment;
use crate::observed::Digest;
use crate::translate::Import;

/// How many configurations are remembered: two a second for longer than any gateway should take.
const MOST_SENT: usize = 128;

/// The number of the configuration that one who takes over has found. Gateways may have what came before, too.
pub(super) const FOUND: u64 = 1;

/// What counts as the number of a configuration that is none of those that were sent or found.
const BEFORE: u64 = 0;

/// The filter of a namespace.
#[derive(Debug)]
pub(super) struct Filter {
    /// What was sent, the oldest first.
    sent: Vec<Sent>,
    pub(super) take_over: TakeOver,
    /// What was composed last, so that it need not be composed again.
    pub(super) composed: Option<Composed>,
    /// Since when what is to be sent, and has no room for all, waits.
    pub(super) crowded_since: Option<Moment>,
    pods: BTreeMap<Arc<str>, Pod>,
    pub(super) asking: Asking,
    /// When istiod was last behind with a route: what gateways cannot have heard by then is not old yet.
    behind_at: Moment,
    record: Record,
    pub(super) reload: Reload,
    /// How many ready pods have the newest configuration, once they were asked.
    pub(super) progress: Option<Progress>,
    /// When the newest was asked for first.
    pub(super) shipped: Moment,
}

/// A configuration that was sent. Whether it was written may stay unknown, so it counts from then on.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    revision: u64,
    at: Moment,
    /// Since when the API server has it.
    written: Option<Moment>,
}

/// What one who begins to lead knows of the filter that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakeOver {
    /// It was not looked at.
    Pending,
    /// It is being read.
    Reading,
    /// It is not one that we know: it stays until all imports are ready, or until then.
    Unknown(Moment),
    /// What gateways may have of it is known.
    Done,
}

/// A configuration that was composed.
#[derive(Debug)]
pub(super) struct Composed {
    /// Of these imports, by the addresses of what is kept of them: the same address is the same import, as it is held here.
    pub(super) imports: Vec<Arc<Import>>,
    pub(super) digest: Digest,
    pub(super) revision: u64,
    pub(super) bytes: usize,
    /// Whether one of them has no room beside the others.
    pub(super) is_crowded: bool,
    pub(super) problems: Vec<crate::problem::Problem>,
}

/// What is known of a pod.
#[derive(Clone, Copy, Debug, Default)]
struct Pod {
    is_ready: bool,
    /// The configuration that it has, or an earlier one; none: it never said.
    number: Option<u64>,
    /// The same as it said last; none: it has none that we know.
    reported: Option<u64>,
    /// Whether it answered when it was asked last.
    answers: bool,
}

impl Filter {
    /// Nothing is known yet.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            sent: Vec::new(),
            take_over: TakeOver::Pending,
            composed: None,
            crowded_since: None,
            pods: BTreeMap::new(),
            asking: Asking::default(),
            behind_at: Moment::START,
            record: Record::default(),
            reload: Reload::new(seed),
            progress: None,
            shipped: Moment::START,
        }
    }

    /// Gateways may have a configuration with this revision from before.
    pub(super) fn found(&mut self, revision: u64, now: Moment) {
        self.sent = vec![Sent { number: FOUND, revision, at: now, written: Some(now) }];
        self.shipped = now;
    }

    /// When the next configuration may be sent.
    pub(super) fn next(&self) -> Moment {
        self.sent.last().map_or(Moment::START, |sent| sent.at + FILTER_PERIOD)
    }

    /// A configuration with this revision is about to be sent, or is known to be there. Gives its number.
    pub(super) fn send(&mut self, revision: u64, now: Moment) -> u64 {
        if let Some(newest) = self.sent.last().filter(|newest| newest.revision == revision) {
            return newest.number;
        }
        let number = self.number() + 1;
        if self.sent.len() >= MOST_SENT {
            self.sent.remove(0);
        }
        self.sent.push(Sent { number, revision, at: now, written: None });
        self.progress = None;
        self.shipped = now;
        number
    }

    /// The newest configuration, if it is the one with this revision, is written once more, as somebody has changed it or
    /// taken it away: gateways may have lost it.
    pub(super) fn send_again(&mut self, revision: u64) {
        let newest = self.sent.last_mut().filter(|newest| newest.revision == revision && newest.written.is_some());
        if let Some(newest) = newest {
            newest.written = None;
            self.progress = None;
            self.pods.values_mut().for_each(|pod| pod.reported = None);
        }
    }

    /// The API server has a configuration with this revision, or none. If it is not the one that was written last, somebody
    /// has changed that, taken it away, or restored a backup: what gateways said that they have, they may have no more.
    pub(super) fn server_has(&mut self, revision: Option<u64>) {
        if self.is_written() && revision != self.revision() {
            self.progress = None;
            self.pods.values_mut().for_each(|pod| pod.reported = None);
        }
    }

    /// The API server has the newest configuration. Returns whether that is news.
    pub(super) fn written(&mut self, now: Moment) -> bool {
        let Some(newest) = self.sent.last_mut().filter(|newest| newest.written.is_none()) else { return false };
        newest.written = Some(now);
        self.shipped = now;
        true
    }

    /// Whether the API server is known to have the newest configuration.
    pub(super) fn is_written(&self) -> bool {
        self.sent.last().is_some_and(|newest| newest.written.is_some())
    }

    /// The number of the newest configuration.
    pub(super) fn number(&self) -> u64 {
        self.sent.last().map_or(0, |newest| newest.number)
    }

    /// The revision of the newest configuration.
    pub(super) fn revision(&self) -> Option<u64> {
        self.sent.last().map(|newest| newest.revision)
    }

    /// These pods serve by now.
    pub(super) fn serve(&mut self, pods: &[GatewayPod]) {
        self.pods.retain(|name, _| pods.iter().any(|pod| pod.name == *name));
        for pod in pods {
            self.pods.entry(Arc::clone(&pod.name)).or_default().is_ready = pod.is_ready;
        }
    }

    /// What pods have said. Gives how far the newest configuration is at those that are ready.
    pub(super) fn heard(&mut self, reports: &[(GatewayPod, Option<GatewayReport>)]) -> Progress {
        let revision = self.revision().unwrap_or_default();
        for (pod, report) in reports {
            let number = report.as_ref().and_then(|report| self.number_of(report.revision?));
            let Some(known) = self.pods.get_mut(&pod.name) else { continue };
            known.answers = report.is_some();
            // One that we do not know is of before what one who takes over has found, or was written after it, by who led before:
            // those that are sent follow it. One that has lost it gets the newest.
            let is_unknown = report.as_ref().is_some_and(|report| report.revision.is_some());
            let has_none = known.number == Some(BEFORE) && report.is_some() && !is_unknown;
            known.number = number.or(known.number.filter(|_| !has_none)).or(is_unknown.then_some(BEFORE));
            if known.answers {
                known.reported = number;
            }
        }
        let ready = reports.iter().filter(|(pod, _)| pod.is_ready);
        let ready: Vec<_> = ready.map(|(pod, report)| (pod, report.as_ref())).collect();
        let progress = Progress::of(revision, &self.record.since_success(revision, &ready));
        self.progress = Some(progress);
        progress
    }

    /// The configuration with a revision, by its number.
    fn number_of(&self, revision: u64) -> Option<u64> {
        self.sent.iter().find(|sent| sent.revision == revision).map(|sent| sent.number)
    }

    /// Istiod is behind with a route of the namespace.
    pub(super) fn istiod_is_behind(&mut self, now: Moment) {
        self.behind_at = now;
    }

    /// When the grace of a configuration ends, if it is written. It stands still while istiod is behind: gateways cannot have
    /// what it has not told them, and what it tells them then comes as late as what was just written.
    fn grace_of(&self, sent: &Sent, grace: Duration) -> Option<Moment> {
        sent.written.map(|written| written.max(self.behind_at) + grace)
    }

    /// The configuration that every gateway has, or a later one. One that cannot be asked has what it was sent the grace
    /// ago.
    pub(super) fn confirmed(&self, grace: Duration, now: Moment) -> u64 {
        let is_old = |sent: &&Sent| self.grace_of(sent, grace).is_some_and(|end| end <= now);
        let in_time = self.sent.iter().rev().find(is_old);
        let in_time = in_time.map_or(0, |sent| sent.number);
        let of_pod = |pod: &Pod| match pod.number {
            Some(number) if pod.answers => number,
            Some(number) => number.max(in_time),
            None => in_time,
        };
        self.pods.values().map(of_pod).min().unwrap_or(in_time)
    }

    /// Whether every ready pod says that it has the configuration with this number or a later one, and there is one.
    pub(super) fn is_in_force(&self, number: u64) -> bool {
        let mut ready = self.pods.values().filter(|pod| pod.is_ready).peekable();
        ready.peek().is_some() && ready.all(|pod| pod.reported.is_some_and(|known| known >= number))
    }

    /// Whether there is a pod.
    pub(super) fn has_pods(&self) -> bool {
        !self.pods.is_empty()
    }

    /// Whether a pod is ready.
    pub(super) fn has_ready_pods(&self) -> bool {
        self.pods.values().any(|pod| pod.is_ready)
    }

    /// When the next grace of a configuration that is not confirmed by then ends. Where it has ended already, pods that
    /// answer are waited for.
    pub(super) fn grace_ends(&self, confirmed: u64, grace: Duration, now: Moment) -> Option<Moment> {
        let waited = self.sent.iter().filter(|sent| sent.number > confirmed);
        waited.filter_map(|sent| self.grace_of(sent, grace)).filter(|then| *then > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(30);

    fn at(second: u64) -> Moment {
        Moment::after_start(Duration::from_secs(second))
    }

    fn mk_pod(name: &str) -> GatewayPod {
        let address = "10.0.0.1".parse().unwrap();
        GatewayPod { namespace: "secure".into(), name: name.into(), address, is_ready: true }
    }

    /// What that pod says of the configuration that it has.
    fn mk_report(revision: u64) -> (GatewayPod, Option<GatewayReport>) {
        (mk_pod("a"), Some(GatewayReport { revision: Some(revision), ..GatewayReport::default() }))
    }

    /// A filter that was sent these revisions, a second after the other, at one pod.
    fn mk_filter(revisions: &[u64]) -> Filter {
        let mut filter = Filter::new(1);
        filter.serve(&[mk_pod("a")]);
        for (second, revision) in (0..).zip(revisions) {
            filter.send(*revision, at(second));
            filter.written(at(second));
        }
        filter
    }

    fn confirmed(filter: &Filter, now: Moment) -> u64 {
        filter.confirmed(GRACE, now)
    }

    #[test]
    fn a_pod_has_a_configuration_or_a_later_one() {
        let mut filter = mk_filter(&[7, 8, 9]);
        assert_eq!(confirmed(&filter, at(3)), 0, "it was not asked");
        filter.heard(&[mk_report(8)]);
        assert_eq!(confirmed(&filter, at(3)), 2, "the second");
        assert!(filter.is_in_force(1) && filter.is_in_force(2) && !filter.is_in_force(3));
        filter.heard(&[(mk_pod("a"), Some(GatewayReport::default()))]);
        assert!(!filter.is_in_force(1), "it has lost the filter");
        filter.heard(&[mk_report(9)]);
        filter.send_again(8);
        assert!(filter.is_in_force(3), "an older one is none of what it has");
        filter.server_has(Some(9));
        assert!(filter.is_in_force(3), "the API server has what was written");
        filter.server_has(Some(8));
        assert!(!filter.is_in_force(1), "it was restored from a backup");
        filter.heard(&[mk_report(9)]);
        filter.send_again(9);
        assert!(!filter.is_in_force(1) && !filter.is_written(), "somebody took away what was written");
        filter.written(at(6));
        let mut filter = mk_filter(&[7, 8, 9]);
        filter.heard(&[mk_report(8)]);
        assert_eq!(confirmed(&filter, at(99)), 2, "one that answers is waited for");
        filter.heard(&[(mk_pod("a"), None)]);
        assert_eq!(confirmed(&filter, at(99)), 3, "one that does not has it after the grace");
    }

    #[test]
    fn one_that_says_that_it_has_what_was_before_the_one_found_is_waited_for() {
        let mut filter = Filter::new(1);
        filter.serve(&[mk_pod("a")]);
        filter.found(8, at(0));
        filter.heard(&[mk_report(7)]);
        assert_eq!(confirmed(&filter, at(99)), 0, "it has an older one, however long ago the next was written");
        filter.heard(&[(mk_pod("a"), Some(GatewayReport::default()))]);
        assert_eq!(confirmed(&filter, at(99)), FOUND, "one that has lost it gets the newest");
        filter.heard(&[mk_report(7)]);
        filter.heard(&[(mk_pod("a"), None)]);
        assert_eq!(
            confirmed(&filter, at(99)),
            FOUND,
            "once it says nothing more, it has what it was sent the grace ago"
        );
        filter.heard(&[mk_report(8)]);
        assert_eq!(confirmed(&filter, at(1)), FOUND, "it has the one found");
        let mut filter = Filter::new(1);
        filter.serve(&[mk_pod("a")]);
        filter.found(8, at(0));
        filter.heard(&[(mk_pod("a"), Some(GatewayReport::default()))]);
        assert_eq!(confirmed(&filter, at(99)), FOUND, "one without a filter gets the newest");
    }

    #[test]
    fn the_grace_stands_still_while_istiod_is_behind() {
        let mut filter = mk_filter(&[7, 8]);
        filter.serve(&[mk_pod("a")]);
        filter.istiod_is_behind(at(40));
        assert_eq!(confirmed(&filter, at(41)), 0, "istiod has only just told gateways");
        assert_eq!(filter.grace_ends(0, GRACE, at(41)), Some(at(40) + GRACE));
        assert_eq!(confirmed(&filter, at(40) + GRACE), 2, "a grace later");
    }

    #[test]
    fn without_pods_the_grace_decides() {
        let mut filter = mk_filter(&[7, 8]);
        filter.serve(&[]);
        assert_eq!(confirmed(&filter, at(1)), 0);
        assert_eq!(confirmed(&filter, at(0) + GRACE), 1);
        assert_eq!(confirmed(&filter, at(1) + GRACE), 2);
        assert!(!filter.is_in_force(0), "there is nobody who could have it");
    }
}
