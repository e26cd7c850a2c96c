//! CSV files with different columns as one table: `union_by_name`.

use std::sync::Arc;

use arrow_schema::Field;
use godwit_common::Result;
use godwit_io::Files;
use godwit_memory::BufferManager;
use godwit_types::SqlType;
use godwit_vector::sql::{field_of, type_of_field};

use super::Shapes;
use super::columns::ColumnForm;
use super::cutter::RecordEnds;
use super::json::Layout;
use super::options::TextOptions;
use super::sample::Sample;
use super::sniff::{self, Sniffed};
use super::source::{CsvShape, TextSource};

/// Returns the columns of all files in order of first appearance, and where each file has them.
pub(super) fn csv(
    files: &dyn Files,
    sources: &[TextSource],
    first: Sample,
    options: &TextOptions,
    memory: &BufferManager,
) -> Result<Shapes> {
    let sniffed = |source: &TextSource, sample: &Sample| {
        sniff::csv(sample, options, None, |dialect, skip| {
            source.cutter(files, options, (RecordEnds::Csv(*dialect), skip), memory)
        })
    };
    let mut all: Vec<Sniffed> = vec![sniffed(&sources[0], &first)?];
    let records = first.estimated_rows(all[0].records);
    for source in &sources[1..] {
        all.push(sniffed(source, &source.sample(files, options, memory)?)?);
    }
    let mut fields: Vec<Field> = Vec::new();
    for found in all.iter().flat_map(|sniffed| &sniffed.fields) {
        match fields.iter_mut().find(|known| is_same(known, found)) {
            None => fields.push(found.clone()),
            Some(known) if known.data_type() == found.data_type() => {}
            Some(known) => *known = widened(known, found)?,
        }
    }
    let shape = |sniffed: Sniffed| {
        let columns =
            fields.iter().map(|column| match sniffed.fields.iter().position(|field| is_same(field, column)) {
                Some(place) => {
                    let ty = type_of_field(column).ok().and_then(|ty| ColumnForm::own_type(&ty));
                    (Some(place), ColumnForm { ty, ..sniffed.forms[place].clone() })
                }
                None => (None, ColumnForm::default()),
            });
        let columns = columns.collect();
        Arc::new(CsvShape { columns, ..CsvShape::of(sniffed) })
    };
    let csv = all.into_iter().map(shape).collect();
    Ok(Shapes { csv, layout: Layout::default(), fields, records })
}

fn is_same(a: &Field, b: &Field) -> bool {
    a.name().eq_ignore_ascii_case(b.name())
}

/// Returns a column whose type differs between files.
fn widened(a: &Field, b: &Field) -> Result<Field> {
    let types = [type_of_field(a)?, type_of_field(b)?];
    let ty = match types.iter().all(SqlType::is_numeric) {
        true if types.contains(&SqlType::Double) => SqlType::Double,
        true => SqlType::HugeInt,
        false => SqlType::Varchar,
    };
    field_of(a.name(), &ty, true)
}
