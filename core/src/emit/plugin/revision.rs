//! The number by which gateways tell which configuration they have.

use mcwan_policy::limits;
use sha2::{Digest, Sha256};

/// The bits of a revision that stand for what the configuration says; those above count the changes, and begin again
/// after 65,536: by then no gateway has the first any more.
const CONTENT_BITS: u32 = 32;

/// The revision of a configuration for a module, after the one with the revision `newest`: the same if it says the same, by
/// its digest, and otherwise none of those before, though one of these may have said the same.
pub(super) fn revision(config: &[u8], module: &str, newest: Option<u64>) -> u64 {
    let digest = Sha256::new().chain_update(config).chain_update(module).finalize();
    let content = digest.iter().take(4).fold(0, |number, byte| number << 8 | u64::from(*byte));
    let changes = match newest.filter(|newest| *newest < limits::REVISIONS) {
        None => 0,
        Some(newest) if newest % (1 << CONTENT_BITS) == content => return newest,
        Some(newest) => (newest >> CONTENT_BITS) + 1,
    };
    (changes << CONTENT_BITS | content) % limits::REVISIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_the_same_has_the_same_revision_only_if_it_follows() {
        let first = revision(b"a", "m", None);
        assert_eq!(revision(b"a", "m", Some(first)), first, "nothing has changed");
        let second = revision(b"b", "m", Some(first));
        let third = revision(b"a", "m", Some(second));
        let module = revision(b"a", "n", Some(third));
        let all = [first, second, third, module];
        for (place, one) in all.iter().enumerate() {
            assert!(!all.iter().take(place).any(|other| other == one), "{one} twice");
        }
    }

    #[test]
    fn a_revision_stays_within_its_limit() {
        let last = revision(b"a", "m", Some(limits::REVISIONS - 1));
        assert_eq!(last, revision(b"a", "m", None), "it begins again");
        assert!(last < limits::REVISIONS);
        let none = limits::REVISIONS + last;
        assert_eq!(revision(b"a", "m", Some(none)), last, "others may write anything there");
    }
}
