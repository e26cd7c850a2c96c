//! Long loops within a row, which ask now and then whether to go on.

use std::ops::Range;

use godwit_common::Result;

use crate::kernel::Work;

/// Steps of some nanoseconds between two checks for cancellation.
const CHECK_STEPS: usize = 1 << 16;

/// Bytes of a text that are processed together: they stay in the cache.
const PIECE_BYTES: usize = 1 << 16;

/// Asks whether to go on, every [`CHECK_STEPS`].
pub(crate) struct Pace<'w> {
    steps: usize,
    work: &'w dyn Work,
}

impl<'w> Pace<'w> {
    pub(crate) fn new(work: &'w dyn Work) -> Self {
        Self { steps: 0, work }
    }

    /// Counts steps; fails if the statement should stop.
    #[inline]
    pub(crate) fn go(&mut self, steps: usize) -> Result<()> {
        self.steps += steps;
        if self.steps >= CHECK_STEPS { self.check() } else { Ok(()) }
    }

    /// Fails if the statement should stop.
    #[cold]
    pub(crate) fn check(&mut self) -> Result<()> {
        self.steps = 0;
        self.work.check()
    }
}

/// Returns the pieces of a text, which are cut between characters.
pub(crate) fn text_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = if rest.len() <= PIECE_BYTES { rest.len() } else { rest.floor_char_boundary(PIECE_BYTES) };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the pieces of bytes.
pub(crate) fn byte_pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.chunks(PIECE_BYTES)
}

/// Cuts a range into parts of at most [`CHECK_STEPS`].
pub(crate) fn parts_of(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = range;
    (start..end).step_by(CHECK_STEPS).map(move |at| at..end.min(at + CHECK_STEPS))
}

/// Finds a needle in a text of any length by `find`, which searches some bytes.
pub(super) fn find_in_windows(
    text: &[u8],
    needle: usize,
    pace: &mut Pace<'_>,
    find: impl Fn(&[u8]) -> Option<usize>,
) -> Result<Option<usize>> {
    // As large as the needle at least, or else it would be compared with each part of a long text.
    let step = PIECE_BYTES.max(needle);
    let mut start = 0;
    loop {
        let window = &text[start..text.len().min(start + step + needle)];
        let found = find(window);
        pace.go(found.unwrap_or(window.len()))?;
        match found {
            Some(at) => return Ok(Some(start + at)),
            None if start + window.len() == text.len() => return Ok(None),
            None => start += step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounded;

    #[test]
    fn pieces_are_the_text() {
        for text in ["", "a", &"é".repeat(PIECE_BYTES), &"x€".repeat(PIECE_BYTES)] {
            let pieces: Vec<&str> = text_pieces(text).collect();
            assert!(pieces.iter().all(|piece| !piece.is_empty() && piece.len() <= PIECE_BYTES));
            assert_eq!(pieces.concat(), text);
        }
        assert_eq!(parts_of(3..3).count(), 0);
        let parts: Vec<Range<usize>> = parts_of(5..CHECK_STEPS + 6).collect();
        assert_eq!(parts, [5..CHECK_STEPS + 5, CHECK_STEPS + 5..CHECK_STEPS + 6]);
    }

    #[test]
    fn needles_are_found_across_windows() {
        let work = Bounded::new(0);
        for (before, needle) in
            [(PIECE_BYTES - 1, 2), (PIECE_BYTES, 3), (3 * PIECE_BYTES - 1, PIECE_BYTES), (0, 1), (PIECE_BYTES + 7, 0)]
        {
            let needle = vec![b'n'; needle];
            let text = [vec![b'.'; before], needle.clone(), vec![b'.'; PIECE_BYTES]].concat();
            let expected = if needle.is_empty() { 0 } else { before };
            let find = |text: &[u8]| memchr::memmem::find(text, &needle);
            let found = find_in_windows(&text, needle.len(), &mut Pace::new(&work), find).unwrap();
            assert_eq!(found, Some(expected));
            let found = find_in_windows(&text[..before], needle.len().max(1), &mut Pace::new(&work), |_| None).unwrap();
            assert_eq!(found, None);
        }
    }
}
