//! Storage in pieces of one size.
//!
//! A VM's memory never shrinks, and an update compiles a new table beside the old one. Lists that grow
//! by doubling, and many small allocations, would leave holes that the next table does not fit into;
//! pieces of one size fit exactly where those of the table before the last one were.

/// Bytes of a piece.
const PIECE_BYTES: usize = 16 << 10;

/// A list of things that are never removed, by index.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    pieces: Vec<Vec<T>>,
    len: u32,
}

/// Consecutive things of an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl<T> Arena<T> {
    const PIECE: usize = if size_of::<T>() < PIECE_BYTES { PIECE_BYTES / size_of::<T>() } else { 1 };

    /// The index that the next thing gets, and the number of things.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// Adds a thing.
    pub(crate) fn push(&mut self, item: T) {
        let full = self.pieces.last().is_none_or(|piece| piece.len() == Self::PIECE);
        if full {
            add_piece(&mut self.pieces, Vec::with_capacity(Self::PIECE));
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push(item);
            self.len = self.len.saturating_add(1);
        }
    }

    /// Adds things one after the other.
    pub(crate) fn extend(&mut self, items: impl IntoIterator<Item = T>) -> Span {
        let start = self.len;
        items.into_iter().for_each(|item| self.push(item));
        Span { start, end: self.len }
    }

    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let index = usize::try_from(index).ok()?;
        self.pieces.get(index / Self::PIECE)?.get(index % Self::PIECE)
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        let index = usize::try_from(index).ok()?;
        self.pieces.get_mut(index / Self::PIECE)?.get_mut(index % Self::PIECE)
    }

    pub(crate) fn iter(&self, Span { start, end }: Span) -> impl Iterator<Item = &T> + Clone {
        (start..end).filter_map(|index| self.get(index))
    }
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { pieces: Vec::new(), len: 0 }
    }
}

impl Span {
    /// The index of the thing at a place of the span.
    pub(crate) fn at(self, place: u32) -> Option<u32> {
        self.start.checked_add(place).filter(|index| *index < self.end)
    }
}

/// Texts that are never removed.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pieces: Vec<String>,
}

/// A text in [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    piece: u16,
    start: u16,
    bytes: u32,
}

impl Texts {
    /// None beyond what a configuration can hold.
    pub(crate) fn add(&mut self, text: &str) -> Option<Text> {
        let fits = |piece: &String| piece.capacity() - piece.len() >= text.len();
        if !self.pieces.last().is_some_and(fits) {
            add_piece(&mut self.pieces, String::with_capacity(PIECE_BYTES.max(text.len())));
        }
        let number = u16::try_from(self.pieces.len() - 1).ok()?;
        let piece = self.pieces.last_mut()?;
        let start = u16::try_from(piece.len()).ok()?;
        piece.push_str(text);
        Some(Text { piece: number, start, bytes: u32::try_from(text.len()).ok()? })
    }

    pub(crate) fn get(&self, Text { piece, start, bytes }: Text) -> &str {
        let start = usize::from(start);
        let end = usize::try_from(bytes).ok().and_then(|bytes| start.checked_add(bytes));
        let text = end.and_then(|end| self.pieces.get(usize::from(piece))?.get(start..end));
        text.unwrap_or_default()
    }
}

/// The list of pieces is as large as a piece itself: room for more than a configuration can fill.
fn add_piece<P>(pieces: &mut Vec<P>, piece: P) {
    if pieces.capacity() == 0 {
        pieces.reserve_exact(PIECE_BYTES / size_of::<P>());
    }
    pieces.push(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_stored_is_found_across_pieces() {
        let mut arena = Arena::default();
        let first = arena.extend(0..10_000_u64);
        let second = arena.extend(10_000..10_005);
        assert!(arena.iter(first).copied().eq(0..10_000));
        assert!(arena.iter(second).copied().eq(10_000..10_005));
        assert_eq!((second.at(4), second.at(5)), (Some(10_004), None), "a span ends where it ends");
        assert_eq!(arena.get(10_005), None);
    }

    #[test]
    fn texts_of_any_length_are_found() {
        let mut texts = Texts::default();
        let stored: Vec<_> = [0, 1, 1_000, 16_384, 100_000, 5, 16_000, 16_000].map(|length| "a".repeat(length)).into();
        let places: Vec<_> = stored.iter().map(|text| texts.add(text).unwrap()).collect();
        for (text, place) in stored.iter().zip(places) {
            assert_eq!(texts.get(place), text, "{} bytes", text.len());
        }
    }
}
