//! `FROM t WHERE x` without SELECT: puts `SELECT *` before each query that starts with FROM and never selects.
//!
//! The parser crate knows `FROM t` and `FROM t SELECT a`, but no further clause without a SELECT.

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens, without white space, with SELECT * where a query lacks it.
pub(crate) fn add_selects(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let lacks_select: Vec<bool> =
        (0..tokens.len()).map(|at| starts_query(&tokens, at) && !selects(&tokens[at..])).collect();
    let mut complete = Vec::with_capacity(tokens.len() + 2);
    for (token, lacks_select) in tokens.into_iter().zip(lacks_select) {
        if lacks_select {
            let span = token.span;
            complete.push(TokenWithSpan { token: Token::make_keyword("SELECT"), span });
            complete.push(TokenWithSpan { token: Token::Mul, span });
        }
        complete.push(token);
    }
    complete
}

fn keyword(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// True if the token is the FROM with which a query starts.
fn starts_query(tokens: &[TokenWithSpan], at: usize) -> bool {
    if keyword(&tokens[at]) != Keyword::FROM {
        return false;
    }
    let Some(before) = at.checked_sub(1).map(|before| &tokens[before]) else {
        return true;
    };
    let starts_after = [
        Keyword::UNION,
        Keyword::ALL,
        Keyword::EXCEPT,
        Keyword::INTERSECT,
        Keyword::AS,
        Keyword::EXPLAIN,
        Keyword::ANALYZE,
        Keyword::DESCRIBE,
        Keyword::DESC,
    ];
    match &before.token {
        Token::LParen => true,
        Token::RParen => ends_common_tables(tokens, at),
        _ => starts_after.contains(&keyword(before)),
    }
}

/// True if the tokens up to `at` are `WITH a AS (...), b AS (...)`.
fn ends_common_tables(tokens: &[TokenWithSpan], at: usize) -> bool {
    if keyword(&tokens[0]) != Keyword::WITH {
        return false;
    }
    let mut level = 0_i64;
    for token in &tokens[..at] {
        match token.token {
            Token::LParen => level += 1,
            Token::RParen => level -= 1,
            _ if level == 0 && matches!(keyword(token), Keyword::SELECT | Keyword::FROM) => return false,
            _ => {}
        }
    }
    level == 0
}

/// True if a SELECT follows in the same query: on the same level, before its end or the next set operation.
fn selects(tokens: &[TokenWithSpan]) -> bool {
    let mut level = 0_i64;
    for token in tokens {
        match &token.token {
            Token::LParen => level += 1,
            Token::RParen if level == 0 => return false,
            Token::RParen => level -= 1,
            _ if level > 0 => {}
            _ => match keyword(token) {
                Keyword::SELECT => return true,
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT => return false,
                _ => {}
            },
        }
    }
    false
}
