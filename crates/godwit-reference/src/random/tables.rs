//! The tables of random plans.

use godwit_types::{SqlType, Value};

use super::Generator;
use crate::table::MemoryTable;

/// The types of columns.
pub(super) const TYPES: [SqlType; 4] = [SqlType::Integer, SqlType::Boolean, SqlType::Varchar, SqlType::Double];

/// Makes two to four tables.
pub(super) fn random_tables(numbers: &mut Generator) -> Vec<MemoryTable> {
    (0..2 + numbers.below(3)).map(|index| random_table(numbers, index)).collect()
}

fn random_table(numbers: &mut Generator, index: usize) -> MemoryTable {
    let has_key = numbers.chance(40);
    let types: Vec<SqlType> = (0..2 + numbers.below(3))
        .map(|column| if column == 0 { SqlType::Integer } else { numbers.pick(&TYPES).clone() })
        .collect();
    let null_percent: Vec<usize> = types.iter().map(|_| *numbers.pick(&[0, 20, 50])).collect();
    let row = |(number, numbers): (usize, &mut Generator)| -> Vec<Value> {
        let value = |(column, ty): (usize, &SqlType)| match column {
            0 if has_key => Value::Integer(number as i128),
            _ if numbers.chance(null_percent[column]) => Value::Null,
            _ => random_value(numbers, ty),
        };
        types.iter().enumerate().map(value).collect()
    };
    let mut rows = Vec::new();
    let count = if numbers.chance(8) { 0 } else { 2 + numbers.below(5) };
    for number in 0..count {
        rows.push(row((number, &mut *numbers)));
    }
    let names = ["a", "b", "c", "d"];
    let columns: Vec<(&str, SqlType)> = names.into_iter().zip(types).collect();
    let table = MemoryTable::new(&format!("t{index}"), &columns, rows);
    let table = if numbers.chance(30) { table.with_nullable_columns() } else { table };
    if has_key { table.with_key(&[0]) } else { table }
}

/// Makes a non-NULL value: one of few, so that values coincide.
pub(super) fn random_value(numbers: &mut Generator, ty: &SqlType) -> Value {
    match ty {
        SqlType::Boolean => Value::Boolean(numbers.chance(50)),
        SqlType::Varchar => Value::text(*numbers.pick(&["", "a", "ab", "b", "A", "ä", "a%"])),
        SqlType::Double => {
            let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
            let plain = [0.0, 1.0, 1.5, -2.25, 3.0, 2.0];
            Value::Float(if numbers.chance(25) { *numbers.pick(&special) } else { *numbers.pick(&plain) })
        }
        _ if numbers.chance(3) => Value::Integer(*numbers.pick(&[i128::from(i32::MIN), i128::from(i32::MAX)])),
        _ => Value::Integer(numbers.below(5) as i128 - 1),
    }
}
