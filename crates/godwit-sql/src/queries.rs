//! Queries by our own front end: parsed, bound and optimized as [`godwit_plan::Plan`]s, which go over the bridge to the
//! executor.

use std::sync::Arc;

use datafusion_expr::LogicalPlan;
use godwit_bind::{Binder, Environment};
use godwit_common::{Error, Named, Result, Span};
use godwit_optimize::{OptimizerSettings, optimize};
use godwit_syntax::ast::{
    self, CopyDirection, CopyPath, CopySource, Expr, ExprKind, Query, SetExpr, SetExprKind, Show, Statement,
    TableFactor, TableFactorKind, TableWithJoins,
};

use crate::environment::StatementNames;
use crate::parse::Syntax;
use crate::statement::Statement as Planned;
use crate::{CopyOption, ExplainOptions, ParsedStatement, Planner, bridge};

/// Who parses, binds and optimizes queries. Our own front end does all of it one day; until then both are here, and what one
/// of them gets wrong the other shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FrontEnd {
    /// The planner crates.
    #[default]
    PlannerCrates,
    /// Our own.
    Own,
}

impl Named for FrontEnd {
    const NAMES: &'static [(&'static str, Self)] = &[("planner_crates", Self::PlannerCrates), ("own", Self::Own)];
}

/// A statement that our own front end plans.
#[derive(Debug, Clone)]
pub(crate) enum OwnSyntax {
    /// A query, DESCRIBE, SUMMARIZE, SHOW.
    Query(Box<Query>),
    /// `COPY … TO`.
    Copy { query: Box<Query>, path: String, options: Vec<CopyOption> },
    /// EXPLAIN of a query.
    Explain { options: ExplainOptions, query: Box<Query> },
}

impl Planner {
    /// What names mean to the statements that our binder binds.
    pub(crate) fn statement_names(&self) -> Arc<StatementNames> {
        let (namespace, resolver) = (self.namespace().clone(), self.resolver.clone());
        Arc::new(StatementNames::new(namespace, resolver, self.functions.clone()))
    }

    /// Plans what our own front end has parsed.
    pub(crate) fn plan_own(&self, own: &OwnSyntax, parsed: &ParsedStatement) -> Result<Planned> {
        let planned = |query| self.planned_query(query).map_err(|error: Error| error.locate(&parsed.script));
        Ok(match own {
            OwnSyntax::Query(query) => {
                let (plan, column_names) = planned(query)?;
                Planned::Query { plan, column_names }
            }
            OwnSyntax::Copy { query, path, options } => {
                let (plan, column_names) = planned(query)?;
                Planned::Copy { plan, column_names, path: path.clone(), options: options.clone() }
            }
            OwnSyntax::Explain { options, query } => Planned::Explain { options: *options, plan: planned(query)?.0 },
        })
    }

    fn planned_query(&self, query: &Query) -> Result<(LogicalPlan, Vec<String>)> {
        let names = self.statement_names();
        let mut binder = Binder::new(names.clone());
        binder.query(query)?;
        let settings = OptimizerSettings { join_order: self.join_order, ..OptimizerSettings::default() };
        optimize(&mut binder.plan, names.functions(), &settings)?;
        bridge::to_logical_plan(&binder.plan)
    }
}

/// Parses a script; what isn't a query is left to the planner crates.
pub(crate) fn parse_script(sql: &str) -> Result<Vec<ParsedStatement>> {
    let script: Arc<str> = sql.into();
    let located = |error: Error| error.locate(sql);
    let mut statements = Vec::new();
    for parsed in godwit_syntax::parse_script(sql).map_err(located)? {
        let range = parsed.span.start as usize..parsed.span.end as usize;
        match syntax_of(parsed.statement).map_err(located)? {
            Some(own) => {
                let (syntax, depth) = (Syntax::Own(Box::new(own)), parsed.depth);
                statements.push(ParsedStatement { script: script.clone(), range, depth, syntax });
            }
            None => statements.extend(crate::parse::parse_script(&sql[range])?),
        }
    }
    Ok(statements)
}

