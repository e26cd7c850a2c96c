//! `ALTER TABLE`, `CREATE INDEX`, `DROP INDEX`.
//!
//! Statements that only change names and rules make a new definition over the same rows. Adding or removing columns
//! takes a query whose rows replace the table.

use std::sync::Arc;

use arrow_schema::{Field, SchemaRef};
use godwit_bind::{Binder, RebuiltColumn, collation_text};
use godwit_catalog::names::{WrittenName, plain};
use godwit_catalog::stored::{self, column, mentions, with_renamed};
use godwit_catalog::{
    AlterPlan, CatalogEntry, GeneratedKind, IndexRule, KeyRule, ObjectName, SCHEMA, TableRules, full_name, split_name,
};
use godwit_common::{Error, Result};
use godwit_syntax::ast::{self, AlterColumnAction, AlterTableAction};
use godwit_vector::sql::{field_of, type_of_field};

use crate::create_table::{NewColumns, collated_field, read_constraint, table_schema, with_primary_key};
use crate::write::Target;
use crate::{Definition, Planner, Statement};

impl Planner {
    pub(crate) fn alter_table(&self, alter: &ast::AlterTable) -> Result<Statement> {
        let [action] = &alter.actions[..] else {
            let error = Error::unsupported("ALTER TABLE with several changes").at_span(alter.span);
            return Err(error.with_hint("make them one by one"));
        };
        if alter.if_exists && self.namespace().find(WrittenName::of(&alter.name)?.parts()).is_none() {
            return Ok(Statement::Definition(Definition::Nothing));
        }
        let target = self.target(&alter.name)?;
        let mut plan = target.alteration(target.rules().clone());
        let mut written = Vec::new();
        match action {
            AlterTableAction::RenameTable(to) => {
                let (schema, _) = split_name(&target.name.name);
                plan.new_name = full_name(&schema, &plain(to));
            }
            AlterTableAction::RenameColumn { column, to } => {
                rename_column(&mut plan, &target, &column_name(column)?, &plain(to))?;
            }
            AlterTableAction::AddColumn { if_not_exists, parent, column } => {
                if let Some(parent) = parent.first() {
                    return Err(Error::unsupported("fields that are added to a struct").at_span(parent.span));
                }
                if *if_not_exists && target.has_column(&column.name.text) {
                    return Ok(Statement::Definition(Definition::Nothing));
                }
                return self.add_column(&target, column);
            }
            AlterTableAction::DropColumn { if_exists, column, behavior: _ } => {
                let column = column_name(column)?;
                if *if_exists && !target.has_column(&column) {
                    return Ok(Statement::Definition(Definition::Nothing));
                }
                return self.drop_column(&target, &column);
            }
            AlterTableAction::AlterColumn { column, action } => {
                let name = column_name(column)?;
                if let AlterColumnAction::SetType { .. } = action {
                    return self.change_type(&target, &name, action);
                }
                let changed = self.alter_column(&mut plan, &target, &name, action, &mut written);
                changed.map_err(|error| error.at_span(column.span))?;
            }
            AlterTableAction::AddConstraint(constraint) => {
                read_constraint(&target.own_name(), constraint, &mut plan.rules, &mut written)?;
                self.resolve_references(&target.name, &mut plan.rules)?;
                plan.schema = with_primary_key(&plan.schema, &plan.rules);
            }
            AlterTableAction::DropConstraint { if_exists, name, behavior: _ } => {
                if !plan.rules.remove(&name.text) && !if_exists {
                    let error = Error::user(format!("{} has no constraint named {}", target.name, name.text));
                    return Err(error.at_span(name.span));
                }
            }
            AlterTableAction::RenameConstraint { .. }
            | AlterTableAction::SetSchema(_)
            | AlterTableAction::SetOptions(_)
            | AlterTableAction::ResetOptions(_) => {
                let error = Error::unsupported("this change of a table").at_span(alter.span);
                return Err(error.with_hint("docs/tables.md tells what ALTER TABLE can change"));
            }
        }
        self.check_rules(&target.name, &plan.schema, &plan.rules, &written)?;
        Ok(Statement::Definition(Definition::Alter(plan)))
    }

