//! Tables as the planner sees them: a schema, statistics, and an opaque handle that the executor knows how to scan.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use godwit_common::{Error, Result};
use godwit_plan::TableSample;
use godwit_types::{SqlType, Value, format_value};

use crate::{TableRules, TableStatistics};

/// A table that can be scanned.
pub struct TableDefinition {
    /// Name for plans and messages: that of a table, or a path.
    pub name: String,
    /// Columns. [`TableDefinition::new`] turns all strings into `Utf8View` and all binaries into `BinaryView`.
    pub schema: SchemaRef,
    /// Statistics; one column entry per field of the schema.
    pub statistics: Arc<TableStatistics>,
    /// The object that the executor scans, whose type it knows, or a [`LateHandle`] to it.
    pub handle: Arc<dyn Any + Send + Sync>,
    /// True if scans of the table evaluate filters. Scans of other tables get none.
    pub evaluates_filters: bool,
    /// Present for tables whose rows can be changed.
    pub writable: Option<Arc<dyn WritableTable>>,
    /// Some of its rows, for trying filters.
    pub sample: Option<Arc<dyn TableSample>>,
}

/// A handle to rows that are supplied between planning and execution.
#[derive(Default)]
pub struct LateHandle(OnceLock<Arc<dyn Any + Send + Sync>>);

/// Takes the place of rows in a table that can't be used.
struct Unusable(Error);

impl LateHandle {
    /// Supplies the table's rows.
    ///
    /// # Panics
    /// If it already has rows.
    pub fn set(&self, handle: Arc<dyn Any + Send + Sync>) {
        assert!(self.0.set(handle).is_ok(), "rows come once");
    }
}

impl fmt::Debug for LateHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LateHandle({})", if self.0.get().is_some() { "set" } else { "empty" })
    }
}

/// Name of the column added by [`WritableTable::with_row_ids`] in schemas.
pub const ROW_ID: &str = "\u{1}rowid";

/// Name of that column in SQL, where it is hidden: every visible column of this name comes first.
pub const ROW_ID_NAME: &str = "rowid";

/// Name in schemas of the hidden column of files with the path of each row's file.
pub const FILE_NAME: &str = "\u{1}filename";

/// Name of that with the file's number among those of the table.
pub const FILE_INDEX: &str = "\u{1}file_index";

/// Name of that with the number of the row in the file.
pub const FILE_ROW_NUMBER: &str = "\u{1}file_row_number";

/// Returns the name in SQL of a column that is hidden there: one of these, which nobody would give to a column.
pub fn hidden_name(name_in_schema: &str) -> Option<&str> {
    let is_hidden = [ROW_ID, FILE_NAME, FILE_INDEX, FILE_ROW_NUMBER].contains(&name_in_schema);
    name_in_schema.strip_prefix('\u{1}').filter(|_| is_hidden)
}

/// One of the database's own tables, whose rows can be changed.
pub trait WritableTable: Send + Sync {
    /// Returns the same table with one more column at the end, [`ROW_ID`]: BIGINTs that locate rows. It can be written to,
    /// too, so that it is known as a version of the table.
    fn with_row_ids(&self) -> Arc<TableDefinition>;

    /// Defaults and constraints.
    fn rules(&self) -> &TableRules;
}

impl TableDefinition {
    /// Defaults and constraints of a table whose rows can be changed.
    pub fn rules(&self) -> Option<&TableRules> {
        self.writable.as_ref().map(|writable| writable.rules())
    }

    /// Returns true if both are versions of one table, without an ALTER TABLE between them.
    pub fn has_same_definition(&self, other: &Self) -> bool {
        // All versions without such a change share their rules.
        self.rules().zip(other.rules()).is_some_and(|(own, others)| std::ptr::eq(own, others))
    }

