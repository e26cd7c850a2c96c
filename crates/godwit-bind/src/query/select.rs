//! SELECT: its clauses in the order of their evaluation.
//!
//! ```text
//! text:  SELECT → FROM → WHERE → GROUP BY → HAVING → QUALIFY → ORDER BY
//! nodes: FROM ─▶ Filter ─▶ Aggregate ─▶ Filter (HAVING) ─▶ Window ─▶ Filter (QUALIFY) ─▶ Unnest ─▶ Project ─▶ DISTINCT ─▶ Sort
//! ```
//!
//! All clauses are first bound against the columns of FROM; calls of aggregates and window functions are collected, and
//! columns stand for them in the expressions. If the SELECT turns out to be grouped, `group.rs` then replaces each key
//! by its column, and rejects columns that aren't keys.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Aggregate, ColumnId, ColumnSet, Comparison, Expr, Node, NodeId, Project, SortKey, Window};
use godwit_syntax::ast;
use godwit_types::SqlType;

use super::group::Grouping;
use super::items::{Item, ItemValue};
use super::order;
use super::source::Source;
use crate::binder::{Clause, Collected, ExprContext};
use crate::expr::Collation;
use crate::scope::Scope;
use crate::{Binder, BoundQuery};

/// The values of a SELECT's clauses, before nodes are made from them.
pub(super) struct Clauses {
    /// The SELECT list, with names.
    pub values: Vec<(Arc<str>, Expr)>,
    pub having: Option<Expr>,
    pub qualify: Option<Expr>,
    pub distinct_on: Option<Vec<Expr>>,
    pub order: Vec<SortKey>,
    pub collected: Collected,
}

/// Gives columns their new ids.
pub(super) fn rename(columns: &mut [(Arc<str>, ColumnId)], renamed: &HashMap<ColumnId, ColumnId>) {
    for (_, column) in columns {
        *column = renamed.get(column).copied().unwrap_or(*column);
    }
}

impl Binder {
    /// Binds a SELECT, with the ORDER BY of its query.
    pub(super) fn select(
        &mut self,
        select: &ast::Select,
        order: Option<&ast::OrderBy>,
        outer: &Scope<'_>,
    ) -> Result<BoundQuery> {
        let source = self.from(&select.from, outer)?;
        let source = self.sampled(source, select.sample.as_ref())?;
        self.select_of(source, select, order, outer)
    }

    /// Binds the clauses of a SELECT except FROM, over given rows.
    pub(super) fn select_of(
        &mut self,
        source: Source,
        select: &ast::Select,
        order: Option<&ast::OrderBy>,
        outer: &Scope<'_>,
    ) -> Result<BoundQuery> {
        let mut node = source.node;
        let mut scope = source.into_scope(outer);
        let mut items = self.items(&select.projection, &scope)?;
        if let Some(filter) = &select.filter {
            scope.aliases = self.aliases_in(filter, &mut items, &scope, Clause::Where)?;
            let mut collected = Collected::default();
            let mut context = ExprContext {
                scope: &scope,
                clause: Clause::Where,
                collected: &mut collected,
                windows: &select.windows,
            };
            let condition = self.condition(filter, &mut context)?;
            node = self.filtered(node, Some(condition));
            scope.aliases.clear();
        }
        let keys = match &select.group_by {
            Some(ast::GroupBy::Elements { distinct, elements }) => {
                Some(self.group_elements(elements, *distinct, &mut items, &scope)?)
            }
            Some(ast::GroupBy::All(_)) | None => None,
        };
        let mut clauses = self.clauses(select, &items, order, &mut scope)?;
        let collected = &clauses.collected;
        let is_grouped = select.group_by.is_some()
            || clauses.having.is_some()
            || !collected.aggregates.is_empty()
            || !collected.groupings.is_empty();
        if is_grouped {
            let keys = match keys {
                Some(keys) => keys,
                None => Grouping::of_all(self, &clauses, matches!(select.group_by, Some(ast::GroupBy::All(_))))?,
            };
            node = self.grouped(node, keys, &mut clauses)?;
        }
        node = self.filtered(node, clauses.having.take());
        if !clauses.collected.windows.is_empty() {
            let calls = std::mem::take(&mut clauses.collected.windows);
            node = self.plan.add(Node::Window(Window { input: node, calls }));
        }
        node = self.filtered(node, clauses.qualify.take());
        node = self.unnested_rows(node, std::mem::take(&mut clauses.collected.unnested));
        self.projected(node, clauses, matches!(select.distinct, Some(ast::Distinct::Rows)), select.span)
    }