    /// Plans a table with an additional column, filled with its default.
    fn add_column(&self, target: &Target, definition: &ast::ColumnDef) -> Result<Statement> {
        let name = plain(&definition.name);
        if target.has_column(&name) {
            let error = Error::user(format!("{} has a column {name} already", target.name));
            return Err(error.at_span(definition.name.span));
        }
        let mut new = NewColumns { rules: target.rules().clone(), ..NewColumns::default() };
        self.read_column(&target.name, definition, &mut new)?;
        if !new.sequences.is_empty() {
            let error = Error::unsupported("adding an IDENTITY column").at_span(definition.span);
            return Err(error.with_hint("CREATE SEQUENCE, then ADD COLUMN with DEFAULT nextval('...')"));
        }
        self.resolve_references(&target.name, &mut new.rules)?;
        let added = self.typed_addition(target, &mut new)?;
        new.rules.encodings.append(&mut new.encodings);
        let NewColumns { rules, generated, written, .. } = new;
        let Some(added) = added else {
            self.check_rules(&target.name, target.schema(), &rules, &written)?;
            return Ok(target.with_rules(rules));
        };
        let value = match generated.first() {
            Some(_) => {
                let generated = rules.generated_column(added.name()).expect("it was added to the rules");
                stored::expression(&generated.expression)?
            }
            None => target.default_in(&rules, added.name())?.unwrap_or(null()),
        };
        let fields = target.schema().fields().iter().map(|field| field.as_ref().clone());
        let schema = table_schema(fields.chain([added.clone()]))?;
        let mut columns = kept_columns(target, None)?;
        columns.push(rebuilt_column(&added, value, true)?);
        self.rebuilt(target, schema, rules, &columns, &written)
    }

    /// Plans a table with a column of another type, to which its values are cast.
    fn change_type(&self, target: &Target, column: &str, action: &AlterColumnAction) -> Result<Statement> {
        let AlterColumnAction::SetType { data_type: Some(data_type), collation, using } = action else {
            return Err(Error::unsupported("ALTER COLUMN ... TYPE without a type"));
        };
        let collation = collation.as_ref().map(collation_text).transpose()?.flatten();
        let at = target.given_position(column)?;
        let rules = target.rules().clone();
        rules.check_unused(column)?;
        for check in &rules.checks {
            if mentions(&check.condition, column)? {
                return Err(Error::user(format!("{} is about {column}", check.name)).with_hint(format!(
                    "ALTER TABLE {} DROP CONSTRAINT {}, then add it anew",
                    target.name, check.name
                )));
            }
        }
        if let Some((child, reference)) = self.reference_to(&target.name, column) {
            return Err(Error::user(format!("{reference} of {child} refers to {column}"))
                .with_hint(format!("ALTER TABLE {child} DROP CONSTRAINT {reference}")));
        }
        let ty = self.column_type(data_type)?;
        let mut fields: Vec<Field> = target.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        let field = field_of(fields[at].name(), &ty, fields[at].is_nullable())?;
        fields[at] = collated_field(field, collation.as_deref())?;
        let schema = table_schema(fields.into_iter())?;
        let mut columns = kept_columns(target, None)?;
        columns[at].ty = ty;
        if let Some(using) = using {
            columns[at].value = using.clone();
            columns[at].of_catalog = false;
        }
        self.rebuilt(target, schema, rules, &columns, &[])
    }

    /// Returns another table that refers to a column of this one, and the name of its constraint.
    fn reference_to(&self, parent: &ObjectName, column: &str) -> Option<(String, String)> {
        let entries = self.namespace().catalog(&parent.database)?.entries();
        entries.into_iter().find_map(|(child, entry)| {
            let CatalogEntry::Table(table) = entry else { return None };
            let reference = table.rules()?.references.iter().find(|reference| {
                reference.parent.eq_ignore_ascii_case(&parent.name)
                    && reference.parent_columns.iter().any(|name| name.eq_ignore_ascii_case(column))
            });
            Some((child, reference?.name.clone()))
        })
    }

    fn drop_column(&self, target: &Target, column: &str) -> Result<Statement> {
        let mut rules = target.rules().clone();
        rules.check_unused(column)?;
        rules.comments.set_column(column, None);
        if rules.forget_generated(column, target.schema()) {
            return Ok(target.with_rules(rules));
        }
        let at = target.position(column)?;
        let is_it = |name: &String| name.eq_ignore_ascii_case(column);
        let of_keys = rules.keys.iter().map(|key| (&key.name, &key.columns));
        let of_references = rules.references.iter().map(|reference| (&reference.name, &reference.columns));
        if let Some((name, _)) = of_keys.chain(of_references).find(|(_, columns)| columns.iter().any(is_it)) {
            return Err(Error::user(format!("{name} is about {column}"))
                .with_hint(format!("ALTER TABLE {} DROP CONSTRAINT {name}", target.name)));
        }
        rules.defaults.retain(|(name, _)| !is_it(name));
        rules.encodings.retain(|(name, _)| !is_it(name));
        rules.indexes.retain(|index| !index.columns.iter().any(is_it));
        let fields = target.schema().fields().iter().enumerate().filter(|(place, _)| *place != at);
        let schema = table_schema(fields.map(|(_, field)| field.as_ref().clone()))?;
        self.rebuilt(target, schema, rules, &kept_columns(target, Some(at))?, &[])
    }

