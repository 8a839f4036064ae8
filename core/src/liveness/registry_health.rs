//! Whether the registry can be reached.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::moment::Moment;
use crate::watched::Watched;

/// Whether the registry can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RegistryState {
    /// It can, or has only just stopped to answer.
    #[default]
    Reachable,
    /// It has not answered for as long as a Lease lasts: why.
    Unreachable(String),
}

/// Judges whether the registry can be reached: it is not once a watch has failed for the lease time, or, while we lead,
/// none of our own renewals has come back for so long.
#[derive(Debug)]
pub struct RegistryHealth {
    lease: Duration,
    /// The kinds of the registry that cannot be watched: since when, and why.
    failing: BTreeMap<Watched, (Moment, String)>,
    /// When a renewal of ours came back last, or since when one is waited for. None: another replica renews.
    renewed: Option<Moment>,
    /// Why our renewals fail.
    complaint: Option<String>,
    state: RegistryState,
}

impl RegistryHealth {
    /// Nothing has answered yet.
    pub fn new(lease: Duration, now: Moment) -> Self {
        let kinds = Watched::all().filter(|kind| kind.is_in_registry());
        let failing = kinds.map(|kind| (kind, (now, "it has not answered yet".to_owned()))).collect();
        Self { lease, failing, renewed: None, complaint: None, state: RegistryState::default() }
    }

    /// A kind of the registry cannot be watched.
    pub fn failed(&mut self, kind: Watched, why: String, now: Moment) {
        self.failing.entry(kind).or_insert_with(|| (now, String::new())).1 = why;
    }

    /// A kind of the registry was listed, and is watched.
    pub fn listed(&mut self, kind: Watched) {
        self.failing.remove(&kind);
    }

    /// A renewal of ours has come back.
    pub fn proved(&mut self, now: Moment) {
        self.renewed = self.renewed.map(|_| now);
    }

    /// Whether we lead, and with it renew.
    pub fn leads(&mut self, leads: bool, now: Moment) {
        self.renewed = leads.then(|| self.renewed.unwrap_or(now));
    }

    /// What is wrong with our renewals, if anything.
    pub fn complain(&mut self, why: Option<String>) {
        self.complaint = why;
    }

    /// Whether it can be reached.
    pub fn state(&self) -> &RegistryState {
        &self.state
    }

    /// Judges anew; gives what is so from now on, where that is news. The reason of a failure stays what it was at first.
    pub fn look(&mut self, now: Moment) -> Option<&RegistryState> {
        let why = self.why(now);
        let is_news = why.is_some() == (self.state == RegistryState::Reachable);
        if is_news {
            self.state = why.map_or(RegistryState::Reachable, RegistryState::Unreachable);
        }
        is_news.then_some(&self.state)
    }

    /// When to judge anew, if nothing happens before.
    pub fn next(&self, now: Moment) -> Option<Moment> {
        let failing = self.failing.values().map(|(since, _)| *since);
        failing.chain(self.renewed).map(|since| since + self.lease).filter(|then| *then > now).min()
    }

    fn why(&self, now: Moment) -> Option<String> {
        let is_long_ago = |since: Moment| now.since(since) >= self.lease;
        let mut watches = self.failing.iter().filter(|(_, (since, _))| is_long_ago(*since));
        if let Some((kind, (_, why))) = watches.next() {
            return Some(format!("{} objects cannot be watched: {why}", kind.name()));
        }
        self.renewed.filter(|since| is_long_ago(*since)).map(|_| match &self.complaint {
            Some(why) => format!("the Lease of this cluster cannot be renewed: {why}"),
            None => "renewals of the Lease of this cluster do not come back".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    /// A registry of which everything is known.
    fn mk_health(now: Moment) -> RegistryHealth {
        let mut health = RegistryHealth::new(LEASE, now);
        Watched::all().for_each(|kind| health.listed(kind));
        health
    }

    /// Whether it is unreachable after so many seconds, asked once.
    fn is_lost(health: &mut RegistryHealth, start: Moment, second: u64) -> bool {
        health.look(start + Duration::from_secs(second));
        matches!(health.state(), RegistryState::Unreachable(_))
    }

    #[test]
    fn it_is_unreachable_once_it_was_silent_for_the_lease_time() {
        let start = Moment::START;
        let at = |second| start + Duration::from_secs(second);
        let mut never = RegistryHealth::new(LEASE, start);
        assert!(!is_lost(&mut never, start, 29), "a start takes a while");
        assert!(is_lost(&mut never, start, 30), "nothing was ever heard");
        Watched::all().for_each(|kind| never.listed(kind));
        assert!(!is_lost(&mut never, start, 31), "everything was listed");

        let mut watch = mk_health(start);
        watch.failed(Watched::Lease, "connection refused".to_owned(), at(10));
        watch.failed(Watched::Lease, "no route".to_owned(), at(35));
        assert!(!is_lost(&mut watch, start, 39), "not for long enough");
        assert_eq!(watch.next(at(39)), Some(at(40)));
        assert!(is_lost(&mut watch, start, 40), "a watch failed for the lease time");
        let RegistryState::Unreachable(why) = watch.state().clone() else { panic!("it is unreachable") };
        assert!(why.contains("no route"), "{why}");
        watch.failed(Watched::Lease, "connection refused".to_owned(), at(50));
        assert_eq!(watch.look(at(50)), None, "the reason stays what it was");
        watch.listed(Watched::Lease);
        assert_eq!(watch.look(at(51)), Some(&RegistryState::Reachable));

        let mut leader = mk_health(start);
        assert!(!is_lost(&mut leader, start, 100), "another replica renews");
        leader.leads(true, at(100));
        assert!(!is_lost(&mut leader, start, 129), "renewals take a while");
        leader.proved(at(129));
        leader.leads(true, at(140));
        assert!(!is_lost(&mut leader, start, 158), "one has come back");
        leader.complain(Some("forbidden".to_owned()));
        assert!(is_lost(&mut leader, start, 159), "none has since");
        leader.leads(false, at(160));
        assert!(!is_lost(&mut leader, start, 160), "another replica renews again");
    }
}
