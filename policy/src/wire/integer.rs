//! Integers of the wire format, which travels as a protobuf `Struct`.

use serde::{Deserialize, Deserializer, de};

/// Reads an integer that may have become a double on its way through a protobuf `Struct`.
pub(super) fn integer<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<T, D::Error> {
    struct Visitor;
    impl de::Visitor<'_> for Visitor {
        type Value = u64;

        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str("a non-negative integer")
        }

        fn visit_u64<E: de::Error>(self, value: u64) -> Result<u64, E> {
            Ok(value)
        }

        fn visit_f64<E: de::Error>(self, value: f64) -> Result<u64, E> {
            whole(value).ok_or_else(|| E::invalid_value(de::Unexpected::Float(value), &self))
        }
    }
    let value = deserializer.deserialize_any(Visitor)?;
    T::try_from(value).map_err(|_| de::Error::invalid_value(de::Unexpected::Unsigned(value), &"a smaller integer"))
}

/// The integer that a double is (IEEE 754, section 3.4), from 0 below 2^53; none of others.
fn whole(value: f64) -> Option<u64> {
    const FRACTION: u32 = 52;
    let bits = value.to_bits();
    let exponent = u32::try_from(bits >> FRACTION).ok()?;
    // The bits of the fraction that are behind the point.
    let behind = (1_023 + FRACTION).checked_sub(exponent).filter(|behind| *behind <= FRACTION);
    let digits = bits & ((1 << FRACTION) - 1) | 1 << FRACTION;
    match behind {
        Some(behind) => (digits.trailing_zeros() >= behind).then(|| digits >> behind),
        None => (bits == 0).then_some(0),
    }
}

/// The same, where there is one.
pub(super) fn some_integer<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<Option<T>, D::Error> {
    integer(deserializer).map(Some)
}

/// The same of a list.
pub(super) fn integers<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    /// One of the list.
    struct Integer<T>(T);
    impl<'de, T: TryFrom<u64>> Deserialize<'de> for Integer<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            integer(deserializer).map(Self)
        }
    }
    let integers = Vec::<Integer<T>>::deserialize(deserializer)?;
    Ok(integers.into_iter().map(|Integer(number)| number).collect())
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn a_double_is_an_integer_or_is_not() {
        for number in (0..2_000).chain((0..53).map(|bit| 1 << bit)).chain([(1 << 53) - 1]) {
            let double: f64 = number.to_string().parse().unwrap();
            assert_eq!(whole(double), Some(number), "{number}");
        }
        for odd in [0.5, 80.25, -1.0, -0.0, 9_007_199_254_740_992.0, 1e300, f64::NAN, f64::INFINITY, 5e-324] {
            assert_eq!(whole(odd), None, "{odd}");
        }
    }
}
