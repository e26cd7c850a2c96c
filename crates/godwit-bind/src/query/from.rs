//! FROM: tables, views, files, subqueries.

use std::path::Path;
use std::sync::Arc;

use godwit_common::{Error, ErrorKind, Result, Span, SqlState};
use godwit_plan::{
    ColumnId, ColumnSet, Expr, Join, JoinKind, Node, NodeId, Project, Relation, Scan, SharedId, SharedPlan, Use, Values,
};
use godwit_syntax::ast::{self, TableFactor, TableFactorKind};
use godwit_types::{SqlType, Value};

use super::source::{Source, visible};
use crate::expr::CastContext;
use crate::scope::{Scope, VisibleColumn};
use crate::{Binder, BoundQuery, Named, Rows, View};

impl Binder {
    /// Binds FROM; one row without columns if there is none.
    pub(super) fn from(&mut self, from: &[ast::TableWithJoins], outer: &Scope<'_>) -> Result<Source> {
        let mut all: Option<Source> = None;
        for item in from {
            all = Some(match all {
                None => self.joined_tables(item, None, outer)?,
                Some(left) => {
                    let right = self.joined_tables(item, Some(&left), outer)?;
                    self.check_names(&left, &right, item.relation.span)?;
                    let node = self.product(left.node, right.node);
                    left.beside(right, node)
                }
            });
        }
        Ok(match all {
            Some(source) => source,
            None => Source::empty(self.single_row()),
        })
    }

    /// Adds the product of two inputs: each row of one beside each row of the other.
    pub(super) fn product(&mut self, left: NodeId, right: NodeId) -> NodeId {
        let (kind, conditions) = (JoinKind::Inner, Vec::new());
        self.plan.add(Node::Join(Join { kind, left, right, conditions }))
    }

    /// Binds a table of FROM with its joins. `left` are the tables before it, which LATERAL sees.
    pub(crate) fn joined_tables(
        &mut self,
        tables: &ast::TableWithJoins,
        left: Option<&Source>,
        outer: &Scope<'_>,
    ) -> Result<Source> {
        let mut source = self.factor(&tables.relation, left, outer)?;
        for join in &tables.joins {
            source = match left {
                None => self.join(source, join, outer)?,
                Some(left) => {
                    let around = left.scope(outer);
                    self.join(source, join, &Scope { implicit: true, ..around })?
                }
            };
        }
        Ok(source)
    }

    /// Binds one table of FROM.
    pub(crate) fn factor(&mut self, factor: &TableFactor, left: Option<&Source>, outer: &Scope<'_>) -> Result<Source> {
        let mut source = match &factor.kind {
            TableFactorKind::Table(name) => self.named_table(name)?,
            TableFactorKind::File(path) => self.file(path, factor.span)?,
            TableFactorKind::Function { call, with_ordinality, .. } => {
                let around = left.map(|left| left.scope(outer));
                let function = self.function_table(
                    call,
                    *with_ordinality,
                    factor.alias.as_ref(),
                    around.as_ref().unwrap_or(outer),
                );
                return self.sampled(function?, factor.sample.as_ref());
            }
            TableFactorKind::Subquery { lateral, query } => {
                let around = left.map(|left| Scope { implicit: !lateral, ..left.scope(outer) });
                let bound = self.subquery(query, around.as_ref().unwrap_or(outer))?;
                self.derived(bound)
            }
            TableFactorKind::Nested(tables) => self.joined_tables(tables, left, outer)?,
            TableFactorKind::Pivot(pivot) => {
                let bound = self.pivot(pivot, outer)?;
                self.derived(bound)
            }
            TableFactorKind::Unpivot(unpivot) => {
                let bound = self.unpivot(unpivot, outer)?;
                self.derived(bound)
            }
        };
        if let Some(alias) = &factor.alias {
            source = source.aliased(alias)?;
        }
        self.sampled(source, factor.sample.as_ref())
    }

    /// Makes a query a source of FROM; no name qualifies its columns unless there is an alias.
    fn derived(&mut self, bound: BoundQuery) -> Source {
        let column =
            |(name, column): (Arc<str>, ColumnId)| VisibleColumn { name, column, hidden: false, relation: None };
        let visible = bound.columns.into_iter().map(column).collect();
        let filled = self.plan.nullable_columns(bound.node);
        Source { node: bound.node, relations: Vec::new(), visible, filled }
    }

    /// Makes constant rows a table.
    pub(super) fn listed(&mut self, rows: Rows, name: Vec<Arc<str>>) -> Source {
        let own: Arc<str> = name.last().cloned().unwrap_or_else(|| Arc::from("rows"));
        let types: Vec<SqlType> = rows.columns.iter().map(|(_, ty)| ty.clone()).collect();
        let mut columns = Vec::new();
        for (column, ty) in rows.columns {
            let id = self.plan.add_column(column.as_str(), ty, true);
            columns.push(visible(column, id, &own));
        }
        let value = |(value, ty): (Value, &SqlType)| Expr::literal(value, ty.clone());
        let rows = rows.rows.into_iter().map(|row| row.into_iter().zip(&types).map(value).collect()).collect();
        let ids = columns.iter().map(|column| column.column).collect();
        let node = self.plan.add(Node::Values(Values { columns: ids, rows }));
        Source::of_relation(node, name, columns)
    }

