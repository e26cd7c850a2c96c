//! Columns as they are stored in rows: compressed, or as bytes that sort the same way.

use std::collections::BTreeSet;

use godwit_expression::{Compression, Expression};
use godwit_vector::{ColumnType, PhysicalType, ValueRange};

use crate::hash_aggregate::AggregateKind;

/// How a column was compressed, and its original type.
#[derive(Clone)]
pub(super) struct Compressed {
    pub(super) compression: Compression,
    pub(super) original: ColumnType,
}

/// Per column of a stream: how it was compressed.
pub(super) type CompressedColumns = Vec<Option<Compressed>>;

impl Compressed {
    fn is_nested(&self) -> bool {
        self.original.physical == PhysicalType::Nested
    }
}

/// How a nested column is stored in rows; `None` for others.
pub(super) fn nested(ty: &ColumnType) -> Option<Compressed> {
    Compression::of_nested(ty).map(|compression| Compressed { compression, original: ty.clone() })
}

/// How those columns of a stream that must be compressed are stored in rows.
pub(super) fn nested_columns(types: &[ColumnType]) -> CompressedColumns {
    types.iter().map(nested).collect()
}

/// A value in the form in which rows store it.
pub(super) fn as_stored(value: &Expression) -> Expression {
    Compression::of_nested(value.output()).map_or_else(|| value.clone(), |compression| compression.compress(value))
}

/// Rewrites keys for columns some of which are compressed: a key that is a column stored as bytes becomes that column;
/// other keys that use compressed columns are computed beforehand, as additional columns after the existing ones.
pub(super) fn stored_keys(keys: &mut [Expression], columns: &CompressedColumns) -> Vec<Expression> {
    let becomes_bytes = |column: usize| columns[column].as_ref().is_some_and(Compressed::is_nested);
    let mut computed = Vec::new();
    for key in keys {
        let stored = as_stored(key);
        *key = match key.column_index() {
            Some(column) if becomes_bytes(column) => Expression::column(column, stored.output().clone()),
            None if stored.columns_used().into_iter().any(|column| columns[column].is_some()) => {
                computed.push(stored.clone());
                Expression::column(columns.len() + computed.len() - 1, stored.output().clone())
            }
            _ => stored,
        };
    }
    computed
}

/// How to narrow both keys of an equality, if their bounds allow it without changing the values: filters made from the
/// build keys are applied to uncompressed columns.
pub(super) fn key_compression(probe: &ColumnType, build: &ColumnType) -> Option<Compression> {
    let (a, b) = (probe.range?, build.range?);
    let both = ValueRange { min: a.min.min(b.min), max: a.max.max(b.max) };
    Compression::of_key(&ColumnType { range: Some(both), ..build.clone() })
}

/// The columns of `columns` except those at `positions`.
pub(super) fn without(mut columns: CompressedColumns, positions: &BTreeSet<usize>) -> CompressedColumns {
    positions.iter().for_each(|&position| columns[position] = None);
    columns
}

/// Bytes of a value in a row.
pub(super) fn width_of(ty: &ColumnType) -> usize {
    if ty.physical == PhysicalType::Nested { 0 } else { ty.physical.width_bytes() }
}

/// Whether the result of an aggregate is one of the values that it collects.
pub(super) fn gives_collected_value(kind: &AggregateKind) -> bool {
    use AggregateKind as K;
    match kind {
        K::FirstValue { .. } | K::LastValue { .. } | K::ArgMin | K::ArgMax | K::Mode => true,
        K::Quantile { interpolated, as_list, .. } => !interpolated && !as_list,
        _ => false,
    }
}

/// ` (codes)`, for the name of an operator that works on codes of one of these columns.
pub(super) fn codes_note<'c>(columns: impl IntoIterator<Item = &'c Option<Compressed>>) -> &'static str {
    let is_codes = |column: &Option<Compressed>| column.as_ref().is_some_and(|column| column.compression.is_codes());
    if columns.into_iter().any(is_codes) { " (codes)" } else { "" }
}

/// The name in `EXPLAIN` of the projection that compresses or decompresses columns with these names.
pub(super) fn describe<'n>(
    what: &str,
    names: impl IntoIterator<Item = &'n str>,
    columns: &CompressedColumns,
) -> String {
    let named = names.into_iter().zip(columns).filter_map(|(name, compressed)| {
        let Compressed { compression, original } = compressed.as_ref()?;
        let (wide, narrow) = (width_of(original), compression.physical().width_bytes());
        Some(match what {
            "Compress" if wide == 0 => format!("{name} to text"),
            "Compress" if compression.is_codes() => format!("{name} {wide}→{narrow} (codes)"),
            "Compress" => format!("{name} {wide}→{narrow}"),
            _ => name.to_owned(),
        })
    });
    let named: Vec<String> = named.collect();
    format!("{what} {}{}", named.join(", "), if what == "Compress" { " bytes" } else { "" })
}

/// The narrowest physical type that holds the values of both integer types; types of one kind only.
pub(super) fn common_physical(a: PhysicalType, b: PhysicalType) -> PhysicalType {
    use PhysicalType::*;
    if a == b {
        return a;
    }
    let (Some(ra), Some(rb)) = (ValueRange::of_type(a), ValueRange::of_type(b)) else {
        // A NULL literal is Bool: the other type wins.
        return if a == Bool { b } else { a };
    };
    let both = ValueRange { min: ra.min.min(rb.min), max: ra.max.max(rb.max) };
    [I8, U8, I16, U16, I32, U32, I64, U64, I128].into_iter().find(|&t| both.fits(t)).unwrap_or(I128)
}

/// A type for each column that all inputs can be cast to without loss.
pub(super) fn common_row_type(inputs: &[Vec<ColumnType>]) -> Vec<ColumnType> {
    let mut common = inputs[0].clone();
    for input in &inputs[1..] {
        for (mine, theirs) in common.iter_mut().zip(input) {
            mine.nullable |= theirs.nullable;
            mine.range =
                mine.range.zip(theirs.range).map(|(a, b)| ValueRange { min: a.min.min(b.min), max: a.max.max(b.max) });
            mine.physical = common_physical(mine.physical, theirs.physical);
        }
    }
    common
}

/// Gives both sides of each equality one physical type.
pub(super) fn unify_keys(probe: Vec<Expression>, build: Vec<Expression>) -> (Vec<Expression>, Vec<Expression>) {
    let unified = probe.into_iter().zip(build).map(|(probe, build)| {
        let common = common_physical(probe.output().physical, build.output().physical);
        (probe.with_physical(common), build.with_physical(common))
    });
    unified.unzip()
}
