//! Columns that conditions make equal.
//!
//! `a = b` and `b = c` put a, b and c into a class; `a = 1` binds it to a constant. In rows for which all conditions
//! are TRUE, the columns of a class are equal and not NULL. `a IS NOT DISTINCT FROM b` is kept separate, since there
//! both may be NULL.

use std::collections::HashMap;

use godwit_plan::{ColumnId, ColumnSet, Comparison, Expr, ExprKind};

/// Classes of equal columns.
#[derive(Debug, Default)]
pub struct Equivalences {
    class_of: HashMap<ColumnId, usize>,
    classes: Vec<Class>,
}

#[derive(Debug, Default, Clone)]
struct Class {
    columns: Vec<ColumnId>,
    constant: Option<Expr>,
}

impl Equivalences {
    /// Returns the columns that these conjuncts make equal.
    pub fn of<'e>(conditions: impl IntoIterator<Item = &'e Expr>) -> Self {
        let mut all = Self::default();
        for condition in conditions {
            let ExprKind::Compare(Comparison::Equal, a, b) = &condition.kind else { continue };
            match (a.as_column(), b.as_column()) {
                (Some(a), Some(b)) => all.join(a, b),
                (Some(column), None) => all.bind(column, b),
                (None, Some(column)) => all.bind(column, a),
                (None, None) => {}
            }
        }
        all
    }

    /// Returns the columns equal to a column, including itself; only itself if nothing is known.
    pub fn equal_to(&self, column: ColumnId) -> Vec<ColumnId> {
        match self.class_of.get(&column) {
            Some(&class) => self.classes[class].columns.clone(),
            None => vec![column],
        }
    }

    /// Returns the columns that are equal to constants.
    pub fn constant_columns(&self) -> ColumnSet {
        let bound = self.classes.iter().filter(|class| class.constant.is_some());
        bound.flat_map(|class| class.columns.iter().copied()).collect()
    }

    fn class(&mut self, column: ColumnId) -> usize {
        *self.class_of.entry(column).or_insert_with(|| {
            self.classes.push(Class { columns: vec![column], constant: None });
            self.classes.len() - 1
        })
    }

    /// Merges the smaller class into the larger, so that each column moves a logarithmic number of times.
    fn join(&mut self, a: ColumnId, b: ColumnId) {
        let (a, b) = (self.class(a), self.class(b));
        if a == b {
            return;
        }
        let (into, from) = if self.classes[a].columns.len() >= self.classes[b].columns.len() { (a, b) } else { (b, a) };
        let moved = std::mem::take(&mut self.classes[from]);
        for &column in &moved.columns {
            self.class_of.insert(column, into);
        }
        self.classes[into].columns.extend(moved.columns);
        self.classes[into].constant = self.classes[into].constant.take().or(moved.constant);
    }

    fn bind(&mut self, column: ColumnId, value: &Expr) {
        let is_constant = matches!(value.kind, ExprKind::Literal(_) | ExprKind::Parameter(_));
        if is_constant {
            let class = self.class(column);
            self.classes[class].constant.get_or_insert_with(|| value.clone());
        }
    }
}