/// The statement as one that our front end binds; `None` if the planner crates do.
fn syntax_of(statement: Statement) -> Result<Option<OwnSyntax>> {
    Ok(Some(match statement {
        Statement::Query(query) => OwnSyntax::Query(query),
        Statement::Describe(describe) => {
            let span = describe.span;
            OwnSyntax::Query(Box::new(query_of(SetExprKind::Describe(describe), span)))
        }
        Statement::Summarize(describe) => {
            let span = describe.span;
            OwnSyntax::Query(Box::new(query_of(SetExprKind::Summarize(describe), span)))
        }
        Statement::Show(show) if matches!(*show, Show::Tables { .. } | Show::Databases) => {
            OwnSyntax::Query(Box::new(query_of(SetExprKind::Show(show), Span::NONE)))
        }
        Statement::Explain(explain) => {
            let ast::Explain { analyze, options, statement } = *explain;
            let Statement::Query(query) = statement else {
                return Err(Error::unsupported("EXPLAIN of anything but a query"));
            };
            OwnSyntax::Explain { options: explain_options(analyze, &options)?, query }
        }
        Statement::Copy(copy) if copy.direction == CopyDirection::To => copy_to(*copy)?,
        _ => return Ok(None),
    }))
}

/// The query that a `CREATE VIEW` stores.
pub(crate) fn tree_of_view(statement: &str) -> Result<Arc<Query>> {
    let mut parsed = godwit_syntax::parse_script(statement).map_err(|error| error.locate(statement))?;
    match (parsed.pop().map(|parsed| parsed.statement), parsed.is_empty()) {
        (Some(Statement::CreateView(view)), true) => Ok(Arc::new(*view.query)),
        _ => Err(Error::user("expected CREATE VIEW")),
    }
}

fn explain_options(analyze: bool, options: &[ast::StatementOption]) -> Result<ExplainOptions> {
    let mut explain = ExplainOptions { analyze, json: false };
    for option in options {
        let value = option.text().map(|text| text.to_lowercase());
        match (&*option.name.text.to_lowercase(), value.as_deref()) {
            ("analyze", _) => explain.analyze = true,
            ("format", Some(format @ ("text" | "json"))) => explain.json = format == "json",
            ("format", _) => {
                return Err(Error::user("expected FORMAT text or FORMAT json").at_span(option.name.span));
            }
            _ => return Err(Error::user("expected ANALYZE or FORMAT").at_span(option.name.span)),
        }
    }
    Ok(explain)
}

fn copy_to(copy: ast::Copy) -> Result<OwnSyntax> {
    let CopyPath::File(path, _) = copy.path else {
        return Err(Error::unsupported("COPY to standard output").at_span(copy.span));
    };
    let query = match copy.source {
        CopySource::Query(query) => query,
        CopySource::Table { name, columns } => Box::new(table_query(name, columns)),
    };
    let option = |option: &ast::StatementOption| {
        let value = match &option.value {
            None => None,
            Some(value) => Some(option_text(value).ok_or_else(|| {
                Error::user(format!("the option {} has a value that isn't one", option.name.text)).at_span(value.span)
            })?),
        };
        Ok(CopyOption { name: option.name.text.to_lowercase(), value })
    };
    let options = copy.options.iter().map(option).collect::<Result<_>>()?;
    Ok(OwnSyntax::Copy { query, path: path.to_string(), options })
}

/// The value of an option as text.
fn option_text(value: &Expr) -> Option<String> {
    match &value.kind {
        ExprKind::Literal(ast::Literal::Number(digits)) => Some(digits.to_string()),
        ExprKind::Literal(ast::Literal::Boolean(is_set)) => Some(is_set.to_string()),
        _ => value.as_word().map(|word| word.to_string()),
    }
}

/// A query of nothing but a body.
fn query_of(kind: SetExprKind, span: Span) -> Query {
    Query { with: None, body: SetExpr { kind, span }, order_by: None, limit: None, offset: None, span }
}

/// `SELECT columns FROM table`.
fn table_query(name: ast::ObjectName, columns: Vec<ast::Ident>) -> Query {
    let span = name.span;
    if columns.is_empty() {
        return query_of(SetExprKind::Table(name), span);
    }
    let item = |column: ast::Ident| {
        let span = column.span;
        ast::SelectItem { expr: Expr { kind: ExprKind::Column(vec![column]), span }, alias: None }
    };
    let relation = TableFactor { kind: TableFactorKind::Table(name), alias: None, sample: None, span };
    let select = ast::Select {
        distinct: None,
        projection: columns.into_iter().map(item).collect(),
        from: vec![TableWithJoins { relation, joins: Vec::new() }],
        filter: None,
        group_by: None,
        having: None,
        windows: Vec::new(),
        qualify: None,
        sample: None,
        span,
    };
    query_of(SetExprKind::Select(Box::new(select)), span)
}
