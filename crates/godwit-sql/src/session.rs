//! Statements about the session and its transactions, without rows or definitions.

use godwit_common::{Error, Result, Span};
use godwit_syntax::ast::{self, DescribeTarget, Expr, ExprKind, Literal, PragmaValue, Show, TransactionMode};

use godwit_catalog::names::{WrittenName, plain, quoted_text};
use godwit_catalog::{CatalogEntry, OptionValue};

use crate::session_values::reset_variable;
use crate::{
    AttachPlan, Definition, ParsedStatement, Planner, QueryStatement, SessionStatement, Statement, TransactionStep,
};

impl Planner {
    pub(crate) fn show(&self, show: &Show) -> Result<Statement> {
        match show {
            Show::Settings => session(SessionStatement::Show { name: None }),
            Show::Name(name) if self.is_table(name)? => {
                let kind = ast::TableFactorKind::Table(name.clone());
                let table = ast::TableFactor { kind, alias: None, sample: None, span: name.span };
                let target = DescribeTarget::Table(Box::new(table));
                let describe = Box::new(ast::Describe { target, span: name.span });
                let query = ast::Query::of(ast::SetExprKind::Describe(describe), name.span);
                Ok(Statement::Query(QueryStatement::Rows { plan: self.planned(&query)? }))
            }
            Show::Name(name) => session(SessionStatement::Show { name: Some(name.to_string().to_lowercase()) }),
            Show::Tables { .. } | Show::Databases | Show::Schemas => {
                let kind = ast::SetExprKind::Show(Box::new(show.clone()));
                Ok(Statement::Query(QueryStatement::Rows { plan: self.planned(&ast::Query::of(kind, Span::NONE))? }))
            }
        }
    }

    /// Returns true if `SHOW t` describes a table or view; other names are those of settings.
    fn is_table(&self, name: &ast::ObjectName) -> Result<bool> {
        let found = self.namespace().find(WrittenName::of(name)?.parts());
        Ok(matches!(found, Some((_, CatalogEntry::Table(_) | CatalogEntry::View(_)))))
    }

    pub(crate) fn set(&self, set: &ast::Set, parsed: &ParsedStatement) -> Result<Statement> {
        let name = set.name.to_string().to_lowercase();
        let value = match &set.values[..] {
            [] => return session(SessionStatement::Reset { name: Some(name) }),
            [value] => setting_text(value, parsed),
            _ => written(set.value_span, parsed).to_owned(),
        };
        if name == "schema" || name == "search_path" {
            let places = value.split(',').map(|place| WrittenName::of_text(place.trim()));
            return self.use_places(&places.collect::<Result<Vec<_>>>()?);
        }
        session(SessionStatement::Set { name, value })
    }

    pub(crate) fn use_places(&self, places: &[WrittenName]) -> Result<Statement> {
        let path = places.iter().map(|place| self.namespace().place(place.parts())).collect::<Result<_>>()?;
        session(SessionStatement::Use { path })
    }
}

fn session(statement: SessionStatement) -> Result<Statement> {
    Ok(Statement::Session(statement))
}

/// Returns the query that a PRAGMA without a value stands for.
pub(crate) fn pragma_query(pragma: &ast::Pragma) -> Option<String> {
    let name = pragma.name.text.to_lowercase();
    match (name.as_str(), &pragma.value) {
        ("show_tables", PragmaValue::None) => Some("SHOW TABLES".to_owned()),
        ("show_tables_expanded", PragmaValue::None) => Some("SHOW ALL TABLES".to_owned()),
        ("database_list", PragmaValue::None) => Some("FROM pragma_database_list".to_owned()),
        ("show_databases", PragmaValue::None) => Some("SHOW DATABASES".to_owned()),
        ("functions", PragmaValue::None) => {
            Some("SELECT name, kind AS type, signature FROM godwit_functions()".to_owned())
        }
        ("version", PragmaValue::None) => Some("SELECT version() AS library_version".to_owned()),
        ("table_info" | "show", PragmaValue::Call(arguments)) => {
            let [argument] = &arguments[..] else { return None };
            let quoted = |parts: Vec<&str>| parts.into_iter().map(quoted_text).collect::<Vec<_>>().join(".");
            let table = match &argument.value.kind {
                // With quotes, it is a name as statements have it.
                ExprKind::Literal(Literal::String(text)) if text.contains('"') => text.to_string(),
                ExprKind::Literal(Literal::String(text)) => quoted(text.split('.').collect()),
                ExprKind::Column(parts) => quoted(parts.iter().map(|part| &*part.text).collect()),
                _ => return None,
            };
            Some(match name.as_str() {
                "show" => format!("DESCRIBE {table}"),
                _ => format!(
                    "SELECT row_number() OVER () - 1 AS cid, column_name AS name, column_type AS type, \
                     \"null\" = 'NO' AS \"notnull\", \"default\" AS dflt_value, coalesce(key = 'PRI', FALSE) AS pk \
                     FROM (DESCRIBE {table})"
                ),
            })
        }
        _ => None,
    }
}

pub(crate) fn pragma_setting(pragma: &ast::Pragma, parsed: &ParsedStatement) -> Result<Statement> {
    let name = pragma.name.text.to_lowercase();
    match &pragma.value {
        PragmaValue::Set(value) => session(SessionStatement::Set { name, value: setting_text(value, parsed) }),
        PragmaValue::None if name == "force_checkpoint" => session(SessionStatement::Checkpoint),
        PragmaValue::None if is_of_duckdb(&name) => Ok(Statement::Definition(Definition::Nothing)),
        PragmaValue::None | PragmaValue::Call(_) => {
            let error = Error::unsupported(format!("PRAGMA {} without a value", pragma.name.text));
            let hint = "settings are set by PRAGMA name = value; there are table_info('t'), show('t'), show_tables, \
                        show_databases and version";
            Err(error.at_span(pragma.span).with_hint(hint))
        }
    }
}

