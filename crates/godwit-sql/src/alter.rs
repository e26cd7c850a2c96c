//! `ALTER TABLE`, `CREATE INDEX`, `DROP INDEX`.
//!
//! What changes names and rules only is a new definition over the same rows. What adds or removes columns is a query whose
//! rows replace the table.

use arrow_schema::{Field, SchemaRef};
use datafusion_sql::sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation, Ident, RenameTableNameKind, SelectItem,
};
use godwit_common::{Error, Result};

use crate::create_table::{plain, read_column, read_constraint, table_schema};
use crate::parse::object_name;
use crate::rules::{IndexRule, KeyRule};
use crate::write::{Target, expression, named, quoted, select, table};
use crate::{CatalogEntry, ParsedStatement, Planner, Statement, TableRules};

/// Another definition of a table over the same rows.
#[derive(Debug, Clone)]
pub struct AlterPlan {
    /// The table's name.
    pub table: String,
    /// Its name from now on.
    pub new_name: String,
    /// Its columns, with the types that they have.
    pub schema: SchemaRef,
    /// Its rules.
    pub rules: TableRules,
}

impl Planner {
    pub(crate) fn alter_table(&self, alter: &ast::AlterTable, parsed: &ParsedStatement) -> Result<Statement> {
        let name = object_name(&alter.name)?;
        let [operation] = &alter.operations[..] else {
            return Err(Error::unsupported("ALTER TABLE with several changes").with_hint("make them one by one"));
        };
        if alter.if_exists && self.catalog().get(&name).is_none() {
            return Ok(Statement::Nothing);
        }
        let target = self.target(&name, None)?;
        let mut plan = AlterPlan {
            table: name.clone(),
            new_name: name.clone(),
            schema: target.schema().clone(),
            rules: target.rules().clone(),
        };
        match operation {
            AlterTableOperation::RenameTable {
                table_name: RenameTableNameKind::To(to) | RenameTableNameKind::As(to),
            } => {
                plan.new_name = object_name(to)?;
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                let at = target.position(&plain(old_column_name))?;
                plan.rename_column(at, &plain(new_column_name))?;
            }
            AlterTableOperation::AddColumn { column_def, if_not_exists, .. } => {
                if *if_not_exists && target.position(&plain(&column_def.name)).is_ok() {
                    return Ok(Statement::Nothing);
                }
                return self.add_column(&target, column_def.clone(), parsed);
            }
            AlterTableOperation::DropColumn { column_names, if_exists, .. } => {
                let [column] = &column_names[..] else {
                    return Err(Error::unsupported("ALTER TABLE that drops several columns"));
                };
                if *if_exists && target.position(&plain(column)).is_err() {
                    return Ok(Statement::Nothing);
                }
                return self.drop_column(&target, &plain(column), parsed);
            }
            AlterTableOperation::AlterColumn { column_name, op } => plan.alter_column(&target, column_name, op)?,
            AlterTableOperation::AddConstraint { constraint, .. } => {
                read_constraint(&name, constraint, &mut plan.rules)?;
                plan.schema = crate::create_table::with_primary_key(&plan.schema, &plan.rules);
            }
            AlterTableOperation::DropConstraint { name: constraint, if_exists, .. } => {
                if !plan.rules.remove(&plain(constraint)) && !if_exists {
                    return Err(Error::user(format!("{name} has no constraint named {constraint}")));
                }
            }
            other => return Err(Error::unsupported(format!("ALTER TABLE {other}"))),
        }
        self.check_rules(&plan.new_name, &plan.schema, &plan.rules, parsed)?;
        Ok(Statement::Alter(plan))
    }

    /// `ALTER TABLE t ALTER a SET ENCODING x`.
    pub(crate) fn set_encoding(&self, alter: &ast::AlterTable, encoding: &str) -> Result<Statement> {
        let [AlterTableOperation::AlterColumn { column_name, .. }] = &alter.operations[..] else {
            return Err(Error::user("SET ENCODING is about a column"));
        };
        let target = self.target(&object_name(&alter.name)?, None)?;
        let at = target.position(&plain(column_name))?;
        let (table, schema, mut rules) = (target.name.clone(), target.schema().clone(), target.rules().clone());
        let column = schema.field(at).name().clone();
        rules.encodings.retain(|(name, _)| !name.eq_ignore_ascii_case(&column));
        rules.encodings.push((column, encoding.to_lowercase()));
        Ok(Statement::Alter(AlterPlan { new_name: table.clone(), table, schema, rules }))
    }

    /// The table with one more column, filled with its default.
    fn add_column(&self, target: &Target, mut column: ast::ColumnDef, parsed: &ParsedStatement) -> Result<Statement> {
        let mut rules = target.rules().clone();
        read_column(&target.name, &mut column, &mut rules)?;
        let mut added = self.binder().columns(vec![column], parsed)?;
        let added = added.remove(0);
        let value = match rules.default_of(added.name()) {
            Some(text) => expression(text)?,
            None => ast::Expr::value(ast::Value::Null),
        };
        let fields = target.schema().fields().iter().map(|field| field.as_ref().clone()).chain([added.clone()]);
        let schema = table_schema(fields)?;
        let mut items = columns_of(target, None);
        items.push(named(value, added.name()));
        self.rebuilt(target, schema, rules, items, parsed)
    }

