//! Resolution of name paths: `a`, `t.a`, `s.t.a`, `d.s.t.a`, each possibly followed by fields of a struct.
//!
//! Scopes are searched from the inside out, and each reads the path in the order of [`Scope::readings`]. If a reading
//! leaves names over that aren't fields of the value, it is discarded and the next one is tried: where an inner FROM
//! has a number `o`, `o.d` is the column of an outer table `o`. If nothing else has a table's name, the name is the
//! table's row as a struct, or the value of a function in FROM.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, Expr};
use godwit_syntax::ast::Ident;
use godwit_types::{SqlType, Value};

use super::near::{nearest, with_nearest};
use crate::Binder;
use crate::scope::{Meaning, Scope};

/// Maximum number of expression nodes that names are replaced by in a statement: aliases of aliases and arguments of
/// macros of macros would double with each level.
const SUBSTITUTED_PARTS: usize = 100_000;

impl Binder {
    /// Returns the value that a path of names stands for.
    pub(super) fn path(&mut self, path: &[Ident], scope: &Scope<'_>) -> Result<Expr> {
        match self.find_path(path, scope)? {
            Some(value) => Ok(value),
            None => Err(self.unknown_path(path, scope)),
        }
    }

    /// Does the same; `None` if nothing has the name.
    pub(crate) fn find_path(&mut self, path: &[Ident], scope: &Scope<'_>) -> Result<Option<Expr>> {
        let names: Vec<&str> = path.iter().map(|name| &*name.text).collect();
        for asked in scope.in_order() {
            for reading in asked.readings(&names) {
                let fields = &path[reading.used..];
                let value = match reading.meaning {
                    Meaning::Columns(columns) => {
                        let has_fields = |column: &ColumnId| has_path(&self.plan.column(*column).ty, fields);
                        let columns: Vec<ColumnId> = columns.into_iter().filter(has_fields).collect();
                        match columns[..] {
                            [] => continue,
                            [column] => self.column(column, scope),
                            _ => return Err(ambiguous(names[reading.used - 1], &columns, asked)),
                        }
                    }
                    Meaning::Alias(value) if has_path(&value.ty, fields) => self.substituted(names[0], value)?,
                    Meaning::Alias(_) => continue,
                };
                let mut value = value.at(path[0].span.to(path[reading.used - 1].span));
                for field in fields {
                    value = self.field(value, field)?;
                }
                return Ok(Some(value));
            }
        }
        for asked in scope.in_order() {
            let mut tables = asked.tables(&names);
            match (tables.next(), tables.next()) {
                (Some(first), Some(second)) => {
                    let (first, second) = (first.name.join("."), second.name.join("."));
                    let error = Error::user(format!("table {} is {first} or {second}", names.join(".")));
                    return Err(error.with_code(SqlState::AMBIGUOUS_COLUMN).with_hint("qualify it"));
                }
                (Some(table), None) => {
                    if let Some(value) = table.value() {
                        return Ok(Some(self.column(value, scope).at(path[0].span)));
                    }
                    let shown = table.columns.iter().filter(|column| !column.hidden);
                    let fields = shown.map(|column| (column.name.clone(), self.column(column.column, scope)));
                    let fields: Vec<_> = fields.collect();
                    return self.packed(fields, path[0].span).map(Some);
                }
                (None, _) => {}
            }
        }
        if let [name] = names[..] {
            for asked in scope.in_order() {
                match asked.hidden(name)[..] {
                    [] => {}
                    [column] => return Ok(Some(self.column(column, scope).at(path[0].span))),
                    ref columns => return Err(ambiguous(name, columns, asked)),
                }
            }
        }
        Ok(None)
    }

    /// Returns the value that an alias or a parameter stands for.
    fn substituted(&mut self, name: &str, value: &Expr) -> Result<Expr> {
        if value.is_volatile() {
            let message = format!("{name} by its name: each use of a volatile value would be another");
            return Err(Error::unsupported(message).with_hint("compute it in a subquery in FROM"));
        }
        self.count_parts(value, &format!("what {name} and other names stand for"))?;
        Ok(value.clone())
    }

    /// Counts the parts of an expression that is in the statement once, but bound again.
    pub(super) fn count_parts(&mut self, value: &Expr, what: &str) -> Result<()> {
        value.for_each(&mut |_| self.substituted_parts += 1);
        if self.substituted_parts > SUBSTITUTED_PARTS {
            let message = format!("{what} has more than {SUBSTITUTED_PARTS} parts");
            let error = Error::user(message).with_code(SqlState::STATEMENT_TOO_COMPLEX);
            return Err(error.with_hint("compute it in a subquery in FROM"));
        }
        Ok(())
    }

    /// `#2`: a column of FROM.
    pub(super) fn positional(&self, position: u32, scope: &Scope<'_>) -> Result<Expr> {
        let shown: Vec<ColumnId> = {
            let columns = scope.of_query().visible.iter().filter(|column| !column.hidden);
            columns.map(|column| column.column).collect()
        };
        let at = usize::try_from(position).ok().and_then(|position| position.checked_sub(1));
        match at.and_then(|at| shown.get(at)) {
            Some(&column) => Ok(self.column(column, scope)),
            None => {
                let message = format!("there is no column #{position}: FROM has {}", shown.len());
                Err(Error::user(message).with_code(SqlState::INVALID_COLUMN_REFERENCE))
            }
        }
    }

