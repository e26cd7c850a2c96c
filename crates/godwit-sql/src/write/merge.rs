//! `INSERT … ON CONFLICT`, `MERGE`: the new rows, left-joined with the table that they go to.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion_expr::LogicalPlan;
use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{
    self, BinaryOperator, CaseWhen, ConflictTarget, Expr, Join, JoinConstraint, JoinOperator, MergeAction,
    MergeClauseKind, MergeInsertKind, OnConflict, OnConflictAction, OnInsert, SelectItem, TableWithJoins, VisitMut,
    VisitorMut,
};
use godwit_common::{Error, Result};

use super::{IS_DELETED, PLACE, ROWS, TARGET, Target, WriteKind, expression, named, quoted, select, table, typed};
use crate::binder::PlanSource;
use crate::names::{WrittenName, simple_name};
use crate::table::ROW_ID;
use crate::{ParsedStatement, Planner, Statement};

/// What ON CONFLICT calls the new rows.
const EXCLUDED: &str = "excluded";

/// Column that a source has to tell its rows from those that an outer join makes up.
const IS_THERE: &str = "\u{1}is there";

/// A WHEN clause of MERGE.
struct Clause {
    /// When it is the one, unless an earlier one is.
    condition: Expr,
    is_deletion: bool,
    /// By column of the table.
    values: Vec<Expr>,
}

impl Planner {
    /// `INSERT … ON CONFLICT` with `rows`, which have the columns of the table.
    pub(super) fn upsert(
        &self,
        target: &Target,
        rows: LogicalPlan,
        on: &OnInsert,
        returning: Option<&[SelectItem]>,
        parsed: &ParsedStatement,
    ) -> Result<Statement> {
        let OnInsert::OnConflict(on) = on else {
            return Err(Error::unsupported("ON DUPLICATE KEY").with_hint("use ON CONFLICT (column) DO UPDATE SET ..."));
        };
        let keys = conflict_keys(target, on)?;
        let excluded = quoted(EXCLUDED);
        let new = |column: &str| Expr::CompoundIdentifier(vec![excluded.clone(), quoted(column)]);
        let is_new = Expr::IsNull(Box::new(target.column(ROW_ID)));
        let matches = keys.iter().map(|key| all(key.iter().map(|column| equal(new(column), target.column(column)))));
        let matches = matches.reduce(or).expect("there is a key");
        let fields = target.schema().fields();
        let names = || fields.iter().map(|field| field.name().as_str());
        let (kind, values, condition) = match &on.action {
            OnConflictAction::DoNothing => {
                // Of new rows with the same key only the first is taken.
                let firsts = keys.iter().map(|key| first_of_key(key)).collect::<Result<Vec<_>>>()?;
                let condition = firsts.into_iter().fold(is_new, and);
                (WriteKind::Upsert, names().map(new).collect::<Vec<_>>(), Some(condition))
            }
            OnConflictAction::DoUpdate(update) => {
                let mut assigned = target.assigned(&update.assignments)?;
                assigned.iter_mut().flatten().for_each(|value| qualify(target, value));
                let value = |(name, assigned): (&str, Option<Expr>)| {
                    let updated = assigned.unwrap_or_else(|| target.column(name));
                    case(vec![(is_new.clone(), new(name))], Some(updated))
                };
                let condition = update.selection.clone().map(|mut condition| {
                    qualify(target, &mut condition);
                    or(is_new.clone(), condition)
                });
                (WriteKind::Upsert, names().zip(assigned).map(value).collect(), condition)
            }
        };
        let mut items = vec![named(target.column(ROW_ID), ROW_ID)];
        let values = values.into_iter().enumerate();
        items.extend(values.map(|(at, value)| named(value, &format!("{PLACE}{at}"))));
        let rows = self.with_stored(target, WriteKind::Insert, rows, parsed)?;
        let source = self.with_virtual(target, Arc::new(PlanSource::new(rows)), parsed)?;
        let from = left_join(table(ROWS, &excluded)?, target, matches)?;
        // QUALIFY is not a condition of WHERE: window functions come after it.
        let mut query = select(items, vec![from], None)?;
        if let ast::SetExpr::Select(select) = query.body.as_mut() {
            match on.action {
                OnConflictAction::DoNothing => select.qualify = condition,
                OnConflictAction::DoUpdate(_) => select.selection = condition,
            }
        }
        let sources = vec![(ROWS.to_owned(), source), self.with_row_ids(target, parsed)?];
        let (bound, _) = self.bound_with(query, sources, parsed)?;
        let rows = typed(target, kind, bound, parsed)?;
        self.write(target, kind, rows, returning, parsed)
    }

