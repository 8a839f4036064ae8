//! Which of the last probes were lost.

/// As many probes as the longest hold has at the shortest interval: 300 s of one each 200 ms.
pub(super) const MOST: u32 = 1_500;
/// What a sudden loss shows in.
pub(super) const SHORT: u32 = 50;
/// What a slight loss shows in.
pub(super) const LONG: u32 = 500;

const WORDS: usize = 24;
const PLACES: u32 = 64 * 24;

/// Whether each of the last probes was lost, with how many were in the windows by which that is judged.
#[derive(Clone, Debug)]
pub(super) struct Outcomes {
    /// A bit for each probe.
    lost: [u64; WORDS],
    /// Where the next one goes.
    next: u32,
    len: u32,
    short: u32,
    long: u32,
}

impl Outcomes {
    pub(super) const NONE: Self = Self { lost: [0; WORDS], next: 0, len: 0, short: 0, long: 0 };

    pub(super) fn push(&mut self, is_lost: bool) {
        // Those that leave the windows: fewer than there are places for.
        self.short -= u32::from(self.len >= SHORT && self.was_lost(SHORT));
        self.long -= u32::from(self.len >= LONG && self.was_lost(LONG));
        self.short += u32::from(is_lost);
        self.long += u32::from(is_lost);
        let bit = 1 << (self.next % 64);
        if let Some(word) = word(self.next).and_then(|word| self.lost.get_mut(word)) {
            *word = if is_lost { *word | bit } else { *word & !bit };
        }
        self.next = if self.next + 1 == PLACES { 0 } else { self.next + 1 };
        self.len = MOST.min(self.len + 1);
    }

    /// How many there are of at most so many.
    pub(super) fn len(&self, most: u32) -> u32 {
        self.len.min(most)
    }

    /// How many of the last 50 were lost.
    pub(super) const fn lost_of_short(&self) -> u32 {
        self.short
    }

    /// How many of the last 500 were lost.
    pub(super) const fn lost_of_long(&self) -> u32 {
        self.long
    }

    /// How many of the last so many were lost.
    pub(super) fn lost_of(&self, last: u32) -> u32 {
        let (mut count, mut left, mut end) = (0, self.len(last), self.next);
        while left > 0 {
            let place = if end == 0 { PLACES } else { end };
            // The bits of one word, of which the last is before `place`.
            let until = (place - 1) % 64 + 1;
            let taken = until.min(left);
            let word = word(place - 1).and_then(|word| self.lost.get(word)).copied().unwrap_or_default();
            count += (word << (64 - until) >> (64 - taken)).count_ones();
            left -= taken;
            end = place - taken;
        }
        count
    }

    /// Forgets all but the last so many.
    pub(super) fn keep(&mut self, last: u32) {
        self.len = self.len(last);
        self.short = self.lost_of(SHORT);
        self.long = self.lost_of(LONG);
    }

    /// Whether the last but so many was lost, where 1 is the last; there must be as many.
    fn was_lost(&self, back: u32) -> bool {
        let place = (self.next + PLACES - back) % PLACES;
        let word = word(place).and_then(|word| self.lost.get(word));
        word.is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

/// The word that has a place.
fn word(place: u32) -> Option<usize> {
    usize::try_from(place / 64).ok()
}

#[cfg(test)]
mod tests {
    use super::{LONG, MOST, Outcomes, SHORT};

    #[test]
    fn windows_are_as_a_list_has_them() {
        let mut outcomes = Outcomes::NONE;
        let mut list = Vec::new();
        let mut random = 1_u32;
        for step in 0..10_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let is_lost = random >> 28 == 0;
            outcomes.push(is_lost);
            list.insert(0, is_lost);
            list.truncate(MOST as usize);
            if step == 4_000 || step == 7_777 {
                outcomes.keep(333);
                list.truncate(333);
            }
            let count = |last: u32| u32::try_from(list.iter().take(last as usize).filter(|lost| **lost).count());
            assert_eq!(Ok(outcomes.lost_of_short()), count(SHORT), "step {step}: short");
            assert_eq!(Ok(outcomes.lost_of_long()), count(LONG), "step {step}: long");
            assert_eq!(Ok(outcomes.lost_of(1_200)), count(1_200), "step {step}: any");
            assert_eq!(outcomes.len(MOST) as usize, list.len(), "step {step}: length");
        }
    }
}
