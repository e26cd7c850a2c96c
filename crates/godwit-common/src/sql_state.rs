//! Codes that let drivers distinguish errors.

use std::fmt;

use crate::ErrorKind;

/// Five characters: two for the class, three for the error. Source: the SQL standard and PostgreSQL's documentation,
/// appendix "PostgreSQL Error Codes".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(&'static str);

impl SqlState {
    /// A feature that doesn't exist.
    pub const FEATURE_NOT_SUPPORTED: SqlState = SqlState("0A000");
    /// A subquery that is used as a value has more than one row.
    pub const CARDINALITY_VIOLATION: SqlState = SqlState("21000");
    /// A value that its type can't hold, as class.
    pub const DATA_EXCEPTION: SqlState = SqlState("22000");
    /// A number beyond its type.
    pub const NUMERIC_VALUE_OUT_OF_RANGE: SqlState = SqlState("22003");
    /// A date or time beyond its type.
    pub const DATETIME_FIELD_OVERFLOW: SqlState = SqlState("22008");
    /// A divisor of zero.
    pub const DIVISION_BY_ZERO: SqlState = SqlState("22012");
    /// A negative or NULL offset in a window frame.
    pub const INVALID_PRECEDING_OR_FOLLOWING_SIZE: SqlState = SqlState("22013");
    /// A value that a function doesn't take.
    pub const INVALID_PARAMETER_VALUE: SqlState = SqlState("22023");
    /// A pattern that isn't a regular expression.
    pub const INVALID_REGULAR_EXPRESSION: SqlState = SqlState("2201B");
    /// Text that isn't a value of the type it is cast to.
    pub const INVALID_TEXT_REPRESENTATION: SqlState = SqlState("22P02");
    /// A statement that can't be parsed or isn't allowed, as class.
    pub const SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION: SqlState = SqlState("42000");
    /// Values of different collations are compared.
    pub const COLLATION_MISMATCH: SqlState = SqlState("42P21");
    /// Text that isn't a statement.
    pub const SYNTAX_ERROR: SqlState = SqlState("42601");
    /// A change in a transaction that only reads.
    pub const READ_ONLY_SQL_TRANSACTION: SqlState = SqlState("25006");
    /// There is no prepared statement of that name.
    pub const INVALID_SQL_STATEMENT_NAME: SqlState = SqlState("26000");
    /// Other objects depend on the one to be dropped.
    pub const DEPENDENT_OBJECTS_STILL_EXIST: SqlState = SqlState("2BP01");
    /// Nested or combined more deeply than the planner supports.
    pub const STATEMENT_TOO_COMPLEX: SqlState = SqlState("54001");
    /// A value or a statement is larger than any may be.
    pub const PROGRAM_LIMIT_EXCEEDED: SqlState = SqlState("54000");
    /// No such column.
    pub const UNDEFINED_COLUMN: SqlState = SqlState("42703");
    /// No such function.
    pub const UNDEFINED_FUNCTION: SqlState = SqlState("42883");
    /// No such table or view.
    pub const UNDEFINED_TABLE: SqlState = SqlState("42P01");
    /// No such parameter.
    pub const UNDEFINED_PARAMETER: SqlState = SqlState("42P02");
    /// No such type, window, sequence or other object.
    pub const UNDEFINED_OBJECT: SqlState = SqlState("42704");
    /// No such schema.
    pub const INVALID_SCHEMA_NAME: SqlState = SqlState("3F000");
    /// A name that several columns have.
    pub const AMBIGUOUS_COLUMN: SqlState = SqlState("42702");
    /// A call that matches several functions.
    pub const AMBIGUOUS_FUNCTION: SqlState = SqlState("42725");
    /// A column that exists twice.
    pub const DUPLICATE_COLUMN: SqlState = SqlState("42701");
    /// A name in FROM, WITH or WINDOW that exists twice.
    pub const DUPLICATE_ALIAS: SqlState = SqlState("42712");
    /// A table that exists already.
    pub const DUPLICATE_TABLE: SqlState = SqlState("42P07");
    /// Another object that exists already.
    pub const DUPLICATE_OBJECT: SqlState = SqlState("42710");
    /// Values whose types don't match.
    pub const DATATYPE_MISMATCH: SqlState = SqlState("42804");
    /// A type that can't be determined.
    pub const INDETERMINATE_DATATYPE: SqlState = SqlState("42P18");
    /// No cast between two types.
    pub const CANNOT_COERCE: SqlState = SqlState("42846");
    /// A column that is neither grouped nor aggregated, or an aggregate where none is allowed.
    pub const GROUPING_ERROR: SqlState = SqlState("42803");
    /// A window function where none is allowed.
    pub const WINDOWING_ERROR: SqlState = SqlState("42P20");
    /// A recursive query of a form that has no meaning.
    pub const INVALID_RECURSION: SqlState = SqlState("42P19");
    /// A column that can't be referred to from here.
    pub const INVALID_COLUMN_REFERENCE: SqlState = SqlState("42P10");
    /// A definition that contradicts itself.
    pub const INVALID_DEFINITION: SqlState = SqlState("42P17");
    /// A value for a generated column.
    pub const GENERATED_ALWAYS: SqlState = SqlState("428C9");
    /// A limit of memory or space was reached.
    pub const INSUFFICIENT_RESOURCES: SqlState = SqlState("53000");
    /// The user or a time limit ended the query.
    pub const QUERY_CANCELED: SqlState = SqlState("57014");
    /// The operating system refused something.
    pub const IO_ERROR: SqlState = SqlState("58030");
    /// Stored data is damaged.
    pub const DATA_CORRUPTED: SqlState = SqlState("XX001");
    /// A bug.
    pub const INTERNAL_ERROR: SqlState = SqlState("XX000");

    /// Returns true for errors about a value.
    pub fn is_data_exception(self) -> bool {
        self.0.starts_with("22")
    }

    /// Returns the code for errors of which only the kind is known.
    pub fn of_kind(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::User => Self::SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION,
            ErrorKind::Resource => Self::INSUFFICIENT_RESOURCES,
            ErrorKind::Io => Self::IO_ERROR,
            ErrorKind::Corrupt => Self::DATA_CORRUPTED,
            ErrorKind::Cancelled => Self::QUERY_CANCELED,
            ErrorKind::Unsupported => Self::FEATURE_NOT_SUPPORTED,
            ErrorKind::Internal => Self::INTERNAL_ERROR,
        }
    }

    /// The five characters.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}
