//! Bytes as text, losslessly: each byte is the character of the same number (ISO 8859-1).
//!
//! Header values need not be UTF-8. ASCII, and so nearly every header, reads as it is.

/// The text of some bytes.
pub fn text(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The bytes of a text; none where it has a character that is not one byte.
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(character).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(bytes(&text(&all)), Some(all));
    }

    #[test]
    fn what_is_not_a_byte_is_refused() {
        assert_eq!(bytes("€"), None);
    }
}
