//! CREATE MACRO: names for expressions and queries, which the catalog stores as text.

use std::sync::Arc;

use godwit_bind::{Environment, Macro};
use godwit_catalog::names::WrittenName;
use godwit_catalog::{Comments, MacroDefinition, ObjectName, split_name, stored};
use godwit_common::{Error, Result, Span};
use godwit_plan::FunctionKind;
use godwit_syntax::ast;

use crate::environment::StatementNames;
use crate::{Definition, ParsedStatement, Planner, Statement};

impl Planner {
    /// Creates a macro. Its body is bound by each statement that calls it, since its parameters aren't known before.
    pub(crate) fn create_macro(&self, create: &ast::CreateMacro, parsed: &ParsedStatement) -> Result<Statement> {
        let name = self.namespace().new_name(&WrittenName::of(&create.name)?, create.temporary)?;
        let own = split_name(&name.name).1;
        if self.statement_names().functions().kind(&own.to_lowercase()) == Some(FunctionKind::Aggregate) {
            let error = Error::user(format!("{own} is an aggregate function, which a macro can't replace"));
            return Err(error.at_span(create.name.span).with_hint("choose another name"));
        }
        let definition = Arc::new(MacroDefinition {
            name: name.name.clone(),
            statement: parsed.text().to_owned(),
            comments: Comments::default(),
        });
        let (or_replace, if_not_exists) = (create.or_replace, create.if_not_exists);
        Ok(Statement::Definition(Definition::CreateMacro { name, definition, or_replace, if_not_exists }))
    }

    /// Returns the macros of these names; fails if a required one is missing.
    pub(crate) fn macros_named(&self, names: &[WrittenName], if_exists: bool, span: Span) -> Result<Vec<ObjectName>> {
        let find = |name: &WrittenName| self.namespace().find_macro(name.parts()).map(|(found, _)| found);
        all_found("macro", names, if_exists, find).map_err(|error| error.at_span(span))
    }
}

/// Returns the objects of a kind with these names; fails if a required one is missing.
pub(crate) fn all_found(
    kind: &str,
    names: &[WrittenName],
    if_exists: bool,
    find: impl Fn(&WrittenName) -> Option<ObjectName>,
) -> Result<Vec<ObjectName>> {
    let mut found = Vec::new();
    for name in names {
        match find(name) {
            Some(name) => found.push(name),
            None if if_exists => {}
            None => return Err(Error::user(format!("no {kind} named {name}"))),
        }
    }
    Ok(found)
}

/// Returns a macro of the catalog as the binder takes it.
pub(crate) fn bound_macro(definition: &MacroDefinition, environment: StatementNames) -> Option<Macro> {
    let ast::Statement::CreateMacro(tree) = stored::statement(&definition.statement).ok()? else { return None };
    let name = split_name(&definition.name).1;
    Some(Macro { name, overloads: tree.overloads, environment: Arc::new(environment) })
}
