//! The last few of what comes.

/// The last `N` numbers.
#[derive(Clone, Debug)]
pub(super) struct Ring<const N: usize> {
    values: [u32; N],
    /// Where the next one goes: where the oldest is, once there are `N`.
    next: usize,
    len: usize,
}

impl<const N: usize> Ring<N> {
    pub(super) const EMPTY: Self = Self { values: [0; N], next: 0, len: 0 };

    /// Takes one more; gives the one that is no longer among the last.
    pub(super) fn push(&mut self, value: u32) -> Option<u32> {
        let place = self.values.get_mut(self.next)?;
        let oldest = std::mem::replace(place, value);
        self.next = if self.next + 1 == N { 0 } else { self.next + 1 };
        if self.len == N {
            return Some(oldest);
        }
        self.len += 1;
        None
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// All of them in no order, once there are `N`.
    pub(super) fn full(&self) -> Option<[u32; N]> {
        (self.len == N).then_some(self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::Ring;

    #[test]
    fn the_last_ones_stay() {
        let mut ring = Ring::<3>::EMPTY;
        assert_eq!([ring.push(1), ring.push(2)], [None, None], "room for all");
        assert_eq!((ring.len(), ring.full()), (2, None), "not yet full");
        assert_eq!([ring.push(3), ring.push(4), ring.push(5)], [None, Some(1), Some(2)], "the oldest goes");
        let mut all = ring.full().expect("full");
        all.sort_unstable();
        assert_eq!(all, [3, 4, 5], "the last three");
    }
}