    /// Plans a rebuild of the table from these columns over its rows.
    fn rebuilt(
        &self,
        target: &Target,
        schema: SchemaRef,
        rules: TableRules,
        columns: &[RebuiltColumn],
        written: &[(String, ast::Expr)],
    ) -> Result<Statement> {
        self.check_rules(&target.name, &schema, &rules, written)?;
        let names = self.statement_names();
        let mut binder = Binder::new(names.clone());
        let relation: Arc<dyn godwit_plan::Relation> = Arc::new(target.relation()?);
        binder.rebuild(&relation, &target.own_name(), columns)?;
        let rows = Some(self.optimized(binder.plan, &names)?);
        let name = target.name.clone();
        let sequences = Vec::new();
        let (or_replace, if_not_exists) = (true, false);
        let create =
            Definition::CreateTable { name, schema, rules, sequences, or_replace, if_not_exists, rows, analyzed: None };
        Ok(Statement::Definition(create))
    }

    fn alter_column(
        &self,
        plan: &mut AlterPlan,
        target: &Target,
        column: &str,
        action: &AlterColumnAction,
        written: &mut Vec<(String, ast::Expr)>,
    ) -> Result<()> {
        let at = target.position(column)?;
        let field = plan.schema.field(at).clone();
        let is_it = |name: &str| name.eq_ignore_ascii_case(field.name());
        match action {
            AlterColumnAction::SetNotNull => set_field(plan, at, field.clone().with_nullable(false))?,
            AlterColumnAction::DropNotNull => {
                if plan.rules.keys.iter().any(|key| key.is_primary && key.columns.iter().any(|name| is_it(name))) {
                    return Err(Error::user(format!("{} is in the primary key", field.name())));
                }
                set_field(plan, at, field.clone().with_nullable(true))?;
            }
            AlterColumnAction::SetDefault(value) => {
                let text = self.default_text(&plan.table, value)?;
                written.push((text.clone(), value.clone()));
                plan.rules.defaults.retain(|(name, _)| !is_it(name));
                plan.rules.defaults.push((field.name().clone(), text));
            }
            AlterColumnAction::DropDefault => plan.rules.defaults.retain(|(name, _)| !is_it(name)),
            AlterColumnAction::SetEncoding(encoding) => {
                plan.rules.encodings.retain(|(name, _)| !is_it(name));
                plan.rules.encodings.push((field.name().clone(), encoding.text.to_lowercase()));
            }
            AlterColumnAction::SetType { .. } => return Err(Error::internal("a type is changed by change_type")),
        }
        Ok(())
    }

    pub(crate) fn create_index(&self, index: &ast::CreateIndex) -> Result<Statement> {
        let target = self.target(&index.table)?;
        let name = match index.name.as_ref().map(|name| (name.single(), name)) {
            Some((Some(name), _)) => plain(name),
            Some((None, name)) => {
                let error = Error::user(format!("{name}: an index is in the schema of its table"));
                return Err(error.at_span(name.span));
            }
            None => return Err(Error::user("an index needs a name").at_span(index.span)),
        };
        if let Some(filter) = &index.filter {
            return Err(Error::unsupported("CREATE INDEX with WHERE").at_span(filter.span));
        }
        if self.table_of_index(&target.name.database, &split_name(&target.name.name).0, &name).is_some() {
            return match index.if_not_exists {
                true => Ok(Statement::Definition(Definition::Nothing)),
                false => Err(Error::user(format!("there is an index named {name} already")).at_span(index.span)),
            };
        }
        let columns = index.keys.iter().map(|key| match &key.expr.kind {
            ast::ExprKind::Column(path) if path.len() == 1 => {
                target.position(&path[0].text).map_err(|error| error.at_span(path[0].span))?;
                Ok(plain(&path[0]))
            }
            _ => Err(Error::unsupported(format!("an index of {}", key.expr)).at_span(key.expr.span)),
        });
        let columns = columns.collect::<Result<_>>()?;
        let mut rules = target.rules().clone();
        match index.unique {
            true => rules.keys.push(KeyRule { name, columns, is_primary: false }),
            false => rules.indexes.push(IndexRule { name, columns }),
        }
        self.check_rules(&target.name, target.schema(), &rules, &[])?;
        Ok(target.with_rules(rules))
    }

