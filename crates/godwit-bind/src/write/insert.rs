//! INSERT and COPY … FROM: the rows of a list, a query or a file, with defaults for missing columns.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Expr, Node, NodeId, Project, Relation, Values};
use godwit_syntax::ast::{self, ExprKind, Ident, InsertSource, SetExprKind};

use super::{BoundWrite, Generation, NewRows, Others, WriteKind, WriteTarget};
use crate::Binder;
use crate::binder::Clause;
use crate::scope::Scope;

/// Rows with values for some columns of a table.
struct Given {
    node: NodeId,
    /// The values, of the types of the table's columns.
    values: Vec<Expr>,
    /// For each value, the position of its column.
    places: Vec<usize>,
}

impl Binder {
    /// Binds INSERT. The plan returns the new rows.
    pub fn insert(&mut self, insert: &ast::Insert, target: &WriteTarget) -> Result<BoundWrite> {
        let around = Scope::default();
        if let Some(with) = &insert.with {
            self.with(with, &around)?;
        }
        let given = match &insert.source {
            InsertSource::DefaultValues if insert.columns.is_empty() => {
                Given { node: self.single_row(), values: Vec::new(), places: Vec::new() }
            }
            InsertSource::DefaultValues => {
                let error = Error::user("DEFAULT VALUES fills all columns: it takes no list of them");
                return Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(insert.columns[0].span));
            }
            InsertSource::Query(query) => match rows_of(query) {
                Some(rows) if !insert.by_name => {
                    if let Some(with) = &query.with {
                        self.with(with, &around)?;
                    }
                    self.listed_rows(rows, insert, target, query.span)?
                }
                _ => self.queried_rows(query, insert, target)?,
            },
        };
        let places = given.places.clone();
        let rows = self.with_defaults(target, given)?;
        let alias = insert.alias.as_ref();
        match self.conflict_of(insert, target, &places)? {
            None => self.finished(target, WriteKind::Insert, alias, rows, &insert.returning),
            Some(conflict) => self.upsert(&conflict, rows, alias, &insert.returning, target),
        }
    }

    /// Binds COPY … FROM: the rows of a file, which may set identity columns.
    pub fn copy_from(
        &mut self,
        file: &Arc<dyn Relation>,
        columns: &[Ident],
        target: &WriteTarget,
    ) -> Result<BoundWrite> {
        let places = copied_places(columns, target)?;
        let source = self.scan(file, vec![file.name().into()])?;
        let shown: Vec<ColumnId> =
            source.visible.iter().filter(|column| !column.hidden).map(|column| column.column).collect();
        check_width(target, places.len(), shown.len(), Span::NONE)?;
        let scope = Scope::default();
        let values = shown.iter().zip(&places).map(|(&column, &place)| {
            let value = self.column(column, &scope);
            self.assign(target, place, value)
        });
        let values = values.collect::<Result<_>>()?;
        let rows = self.with_defaults(target, Given { node: source.node, values, places })?;
        self.finished(target, WriteKind::Insert, None, rows, &[])
    }

    /// Binds `VALUES (…), (…)`: each value is converted to the type of its column.
    fn listed_rows(
        &mut self,
        rows: &[Vec<ast::Expr>],
        insert: &ast::Insert,
        target: &WriteTarget,
        span: Span,
    ) -> Result<Given> {
        let width = rows.first().map_or(0, Vec::len);
        let places = listed_places(rows, insert, target, width)?;
        check_width(target, places.len(), width, span)?;
        let scope = Scope::default();
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != width {
                let message = format!("the first row of VALUES has {width} values, this one {}", row.len());
                let place = row.first().map_or(span, |first| first.span);
                return Err(Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(place));
            }
            let cells = row.iter().zip(&places);
            let cells = cells.map(|(value, &place)| self.value_for(target, place, value, &scope, Clause::From));
            bound.push(cells.collect::<Result<_>>()?);
        }
        let mut columns = Vec::with_capacity(width);
        for (at, &place) in places.iter().enumerate() {
            let column = &target.columns[place];
            let nullable = bound.iter().any(|row| row[at].nullable);
            columns.push(self.plan.add_column(column.name.as_str(), column.ty.clone(), nullable));
        }
        let values = columns.iter().map(|&column| self.column(column, &scope)).collect();
        let node = self.plan.add(Node::Values(Values { columns, rows: bound }));
        Ok(Given { node, values, places })
    }

    /// Binds the rows of a query; constants of its SELECT list take the types of their columns.
    fn queried_rows(&mut self, query: &ast::Query, insert: &ast::Insert, target: &WriteTarget) -> Result<Given> {
        let bound = self.untyped_query(query, &Scope::default())?;
        let places = match insert.by_name {
            true => {
                if let Some(first) = insert.columns.first() {
                    let error = Error::user("BY NAME takes the columns of the rows: it takes no list of them");
                    return Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(first.span));
                }
                let names = bound.columns.iter().map(|(name, _)| Ident::new(name.clone(), query.span));
                named_places(&names.collect::<Vec<_>>(), target)?
            }
            false => places_of(&insert.columns, target, bound.columns.len())?,
        };
        check_width(target, places.len(), bound.columns.len(), query.span)?;
        let nullable = self.plan.nullable_columns(bound.node);
        let mut values = Vec::with_capacity(places.len());
        for (&(_, column), &place) in bound.columns.iter().zip(&places) {
            let value = match self.untyped.get(&column) {
                Some(constant) => constant.clone(),
                None => Expr { nullable: nullable.contains(column), ..self.column(column, &Scope::default()) },
            };
            let value = if value.span.is_none() { value.at(query.span) } else { value };
            values.push(self.assign(target, place, value)?);
        }
        Ok(Given { node: bound.node, values, places })
    }

    /// Completes rows to all columns of the table.
    fn with_defaults(&mut self, target: &WriteTarget, given: Given) -> Result<NewRows> {
        let Given { node, values, places } = given;
        let mut made: Vec<(ColumnId, Expr)> = Vec::new();
        let mut columns = Vec::with_capacity(target.columns.len());
        for (at, column) in target.columns.iter().enumerate() {
            let value = match places.iter().position(|&place| place == at) {
                Some(source) => values[source].clone(),
                None => self.default_of(target, at)?,
            };
            columns.push(self.put(&column.name, value, &mut made));
        }
        let node = self.plan.add(Node::Project(Project { input: node, columns: made }));
        Ok(NewRows { node, lead: Vec::new(), columns, others: Others::default() })
    }
}

