//! Errors of the planner crates in our words: what happened, where in the text, and the near name.

use datafusion_common::{Column, DataFusionError, SchemaError};
use datafusion_sql::sqlparser::parser::ParserError;
use datafusion_sql::sqlparser::tokenizer::{Location, Token, Tokenizer};
use godwit_common::{Error, Position};

use crate::functions::FUNCTIONS;
use crate::grammar::Grammar;
use crate::names::nearest;
use crate::parse::position;
use crate::{ParsedStatement, ViewDefinition};

/// Labels that the planner crates put before messages.
const LABELS: [&str; 8] = [
    "Error during planning: ",
    "This feature is not implemented: ",
    "Execution error: ",
    "Arrow error: ",
    "Schema error: ",
    "SQL error: ",
    "Internal error: ",
    "External error: ",
];

/// How the planner crates say that two selected expressions have the same name.
const REPETITION: &str = "Projections require unique expression names";

/// The error of planning `statement`.
pub(crate) fn of_planning(error: &DataFusionError, statement: &ParsedStatement) -> Error {
    let mapped = map(error);
    if mapped.error.position().is_some() {
        return mapped.error;
    }
    let place = mapped.place.or_else(|| mapped.name.as_ref().and_then(|name| find(name, statement)));
    match place {
        Some(place) => mapped.error.at(place),
        None => mapped.error,
    }
}

/// True if two expressions of a SELECT list may have the same name in the plan.
pub(crate) fn is_repetition(error: &DataFusionError) -> bool {
    let is_ambiguous = |error: &DataFusionError| matches!(error, DataFusionError::SchemaError(schema, _) if matches!(**schema, SchemaError::AmbiguousReference { .. }));
    error.strip_backtrace().contains(REPETITION) || is_ambiguous(error.find_root())
}

/// The error of binding a view that was valid when it was made; places in its text would mislead.
pub(crate) fn in_view(error: &DataFusionError, view: &ViewDefinition) -> Error {
    let inner = map(error).error;
    let outer = Error::new(inner.kind(), format!("in view {}: {}", view.name, inner.message()));
    match inner.hint() {
        Some(hint) => outer.with_hint(hint),
        None => outer,
    }
}

/// The error of planning what the new front end has bound.
pub(crate) fn of_bridge(error: &DataFusionError) -> Error {
    map(error).error
}

/// A syntax error. The parser crate tells the place at the end of its message.
pub(crate) fn of_parser(error: &ParserError, sql: &str) -> Error {
    let message = match error {
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => message,
        ParserError::RecursionLimitExceeded => {
            return Error::user("the statement is nested too deep").with_hint("split it with WITH or temporary views");
        }
    };
    let (text, place) = split_location(message);
    let found_end = text.ends_with("found: EOF");
    let text = text.replace("Expected: ", "expected ").replace("Expected ", "expected ");
    let text = text.replace(", found: EOF", ", found the end of the statement").replace("found: ", "found ");
    let error = Error::user(format!("syntax error: {}", text.trim_end_matches('.')));
    match place {
        Some(place) => error.at(place),
        None if found_end => error.at(end_of(sql)),
        None => error,
    }
}

/// `error` with the place of a token.
pub(crate) fn with_location(error: Error, location: Location) -> Error {
    match position(location) {
        Some(place) => error.at(place),
        None => error,
    }
}

fn end_of(sql: &str) -> Position {
    let text = sql.trim_end();
    let line = text.rsplit('\n').next().unwrap_or_default();
    Position { line: text.matches('\n').count() as u32 + 1, column: line.chars().count() as u32 + 1 }
}

/// Splits "… at Line: 3, Column: 7" into the text and the place.
fn split_location(message: &str) -> (&str, Option<Position>) {
    let Some((text, place)) = message.rsplit_once(" at Line: ") else {
        return (message, None);
    };
    let numbers = place.split_once(", Column: ").and_then(|(line, column)| {
        Some(Position { line: line.trim().parse().ok()?, column: column.trim().parse().ok()? })
    });
    (text, numbers)
}

/// An error in our words, and what is known of its place.
struct Mapped {
    error: Error,
    place: Option<Position>,
    /// The name that is wrong, to be searched in the text.
    name: Option<Column>,
}

impl Mapped {
    fn of(error: Error) -> Self {
        Self { error, place: None, name: None }
    }
}

fn map(error: &DataFusionError) -> Mapped {
    match error {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(ours) => Mapped::of(ours.clone()),
            None => Mapped::of(Error::internal(inner.to_string())),
        },
        DataFusionError::Diagnostic(diagnostic, inner) => {
            let mut mapped = map(inner);
            let start = diagnostic.span.map(|span| Location::new(span.start.line, span.start.column));
            mapped.place = start.and_then(position).or(mapped.place);
            mapped
        }
        DataFusionError::Context(_, inner) => map(inner),
        DataFusionError::Shared(inner) => map(inner),
        DataFusionError::Collection(errors) if !errors.is_empty() => map(&errors[0]),
        DataFusionError::SQL(parser, _) => Mapped::of(of_parser(parser, "")),
        DataFusionError::SchemaError(schema, _) => map_schema(schema),
        DataFusionError::NotImplemented(message) => Mapped::of(Error::unsupported(plain(message))),
        DataFusionError::Internal(message) => Mapped::of(Error::internal(plain(message))),
        DataFusionError::Plan(message) => map_plan(message),
        DataFusionError::ArrowError(arrow, _) => Mapped::of(Error::user(plain(&arrow.to_string()).to_lowercase())),
        other => Mapped::of(Error::user(plain(&other.strip_backtrace()))),
    }
}

