use proptest::prelude::*;

use super::*;

const LEASE: Duration = Duration::from_secs(30);
const OWN: &str = "own";

/// What a judge is told.
#[derive(Clone, Debug)]
enum Event {
    Renewal(&'static str, u64),
    Listed,
    Lost,
    Join(&'static str),
    Leave(&'static str),
}

use Event::{Join, Leave, Listed, Lost, Renewal};

/// What a Lease says that was renewed for the n-th time.
fn mk_lease(number: u64) -> Lease {
    Lease { renewal: Some(number.to_string().into()), ..Lease::default() }
}

/// A judge that is told events, each so many tenths of seconds after the start.
struct Court {
    judge: Judge,
    start: Moment,
}

impl Court {
    fn new() -> Self {
        Self { judge: Judge::new(OWN, LEASE), start: Moment::START }
    }

    /// One that has listed all Leases, of which there are none but our own, and knows of the clusters.
    fn with(clusters: &[&str]) -> Self {
        let mut court = Self::new();
        court.handle(0, &Renewal(OWN, 0));
        court.handle(0, &Listed);
        for cluster in clusters {
            court.judge.join(cluster, court.start);
        }
        court
    }

    fn at(&self, tenths: u32) -> Moment {
        self.start + Duration::from_millis(100) * tenths
    }

    fn handle(&mut self, tenths: u32, event: &Event) {
        let now = self.at(tenths);
        match event {
            Renewal(cluster, number) => drop(self.judge.observe(cluster, mk_lease(*number), now)),
            Listed => self.judge.listed(),
            Lost => self.judge.lose_sight(),
            Join(cluster) => self.judge.join(cluster, now),
            Leave(cluster) => self.judge.leave(cluster),
        }
    }

    /// Our own renewals, from one second to another, and those of others at the same time.
    fn renew(&mut self, from: u32, to: u32, others: &[&'static str]) {
        for second in (from..=to).step_by(10) {
            for cluster in others.iter().copied().chain([OWN]) {
                self.handle(second * 10, &Renewal(cluster, 1_000 + u64::from(second)));
            }
        }
    }

    fn stale(&self) -> Vec<String> {
        self.judge.stale().into_iter().collect()
    }
}

#[test]
fn a_cluster_is_stale_once_it_was_not_seen_to_renew_for_the_lease_time() {
    let mut court = Court::with(&["c1", "c2"]);
    court.renew(10, 50, &["c1", "c2"]);
    court.renew(60, 70, &["c2"]);
    assert_eq!(court.stale(), [""; 0], "20 seconds");
    court.renew(80, 80, &["c2"]);
    assert_eq!(court.stale(), ["c1"], "30 seconds");
    court.renew(90, 500, &["c2"]);
    assert_eq!(court.stale(), ["c1"], "for ever");
}

#[test]
fn it_is_back_at_its_first_renewal() {
    let mut court = Court::with(&["c1"]);
    court.renew(10, 100, &[]);
    assert_eq!(court.stale(), ["c1"]);
    court.handle(1010, &Renewal("c1", 1));
    assert_eq!(court.stale(), [""; 0]);
    court.handle(1020, &Renewal("c1", 1));
    court.renew(110, 130, &[]);
    assert_eq!(court.stale(), [""; 0], "29 seconds");
    court.renew(140, 140, &[]);
    assert_eq!(court.stale(), ["c1"], "the same again is no renewal");
}

#[test]
fn what_a_backup_brings_back_is_no_renewal() {
    let mut court = Court::with(&["c1"]);
    court.renew(10, 100, &[]);
    court.judge.listing();
    court.handle(1_010, &Renewal("c1", 1));
    court.handle(1_010, &Listed);
    assert_eq!(court.stale(), ["c1"], "it may have been there before the one that was seen last");
    court.judge.listing();
    court.handle(1_020, &Renewal("c1", 2));
    court.handle(1_020, &Listed);
    assert_eq!(court.stale(), [""; 0], "it renews, though no watch lasts for long enough to see that");
    court.renew(110, 200, &[]);
    court.judge.listing();
    court.handle(2_010, &Renewal("c1", 1));
    court.handle(2_010, &Listed);
    assert_eq!(court.stale(), ["c1"], "the same again, for this time");
    court.handle(2_020, &Renewal("c1", 2));
    assert_eq!(court.stale(), [""; 0], "a watch sees the next one");
}

#[test]
fn a_cluster_that_never_had_a_lease_is_stale_after_a_full_lease_time() {
    let mut court = Court::with(&[]);
    court.renew(10, 55, &[]);
    court.handle(550, &Join("late"));
    court.renew(60, 80, &[]);
    assert_eq!(court.stale(), [""; 0], "25 seconds");
    court.renew(90, 90, &[]);
    assert_eq!(court.stale(), ["late"]);
    court.handle(950, &Leave("late"));
    assert_eq!(court.stale(), [""; 0], "it is no cluster of the registry any more");
}

#[test]
fn nobody_is_judged_before_a_full_lease_time_after_a_break() {
    for (name, breaks) in [("failed", &[Lost][..]), ("listed anew", &[Listed]), ("both", &[Lost, Listed])] {
        let mut court = Court::with(&["c1"]);
        court.renew(10, 20, &["c1"]);
        court.renew(30, 40, &[]);
        for event in breaks {
            court.handle(450, event);
        }
        // Our renewal at 50 is the first that is seen again.
        court.renew(50, 70, &[]);
        assert_eq!(court.stale(), [""; 0], "{name}: 20 seconds");
        court.renew(80, 80, &[]);
        assert_eq!(court.stale(), ["c1"], "{name}: 30 seconds");
    }
}

#[test]
fn nothing_is_judged_while_our_own_renewals_are_not_seen() {
    let mut court = Court::with(&["c1"]);
    court.renew(10, 20, &["c1"]);
    (20..1_000_u32).for_each(|second| court.handle(second * 10, &Renewal("c2", second.into())));
    assert_eq!(court.stale(), [""; 0], "others' renewals prove nothing of ours");
    court.renew(1_000, 1_020, &[]);
    assert_eq!(court.stale(), [""; 0], "20 seconds after the gap");
    court.renew(1_030, 1_030, &[]);
    assert_eq!(court.stale(), ["c1"]);
}

#[test]
fn a_restart_does_not_bring_a_stale_cluster_back() {
    let leases = [("own", &["c1", "c3"][..]), ("c1", &[]), ("c2", &["own"])];
    for order in [[0, 1, 2], [2, 1, 0]] {
        let mut court = Court::new();
        for cluster in ["c1", "c2"] {
            court.judge.join(cluster, court.start);
        }
        for (name, stale) in order.map(|index| leases[index]) {
            let lease = Lease { stale: stale.iter().map(|name| (*name).to_owned()).collect(), ..mk_lease(7) };
            court.judge.observe(name, lease, court.start);
        }
        court.handle(0, &Listed);
        court.handle(0, &Join("c3"));
        assert_eq!(court.stale(), ["c1", "c3"], "what our own Lease says, in the order {order:?}");
        court.handle(50, &Renewal("c1", 8));
        assert_eq!(court.stale(), ["c3"], "it has renewed");
    }
}

#[test]
fn who_is_stale_for_too_long_is_refused_and_the_registrys_absence_does_not_count() {
    let mut court = Court::with(&["c1", "c2"]);
    court.judge = court.judge.refusing_after(Some(Duration::from_mins(1)));
    let refused = |court: &Court| court.judge.refused().into_iter().collect::<Vec<_>>();
    court.renew(10, 90, &[]);
    assert_eq!(court.stale(), ["c1", "c2"], "since the 40th second");
    assert_eq!((refused(&court), court.judge.longest_stale()), (Vec::new(), Duration::from_secs(50)));
    court.renew(2_000, 2_000, &[]);
    assert_eq!(refused(&court), [""; 0], "what was not seen does not count");
    court.renew(2_010, 2_010, &[]);
    assert_eq!(refused(&court), ["c1", "c2"], "60 seconds in all");
    court.handle(20_150, &Renewal("c1", 1));
    assert_eq!(refused(&court), ["c2"], "it is back");
    court.handle(20_160, &Leave("c2"));
    assert_eq!(refused(&court), [""; 0], "it is no cluster any more");
    let mut patient = Court::with(&["c1"]);
    patient.renew(10, 5_000, &[]);
    assert_eq!((patient.stale().len(), refused(&patient)), (1, Vec::new()), "nobody is refused unless it is asked for");
}

#[test]
fn a_restart_does_not_admit_a_refused_cluster_again() {
    let mut court = Court::new();
    court.judge = court.judge.refusing_after(Some(Duration::from_mins(1)));
    court.handle(0, &Join("c1"));
    let [stale, refused] = [&["c1", "c2", "c3"][..], &["c1", "c2"]].map(|all| all.iter().map(|of| (*of).to_owned()));
    let lease = Lease { stale: stale.collect(), refused: refused.collect(), ..mk_lease(7) };
    court.judge.observe(OWN, lease, court.start);
    court.handle(0, &Listed);
    court.handle(0, &Join("c2"));
    court.handle(0, &Join("c3"));
    assert_eq!(court.judge.refused().into_iter().collect::<Vec<_>>(), ["c1", "c2"]);
    assert_eq!(court.stale(), ["c1", "c2", "c3"]);
}

#[test]
fn who_renews_seldom_by_his_own_word_is_waited_for_as_long() {
    let mut court = Court::with(&["c1", "c2"]);
    for (cluster, seconds) in [("c1", 90), ("c2", 5)] {
        let lease = Lease { lasts: Duration::from_secs(seconds), ..mk_lease(1) };
        court.judge.observe(cluster, lease, court.start);
    }
    court.renew(10, 30, &[]);
    assert_eq!(court.stale(), [""; 0], "not before our own lease time");
    court.renew(40, 90, &[]);
    assert_eq!(court.stale(), ["c2"]);
    court.renew(100, 100, &[]);
    assert_eq!(court.stale(), ["c1", "c2"]);
}

/// Events with the tenths of seconds before each. Our own renewals come often enough for others to become stale.
fn history() -> impl Strategy<Value = Vec<(u32, Event)>> {
    let cluster = || prop_oneof![6 => Just(OWN), 1 => Just("c1"), 1 => Just("c2")];
    let event = prop_oneof![
        20 => (cluster(), 0..9_u64).prop_map(|(cluster, number)| Renewal(cluster, number)),
        1 => Just(Listed),
        1 => Just(Lost),
        1 => cluster().prop_map(Join),
        1 => cluster().prop_map(Leave),
    ];
    prop::collection::vec((0..80_u32, event), 1..120)
}

/// What is stale after each event, and the tenths of seconds by then.
fn verdicts(history: &[(u32, Event)], lease: impl Fn(u64) -> Lease) -> Vec<(u32, Vec<String>)> {
    let mut court = Court::new();
    let mut tenths = 0;
    let mut verdicts = Vec::new();
    for (wait, event) in history {
        tenths += wait;
        match event {
            Renewal(cluster, number) => drop(court.judge.observe(cluster, lease(*number), court.at(tenths))),
            other => court.handle(tenths, other),
        }
        verdicts.push((tenths, court.stale()));
    }
    verdicts
}

/// What of a history speaks against a verdict, told in another way.
#[derive(Default)]
struct Witness {
    known: BTreeMap<&'static str, u64>,
    members: BTreeSet<&'static str>,
    /// When each cluster came or renewed last.
    of: BTreeMap<&'static str, u32>,
    /// When we began to see everything.
    blind: u32,
    /// Our own renewal that was seen last; none: it was before a break.
    own: Option<u32>,
}

impl Witness {
    fn handle(&mut self, now: u32, event: &Event) {
        match event {
            Renewal(cluster, number) => {
                let is_renewal = self.known.insert(cluster, *number) != Some(*number);
                if is_renewal {
                    self.of.insert(cluster, now);
                }
                if is_renewal && *cluster == OWN {
                    if self.own.is_none_or(|own| now - own > 150) {
                        self.blind = now;
                    }
                    self.own = Some(now);
                }
            }
            Listed | Lost => self.own = None,
            Join(cluster) => {
                if self.members.insert(cluster) {
                    self.of.insert(cluster, now);
                }
            }
            Leave(cluster) => {
                self.members.remove(cluster);
                if *cluster != OWN {
                    self.known.remove(cluster);
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn remote_clocks_do_not_matter(history in history(), offset in any::<u64>()) {
        let skewed = |number: u64| Lease {
            renewal: Some(number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(offset).to_string().into()),
            ..Lease::default()
        };
        prop_assert_eq!(verdicts(&history, mk_lease), verdicts(&history, skewed));
    }

    #[test]
    fn who_becomes_stale_was_watched_in_vain_for_the_lease_time(history in history()) {
        let mut witness = Witness::default();
        let mut before: &[String] = &[];
        let verdicts = verdicts(&history, mk_lease);
        for ((now, stale), (_, event)) in verdicts.iter().zip(&history) {
            witness.handle(*now, event);
            for cluster in stale.iter().filter(|cluster| !before.contains(cluster)) {
                prop_assert!(matches!(event, Renewal(OWN, _)), "{} by {:?}", cluster, event);
                prop_assert!(now - witness.of[&**cluster] >= 300, "{} has shown itself lately", cluster);
                prop_assert!(now - witness.blind >= 300, "we did not see everything before {}", now);
            }
            before = stale;
        }
    }

    #[test]
    fn who_renews_in_time_is_never_stale(
        history in history(),
        phase in 0..100_u32,
    ) {
        // Beside whatever happens, `steady` renews every ten seconds.
        let mut court = Court::new();
        court.handle(0, &Join("steady"));
        let (mut tenths, mut renewals) = (0, 0_u32);
        for (wait, event) in &history {
            tenths += wait;
            while phase + renewals * 100 <= tenths {
                court.handle(phase + renewals * 100, &Renewal("steady", renewals.into()));
                renewals += 1;
            }
            court.handle(tenths, event);
            prop_assert!(!court.stale().contains(&"steady".to_owned()), "after {:?} at {}", event, tenths);
        }
    }

    #[test]
    fn a_renewal_that_is_seen_brings_a_cluster_back(history in history()) {
        let verdicts = verdicts(&history, mk_lease);
        let mut known = BTreeMap::new();
        for ((_, event), (_, stale)) in history.iter().zip(&verdicts) {
            match event {
                Renewal(cluster, number) if known.insert(*cluster, *number).is_some_and(|before| before != *number) => {
                    prop_assert!(!stale.contains(&(*cluster).to_owned()), "{:?}", event);
                }
                Leave(cluster) => drop(known.remove(cluster)),
                _ => {}
            }
        }
    }

    #[test]
    fn who_is_never_heard_of_is_stale_in_the_end(history in history()) {
        let mut court = Court::new();
        court.handle(0, &Join("silent"));
        let mut tenths = 0;
        for (wait, event) in &history {
            tenths += wait;
            court.handle(tenths, event);
        }
        for renewal in 0..=4 {
            court.handle(tenths + 100 * renewal, &Renewal(OWN, 1_000 + u64::from(renewal)));
        }
        prop_assert!(court.stale().contains(&"silent".to_owned()));
    }
}
