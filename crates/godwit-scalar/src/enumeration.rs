//! Labels of ENUM types. The type of an argument matters: its value may be NULL.

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::{EnumType, SqlType, Value};
use godwit_vector::Vector;
use godwit_vector::sql::{Reader, vector_of_values};

use crate::function::{Category, Function, function};
use crate::list::call::{Call, lenient};
use crate::list::types::Chosen;

pub(crate) fn functions() -> Vec<Function> {
    let of_labels = |names, description| function(Category::Value, names, description);
    vec![
        of_labels(&["enum_range"], "All labels of an ENUM, in order")
            .example("enum_range(NULL::ENUM('low', 'high'))", "[low, high]")
            .chosen("enum_range(enum)", |arguments| {
                of_type(arguments, texts(), |labels| Some(list(labels, 0, labels.len())))
            }),
        of_labels(&["enum_first"], "The first label of an ENUM")
            .example("enum_first(NULL::ENUM('low', 'high'))", "low")
            .chosen("enum_first(enum)", |arguments| {
                of_type(arguments, SqlType::Varchar, |labels| labels.first().map(text))
            }),
        of_labels(&["enum_last"], "The last label of an ENUM")
            .example("enum_last(NULL::ENUM('low', 'high'))", "high")
            .chosen("enum_last(enum)", |arguments| {
                of_type(arguments, SqlType::Varchar, |labels| labels.last().map(text))
            }),
        of_labels(&["enum_code"], "The place of a value among the labels of its ENUM, from 0")
            .example("enum_code('high'::ENUM('low', 'high'))", "1")
            .chosen("enum_code(enum)", code),
        of_labels(&["enum_range_boundary"], "The labels from one to another of an ENUM; NULL is its first or last")
            .example("enum_range_boundary('mid'::ENUM('low', 'mid', 'high'), NULL)", "[mid, high]")
            .chosen("enum_range_boundary(enum, enum)", boundary),
    ]
}

fn texts() -> SqlType {
    SqlType::list_of(SqlType::Varchar)
}

fn text(label: &Arc<str>) -> Value {
    Value::Text(label.clone())
}

fn list(labels: &[Arc<str>], begin: usize, end: usize) -> Value {
    Value::List(labels.get(begin..end).unwrap_or_default().iter().map(text).collect())
}

fn enum_of(argument: &ArgumentType<'_>) -> Option<Arc<EnumType>> {
    match argument.ty {
        SqlType::Enum(labels) => Some(labels.clone()),
        _ => None,
    }
}

/// A value of the type alone.
fn of_type(arguments: &[ArgumentType<'_>], result: SqlType, value: fn(&[Arc<str>]) -> Option<Value>) -> Chosen {
    let [argument] = arguments else { return None };
    let value = value(&enum_of(argument)?.labels).unwrap_or(Value::Null);
    let compute = move |call: &Call<'_>| vector_of_values(&vec![value.clone(); call.rows], call.result);
    Some(Ok(lenient(vec![argument.ty.clone()], result, compute).total()))
}

/// Returns the positions of labels, NULL for NULL.
fn places(vector: &Vector, ty: &SqlType, rows: usize) -> Result<Vec<Option<i128>>> {
    let reader = Reader::new(vector, ty)?;
    (0..rows).map(|row| Ok(reader.value(row)?.as_integer())).collect()
}

fn code(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [argument] = arguments else { return None };
    let result = match enum_of(argument)?.labels.len() {
        ..=0x100 => SqlType::UTinyInt,
        0x101..=0x1_0000 => SqlType::USmallInt,
        _ => SqlType::UInteger,
    };
    let compute = |call: &Call<'_>| {
        let places = places(&call.arguments[0], &call.types[0], call.rows)?;
        let codes: Vec<Value> = places.into_iter().map(|place| place.map_or(Value::Null, Value::Integer)).collect();
        vector_of_values(&codes, call.result)
    };
    Some(Ok(lenient(vec![argument.ty.clone()], result, compute).total()))
}

fn boundary(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [first, last] = arguments else { return None };
    let labels = enum_of(first).or_else(|| enum_of(last))?;
    let ty = SqlType::Enum(labels.clone());
    let fits = |argument: &ArgumentType<'_>| *argument.ty == ty || *argument.ty == SqlType::Unknown;
    if !fits(first) || !fits(last) {
        return None;
    }
    let compute = move |call: &Call<'_>| {
        let [first, last] = [0, 1].map(|at| places(&call.arguments[at], &call.types[at], call.rows));
        let bounds = first?.into_iter().zip(last?);
        let lists: Vec<Value> = bounds
            .map(|(first, last)| {
                let end = last.map_or(labels.labels.len(), |last| last as usize + 1);
                list(&labels.labels, first.unwrap_or(0) as usize, end)
            })
            .collect();
        vector_of_values(&lists, call.result)
    };
    Some(Ok(lenient(vec![ty.clone(), ty], texts(), compute).total().never_null()))
}