    pub(crate) fn drop_index(&self, written: &WrittenName, if_exists: bool) -> Result<Statement> {
        let name = written.last();
        let table = match written.parts() {
            [_] => {
                let current = self.namespace().current();
                let near = self.table_of_index(&current.database, &current.schema, name);
                near.or_else(|| self.table_of_index(&current.database, SCHEMA, name))
            }
            [place @ .., _] => {
                let place = self.namespace().place(place)?;
                self.table_of_index(&place.database, &place.schema, name)
            }
            [] => None,
        };
        let Some(table) = table else {
            return match if_exists {
                true => Ok(Statement::Definition(Definition::Nothing)),
                false => Err(Error::user(format!("no index named {name}"))),
            };
        };
        let target = self.target_named(table)?;
        let mut rules = target.rules().clone();
        rules.remove(name);
        Ok(target.with_rules(rules))
    }

    /// Returns the table of a schema that has an index or key of this name.
    fn table_of_index(&self, database: &str, schema: &str, name: &str) -> Option<ObjectName> {
        let has = |rules: &TableRules| {
            let keys = rules.keys.iter().map(|key| &key.name);
            keys.chain(rules.indexes.iter().map(|index| &index.name)).any(|known| known.eq_ignore_ascii_case(name))
        };
        let entries = self.namespace().catalog(database)?.entries();
        let found = entries.into_iter().find(|(full, entry)| match entry {
            CatalogEntry::Table(table) => split_name(full).0 == schema && table.rules().is_some_and(has),
            _ => false,
        });
        found.map(|(table, _)| ObjectName { database: database.into(), name: table })
    }
}

impl Target {
    /// Returns an alteration that keeps the table's name and columns, with these rules.
    fn alteration(&self, rules: TableRules) -> AlterPlan {
        let (table, schema) = (self.name.clone(), self.schema().clone());
        AlterPlan { new_name: table.name.clone(), table, schema, rules }
    }

    fn with_rules(&self, rules: TableRules) -> Statement {
        Statement::Definition(Definition::Alter(self.alteration(rules)))
    }
}

fn set_field(plan: &mut AlterPlan, at: usize, field: Field) -> Result<()> {
    let fields = plan.schema.fields().iter().enumerate();
    let fields = fields.map(|(place, known)| if place == at { field.clone() } else { known.as_ref().clone() });
    plan.schema = table_schema(fields)?;
    Ok(())
}

/// Renames a column in all rules that mention it.
fn rename_column(plan: &mut AlterPlan, target: &Target, from: &str, to: &str) -> Result<()> {
    if target.has_column(to) && !from.eq_ignore_ascii_case(to) {
        return Err(Error::user(format!("{} has a column {to} already", plan.table)));
    }
    let rules = &mut plan.rules;
    if let Some((name, _)) = rules.comments.columns.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(from)) {
        to.clone_into(name);
    }
    for check in &mut rules.checks {
        check.condition = with_renamed(&check.condition, from, to)?;
    }
    for generated in &mut rules.generated {
        if generated.kind != GeneratedKind::Identity {
            generated.expression = with_renamed(&generated.expression, from, to)?;
        }
        if generated.field.name().eq_ignore_ascii_case(from) {
            generated.field.set_name(to);
            if generated.kind == GeneratedKind::Virtual {
                return Ok(());
            }
        }
    }
    let at = target.position(from)?;
    let of_lists = rules.keys.iter_mut().flat_map(|key| &mut key.columns);
    let of_lists = of_lists.chain(rules.references.iter_mut().flat_map(|reference| &mut reference.columns));
    let of_lists = of_lists.chain(rules.indexes.iter_mut().flat_map(|index| &mut index.columns));
    let of_pairs = rules.defaults.iter_mut().chain(&mut rules.encodings).map(|(name, _)| name);
    for name in of_lists.chain(of_pairs) {
        if name.eq_ignore_ascii_case(from) {
            to.clone_into(name);
        }
    }
    let field = plan.schema.field(at).clone().with_name(to);
    set_field(plan, at, field)
}

/// Returns the column that a path names; a field of a struct can't be changed by itself.
fn column_name(path: &ast::ObjectName) -> Result<String> {
    match path.single() {
        Some(name) => Ok(plain(name)),
        None => Err(Error::unsupported("changes of a field of a struct").at_span(path.span)),
    }
}

/// Returns all columns of a table but one, unchanged.
fn kept_columns(target: &Target, without: Option<usize>) -> Result<Vec<RebuiltColumn>> {
    let fields = target.schema().fields().iter().enumerate().filter(|(at, _)| Some(*at) != without);
    fields.map(|(_, field)| rebuilt_column(field, column(field.name()), true)).collect()
}

fn rebuilt_column(field: &Field, value: ast::Expr, of_catalog: bool) -> Result<RebuiltColumn> {
    Ok(RebuiltColumn { name: field.name().clone(), ty: type_of_field(field)?, value, of_catalog })
}

fn null() -> ast::Expr {
    ast::Expr { kind: ast::ExprKind::Literal(ast::Literal::Null), span: godwit_common::Span::NONE }
}
