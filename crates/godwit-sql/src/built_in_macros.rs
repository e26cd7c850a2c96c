//! Functions of DuckDB that are expressions over others: macros that are always there.

use std::collections::HashMap;
use std::sync::LazyLock;

use godwit_syntax::ast::{MacroOverload, Statement};
use godwit_syntax::{ParsedStatement, parse_script};

/// The macros, as users would define them.
const DEFINITIONS: &str = "
CREATE MACRO date_add(moment, span) AS moment + span;
CREATE MACRO nvl2(tested, value, if_null) AS CASE WHEN tested IS NOT NULL THEN value ELSE if_null END;
CREATE MACRO fmod(dividend, divisor) AS dividend % divisor;
CREATE MACRO last_day(moment) AS
    CAST(date_trunc('month', CAST(moment AS TIMESTAMP)) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE);
CREATE MACRO dayname(moment) AS to_char(moment, '%A');
CREATE MACRO monthname(moment) AS to_char(moment, '%B');
CREATE MACRO yearweek(moment) AS date_part('isoyear', moment) * 100 + date_part('week', moment);
CREATE MACRO millisecond(moment) AS CAST(date_part('millisecond', moment) AS BIGINT);
CREATE MACRO microsecond(moment) AS CAST(date_part('microsecond', moment) AS BIGINT);
CREATE MACRO time_bucket(width, moment) AS
    date_bin(width, CAST(moment AS TIMESTAMP), TIMESTAMP '2000-01-03 00:00:00');
CREATE MACRO strptime(s, pattern) AS
    to_timestamp(s, replace(replace(pattern, '.%f', '%.f'), '%f', '%6f'));
CREATE MACRO regexp_full_match(s, pattern) AS regexp_like(s, '^(?:' || pattern || ')$');
CREATE MACRO regexp_extract
    (s, pattern) AS CASE WHEN s IS NOT NULL AND pattern IS NOT NULL
        THEN coalesce(regexp_match(s, '(' || pattern || ')')[1], '') END,
    (s, pattern, part) AS CASE WHEN s IS NOT NULL AND pattern IS NOT NULL AND part IS NOT NULL
        THEN coalesce(regexp_match(s, '(' || pattern || ')')[part + 1], '') END;
CREATE MACRO isinf(number) AS abs(number) = CAST('inf' AS DOUBLE);
CREATE MACRO isfinite(number) AS abs(number) < CAST('inf' AS DOUBLE);
CREATE MACRO strftime(moment, pattern) AS to_char(moment, replace(pattern, '%f', '%6f'));
CREATE MACRO list_aggregate(list, name) AS
    CASE name WHEN 'sum' THEN list_sum(list) WHEN 'min' THEN list_min(list) WHEN 'max' THEN list_max(list)
        ELSE CAST(error('list_aggregate knows sum, min and max') AS BIGINT) END;
CREATE MACRO list_reverse_sort(list) AS array_sort(list, 'DESC');
CREATE MACRO list_unique(list) AS CAST(array_length(array_distinct(list)) AS BIGINT);
CREATE MACRO geomean(number) AS exp(avg(ln(number)));
CREATE MACRO geometric_mean(number) AS exp(avg(ln(number)));
CREATE MACRO weighted_avg(number, weight) AS
    CAST(sum(number * weight) AS DOUBLE) / sum(CASE WHEN number IS NOT NULL THEN weight END);
CREATE MACRO wavg(number, weight) AS
    CAST(sum(number * weight) AS DOUBLE) / sum(CASE WHEN number IS NOT NULL THEN weight END);
";

static BY_NAME: LazyLock<HashMap<String, Vec<MacroOverload>>> = LazyLock::new(|| {
    let definition = |parsed: ParsedStatement| match parsed.statement {
        Statement::CreateMacro(definition) => {
            let name = definition.name.parts.last().expect("names have parts").text.to_string();
            (name, definition.overloads)
        }
        _ => unreachable!("all statements above define macros"),
    };
    let script = parse_script(DEFINITIONS).expect("the definitions above are SQL");
    script.into_iter().map(definition).collect()
});

/// The forms of the macro of this name, in any case.
pub(crate) fn built_in_macro(name: &str) -> Option<Vec<MacroOverload>> {
    BY_NAME.get(&*name.to_lowercase()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_are_found_in_any_case() {
        assert_eq!(built_in_macro("REGEXP_Extract").map(|forms| forms.len()), Some(2));
        assert!(built_in_macro("regexp").is_none());
    }
}
