//! Macros that are always there: functions and aggregates of DuckDB that are expressions over others, and the analyses of
//! memory traces.

use std::collections::HashMap;
use std::sync::LazyLock;

use godwit_syntax::ast::{MacroBody, MacroOverload, Statement};
use godwit_syntax::{ParsedStatement, parse_script};

/// The macros, as users would define them.
const DEFINITIONS: &str = "
CREATE MACRO date_add(moment, span) AS moment + span;
CREATE MACRO geomean(number) AS exp(avg(ln(number)));
CREATE MACRO geometric_mean(number) AS exp(avg(ln(number)));
CREATE MACRO weighted_avg(number, weight) AS
    CAST(sum(number * weight) AS DOUBLE) / sum(CASE WHEN number IS NOT NULL THEN weight END);
CREATE MACRO wavg(number, weight) AS
    CAST(sum(number * weight) AS DOUBLE) / sum(CASE WHEN number IS NOT NULL THEN weight END);
";

/// Table macros over the trace of a file.
const TRACES: &str = include_str!("trace_macros.sql");

static BY_NAME: LazyLock<HashMap<String, Vec<MacroOverload>>> = LazyLock::new(|| {
    let definition = |parsed: ParsedStatement| match parsed.statement {
        Statement::CreateMacro(definition) => {
            let name = definition.name.parts.last().expect("names have parts").text.to_string();
            (name, definition.overloads)
        }
        _ => unreachable!("all of the statements define macros"),
    };
    let script = |text| parse_script(text).expect("the definitions are SQL");
    script(DEFINITIONS).into_iter().chain(script(TRACES)).map(definition).collect()
});

/// The forms of the macro of this name, in any case.
pub(crate) fn built_in_macro(name: &str) -> Option<Vec<MacroOverload>> {
    BY_NAME.get(&*name.to_lowercase()).cloned()
}

/// The names of those that stand for a table.
pub(crate) fn built_in_table_macros() -> impl Iterator<Item = &'static str> {
    let is_table = |form: &MacroOverload| matches!(form.body, MacroBody::Table(_));
    BY_NAME.iter().filter(move |(_, forms)| forms.iter().any(is_table)).map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_are_found_in_any_case() {
        assert_eq!(built_in_macro("GEOmean").map(|forms| forms.len()), Some(1));
        assert!(built_in_macro("mean").is_none());
    }
}