    pub(crate) fn merge(&self, merge: &ast::Merge, parsed: &ParsedStatement) -> Result<Statement> {
        if merge.output.is_some() {
            return Err(Error::unsupported("MERGE with OUTPUT"));
        }
        let target = self.target_of(&merge.table)?;
        let in_source = merge.clauses.iter().any(|clause| clause.clause_kind == MergeClauseKind::NotMatchedBySource);
        let clauses = merge.clauses.iter().map(|clause| merge_clause(&target, clause, in_source));
        let clauses = clauses.collect::<Result<Vec<_>>>()?;
        let conditions = || clauses.iter().map(|clause| clause.condition.clone());
        let mut items = vec![named(target.column(ROW_ID), ROW_ID)];
        let deletions = clauses
            .iter()
            .map(|clause| (clause.condition.clone(), Expr::value(ast::Value::Boolean(clause.is_deletion))));
        items.push(named(case(deletions.collect(), None), IS_DELETED));
        for at in 0..target.schema().fields().len() {
            let values = clauses.iter().map(|clause| (clause.condition.clone(), clause.values[at].clone()));
            items.push(named(case(values.collect(), None), &format!("{PLACE}{at}")));
        }
        let mut source = TableWithJoins { relation: merge.source.clone(), joins: Vec::new() };
        if in_source {
            source = with_mark(source)?;
        }
        let mut from = left_join(source, &target, (*merge.on).clone())?;
        if in_source && let Some(join) = from.joins.last_mut() {
            join.join_operator = JoinOperator::FullOuter(JoinConstraint::On((*merge.on).clone()));
        }
        let query = select(items, vec![from], conditions().reduce(or))?;
        let (bound, _) = self.bound_with(query, vec![self.with_row_ids(&target, parsed)?], parsed)?;
        let rows = typed(&target, WriteKind::Merge, bound, parsed)?;
        self.write(&target, WriteKind::Merge, rows, None, parsed)
    }
}

/// A WHEN clause as a condition and what then becomes of the row.
fn merge_clause(target: &Target, clause: &ast::MergeClause, in_source: bool) -> Result<Clause> {
    let has_target = Expr::IsNotNull(Box::new(target.column(ROW_ID)));
    let has_no_target = Expr::IsNull(Box::new(target.column(ROW_ID)));
    let source = || Box::new(Expr::Identifier(quoted(IS_THERE)));
    let mut condition = match clause.clause_kind {
        MergeClauseKind::Matched if in_source => and(has_target, Expr::IsNotNull(source())),
        MergeClauseKind::Matched => has_target,
        MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => has_no_target,
        MergeClauseKind::NotMatchedBySource => and(has_target, Expr::IsNull(source())),
    };
    if let Some(predicate) = &clause.predicate {
        condition = and(condition, predicate.clone());
    }
    let fields = target.schema().fields();
    let old = || fields.iter().map(|field| target.column(field.name())).collect::<Vec<_>>();
    let (is_deletion, values) = match &clause.action {
        MergeAction::Delete { .. } => (true, old()),
        MergeAction::Update(update) => {
            if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                return Err(Error::unsupported("MERGE with WHERE behind SET"));
            }
            let assigned = target.assigned(&update.assignments)?;
            let values = old().into_iter().zip(assigned).map(|(old, assigned)| assigned.unwrap_or(old));
            (false, values.collect())
        }
        MergeAction::Insert(insert) => {
            let MergeInsertKind::Values(values) = &insert.kind else {
                return Err(Error::unsupported("MERGE with INSERT ROW"));
            };
            let [row] = &values.rows[..] else { return Err(Error::unsupported("MERGE with several rows to insert")) };
            let places: Vec<usize> = match &insert.columns[..] {
                [] => (0..fields.len()).filter(|&at| target.is_given(at)).collect(),
                columns => {
                    columns.iter().map(|name| target.given_position(&simple_name(name)?)).collect::<Result<_>>()?
                }
            };
            if places.len() != row.content.len() {
                let message = format!("{} columns are named, {} values given", places.len(), row.content.len());
                return Err(Error::user(message));
            }
            let mut new = (0..fields.len()).map(|at| target.default_of(at)).collect::<Result<Vec<_>>>()?;
            for (value, place) in row.content.iter().zip(places) {
                if !super::is_default(value) {
                    new[place] = value.clone();
                }
            }
            (false, new)
        }
    };
    Ok(Clause { condition, is_deletion, values })
}