    /// Binds a table, a view or a common table expression by its name.
    pub(super) fn named_table(&mut self, name: &ast::ObjectName) -> Result<Source> {
        if let Some(single) = name.single()
            && let Some(source) = self.common_table(&single.text)?
        {
            return Ok(source);
        }
        let parts: Vec<&str> = name.parts.iter().map(|part| &*part.text).collect();
        match self.environment.named(&parts).map_err(|error| error.at_span(name.span))? {
            Some(Named::Relation(relation, full)) => {
                let source = self.scan(&relation, full.into_iter().map(Arc::from).collect())?;
                Ok(self.noted(source))
            }
            Some(Named::View(view)) => {
                let source = self.view(&view, name)?;
                Ok(self.noted(source))
            }
            Some(Named::Rows(rows, full)) => Ok(self.listed(rows, full.into_iter().map(Arc::from).collect())),
            None => {
                // An unquoted path such as data.parquet is a name with dots.
                let path = parts.join(".");
                match self.environment.file(&path) {
                    Some(relation) => {
                        let relation = relation.map_err(|error| error.at_span(name.span))?;
                        let name: Arc<str> = parts[parts.len().saturating_sub(2)].into();
                        self.scan(&relation, vec![name])
                    }
                    None => {
                        let error = self.environment.unknown_table(&path);
                        Err(error.with_code(SqlState::UNDEFINED_TABLE).at_span(name.span))
                    }
                }
            }
        }
    }

    /// Notes that the query uses a table or view, unless a view or macro in it does.
    fn noted(&mut self, source: Source) -> Source {
        if let Some(usage) = self.usage.as_mut().filter(|_| self.open_definitions.is_empty()) {
            usage.note_tables(&source.relations);
        }
        source
    }

    fn file(&mut self, path: &str, span: Span) -> Result<Source> {
        // A name in single quotes is a path if it looks like one, else the name of a table.
        match self.environment.file(path) {
            Some(relation) => {
                let relation = relation.map_err(|error| error.at_span(span))?;
                let name = Path::new(path).file_stem().map_or_else(|| path.into(), |stem| stem.to_string_lossy());
                self.scan(&relation, vec![Arc::from(&*name)])
            }
            None => self.named_table(&ast::ObjectName::of(ast::Ident::new(path, span))),
        }
    }

    /// Adds an instance of a table: its columns get fresh ids.
    pub(crate) fn scan(&mut self, relation: &Arc<dyn Relation>, name: Vec<Arc<str>>) -> Result<Source> {
        let own: Arc<str> = name.last().cloned().unwrap_or_else(|| Arc::from(relation.name()));
        let mut columns = Vec::new();
        let mut seen = Vec::new();
        for (position, column) in relation.columns().iter().enumerate() {
            let id = self.plan.add_column(column.name.as_str(), column.ty.clone(), column.nullable);
            self.plan.set_table(id, own.clone());
            self.plan.set_collation(id, column.collation.clone());
            columns.push((id, position));
            seen.push(VisibleColumn { hidden: column.hidden, ..visible(column.name.as_str(), id, &own) });
        }
        let all: ColumnSet = columns.iter().map(|&(column, _)| column).collect();
        for key in relation.keys() {
            if key.iter().all(|&position| !relation.columns()[position].nullable) {
                self.keys.push((key.iter().map(|&position| columns[position].0).collect(), all.clone()));
            }
        }
        let scan = Scan { relation: relation.clone(), columns, filters: Vec::new(), rows_enough: None };
        let node = self.plan.add(Node::Scan(scan));
        let source = Source::of_relation(node, name, seen);
        if relation.computed().is_empty() { Ok(source) } else { self.with_computed(source, relation.as_ref()) }
    }

    /// Adds the virtual columns, which are computed from the others, to the rows of a table.
    pub(crate) fn with_computed(&mut self, stored: Source, relation: &dyn Relation) -> Result<Source> {
        let around = Scope::default();
        let scope = stored.scope(&around);
        let own = stored.relations[0].name.clone();
        let mut columns = stored.visible.clone();
        let mut made = self.passed(stored.node);
        for computed in relation.computed() {
            let expr = godwit_syntax::parse_expression(&computed.expression)?;
            let value = self.stored_value(&expr, &scope)?;
            let value = self.coerce(value, &computed.ty, CastContext::Explicit)?;
            let id = self.add_column_of(&computed.name, &value);
            made.push((id, value));
            let at = computed.position.min(columns.len());
            columns.insert(at, visible(computed.name.as_str(), id, &own[own.len() - 1]));
        }
        let node = self.plan.add(Node::Project(Project { input: stored.node, columns: made }));
        Ok(Source::of_relation(node, own, columns))
    }

