//! Tables for tests: rows in memory, with the statistics that a table would have.

use std::any::Any;
use std::cmp::Ordering;

use godwit_plan::{ColumnStatistics, Relation, RelationColumn, TableStatistics, ValueRange};
use godwit_types::{SqlType, Value, compare_values};

use crate::environment::Row;

/// An in-memory table. Its statistics are exact; a column is nullable only if a row has a NULL there.
#[derive(Debug, Clone)]
pub struct MemoryTable {
    name: String,
    columns: Vec<RelationColumn>,
    rows: Vec<Row>,
    keys: Vec<Vec<usize>>,
    statistics: TableStatistics,
}

impl MemoryTable {
    /// Creates a table with columns of (name, type).
    ///
    /// # Panics
    /// If a row doesn't have a value for each column.
    pub fn new(name: &str, columns: &[(&str, SqlType)], rows: Vec<Row>) -> Self {
        assert!(rows.iter().all(|row| row.len() == columns.len()), "each row has a value for each column");
        let has_null = |index: usize| rows.iter().any(|row| row[index].is_null());
        let column = |(index, (name, ty)): (usize, &(&str, SqlType))| RelationColumn {
            name: (*name).to_owned(),
            ty: ty.clone(),
            nullable: has_null(index),
            hidden: false,
            collation: None,
        };
        let columns: Vec<RelationColumn> = columns.iter().enumerate().map(column).collect();
        let of_column = |(index, column): (usize, &RelationColumn)| {
            column_statistics(rows.iter().map(|row| &row[index]), &column.ty)
        };
        let statistics = TableStatistics {
            rows: rows.len() as u64,
            rows_exact: true,
            columns: columns.iter().enumerate().map(of_column).collect(),
        };
        Self { name: name.to_owned(), columns, rows, keys: Vec::new(), statistics }
    }

    /// Adds a key: a set of columns, by position, on which no two rows agree.
    ///
    /// # Panics
    /// If two rows do.
    #[must_use]
    pub fn with_key(mut self, key: &[usize]) -> Self {
        let mut values: Vec<Vec<&Value>> =
            self.rows.iter().map(|row| key.iter().map(|&at| &row[at]).collect()).collect();
        values.retain(|key| key.iter().all(|value| !value.is_null()));
        let types: Vec<&SqlType> = key.iter().map(|&at| &self.columns[at].ty).collect();
        let compare = |a: &Vec<&Value>, b: &Vec<&Value>| {
            let orders = types.iter().zip(a.iter().zip(b)).map(|(ty, (a, b))| compare_values(a, b, ty));
            orders.fold(Ordering::Equal, Ordering::then)
        };
        values.sort_by(compare);
        assert!(
            values.windows(2).all(|pair| compare(&pair[0], &pair[1]).is_ne()),
            "{key:?} is no key of {}",
            self.name
        );
        self.keys.push(key.to_vec());
        self
    }

    /// Makes all columns nullable, though no row may have a NULL there.
    #[must_use]
    pub fn with_nullable_columns(mut self) -> Self {
        self.columns.iter_mut().for_each(|column| column.nullable = true);
        self
    }

    /// Makes `*` leave out a column, such as a row id.
    #[must_use]
    pub fn with_hidden_column(mut self, at: usize) -> Self {
        self.columns[at].hidden = true;
        self
    }

    /// Reverses the order of the rows.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.rows.reverse();
        self
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }
}

impl Relation for MemoryTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn statistics(&self) -> &TableStatistics {
        &self.statistics
    }

    fn keys(&self) -> &[Vec<usize>] {
        &self.keys
    }

    fn evaluates_filters(&self) -> bool {
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn column_statistics<'v>(values: impl Iterator<Item = &'v Value>, ty: &SqlType) -> ColumnStatistics {
    let (nulls, mut values): (Vec<&Value>, Vec<&Value>) = values.partition(|value| value.is_null());
    let average_bytes = match values.len() {
        0 => None,
        count => Some(values.iter().map(|value| bytes(value)).sum::<usize>() as f64 / count as f64),
    };
    values.sort_by(|a, b| compare_values(a, b, ty));
    let ticks = |value: Option<&&Value>| match value {
        Some(Value::Integer(value)) => Some(*value),
        Some(Value::Date(days)) => Some(i128::from(*days)),
        Some(Value::Time(ticks) | Value::Timestamp(ticks)) => Some(i128::from(*ticks)),
        _ => None,
    };
    let range = ticks(values.first()).zip(ticks(values.last()));
    let (min, max) = (values.first().copied().cloned(), values.last().copied().cloned());
    values.dedup_by(|a, b| compare_values(a, b, ty).is_eq());
    ColumnStatistics {
        range: range.map(|(min, max)| ValueRange { min, max }),
        min,
        max,
        null_count: Some(nulls.len() as u64),
        distinct: Some(values.len() as u64),
        average_bytes,
    }
}

fn bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        Value::Boolean(_) => 1,
        _ => 8,
    }
}
