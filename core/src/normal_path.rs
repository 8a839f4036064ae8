//! Paths as filters and routes see them.

/// A path as Envoy's `normalize_path` leaves it (RFC 3986, sections 6.2.2.2 and 6.2.2.3): unreserved characters
/// decoded, `\` read as `/`, dot segments removed; the query stays. A fragment is dropped: no client sends one.
pub(crate) fn normalised(target: &str) -> String {
    let target = target.split('#').next().unwrap_or_default();
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    let Some(path) = decoded(path).strip_prefix('/').map(str::to_owned) else {
        return target.to_owned();
    };
    let mut segments: Vec<&str> = Vec::new();
    let mut last = "";
    for segment in path.split('/') {
        last = segment;
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    if matches!(last, "." | "..") {
        segments.push("");
    }
    format!("/{}{query}", segments.join("/"))
}

fn decoded(path: &str) -> String {
    let mut rest = path;
    let mut decoded = String::with_capacity(path.len());
    while let Some(next) = rest.chars().next() {
        let code = rest.strip_prefix('%').and_then(|rest| rest.get(..2));
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        let unreserved = byte.filter(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte));
        let (seen, bytes) = match (unreserved, next) {
            (Some(byte), _) => (char::from(byte), 3),
            (None, '\\') => ('/', 1),
            (None, next) => (next, next.len_utf8()),
        };
        decoded.push(seen);
        rest = rest.get(bytes..).unwrap_or_default();
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_seen_as_envoy_normalises_it() {
        let table = [
            ("/payment", "/payment"),
            ("/payment/../stats?a=/../b", "/stats?a=/../b"),
            ("/payment/./a/..", "/payment/"),
            ("/../a", "/a"),
            ("/a/%2e%2E/b", "/b"),
            ("/%70ayment%2fa", "/payment%2fa"),
            ("/a\\b", "/a/b"),
            ("//a", "//a"),
            ("/a#b?c", "/a"),
            ("/a%", "/a%"),
            ("/é%zz", "/é%zz"),
            ("*", "*"),
            ("", ""),
        ];
        for (path, seen) in table {
            assert_eq!(normalised(path), seen, "{path}");
        }
    }
}
