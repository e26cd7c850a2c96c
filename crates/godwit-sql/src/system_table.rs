//! Tables of the built-in schemas, whose columns are written as a text: names between blanks.
//!
//! | after the name | values |
//! |---|---|
//! | nothing | texts |
//! | `#` | numbers |
//! | `?` | truth values |
//! | `[]` behind these | lists of them |
//! | `=x` behind these | all `x`, which rows leave out; `t` and `f` are truth values, `NULL` is NULL |

use godwit_bind::Rows;
use godwit_types::{SqlType, Value};

/// A column: its name, its type, and the value that it has in all rows.
struct Column<'c> {
    name: &'c str,
    ty: SqlType,
    constant: Option<Value>,
}

impl<'c> Column<'c> {
    fn of(written: &'c str) -> Self {
        let (name, constant) = match written.split_once('=') {
            Some((name, constant)) => (name, Some(constant)),
            None => (written, None),
        };
        let (name, is_list) = name.strip_suffix("[]").map_or((name, false), |name| (name, true));
        let (name, ty) = match name.strip_suffix(['#', '?']) {
            Some(own) if name.ends_with('#') => (own, SqlType::BigInt),
            Some(own) => (own, SqlType::Boolean),
            None => (name, SqlType::Varchar),
        };
        let constant = constant.map(|text| match ty {
            _ if text == "NULL" => Value::Null,
            SqlType::BigInt => Value::from(text.parse::<i64>().expect("numbers follow names with #")),
            SqlType::Boolean => Value::Boolean(text == "t"),
            _ => Value::text(text),
        });
        Self { name, ty: if is_list { SqlType::list_of(ty) } else { ty }, constant }
    }
}

/// Makes rows a table of these columns.
pub(crate) fn table(columns: &str, rows: Vec<Vec<Value>>) -> Rows {
    let columns: Vec<Column<'_>> = columns.split_ascii_whitespace().map(Column::of).collect();
    let completed = |row: Vec<Value>| {
        let mut given = row.into_iter();
        let value = |column: &Column<'_>| column.constant.clone().or_else(|| given.next());
        let row = columns.iter().map(value).collect::<Option<Vec<Value>>>();
        let row = row.expect("rows have a value for each column that isn't constant");
        assert!(given.next().is_none(), "rows have no other values");
        row
    };
    let rows = rows.into_iter().map(completed).collect();
    Rows { columns: columns.into_iter().map(|column| (column.name.to_owned(), column.ty)).collect(), rows }
}

/// Returns one of several tables without rows. Each is its name and its columns, up to a semicolon.
pub(crate) fn empty_table(tables: &str, name: &str) -> Option<Rows> {
    let mut defined = tables.split(';').filter_map(|table| table.trim_start().split_once(char::is_whitespace));
    let (_, columns) = defined.find(|(own, _)| *own == name)?;
    Some(table(columns, Vec::new()))
}

pub(crate) fn text(text: &str) -> Value {
    Value::text(text)
}

pub(crate) fn text_or_null(known: Option<&str>) -> Value {
    known.map_or(Value::Null, text)
}

pub(crate) fn number(number: i64) -> Value {
    Value::from(number)
}

/// `YES` or `NO`.
pub(crate) fn yes(truth: bool) -> Value {
    text(if truth { "YES" } else { "NO" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_types_and_constants() {
        let rows = table("a b#=7 c? d#[] e[]=NULL f=", vec![vec![text("x"), Value::Boolean(true), Value::Null]]);
        let types: Vec<String> = rows.columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        let expected = ["a VARCHAR", "b BIGINT", "c BOOLEAN", "d BIGINT[]", "e VARCHAR[]", "f VARCHAR"];
        assert_eq!(types, expected);
        assert_eq!(rows.rows[0], [text("x"), number(7), Value::Boolean(true), Value::Null, Value::Null, text("")]);
        let tables = "one a;\none_more b\n    c;\n";
        assert_eq!(empty_table(tables, "one_more").map(|found| found.columns.len()), Some(2));
        assert!(empty_table(tables, "two").is_none());
        assert!(empty_table(tables, "one_more b").is_none());
    }
}
