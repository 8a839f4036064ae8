//! Header maps, and how they cross the border between host and module.

use std::fmt;

/// Header lines in order, with Envoy's semantics: names are kept in lower case, pseudo-headers
/// come first, a name may have several lines. Names and values are bytes.
///
/// One thing that Envoy does is not done: of the headers that it knows by name
/// (`x-forwarded-for`, `cookie` and a few dozen more) it joins the lines of a request into one.
///
/// ```
/// use mcwan_wasm_tests::Headers;
///
/// let mut headers: Headers = [("X-A", "1"), (":path", "/"), ("x-a", "2")].into_iter().collect();
/// assert_eq!(headers.get("x-a"), Some(&b"1"[..]));
/// assert_eq!(headers.get_all("X-a").count(), 2);
/// headers.replace("X-A", "3");
/// assert_eq!(format!("{headers:?}"), r#"{":path": "/", "x-a": "3"}"#);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(Vec<u8>, Vec<u8>)>);

impl Headers {
    /// The first value of a name, in any case.
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        self.get_all(name).next()
    }

    /// Every value of a name, in any case, in order.
    pub fn get_all<N: AsRef<[u8]>>(&self, name: N) -> impl Iterator<Item = &[u8]> + use<'_, N> {
        self.iter().filter(move |(line, _)| line.eq_ignore_ascii_case(name.as_ref())).map(|(_, value)| value)
    }

    /// All lines in order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a line: a pseudo-header behind the other ones of its kind, else at the end.
    pub fn add(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        let line = (name.as_ref().to_ascii_lowercase(), value.as_ref().to_owned());
        let position = if line.0.starts_with(b":") {
            self.0.partition_point(|(present, _)| present.starts_with(b":"))
        } else {
            self.0.len()
        };
        self.0.insert(position, line);
    }

    /// Removes every line of a name and adds one.
    pub fn replace(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
        self.remove(name.as_ref());
        self.add(name, value);
    }

    /// Removes every line of a name.
    pub fn remove(&mut self, name: impl AsRef<[u8]>) {
        self.0.retain(|(present, _)| !present.eq_ignore_ascii_case(name.as_ref()));
    }

    /// The form in which a module gets them: the number of lines, the sizes of all names and
    /// values, then all names and values, each with a zero byte behind it; integers are 32 bits,
    /// little-endian. No line at all is no byte at all. None: sizes do not fit.
    pub(crate) fn to_pairs(&self) -> Option<Vec<u8>> {
        if self.is_empty() {
            return Some(Vec::new());
        }
        let size = |length: usize| u32::try_from(length).ok().map(u32::to_le_bytes);
        let mut bytes = Vec::from(size(self.len())?);
        for (name, value) in self.iter() {
            bytes.extend(size(name.len())?);
            bytes.extend(size(value.len())?);
        }
        for part in self.iter().flat_map(|(name, value)| [name, value]) {
            bytes.extend(part);
            bytes.push(0);
        }
        Some(bytes)
    }

    /// Reads what [`to_pairs`](Self::to_pairs) writes. None: the bytes end too early.
    pub(crate) fn from_pairs(bytes: &[u8]) -> Option<Self> {
        fn size<'b>(bytes: &mut &'b [u8]) -> Option<usize> {
            let size: &'b [u8; 4] = bytes.split_off(..4)?.try_into().ok()?;
            usize::try_from(u32::from_le_bytes(*size)).ok()
        }
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let mut rest = bytes;
        let count = size(&mut rest)?;
        let mut sizes = rest.split_off(..count.checked_mul(8)?)?;
        let mut part = |sizes: &mut &[u8]| {
            let part = rest.split_off(..size(sizes)?)?;
            rest.split_off(..1)?;
            Some(part)
        };
        let mut headers = Self::default();
        for _ in 0..count {
            headers.add(part(&mut sizes)?, part(&mut sizes)?);
        }
        Some(headers)
    }
}

impl<N: AsRef<[u8]>, V: AsRef<[u8]>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(lines: I) -> Self {
        let mut headers = Self::default();
        for (name, value) in lines {
            headers.add(name, value);
        }
        headers
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.iter().map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
        formatter.debug_map().entries(lines).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Headers;

    #[test]
    fn pairs_are_written_as_the_sdk_reads_them() {
        let headers: Headers = [("a", "bc"), ("x", "")].into_iter().collect();
        let pairs = b"\x02\0\0\0\x01\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0a\0bc\0x\0\0";
        assert_eq!(headers.to_pairs().as_deref(), Some(&pairs[..]));
        assert_eq!(Headers::from_pairs(pairs), Some(headers));
    }

    #[test]
    fn no_line_is_no_byte() {
        assert_eq!(Headers::default().to_pairs(), Some(Vec::new()));
        for bytes in [&b""[..], b"\0\0\0\0"] {
            assert_eq!(Headers::from_pairs(bytes), Some(Headers::default()));
        }
    }

    #[test]
    fn pairs_that_end_early_are_not_read() {
        let whole = b"\x01\0\0\0\x01\0\0\0\x02\0\0\0a\0bc\0";
        for end in 1..whole.len() {
            assert_eq!(Headers::from_pairs(&whole[..end]), None, "{end} bytes");
        }
        assert_eq!(Headers::from_pairs(b"\xff\xff\xff\xff"), None);
    }

    #[test]
    fn pseudo_headers_come_first() {
        let mut headers: Headers = [(":path", "/"), ("a", "1")].into_iter().collect();
        headers.add(":authority", "h");
        headers.replace(":path", "/b");
        let names: Vec<_> = headers.iter().map(|(name, _)| name).collect();
        assert_eq!(names, [&b":authority"[..], b":path", b"a"]);
    }
}