    fn unknown_path(&self, path: &[Ident], scope: &Scope<'_>) -> Error {
        let names: Vec<&str> = path.iter().map(|name| &*name.text).collect();
        let undefined = |message: String| Error::user(message).with_code(SqlState::UNDEFINED_COLUMN);
        for qualifier in (1..names.len()).rev() {
            let known = scope.in_order().find_map(|asked| asked.tables(&names[..qualifier]).next());
            if let Some(table) = known {
                let (name, shown) = (names[qualifier], names[..qualifier].join("."));
                let error = undefined(format!("no column named {name} in {shown}"));
                let columns = table.columns.iter().map(|column| &*column.name);
                return with_nearest(error, name, columns).at_span(path[qualifier].span);
            }
        }
        if names.len() > 1 {
            if let Some(reading) = scope.in_order().find_map(|asked| asked.readings(&names).into_iter().next()) {
                let ty = match &reading.meaning {
                    Meaning::Columns(columns) => &self.plan.column(columns[0]).ty,
                    Meaning::Alias(value) => &value.ty,
                };
                return no_field(&names[..reading.used].join("."), ty, &path[reading.used..]);
            }
            let table = names[..names.len() - 1].join(".");
            let error = Error::user(format!("no table named {table} in FROM")).with_code(SqlState::UNDEFINED_TABLE);
            let known = scope.in_order().flat_map(|asked| &asked.relations).filter_map(|table| table.name.last());
            return with_nearest(error, &table, known.map(|name| &**name)).at_span(path[0].span);
        }
        let error = undefined(format!("no column named {}", names[0]));
        let columns = scope.in_order().flat_map(|asked| {
            let aliases = asked.aliases.iter().map(|(name, _)| &**name);
            let parameters = asked.lambda_parameters.iter().map(|(name, _)| &**name);
            asked.visible.iter().map(|column| &*column.name).chain(aliases).chain(parameters)
        });
        match nearest(names[0], columns) {
            Some(near) => error.with_hint(format!("did you mean {near}?")),
            None if path[0].quoted => error.with_hint(format!("text stands in single quotes: '{}'", names[0])),
            None => error,
        }
    }

    /// Binds access to a field of a struct.
    pub(crate) fn field(&mut self, value: Expr, name: &Ident) -> Result<Expr> {
        let Some(field) = field_of(&value.ty, &name.text) else {
            return Err(no_field("the value", &value.ty, std::slice::from_ref(name)));
        };
        let span = value.span.to(name.span);
        let field = Expr::literal(Value::Text(field.name.clone()), SqlType::Varchar).at(name.span);
        Ok(self.call_scalar("struct_extract", vec![value, field], span)?.at(span))
    }
}

fn field_of<'t>(ty: &'t SqlType, name: &str) -> Option<&'t godwit_types::StructField> {
    ty.fields()?.iter().find(|field| field.name.eq_ignore_ascii_case(name))
}

/// Whether the names lead from field to field.
fn has_path(ty: &SqlType, fields: &[Ident]) -> bool {
    let mut ty = ty;
    for name in fields {
        match field_of(ty, &name.text) {
            Some(field) => ty = &field.ty,
            None => return false,
        }
    }
    true
}

/// Returns the error for a name that several columns have.
fn ambiguous(name: &str, columns: &[ColumnId], scope: &Scope<'_>) -> Error {
    let shown = |&column: &ColumnId| scope.table_of(column).unwrap_or_else(|| "the columns of USING".to_owned());
    let mut tables: Vec<String> = columns.iter().map(shown).collect();
    tables.dedup();
    let message = match &tables[..] {
        [only] => format!("column {name} is in {only} twice"),
        _ => format!("column {name} is in {}", tables.join(" and in ")),
    };
    let error = Error::user(message).with_code(SqlState::AMBIGUOUS_COLUMN);
    if tables.len() > 1 { error.with_hint(format!("qualify it: {}.{name}", tables[0])) } else { error }
}

/// Returns the error for a field that doesn't exist. `fields` lead to it, starting from a value of the type.
fn no_field(value: &str, ty: &SqlType, fields: &[Ident]) -> Error {
    let (mut value, mut ty) = (value.to_owned(), ty);
    for name in fields {
        let Some(known) = ty.fields() else {
            let message = format!("{value} is {ty}: it has no field {}", name.text);
            return Error::user(message).with_code(SqlState::UNDEFINED_COLUMN).at_span(name.span);
        };
        match field_of(ty, &name.text) {
            Some(field) => {
                value = format!("{value}.{}", field.name);
                ty = &field.ty;
            }
            None => {
                let error = Error::user(format!("{value} has no field {}", name.text));
                let error = error.with_code(SqlState::UNDEFINED_COLUMN).at_span(name.span);
                return with_nearest(error, &name.text, known.iter().map(|field| &*field.name));
            }
        }
    }
    Error::user(format!("{value} has no such field")).with_code(SqlState::UNDEFINED_COLUMN)
}
