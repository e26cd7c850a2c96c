//! Rows of values as chunks, and the comparison with the reference.

use std::sync::Arc;

use arrow_array::Array;
use godwit_common::{Error, Result};
use godwit_expression::{Expression, Layout, PlanContext};
use godwit_plan::{ColumnId, Expr, ExprKind, Plan};
use godwit_reference::evaluate_expr;
use godwit_types::{SqlType, Value};
use godwit_vector::kernels::cast::min_max;
use godwit_vector::sql::column_type;
use godwit_vector::sql::{array_of_values, value_at};
use godwit_vector::{Chunk, ColumnType, Dictionary, PhysicalType, Vector, from_arrow, to_arrow};

/// Columns of values.
pub struct Rows {
    pub plan: Plan,
    pub columns: Vec<ColumnId>,
    pub types: Vec<SqlType>,
    /// Row by row.
    pub values: Vec<Vec<Value>>,
}

impl Rows {
    pub fn new(types: Vec<SqlType>, values: Vec<Vec<Value>>) -> Self {
        let mut plan = Plan::new();
        let columns = types.iter().map(|ty| plan.add_column("c", ty.clone(), true)).collect();
        Self { plan, columns, types, values }
    }

    /// Returns a column as an expression.
    pub fn column(&self, index: usize) -> Expr {
        Expr::new(ExprKind::Column(self.columns[index]), self.types[index].clone(), true)
    }

    /// Returns the reference's result for each row.
    pub fn expected(&self, expr: &Expr) -> Vec<Result<Value>> {
        let row = |row: &Vec<Value>| {
            let bound: Vec<(ColumnId, Value)> = self.columns.iter().copied().zip(row.iter().cloned()).collect();
            evaluate_expr(&self.plan, expr, &bound)
        };
        self.values.iter().map(row).collect()
    }

    fn vectors(&self) -> Vec<Vector> {
        let column = |at: usize| {
            let values: Vec<Value> = self.values.iter().map(|row| row[at].clone()).collect();
            from_arrow(&array_of_values(&values, &self.types[at]).unwrap()).unwrap()
        };
        (0..self.types.len()).map(column).collect()
    }

    /// Returns the same rows in several representations.
    pub fn chunks(&self) -> Vec<Chunk> {
        let (flat, rows) = (self.vectors(), self.values.len());
        let dictionaries = flat.iter().map(as_dictionary).collect();
        let twice: Vec<u32> = (0..rows as u32).rev().chain(0..rows as u32).collect();
        let mut selected = Chunk::new(flat.iter().map(|vector| vector.take(&twice)).collect(), 2 * rows);
        selected.select(&(rows as u32..2 * rows as u32).collect::<Vec<_>>());
        vec![Chunk::new(flat, rows), Chunk::new(dictionaries, rows), selected]
    }

    /// The types of the columns, with the bounds of the values if `with_ranges`.
    pub fn column_types(&self, with_ranges: bool) -> Vec<ColumnType> {
        let typed = |(ty, vector): (&SqlType, &Vector)| {
            let mut ty = column_type(ty, vector.has_nulls()).unwrap();
            if with_ranges && ty.physical.is_integer() {
                ty.range = min_max(vector);
            }
            ty
        };
        self.types.iter().zip(&self.vectors()).map(typed).collect()
    }

    /// The layout of the columns, which have these types.
    pub fn layout<'a>(&'a self, types: &'a [ColumnType]) -> Layout<'a> {
        Layout { columns: &self.columns, types }
    }

    /// Evaluates an expression on plain chunks.
    pub fn evaluated(&self, expr: &Expr) -> Result<Vec<Value>> {
        let types = self.column_types(false);
        let compiled = Expression::compile(expr, self.layout(&types), &PlanContext::default())?;
        let array = to_arrow(&compiled.evaluate(&self.chunks()[0])?, &compiled.output().logical)?;
        (0..array.len()).map(|row| value_at(&array, row, &expr.ty)).collect()
    }

