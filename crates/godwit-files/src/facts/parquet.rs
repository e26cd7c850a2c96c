//! The layout of Parquet files: `parquet_schema`, `parquet_metadata`, `parquet_file_metadata`, `parquet_kv_metadata`.
//!
//! Columns have the same names as in DuckDB.

use std::fmt::Debug;
use std::path::Path;

use godwit_catalog::CopyOption;
use godwit_common::Result;
use godwit_types::{SqlType, Value, format_value};
use godwit_vector::sql::type_of_field;
use parquet::basic::{ConvertedType, Encoding};
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, RowGroupMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::Type;

use super::Columns;
use crate::fixed_bytes::UUID_BYTES;
use crate::footer::ParquetFile;
use crate::resolver::FileResolver;

const TEXT: SqlType = SqlType::Varchar;
const NUMBER: SqlType = SqlType::BigInt;

pub(super) fn schema_columns() -> Columns {
    vec![
        ("file_name", TEXT),
        ("name", TEXT),
        ("type", TEXT),
        ("type_length", TEXT),
        ("repetition_type", TEXT),
        ("num_children", NUMBER),
        ("converted_type", TEXT),
        ("scale", NUMBER),
        ("precision", NUMBER),
        ("field_id", NUMBER),
        ("logical_type", TEXT),
        ("column_id", NUMBER),
    ]
}

/// Returns a row for each node of the schemas, parents before their children.
pub(super) fn schema(resolver: &FileResolver, paths: &[&str], _options: &[CopyOption]) -> Result<Vec<Vec<Value>>> {
    rows_of(resolver, paths, |path, file, rows| {
        let root = file.metadata().file_metadata().schema_descr().root_schema();
        let (mut open, mut number) = (vec![root], 0);
        while let Some(node) = open.pop() {
            rows.push(schema_row(path, node, number));
            number += 1;
            if node.is_group() {
                open.extend(node.get_fields().iter().rev().map(|field| &**field));
            }
        }
        Ok(())
    })
}

fn schema_row(path: &str, node: &Type, number: i64) -> Vec<Value> {
    let info = node.get_basic_info();
    let fixed_length = match node {
        Type::PrimitiveType { type_length, .. } if *type_length > 0 => Value::text(type_length.to_string()),
        _ => Value::Null,
    };
    let is_decimal = info.converted_type() == ConvertedType::DECIMAL;
    let of_decimal = |part: fn(&Type) -> i32| if is_decimal { Value::from(i64::from(part(node))) } else { Value::Null };
    vec![
        Value::text(path),
        Value::text(node.name()),
        if node.is_primitive() { name_of(&node.get_physical_type()) } else { Value::Null },
        fixed_length,
        if info.has_repetition() { name_of(&info.repetition()) } else { Value::Null },
        if node.is_group() { Value::from(node.get_fields().len() as i64) } else { Value::Null },
        if info.converted_type() == ConvertedType::NONE { Value::Null } else { name_of(&info.converted_type()) },
        of_decimal(Type::get_scale),
        of_decimal(Type::get_precision),
        if info.has_id() { Value::from(i64::from(info.id())) } else { Value::Null },
        info.logical_type_ref().map_or(Value::Null, |ty| Value::text(format!("{ty:?}"))),
        Value::from(number),
    ]
}

pub(super) fn chunk_columns() -> Columns {
    vec![
        ("file_name", TEXT),
        ("row_group_id", NUMBER),
        ("row_group_num_rows", NUMBER),
        ("row_group_num_columns", NUMBER),
        ("row_group_bytes", NUMBER),
        ("column_id", NUMBER),
        ("file_offset", NUMBER),
        ("num_values", NUMBER),
        ("path_in_schema", TEXT),
        ("type", TEXT),
        ("stats_min", TEXT),
        ("stats_max", TEXT),
        ("stats_null_count", NUMBER),
        ("stats_distinct_count", NUMBER),
        ("stats_min_value", TEXT),
        ("stats_max_value", TEXT),
        ("compression", TEXT),
        ("encodings", TEXT),
        ("index_page_offset", NUMBER),
        ("dictionary_page_offset", NUMBER),
        ("data_page_offset", NUMBER),
        ("total_compressed_size", NUMBER),
        ("total_uncompressed_size", NUMBER),
        ("bloom_filter_offset", NUMBER),
        ("bloom_filter_length", NUMBER),
        ("min_is_exact", SqlType::Boolean),
        ("max_is_exact", SqlType::Boolean),
        ("row_group_compressed_bytes", NUMBER),
    ]
}

