//! Spellings that the tokenizer and the parser crate don't know: changes of a statement's tokens before it is parsed.
//!
//! ```text
//! 1_000_000                1000000
//! TABLESAMPLE 10%          TABLESAMPLE (10 PERCENT)
//! TABLESAMPLE reservoir(…) TABLESAMPLE (…)
//! a ** b                   a ^ b
//! c AS (e)                 c "\u{1}no type" AS (e), in CREATE TABLE; the same before GENERATED, and where a column's
//!                          definition ends with its name
//! ```

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use godwit_common::{Error, Result};

use crate::encodings::ENCODING;
use crate::plan_error;

/// Joins that other engines have, by the word before JOIN, and what to do instead.
const FOREIGN_JOINS: [(&str, &str); 2] = [
    ("ASOF", "join with an inequality, and keep the nearest row of each with DISTINCT ON"),
    ("POSITIONAL", "number the rows of both sides, and join by the number"),
];

/// Stands for the type of a generated column that has none of its own.
pub(crate) const NO_TYPE: &str = "\u{1}no type";

/// The tokens, without white space, in spellings that the parser crate knows.
pub(crate) fn normalized(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    let mut normal: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        refuse_foreign_clauses(&tokens[at..])?;
        if let Some(last) = normal.last_mut()
            && joins(last, token)
        {
            last.span.end = token.span.end;
            continue;
        }
        let token = match &token.token {
            Token::Mod if is_sample_size(&normal) => {
                TokenWithSpan { token: Token::make_keyword("PERCENT"), span: token.span }
            }
            Token::Word(word) if word.value.eq_ignore_ascii_case("reservoir") && ends_with_sample(&normal) => continue,
            _ => token.clone(),
        };
        normal.push(token);
    }
    add_types(&mut normal);
    Ok(normal)
}

/// Gives columns of a new table that have no type of their own one, without which the parser crate doesn't read them:
/// generated ones, and those whose types are a query's.
fn add_types(tokens: &mut Vec<TokenWithSpan>) {
    let is_create = tokens.first().is_some_and(|first| keyword(first) == Keyword::CREATE)
        && tokens.iter().take(5).any(|token| keyword(token) == Keyword::TABLE);
    let Some(list) = tokens.iter().position(|token| token.token == Token::LParen) else { return };
    let has_query = tokens[..list].iter().any(|token| keyword(token) == Keyword::AS);
    if !is_create || has_query {
        return;
    }
    let mut depth = 0;
    let mut untyped = Vec::new();
    for at in list..tokens.len() {
        let is_named = |at: usize| matches!(tokens[at - 1].token, Token::Word(_));
        let begins = depth == 1 && at >= list + 2 && matches!(tokens[at - 2].token, Token::LParen | Token::Comma);
        let has_no_type = match &tokens[at].token {
            Token::Comma | Token::RParen => true,
            Token::Word(word) if word.quote_style.is_none() => {
                matches!(word.keyword, Keyword::AS | Keyword::GENERATED) || word.value.eq_ignore_ascii_case(ENCODING)
            }
            _ => false,
        };
        if begins && has_no_type && is_named(at) {
            untyped.push(at);
        }
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 1 => break,
            Token::RParen => depth -= 1,
            _ => {}
        }
    }
    for at in untyped.into_iter().rev() {
        let token = Token::make_word(NO_TYPE, Some('"'));
        tokens.insert(at, TokenWithSpan { token, span: tokens[at].span });
    }
}

/// Adds a token to the one before it, if both are one without white space between.
fn joins(before: &mut TokenWithSpan, token: &TokenWithSpan) -> bool {
    if before.span.end != token.span.start {
        return false;
    }
    match (&mut before.token, &token.token) {
        (Token::Number(number, _), Token::Word(word)) => {
            let digits = word.value.strip_prefix('_').filter(|_| word.quote_style.is_none());
            let Some(digits) = digits.filter(|digits| is_grouped(digits)) else { return false };
            number.push_str(&digits.replace('_', ""));
            true
        }
        (Token::Number(number, _), Token::Number(fraction, _)) if fraction.starts_with('.') => {
            number.push_str(fraction);
            true
        }
        (power @ Token::Mul, Token::Mul) => {
            *power = Token::Caret;
            true
        }
        _ => false,
    }
}

/// `000`, `000_000`, …
fn is_grouped(digits: &str) -> bool {
    digits.split('_').all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()))
}

fn keyword(token: &TokenWithSpan) -> Keyword {
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

fn ends_with_sample(tokens: &[TokenWithSpan]) -> bool {
    tokens.last().is_some_and(|last| keyword(last) == Keyword::TABLESAMPLE)
}

/// True after `TABLESAMPLE 10`, `TABLESAMPLE (10` and `TABLESAMPLE BERNOULLI (10`.
fn is_sample_size(tokens: &[TokenWithSpan]) -> bool {
    let Some(TokenWithSpan { token: Token::Number(..), .. }) = tokens.last() else { return false };
    let before = tokens[..tokens.len() - 1].iter().rev().take(3);
    before
        .take_while(|token| matches!(token.token, Token::LParen | Token::Word(_)))
        .any(|token| keyword(token) == Keyword::TABLESAMPLE)
}

fn refuse_foreign_clauses(tokens: &[TokenWithSpan]) -> Result<()> {
    let [first, second, ..] = tokens else { return Ok(()) };
    let Token::Word(word) = &first.token else { return Ok(()) };
    let foreign = FOREIGN_JOINS.iter().find(|(name, _)| word.value.eq_ignore_ascii_case(name));
    let error = match (foreign, keyword(second)) {
        (Some((name, instead)), Keyword::JOIN | Keyword::LEFT) if word.quote_style.is_none() => {
            Error::unsupported(format!("{name} JOIN")).with_hint(*instead)
        }
        _ if keyword(first) == Keyword::USING && keyword(second) == Keyword::SAMPLE => {
            Error::unsupported("USING SAMPLE").with_hint("write TABLESAMPLE behind the table")
        }
        _ => return Ok(()),
    };
    Err(plan_error::with_location(error, first.span.start))
}
