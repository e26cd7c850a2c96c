//! GROUP BY, and what is allowed above an aggregation.
//!
//! A key that is a column keeps its id, so uses of the column use the key. Other keys, and all keys of grouping sets,
//! whose values may become NULL, get new columns, and each expression that is equal to a key is replaced by the key's
//! column. The remaining expressions may use no other column of the input, except those that are functionally dependent
//! on the keys because these contain a key of their table. Source: PostgreSQL's documentation, "The GROUP BY and HAVING
//! Clauses".

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{AggregateCall, Arithmetic, ColumnId, ColumnSet, Expr, ExprKind, NodeId};
use godwit_types::SqlType;

use super::select::Clauses;
use crate::Binder;
use crate::expr::Collation;

/// The grouping of a SELECT.
#[derive(Default)]
pub(super) struct Grouping {
    /// The keys, each once. [`Self::settle`] assigns their ids.
    pub keys: Vec<(ColumnId, Expr)>,
    pub sets: Option<Vec<Vec<usize>>>,
    pub grouping_id: Option<ColumnId>,
    /// Keys before they have ids.
    pub exprs: Vec<Expr>,
    /// Texts with a collation, whose key is what they are compared by. One of each group stands for them.
    collated: Vec<(Expr, usize)>,
    /// What stands for them.
    stand_ins: Vec<(Expr, Expr)>,
    /// Columns of the input, hidden above the aggregation.
    input: ColumnSet,
}

impl Grouping {
    /// Returns the keys of GROUP BY ALL: items of the SELECT list that depend on the row and contain no aggregate. If
    /// there are none, or if `is_all` is false, there is one group, as in DuckDB: `SELECT now(), count(*) … GROUP BY
    /// ALL` returns a row for an empty input.
    pub fn of_all(binder: &mut Binder, clauses: &Clauses, is_all: bool) -> Result<Self> {
        let mut grouping = Self::default();
        let collected: ColumnSet = clauses.collected.aggregates.iter().map(|&(column, _)| column).collect();
        let windows: ColumnSet = clauses.collected.windows.iter().map(|&(column, _)| column).collect();
        for (_, value) in clauses.values.iter().filter(|_| is_all) {
            let used = binder.used_columns(&[value]);
            if used.is_disjoint(&collected) && used.is_disjoint(&windows) && !used.is_empty() {
                grouping.key(binder, value.clone(), None)?;
            }
        }
        Ok(grouping)
    }

    /// Returns the position of the key for a value, compared in the collation that was written or in its own; adds it if
    /// it is new.
    pub fn key(&mut self, binder: &mut Binder, value: Expr, collation: Option<Collation>) -> Result<usize> {
        let expr = binder.key_of(value.clone(), collation)?;
        let is_collated = expr != value;
        let at = self.exprs.iter().position(|known| *known == expr).unwrap_or_else(|| {
            self.exprs.push(expr);
            self.exprs.len() - 1
        });
        if is_collated && !self.collated.iter().any(|(known, _)| *known == value) {
            self.collated.push((value, at));
        }
        Ok(at)
    }

    /// Adds the aggregates for texts that have a collation. Keys must have ids.
    pub fn add_stand_ins(
        &mut self,
        binder: &mut Binder,
        aggregates: &mut Vec<(ColumnId, AggregateCall)>,
    ) -> Result<()> {
        for (value, at) in self.collated.clone() {
            let scope = crate::scope::Scope::default();
            let column = binder.add_any_value(value.clone(), aggregates)?;
            let one = binder.column(column, &scope);
            let stand_in = match &self.sets {
                None => one,
                // In rows of sets without the key, it is NULL.
                Some(_) => {
                    let is_there =
                        Expr { nullable: true, ..binder.column(self.keys[at].0, &scope) }.is_null().negated();
                    let ty = one.ty.clone();
                    Expr::new(ExprKind::Case { branches: vec![(is_there, one)], otherwise: None }, ty, true)
                }
            };
            self.stand_ins.push((value, stand_in));
        }
        Ok(())
    }

    /// Assigns ids to the keys.
    pub fn settle(&mut self, binder: &mut Binder, input: NodeId) {
        self.input = binder.plan.output_set(input);
        let has_sets = self.sets.is_some();
        for expr in std::mem::take(&mut self.exprs) {
            let id = match expr.as_column() {
                Some(column) if !has_sets && self.input.contains(column) => column,
                _ => {
                    let name = expr.as_column().map(|column| binder.plan.column(column).name.clone());
                    let name = name.unwrap_or_else(|| "key".to_owned());
                    let nullable = expr.nullable || has_sets;
                    binder.add_column_of(&name, &Expr { nullable, ..expr.clone() })
                }
            };
            self.keys.push((id, expr));
        }
        if has_sets {
            self.grouping_id = Some(binder.plan.add_column("grouping_id", SqlType::BigInt, false));
        }
    }

    /// Rewrites an expression of the input as one over the groups.
    pub fn above(&mut self, binder: &mut Binder, expr: Expr) -> Result<Expr> {
        let replaced = self.replaced(binder, expr);
        self.check(binder, &replaced)?;
        Ok(replaced)
    }

