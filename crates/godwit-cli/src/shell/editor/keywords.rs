//! Words of SQL that the editor proposes and colours. The grammar knows more; words that are rarely anything but names
//! aren't here.

/// Words that begin statements.
pub(super) const STATEMENTS: &[&str] = &[
    "ALTER",
    "ANALYZE",
    "ATTACH",
    "BEGIN",
    "CALL",
    "CHECKPOINT",
    "COMMENT",
    "COMMIT",
    "COPY",
    "CREATE",
    "DEALLOCATE",
    "DELETE",
    "DESCRIBE",
    "DETACH",
    "DROP",
    "EXECUTE",
    "EXPLAIN",
    "EXPORT",
    "FROM",
    "IMPORT",
    "INSERT",
    "MERGE",
    "PIVOT",
    "PREPARE",
    "RELEASE",
    "RESET",
    "ROLLBACK",
    "SAVEPOINT",
    "SELECT",
    "SET",
    "SHOW",
    "SUMMARIZE",
    "TRUNCATE",
    "UNPIVOT",
    "UPDATE",
    "USE",
    "VACUUM",
    "VALUES",
    "WITH",
];

/// Words within statements.
const WITHIN: &[&str] = &[
    "ADD",
    "ALL",
    "ALWAYS",
    "AND",
    "ANTI",
    "ANY",
    "AS",
    "ASC",
    "ASOF",
    "BETWEEN",
    "BIGINT",
    "BLOB",
    "BOOLEAN",
    "BY",
    "CASCADE",
    "CASE",
    "CAST",
    "CHECK",
    "COLLATE",
    "COLUMN",
    "COLUMNS",
    "COMPRESSION",
    "CONFLICT",
    "CONSTRAINT",
    "CROSS",
    "CUBE",
    "CURRENT",
    "CURRENT_DATE",
    "CURRENT_TIMESTAMP",
    "DATABASE",
    "DATABASES",
    "DATE",
    "DECIMAL",
    "DEFAULT",
    "DELIMITER",
    "DESC",
    "DISTINCT",
    "DO",
    "DOUBLE",
    "ELSE",
    "END",
    "ENUM",
    "ESCAPE",
    "EXCEPT",
    "EXCLUDE",
    "EXISTS",
    "EXTRACT",
    "FALSE",
    "FETCH",
    "FILTER",
    "FIRST",
    "FOLLOWING",
    "FOR",
    "FOREIGN",
    "FORMAT",
    "FULL",
    "FUNCTION",
    "GENERATED",
    "GROUP",
    "GROUPING",
    "GROUPS",
    "HAVING",
    "HEADER",
    "HUGEINT",
    "IDENTITY",
    "IF",
    "ILIKE",
    "IN",
    "INDEX",
    "INNER",
    "INTEGER",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "JSON",
    "KEY",
    "LAST",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MACRO",
    "MAP",
    "MATCHED",
    "MATERIALIZED",
    "NATURAL",
    "NOT",
    "NOTHING",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "ONLY",
    "OR",
    "ORDER",
    "ORDINALITY",
    "OUTER",
    "OVER",
    "PARTITION",
    "POSITIONAL",
    "PRECEDING",
    "PRIMARY",
    "QUALIFY",
    "RANGE",
    "REAL",
    "RECURSIVE",
    "REFERENCES",
    "RENAME",
    "REPLACE",
    "RESPECT",
    "RESTRICT",
    "RETURNING",
    "RIGHT",
    "ROLLUP",
    "ROW",
    "ROWS",
    "SAMPLE",
    "SCHEMA",
    "SEMI",
    "SEQUENCE",
    "SETS",
    "SIMILAR",
    "SMALLINT",
    "SOME",
    "STRUCT",
    "TABLE",
    "TABLES",
    "TABLESAMPLE",
    "TEMP",
    "TEMPORARY",
    "THEN",
    "TIES",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "TINYINT",
    "TO",
    "TRANSACTION",
    "TRUE",
    "TRY_CAST",
    "TYPE",
    "UNBOUNDED",
    "UNION",
    "UNIQUE",
    "USING",
    "UUID",
    "VARCHAR",
    "VARIABLE",
    "VIEW",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITHIN",
    "ZONE",
];

/// All words.
pub(super) fn keywords() -> impl Iterator<Item = &'static str> {
    STATEMENTS.iter().chain(WITHIN).copied()
}

/// Whether a word is one of them, in any case.
pub(super) fn is_keyword(word: &str) -> bool {
    let upper = word.to_ascii_uppercase();
    [STATEMENTS, WITHIN].iter().any(|words| words.binary_search(&upper.as_str()).is_ok())
}

/// Words that can't name a table or column without quotes.
pub(super) fn is_reserved(word: &str) -> bool {
    const FREE: &[&str] = &["date", "time", "json", "key", "name", "type", "format", "first", "last", "row", "rows"];
    is_keyword(word) && !FREE.contains(&word.to_ascii_lowercase().as_str())
}

/// Functions over rows and windows, which the table of functions doesn't list.
pub(super) const AGGREGATES: &[&str] = &[
    "any_value",
    "approx_count_distinct",
    "approx_quantile",
    "arg_max",
    "arg_min",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "count_if",
    "covar_pop",
    "covar_samp",
    "cume_dist",
    "dense_rank",
    "entropy",
    "first",
    "first_value",
    "fsum",
    "histogram",
    "kurtosis",
    "lag",
    "last",
    "last_value",
    "lead",
    "list",
    "listagg",
    "mad",
    "max",
    "max_by",
    "median",
    "min",
    "min_by",
    "mode",
    "nth_value",
    "ntile",
    "percent_rank",
    "product",
    "quantile_cont",
    "quantile_disc",
    "rank",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "row_number",
    "sem",
    "skewness",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "var_pop",
    "var_samp",
    "variance",
];

/// Functions that are tables.
pub(super) const TABLE_FUNCTIONS: &[&str] = &[
    "generate_series",
    "godwit_adaptation",
    "godwit_dictionaries",
    "godwit_functions",
    "godwit_heat",
    "godwit_memory",
    "godwit_queries",
    "godwit_segments",
    "godwit_settings",
    "godwit_tables",
    "godwit_temp_files",
    "range",
    "read_arrow",
    "read_csv",
    "read_json",
    "read_parquet",
    "unnest",
];

#[cfg(test)]
mod tests {
    use godwit::Database;

    use super::*;

    #[test]
    fn lists_are_in_order_and_known_to_the_engine() {
        for words in [STATEMENTS, WITHIN, AGGREGATES, TABLE_FUNCTIONS] {
            assert!(words.is_sorted_by(|a, b| a < b), "{words:?}");
        }
        assert!(is_keyword("select") && is_keyword("CURRENT_DATE") && !is_keyword("orders"));
        let connection = Database::open(":memory:").unwrap().connect();
        let unknown: Vec<&str> = AGGREGATES
            .iter()
            .filter(|name| {
                let error = connection.query(&format!("SELECT {name}()")).err().map(|error| error.to_string());
                error.is_some_and(|error| error.contains("no function named"))
            })
            .copied()
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        for name in TABLE_FUNCTIONS {
            let error = connection.query(&format!("FROM {name}()")).err().map(|error| error.to_string());
            assert!(!error.clone().is_some_and(|error| error.contains("no table function")), "{error:?}");
        }
        // What isn't reserved can be a name.
        for word in keywords().filter(|word| !is_reserved(word)) {
            connection.query(&format!("SELECT 1 AS x FROM (SELECT 1 AS {word}) t WHERE {word} = 1")).unwrap();
        }
    }
}
