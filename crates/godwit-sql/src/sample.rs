//! TABLESAMPLE: a table becomes a subquery over some of its rows.
//!
//! ```text
//! t TABLESAMPLE (10 PERCENT)   (SELECT * FROM t WHERE random() < 0.1)
//! t TABLESAMPLE (10 ROWS)      (SELECT * FROM t ORDER BY random() LIMIT 10)
//! ```
//!
//! All methods take rows one by one: SYSTEM and BLOCK only allow to take them in blocks.

use datafusion_sql::sqlparser::ast::{
    Expr, Query, TableAlias, TableFactor, TableSample, TableSampleKind, TableSampleUnit, Value,
};
use datafusion_sql::sqlparser::parser::Parser;
use godwit_common::{Error, Result};

use crate::grammar::Grammar;
use crate::plan_error;

/// Rewrites a table or subquery with a sample clause.
pub(crate) fn rewrite(factor: &mut TableFactor) -> Result<()> {
    let (sample, alias) = match factor {
        TableFactor::Table { sample, alias, name, .. } => {
            let named = || {
                let name = name.0.last()?.as_ident()?.clone();
                Some(TableAlias { explicit: false, name, columns: Vec::new(), at: None })
            };
            (sample.take(), alias.clone().or_else(named))
        }
        TableFactor::Derived { sample, alias, .. } => (sample.take(), alias.clone()),
        _ => return Ok(()),
    };
    let Some(TableSampleKind::BeforeTableAlias(clause) | TableSampleKind::AfterTableAlias(clause)) = sample else {
        return Ok(());
    };
    let subquery = sampled(factor, &clause)?;
    *factor = TableFactor::Derived { lateral: false, subquery, alias, sample: None };
    Ok(())
}

fn sampled(table: &TableFactor, clause: &TableSample) -> Result<Box<Query>> {
    if clause.seed.is_some() {
        return Err(Error::unsupported("a sample with a seed").with_hint("leave REPEATABLE out"));
    }
    let quantity = clause.quantity.as_ref().and_then(|quantity| match &quantity.value {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => Some((number, quantity.unit.as_ref())),
            _ => None,
        },
        _ => None,
    });
    let sql = match quantity {
        Some((rows, Some(TableSampleUnit::Rows))) => format!("SELECT * FROM {table} ORDER BY random() LIMIT {rows}"),
        Some((percent, Some(TableSampleUnit::Percent))) => share(table, percent),
        // A method or no unit: percent, as the standard has it.
        Some((percent, None)) => share(table, percent),
        None => {
            return Err(Error::unsupported(format!("{clause}"))
                .with_hint("write TABLESAMPLE (10 PERCENT) or TABLESAMPLE (100 ROWS)"));
        }
    };
    let mut parser = Parser::new(&Grammar).try_with_sql(&sql).map_err(|e| plan_error::of_parser(&e, &sql))?;
    parser.parse_query().map_err(|error| plan_error::of_parser(&error, &sql))
}

fn share(table: &TableFactor, percent: &str) -> String {
    format!("SELECT * FROM {table} WHERE random() * 100 < {percent}")
}
