//! Messages of bounded length.

use crate::problem::{ObjectRef, Problem};

/// Bytes of a message: what an Event may hold, and a small part of what a condition may.
const BYTES: usize = 1024;
/// Bytes that are kept for what is said beside the parts.
const RESERVE: usize = 64;

/// Joins parts as far as there is room, and says how many more there are.
pub(super) fn joined(parts: impl IntoIterator<Item = String>) -> String {
    let room = BYTES - RESERVE;
    let mut message = String::new();
    let mut left_out = 0_usize;
    for part in parts {
        if message.is_empty() {
            message = shortened(part, room);
        } else if left_out == 0 && message.len() + "; ".len() + part.len() <= room {
            message.push_str("; ");
            message.push_str(&part);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 { format!("{message}; and {left_out} more") } else { message }
}

/// What problems say, for a reader who has `object` before him.
pub(super) fn of_problems<'p>(problems: impl IntoIterator<Item = &'p Problem>, object: &ObjectRef) -> String {
    joined(problems.into_iter().map(|problem| {
        let Problem { object: other, field, reason, message, hint, severity: _, not_permitted: _ } = problem;
        let other = (other != object).then(|| other.to_string());
        let field = (!field.is_root()).then(|| field.to_string());
        let places: String = [other, field].into_iter().flatten().map(|place| place + ": ").collect();
        let hint = hint.as_ref().map(|hint| format!(": {hint}")).unwrap_or_default();
        format!("{places}{message}{hint} ({reason})")
    }))
}

fn shortened(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes - '…'.len_utf8()));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_bounded_and_says_what_is_left_out() {
        let parts = |count: usize, length: usize| (0..count).map(move |_| "ä".repeat(length / 2));
        assert_eq!(joined(parts(2, 4)), "ää; ää");
        let many = joined(parts(50, 100));
        assert!(many.len() <= BYTES && many.ends_with("; and 41 more"), "{many}");
        let long = joined(parts(3, 5000));
        assert!(long.len() <= BYTES && long.contains('…') && long.ends_with("; and 2 more"), "{long}");
    }
}
