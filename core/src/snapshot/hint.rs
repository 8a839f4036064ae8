//! What serde says, for the person who wrote the document.

/// Similarity, from 0 to 1, from which on one word was probably meant to be the other.
const SIMILAR: f64 = 0.7;

/// What a type that serde names is called here.
const TYPES: [(&str, &str); 12] = [
    ("a nonzero u16", "a number from 1 to 65535"),
    ("a nonzero u32", "a number from 1 to 4294967295"),
    ("u8", "a number from 0 to 255"),
    ("u16", "a number from 0 to 65535"),
    ("u32", "a number from 0 to 4294967295"),
    ("i32", "a number"),
    ("i64", "a number"),
    ("a map", "a mapping"),
    ("a sequence", "a list"),
    ("a boolean", "`true` or `false`"),
    ("IP address", "an IP address"),
    ("unit", "nothing"),
];

/// A message of serde's, put plainly, and a hint where one can be given.
pub(super) fn explain(message: &str) -> (String, Option<String>) {
    if let Some((name, known)) = unknown(message, "field") {
        return (format!("unknown field `{name}`"), did_you_mean(name, &known));
    }
    if let Some((name, known)) = unknown(message, "variant") {
        return (format!("`{name}` is not one of {}", known.join(", ")), did_you_mean(name, &known));
    }
    for prefix in ["invalid type: ", "invalid value: "] {
        if let Some((found, expected)) = message.strip_prefix(prefix).and_then(|rest| rest.split_once(", expected ")) {
            return (format!("expected {}, found {}", type_name(expected), found_name(found)), mend(found, expected));
        }
    }
    (message.to_owned(), None)
}

/// The name that is unknown and the names that are known.
fn unknown<'m>(message: &'m str, what: &str) -> Option<(&'m str, Vec<&'m str>)> {
    let quoted = message.strip_prefix("unknown ")?.strip_prefix(what)?;
    let mut names = quoted.split('`').skip(1).step_by(2);
    Some((names.next()?, names.collect()))
}

/// The known name that was probably meant, else all that are known.
fn did_you_mean(name: &str, known: &[&str]) -> Option<String> {
    match nearest(name, known.iter().copied()) {
        Some(meant) => Some(format!("did you mean `{meant}`?")),
        None if known.is_empty() => None,
        None => Some(format!("known here: {}", known.join(", "))),
    }
}

/// The most similar of some names, if any is similar enough.
pub(super) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let name = name.to_lowercase();
    known
        .map(|known| (strsim::jaro_winkler(&name, &known.to_lowercase()), known))
        .filter(|(similarity, _)| *similarity >= SIMILAR)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, known)| known)
}

fn type_name(expected: &str) -> String {
    let plain = TYPES.iter().find(|(theirs, _)| *theirs == expected).map(|(_, ours)| *ours);
    let plain = plain.unwrap_or(if expected.starts_with("struct ") { "a mapping" } else { expected });
    plain.replace("one of: ", "one of ")
}

fn found_name(found: &str) -> String {
    match found.split_once(' ') {
        None if found == "map" => "a mapping".to_owned(),
        None if found == "sequence" => "a list".to_owned(),
        None if found == "null" => "nothing".to_owned(),
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer", number)) => format!("the number {number}"),
        Some(("floating", point)) => point.replace("point", "the number"),
        Some(_) | None => found.to_owned(),
    }
}

/// How to write it: YAML reads unquoted digits as a number and `true` as a boolean, a quoted number is text, and items of a
/// list begin with a dash.
fn mend(found: &str, expected: &str) -> Option<String> {
    if (found, expected) == ("map", "a sequence") {
        return Some("begin each item with `- `".to_owned());
    }
    let scalar = ["integer", "floating point", "boolean"].iter().find_map(|kind| found.strip_prefix(kind));
    match scalar {
        Some(value) if expected.contains("string") => {
            Some(format!("write it in quotes: \"{}\"", value.trim_matches([' ', '`'])))
        }
        _ => {
            let text = found.strip_prefix("string ")?.trim_matches('"');
            let is_number = text.parse::<f64>().is_ok() && type_name(expected).starts_with("a number");
            is_number.then(|| format!("write it without quotes: {text}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_plain() {
        let table = [
            (
                "unknown field `matchs`, expected one of `name`, `matches`",
                "unknown field `matchs`",
                Some("did you mean `matches`?"),
            ),
            (
                "unknown field `zone`, expected one of `name`, `matches`",
                "unknown field `zone`",
                Some("known here: name, matches"),
            ),
            ("unknown field `x`, there are no fields", "unknown field `x`", None),
            (
                "unknown variant `get`, expected one of `GET`, `PUT`",
                "`get` is not one of GET, PUT",
                Some("did you mean `GET`?"),
            ),
            (
                "invalid type: integer `8080`, expected a string",
                "expected a string, found the number `8080`",
                Some("write it in quotes: \"8080\""),
            ),
            (
                "invalid type: string \"8080\", expected a nonzero u16",
                "expected a number from 1 to 65535, found the text \"8080\"",
                Some("write it without quotes: 8080"),
            ),
            (
                "invalid value: integer `70000`, expected a nonzero u16",
                "expected a number from 1 to 65535, found the number `70000`",
                None,
            ),
            ("invalid value: 402, expected one of: 403, 404", "expected one of 403, 404, found 402", None),
            (
                "invalid type: floating point `0.5`, expected a string",
                "expected a string, found the number `0.5`",
                Some("write it in quotes: \"0.5\""),
            ),
            (
                "invalid type: map, expected a sequence",
                "expected a list, found a mapping",
                Some("begin each item with `- `"),
            ),
            ("invalid type: null, expected struct HttpRule", "expected a mapping, found nothing", None),
            ("missing field `port`", "missing field `port`", None),
        ];
        for (message, plain, hint) in table {
            assert_eq!(explain(message), (plain.to_owned(), hint.map(str::to_owned)), "{message}");
        }
    }
}
