//! The end of a load: dictionaries are sorted, codes remapped, streams ended, and the new version assembled.

use std::sync::Arc;

use godwit_common::Result;
use godwit_encoding::{EncodingChoice, OrderedDictionary, PartContent};
use godwit_memory::BufferManager;
use godwit_vector::{Bitmap, Flat, StrColumn, Vector};

use super::interner::{Interner, Known};
use super::{Load, LoadColumn, PartEncoder, PartWriter, PendingPart, PendingSegment, WorkerOutput};
use crate::block::Blocks;
use crate::byte_stream::{ByteStream, StreamWriter, finish_streams};
use crate::table::dictionary::{self, ColumnDictionary, WrittenDictionary};
use crate::table::{ColumnSummary, Main, MainColumn, RowGroup, Segment, StoredPart};

/// The result of finishing one column.
struct FinishedColumn {
    dictionary: NewDictionary,
    summary: ColumnSummary,
    /// Parts of rewritten segments that the table had before, by row group.
    recoded: Vec<Option<Vec<PendingPart>>>,
}

enum NewDictionary {
    /// The dictionary of the table.
    Kept(Option<Arc<ColumnDictionary>>),
    Written(WrittenDictionary),
}

impl Load {
    /// The table `base` with the rows of all workers, which have finished.
    pub fn finish(&self, base: &Main) -> Result<Main> {
        let mut outputs = std::mem::take(&mut *self.outputs.lock());
        let memory = self.spool.memory();
        let spools = outputs
            .iter_mut()
            .map(|output| finish_streams(std::mem::take(&mut output.spools), &self.spool))
            .collect::<Result<Vec<_>>>()?;
        let mut writers: Vec<StreamWriter> = self.columns.iter().map(|_| StreamWriter::default()).collect();
        let mut finished = Vec::with_capacity(self.columns.len());
        for (index, column) in self.columns.iter().enumerate() {
            let spools = spools.iter().map(|spools| &spools[index]).collect();
            let work = ColumnWork { index, column, base, blocks: &column.blocks, memory, spools };
            finished.push(work.finish(&mut outputs, &mut writers[index])?);
        }
        drop(spools);
        for output in &mut outputs {
            writers.append(&mut output.streams);
        }
        let streams = finish_streams(writers, &self.blocks)?;
        Ok(self.assemble(base, outputs, finished, &streams))
    }

    /// `streams` has those written at the end, by column, then those of each worker.
    fn assemble(
        &self,
        base: &Main,
        outputs: Vec<WorkerOutput>,
        finished: Vec<FinishedColumn>,
        streams: &[Arc<ByteStream>],
    ) -> Main {
        let width = self.columns.len();
        let mut groups = recoded_groups(base, &finished, streams);
        let mut added: Vec<(u64, Arc<RowGroup>)> = Vec::new();
        for (worker, output) in outputs.into_iter().enumerate() {
            for group in output.groups {
                let segments = group.segments.into_iter().enumerate().map(|(index, segment)| {
                    let stream = if segment.is_spooled { index } else { (worker + 1) * width + index };
                    stored(segment.parts, &streams[stream])
                });
                let segments = segments.collect();
                added.push((
                    group.number,
                    Arc::new(RowGroup { rows: group.rows, segments, key_indexes: Arc::default() }),
                ));
            }
        }
        added.sort_by_key(|(number, _)| *number);
        groups.extend(added.into_iter().map(|(_, group)| group));
        let rows: u64 = groups.iter().map(|group| group.rows as u64).sum();
        let columns = self.columns.iter().zip(finished).enumerate().map(|(index, (column, finished))| {
            let dictionary = match finished.dictionary {
                NewDictionary::Kept(dictionary) => dictionary,
                NewDictionary::Written(written) => Some(written.in_stream(&streams[index])),
            };
            MainColumn { field: column.field.clone(), summary: finished.summary, dictionary }
        });
        let mut main = Main { columns: columns.collect(), groups };
        for index in 0..width {
            let exact = main.columns[index].dictionary.as_ref().map(|dictionary| dictionary.len() as u64);
            let exact = exact.filter(|_| main.has_only_codes(index));
            let summary = &mut main.columns[index].summary;
            let spread = summary.range.map_or(u64::MAX, |range| u64::try_from(range.count()).unwrap_or(u64::MAX));
            summary.distinct = exact.unwrap_or(summary.distinct.min(rows - summary.nulls).min(spread));
        }
        main
    }
}

