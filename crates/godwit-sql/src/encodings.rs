//! The encodings of a new table's columns, as specified by its statement.
//!
//! ```text
//! CREATE TABLE t (a INTEGER ENCODING run_length, b VARCHAR) WITH (encoding = 'dictionary') [AS SELECT …]
//! ```
//!
//! The option applies to all columns without their own encoding. The storage decides which encodings exist.

use arrow_schema::Schema;
use godwit_common::{Error, Result};
use godwit_syntax::ast::StatementOption;

use crate::session::option_text;

/// Keyword before the name of an encoding, and name of the option.
pub(crate) const ENCODING: &str = "ENCODING";

/// Leaves the choice to the storage.
const AUTO: &str = "auto";

/// Returns the columns whose encoding isn't left to the storage, with their encodings.
pub(crate) fn encodings_of(
    options: &[StatementOption],
    of_columns: &[(String, String)],
    schema: &Schema,
) -> Result<Vec<(String, String)>> {
    let all = encoding_of_all(options)?;
    let is = |(name, _): &&(String, String), column: &str| name.eq_ignore_ascii_case(column);
    let stored = |column: &str| schema.fields().iter().any(|field| field.name().eq_ignore_ascii_case(column));
    if let Some((column, _)) = of_columns.iter().find(|(column, _)| !stored(column)) {
        return Err(Error::user(format!("{column} can't have an encoding: it is no column that is stored")));
    }
    let encodings = schema.fields().iter().filter_map(|field| {
        let own = of_columns.iter().find(|own| is(own, field.name())).map(|(_, encoding)| encoding);
        Some((field.name().clone(), own.or(all.as_ref())?.clone()))
    });
    Ok(encodings.filter(|(_, encoding)| encoding != AUTO).collect())
}

/// Returns the encoding that the option sets for the whole table.
fn encoding_of_all(options: &[StatementOption]) -> Result<Option<String>> {
    let mut encoding = None;
    for option in options {
        match option.value.as_ref().and_then(option_text) {
            Some(text) if option.name.is(ENCODING) => encoding = Some(text.to_lowercase()),
            _ => {
                let error = Error::user(format!("CREATE TABLE has no option {}", option.name.text));
                let error = error.at_span(option.name.span);
                return Err(error.with_hint("options are: encoding, as in WITH (encoding = 'dictionary')"));
            }
        }
    }
    Ok(encoding)
}
