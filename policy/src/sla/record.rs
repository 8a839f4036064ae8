//! What the VM that probes tells the others of its proxy.

use std::time::Duration;

use super::{ConfigAge, Judgement, Lease, Moment, Standing, VmId};
use crate::hash::Hash;
use crate::limits::PATHS;

/// Under which name it is shared. All plugins of a proxy share the names, so what is read may be anybody's; one of another
/// form has another name.
pub const RECORD_KEY: &str = "mcwan.sla.1";

/// What it begins with.
const MAGIC: &[u8] = b"mcwan.sla.1\n";
/// The longest period in it; a hold is at most as long.
const LONGEST: Duration = Duration::from_mins(10);

/// A path, by what is the same in all configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(u64);

/// The lease, and where paths stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Who probes.
    pub lease: Lease,
    /// Where the paths stand that it probes; times in microseconds, holds in milliseconds.
    pub standings: Vec<(PathId, Standing)>,
}

impl PathId {
    /// That of a tier, a remote cluster and a namespace.
    pub fn new(tier: &str, cluster: &str, namespace: &str) -> Self {
        // No name ends where another begins.
        let add = |hash: Hash, name: &str| hash.bytes(name.as_bytes()).bytes(&[0xff]);
        Self([tier, cluster, namespace].into_iter().fold(Hash::new(), add).finish())
    }
}

impl Record {
    /// The form in which it is shared: the lease, then 21 bytes for each path.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Lease { holder: VmId(holder), config: ConfigAge { revision, since }, renewed, period } = self.lease;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(holder.to_le_bytes());
        bytes.extend(revision.to_le_bytes());
        bytes.extend(micros(since));
        bytes.extend(micros(renewed));
        bytes.extend(millis(period));
        for (PathId(path), Standing { judgement, since, hold }) in self.standings.iter().take(PATHS) {
            bytes.extend(path.to_le_bytes());
            bytes.push(judgement.code());
            bytes.extend(micros(*since));
            bytes.extend(millis(*hold));
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) writes; nothing where that is something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let rest = &mut rest;
        let holder = VmId(u128::from_le_bytes(take(rest)?));
        let config = ConfigAge { revision: u64::from_le_bytes(take(rest)?), since: take_moment(rest)? };
        let lease = Lease { holder, config, renewed: take_moment(rest)?, period: take_duration(rest)? };
        let mut standings = Vec::new();
        while !rest.is_empty() {
            if standings.len() == PATHS {
                return None;
            }
            let path = PathId(u64::from_le_bytes(take(rest)?));
            let [judgement] = take(rest)?;
            let judgement = Judgement::from_code(judgement)?;
            standings.push((path, Standing { judgement, since: take_moment(rest)?, hold: take_duration(rest)? }));
        }
        Some(Self { lease, standings })
    }
}

fn micros(moment: Moment) -> [u8; 8] {
    u64::try_from(moment.since_start().as_micros()).unwrap_or(u64::MAX).to_le_bytes()
}

fn millis(duration: Duration) -> [u8; 4] {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX).to_le_bytes()
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*taken)
}

fn take_moment(rest: &mut &[u8]) -> Option<Moment> {
    take(rest).map(|micros| Moment::after_start(Duration::from_micros(u64::from_le_bytes(micros))))
}

fn take_duration(rest: &mut &[u8]) -> Option<Duration> {
    let duration = Duration::from_millis(u32::from_le_bytes(take(rest)?).into());
    (duration <= LONGEST).then_some(duration)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::{MAGIC, PathId, Record};
    use crate::limits::PATHS;

    use crate::sla::{ConfigAge, Judgement, Lease, Moment, Standing, VmId};

    fn moment() -> impl Strategy<Value = Moment> {
        any::<u64>().prop_map(|micros| Moment::after_start(Duration::from_micros(micros)))
    }

    fn duration() -> impl Strategy<Value = Duration> {
        (0..=600_000_u64).prop_map(Duration::from_millis)
    }

    fn record() -> impl Strategy<Value = Record> {
        let standing = (select(Judgement::ALL.to_vec()), moment(), duration())
            .prop_map(|(judgement, since, hold)| Standing { judgement, since, hold });
        let standings = vec((any::<u64>().prop_map(PathId), standing), 0..8);
        (any::<u128>(), any::<u64>(), moment(), moment(), duration(), standings).prop_map(
            |(holder, revision, since, renewed, period, standings)| {
                let config = ConfigAge { revision, since };
                Record { lease: Lease { holder: VmId(holder), config, renewed, period }, standings }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(record in record()) {
            prop_assert_eq!(Record::from_bytes(&record.to_bytes()), Some(record));
        }

        #[test]
        fn what_is_cut_or_longer_is_none(record in record(), bytes in 1_usize..20) {
            let mut written = record.to_bytes();
            let longer: Vec<_> = written.iter().copied().chain(vec![0; bytes]).collect();
            prop_assert_eq!(Record::from_bytes(&longer), None);
            written.truncate(written.len() - bytes);
            prop_assert_eq!(Record::from_bytes(&written), None);
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..200)) {
            Record::from_bytes(&bytes);
            Record::from_bytes(&[MAGIC, &bytes].concat());
        }
    }

    #[test]
    fn one_of_too_many_paths_is_none() {
        let standing = Standing { judgement: Judgement::ALL[0], since: Moment::START, hold: Duration::ZERO };
        let config = ConfigAge { revision: 0, since: Moment::START };
        let lease = Lease { holder: VmId(1), config, renewed: Moment::START, period: Duration::ZERO };
        let record = Record { lease, standings: vec![(PathId(1), standing); PATHS] };
        let mut bytes = record.to_bytes();
        assert_eq!(Record::from_bytes(&bytes), Some(record));
        bytes.extend_from_within(bytes.len() - 21..);
        assert_eq!(Record::from_bytes(&bytes), None);
    }

    #[test]
    fn each_path_has_its_own_number() {
        let known = PathId::new("high", "cluster1", "secure");
        for (tier, cluster, namespace) in [
            ("low", "cluster1", "secure"),
            ("high", "cluster2", "secure"),
            ("high", "cluster1", "other"),
            ("hig", "hcluster1", "secure"),
        ] {
            assert_ne!(PathId::new(tier, cluster, namespace), known, "{tier} {cluster} {namespace}");
        }
        assert_eq!(PathId::new("high", "cluster1", "secure"), known);
    }
}
