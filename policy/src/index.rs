//! A hash index over numbered things.

use crate::arena::Arena;

/// A thing in a bucket.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u32,
    /// The half of its hash that does not say where it is.
    tag: u32,
}

/// Finds things by their hash among things numbered from 0, by open addressing with triangular probing. Its
/// buckets are in an arena, for the reason that it gives.
#[derive(Debug, Default)]
pub(crate) struct Index {
    buckets: Arena<Option<Entry>>,
}

impl Index {
    /// Indexes things of which `hash` gives the hash; none: it is not to be found. A thing for which `known` holds, with one that is
    /// indexed, is left out. At least half of the buckets stay empty.
    pub(crate) fn new(things: u32, hash: &dyn Fn(u32) -> Option<u64>, known: &mut dyn FnMut(u32, u32) -> bool) -> Self {
        let mut index = Self::default();
        let buckets = things.saturating_mul(2).next_power_of_two();
        index.buckets.extend((0..buckets).map(|_| None));
        for number in 0..things {
            let Some(hash) = hash(number) else { continue };
            if index.candidates(hash).any(|earlier| known(number, earlier)) {
                continue;
            }
            let empty = index.probe(hash).find(|bucket| matches!(index.buckets.get(*bucket), Some(None)));
            if let Some(bucket) = empty.and_then(|bucket| index.buckets.get_mut(bucket)) {
                *bucket = Some(Entry { number, tag: tag(hash) });
            }
        }
        index
    }

    /// The numbers of the things that have a hash, or by chance another, ascending.
    pub(crate) fn candidates(&self, hash: u64) -> impl Iterator<Item = u32> {
        let entries = self.probe(hash).map_while(|bucket| *self.buckets.get(bucket)?);
        entries.filter(move |entry| entry.tag == tag(hash)).map(|entry| entry.number)
    }

    /// Every bucket, beginning where a hash says.
    fn probe(&self, hash: u64) -> impl Iterator<Item = u32> + use<> {
        let buckets = self.buckets.len();
        // The number of buckets is a power of two, and a hash's upper half is the better mixed one.
        let mask = buckets.saturating_sub(1);
        let start = u32::try_from(hash >> 32).unwrap_or_default();
        (0..buckets).scan(start, move |bucket, step| {
            *bucket = bucket.wrapping_add(step) & mask;
            Some(*bucket)
        })
    }
}

fn tag(hash: u64) -> u32 {
    u32::try_from(hash & u64::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_that_is_known_is_left_out() {
        let index = Index::new(100_000, &|_| Some(0), &mut |_, _| true);
        assert!(index.candidates(0).eq([0]));
    }

    #[test]
    fn things_of_one_hash_are_found_in_their_order() {
        let index = Index::new(1_000, &|number| Some(u64::from(number % 7) << 33), &mut |_, _| false);
        for hash in 0..7_u64 {
            let found: Vec<_> = index.candidates(hash << 33).filter(|number| u64::from(number % 7) == hash).collect();
            assert!(found.iter().copied().eq((0..1_000).filter(|number| u64::from(number % 7) == hash)), "{hash}");
        }
        assert_eq!(Index::default().candidates(0).next(), None, "nothing is in an empty index");
        assert_eq!(
            Index::new(0, &|_| Some(0), &mut |_, _| false).candidates(0).next(),
            None,
            "nor in one over nothing"
        );
    }
}
