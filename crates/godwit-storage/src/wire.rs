//! Serialization of numbers and strings, for metadata and log records.

use godwit_common::{Error, Result};

/// Appends a length and bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, u32::try_from(bytes.len()).expect("texts of metadata are short"));
    out.extend_from_slice(bytes);
}

/// Appends a number.
pub fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

/// Appends a number.
pub fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

/// Reads values off the front of bytes. Missing bytes are an error of kind `Corrupt`.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// The next `bytes` bytes.
    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let (head, tail) =
            self.0.split_at_checked(bytes).ok_or_else(|| Error::corrupt("metadata of the database ends too early"))?;
        self.0 = tail;
        Ok(head)
    }

    /// The next bytes, as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("as many as were taken"))
    }

    /// A byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// A number.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A number.
    pub fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Bytes preceded by their length.
    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.u32()? as usize;
        self.take(length)
    }

    /// Text preceded by its length.
    pub fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?)
            .map_err(|_| Error::corrupt("metadata of the database has a name that isn't UTF-8"))
    }

    /// True if everything has been read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