/// Returns a row for each column of each row group.
pub(super) fn chunks(resolver: &FileResolver, paths: &[&str], _options: &[CopyOption]) -> Result<Vec<Vec<Value>>> {
    rows_of(resolver, paths, |path, file, rows| {
        let types = leaf_types(file);
        for (number, group) in file.metadata().row_groups().iter().enumerate() {
            for (column, chunk) in group.columns().iter().enumerate() {
                rows.push(chunk_row(path, (number, group), (column, chunk), types[column].as_ref()));
            }
        }
        Ok(())
    })
}

fn chunk_row(
    path: &str,
    (group_number, group): (usize, &RowGroupMetaData),
    (column, chunk): (usize, &ColumnChunkMetaData),
    ty: Option<&SqlType>,
) -> Vec<Value> {
    let statistics = chunk.statistics();
    let bound = |is_max| statistics.and_then(|known| bound(known, is_max, ty)).map_or(Value::Null, Value::text);
    let count = |count: Option<u64>| count.and_then(|count| i64::try_from(count).ok()).map_or(Value::Null, Value::from);
    let offset = |offset: Option<i64>| offset.map_or(Value::Null, Value::from);
    let (min, max) = (bound(false), bound(true));
    let encodings: Vec<String> = chunk.encodings().map(|encoding: Encoding| format!("{encoding:?}")).collect();
    vec![
        Value::text(path),
        Value::from(group_number as i64),
        Value::from(group.num_rows()),
        Value::from(group.num_columns() as i64),
        Value::from(group.total_byte_size()),
        Value::from(column as i64),
        Value::from(chunk.file_offset()),
        Value::from(chunk.num_values()),
        Value::text(chunk.column_path().parts().join(", ")),
        name_of(&chunk.column_type()),
        min.clone(),
        max.clone(),
        count(statistics.and_then(Statistics::null_count_opt)),
        count(statistics.and_then(Statistics::distinct_count_opt)),
        min,
        max,
        name_of(&chunk.compression_codec()),
        Value::text(encodings.join(", ")),
        offset(chunk.index_page_offset()),
        offset(chunk.dictionary_page_offset()),
        Value::from(chunk.data_page_offset()),
        Value::from(chunk.compressed_size()),
        Value::from(chunk.uncompressed_size()),
        offset(chunk.bloom_filter_offset()),
        offset(chunk.bloom_filter_length().map(i64::from)),
        statistics.map_or(Value::Null, |known| Value::Boolean(known.min_is_exact())),
        statistics.map_or(Value::Null, |known| Value::Boolean(known.max_is_exact())),
        Value::from(group.compressed_size()),
    ]
}

/// Returns the type of each leaf of the schema that is a column by itself.
fn leaf_types(file: &ParquetFile) -> Vec<Option<SqlType>> {
    let mut types = vec![None; file.metadata().file_metadata().schema_descr().num_columns()];
    for column in &file.columns {
        if !column.field.data_type().is_nested() {
            types[column.leaf] = type_of_field(&column.field).ok();
        }
    }
    types
}

/// Returns the least or the greatest value of a column chunk as text; `None` if it isn't known.
fn bound(statistics: &Statistics, is_max: bool, ty: Option<&SqlType>) -> Option<String> {
    macro_rules! of {
        ($known:expr) => {
            if is_max { $known.max_opt() } else { $known.min_opt() }
        };
    }
    let (value, own) = match statistics {
        Statistics::Boolean(known) => (Value::Boolean(*of!(known)?), SqlType::Boolean),
        Statistics::Int32(known) => integer(i64::from(*of!(known)?), ty, SqlType::Integer),
        Statistics::Int64(known) => integer(*of!(known)?, ty, SqlType::BigInt),
        Statistics::Float(known) => (Value::Float(f64::from(*of!(known)?)), SqlType::Real),
        Statistics::Double(known) => (Value::Float(*of!(known)?), SqlType::Double),
        Statistics::ByteArray(known) => bytes(of!(known)?.data(), ty),
        Statistics::FixedLenByteArray(known) => bytes(of!(known)?.data(), ty),
        Statistics::Int96(_) => return None,
    };
    Some(format_value(&value, &own))
}

