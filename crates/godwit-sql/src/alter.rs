//! `ALTER TABLE`, `CREATE INDEX`, `DROP INDEX`.
//!
//! What changes names and rules only is a new definition over the same rows. What adds or removes columns is a query whose
//! rows replace the table.

use arrow_schema::{Field, SchemaRef};
use datafusion_sql::sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation, Ident, RenameTableNameKind, SelectItem,
};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::Token;
use godwit_common::{Error, Result};

use crate::create_table::{NewColumns, plain, read_constraint, table_schema};
use crate::generated::{mentions, with_renamed};
use crate::names::{ObjectName, SCHEMA, WrittenName, full_name, simple_name, split_name};
use crate::parse::{StatementParser, Syntax};
use crate::rules::{IndexRule, KeyRule};
use crate::write::{TARGET, Target, named, quoted, select, table};
use crate::{CatalogEntry, GeneratedKind, ParsedStatement, Planner, Statement, TableRules, plan_error};

/// Another definition of a table over the same rows.
#[derive(Debug, Clone)]
pub struct AlterPlan {
    /// The table.
    pub table: ObjectName,
    /// Its full name from now on.
    pub new_name: String,
    /// Its columns, with the types that they have.
    pub schema: SchemaRef,
    /// Its rules.
    pub rules: TableRules,
}

impl StatementParser<'_> {
    /// The parser crate doesn't read USING in this dialect.
    pub(crate) fn alter_using(&mut self) -> Result<Syntax> {
        let Some(at) = self.position_outside(Keyword::USING) else { return self.other() };
        let mut parser = self.parser(at + 1);
        let using = parser.parse_expr().map_err(|error| plan_error::of_parser(&error, self.sql))?;
        let rest = parser.peek_token();
        if rest.token != Token::EOF {
            let error = Error::user(format!("expected the end of the statement, found {}", rest.token));
            return Err(plan_error::with_location(error, rest.span.start));
        }
        let place = self.tokens[at].span.start;
        self.tokens.truncate(at);
        let mut syntax = self.other()?;
        let operation = match &mut syntax {
            Syntax::Alter(alter) => alter.operations.first_mut(),
            _ => None,
        };
        match operation {
            Some(AlterTableOperation::AlterColumn {
                op: AlterColumnOperation::SetDataType { using: slot, .. },
                ..
            }) => {
                *slot = Some(using);
                Ok(syntax)
            }
            _ => Err(plan_error::with_location(Error::user("USING belongs to ALTER COLUMN ... TYPE"), place)),
        }
    }
}

impl Planner {
    pub(crate) fn alter_table(&self, alter: &ast::AlterTable, parsed: &ParsedStatement) -> Result<Statement> {
        let written = WrittenName::of(&alter.name)?;
        let [operation] = &alter.operations[..] else {
            return Err(Error::unsupported("ALTER TABLE with several changes").with_hint("make them one by one"));
        };
        if alter.if_exists && self.namespace().find(written.parts()).is_none() {
            return Ok(Statement::Nothing);
        }
        let target = self.target(&written, None)?;
        let name = target.name.clone();
        let mut plan = target.alteration(target.rules().clone());
        match operation {
            AlterTableOperation::RenameTable {
                table_name: RenameTableNameKind::To(to) | RenameTableNameKind::As(to),
            } => {
                let (schema, _) = split_name(&name.name);
                plan.new_name = full_name(&schema, &simple_name(to)?);
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                plan.rename_column(&target, &plain(old_column_name), &plain(new_column_name))?;
            }
            AlterTableOperation::AddColumn { column_def, if_not_exists, .. } => {
                if *if_not_exists && target.has_column(&plain(&column_def.name)) {
                    return Ok(Statement::Nothing);
                }
                return self.add_column(&target, column_def.clone(), parsed);
            }
            AlterTableOperation::DropColumn { column_names, if_exists, .. } => {
                let [column] = &column_names[..] else {
                    return Err(Error::unsupported("ALTER TABLE that drops several columns"));
                };
                if *if_exists && !target.has_column(&plain(column)) {
                    return Ok(Statement::Nothing);
                }
                return self.drop_column(&target, &plain(column), parsed);
            }
            AlterTableOperation::AlterColumn {
                column_name,
                op: AlterColumnOperation::SetDataType { data_type, using, .. },
            } => {
                return self.change_type(&target, &plain(column_name), data_type, using.as_ref(), parsed);
            }
            AlterTableOperation::AlterColumn { column_name, op } => {
                self.alter_column(&mut plan, &target, column_name, op)?
            }
            AlterTableOperation::AddConstraint { constraint, .. } => {
                read_constraint(written.last(), constraint, &mut plan.rules)?;
                self.resolve_references(&name, &mut plan.rules)?;
                plan.schema = crate::create_table::with_primary_key(&plan.schema, &plan.rules);
            }
            AlterTableOperation::DropConstraint { name: constraint, if_exists, .. } => {
                if !plan.rules.remove(&plain(constraint)) && !if_exists {
                    return Err(Error::user(format!("{name} has no constraint named {constraint}")));
                }
            }
            other => return Err(Error::unsupported(format!("ALTER TABLE {other}"))),
        }
        self.check_rules(&name, &plan.schema, &plan.rules, parsed)?;
        Ok(Statement::Alter(plan))
    }

