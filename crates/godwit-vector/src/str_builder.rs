//! Builds a sequence of strings.

use crate::StrColumn;

/// Bytes of consecutive strings, and the end of each.
#[derive(Debug, Clone, Default)]
pub struct StrBuilder {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl StrBuilder {
    /// Creates an empty builder with room for the ends of `strings` strings.
    pub fn with_capacity(strings: usize) -> Self {
        Self::with_capacities(strings, 0)
    }

    /// Creates an empty builder with room for `strings` strings of `bytes` bytes in all.
    pub fn with_capacities(strings: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(strings) }
    }

    /// Appends a string.
    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// Appends the string that `write` appends to the bytes of the previous ones.
    pub fn write<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let written = write(&mut self.bytes);
        self.ends.push(self.bytes.len());
        written
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns string `index`.
    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// Removes all but the first `strings` strings.
    pub fn truncate(&mut self, strings: usize) {
        self.ends.truncate(strings);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// The bytes of all strings.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The end of each string in the bytes.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Bytes of memory held.
    pub fn allocated_bytes(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// Returns the strings, without moving their bytes.
    pub fn finish(self) -> StrColumn {
        StrColumn::from_parts(self.bytes, &self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_in_order() {
        let mut builder = StrBuilder::default();
        builder.push(b"a string that is not inline");
        builder.push(b"");
        builder.write(|bytes| bytes.extend_from_slice(b"last"));
        assert_eq!([0, 1, 2].map(|index| builder.get(index)), [&b"a string that is not inline"[..], b"", b"last"]);
        builder.truncate(2);
        builder.push(b"other");
        let strings = builder.finish();
        assert_eq!(strings.iter().collect::<Vec<_>>(), [&b"a string that is not inline"[..], b"", b"other"]);
    }
}
