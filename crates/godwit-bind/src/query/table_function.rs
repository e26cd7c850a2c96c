//! Functions in FROM.
//!
//! A function of constants stands for a table, which the environment makes. UNNEST, functions that make a list from
//! columns (`range(t.n)`), and functions and macros of values (`upper(t.s)`) are nodes over the tables to their left:
//! dependent joins.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{ColumnId, Expr, Node, NodeId, Project, Unnest, UnnestedList, Window, WindowCall, WindowTarget};
use godwit_syntax::ast;
use godwit_types::SqlType;

use super::record_function::makes_records;
use super::source::{Source, visible};
use crate::binder::{Clause, Collected, ExprContext};
use crate::expr::in_macro;
use crate::scope::{Scope, VisibleColumn};
use crate::{Binder, Macro, TableArgument, View};

/// Functions that return a list, or a table if their arguments are constants.
const SERIES: [&str; 2] = ["range", "generate_series"];

impl Binder {
    /// Binds a call in FROM. `outer` includes the tables to its left.
    pub(super) fn function_table(
        &mut self,
        call: &ast::Call,
        with_ordinality: bool,
        alias: Option<&ast::TableAlias>,
        outer: &Scope<'_>,
    ) -> Result<Source> {
        let name = call.name.last().text.to_lowercase();
        if makes_records(&name) {
            return self.record_table(call, &name, with_ordinality, alias, outer);
        }
        let source = if name == "unnest" {
            let lists = self.arguments(call, outer)?;
            self.unnest_table(lists, with_ordinality, "unnest", call.name.span)?
        } else if SERIES.contains(&name.as_str()) && !self.are_constants(call) {
            let list = self.arguments(call, outer)?;
            let list = self.call_scalar(&name, list, call.name.span)?;
            self.unnest_table(vec![list], with_ordinality, &name, call.name.span)?
        } else if let Some(found) = self.table_macro(call) {
            self.macro_table(&found, call, outer)?
        } else if name == "query_table" {
            self.table_of_text(call, outer)?
        } else if name == "query" {
            self.query_of_text(call, outer)?
        } else if self.is_function(&call.name) && !self.environment.table_function_names().contains(&name) {
            return self.table_of_value(call, &name, with_ordinality, alias, outer);
        } else {
            let arguments = self.table_arguments(call, outer)?;
            let relation = match self.environment.table_function(&name, &arguments) {
                Some(relation) => relation.map_err(|error| error.at_span(call.name.span))?,
                None => return Err(self.unknown_table_function(call, &name)),
            };
            let source = self.scan(&relation, vec![Arc::from(name.as_str())])?;
            if with_ordinality { self.numbered(source, call.name.span)? } else { source }
        };
        match alias {
            Some(alias) if name == "unnest" && source.visible.len() == 1 => source.aliased_with_column(alias),
            Some(alias) => source.aliased(alias),
            None => Ok(source),
        }
    }

    /// Makes a value a table of one column: one row, or a row for each element if there is an UNNEST in it.
    fn table_of_value(
        &mut self,
        call: &ast::Call,
        name: &str,
        with_ordinality: bool,
        alias: Option<&ast::TableAlias>,
        outer: &Scope<'_>,
    ) -> Result<Source> {
        let span = call.name.span;
        let mut collected = Collected::default();
        let (clause, windows) = (Clause::Function, &[]);
        let value =
            self.call(call, span, &mut ExprContext { scope: outer, clause, collected: &mut collected, windows });
        let value = self.settle(value.map_err(|error| error.at_span(span))?);
        let column = self.add_column_of(name, &value);
        let row = self.single_row();
        let input = self.unnested_rows(row, collected.unnested);
        let node = self.plan.add(Node::Project(Project { input, columns: vec![(column, value)] }));
        let own: Arc<str> = name.into();
        let source = Source::of_relation(node, vec![own.clone()], vec![visible(name, column, &own)]);
        let source = if with_ordinality { self.numbered(source, span)? } else { source };
        let Some(alias) = alias else { return Ok(source) };
        let mut source = source.aliased_with_column(alias)?;
        if !with_ordinality && !alias.columns.is_empty() {
            let name = &alias.name.text;
            source.relations[0].columns.push(VisibleColumn { hidden: true, ..visible(name.clone(), column, name) });
        }
        Ok(source)
    }

