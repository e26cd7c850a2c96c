//! CREATE VIEW, ALTER VIEW, CREATE SCHEMA, DROP.

use std::sync::Arc;

use godwit_bind::Binder;
use godwit_catalog::names::{WrittenName, plain};
use godwit_catalog::{
    CatalogEntry, Comments, ObjectName, SCHEMA, SchemaName, TEMPORARY, ViewDefinition, full_name, split_name, stored,
};
use godwit_common::{Error, Result};
use godwit_syntax::ast::{self, AlterAction, DropBehavior, ObjectKind};

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
        let statement = parsed.text().to_owned();
        let definition = Arc::new(ViewDefinition {
            name: name.name.clone(),
            schema,
            database,
            statement,
            comments: Comments::default(),
        });
        self.check_view(&name, &definition, &meant(view.clone()))?;
        let (or_replace, if_not_exists) = (view.or_replace, view.if_not_exists);
        Ok(Statement::Definition(Definition::CreateView { name, view: definition, or_replace, if_not_exists }))
    }

    /// Binds the query of a view once, to report errors when it is created. Names are resolved as they will be
    /// afterwards: if the query names the view that it replaces, or another one based on that, the view would contain
    /// itself.
    fn check_view(&self, name: &ObjectName, definition: &Arc<ViewDefinition>, view: &ast::CreateView) -> Result<()> {
        let is_new = match self.namespace().get(name) {
            None => true,
            Some(existing) => view.or_replace && matches!(existing, CatalogEntry::View(_)),
        };
        let namespace = match is_new {
            true => self.namespace().with_entry(name, CatalogEntry::View(definition.clone())),
            false => self.namespace().clone(),
        };
        let environment = self.statement_names().over(namespace).of_view(&name.database, definition);
        let mut binder = Binder::new(Arc::new(environment));
        binder.query(&view.query)?;
        let (given, there) = (view.columns.len(), binder.plan.output.len());
        if given > there {
            let message = format!("view {} names {given} columns, its query has {there}", definition.name);
            return Err(Error::user(message).at_span(view.query.span));
        }
        Ok(())
    }

    pub(crate) fn create_schema(&self, create: &ast::CreateSchema) -> Result<Statement> {
        let name = WrittenName::of(&create.name)?;
        let database = match name.parts() {
            [database, _] => self.namespace().place(&[database.as_str(), SCHEMA])?.database,
            [_] => self.namespace().current().database.clone(),
            _ => return Err(Error::user(format!("{name} is no name of a schema")).at_span(create.name.span)),
        };
        let place = SchemaName { database, schema: name.last().to_owned() };
        let (or_replace, if_not_exists) = (create.or_replace, create.if_not_exists);
        Ok(Statement::Definition(Definition::CreateSchema { place, or_replace, if_not_exists }))
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
            ObjectKind::Type => return self.drop_types(drop, &written),
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

impl Planner {
    /// Plans `ALTER` of an object that isn't a table.
    pub(crate) fn alter_object(&self, alter: &ast::AlterObject) -> Result<Statement> {
        match (alter.kind, &alter.action) {
            (ObjectKind::View, AlterAction::RenameTo(to)) => self.rename_view(alter, to),
            (ObjectKind::Sequence, AlterAction::SequenceOptions(options)) => self.alter_sequence(alter, options),
            _ => {
                let error = Error::unsupported("ALTER of anything but tables, options of sequences and names of views");
                Err(error.at_span(alter.span).with_hint("make another with CREATE, and DROP this one"))
            }
        }
    }

    fn rename_view(&self, alter: &ast::AlterObject, to: &ast::Ident) -> Result<Statement> {
        let (name, view) = match self.namespace().find(WrittenName::of(&alter.name)?.parts()) {
            Some((name, CatalogEntry::View(view))) => (name, view),
            None if alter.if_exists => return Ok(Statement::Definition(Definition::Nothing)),
            _ => return Err(Error::user(format!("no view named {}", alter.name)).at_span(alter.name.span)),
        };
        let mut tree = match stored::statement(&view.statement)? {
            ast::Statement::CreateView(tree) if !tree.recursive => tree,
            _ => return Err(Error::unsupported("another name for a view that names itself").at_span(alter.span)),
        };
        let schema = split_name(&name.name).0;
        if let Some(own) = tree.name.parts.last_mut() {
            *own = to.clone();
        }
        let statement = ast::Statement::CreateView(tree).to_string();
        let renamed = ViewDefinition { name: full_name(&schema, &plain(to)), statement, ..(*view).clone() };
        Ok(Statement::Definition(Definition::RenameView { name, view: Arc::new(renamed) }))
    }
}

/// Returns the tree of the statement that created a view.
pub(crate) fn view_tree(view: &ViewDefinition) -> Result<ast::CreateView> {
    let parsed = stored::statement(&view.statement).map_err(|error| {
        Error::user(format!("the view {} can't be read: {}", view.name, error.message()))
            .with_hint("make it anew with CREATE OR REPLACE VIEW")
    })?;
    match parsed {
        ast::Statement::CreateView(tree) => Ok(meant(*tree)),
        _ => Err(Error::corrupt(format!("the view {} is of another statement than CREATE VIEW", view.name))),
    }
}

/// Expands a recursive view: `RECURSIVE VIEW v (…) AS query` stands for one of `WITH RECURSIVE v (…) AS (query) TABLE
/// v`.
fn meant(view: ast::CreateView) -> ast::CreateView {
    if !view.recursive {
        return view;
    }
    let span = view.query.span;
    let name = view.name.parts.last().expect("names have parts").clone();
    let all = ast::Query::of(ast::SetExprKind::Table(ast::ObjectName::of(name.clone())), span);
    let (columns, body) = (view.columns.clone(), ast::CteBody::Query(view.query));
    let cte = ast::Cte { name, columns, materialized: None, body, span };
    let with = ast::With { recursive: true, ctes: vec![cte], span };
    ast::CreateView { query: Box::new(ast::Query { with: Some(with), ..all }), ..view }
}
