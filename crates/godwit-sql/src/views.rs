//! CREATE VIEW, CREATE SCHEMA, DROP.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_syntax::ast::{self, DropBehavior, ObjectKind};

use godwit_catalog::names::WrittenName;
use godwit_catalog::{Place, SCHEMA, TEMPORARY, ViewDefinition, split_name};

use crate::{Definition, ParsedStatement, Planner, Statement};

impl Planner {
    pub(crate) fn create_view(&self, view: &ast::CreateView, parsed: &ParsedStatement) -> Result<Statement> {
        let written = WrittenName::of(&view.name)?;
        let name = self.namespace().new_name(&written, view.temporary)?;
        let current = self.namespace().current();
        let is_temporary = &*name.database == TEMPORARY;
        let schema = match is_temporary || current.database == name.database {
            true => current.schema.clone(),
            false => split_name(&name.name).0,
        };
        let database = is_temporary.then(|| current.database.clone());
        let definition =
            ViewDefinition { name: name.name.clone(), schema, database, statement: parsed.text().to_owned() };
        self.check_view(&name.database, &definition, view.query.span)?;
        Ok(Statement::Definition(Definition::CreateView {
            name,
            view: Arc::new(definition),
            or_replace: view.or_replace,
            if_not_exists: view.if_not_exists,
        }))
    }

    pub(crate) fn create_schema(&self, create: &ast::CreateSchema) -> Result<Statement> {
        if create.or_replace {
            return Err(Error::unsupported("CREATE OR REPLACE SCHEMA").at_span(create.span));
        }
        let name = WrittenName::of(&create.name)?;
        let database = match name.parts() {
            [database, _] => self.namespace().place(&[database.as_str(), SCHEMA])?.database,
            [_] => self.namespace().current().database.clone(),
            _ => return Err(Error::user(format!("{name} is no name of a schema")).at_span(create.name.span)),
        };
        let place = Place { database, schema: name.last().to_owned() };
        Ok(Statement::Definition(Definition::CreateSchema { place, if_not_exists: create.if_not_exists }))
    }

    pub(crate) fn drop_objects(&self, drop: &ast::Drop) -> Result<Statement> {
        let written = drop.names.iter().map(WrittenName::of).collect::<Result<Vec<_>>>()?;
        let names = || self.named(&written, drop.if_exists);
        Ok(Statement::Definition(match drop.kind {
            ObjectKind::Table => Definition::DropTable { names: names()? },
            ObjectKind::View => Definition::DropView { names: names()? },
            ObjectKind::Sequence => Definition::DropSequence { names: names()? },
            ObjectKind::Schema => {
                let cascade = drop.behavior == Some(DropBehavior::Cascade);
                return self.drop_schemas(&written, drop.if_exists, cascade);
            }
            ObjectKind::Index => match &written[..] {
                [name] => return self.drop_index(name, drop.if_exists),
                _ => return Err(Error::unsupported("DROP INDEX of several indexes").at_span(drop.span)),
            },
            ObjectKind::Macro | ObjectKind::TableMacro => {
                Definition::DropMacro { names: self.macros_named(&written, drop.if_exists, drop.span)? }
            }
            ObjectKind::Type => Definition::DropType { names: self.types_named(&written, drop.if_exists, drop.span)? },
            ObjectKind::Database => {
                let error = Error::unsupported("DROP DATABASE").at_span(drop.span);
                return Err(error.with_hint("DETACH lets go of a database; its file stays"));
            }
        }))
    }

    fn drop_schemas(&self, names: &[WrittenName], if_exists: bool, cascade: bool) -> Result<Statement> {
        let mut places = Vec::new();
        for name in names {
            match self.namespace().place(name.parts()) {
                Ok(place) => places.push(place),
                Err(_) if if_exists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Statement::Definition(Definition::DropSchema { places, cascade }))
    }
}

/// The tree of the statement that made a view.
pub(crate) fn view_tree(view: &ViewDefinition) -> Result<ast::CreateView> {
    let parsed = godwit_syntax::parse_script(&view.statement);
    let mut parsed = parsed.map_err(|error| error.locate(&view.statement)).map_err(|error| {
        Error::user(format!("the view {} can't be read: {}", view.name, error.message()))
            .with_hint("make it anew with CREATE OR REPLACE VIEW")
    })?;
    match (parsed.pop().map(|parsed| parsed.statement), parsed.is_empty()) {
        (Some(ast::Statement::CreateView(tree)), true) => Ok(*tree),
        _ => Err(Error::corrupt(format!("the view {} is of another statement than CREATE VIEW", view.name))),
    }
}
