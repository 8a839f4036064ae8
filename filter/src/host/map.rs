//! Maps of header lines in the ABI's form.

use mcwan_policy::HeaderLine;

/// Reads the ABI's form of a map: the number of pairs, the sizes of each, then each name and value with
/// a NUL behind it.
pub(super) fn parse(bytes: &[u8]) -> Option<Vec<HeaderLine>> {
    let mut sizes = bytes.chunks_exact(4).map(|size| {
        let size = u32::from_le_bytes(size.try_into().ok()?);
        usize::try_from(size).ok()
    });
    let pairs = sizes.next()??;
    let mut rest = bytes.get(pairs.checked_mul(8)?.checked_add(4)?..)?;
    let mut take = |size: Option<usize>| {
        let (text, behind) = rest.split_at_checked(size?)?;
        rest = behind.strip_prefix(b"\0")?;
        Some(text.to_vec())
    };
    (0..pairs).map(|_| Some((take(sizes.next()?)?, take(sizes.next()?)?))).collect()
}

/// Writes the ABI's form of a map.
pub(super) fn print(lines: &[HeaderLine]) -> Option<Vec<u8>> {
    let mut bytes = u32::try_from(lines.len()).ok()?.to_le_bytes().to_vec();
    for text in lines.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
    }
    for text in lines.iter().flat_map(|(name, value)| [name, value]) {
        bytes.extend(text);
        bytes.push(0);
    }
    Some(bytes)
}