    /// Binds SELECT, HAVING, QUALIFY, DISTINCT ON and ORDER BY.
    fn clauses(
        &mut self,
        select: &ast::Select,
        items: &[Item<'_>],
        order: Option<&ast::OrderBy>,
        scope: &mut Scope<'_>,
    ) -> Result<Clauses> {
        let mut collected = Collected::default();
        let mut values: Vec<(Arc<str>, Expr)> = Vec::with_capacity(items.len());
        for item in items {
            if let ItemValue::Expr(expr) = &item.value
                && let Some(call) = self.as_unnest(expr)
            {
                let clause = Clause::Select;
                let (collected, windows) = (&mut collected, &select.windows[..]);
                let mut context = ExprContext { scope, clause, collected, windows };
                values.extend(self.unnested_columns(call, item.name.clone(), &mut context)?);
                continue;
            }
            if let ItemValue::Expr(ast::Expr { kind: ast::ExprKind::AllFields(operand), .. }) = &item.value {
                let (clause, windows) = (Clause::Select, &select.windows[..]);
                let mut context = ExprContext { scope, clause, collected: &mut collected, windows };
                values.extend(self.all_fields(operand, &mut context)?);
                continue;
            }
            let value = self.item(item, scope, Clause::Select, &mut collected, &select.windows)?;
            if item.is_alias {
                scope.aliases.push((item.name.clone(), value.clone()));
            }
            values.push((item.name.clone(), value));
        }
        let scope = &*scope;
        let mut condition = |binder: &mut Self, expr: &Option<ast::Expr>, clause| {
            let collected = &mut collected;
            let mut context = ExprContext { scope, clause, collected, windows: &select.windows };
            expr.as_ref().map(|expr| binder.condition(expr, &mut context)).transpose()
        };
        let having = condition(self, &select.having, Clause::Having)?;
        let qualify = condition(self, &select.qualify, Clause::Qualify)?;
        let mut key = |binder: &mut Self, expr: &ast::Expr, clause| match selected(expr, &values)? {
            Some(value) => Ok(value),
            None => {
                let collected = &mut collected;
                binder.settled(expr, &mut ExprContext { scope, clause, collected, windows: &select.windows })
            }
        };
        let distinct_on = match &select.distinct {
            Some(ast::Distinct::On(exprs)) => {
                let mut key = |expr: &ast::Expr| {
                    let (expr, collation) = Collation::split(expr)?;
                    let value = key(self, expr, Clause::DistinctOn)?;
                    self.key_of(value, collation)
                };
                Some(exprs.iter().map(&mut key).collect::<Result<Vec<_>>>()?)
            }
            Some(ast::Distinct::Rows) | None => None,
        };
        let order = match order {
            Some(ast::OrderBy::Exprs(exprs)) => {
                let key = |by: &ast::OrderByExpr| {
                    let (expr, collation) = Collation::split(&by.expr)?;
                    let value = key(self, expr, Clause::OrderBy)?;
                    let value = self.key_of(value, collation)?;
                    Ok(self.ordered(value, by.direction, by.nulls))
                };
                exprs.iter().map(key).collect::<Result<Vec<_>>>()?
            }
            Some(ast::OrderBy::All { direction, nulls, .. }) => {
                let key = |(_, value): &(Arc<str>, Expr)| {
                    let value = self.key_of(value.clone(), None)?;
                    Ok(self.ordered(value, *direction, *nulls))
                };
                values.iter().map(key).collect::<Result<_>>()?
            }
            None => Vec::new(),
        };
        Ok(Clauses { values, having, qualify, distinct_on, order, collected })
    }

    /// Returns the value of an item of the SELECT list.
    pub(crate) fn item(
        &mut self,
        item: &Item<'_>,
        scope: &Scope<'_>,
        clause: Clause,
        collected: &mut Collected,
        windows: &[ast::NamedWindow],
    ) -> Result<Expr> {
        match &item.value {
            ItemValue::Column(column) => Ok(self.column(*column, scope).at(item.span)),
            ItemValue::Bound(value) => Ok(value.clone()),
            ItemValue::Expr(expr) => self.expr(expr, &mut ExprContext { scope, clause, collected, windows }),
            ItemValue::Each(expr, column) => {
                let scope = Scope { selected: Some(*column), ..scope.copied() };
                self.expr(expr, &mut ExprContext { scope: &scope, clause, collected, windows })
            }
        }
    }

    /// Binds an item that a clause before SELECT uses. SELECT then takes the same value.
    pub(super) fn item_ahead(&mut self, item: &mut Item<'_>, scope: &Scope<'_>, clause: Clause) -> Result<Expr> {
        let value = self.item(item, scope, clause, &mut Collected::default(), &[])?;
        item.value = ItemValue::Bound(value.clone());
        Ok(value)
    }

    /// Binds the aliases of SELECT that an earlier clause uses, if no column of FROM has the name.
    fn aliases_in(
        &mut self,
        expr: &ast::Expr,
        items: &mut [Item<'_>],
        scope: &Scope<'_>,
        clause: Clause,
    ) -> Result<Vec<(Arc<str>, Expr)>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        super::items::for_each_part(expr, &mut |part| {
            if let ast::ExprKind::Column(path) = &part.kind
                && let [name] = &path[..]
                && !scope.has_column(name)
            {
                names.push(name.text.clone());
            }
        });
        let mut aliases = Vec::new();
        for item in items.iter_mut().filter(|item| item.is_alias) {
            if names.iter().any(|name| name.eq_ignore_ascii_case(&item.name)) {
                aliases.push((item.name.clone(), self.item_ahead(item, scope, clause)?));
            }
        }
        Ok(aliases)
    }

    /// Adds the aggregation of a grouped SELECT, and rewrites its clauses over the groups.
    fn grouped(&mut self, input: NodeId, mut grouping: Grouping, clauses: &mut Clauses) -> Result<NodeId> {
        grouping.settle(self, input);
        grouping.add_stand_ins(self, &mut clauses.collected.aggregates)?;
        let groupings = std::mem::take(&mut clauses.collected.groupings);
        let tested = groupings.into_iter().map(|(column, keys)| Ok((column, grouping.tested(self, &keys)?)));
        let tested = tested.collect::<Result<Vec<_>>>()?;
        let mut above = |expr: Expr| {
            let value_of = |column| tested.iter().find(|(known, _)| *known == column).map(|(_, value)| value.clone());
            grouping.above(self, expr.substitute(&value_of))
        };
        for (_, value) in &mut clauses.values {
            *value = above(value.clone())?;
        }
        for value in clauses.having.iter_mut().chain(&mut clauses.qualify) {
            *value = above(value.clone())?;
        }
        for value in clauses.distinct_on.iter_mut().flatten() {
            *value = above(value.clone())?;
        }
        for key in &mut clauses.order {
            key.expr = above(key.expr.clone())?;
        }
        for (_, list) in &mut clauses.collected.unnested {
            *list = above(list.clone())?;
        }
        for (_, call) in &mut clauses.collected.windows {
            let mut failed = None;
            *call = call.clone().map_exprs(&mut |expr| {
                above(expr).unwrap_or_else(|error| {
                    failed.get_or_insert(error);
                    Expr::boolean(false)
                })
            });
            if let Some(error) = failed {
                return Err(error);
            }
        }
        let aggregates = std::mem::take(&mut clauses.collected.aggregates);
        let Grouping { keys, sets, grouping_id, .. } = grouping;
        Ok(self.plan.add(Node::Aggregate(Aggregate { input, keys, sets, grouping_id, aggregates })))
    }

    /// Adds the projection of SELECT, DISTINCT and the order.
    fn projected(&mut self, input: NodeId, clauses: Clauses, distinct: bool, span: Span) -> Result<BoundQuery> {
        let Clauses { mut values, distinct_on, order, .. } = clauses;
        if distinct || distinct_on.is_some() {
            for (_, value) in &mut values {
                *value = self.settle(std::mem::replace(value, Expr::boolean(false)));
            }
        }
        let mut made = MadeColumns { input: self.plan.output_set(input), columns: Vec::new() };
        let mut columns: Vec<(Arc<str>, ColumnId)> = Vec::new();
        for (name, value) in values {
            let column = if value.ty == SqlType::Unknown {
                let column = self.plan.add_column(&*name, SqlType::Unknown, value.nullable);
                self.untyped.insert(column, value);
                column
            } else {
                self.projected_column(&name, value, &mut made, false)
            };
            columns.push((name, column));
        }
        let selected = made.columns.len();
        let mut keys = Vec::new();
        for key in order {
            // Ordering by a constant has no effect.
            if key.expr.is_constant() {
                continue;
            }
            if distinct && let Some(expr) = self.key_over(&made, &key.expr)? {
                keys.push(SortKey { expr, ..key });
                continue;
            }
            let column = self.projected_column("key", key.expr.clone(), &mut made, true);
            if distinct && made.columns.len() > selected {
                let message = "with SELECT DISTINCT, ORDER BY can use only what is in the SELECT list";
                let error = Error::user(message).with_code(SqlState::INVALID_COLUMN_REFERENCE);
                return Err(error.at_span(key.expr.span).at_span(span));
            }
            let expr = Expr::new(godwit_plan::ExprKind::Column(column), key.expr.ty, key.expr.nullable);
            keys.push(SortKey { expr, ..key });
        }
        let on: Option<Vec<Expr>> = distinct_on.map(|exprs| {
            let column = |expr: Expr| {
                let (ty, nullable) = (expr.ty.clone(), expr.nullable);
                let column = self.projected_column("key", expr, &mut made, true);
                Expr::new(godwit_plan::ExprKind::Column(column), ty, nullable)
            };
            exprs.into_iter().map(column).collect()
        });
        let made = made.columns;
        let mut node = self.plan.add(Node::Project(Project { input, columns: made.clone() }));
        if distinct {
            let values = made.into_iter().map(|(column, value)| {
                let (ty, nullable) = (value.ty, value.nullable);
                Expr::new(godwit_plan::ExprKind::Column(column), ty, nullable)
            });
            let (rows, renamed) = self.distinct_rows(node, values.collect())?;
            node = rows;
            rename(&mut columns, &renamed);
            keys = keys.into_iter().map(|key| SortKey { expr: key.expr.rename(&renamed), ..key }).collect();
        }
        if let Some(on) = on {
            let (numbered, number) = self.row_numbers(node, on, keys.clone(), span)?;
            let number = self.column(number, &Scope::default());
            let first = Expr::compare(Comparison::Equal, number.clone(), Expr::bigint(1).cast_to(&number.ty));
            node = self.filtered(numbered, Some(first));
        }
        if !keys.is_empty() {
            node = self.plan.add(Node::Sort { input: node, keys });
        }
        Ok(BoundQuery { node, columns })
    }

    /// Removes duplicates among rows with these columns. Texts with a collation are compared in it: of equal ones, any is
    /// kept, under a new column.
    pub(super) fn distinct_rows(
        &mut self,
        input: NodeId,
        values: Vec<Expr>,
    ) -> Result<(NodeId, HashMap<ColumnId, ColumnId>)> {
        let (mut keys, mut aggregates, mut renamed) = (Vec::new(), Vec::new(), HashMap::new());
        for value in values {
            let column = value.as_column().expect("rows consist of columns");
            let key = self.key_of(value.clone(), None)?;
            if key == value {
                keys.push((column, key));
                continue;
            }
            keys.push((self.plan.add_column("key", key.ty.clone(), key.nullable), key));
            renamed.insert(column, self.add_any_value(value, &mut aggregates)?);
        }
        let distinct = Aggregate { input, keys, sets: None, grouping_id: None, aggregates };
        Ok((self.plan.add(Node::Aggregate(distinct)), renamed))
    }

    /// Returns a key of the order as what a selected value is compared by, if it is that.
    fn key_over(&mut self, made: &MadeColumns, key: &Expr) -> Result<Option<Expr>> {
        for (column, value) in &made.columns {
            if value != key && self.key_of(value.clone(), None)? == *key {
                let (ty, nullable) = (value.ty.clone(), value.nullable);
                let selected = Expr::new(godwit_plan::ExprKind::Column(*column), ty, nullable);
                return self.key_of(selected, None).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns the column of a value in a projection. A column of the input keeps its id; one of an outer query
    /// doesn't: below an outer join, the subquery's column may be NULL where the outer one isn't. With `reuse`, an
    /// equal value that already exists is taken.
    fn projected_column(&mut self, name: &str, value: Expr, made: &mut MadeColumns, reuse: bool) -> ColumnId {
        let own = value.as_column().filter(|column| made.input.contains(*column));
        let known = made.columns.iter().find(|(column, known)| own == Some(*column) || reuse && *known == value);
        if let Some((column, _)) = known {
            return *column;
        }
        let column = match own {
            Some(column) => column,
            None => self.add_column_of(name, &value),
        };
        made.columns.push((column, value));
        column
    }
}

/// The columns of a projection under construction.
struct MadeColumns {
    /// The columns of its input.
    input: ColumnSet,
    columns: Vec<(ColumnId, Expr)>,
}

/// Returns the item of the SELECT list that a key refers to by position or name.
fn selected(expr: &ast::Expr, values: &[(Arc<str>, Expr)]) -> Result<Option<Expr>> {
    if let ast::ExprKind::Column(path) = &expr.kind
        && let [name] = &path[..]
    {
        let mut named = values.iter().filter(|(known, _)| name.is(known));
        let Some((_, first)) = named.next() else { return Ok(None) };
        if named.any(|(_, other)| other != first) {
            let error = Error::user(format!("several columns of the SELECT list are named {}", name.text));
            return Err(error.with_code(SqlState::AMBIGUOUS_COLUMN).at_span(expr.span));
        }
        return Ok(Some(first.clone()));
    }
    Ok(order::position(expr, values.len())?.map(|at| values[at].1.clone()))
}