/// Returns true for pragmas that say how DuckDB works, or that it checks itself: there is nothing to do.
fn is_of_duckdb(name: &str) -> bool {
    const PARTS: [&str; 9] = [
        "checkpoint_on_shutdown",
        "object_cache",
        "optimizer",
        "print_progress_bar",
        "profile",
        "profiling",
        "progress_bar",
        "verification",
        "verify_parallelism",
    ];
    let part = name.strip_prefix("enable_").or_else(|| name.strip_prefix("disable_")).unwrap_or_default();
    PARTS.contains(&part) || name.starts_with("verify_") || name.starts_with("disable_verify_")
}

/// Returns the value of a setting: a string without its quotes, or the text as written.
fn setting_text(value: &Expr, parsed: &ParsedStatement) -> String {
    match &value.kind {
        ExprKind::Literal(Literal::String(text)) => text.to_string(),
        _ => written(value.span, parsed).to_owned(),
    }
}

fn written(span: Span, parsed: &ParsedStatement) -> &str {
    &parsed.script[span.start as usize..span.end as usize]
}

/// DuckDB's extensions for what is built in.
const BUILT_IN: [&str; 8] = ["autocomplete", "aws", "azure", "core_functions", "httpfs", "icu", "json", "parquet"];

/// LOAD or INSTALL, for scripts that come from DuckDB: there is nothing to do for what is built in.
pub(crate) fn load_extension(load: &ast::LoadExtension) -> Result<Statement> {
    if BUILT_IN.contains(&load.name.text.to_lowercase().as_str()) {
        return Ok(Statement::Definition(Definition::Nothing));
    }
    let error = Error::unsupported(format!("the extension {}", load.name.text)).at_span(load.name.span);
    Err(error
        .with_hint(format!("extensions can't be loaded; built in are those that DuckDB calls {}", BUILT_IN.join(", "))))
}

pub(crate) fn attach_plan(attach: &ast::Attach) -> Result<Statement> {
    if attach.or_replace {
        return Err(Error::unsupported("ATTACH OR REPLACE").at_span(attach.span));
    }
    let mut is_read_only = false;
    for option in &attach.options {
        let value = option.value.as_ref().and_then(option_text).map(|text| text.to_lowercase());
        match (&*option.name.text.to_lowercase(), value.as_deref(), &option.value) {
            ("read_only" | "readonly", None, None) | ("read_only" | "readonly", Some("true" | "1" | "on"), _) => {
                is_read_only = true;
            }
            ("read_only" | "readonly", Some("false" | "0" | "off"), _) | ("read_write", None, None) => {
                is_read_only = false;
            }
            ("type", Some("godwit"), _) => {}
            // How DuckDB lays its files out.
            ("block_size" | "row_group_size" | "storage_version" | "compress" | "recovery_mode", _, Some(_)) => {}
            _ => {
                let error = Error::unsupported(format!("ATTACH with the option {}", option.name.text));
                return Err(error.at_span(option.name.span).with_hint("there is READ_ONLY"));
            }
        }
    }
    session(SessionStatement::Attach(AttachPlan {
        path: attach.path.to_string(),
        name: attach.name.as_ref().map(plain),
        is_read_only,
        if_not_exists: attach.if_not_exists,
    }))
}

pub(crate) fn begin_transaction(begin: &ast::Begin) -> Result<Statement> {
    let mut is_read_only = false;
    for (mode, span) in &begin.modes {
        match mode {
            TransactionMode::ReadOnly => is_read_only = true,
            TransactionMode::ReadWrite => is_read_only = false,
            // A snapshot satisfies these isolation levels.
            TransactionMode::ReadUncommitted | TransactionMode::ReadCommitted | TransactionMode::RepeatableRead => {}
            TransactionMode::Serializable => {
                let error = Error::unsupported("the isolation level SERIALIZABLE").at_span(*span);
                return Err(error.with_hint("transactions see a snapshot: ISOLATION LEVEL REPEATABLE READ"));
            }
        }
    }
    Ok(Statement::Transaction(TransactionStep::Begin { is_read_only }))
}

pub(crate) fn reset_setting(reset: &ast::Reset) -> Result<Statement> {
    if reset.is_variable {
        return reset_variable(reset);
    }
    session(SessionStatement::Reset { name: reset.name.as_ref().map(|name| name.to_string().to_lowercase()) })
}

/// Returns the value of an option: a word, several in parentheses or brackets, or words by name in braces; `*` stands
/// for all. `None` for expressions.
pub(crate) fn option_value(value: &Expr) -> Option<OptionValue> {
    let all = |values: &[Expr]| values.iter().map(option_text).collect::<Option<Vec<_>>>().map(OptionValue::List);
    match &value.kind {
        ExprKind::Row { items, .. } | ExprKind::List(items) => all(items),
        ExprKind::Struct(fields) => {
            let fields = fields.iter().map(|field| Some((field.name.text.to_string(), option_text(&field.value)?)));
            fields.collect::<Option<Vec<_>>>().map(OptionValue::Fields)
        }
        ExprKind::Wildcard(_) => Some(OptionValue::Text("*".to_owned())),
        _ => option_text(value).map(OptionValue::Text),
    }
}

/// Returns the value of an option as text.
pub(crate) fn option_text(value: &Expr) -> Option<String> {
    match &value.kind {
        ExprKind::Literal(Literal::Number(digits)) => Some(digits.to_string()),
        ExprKind::Literal(Literal::Boolean(is_set)) => Some(is_set.to_string()),
        _ => value.as_word().map(|word| word.to_string()),
    }
}