    /// Adds a use of a shared plan: its columns get fresh ids.
    pub(super) fn use_of(&mut self, shared: SharedId, columns: &[(Arc<str>, ColumnId)]) -> (NodeId, Vec<ColumnId>) {
        let nullable = self.plan.nullable_columns(self.plan.shared(shared).root);
        let mut used: Vec<(ColumnId, ColumnId)> = Vec::new();
        let mut fresh = Vec::new();
        for &(_, column) in columns {
            if let Some(&(known, _)) = used.iter().find(|(_, inner)| *inner == column) {
                fresh.push(known);
                continue;
            }
            let info = self.plan.column(column).clone();
            let id = self.plan.add_column(info.name, info.ty, nullable.contains(column));
            self.plan.set_collation(id, info.collation);
            used.push((id, column));
            fresh.push(id);
        }
        (self.plan.add(Node::Use(Use { shared, columns: used })), fresh)
    }

    /// Returns the rows of a view, which is bound once however often it is used.
    pub(super) fn view(&mut self, view: &Arc<View>, name: &ast::ObjectName) -> Result<Source> {
        let (shared, columns) = match self.views.get(&view.name) {
            Some(known) => known.clone(),
            None => {
                let bound = self.nested_text(name.span, |binder| binder.view_query(view, name))?;
                let shared = SharedPlan { name: view.name.clone(), root: bound.node, materialized: None };
                let known = (self.plan.add_shared(shared), bound.columns);
                self.views.insert(view.name.clone(), known.clone());
                known
            }
        };
        let (node, fresh) = self.use_of(shared, &columns);
        let own = name.last().text.clone();
        let columns = columns.iter().zip(fresh).map(|((column, _), id)| visible(column.clone(), id, &own)).collect();
        let full = view.name.split('.').map(Arc::from).collect::<Vec<Arc<str>>>();
        let full = if full.last().is_some_and(|last| last.eq_ignore_ascii_case(&own)) { full } else { vec![own] };
        Ok(Source::of_relation(node, full, columns))
    }

    /// Binds the query of a view in the environment of its definition.
    fn view_query(&mut self, view: &Arc<View>, name: &ast::ObjectName) -> Result<BoundQuery> {
        if self.open_definitions.contains(&view.name) {
            let error = Error::user(format!("view {} uses itself", view.name));
            return Err(error.with_code(SqlState::INVALID_DEFINITION).at_span(name.span));
        }
        self.open_definitions.push(view.name.clone());
        let around = std::mem::replace(&mut self.environment, view.environment.clone());
        let tables = std::mem::take(&mut self.common_tables);
        let bound = self.subquery(&view.query, &Scope::default());
        self.common_tables = tables;
        self.environment = around;
        self.open_definitions.pop();
        // Positions in a view's text mean nothing to the reader of the statement.
        let mut bound = bound.map_err(|error| in_view(&error, &view.name).at_span(name.span))?;
        if view.columns.len() > bound.columns.len() {
            let (given, there) = (view.columns.len(), bound.columns.len());
            let message = format!("view {} names {given} columns, its query has {there}", view.name);
            return Err(Error::user(message).at_span(name.span));
        }
        for (column, given) in bound.columns.iter_mut().zip(&view.columns) {
            column.0 = given.as_str().into();
        }
        Ok(bound)
    }

    /// Rejects two tables with one name, which can't be told apart; tables of different schemas can.
    pub(crate) fn check_names(&self, left: &Source, right: &Source, span: Span) -> Result<()> {
        for relation in &right.relations {
            let is_same = |known: &&crate::scope::ScopeRelation| {
                let same = |(a, b): (&Arc<str>, &Arc<str>)| a.eq_ignore_ascii_case(b);
                known.name.len() == relation.name.len() && known.name.iter().zip(&relation.name).all(same)
            };
            if let Some(name) = left.relations.iter().find(is_same).and_then(|known| known.name.last()) {
                let error = Error::user(format!("{name} is in FROM twice")).with_code(SqlState::DUPLICATE_ALIAS);
                return Err(error.at_span(span).with_hint(format!("give one an alias: {name} AS other")));
            }
        }
        Ok(())
    }
}

/// Wraps an error inside a view, to be reported where the view is used.
fn in_view(error: &Error, view: &str) -> Error {
    let inner = Error::new(error.kind(), error.message()).with_code(error.code());
    let told = match error.kind() {
        ErrorKind::Cancelled => inner,
        _ if error.message().starts_with("in view ") => inner,
        _ => inner.context(format!("in view {view}")),
    };
    match error.hint() {
        Some(hint) => told.with_hint(hint),
        None => told,
    }
}