    /// Creates a table. Strings and binaries of the schema become view types, the only ones in plans.
    pub fn new(
        name: impl Into<String>,
        schema: SchemaRef,
        statistics: Arc<TableStatistics>,
        handle: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        assert_eq!(
            statistics.columns.len(),
            schema.fields().len(),
            "statistics of every column, in the schema's order"
        );
        let fields: Vec<Field> = schema
            .fields()
            .iter()
            .map(|field| {
                let data_type = as_view_type(field.data_type());
                field.as_ref().clone().with_data_type(data_type)
            })
            .collect();
        let schema = Arc::new(Schema::new(fields));
        Self { name: name.into(), schema, statistics, handle, evaluates_filters: true, writable: None, sample: None }
    }

    /// Creates a table that exists but can't be used: statements that name it fail with `error`.
    pub fn unusable(name: impl Into<String>, error: Error) -> Self {
        let statistics = Arc::new(TableStatistics::of_rows(0, false, 0));
        Self::new(name, Arc::new(Schema::empty()), statistics, Arc::new(Unusable(error)))
    }

    /// Fails if the table can't be used.
    pub fn check_usable(&self) -> Result<()> {
        self.handle::<Unusable>().map_or(Ok(()), |Unusable(error)| Err(error.clone()))
    }

    /// Returns what the executor scans, if it has this type and is there already.
    pub fn handle<T: 'static>(&self) -> Option<&T> {
        match self.handle.downcast_ref::<LateHandle>() {
            Some(late) => late.0.get()?.downcast_ref(),
            None => self.handle.downcast_ref(),
        }
    }

    /// Returns the same table with changeable rows.
    #[must_use]
    pub fn with_writable(mut self, writable: Arc<dyn WritableTable>) -> Self {
        self.writable = Some(writable);
        self
    }

    /// Returns the same table with scans that leave filters to the operators above.
    #[must_use]
    pub fn without_filters(mut self) -> Self {
        self.evaluates_filters = false;
        self
    }

    /// Returns the same rows without constraints, for checking those.
    pub fn without_rules(&self) -> Self {
        Self {
            name: self.name.clone(),
            schema: self.schema.clone(),
            statistics: self.statistics.clone(),
            handle: self.handle.clone(),
            evaluates_filters: self.evaluates_filters,
            writable: None,
            sample: self.sample.clone(),
        }
    }

    /// Returns the same table with a sample.
    #[must_use]
    pub fn with_sample(mut self, sample: Arc<dyn TableSample>) -> Self {
        self.sample = Some(sample);
        self
    }
}

impl fmt::Debug for TableDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableDefinition({}, {} rows)", self.name, self.statistics.rows)
    }
}

/// Returns the view type of strings and binaries, every other type unchanged.
pub fn as_view_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, values) => as_view_type(values),
        other => other.clone(),
    }
}

/// Finds tables by path: `FROM 'data/*.parquet'`, `read_parquet('x.parquet')`, `read_csv('x.csv')`.
pub trait TableResolver: Send + Sync {
    /// Returns the table for a path or glob; `None` if the text doesn't look like one that this resolver serves.
    ///
    /// Called whenever the name is bound, so it should cache what it read from unchanged files.
    fn resolve_path(&self, path: &str) -> Option<Result<Arc<TableDefinition>>>;

    /// Returns the table function whose rows are those that scans of the connection rejected into the table of this name;
    /// `None`: there is no such table.
    fn reject_function(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Calls [`TableResolver::resolve_path`] for several paths, in parallel if that helps.
    fn resolve_paths(&self, paths: &[&str]) -> Vec<Option<Result<Arc<TableDefinition>>>> {
        paths.iter().map(|path| self.resolve_path(path)).collect()
    }

    /// Returns the table for paths or globs of files in a format, whatever their extensions, read according to options.
    fn table_of_format(&self, paths: &[&str], format: &str, options: &[CopyOption]) -> Result<Arc<TableDefinition>> {
        let _ = options;
        let unknown = || Err(Error::user(format!("{paths:?} can't be read as {format}")));
        let table = if let [path] = paths { self.resolve_path(path) } else { None };
        table.unwrap_or_else(unknown)
    }

    /// Returns the table in CSV or JSON files, by paths or globs, read according to options. When a table is to be
    /// filled, `expected` has its columns.
    fn text_table(
        &self,
        paths: &[&str],
        options: &[CopyOption],
        expected: Option<&Schema>,
    ) -> Result<Arc<TableDefinition>> {
        let _ = (options, expected);
        Err(Error::unsupported(format!("reading {paths:?} as text")))
    }
}

/// An option of `COPY` or of a function that reads files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOption {
    /// The name, in lower case.
    pub name: String,
    /// The value.
    pub value: OptionValue,
}

