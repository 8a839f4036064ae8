//! One uniform number for choices by weight, one after the other.

/// A uniform number that is drawn where a choice first needs it, and of which a choice leaves the next one its part.
pub(crate) enum Draw<F> {
    /// No choice has needed it.
    Undrawn(F),
    /// The number fell at this place of a share of so much weight, and so much of 2^64 behind the place.
    Within {
        /// Below the weight.
        place: u64,
        fraction: u64,
        weight: u64,
    },
}

impl<F: FnOnce() -> u64> Draw<F> {
    /// Uniform, whatever was chosen before: where in its share the number fell, as a part of 2^64.
    fn number(self) -> u64 {
        match self {
            Self::Undrawn(draw) => draw(),
            Self::Within { place, fraction, weight } => {
                let whole = u128::from(place) << 64 | u128::from(fraction);
                whole.checked_div(weight.into()).and_then(|part| part.try_into().ok()).unwrap_or_default()
            }
        }
    }

    /// The thing that the number falls on, and the number for the next choice; none where all weights are zero.
    pub(crate) fn pick<T>(self, things: impl Iterator<Item = (u32, T)> + Clone) -> Option<(T, Self)> {
        let mut weighed = things.filter(|(weight, _)| *weight > 0);
        let mut candidates = weighed.clone();
        let (_, first) = candidates.next()?;
        if candidates.next().is_none() {
            return Some((first, self));
        }
        let total: u64 = weighed.clone().map(|(weight, _)| u64::from(weight)).sum();
        let product = u128::from(self.number()) * u128::from(total);
        let mut left = u64::try_from(product >> 64).ok()?;
        let fraction = u64::try_from(product & u128::from(u64::MAX)).ok()?;
        weighed.find_map(|(weight, thing)| {
            let weight = u64::from(weight);
            if left < weight {
                return Some((thing, Self::Within { place: left, fraction, weight }));
            }
            left -= weight;
            None
        })
    }
}