/// The row groups of the table, with the segments whose codes changed.
fn recoded_groups(base: &Main, finished: &[FinishedColumn], streams: &[Arc<ByteStream>]) -> Vec<Arc<RowGroup>> {
    let recode = |(number, group): (usize, &Arc<RowGroup>)| {
        let changed = |column: &FinishedColumn| column.recoded.get(number).is_some_and(Option::is_some);
        if !finished.iter().any(changed) {
            return group.clone();
        }
        let segments = group.segments.iter().enumerate().map(|(index, segment)| {
            match finished[index].recoded.get(number).and_then(Option::as_ref) {
                Some(parts) => stored(parts.clone(), &streams[index]),
                None => segment.clone(),
            }
        });
        Arc::new(RowGroup { rows: group.rows, segments: segments.collect(), key_indexes: group.key_indexes.clone() })
    };
    base.groups.iter().enumerate().map(recode).collect()
}

fn stored(parts: Vec<PendingPart>, stream: &Arc<ByteStream>) -> Segment {
    let mut first_row = 0;
    let parts = parts.into_iter().map(|part| {
        let stored = StoredPart { first_row, stream: stream.clone(), offset: part.offset, header: part.header };
        first_row += stored.header.rows;
        stored
    });
    Segment::new(parts.collect())
}

/// What is needed to finish a column.
struct ColumnWork<'a> {
    index: usize,
    column: &'a LoadColumn,
    base: &'a Main,
    blocks: &'a Blocks,
    memory: &'a BufferManager,
    /// By worker.
    spools: Vec<&'a Arc<ByteStream>>,
}

