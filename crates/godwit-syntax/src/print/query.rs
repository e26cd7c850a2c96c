//! Queries without FROM.

use std::fmt::{Display, Formatter, Result};

use super::{Commas, list, list_in_parens, optional, when};
use crate::ast::{
    Cte, CteBody, Direction, Distinct, Expr, GroupBy, GroupingElement, GroupingElementKind, NamedWindow, NullsOrder,
    OrderBy, OrderByExpr, Query, Select, SelectItem, SetExpr, SetExprKind, SetOperations, SetOperator, With,
};

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(with) = &self.with {
            write!(f, "{with} ")?;
        }
        self.body.fmt(f)?;
        optional(f, " ORDER BY ", self.order_by.as_ref())?;
        match &self.limit {
            Some(limit) if !limit.with_ties => {
                write!(f, " LIMIT {}{}", limit.count, when(limit.percent, " PERCENT"))?;
            }
            _ => {}
        }
        optional(f, " OFFSET ", self.offset.as_ref())?;
        match &self.limit {
            Some(limit) if limit.with_ties => {
                write!(f, " FETCH FIRST {}{} ROWS WITH TIES", limit.count, when(limit.percent, " PERCENT"))
            }
            _ => Ok(()),
        }
    }
}

impl Display for With {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "WITH {}{}", when(self.recursive, "RECURSIVE "), Commas(&self.ctes))
    }
}

impl Display for Cte {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.name.fmt(f)?;
        list_in_parens(f, " ", &self.columns)?;
        let materialized = match self.materialized {
            None => "",
            Some(true) => "MATERIALIZED ",
            Some(false) => "NOT MATERIALIZED ",
        };
        match &self.body {
            CteBody::Query(query) => write!(f, " AS {materialized}({query})"),
            CteBody::Write(statement) => write!(f, " AS {materialized}({statement})"),
        }
    }
}

impl Display for SetExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            SetExprKind::Select(select) => select.fmt(f),
            SetExprKind::Query(query) => write!(f, "({query})"),
            SetExprKind::Operations(operations) => operations.fmt(f),
            SetExprKind::Values(rows) => {
                let rows: Vec<_> = rows.iter().map(|row| InParens(row)).collect();
                write!(f, "VALUES {}", Commas(&rows))
            }
            SetExprKind::Table(name) => write!(f, "TABLE {name}"),
            SetExprKind::Pivot(pivot) => pivot.fmt(f),
            SetExprKind::Unpivot(unpivot) => unpivot.fmt(f),
            SetExprKind::Describe(describe) => write!(f, "DESCRIBE {describe}"),
            SetExprKind::Summarize(describe) => write!(f, "SUMMARIZE {describe}"),
            SetExprKind::Show(show) => show.fmt(f),
        }
    }
}

/// `(a, b)`, or just `a`.
pub(super) struct Group<'a>(pub(super) &'a [Expr]);

impl Display for Group<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            [one] => one.fmt(f),
            several => InParens(several).fmt(f),
        }
    }
}

/// `(a, b)`.
pub(super) struct InParens<'a, T>(pub(super) &'a [T]);

impl<T: Display> Display for InParens<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "({})", Commas(self.0))
    }
}

impl Display for SetOperations {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.first.fmt(f)?;
        for step in &self.steps {
            let op = match step.op {
                SetOperator::Union => "UNION",
                SetOperator::Except => "EXCEPT",
                SetOperator::Intersect => "INTERSECT",
            };
            write!(f, " {op}{}{} {}", when(step.all, " ALL"), when(step.by_name, " BY NAME"), step.right)?;
        }
        Ok(())
    }
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("SELECT ")?;
        match &self.distinct {
            None => {}
            Some(Distinct::Rows) => f.write_str("DISTINCT ")?,
            Some(Distinct::On(keys)) => write!(f, "DISTINCT ON ({}) ", Commas(keys))?,
        }
        Commas(&self.projection).fmt(f)?;
        list(f, " FROM ", &self.from)?;
        optional(f, " WHERE ", self.filter.as_ref())?;
        optional(f, " GROUP BY ", self.group_by.as_ref())?;
        optional(f, " HAVING ", self.having.as_ref())?;
        list(f, " WINDOW ", &self.windows)?;
        optional(f, " QUALIFY ", self.qualify.as_ref())?;
        optional(f, " USING SAMPLE ", self.sample.as_ref())
    }
}

impl Display for SelectItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.expr.fmt(f)?;
        optional(f, " AS ", self.alias.as_ref())
    }
}

impl Display for GroupBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            GroupBy::All(_) => f.write_str("ALL"),
            GroupBy::Elements { distinct, elements } => {
                write!(f, "{}{}", when(*distinct, "DISTINCT "), Commas(elements))
            }
        }
    }
}

impl Display for GroupingElement {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let groups = |sets: &[Vec<Expr>]| {
            let groups: Vec<_> = sets.iter().map(|set| Group(set).to_string()).collect();
            groups.join(", ")
        };
        match &self.kind {
            GroupingElementKind::Expr(expr) => {
                let text = expr.to_string();
                // A function of such a name, which only parentheses tell from grouping sets.
                let is_call =
                    |name: &&str| text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
                if ["rollup(", "cube("].iter().any(is_call) { write!(f, "({text})") } else { f.write_str(&text) }
            }
            GroupingElementKind::Set(exprs) => InParens(exprs).fmt(f),
            GroupingElementKind::Rollup(sets) => write!(f, "ROLLUP ({})", groups(sets)),
            GroupingElementKind::Cube(sets) => write!(f, "CUBE ({})", groups(sets)),
            GroupingElementKind::Sets(elements) => write!(f, "GROUPING SETS ({})", Commas(elements)),
        }
    }
}

impl Display for NamedWindow {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} AS {}", self.name, self.spec)
    }
}

impl Display for OrderBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            OrderBy::Exprs(keys) => Commas(keys).fmt(f),
            OrderBy::All { direction, nulls, .. } => {
                f.write_str("ALL")?;
                order_options(f, *direction, *nulls)
            }
        }
    }
}

impl Display for OrderByExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.expr.fmt(f)?;
        order_options(f, self.direction, self.nulls)
    }
}

fn order_options(f: &mut Formatter<'_>, direction: Option<Direction>, nulls: Option<NullsOrder>) -> Result {
    f.write_str(match direction {
        None => "",
        Some(Direction::Asc) => " ASC",
        Some(Direction::Desc) => " DESC",
    })?;
    f.write_str(match nulls {
        None => "",
        Some(NullsOrder::First) => " NULLS FIRST",
        Some(NullsOrder::Last) => " NULLS LAST",
    })
}