    /// `ALTER TABLE t ALTER a SET ENCODING x`.
    pub(crate) fn set_encoding(&self, alter: &ast::AlterTable, encoding: &str) -> Result<Statement> {
        let [AlterTableOperation::AlterColumn { column_name, .. }] = &alter.operations[..] else {
            return Err(Error::user("SET ENCODING is about a column"));
        };
        let target = self.target(&WrittenName::of(&alter.name)?, None)?;
        let at = target.position(&plain(column_name))?;
        let column = target.schema().field(at).name().clone();
        let mut rules = target.rules().clone();
        rules.encodings.retain(|(name, _)| !name.eq_ignore_ascii_case(&column));
        rules.encodings.push((column, encoding.to_lowercase()));
        Ok(target.with_rules(rules))
    }

    /// The table with one more column, filled with its default.
    fn add_column(&self, target: &Target, column: ast::ColumnDef, parsed: &ParsedStatement) -> Result<Statement> {
        let name = plain(&column.name);
        if target.has_column(&name) {
            return Err(Error::user(format!("{} has a column {name} already", target.name)));
        }
        let mut new = NewColumns { rules: target.rules().clone(), ..NewColumns::default() };
        self.read_column(&target.name, column, &mut new)?;
        let NewColumns { columns, mut rules, generated, sequences } = new;
        if !sequences.is_empty() {
            return Err(Error::unsupported("adding an IDENTITY column")
                .with_hint("CREATE SEQUENCE, then ADD COLUMN with DEFAULT nextval('...')"));
        }
        self.resolve_references(&target.name, &mut rules)?;
        let fields = target.schema().fields().iter().map(|field| field.as_ref().clone());
        let added = self.typed_addition(target, columns, &generated, &mut rules, parsed)?;
        let Some(added) = added else { return Ok(target.with_rules(rules)) };
        let value = match generated.first() {
            Some(stored) => stored.expr.clone(),
            None => target.default_in(&rules, added.name())?,
        };
        let schema = table_schema(fields.chain([added.clone()]))?;
        let mut items = columns_of(target, None);
        items.push(named(value, added.name()));
        self.rebuilt(target, schema, rules, items, parsed)
    }

    /// The table with a column of another type, to which its values are cast.
    fn change_type(
        &self,
        target: &Target,
        column: &str,
        data_type: &ast::DataType,
        using: Option<&ast::Expr>,
        parsed: &ParsedStatement,
    ) -> Result<Statement> {
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
        let name = quoted(target.schema().field(at).name());
        let definition = ast::ColumnDef { name: name.clone(), data_type: data_type.clone(), options: Vec::new() };
        let changed = self.binder().columns(vec![definition], parsed)?.remove(0);
        let fields = target.schema().fields().iter().enumerate().map(|(place, field)| match place == at {
            true => changed.clone().with_nullable(field.is_nullable()),
            false => field.as_ref().clone(),
        });
        let schema = table_schema(fields)?;
        let mut items = columns_of(target, None);
        if let Some(using) = using {
            items[at] = named(using.clone(), &name.value);
        }
        self.rebuilt(target, schema, rules, items, parsed)
    }

    /// Another table that refers to a column of this one, and the name of its constraint.
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

    fn drop_column(&self, target: &Target, column: &str, parsed: &ParsedStatement) -> Result<Statement> {
        let mut rules = target.rules().clone();
        rules.check_unused(column)?;
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
        self.rebuilt(target, schema, rules, columns_of(target, Some(at)), parsed)
    }

    /// The table made anew of these expressions over its rows.
    fn rebuilt(
        &self,
        target: &Target,
        schema: SchemaRef,
        rules: TableRules,
        items: Vec<SelectItem>,
        parsed: &ParsedStatement,
    ) -> Result<Statement> {
        self.check_rules(&target.name, &schema, &rules, parsed)?;
        let query = select(items, vec![table(TARGET, &target.alias)?], None)?;
        let (bound, _) = self.bound_with(query, vec![target.without_row_ids()], parsed)?;
        let rows = crate::create_table::as_rows_of(&schema, bound);
        let rows = rows.map_err(|error| plan_error::of_planning(&error, parsed))?;
        let rows = Some(self.optimize(rows, parsed)?);
        let name = target.name.clone();
        let sequences = Vec::new();
        Ok(Statement::CreateTable { name, schema, rules, sequences, or_replace: true, if_not_exists: false, rows })
    }