    /// Returns the error of each representation; `None` for those that have values.
    pub fn errors(&self, expr: &Expr) -> Vec<Option<Error>> {
        let mut errors = Vec::new();
        for with_ranges in [false, true] {
            let types = self.column_types(with_ranges);
            let compiled = Expression::compile(expr, self.layout(&types), &PlanContext::default()).unwrap();
            assert!(compiled.can_fail(), "{expr}");
            errors.extend(self.chunks().iter().map(|chunk| compiled.evaluate(chunk).err()));
        }
        errors
    }

    /// Compares all representations with the reference, whole and row by row. Rows that the reference refuses may or
    /// may not have a value; with `same_errors`, they must not.
    pub fn check(&self, expr: &Expr, same_errors: bool) {
        self.check_forms(expr, &self.expected(expr), same_errors);
    }

    /// Compares all representations with the expected values.
    pub fn check_forms(&self, expr: &Expr, expected: &[Result<Value>], same_errors: bool) {
        let all_good = expected.iter().all(Result::is_ok);
        for with_ranges in [false, true] {
            let types = self.column_types(with_ranges);
            let compiled = Expression::compile(expr, self.layout(&types), &PlanContext::default());
            let compiled = compiled.unwrap_or_else(|error| panic!("{expr}: {error}"));
            for (form, chunk) in self.chunks().iter().enumerate() {
                let what = format!("{expr} as form {form}, ranges {with_ranges}: {compiled:?}");
                let whole = compiled.evaluate(chunk);
                if let (true, Err(error)) = (all_good, &whole) {
                    assert!(is_forgiven(error.message()), "{what}: {error}");
                }
                if let Ok(vector) = whole {
                    let nulls = vector.has_nulls();
                    assert!(compiled.output().nullable || !nulls, "{what} is NULL");
                    assert!(!same_errors || all_good, "{what} has no error, expected {expected:?}");
                    assert_rows(&vector, &compiled, &expr.ty, expected, &what);
                }
                for (row, expected) in expected.iter().enumerate() {
                    match compiled.evaluate(&chunk.slice(row, 1)) {
                        Ok(vector) => {
                            assert!(!same_errors || expected.is_ok(), "{what}: row {row}, expected {expected:?}");
                            assert_rows(&vector, &compiled, &expr.ty, std::slice::from_ref(expected), &what);
                        }
                        Err(error) => {
                            let forgiven = expected.is_err() || is_forgiven(error.message());
                            assert!(forgiven, "{what}: row {row} {:?}: {error}", self.values[row]);
                        }
                    }
                }
            }
        }
    }
}

/// Arrow's intervals count in nanoseconds and have a smaller range than SQL's.
fn is_forgiven(message: &str) -> bool {
    message.contains("the hours of the interval")
}

fn assert_rows(vector: &Vector, compiled: &Expression, ty: &SqlType, expected: &[Result<Value>], what: &str) {
    let output = compiled.output();
    assert_eq!(vector.physical(), output.physical, "{what}");
    if let (Some(proven), true) = (output.range, vector.physical().is_integer()) {
        let is_proven = |found: godwit_vector::ValueRange| proven.min <= found.min && found.max <= proven.max;
        assert!(min_max(vector).is_none_or(is_proven), "{what} leaves its range");
    }
    let array = to_arrow(vector, &output.logical).unwrap();
    for (row, expected) in expected.iter().enumerate() {
        let found = value_at(&array, row, ty).unwrap();
        if let Ok(expected) = expected {
            assert!(is_same(&found, expected), "{what}: row {row} is {found:?}, expected {expected:?}");
        }
    }
}

/// Equality in which all NaN are equal.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(),
        (Value::List(a), Value::List(b)) | (Value::Struct(a), Value::Struct(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(&a.0, &b.0) && is_same(&a.1, &b.1))
        }
        _ => a == b,
    }
}

/// The same values as codes of a dictionary, which is larger than the chunk where rows are evaluated one by one.
fn as_dictionary(vector: &Vector) -> Vector {
    if vector.physical() == PhysicalType::Nested || vector.is_empty() {
        return vector.clone();
    }
    let codes: Vec<u32> = (0..vector.len() as u32).collect();
    let dictionary = Arc::new(Dictionary::new(vector.to_flat(), false));
    Vector::dictionary(codes.into(), dictionary, None).with_validity(vector.validity().cloned())
}