fn map_schema(error: &SchemaError) -> Mapped {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let qualifier = field.relation.as_ref().map(|relation| relation.to_string());
            let unknown_table = qualifier.as_ref().filter(|qualifier| {
                let known = |column: &Column| {
                    column.relation.as_ref().is_some_and(|relation| relation.to_string() == **qualifier)
                };
                !valid_fields.iter().any(known)
            });
            let mut error = match unknown_table {
                Some(table) => Error::user(format!("no table or alias named {table} in FROM")),
                None => Error::user(format!("no column named {}", field.flat_name())),
            };
            let near = match unknown_table {
                Some(table) => {
                    let tables: Vec<String> = valid_fields
                        .iter()
                        .filter_map(|column| column.relation.as_ref().map(ToString::to_string))
                        .collect();
                    nearest(table, tables.iter().map(String::as_str)).map(str::to_owned)
                }
                None => nearest(&field.name, valid_fields.iter().map(|column| column.name.as_str())).map(str::to_owned),
            };
            if let Some(near) = near {
                error = error.with_hint(format!("did you mean {near}?"));
            }
            Mapped { error, place: None, name: Some(field.as_ref().clone()) }
        }
        SchemaError::AmbiguousReference { field } => {
            let error = Error::user(format!("column {} is in more than one table", field.name))
                .with_hint(format!("write the table before it, as in t.{}", field.name));
            Mapped { error, place: None, name: Some(field.as_ref().clone()) }
        }
        SchemaError::DuplicateQualifiedField { name, .. } | SchemaError::DuplicateUnqualifiedField { name } => {
            Mapped::of(Error::user(format!("two columns are named {name}")).with_hint("rename one with AS"))
        }
    }
}

fn map_plan(message: &str) -> Mapped {
    let message = plain(message);
    if let Some(name) = message.strip_prefix("Invalid function '").and_then(|rest| rest.split('\'').next()) {
        let mut error = Error::user(format!("no function named {name}"));
        if let Some(near) = nearest(name, FUNCTIONS.names()) {
            error = error.with_hint(format!("did you mean {near}?"));
        }
        return Mapped { error, place: None, name: Some(Column::new_unqualified(name)) };
    }
    if message.starts_with(REPETITION) {
        let name = message.split('"').nth(1).unwrap_or("the same").to_owned();
        let error = Error::user(format!("two columns of the SELECT list are named {name}"));
        return Mapped::of(error.with_hint("rename one with AS"));
    }
    if let Some(error) = ungrouped(&message).or_else(|| wrong_arguments(&message)) {
        return error;
    }
    Mapped::of(Error::user(message))
}

/// A column beside aggregates that isn't grouped by.
fn ungrouped(message: &str) -> Option<Mapped> {
    let (before, _) = message.split_once("\" must appear in the GROUP BY clause")?;
    let (_, column) = before.split_once("column \"")?;
    let column = Column::from_qualified_name(column);
    let name = &column.name;
    let error = Error::user(format!("column {name} must appear in GROUP BY or inside an aggregate function"));
    Some(Mapped {
        error: error.with_hint(format!("group by it, or use any_value({name})")),
        place: None,
        name: Some(column),
    })
}

/// A function that exists, called with what it can't take. The planner crates list every signature that they tried.
fn wrong_arguments(message: &str) -> Option<Mapped> {
    let is_mismatch = message.contains("failed to match any signature")
        || message.contains("No function matches the given name and argument types");
    let name = message.split('\'').nth(1)?.split('(').next()?;
    if !is_mismatch {
        return None;
    }
    let received = message.split("DataType: ").nth(1).and_then(|rest| rest.split(')').next());
    let error = Error::user(match received {
        Some(data_type) => format!("function {name} can't take an argument of type {data_type}"),
        None => format!("function {name} can't take arguments of these types"),
    });
    let error = error.with_hint("check their number, and convert them with CAST(... AS type)");
    Some(Mapped { error, place: None, name: Some(Column::new_unqualified(name)) })
}

/// A message without the labels, advertisements and backtraces of the planner crates.
fn plain(message: &str) -> String {
    let message = message.split("\n\nbacktrace:").next().unwrap_or(message);
    let message = message.split("\nThis issue was likely caused by a bug").next().unwrap_or(message);
    let without_labels = LABELS.iter().fold(message.trim().to_owned(), |text, label| text.replace(label, ""));
    without_labels.trim_end_matches('.').to_owned()
}

/// Where the name is written in the statement; with the table before it if the text has that.
fn find(name: &Column, statement: &ParsedStatement) -> Option<Position> {
    let tokens = Tokenizer::new(&Grammar, &statement.script).tokenize_with_location().ok()?;
    let is = |token: &Token, text: &str| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(text));
    let text = statement.text();
    let start = statement.range().start;
    let line_first = statement.script[..start].matches('\n').count() as u64 + 1;
    let line_last = line_first + text.matches('\n').count() as u64;
    let inside = |location: Location| (line_first..=line_last).contains(&location.line);
    let hits = tokens.iter().enumerate().filter(|(_, token)| inside(token.span.start) && is(&token.token, &name.name));
    let qualified = hits.clone().find(|(at, _)| {
        let table = name.relation.as_ref().map(|relation| relation.table());
        table.is_some_and(|table| *at >= 2 && tokens[at - 1].token == Token::Period && is(&tokens[at - 2].token, table))
    });
    if let Some((at, _)) = qualified {
        return position(tokens[at - 2].span.start);
    }
    hits.clone().next().and_then(|(_, token)| position(token.span.start))
}
