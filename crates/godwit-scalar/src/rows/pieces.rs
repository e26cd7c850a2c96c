//! Texts that are written piece by piece.

use godwit_common::Result;
use godwit_vector::StrColumn;
use godwit_vector::sql::TextSink;

use super::Writer;
use crate::kernel::Work;

/// Length at which a piece moves on, in bytes: it stays in the cache, and checks for memory and cancellation are rare.
const PIECE_BYTES: usize = 16 << 10;

/// Writes texts, one for each row: short pieces, which move on to the counted [`Writer`].
pub(crate) struct Pieces<'w> {
    piece: String,
    out: Writer<'w>,
}

impl<'w> Pieces<'w> {
    pub(crate) fn new(rows: usize, work: &'w dyn Work) -> Self {
        Self { piece: String::new(), out: Writer::new(rows, work) }
    }

    pub(crate) fn end_row(&mut self) -> Result<()> {
        self.out.push_str(&self.piece);
        self.piece.clear();
        self.out.end_row()
    }

    pub(crate) fn finish(self) -> StrColumn {
        self.out.finish()
    }
}

impl TextSink for Pieces<'_> {
    fn text(&mut self) -> &mut String {
        &mut self.piece
    }

    fn end_part(&mut self) -> Result<()> {
        if self.piece.len() >= PIECE_BYTES {
            self.out.push_str(&self.piece);
            self.piece.clear();
            self.out.check_written()?;
        }
        Ok(())
    }
}