/// Converts a stored integer to a value of the column's type.
fn integer(stored: i64, ty: Option<&SqlType>, natural: SqlType) -> (Value, SqlType) {
    let value = match ty {
        Some(SqlType::Date) => i32::try_from(stored).map(Value::Date).ok(),
        Some(SqlType::Time) => Some(Value::Time(stored)),
        Some(ty) if ty.is_timestamp() => Some(Value::Timestamp(stored)),
        Some(SqlType::UInteger) => Some(Value::Integer((stored as u32).into())),
        Some(SqlType::UBigInt) => Some(Value::Integer((stored as u64).into())),
        Some(ty) if ty.is_integer() || matches!(ty, SqlType::Decimal { .. }) => Some(Value::Integer(stored.into())),
        _ => None,
    };
    match (value, ty) {
        (Some(value), Some(ty)) => (value, ty.clone()),
        _ => (Value::Integer(stored.into()), natural),
    }
}

/// Converts stored bytes to a value of the column's type.
fn bytes(stored: &[u8], ty: Option<&SqlType>) -> (Value, SqlType) {
    match (ty, std::str::from_utf8(stored)) {
        (Some(ty @ SqlType::Decimal { .. }), _) if (1..=16).contains(&stored.len()) => {
            let sign = if stored[0] >= 0x80 { 0xff } else { 0 };
            let mut extended = [sign; 16];
            extended[16 - stored.len()..].copy_from_slice(stored);
            (Value::Integer(i128::from_be_bytes(extended)), ty.clone())
        }
        (Some(ty @ SqlType::Uuid), _) if stored.len() == UUID_BYTES => {
            let value = stored.iter().fold(0, |value, &byte| value << 8 | u128::from(byte));
            (Value::Uuid(value), ty.clone())
        }
        (Some(SqlType::Blob), _) | (_, Err(_)) => (Value::Blob(stored.into()), SqlType::Blob),
        (_, Ok(text)) => (Value::text(text), SqlType::Varchar),
    }
}

pub(super) fn file_columns() -> Columns {
    vec![
        ("file_name", TEXT),
        ("created_by", TEXT),
        ("num_rows", NUMBER),
        ("num_row_groups", NUMBER),
        ("format_version", NUMBER),
        ("file_size_bytes", NUMBER),
        ("footer_size", NUMBER),
    ]
}

pub(super) fn files(resolver: &FileResolver, paths: &[&str], _options: &[CopyOption]) -> Result<Vec<Vec<Value>>> {
    rows_of(resolver, paths, |path, file, rows| {
        let known = file.metadata().file_metadata();
        rows.push(vec![
            Value::text(path),
            known.created_by().map_or(Value::Null, Value::text),
            Value::from(known.num_rows()),
            Value::from(file.metadata().num_row_groups() as i64),
            Value::from(i64::from(known.version())),
            Value::from(file.bytes.bytes() as i64),
            Value::from(file.footer_bytes as i64),
        ]);
        Ok(())
    })
}

pub(super) fn key_value_columns() -> Columns {
    vec![("file_name", TEXT), ("key", SqlType::Blob), ("value", SqlType::Blob)]
}

pub(super) fn key_values(resolver: &FileResolver, paths: &[&str], _options: &[CopyOption]) -> Result<Vec<Vec<Value>>> {
    rows_of(resolver, paths, |path, file, rows| {
        let blob = |text: &str| Value::Blob(text.as_bytes().into());
        let pairs = file.metadata().file_metadata().key_value_metadata();
        rows.extend(pairs.into_iter().flatten().map(|KeyValue { key, value }| {
            vec![Value::text(path), blob(key), value.as_deref().map_or(Value::Null, blob)]
        }));
        Ok(())
    })
}

/// Returns the rows of all files, one file after the other.
fn rows_of(
    resolver: &FileResolver,
    paths: &[&str],
    add: impl Fn(&str, &ParquetFile, &mut Vec<Vec<Value>>) -> Result<()>,
) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    resolver.each_parquet_file(paths, |path: &Path, file: &ParquetFile| {
        add(&path.display().to_string(), file, &mut rows)
    })?;
    Ok(rows)
}

/// Returns the name of a constant of the format, without its parameters.
fn name_of(constant: &dyn Debug) -> Value {
    let text = format!("{constant:?}");
    Value::text(text.split('(').next().unwrap_or_default())
}
