//! The filters of a scan: compiled, and in a form that readers can interpret.

use godwit_common::Result;
use godwit_expression::{Expression, Layout, PlanContext};
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Match};
use godwit_types::{Value, format_value};
use godwit_vector::{ColumnType, RowType};

/// A filter of a scan.
#[derive(Clone)]
pub struct Conjunct {
    /// Over the table's columns; rows for which it is TRUE are emitted.
    pub expression: Expression,
    /// The same, in a form that bounds and dictionaries can be tested against.
    pub condition: Condition,
}

/// What a filter requires of the table's columns, which are given by position. Constants have their column's type, in
/// the form that vectors use: a UUID is text. Anything that isn't understood is [`Condition::Other`].
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// `column op constant`.
    Compare(usize, Comparison, Value),
    /// The column is equal to one of these.
    OneOf(usize, Vec<Value>),
    /// The column is text with this prefix.
    StartsWith(usize, String),
    /// The column is NULL.
    IsNull(usize),
    /// The column isn't NULL.
    IsNotNull(usize),
    /// All of these hold.
    All(Vec<Condition>),
    /// At least one of these holds.
    Any(Vec<Condition>),
    /// TRUE for no row.
    Never,
    /// Any other condition.
    Other,
}

impl Conjunct {
    /// Conditions over the rows of a scan. `columns` maps their columns to positions in the table.
    pub fn of_plan(
        filters: &[Expr],
        columns: &[(ColumnId, usize)],
        row_type: &RowType,
        context: &PlanContext,
    ) -> Result<Vec<Self>> {
        let (ids, positions): (Vec<ColumnId>, Vec<usize>) = columns.iter().copied().unzip();
        let types: Vec<ColumnType> = positions.iter().map(|&at| row_type[at].clone()).collect();
        let layout = Layout { columns: &ids, types: &types };
        let conjuncts = filters.iter().cloned().flat_map(Expr::into_conjuncts);
        let compiled = conjuncts.map(|filter| {
            let expression = Expression::compile(&filter, layout, context)?.remap_columns(&|at| positions[at]);
            Ok(Self { expression, condition: Condition::of_plan(&filter, columns) })
        });
        compiled.collect()
    }
}

impl Condition {
    /// The condition that corresponds to a filter of a plan.
    pub fn of_plan(filter: &Expr, columns: &[(ColumnId, usize)]) -> Self {
        let all = |parts: &[Expr]| parts.iter().map(|part| Self::of_plan(part, columns)).collect();
        let position = |expr: &Expr| {
            let column = expr.as_column()?;
            columns.iter().find(|(id, _)| *id == column).map(|&(_, at)| at)
        };
        let known = match &filter.kind {
            ExprKind::Literal(Value::Null | Value::Boolean(false)) => Some(Self::Never),
            ExprKind::And(parts) => Some(Self::All(all(parts))),
            ExprKind::Or(parts) => Some(Self::Any(all(parts))),
            ExprKind::Compare(comparison, a, b) if a.ty == b.ty => match (position(a), position(b)) {
                (Some(column), None) => Self::compared(column, *comparison, b),
                (None, Some(column)) => Self::compared(column, comparison.swapped(), a),
                _ => None,
            },
            ExprKind::InList(value, list) if list.iter().all(|item| item.ty == value.ty) => {
                position(value).and_then(|column| {
                    let items: Option<Vec<Value>> = list.iter().map(constant).collect();
                    Some(Self::OneOf(column, items?.into_iter().filter(|item| !item.is_null()).collect()))
                })
            }
            ExprKind::Match { kind: Match::Like, input, pattern, escape } => {
                position(input).zip(prefix(pattern, *escape)).map(|(column, prefix)| Self::StartsWith(column, prefix))
            }
            ExprKind::IsNull(value) => position(value).map(Self::IsNull),
            ExprKind::Not(inner) => match &inner.kind {
                ExprKind::IsNull(value) => position(value).map(Self::IsNotNull),
                _ => None,
            },
            _ => None,
        };
        known.unwrap_or(Self::Other)
    }

    fn compared(column: usize, comparison: Comparison, value: &Expr) -> Option<Self> {
        let value = constant(value)?;
        Some(match (comparison, value.is_null()) {
            (Comparison::NotDistinct, true) => Self::IsNull(column),
            (Comparison::Distinct, true) => Self::IsNotNull(column),
            (_, true) => Self::Never,
            (Comparison::NotDistinct, false) => Self::Compare(column, Comparison::Equal, value),
            (Comparison::Distinct, false) => return None,
            (_, false) => Self::Compare(column, comparison, value),
        })
    }
}

fn constant(expr: &Expr) -> Option<Value> {
    Some(match expr.as_literal()? {
        uuid @ Value::Uuid(_) => Value::text(format_value(uuid, &expr.ty)),
        value => value.clone(),
    })
}

/// The common prefix of all strings that match a pattern, unless it is empty.
fn prefix(pattern: &Expr, escape: Option<char>) -> Option<String> {
    let Value::Text(pattern) = pattern.as_literal()? else { return None };
    let is_special = |c: char| matches!(c, '%' | '_' | '\\') || Some(c) == escape;
    pattern.split(is_special).next().filter(|prefix| !prefix.is_empty()).map(str::to_owned)
}