    fn drop_column(&self, target: &Target, column: &str, parsed: &ParsedStatement) -> Result<Statement> {
        let at = target.position(column)?;
        let mut rules = target.rules().clone();
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
        let query = select(items, vec![table(&target.name, &quoted(&target.name))?], None)?;
        let (bound, _) = self.bound_with(query, Vec::new(), parsed)?;
        let rows = crate::create_table::as_rows_of(&schema, bound);
        let rows = rows.map_err(|error| crate::plan_error::of_planning(&error, parsed))?;
        let rows = Some(self.optimize(rows, parsed)?);
        let name = target.name.clone();
        Ok(Statement::CreateTable { name, schema, rules, or_replace: true, if_not_exists: false, rows })
    }

    pub(crate) fn create_index(&self, index: &ast::CreateIndex, parsed: &ParsedStatement) -> Result<Statement> {
        let target = self.target(&object_name(&index.table_name)?, None)?;
        let name = match &index.name {
            Some(name) => object_name(name)?,
            None => return Err(Error::user("an index needs a name")),
        };
        if index.predicate.is_some() || !index.include.is_empty() {
            return Err(Error::unsupported("CREATE INDEX with WHERE or INCLUDE"));
        }
        if self.table_of_index(&name).is_some() {
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
        let (table, schema) = (target.name.clone(), target.schema().clone());
        Ok(Statement::Alter(AlterPlan { new_name: table.clone(), table, schema, rules }))
    }

    pub(crate) fn drop_index(&self, name: &str, if_exists: bool) -> Result<Statement> {
        let Some(table) = self.table_of_index(name) else {
            return match if_exists {
                true => Ok(Statement::Nothing),
                false => Err(Error::user(format!("no index named {name}"))),
            };
        };
        let target = self.target(&table, None)?;
        let mut rules = target.rules().clone();
        rules.remove(name);
        Ok(Statement::Alter(AlterPlan { new_name: table.clone(), table, schema: target.schema().clone(), rules }))
    }

    /// The table that an index or key of this name is on.
    fn table_of_index(&self, name: &str) -> Option<String> {
        let has = |rules: &TableRules| {
            let keys = rules.keys.iter().map(|key| &key.name);
            keys.chain(rules.indexes.iter().map(|index| &index.name)).any(|known| known.eq_ignore_ascii_case(name))
        };
        let entries = self.catalog().entries();
        let found = entries.into_iter().find(|(_, entry)| match entry {
            CatalogEntry::Table(table) => table.writable.as_ref().is_some_and(|writable| has(writable.rules())),
            CatalogEntry::View(_) => false,
        });
        found.map(|(table, _)| table)
    }
}

impl AlterPlan {
    fn set_field(&mut self, at: usize, field: Field) -> Result<()> {
        let fields = self.schema.fields().iter().enumerate();
        let fields = fields.map(|(place, known)| if place == at { field.clone() } else { known.as_ref().clone() });
        self.schema = table_schema(fields)?;
        Ok(())
    }

    fn rename_column(&mut self, at: usize, to: &str) -> Result<()> {
        let field = self.schema.field(at).clone();
        let from = field.name().clone();
        if let Some(check) = self.rules.checks.first() {
            return Err(Error::unsupported(format!("renaming columns of a table with a check ({})", check.name))
                .with_hint(format!("ALTER TABLE {} DROP CONSTRAINT {}, then add it anew", self.table, check.name)));
        }
        let rules = &mut self.rules;
        let of_lists = rules.keys.iter_mut().flat_map(|key| &mut key.columns);
        let of_lists = of_lists.chain(rules.references.iter_mut().flat_map(|reference| &mut reference.columns));
        let of_lists = of_lists.chain(rules.indexes.iter_mut().flat_map(|index| &mut index.columns));
        let of_pairs = rules.defaults.iter_mut().chain(&mut rules.encodings).map(|(name, _)| name);
        for name in of_lists.chain(of_pairs) {
            if name.eq_ignore_ascii_case(&from) {
                to.clone_into(name);
            }
        }
        self.set_field(at, field.with_name(to))
    }

    fn alter_column(&mut self, target: &Target, column: &Ident, operation: &AlterColumnOperation) -> Result<()> {
        let at = target.position(&plain(column))?;
        let field = self.schema.field(at).clone();
        let is_it = |name: &str| name.eq_ignore_ascii_case(field.name());
        match operation {
            AlterColumnOperation::SetNotNull => self.set_field(at, field.clone().with_nullable(false))?,
            AlterColumnOperation::DropNotNull => {
                if self.rules.keys.iter().any(|key| key.is_primary && key.columns.iter().any(|name| is_it(name))) {
                    return Err(Error::user(format!("{} is in the primary key", field.name())));
                }
                self.set_field(at, field.clone().with_nullable(true))?;
            }
            AlterColumnOperation::SetDefault { value } => {
                self.rules.defaults.retain(|(name, _)| !is_it(name));
                self.rules.defaults.push((field.name().clone(), value.to_string()));
            }
            AlterColumnOperation::DropDefault => self.rules.defaults.retain(|(name, _)| !is_it(name)),
            other => return Err(Error::unsupported(format!("ALTER COLUMN {other}"))),
        }
        Ok(())
    }
}

/// All columns of a table but one.
fn columns_of(target: &Target, without: Option<usize>) -> Vec<SelectItem> {
    let fields = target.schema().fields().iter().enumerate().filter(|(at, _)| Some(*at) != without);
    fields.map(|(_, field)| SelectItem::UnnamedExpr(target.column(field.name()))).collect()
}
