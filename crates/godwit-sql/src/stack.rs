//! Keeps deep statements from overflowing the stack.
//!
//! Parser and planner recurse along the syntax tree. Its depth is bounded from the tokens, before any tree exists:
//! each open parenthesis nests, and so does each operator of a chain (`a AND b AND c` is a tree as deep as it is long).
//! Shallow statements run on the caller's stack, deep ones on a thread with a large one, and the rest is refused.

use std::thread;

use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use godwit_common::{Error, Result, bail};

/// Depth up to which the caller's stack is used; two megabytes, the least of usual threads, hold several times as much.
const INLINE_DEPTH_MAX: usize = 48;

/// Depth beyond which a statement is refused.
const DEPTH_MAX: usize = 2_000;

/// Stack of the planning thread: 128 KiB per level of the deepest statement. Only touched pages cost memory.
const STACK_BYTES: usize = DEPTH_MAX * 128 * 1024;

/// Longest statement text, in bytes: a bound on memory, far beyond what people and generators write.
pub(crate) const TEXT_BYTES_MAX: usize = 16 << 20;

/// Operators in the current clause, and set operations and joins in the current query, of one level of parentheses.
#[derive(Default, Clone, Copy)]
struct Level {
    operators: usize,
    combinations: usize,
}

impl Level {
    fn depth(self) -> usize {
        self.operators + self.combinations
    }
}

/// An upper bound of the syntax tree's depth; an error if it is beyond what can be planned.
pub(crate) fn depth_of(tokens: &[TokenWithSpan]) -> Result<usize> {
    let mut outer: Vec<Level> = Vec::new();
    let mut level = Level::default();
    let mut outer_depth = 0;
    let mut depth_max = 0;
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                outer_depth += level.depth() + 1;
                outer.push(std::mem::take(&mut level));
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                if let Some(around) = outer.pop() {
                    outer_depth -= around.depth() + 1;
                    level = around;
                }
            }
            Token::Comma => level.operators = 0,
            Token::Word(word) => match word.keyword {
                Keyword::SELECT
                | Keyword::FROM
                | Keyword::WHERE
                | Keyword::GROUP
                | Keyword::HAVING
                | Keyword::ORDER => {
                    level.operators = 0;
                }
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::JOIN => level.combinations += 1,
                Keyword::AND | Keyword::OR | Keyword::NOT | Keyword::IS | Keyword::CASE | Keyword::LIKE => {
                    level.operators += 1;
                }
                _ => {}
            },
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Period | Token::EOF => {}
            _ => level.operators += 1,
        }
        depth_max = depth_max.max(outer_depth + level.depth());
    }
    if depth_max > DEPTH_MAX {
        let message = format!("the statement is nested {depth_max} levels deep, at most {DEPTH_MAX} can be planned");
        return Err(Error::user(message)
            .with_hint("write long chains of OR as IN (...), and split the statement with temporary views"));
    }
    Ok(depth_max)
}

/// Runs `work` on a stack that suffices for a statement of that depth.
pub(crate) fn with_stack<T: Send>(depth: usize, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if depth <= INLINE_DEPTH_MAX { work() } else { with_large_stack(work) }
}

/// Runs `work` on a stack that suffices for any statement.
pub(crate) fn with_large_stack<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let planner = thread::Builder::new().name("godwit-planner".to_owned()).stack_size(STACK_BYTES);
        match planner.spawn_scoped(scope, work) {
            Ok(handle) => match handle.join() {
                Ok(result) => result,
                Err(_) => bail!(Internal, "planning a deep statement panicked"),
            },
            Err(error) => Err(Error::io("starting a thread to plan a deep statement", &error)),
        }
    })
}
