//! Fixed-width values among the bytes of nested values: big-endian words that compare as the values do.

use godwit_common::Result;

use super::{END, NULL, VALUE, Validity, malformed};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Word {
    Unsigned,
    Signed,
    Float,
}

/// Makes big-endian words compare as their values do.
pub(super) fn ordered(word: &mut [u8], kind: Word) {
    match (kind, &mut *word) {
        (Word::Unsigned, _) => {}
        (Word::Signed, word) => word[0] ^= 0x80,
        (Word::Float, word @ [_, _, _, _]) => {
            let value = f32::from_be_bytes(word.try_into().expect("four bytes"));
            let bits = if value.is_nan() { f32::NAN } else { value + 0.0 }.to_bits();
            word.copy_from_slice(&(bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)).to_be_bytes());
        }
        (Word::Float, word) => {
            let value = f64::from_be_bytes((&*word).try_into().expect("eight bytes"));
            let bits = if value.is_nan() { f64::NAN } else { value + 0.0 }.to_bits();
            word.copy_from_slice(&(bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)).to_be_bytes());
        }
    }
}

/// Undoes [`ordered`].
#[inline]
fn unordered<const WIDTH: usize>(word: &mut [u8; WIDTH], kind: Word) {
    match kind {
        Word::Unsigned => {}
        Word::Signed => word[0] ^= 0x80,
        // The number isn't negative: its sign bit was set.
        Word::Float if word[0] & 0x80 != 0 => word[0] ^= 0x80,
        Word::Float => word.iter_mut().for_each(|byte| *byte = !*byte),
    }
}

/// Values under construction: little-endian words.
pub(super) struct Words {
    pub(super) bytes: Vec<u8>,
    width: usize,
    kind: Word,
}

macro_rules! of_width {
    ($words:ident.$method:ident($($argument:expr),*)) => {
        match $words.width {
            1 => $words.$method::<1>($($argument),*),
            2 => $words.$method::<2>($($argument),*),
            4 => $words.$method::<4>($($argument),*),
            8 => $words.$method::<8>($($argument),*),
            16 => $words.$method::<16>($($argument),*),
            width => unreachable!("no type has values of {width} bytes"),
        }
    };
}

impl Words {
    pub(super) fn new(width: usize, kind: Word) -> Self {
        Self { bytes: Vec::new(), width, kind }
    }

    pub(super) fn push_zero(&mut self) {
        self.bytes.resize(self.bytes.len() + self.width, 0);
    }

    /// Takes a value from the front of `bytes`.
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Result<()> {
        of_width!(self.take_value(bytes))
    }

    /// Takes the items of a list, and its end, from the front of `bytes`; returns their number.
    pub(super) fn take_list(&mut self, valid: &mut Validity, bytes: &mut &[u8]) -> Result<usize> {
        of_width!(self.take_items(valid, bytes))
    }

    #[inline]
    fn take_value<const WIDTH: usize>(&mut self, bytes: &mut &[u8]) -> Result<()> {
        let (word, rest) = bytes.split_first_chunk::<WIDTH>().ok_or_else(malformed)?;
        let mut word = *word;
        unordered(&mut word, self.kind);
        word.reverse();
        self.bytes.extend_from_slice(&word);
        *bytes = rest;
        Ok(())
    }

    fn take_items<const WIDTH: usize>(&mut self, valid: &mut Validity, bytes: &mut &[u8]) -> Result<usize> {
        if let Some(items) = items_without_nulls::<WIDTH>(bytes) {
            *bytes = &[];
            let count = items.len() / (WIDTH + 1);
            let first = self.bytes.len();
            self.bytes.resize(first + count * WIDTH, 0);
            for (item, value) in items.chunks_exact(WIDTH + 1).zip(self.bytes[first..].chunks_exact_mut(WIDTH)) {
                let mut word: [u8; WIDTH] = item[1..].try_into().expect("a marker and a word");
                unordered(&mut word, self.kind);
                word.reverse();
                value.copy_from_slice(&word);
            }
            valid.push_values(count);
            return Ok(count);
        }
        let mut items = 0;
        loop {
            let (&first, rest) = bytes.split_first().ok_or_else(malformed)?;
            *bytes = rest;
            match first {
                END => return Ok(items),
                NULL => self.push_zero(),
                VALUE => self.take_value::<WIDTH>(bytes)?,
                _ => return Err(malformed()),
            }
            valid.push(first != NULL);
            items += 1;
        }
    }
}

/// Returns the items of a list if `bytes` hold nothing else and none of them is NULL. Their markers are then at equal
/// distances up to the end of the list, the first byte at such a position that isn't the marker of a value.
#[inline]
fn items_without_nulls<'b, const WIDTH: usize>(bytes: &&'b [u8]) -> Option<&'b [u8]> {
    let (&END, items) = bytes.split_last()? else { return None };
    let are_values = items.len() % (WIDTH + 1) == 0 && items.iter().step_by(WIDTH + 1).all(|&marker| marker == VALUE);
    are_values.then_some(items)
}