/// The keys in which new rows may conflict with rows that are there.
fn conflict_keys(target: &Target, on: &OnConflict) -> Result<Vec<Vec<String>>> {
    let keys = &target.rules().keys;
    let missing = |what: String| Error::user(what).with_hint("ON CONFLICT needs a PRIMARY KEY or UNIQUE constraint");
    let of_all = || keys.iter().map(|key| key.columns.clone()).collect::<Vec<_>>();
    match &on.conflict_target {
        None if keys.is_empty() => Err(missing(format!("{} has no key", target.name))),
        None if keys.len() == 1 || matches!(on.action, OnConflictAction::DoNothing) => Ok(of_all()),
        None => {
            Err(Error::user(format!("{} has several keys", target.name)).with_hint("name one: ON CONFLICT (column)"))
        }
        Some(ConflictTarget::Columns(columns)) => {
            let mut wanted: Vec<String> = columns.iter().map(|column| column.value.to_lowercase()).collect();
            wanted.sort();
            let is_wanted = |key: &&crate::KeyRule| {
                let mut names: Vec<String> = key.columns.iter().map(|name| name.to_lowercase()).collect();
                names.sort();
                names == wanted
            };
            let key = keys.iter().find(is_wanted);
            let key = key.ok_or_else(|| missing(format!("{} has no key of {}", target.name, wanted.join(", "))))?;
            Ok(vec![key.columns.clone()])
        }
        Some(ConflictTarget::OnConstraint(name)) => {
            let name = simple_name(name)?;
            let key = keys.iter().find(|key| key.name.eq_ignore_ascii_case(&name));
            let key = key.ok_or_else(|| missing(format!("{} has no key named {name}", target.name)))?;
            Ok(vec![key.columns.clone()])
        }
    }
}

/// True for the first of the new rows with a key, and for keys with NULL, which are never the same.
fn first_of_key(columns: &[String]) -> Result<Expr> {
    let columns: Vec<String> = columns.iter().map(|name| format!("{EXCLUDED}.\"{name}\"")).collect();
    let nulls: String = columns.iter().map(|column| format!("{column} IS NULL OR ")).collect();
    expression(&format!("({nulls}row_number() OVER (PARTITION BY {}) = 1)", columns.join(", ")))
}

/// Says of which table the columns are that are named without one: of the target.
fn qualify(target: &Target, expr: &mut Expr) {
    struct Qualify<'a>(&'a Target);
    impl VisitorMut for Qualify<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Identifier(name) = expr
                && self.0.position(&name.value).is_ok()
            {
                *expr = Expr::CompoundIdentifier(vec![self.0.alias.clone(), name.clone()]);
            }
            ControlFlow::Continue(())
        }
    }
    let _: ControlFlow<()> = expr.visit(&mut Qualify(target));
}

/// `source LEFT JOIN target ON condition`.
fn left_join(mut source: TableWithJoins, target: &Target, condition: Expr) -> Result<TableWithJoins> {
    let relation = table(TARGET, &target.alias)?.relation;
    let join_operator = JoinOperator::LeftOuter(JoinConstraint::On(condition));
    source.joins.push(Join { relation, global: false, join_operator });
    Ok(source)
}

/// `(SELECT *, TRUE AS is there FROM source) AS alias`.
fn with_mark(source: TableWithJoins) -> Result<TableWithJoins> {
    let alias = match &source.relation {
        ast::TableFactor::Table { alias: Some(alias), .. } | ast::TableFactor::Derived { alias: Some(alias), .. } => {
            alias.name.clone()
        }
        ast::TableFactor::Table { name, .. } => quoted(WrittenName::of(name)?.last()),
        _ => return Err(Error::user("the source of MERGE needs a name").with_hint("USING (...) AS source")),
    };
    let items = vec![
        SelectItem::Wildcard(ast::WildcardAdditionalOptions::default()),
        named(Expr::value(ast::Value::Boolean(true)), IS_THERE),
    ];
    let subquery = select(items, vec![source], None)?;
    let mut marked = super::query("SELECT 1 FROM (SELECT 1) AS x")?;
    let ast::SetExpr::Select(outer) = marked.body.as_mut() else { unreachable!("it is a SELECT") };
    let mut from = outer.from.remove(0);
    if let ast::TableFactor::Derived { subquery: inner, alias: Some(given), .. } = &mut from.relation {
        *inner = subquery;
        given.name = alias;
    }
    Ok(from)
}

fn and(a: Expr, b: Expr) -> Expr {
    binary(a, BinaryOperator::And, b)
}

fn or(a: Expr, b: Expr) -> Expr {
    binary(a, BinaryOperator::Or, b)
}

fn equal(a: Expr, b: Expr) -> Expr {
    binary(a, BinaryOperator::Eq, b)
}

fn all(conditions: impl Iterator<Item = Expr>) -> Expr {
    conditions.reduce(and).expect("a key has columns")
}

fn binary(a: Expr, op: BinaryOperator, b: Expr) -> Expr {
    let nested = |expr| Box::new(Expr::Nested(Box::new(expr)));
    Expr::BinaryOp { left: nested(a), op, right: nested(b) }
}

/// `CASE WHEN … THEN … ELSE … END`.
fn case(branches: Vec<(Expr, Expr)>, otherwise: Option<Expr>) -> Expr {
    let conditions = branches.into_iter().map(|(condition, result)| CaseWhen { condition, result });
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: conditions.collect(),
        else_result: otherwise.map(Box::new),
    }
}
