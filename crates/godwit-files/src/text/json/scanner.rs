//! Finds the ends of JSON values, 64 bytes at a time where nothing is escaped.

use godwit_vector::kernels::blocks::{BLOCK_BYTES, Block, behind_odd};

/// The layout of rows in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::text) enum Layout {
    /// Objects, or an array of them.
    #[default]
    Objects,
    /// Any values in sequence, each ended by a comma or a line break.
    Values,
    /// Any values in one array.
    Elements,
}

/// Finds the ends of JSON values and the text between them.
#[derive(Default)]
pub(in crate::text) struct JsonScanner {
    layout: Layout,
    /// Number of open braces and brackets, not counting the array around all values.
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// Bytes of the next piece that were scanned.
    seen: usize,
    /// Where the last value ended.
    last: Option<usize>,
}

/// Bits in which brackets and braces differ. With these set, they are all equal; so are a few other, harmless bytes.
const BRACKET_BITS: u8 = 0x26;
const BRACKETS: u8 = 0x7f;

impl JsonScanner {
    pub(in crate::text) fn new(layout: Layout) -> Self {
        Self { layout, ..Self::default() }
    }

    /// Returns where the last value that ends in `bytes` ends. `bytes` may have grown since the last call.
    pub(in crate::text) fn last_value_end(&mut self, bytes: &mut [u8]) -> Option<usize> {
        while self.seen < bytes.len() {
            let (block, there) = Block::at(bytes, self.seen);
            if self.is_escaped || block.equal_to(b'\\') & there != 0 {
                let end = bytes.len().min(self.seen + BLOCK_BYTES);
                self.step(&mut bytes[..end]);
            } else {
                self.pass(bytes, &block, there);
            }
        }
        self.last
    }

    /// Scans a block in which nothing is escaped.
    fn pass(&mut self, bytes: &mut [u8], block: &Block, there: u64) {
        let in_string = behind_odd(block.equal_to(b'"') & there) ^ if self.in_string { u64::MAX } else { 0 };
        let outside = there & !in_string;
        let brackets = block.equal_with(BRACKET_BITS, BRACKETS) & outside;
        let mut ahead = u64::MAX;
        loop {
            let next = (brackets | self.separators(block) & outside) & ahead;
            if next == 0 {
                break;
            }
            let at = self.seen + next.trailing_zeros() as usize;
            self.meet(&mut bytes[at], at);
            ahead = u64::MAX << next.trailing_zeros() << 1;
        }
        let length = there.count_ones();
        self.in_string = in_string >> (length - 1) & 1 == 1;
        self.seen += length as usize;
    }

    /// Does the same as [`JsonScanner::last_value_end`], a byte at a time.
    pub(in crate::text) fn step(&mut self, bytes: &mut [u8]) -> Option<usize> {
        for (at, byte) in bytes.iter_mut().enumerate().skip(self.seen) {
            if self.in_string {
                self.in_string = self.is_escaped || *byte != b'"';
                self.is_escaped = !self.is_escaped && *byte == b'\\';
            } else if *byte == b'"' {
                self.in_string = true;
            } else {
                self.meet(byte, at);
            }
        }
        self.seen = bytes.len();
        self.last
    }

    /// The bytes that may separate values here.
    #[inline]
    fn separators(&self, block: &Block) -> u64 {
        match (self.depth, self.layout) {
            (1.., _) => 0,
            (0, Layout::Objects) => block.equal_to(b','),
            (0, Layout::Elements | Layout::Values) => block.equal_to(b',') | block.equal_to(b'\n'),
        }
    }

    /// Handles a byte outside of strings.
    fn meet(&mut self, byte: &mut u8, at: usize) {
        match *byte {
            b'[' if self.depth == 0 && self.layout != Layout::Values => *byte = b' ',
            b']' | b',' | b'\n' if self.depth == 0 => {
                if *byte != b'\n' {
                    *byte = b' ';
                }
                if self.layout != Layout::Objects {
                    self.last = Some(at + 1);
                }
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.last = Some(at + 1);
                }
            }
            _ => {}
        }
    }

    /// Takes into account that `bytes` bytes were handed out.
    pub(in crate::text) fn forget(&mut self, bytes: usize) {
        self.seen -= bytes.min(self.seen);
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text without the separators of values, up to the last value's end, read in pieces of this length.
    fn values(layout: Layout, text: &str, piece: usize) -> Option<String> {
        let (mut scanner, mut bytes, mut last) = (JsonScanner::new(layout), Vec::new(), None);
        for more in text.as_bytes().chunks(piece) {
            bytes.extend_from_slice(more);
            last = scanner.last_value_end(&mut bytes);
        }
        last.map(|end| String::from_utf8_lossy(&bytes[..end]).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn values_end_at_commas_and_line_breaks() {
        for piece in [1, 7, 1000] {
            let found = |layout, text| values(layout, text, piece);
            assert_eq!(found(Layout::Elements, r#"[1,"a,b",{"x":[2]}, nul"#).unwrap(), r#"1 "a,b" {"x":[2]}"#);
            assert_eq!(found(Layout::Values, "1\n\"x\\\"\"\n[2]\n3").unwrap(), "1 \"x\\\"\" [2]");
            assert_eq!(found(Layout::Values, "[1,2]\n[3]\n[4").unwrap(), "[1,2] [3]");
            assert_eq!(found(Layout::Objects, "[{\"a\":1},{\"b\":").unwrap(), "{\"a\":1}");
            assert_eq!(found(Layout::Objects, "1\n2\n"), None);
        }
    }
}
