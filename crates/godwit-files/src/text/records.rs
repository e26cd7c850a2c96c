//! The records of a CSV piece, a few at a time.

use std::ops::Range;

use godwit_common::Result;

use super::columns::Nulls;
use super::csv::Records;
use super::cutter::Piece;
use super::dialect::Dialect;
use super::separators::{Places, Wanted};
use super::values::Fields;

/// Goes through one piece after the other.
#[derive(Default)]
pub(super) struct CsvRecords {
    /// Where the next record of the piece begins.
    at: usize,
    /// The positions of the fields of the current records.
    places: Places,
    /// For a piece with irregular quotes: the parser, the fields that it wrote, and the line of each record.
    parser: Option<Records>,
    written: Vec<u8>,
    lines: Vec<u64>,
    /// The positions of the records in the piece, if rejects are wanted.
    ranges: Vec<Range<usize>>,
}

/// A record that was rejected.
pub(super) struct RejectedRecord {
    pub line: u64,
    /// Its position in the piece.
    pub range: Range<usize>,
    pub fields: usize,
    pub is_unclosed: bool,
}

/// The outcome of [`CsvRecords::next`].
#[derive(Default)]
pub(super) struct Step {
    /// Number of rejected records of another width.
    pub rejected: u64,
    /// The requested ones of those.
    pub rejects: Vec<RejectedRecord>,
    /// The line and the number of fields of the next record, if it has another width and isn't rejected.
    pub wrong_width: Option<(u64, usize)>,
    /// The line of the next record, if it has an unclosed quote.
    pub unclosed: Option<u64>,
}

impl CsvRecords {
    /// Goes to the beginning of a piece, or past its first record if that is this header. With `keeps_quotes`, fields
    /// tell whether they were quoted.
    pub(super) fn open(
        &mut self,
        piece: &Piece,
        dialect: &Dialect,
        header: Option<&[Vec<u8>]>,
        keeps_quotes: bool,
    ) -> Result<()> {
        self.places.clear();
        (self.at, self.parser) = (0, None);
        if header.is_some() || !piece.is_regular {
            let mut parser = Records::new(dialect, piece.first_line);
            if let Some(header) = header {
                skip_blank_lines(&mut parser, &piece.bytes, header.len());
                let trimmed = || header.iter().map(|name| name.trim_ascii());
                if let Some(found) = parser.next(&piece.bytes)
                    && !found.iter().take(header.len()).map(<[u8]>::trim_ascii).eq(trimmed())
                {
                    let hint = "files that are read together have the same columns in the same order, unless \
                                union_by_name is set";
                    return Err(piece.error_at(1, "the header differs from that of the first file").with_hint(hint));
                }
            }
            self.at = parser.position();
            if keeps_quotes {
                parser.keep_quotes();
            }
            self.parser = (!piece.is_regular).then_some(parser);
        }
        Ok(())
    }

    /// Goes to the next records; none at the end of the piece.
    pub(super) fn next(&mut self, piece: &Piece, dialect: &Dialect, wanted: Wanted) -> Step {
        if self.parser.is_some() {
            return self.parse(piece, wanted);
        }
        let stop = self.places.find(&piece.bytes, self.at, dialect, wanted);
        self.at = stop.next;
        let wrong_width = stop.wrong_width.map(|fields| (piece.line(self.at), fields));
        let mut line = piece.lines();
        let rejected = |(range, fields): (Range<usize>, usize)| {
            let line = line(range.start);
            RejectedRecord { line, range, fields, is_unclosed: false }
        };
        let rejects = stop.rejects.into_iter().map(rejected).collect();
        Step { rejected: stop.rejected, rejects, wrong_width, unclosed: None }
    }

    fn parse(&mut self, piece: &Piece, wanted: Wanted) -> Step {
        let mut step = Step::default();
        self.places.clear();
        self.written.clear();
        self.lines.clear();
        self.ranges.clear();
        let parser = self.parser.as_mut().expect("the piece has a parser");
        while self.places.records() < wanted.records_max {
            skip_blank_lines(parser, &piece.bytes, wanted.width);
            let (line, begin) = (parser.line(), parser.position());
            let Some(fields) = parser.next(&piece.bytes) else { break };
            let is_unclosed = std::mem::take(&mut fields.met.unclosed);
            if wanted.has(fields.len(), fields.ends_empty) && !is_unclosed {
                self.places.push(fields.iter(), wanted.width, &mut self.written);
                self.lines.push(line);
                if wanted.rejects_max > 0 {
                    self.ranges.push(begin..parser.position());
                }
            } else if wanted.ignore_errors {
                step.rejected += 1;
                if step.rejects.len() < wanted.rejects_max {
                    let fields = fields.len();
                    let range = begin..parser.position();
                    step.rejects.push(RejectedRecord { line, range, fields, is_unclosed });
                }
            } else if is_unclosed {
                step.unclosed = Some(line);
                break;
            } else {
                step.wrong_width = Some((line, fields.len()));
                break;
            }
        }
        step
    }

    /// Returns the number of records.
    pub(super) fn len(&self) -> usize {
        self.places.records()
    }

    /// Returns the lines of the file in which records begin, for records in ascending order.
    pub(super) fn lines<'a>(&'a self, piece: &'a Piece) -> impl FnMut(usize) -> u64 + 'a {
        let mut line = piece.lines();
        move |record| match self.parser {
            Some(_) => self.lines[record],
            None => line(self.places_of(record)[0] as usize),
        }
    }

    /// Returns where the fields of a record begin, and where one after them would.
    fn places_of(&self, record: usize) -> &[u32] {
        let width = self.places.starts().len() / self.len();
        &self.places.starts()[record * width..][..width]
    }

    /// Returns where a record is in the piece, with the end of its line. Rejects must be wanted.
    pub(super) fn range(&self, piece: &Piece, record: usize) -> Range<usize> {
        match self.parser {
            Some(_) => self.ranges[record].clone(),
            None => {
                let places = self.places_of(record);
                places[0] as usize..(places[places.len() - 1] as usize).min(piece.bytes.len())
            }
        }
    }

    /// Returns the fields of a column.
    pub(super) fn fields<'a>(
        &'a self,
        piece: &'a Piece,
        column: usize,
        dialect: &Dialect,
        nulls: Nulls<'a>,
    ) -> Fields<'a> {
        let (bytes, quote) = match self.parser {
            Some(_) => (&self.written, dialect.quote.filter(|_| nulls.never_quoted)),
            None => (&piece.bytes, dialect.quote),
        };
        let places = self.places.starts();
        Fields { bytes, places, places_per_record: places.len() / self.len(), place: column, quote, nulls }
    }

    /// Memory held.
    pub(super) fn allocated_bytes(&self) -> usize {
        self.written.capacity()
            + self.places.allocated_bytes()
            + self.lines.capacity() * size_of::<u64>()
            + self.ranges.capacity() * size_of::<Range<usize>>()
    }
}

/// Goes past comments and empty lines, which are records of one column only.
fn skip_blank_lines(parser: &mut Records, bytes: &[u8], width: usize) {
    while parser.at_blank_line(bytes) && width != 1 {
        parser.skip(bytes);
    }
}
