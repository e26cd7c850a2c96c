//! Thrift's compact protocol, as far as Parquet's headers need it.
//!
//! Every read is checked against the available bytes, and unneeded fields are skipped without being built.

/// The reason why parsing stopped.
pub(crate) enum Stop {
    /// The bytes ended.
    End,
    /// The bytes are invalid.
    Invalid(&'static str),
}

/// The result of parsing, or why it stopped.
pub(crate) type Parsed<T> = std::result::Result<T, Stop>;

/// Wire types of the compact protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wire(u8);

impl Wire {
    pub(crate) const TRUE: Wire = Wire(1);
    pub(crate) const FALSE: Wire = Wire(2);
    pub(crate) const STRUCTURE: Wire = Wire(12);
}

/// Maximum nesting of structures and lists; what is read here has at most seven levels.
const DEPTH_MAX: usize = 16;

/// Reads from the start of some bytes.
pub(crate) struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Compact<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Number of bytes read so far.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Parsed<u8> {
        let byte = *self.bytes.get(self.at).ok_or(Stop::End)?;
        self.at += 1;
        Ok(byte)
    }

    fn advance(&mut self, bytes: u64) -> Parsed<()> {
        let left = (self.bytes.len() - self.at) as u64;
        if bytes > left {
            return Err(Stop::End);
        }
        self.at += bytes as usize;
        Ok(())
    }

    fn varint(&mut self) -> Parsed<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Stop::Invalid("an integer is too long"))
    }

    fn zigzag(&mut self) -> Parsed<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(crate) fn i32(&mut self, wire: Wire) -> Parsed<i32> {
        if wire.0 != 5 {
            return Err(Stop::Invalid("a field has the wrong type"));
        }
        i32::try_from(self.zigzag()?).map_err(|_| Stop::Invalid("an integer is too large"))
    }

    /// Calls `field(input, id, wire type)` for each field of a structure; it must consume the value.
    pub(crate) fn fields(&mut self, mut field: impl FnMut(&mut Self, i16, Wire) -> Parsed<()>) -> Parsed<()> {
        let mut id = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => self.zigzag()? as i16,
                delta => id.wrapping_add(i16::from(delta)),
            };
            field(self, id, Wire(head & 0x0F))?;
        }
    }

    /// Calls `element` for each structure of a list; it must consume it.
    pub(crate) fn structures(&mut self, wire: Wire, mut element: impl FnMut(&mut Self) -> Parsed<()>) -> Parsed<()> {
        if wire.0 != 9 {
            return Err(Stop::Invalid("a field has the wrong type"));
        }
        match self.list_head()? {
            (count, Wire(12)) => (0..count).try_for_each(|_| element(self)),
            _ => Err(Stop::Invalid("a list has the wrong type")),
        }
    }

    /// Reads the length of a list and the type of its elements.
    fn list_head(&mut self) -> Parsed<(u64, Wire)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.varint()?,
            small => u64::from(small),
        };
        Ok((count, Wire(head & 0x0F)))
    }

    /// Skips a value inside of `depth` structures.
    pub(crate) fn skip(&mut self, wire: Wire, depth: usize) -> Parsed<()> {
        if depth > DEPTH_MAX {
            return Err(Stop::Invalid("structures are nested too deeply"));
        }
        match wire.0 {
            1 | 2 => Ok(()),
            3 => self.advance(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.advance(8),
            8 => {
                let bytes = self.varint()?;
                self.advance(bytes)
            }
            9 | 10 => {
                let (count, wire) = self.list_head()?;
                (0..count).try_for_each(|_| self.skip_element(wire, depth))
            }
            11 => {
                let count = self.varint()?;
                if count == 0 {
                    return Ok(());
                }
                let types = self.byte()?;
                (0..count).try_for_each(|_| {
                    self.skip_element(Wire(types >> 4), depth)?;
                    self.skip_element(Wire(types & 0x0F), depth)
                })
            }
            12 => self.fields(|input, _, wire| input.skip(wire, depth + 1)),
            _ => Err(Stop::Invalid("an unknown field type")),
        }
    }

    /// Skips an element. Booleans in collections take a byte, but other readers assume that they take none. Nothing
    /// that is parsed here has such collections.
    fn skip_element(&mut self, wire: Wire, depth: usize) -> Parsed<()> {
        if wire == Wire::TRUE || wire == Wire::FALSE {
            return Err(Stop::Invalid("a list has the wrong type"));
        }
        self.skip(wire, depth + 1)
    }
}