/// Returns the rows of a query that is nothing but VALUES.
fn rows_of(query: &ast::Query) -> Option<&[Vec<ast::Expr>]> {
    match &query.body.kind {
        SetExprKind::Values(rows) if query.order_by.is_none() && query.limit.is_none() && query.offset.is_none() => {
            Some(rows)
        }
        _ => None,
    }
}

/// Returns the columns for the values of a list. A generated column may be among them if all of its values are DEFAULT.
fn listed_places(
    rows: &[Vec<ast::Expr>],
    insert: &ast::Insert,
    target: &WriteTarget,
    width: usize,
) -> Result<Vec<usize>> {
    if insert.columns.is_empty() {
        return Ok(first_given(target, width));
    }
    let is_default = |at: usize| rows.iter().all(|row| row.get(at).is_some_and(|cell| cell.kind == ExprKind::Default));
    let place = |(at, name): (usize, &Ident)| match is_default(at) {
        true => target.position(name),
        false => target.given_position(name),
    };
    let places = insert.columns.iter().enumerate().map(place).collect::<Result<Vec<_>>>()?;
    check_differ(&places, &insert.columns, target).map(|()| places)
}

/// Returns the columns for the `width` values of a row.
fn places_of(columns: &[Ident], target: &WriteTarget, width: usize) -> Result<Vec<usize>> {
    if columns.is_empty() { Ok(first_given(target, width)) } else { named_places(columns, target) }
}

/// Returns the columns for unnamed values: the first ones. Later ones get their defaults.
fn first_given(target: &WriteTarget, width: usize) -> Vec<usize> {
    let mut places = target.given();
    places.truncate(width);
    places
}

fn named_places(columns: &[Ident], target: &WriteTarget) -> Result<Vec<usize>> {
    let places = columns.iter().map(|name| target.given_position(name)).collect::<Result<Vec<_>>>()?;
    check_differ(&places, columns, target).map(|()| places)
}

/// Does the same for COPY.
fn copied_places(columns: &[Ident], target: &WriteTarget) -> Result<Vec<usize>> {
    if columns.is_empty() {
        return Ok(target.given());
    }
    let place = |name: &Ident| {
        let at = target.position(name)?;
        match target.columns[at].generated {
            Some(Generation::Identity) => Ok(at),
            _ => target.given_position(name),
        }
    };
    let places = columns.iter().map(place).collect::<Result<Vec<_>>>()?;
    check_differ(&places, columns, target).map(|()| places)
}

fn check_differ(places: &[usize], columns: &[Ident], target: &WriteTarget) -> Result<()> {
    for (at, place) in places.iter().enumerate() {
        if places[..at].contains(place) {
            let error = Error::user(format!("column {} is named twice", target.columns[*place].name));
            return Err(error.with_code(SqlState::DUPLICATE_COLUMN).at_span(columns[at].span));
        }
    }
    Ok(())
}

fn check_width(target: &WriteTarget, wanted: usize, found: usize, span: Span) -> Result<()> {
    if wanted == found {
        return Ok(());
    }
    let error = Error::user(format!("{} gets {wanted} columns, the rows have {found}", target.label));
    let error = error.with_code(SqlState::SYNTAX_ERROR).with_hint("name the columns: INSERT INTO t (a, b) ...");
    Err(if span.is_none() { error } else { error.at_span(span) })
}