    pub(super) fn arguments(&mut self, call: &ast::Call, scope: &Scope<'_>) -> Result<Vec<Expr>> {
        let mut arguments = Vec::new();
        for argument in &call.args {
            let mut collected = Collected::default();
            let mut context = ExprContext { scope, clause: Clause::From, collected: &mut collected, windows: &[] };
            arguments.push(self.expr(&argument.value, &mut context)?);
        }
        Ok(arguments)
    }

    fn are_constants(&mut self, call: &ast::Call) -> bool {
        call.args.iter().all(|argument| self.constant(&argument.value, Clause::From).is_ok())
    }

    /// Returns the constants of a call; `name = value` is a named one, just as `name := value` is.
    fn table_arguments(&mut self, call: &ast::Call, outer: &Scope<'_>) -> Result<Vec<TableArgument>> {
        let mut arguments = Vec::new();
        for argument in &call.args {
            let (name, value) = match (&argument.name, &argument.value.kind) {
                (Some(name), _) => (Some(name.text.to_lowercase()), &argument.value),
                (None, ast::ExprKind::Binary { op: ast::BinaryOperator::Equal, left, right, .. }) => match &left.kind {
                    ast::ExprKind::Column(path) if path.len() == 1 => (Some(path[0].text.to_lowercase()), &**right),
                    _ => (None, &argument.value),
                },
                (None, _) => (None, &argument.value),
            };
            let (constant, ty) = match value.as_word().filter(|_| name.is_some()) {
                // The value of an option may be a bare word.
                Some(word) => (godwit_types::Value::Text(word), SqlType::Varchar),
                None => self.constant_in(outer, value, Clause::From)?,
            };
            arguments.push(TableArgument { name, value: constant, ty, span: value.span });
        }
        Ok(arguments)
    }

    fn unnest_table(&mut self, lists: Vec<Expr>, ordinality: bool, name: &str, span: Span) -> Result<Source> {
        let own: Arc<str> = name.into();
        let mut columns: Vec<VisibleColumn> = Vec::new();
        let mut unnested = Vec::new();
        let mut fields: Vec<(ColumnId, Expr)> = Vec::new();
        for list in lists {
            if let Some(of_struct) = list.ty.fields().map(<[_]>::to_vec) {
                for field in of_struct {
                    let key = Expr::literal(godwit_types::Value::text(&*field.name), SqlType::Varchar);
                    let value = self.call_scalar("struct_extract", vec![list.clone(), key], span)?;
                    let column = self.plan.add_column(&*field.name, field.ty.clone(), true);
                    columns.push(visible(field.name.clone(), column, &own));
                    fields.push((column, value));
                }
                continue;
            }
            let Some(element) = list.ty.element().cloned() else {
                let error = Error::user(format!("unnest takes a list, this is {}", list.ty));
                return Err(error.with_code(SqlState::DATATYPE_MISMATCH).at_span(list.span));
            };
            let column = self.plan.add_column(name, element, true);
            columns.push(visible(name, column, &own));
            unnested.push(UnnestedList { column, list });
        }
        let mut node = self.single_row();
        if !fields.is_empty() {
            node = self.plan.add(Node::Project(Project { input: node, columns: fields }));
        }
        let ordinality = ordinality.then(|| self.plan.add_column("ordinality", SqlType::BigInt, false));
        if !unnested.is_empty() {
            node = self.plan.add(Node::Unnest(Unnest { input: node, lists: unnested, ordinality, outer: false }));
        }
        columns.extend(ordinality.map(|column| visible("ordinality", column, &own)));
        Ok(Source::of_relation(node, vec![own], columns))
    }

    /// Adds a column that numbers the rows of a source.
    fn numbered(&mut self, source: Source, span: Span) -> Result<Source> {
        let own = source.relations[0].name.clone();
        let mut columns = source.visible.clone();
        let (node, number) = self.row_numbers(source.node, Vec::new(), Vec::new(), span)?;
        columns.push(visible("ordinality", number, &own[own.len() - 1]));
        Ok(Source::of_relation(node, own, columns))
    }

    /// Adds `row_number()` over ordered partitions to the rows of a node.
    pub(crate) fn row_numbers(
        &mut self,
        input: NodeId,
        partition_by: Vec<Expr>,
        order_by: Vec<godwit_plan::SortKey>,
        span: Span,
    ) -> Result<(NodeId, ColumnId)> {
        let found = self.environment.functions().window("row_number", &[]);
        let found = found.map_err(|_| Error::internal("there is no function row_number").at_span(span))?;
        let column = self.plan.add_column("row_number", found.ty.clone(), false);
        let function = WindowTarget::Window(found.function);
        let call = WindowCall { span, ..WindowCall::over(function, found.ty, partition_by, order_by) };
        Ok((self.plan.add(Node::Window(Window { input, calls: vec![(column, call)] })), column))
    }