    fn alter_column(
        &self,
        plan: &mut AlterPlan,
        target: &Target,
        column: &Ident,
        operation: &AlterColumnOperation,
    ) -> Result<()> {
        let at = target.position(&plain(column))?;
        let field = plan.schema.field(at).clone();
        let is_it = |name: &str| name.eq_ignore_ascii_case(field.name());
        match operation {
            AlterColumnOperation::SetNotNull => plan.set_field(at, field.clone().with_nullable(false))?,
            AlterColumnOperation::DropNotNull => {
                if plan.rules.keys.iter().any(|key| key.is_primary && key.columns.iter().any(|name| is_it(name))) {
                    return Err(Error::user(format!("{} is in the primary key", field.name())));
                }
                plan.set_field(at, field.clone().with_nullable(true))?;
            }
            AlterColumnOperation::SetDefault { value } => {
                plan.rules.defaults.retain(|(name, _)| !is_it(name));
                plan.rules.defaults.push((field.name().clone(), self.default_text(&plan.table, value)?));
            }
            AlterColumnOperation::DropDefault => plan.rules.defaults.retain(|(name, _)| !is_it(name)),
            other => return Err(Error::unsupported(format!("ALTER COLUMN {other}"))),
        }
        Ok(())
    }

    pub(crate) fn create_index(&self, index: &ast::CreateIndex, parsed: &ParsedStatement) -> Result<Statement> {
        let target = self.target(&WrittenName::of(&index.table_name)?, None)?;
        let name = match &index.name {
            Some(name) => simple_name(name)?,
            None => return Err(Error::user("an index needs a name")),
        };
        if index.predicate.is_some() || !index.include.is_empty() {
            return Err(Error::unsupported("CREATE INDEX with WHERE or INCLUDE"));
        }
        if self.table_of_index(&target.name.database, &split_name(&target.name.name).0, &name).is_some() {
            return match index.if_not_exists {
                true => Ok(Statement::Nothing),
                false => Err(Error::user(format!("there is an index named {name} already"))),
            };
        }
        let columns = index.columns.iter().map(|column| match &column.column.expr {
            ast::Expr::Identifier(column) => {
                target.position(&plain(column))?;
                Ok(plain(column))
            }
            other => Err(Error::unsupported(format!("an index of {other}"))),
        });
        let columns = columns.collect::<Result<_>>()?;
        let mut rules = target.rules().clone();
        match index.unique {
            true => rules.keys.push(KeyRule { name, columns, is_primary: false }),
            false => rules.indexes.push(IndexRule { name, columns }),
        }
        self.check_rules(&target.name, target.schema(), &rules, parsed)?;
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
                true => Ok(Statement::Nothing),
                false => Err(Error::user(format!("no index named {name}"))),
            };
        };
        let target = self.target_named(table, quoted(name))?;
        let mut rules = target.rules().clone();
        rules.remove(name);
        Ok(target.with_rules(rules))
    }

    /// The table of a schema that an index or key of this name is on.
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
    /// The table by its name and with its columns, and with these rules.
    fn alteration(&self, rules: TableRules) -> AlterPlan {
        let (table, schema) = (self.name.clone(), self.schema().clone());
        AlterPlan { new_name: table.name.clone(), table, schema, rules }
    }

    fn with_rules(&self, rules: TableRules) -> Statement {
        Statement::Alter(self.alteration(rules))
    }
}

impl AlterPlan {
    fn set_field(&mut self, at: usize, field: Field) -> Result<()> {
        let fields = self.schema.fields().iter().enumerate();
        let fields = fields.map(|(place, known)| if place == at { field.clone() } else { known.as_ref().clone() });
        self.schema = table_schema(fields)?;
        Ok(())
    }

    fn rename_column(&mut self, target: &Target, from: &str, to: &str) -> Result<()> {
        if target.has_column(to) && !from.eq_ignore_ascii_case(to) {
            return Err(Error::user(format!("{} has a column {to} already", self.table)));
        }
        let rules = &mut self.rules;
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
        let field = self.schema.field(at).clone().with_name(to);
        self.set_field(at, field)
    }
}

/// All columns of a table but one.
fn columns_of(target: &Target, without: Option<usize>) -> Vec<SelectItem> {
    let fields = target.schema().fields().iter().enumerate().filter(|(at, _)| Some(*at) != without);
    fields.map(|(_, field)| SelectItem::UnnamedExpr(target.column(field.name()))).collect()
}
