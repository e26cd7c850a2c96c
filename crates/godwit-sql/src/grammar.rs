//! The grammar that SQL is read with: DuckDB's, as the parser knows it, with the precedence that `||` has in DuckDB and
//! PostgreSQL. The parser's own would read `'a' || i % 2` as `('a' || i) % 2`.

use std::any::TypeId;

use datafusion_sql::sqlparser::dialect::{Dialect, DuckDbDialect, Precedence};
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use datafusion_sql::sqlparser::tokenizer::Token;

/// The grammar of all statements.
#[derive(Debug)]
pub(crate) struct Grammar;

/// What the parser's dialect decides stays its decision.
macro_rules! as_duckdb {
    ($($method:ident)*) => {
        $(fn $method(&self) -> bool {
            DuckDbDialect.$method()
        })*
    };
}

impl Dialect for Grammar {
    fn dialect(&self) -> TypeId {
        DuckDbDialect.dialect()
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        // Below `+` and `-`, above comparisons.
        matches!(parser.peek_token_ref().token, Token::StringConcat)
            .then(|| Ok(self.prec_value(Precedence::PlusMinus) - 1))
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        DuckDbDialect.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        DuckDbDialect.is_identifier_part(ch)
    }

    as_duckdb! {
        supports_trailing_commas supports_filter_during_aggregation supports_group_by_expr
        supports_bitwise_shift_operators supports_named_fn_args_with_eq_operator
        supports_named_fn_args_with_assignment_operator supports_dictionary_syntax support_map_literal_syntax
        supports_lambda_functions allow_extract_single_quotes supports_explain_with_utility_options
        supports_load_extension supports_array_typedef_with_brackets supports_from_first_select supports_order_by_all
        supports_select_wildcard_exclude supports_notnull_operator supports_install supports_detach
        supports_select_wildcard_replace supports_comma_separated_trim
    }
}
