//! Functions in FROM that make rows of JSON objects, whose columns and types the statement defines:
//! `json_to_record(j) AS t(a INTEGER, b TEXT)`.
//!
//! An object becomes a map of JSON values, and each column is read from the value of its key: NULL if that is missing
//! or null.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{Expr, ExprKind, Node, NodeId, Project, Unnest, UnnestedList};
use godwit_syntax::ast;
use godwit_types::{SqlType, Value};

use super::source::{Source, visible};
use crate::Binder;
use crate::expr::CastContext;
use crate::scope::Scope;

/// True for the functions of this file.
pub(super) fn makes_records(name: &str) -> bool {
    makes_one_record(name) || matches!(name, "json_to_recordset" | "jsonb_to_recordset")
}

fn makes_one_record(name: &str) -> bool {
    matches!(name, "json_to_record" | "jsonb_to_record")
}

impl Binder {
    /// Binds a call that makes a row of an object, or of each object in an array.
    pub(super) fn record_table(
        &mut self,
        call: &ast::Call,
        name: &str,
        with_ordinality: bool,
        alias: Option<&ast::TableAlias>,
        outer: &Scope<'_>,
    ) -> Result<Source> {
        let refused = |message: String| {
            let error = Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(call.name.span);
            Err(error.with_hint(format!("write FROM {name}(...) AS t(a INTEGER, b VARCHAR)")))
        };
        let Some(alias) = alias.filter(|alias| !alias.columns.is_empty()) else {
            return refused(format!("{name} needs the names and types of its columns"));
        };
        if with_ordinality {
            return refused(format!("{name} has only the columns that are named, no ORDINALITY"));
        }
        let Ok([document]) = <[Expr; 1]>::try_from(self.arguments(call, outer)?) else {
            return refused(format!("{name} takes one argument, not {}", call.args.len()));
        };
        let mut types = Vec::new();
        for column in &alias.columns {
            let Some(written) = &column.data_type else {
                return refused(format!("the column {} needs a type", column.name.text));
            };
            types.push(self.data_type(written)?);
        }
        let document = self.coerce(document, &SqlType::Json, CastContext::Explicit)?;
        let (node, object) = self.objects(document, makes_one_record(name))?;
        let own = alias.name.text.clone();
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for (column, ty) in alias.columns.iter().zip(types) {
            let value = self.value_of_key(&object, &column.name, &ty)?;
            let id = self.add_column_of(&column.name.text, &value);
            columns.push(visible(column.name.text.clone(), id, &own));
            values.push((id, value));
        }
        let node = self.plan.add(Node::Project(Project { input: node, columns: values }));
        Ok(Source::of_relation(node, vec![own], columns))
    }

    /// Returns a node with a row for each object, and the map of its values.
    fn objects(&mut self, document: Expr, is_one: bool) -> Result<(NodeId, Expr)> {
        let map = SqlType::Map(Arc::new((SqlType::Varchar, SqlType::Json)));
        let column = self.plan.add_column("object", map.clone(), true);
        let input = self.single_row();
        let node = match is_one {
            true => {
                let object = self.coerce(document, &map, CastContext::Explicit)?;
                Node::Project(Project { input, columns: vec![(column, object)] })
            }
            false => {
                let list = self.coerce(document, &SqlType::list_of(map.clone()), CastContext::Explicit)?;
                let lists = vec![UnnestedList { column, list }];
                Node::Unnest(Unnest { input, lists, ordinality: None, outer: false })
            }
        };
        Ok((self.plan.add(node), Expr::new(ExprKind::Column(column), map, true)))
    }

    /// Reads the value of a key as a type.
    fn value_of_key(&mut self, object: &Expr, key: &ast::Ident, ty: &SqlType) -> Result<Expr> {
        let text = |text: &str| Expr::literal(Value::text(text), SqlType::Varchar).at(key.span);
        let value = self.call_scalar("map_extract_value", vec![object.clone(), text(&key.text)], key.span)?;
        match ty {
            // As a cast, it would be the text of JSON.
            SqlType::Varchar => self.call_scalar("json_extract_string", vec![value, text("$")], key.span),
            _ => self.coerce(value, ty, CastContext::Explicit),
        }
    }
}