    fn table_macro(&self, call: &ast::Call) -> Option<Arc<Macro>> {
        let parts: Vec<&str> = call.name.parts.iter().map(|part| &*part.text).collect();
        let found = self.environment.find_macro(&parts)?;
        let is_table = |form: &ast::MacroOverload| matches!(form.body, ast::MacroBody::Table(_));
        let has_table = found.form_for(&call.args).map_or_else(|| found.overloads.iter().any(is_table), is_table);
        has_table.then_some(found)
    }

    /// Binds a table macro: its query, in which the parameters' names stand for the arguments.
    fn macro_table(&mut self, found: &Arc<Macro>, call: &ast::Call, outer: &Scope<'_>) -> Result<Source> {
        if self.open_definitions.contains(&found.name) {
            let error = Error::user(format!("macro {} uses itself", found.name));
            return Err(error.with_code(SqlState::INVALID_DEFINITION).at_span(call.name.span));
        }
        let (body, parameters) = self.macro_arguments(found, call, outer)?;
        let ast::MacroBody::Table(query) = body else { unreachable!("the arguments choose a form that is a table") };
        let scope = Scope { aliases: parameters, ..Scope::default() };
        let bound = self
            .nested_text(call.name.span, |binder| binder.inside_macro(found, |binder| binder.subquery(query, &scope)));
        // Positions in the macro's text mean nothing to the reader of the statement.
        let bound = bound.map_err(|error| in_macro(&error, &found.name).at_span(call.name.span))?;
        let own: Arc<str> = call.name.last().text.clone();
        let columns = bound.columns.into_iter().map(|(name, column)| visible(name, column, &own)).collect();
        Ok(Source::of_relation(bound.node, vec![own], columns))
    }

    /// Binds a table or view whose name, as written in SQL, is given as text: `query_table('main.t')`.
    fn table_of_text(&mut self, call: &ast::Call, outer: &Scope<'_>) -> Result<Source> {
        let name = self.only_text(call, outer)?.and_then(|text| table_name(&text, call.name.span));
        let name = name.ok_or_else(|| {
            let error = Error::user("query_table takes the name of a table in quotes").at_span(call.name.span);
            error.with_hint("for example: query_table('main.t')")
        })?;
        self.named_table(&name)
    }

    /// Binds a query that is given as text, like that of a view: `query('SELECT 1')`.
    fn query_of_text(&mut self, call: &ast::Call, outer: &Scope<'_>) -> Result<Source> {
        let text = self.only_text(call, outer)?.ok_or_else(|| {
            let error = Error::user("query takes a query in quotes").at_span(call.name.span);
            error.with_hint("for example: query('SELECT 1')")
        })?;
        let query = godwit_syntax::parse_query(&text).map_err(|error| {
            let message = format!("the text of query isn't a query: {}", error.message());
            Error::user(message).with_code(error.code()).at_span(call.name.span)
        })?;
        let name = format!("query('{}')", text.replace('\'', "''"));
        let environment = self.environment.for_text().map_err(|error| error.at_span(call.name.span))?;
        let view = View { name, query: Arc::new(query), columns: Vec::new(), environment };
        self.view(&Arc::new(view), &call.name)
    }

    /// Returns the argument of a call if it is one text.
    fn only_text(&mut self, call: &ast::Call, outer: &Scope<'_>) -> Result<Option<Arc<str>>> {
        Ok(match &self.table_arguments(call, outer)?[..] {
            [TableArgument { name: None, value: godwit_types::Value::Text(text), .. }] => Some(text.clone()),
            _ => None,
        })
    }

    fn unknown_table_function(&self, call: &ast::Call, name: &str) -> Error {
        let error = Error::user(format!("no table function named {name}"));
        let error = error.with_code(SqlState::UNDEFINED_FUNCTION).at_span(call.name.span);
        let known = self.environment.table_function_names();
        match crate::expr::nearest(name, known.iter().map(String::as_str)) {
            Some(near) => error.with_hint(format!("did you mean {near}?")),
            None => error,
        }
    }
}

/// Parses a text as a name, with a span of the statement.
fn table_name(text: &str, span: Span) -> Option<ast::ObjectName> {
    let ast::ExprKind::Column(parts) = godwit_syntax::parse_expression(text).ok()?.kind else { return None };
    let parts = parts.into_iter().map(|part| ast::Ident { span, ..part }).collect();
    Some(ast::ObjectName { parts, span })
}