    /// Returns the value of GROUPING(keys): a bit for each key, 1 if it isn't in the row's grouping set.
    pub fn tested(&self, binder: &Binder, keys: &[Expr]) -> Result<Expr> {
        let Some(id) = self.grouping_id else {
            for key in keys {
                self.position(key)?;
            }
            return Ok(Expr::bigint(0));
        };
        let id = binder.column(id, &crate::scope::Scope::default());
        let arithmetic = |op, a: Expr, b: i64| {
            Expr::new(ExprKind::Arithmetic(op, Box::new(a), Box::new(Expr::bigint(b))), SqlType::BigInt, false)
        };
        let mut sum: Option<Expr> = None;
        for (at, key) in keys.iter().enumerate() {
            let bit = self.keys.len() - 1 - self.position(key)?;
            let tested = arithmetic(Arithmetic::Modulo, arithmetic(Arithmetic::Divide, id.clone(), 1 << bit), 2);
            let term = arithmetic(Arithmetic::Multiply, tested, 1 << (keys.len() - 1 - at));
            sum = Some(match sum {
                None => term,
                Some(sum) => {
                    let kind = ExprKind::Arithmetic(Arithmetic::Add, Box::new(sum), Box::new(term));
                    Expr::new(kind, SqlType::BigInt, false)
                }
            });
        }
        Ok(sum.unwrap_or_else(|| Expr::bigint(0)))
    }

    fn position(&self, key: &Expr) -> Result<usize> {
        let collated = || self.collated.iter().find(|(value, _)| value == key).map(|&(_, at)| at);
        self.keys.iter().position(|(_, known)| known == key).or_else(collated).ok_or_else(|| {
            let error = Error::user("the arguments of GROUPING are keys of GROUP BY, this is none");
            error.with_code(SqlState::GROUPING_ERROR).at_span(key.span)
        })
    }

    /// Replaces parts of an expression that are equal to a key by the key's column, from the top down.
    fn replaced(&self, binder: &mut Binder, expr: Expr) -> Expr {
        if let Some((column, _)) = self.keys.iter().find(|(_, key)| *key == expr) {
            let nullable = expr.nullable || self.sets.is_some();
            return Expr::new(ExprKind::Column(*column), expr.ty, nullable).at(expr.span);
        }
        if let Some((_, stand_in)) = self.stand_ins.iter().find(|(value, _)| *value == expr) {
            return stand_in.clone().at(expr.span);
        }
        let mut expr = expr.map_children(&mut |part| self.replaced(binder, part));
        if let ExprKind::Subquery(subquery) = &mut expr.kind {
            subquery.plan = self.replaced_in_plan(binder, subquery.plan);
        }
        expr
    }

    /// Does the same in the plan of a correlated subquery.
    fn replaced_in_plan(&self, binder: &mut Binder, node: NodeId) -> NodeId {
        if binder.plan.free_columns(node).is_disjoint(&self.input) {
            return node;
        }
        let node = binder.plan.node(node).clone();
        let node = node.map_inputs(&mut |input| self.replaced_in_plan(binder, input));
        let node = node.map_exprs(&mut |expr| self.replaced(binder, expr));
        binder.plan.add(node)
    }

    /// Fails if an expression above the aggregation uses a column of the input that the keys don't determine.
    fn check(&mut self, binder: &Binder, expr: &Expr) -> Result<()> {
        let mut hidden = None;
        expr.for_each(&mut |part| {
            let used = match &part.kind {
                ExprKind::Column(column) => [*column].into_iter().collect(),
                ExprKind::Subquery(subquery) => binder.plan.free_columns(subquery.plan),
                _ => return,
            };
            for column in used.intersection(&self.input).iter() {
                if !self.keys.iter().any(|(key, _)| *key == column) && !self.adds(binder, column) {
                    hidden.get_or_insert((column, part.span));
                }
            }
        });
        let Some((column, span)) = hidden else { return Ok(()) };
        let name = &binder.plan.column(column).name;
        let message = format!("column {name} must be in GROUP BY or inside of an aggregate");
        let error = Error::user(message).with_code(SqlState::GROUPING_ERROR).at_span(span).at_span(expr.span);
        Err(error.with_hint(format!("any_value({name}) takes one of the values")))
    }

    /// Makes a column a key if the keys determine it because they contain a key of its table.
    fn adds(&mut self, binder: &Binder, column: ColumnId) -> bool {
        let grouped: ColumnSet = self.keys.iter().filter_map(|(_, key)| key.as_column()).collect();
        let decides = |(key, all): &(ColumnSet, ColumnSet)| all.contains(column) && key.is_subset(&grouped);
        let is_decided = self.sets.is_none() && binder.keys.iter().any(decides);
        if is_decided {
            let info = binder.plan.column(column);
            self.keys.push((column, Expr::new(ExprKind::Column(column), info.ty.clone(), info.nullable)));
        }
        is_decided
    }
}