/// The value of a [`CopyOption`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionValue {
    /// None: the name is enough (`HEADER`).
    Absent,
    /// Unquoted text, a number or a flag.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
    /// Texts by name, such as types by column.
    Fields(Vec<(String, String)>),
}

impl OptionValue {
    /// Converts an argument to the value of an option of this name.
    pub fn of(option: &str, value: &Value, ty: &SqlType) -> Result<Self> {
        let text = |value: &Value, ty: &SqlType| match value {
            Value::Null => Err(Error::user(format!("{option} is NULL"))),
            value => Ok(format_value(value, ty)),
        };
        match (value, ty) {
            (Value::List(values), SqlType::List(element) | SqlType::Array(element, _)) => {
                Ok(OptionValue::List(values.iter().map(|value| text(value, element)).collect::<Result<_>>()?))
            }
            (Value::Struct(values), SqlType::Struct(fields)) => {
                let named = values.iter().zip(fields.iter());
                let named = named.map(|(value, field)| Ok((field.name.to_string(), text(value, &field.ty)?)));
                Ok(OptionValue::Fields(named.collect::<Result<_>>()?))
            }
            (Value::Map(entries), SqlType::Map(entry)) => {
                let named = entries.iter().map(|(key, value)| Ok((text(key, &entry.0)?, text(value, &entry.1)?)));
                Ok(OptionValue::Fields(named.collect::<Result<_>>()?))
            }
            (value, ty) => Ok(OptionValue::Text(text(value, ty)?)),
        }
    }
}

/// Returns the paths given by an argument: one, or a list.
pub fn paths_of(value: &Value) -> Option<Vec<&str>> {
    let texts = match value {
        Value::List(paths) => paths,
        path => std::slice::from_ref(path),
    };
    let paths = texts.iter().map(|text| if let Value::Text(path) = text { Some(&**path) } else { None });
    paths.collect::<Option<Vec<_>>>().filter(|paths| !paths.is_empty())
}

impl CopyOption {
    /// Creates an option with a text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), value: OptionValue::Text(text.into()) }
    }

    /// Returns the value if it is a single text.
    pub fn word(&self) -> Option<&str> {
        if let OptionValue::Text(text) = &self.value { Some(text) } else { None }
    }

    /// Returns the value of an option that needs a single one.
    pub fn text(&self) -> Result<&str> {
        self.word().ok_or_else(|| match self.value {
            OptionValue::Absent => Error::user(format!("the option {} needs a value", self.name)),
            _ => Error::user(format!("the option {} takes one value, not several", self.name)),
        })
    }

    /// Returns one value or several.
    pub fn texts(&self) -> Result<&[String]> {
        match &self.value {
            OptionValue::List(texts) => Ok(texts),
            OptionValue::Text(text) => Ok(std::slice::from_ref(text)),
            _ => Err(Error::user(format!("the option {} takes a text or a list of texts", self.name))),
        }
    }

    /// Returns true or false; true if there is no value.
    pub fn flag(&self) -> Result<bool> {
        let word = match &self.value {
            OptionValue::Absent => return Ok(true),
            _ => self.text()?.to_lowercase(),
        };
        match word.as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            other => Err(Error::user(format!("{}: '{other}' is neither true nor false", self.name))),
        }
    }
}