impl ColumnWork<'_> {
    fn finish(&self, outputs: &mut [WorkerOutput], stream: &mut StreamWriter) -> Result<FinishedColumn> {
        let known = &self.base.columns[self.index];
        let mut summary = known.summary.clone();
        outputs.iter().for_each(|output| summary.add(&output.summaries[self.index]));
        let kept = || NewDictionary::Kept(known.dictionary.clone());
        let Some(interner) = &self.column.interner else {
            return Ok(FinishedColumn { dictionary: kept(), summary, recoded: Vec::new() });
        };
        let interner = interner.0.lock();
        let codes = known.dictionary.as_ref().filter(|_| self.base.has_only_codes(self.index));
        let before = codes.map(|codes| Known { values: codes.len() as u64, rows: self.base.rows() });
        if !interner.is_worth_it(&before.unwrap_or_default()) || interner.len() == 0 {
            self.write_strings(&interner, outputs, stream, &mut summary)?;
            summary.distinct = (summary.distinct as f64 * interner.distinct_share()) as u64;
            return Ok(FinishedColumn { dictionary: kept(), summary, recoded: Vec::new() });
        }
        let order = interner.sorted();
        let added = OrderedDictionary::from_sorted(order.iter().map(|&code| interner.get(code)));
        let (merged, old_codes) = match &known.dictionary {
            Some(dictionary) => dictionary.load(self.memory)?.merge(&added),
            None => (added, None),
        };
        let mut codes = vec![0; interner.len()];
        for code in order {
            codes[code as usize] = merged.code(interner.get(code)).expect("the merged dictionary has all strings");
        }
        let dictionary = match &known.dictionary {
            Some(dictionary) if dictionary.len() as usize == merged.len() => kept(),
            _ => NewDictionary::Written(dictionary::write(&merged, stream, self.blocks)?),
        };
        self.write_codes(&codes, &merged, outputs, stream, &mut summary)?;
        let recoded = match old_codes {
            None => Vec::new(),
            Some(codes) => self.recode(&codes, stream)?,
        };
        Ok(FinishedColumn { dictionary, summary, recoded })
    }

    /// Replaces the spooled parts with parts that have the codes of the ordered dictionary.
    fn write_codes(
        &self,
        codes: &[u32],
        dictionary: &OrderedDictionary,
        outputs: &mut [WorkerOutput],
        stream: &mut StreamWriter,
        summary: &mut ColumnSummary,
    ) -> Result<()> {
        let lengths: Vec<u32> = (0..dictionary.len() as u32).map(|code| dictionary.get(code).len() as u32).collect();
        let mut bytes = 0u64;
        self.rewrite(outputs, stream, PartContent::Codes, None, |values| {
            let mapped = remapped(values, codes);
            let found = mapped.to_flat();
            bytes += found.values::<u32>().iter().map(|&code| lengths[code as usize] as u64).sum::<u64>();
            summary.nulls += (0..values.len()).filter(|&row| !values.is_valid(row)).count() as u64;
            mapped
        })?;
        summary.string_bytes += bytes;
        summary.add_string_bounds(dictionary.get(0), dictionary.get(dictionary.len() as u32 - 1));
        Ok(())
    }

    /// Replaces the spooled parts with parts that have the strings themselves.
    fn write_strings(
        &self,
        interner: &Interner,
        outputs: &mut [WorkerOutput],
        stream: &mut StreamWriter,
        summary: &mut ColumnSummary,
    ) -> Result<()> {
        self.rewrite(outputs, stream, PartContent::Values, Some(summary), |values| {
            let codes = values.to_flat();
            let codes = codes.values::<u32>();
            let string = |row: usize| if values.is_valid(row) { interner.get(codes[row]) } else { &[] };
            let strings = StrColumn::from_strings((0..values.len()).map(string));
            Vector::flat(Flat::Str(strings), validity_of(values))
        })
    }

    /// Applies `change` to each spooled part and writes the result to the column's stream; `content` says what it
    /// represents. Only for columns with an interner.
    fn rewrite(
        &self,
        outputs: &mut [WorkerOutput],
        stream: &mut StreamWriter,
        content: PartContent,
        mut summary: Option<&mut ColumnSummary>,
        mut change: impl FnMut(&Vector) -> Vector,
    ) -> Result<()> {
        let mut encoder = PartEncoder::of(&self.column.field);
        for (output, spool) in outputs.iter_mut().zip(&self.spools) {
            for group in &mut output.groups {
                let segment = &mut group.segments[self.index];
                if !segment.is_spooled {
                    continue;
                }
                let spooled = stored(std::mem::take(&mut segment.parts), spool);
                let mut parts = Vec::new();
                for part in &spooled.parts {
                    let values = part.open(self.memory)?.part()?.decode(0..part.header.rows as usize)?;
                    let mut writer = PartWriter { stream, blocks: self.blocks, content, encoder: &mut encoder };
                    parts.extend(writer.write(&change(&values), self.choice(), summary.as_deref_mut())?);
                }
                *segment = PendingSegment { is_spooled: true, parts };
            }
        }
        Ok(())
    }

    /// Rewrites the parts of the table's segments that have codes with new ones.
    fn recode(&self, codes: &[u32], stream: &mut StreamWriter) -> Result<Vec<Option<Vec<PendingPart>>>> {
        let mut encoder = PartEncoder::default();
        let mut recode = |segment: &Segment| {
            if !segment.parts.iter().all(StoredPart::has_codes) {
                return Ok(None);
            }
            let mut parts = Vec::new();
            for part in &segment.parts {
                let values = part.open(self.memory)?.part()?.decode(0..part.header.rows as usize)?;
                let content = PartContent::Codes;
                let mut writer = PartWriter { stream, blocks: self.blocks, content, encoder: &mut encoder };
                parts.extend(writer.write(&remapped(&values, codes), EncodingChoice::Auto, None)?);
            }
            Ok(Some(parts))
        };
        self.base.groups.iter().map(|group| recode(&group.segments[self.index])).collect()
    }

    /// The encoding of codes or strings, if one was requested.
    fn choice(&self) -> EncodingChoice {
        match self.column.choice {
            EncodingChoice::Dictionary => EncodingChoice::Auto,
            choice => choice,
        }
    }
}

/// The same rows with other codes; codes of NULL rows are mapped, too, if they have valid ones.
fn remapped(values: &Vector, codes: &[u32]) -> Vector {
    let flat = values.to_flat();
    let code = |&old: &u32| codes.get(old as usize).copied().unwrap_or(0);
    Vector::from_values(flat.values::<u32>().iter().map(code).collect(), validity_of(values))
}

fn validity_of(values: &Vector) -> Option<Bitmap> {
    values.validity().map(|validity| Bitmap::clone(validity))
}
