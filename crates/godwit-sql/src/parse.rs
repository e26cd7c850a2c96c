//! Text to syntax trees: splits a script into statements, parses each, and rewrites what the binder doesn't know.

use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{
    self, Expr, GroupByExpr, OrderByExpr, OrderByKind, Query, Select, SelectFlavor, SelectItem, SetExpr, Value,
    VisitMut, VisitorMut,
};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::Parser;
use datafusion_sql::sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};
use godwit_common::{Error, Position, Result};

use crate::copy::CopyFrom;
use crate::dialect::AGGREGATES;
use crate::functions::FUNCTIONS;
use crate::grammar::Grammar;
use crate::names::WrittenName;
use crate::queries::OwnSyntax;
use crate::sequence::CreateSequence;
use crate::write::{InsertClauses, insert_syntax};
use crate::{AttachPlan, CopyOption, ExplainOptions, TransactionStep, from_first, plan_error, sample, spelling, stack};

/// Nesting that the parser accepts; `stack` gives it the room.
const PARSER_RECURSION_MAX: usize = 300;

/// One statement of a script.
#[derive(Debug, Clone)]
pub struct ParsedStatement {
    /// The whole script.
    pub(crate) script: Arc<str>,
    pub(crate) range: Range<usize>,
    pub(crate) depth: usize,
    pub(crate) syntax: Syntax,
}

/// What a statement does to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Read,
    /// Changes rows, tables or views.
    Change,
    /// Nothing itself: `BEGIN`, `COMMIT` and so on, and what runs other statements.
    Control,
}

impl ParsedStatement {
    /// What the statement does to the database.
    pub fn access(&self) -> Access {
        match &self.syntax {
            Syntax::Insert { .. }
            | Syntax::CopyFrom(_)
            | Syntax::Update(_)
            | Syntax::Delete(_)
            | Syntax::Merge(_)
            | Syntax::Truncate { .. }
            | Syntax::Alter(_)
            | Syntax::SetEncoding { .. }
            | Syntax::CreateIndex(_)
            | Syntax::DropIndex { .. }
            | Syntax::CreateView(_)
            | Syntax::DropView { .. }
            | Syntax::CreateTable { .. }
            | Syntax::DropTable { .. }
            | Syntax::CreateSchema { .. }
            | Syntax::DropSchema { .. }
            | Syntax::CreateSequence(_)
            | Syntax::DropSequence { .. } => Access::Change,
            Syntax::Transaction(_) | Syntax::Import { .. } => Access::Control,
            _ => Access::Read,
        }
    }

    /// The statement's text, without the semicolon.
    pub fn text(&self) -> &str {
        &self.script[self.range.clone()]
    }

    /// Lets `COPY … FROM` read the file of the same name in a folder, if there is one.
    pub fn move_files_to(&mut self, folder: &Path) {
        let moved = |path: &str| {
            let there = folder.join(Path::new(path).file_name()?);
            there.exists().then(|| there.to_string_lossy().into_owned())
        };
        match &mut self.syntax {
            Syntax::CopyFrom(copy) => copy.path = moved(&copy.path).unwrap_or_else(|| std::mem::take(&mut copy.path)),
            Syntax::Insert { source: Some(source), .. } => {
                let _: ControlFlow<()> = ast::visit_relations_mut(source, |relation| {
                    if let [ast::ObjectNamePart::Identifier(name)] = &mut relation.0[..]
                        && let Some(there) = moved(&name.value)
                    {
                        name.value = there;
                    }
                    ControlFlow::Continue(())
                });
            }
            _ => {}
        }
    }

    /// Where the statement is in the script, in bytes.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }
}

/// The syntax tree of a statement, by what it asks for.
#[derive(Debug, Clone)]
pub(crate) enum Syntax {
    /// What our own front end parses and binds.
    Own(Box<OwnSyntax>),
    Query(Box<Query>),
    Copy {
        query: Box<Query>,
        path: String,
        options: Vec<CopyOption>,
    },
    Explain {
        options: ExplainOptions,
        query: Box<Query>,
    },
    CreateView(Box<ast::CreateView>),
    DropView {
        names: Vec<WrittenName>,
        if_exists: bool,
    },
    /// `encodings` are columns, and what they say about how they are stored.
    CreateTable {
        table: Box<ast::CreateTable>,
        encodings: Vec<(String, String)>,
    },
    DropTable {
        names: Vec<WrittenName>,
        if_exists: bool,
    },
    CreateSchema {
        name: WrittenName,
        if_not_exists: bool,
    },
    DropSchema {
        names: Vec<WrittenName>,
        if_exists: bool,
        cascade: bool,
    },
    CreateSequence(CreateSequence),
    DropSequence {
        names: Vec<WrittenName>,
        if_exists: bool,
    },
    Insert {
        table: WrittenName,
        columns: Vec<String>,
        source: Option<Box<Query>>,
        clauses: Box<InsertClauses>,
    },
    CopyFrom(CopyFrom),
    Update(Box<ast::Update>),
    Delete(Box<ast::Delete>),
    Merge(Box<ast::Merge>),
    Truncate {
        table: WrittenName,
    },
    Alter(Box<ast::AlterTable>),
    /// `ALTER TABLE t ALTER a SET ENCODING x`, spelled as something else that is about the column.
    SetEncoding {
        alter: Box<ast::AlterTable>,
        encoding: String,
    },
    CreateIndex(Box<ast::CreateIndex>),
    DropIndex {
        name: WrittenName,
        if_exists: bool,
    },
    Nothing,
    Transaction(TransactionStep),
    Checkpoint,
    MergeDelta {
        table: WrittenName,
    },
    Describe(Box<Query>),
    Summarize(Box<Query>),
    ShowTables,
    ShowDatabases,
    Attach(AttachPlan),
    Detach {
        name: String,
        if_exists: bool,
    },
    Export {
        folder: String,
        options: Vec<CopyOption>,
    },
    Import {
        folder: String,
    },
    Show {
        name: Option<String>,
    },
    Set {
        name: String,
        value: String,
    },
    /// The places of the search path.
    Use(Vec<WrittenName>),
    Reset {
        name: Option<String>,
    },
    Unsupported {
        what: String,
    },
}

/// Parses a script of statements separated by semicolons.
pub(crate) fn parse_script(sql: &str) -> Result<Vec<ParsedStatement>> {
    if sql.len() > stack::TEXT_BYTES_MAX {
        return Err(Error::user(format!(
            "the statement text is {} bytes long, at most {} are accepted",
            sql.len(),
            stack::TEXT_BYTES_MAX
        )));
    }
    let script: Arc<str> = sql.into();
    let tokens = Tokenizer::new(&Grammar, sql).tokenize_with_location().map_err(|error| {
        let message = error.message.trim_end_matches(['.', ' ']).to_owned();
        plan_error::with_location(Error::user(lower_first(&message)), error.location)
    })?;
    let lines = LineStarts::new(sql);
    let mut statements = Vec::new();
    for tokens in tokens.split(|token| token.token == Token::SemiColon) {
        let is_text = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_) | Token::EOF);
        let (Some(first), Some(last)) = (tokens.iter().find(is_text), tokens.iter().rfind(is_text)) else {
            continue;
        };
        let range = lines.offset(sql, first.span.start)..lines.offset(sql, last.span.end);
        let tokens = spelling::normalized(tokens.iter().filter(is_text).cloned().collect())?;
        let tokens = from_first::add_selects(tokens);
        let depth = stack::depth_of(&tokens).map_err(|error| plan_error::with_location(error, first.span.start))?;
        let end = last.span.end;
        let syntax = stack::with_stack(depth, || StatementParser { sql, lines: &lines, tokens, end }.parse())?;
        statements.push(ParsedStatement { script: Arc::clone(&script), range, depth, syntax });
    }
    Ok(statements)
}

fn written_names(names: &[ast::ObjectName]) -> Result<Vec<WrittenName>> {
    names.iter().map(WrittenName::of).collect()
}

fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map(|first| first.to_lowercase().chain(characters).collect()).unwrap_or_default()
}

/// Byte offsets at which lines start.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn new(sql: &str) -> Self {
        Self(std::iter::once(0).chain(sql.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// The byte offset of a location, which counts lines and characters from 1.
    fn offset(&self, sql: &str, location: Location) -> usize {
        let line = (location.line.max(1) - 1) as usize;
        let start = self.0.get(line).copied().unwrap_or(sql.len());
        let column = (location.column.max(1) - 1) as usize;
        sql[start..].char_indices().nth(column).map_or(sql.len(), |(at, _)| start + at)
    }
}

/// Parses one statement: what starts with a word of ours by hand, all else by the parser crate.
pub(crate) struct StatementParser<'a> {
    pub(crate) sql: &'a str,
    lines: &'a LineStarts,
    /// Without white space and comments; not empty.
    pub(crate) tokens: Vec<TokenWithSpan>,
    pub(crate) end: Location,
}

impl StatementParser<'_> {
    fn parse(mut self) -> Result<Syntax> {
        match (self.word(0).as_str(), self.word(1).as_str()) {
            ("SELECT" | "FROM" | "WITH" | "VALUES" | "(" | "TABLE", _) => Ok(Syntax::Query(self.query(0)?)),
            ("EXPLAIN", _) => self.explain(),
            ("DESCRIBE" | "DESC", _) => Ok(Syntax::Describe(self.query_or_table(1)?)),
            ("SUMMARIZE", _) => Ok(Syntax::Summarize(self.query_or_table(1)?)),
            ("COPY", _) => self.copy(),
            ("BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT" | "SAVEPOINT" | "RELEASE", _) => {
                self.transaction()
            }
            ("VACUUM" | "ANALYZE", table) => self.maintenance(table),
            ("MERGE", "DELTA") if self.word(2) == "OF" => {
                let (table, end) = self.name_at(3)?;
                self.ends_at(end).map(|()| Syntax::MergeDelta { table })
            }
            ("ALTER", "TABLE") => self.alter_table(),
            ("CHECKPOINT", _) => self.ends_at(1).map(|()| Syntax::Checkpoint),
            ("SHOW", "TABLES") => self.ends_at(2).map(|()| Syntax::ShowTables),
            ("SHOW", "DATABASES") => self.ends_at(2).map(|()| Syntax::ShowDatabases),
            ("SHOW", "ALL") => self.ends_at(2).map(|()| Syntax::Show { name: None }),
            ("SHOW", _) => Ok(Syntax::Show { name: Some(self.setting_name(1)?) }),
            ("RESET", "ALL") => self.ends_at(2).map(|()| Syntax::Reset { name: None }),
            ("RESET", _) => Ok(Syntax::Reset { name: Some(self.setting_name(1)?) }),
            ("SET", "SESSION" | "GLOBAL" | "LOCAL") if self.tokens.len() > 4 => {
                self.tokens.remove(1);
                self.set()
            }
            ("SET" | "PRAGMA", _) => self.set(),
            ("CREATE", _) if self.is_table() => self.create_table(),
            ("CREATE", "SEQUENCE" | "TEMP" | "TEMPORARY" | "OR") if self.is_sequence() => self.create_sequence(),
            ("ATTACH", _) => self.attach(),
            ("DETACH", _) => self.detach(),
            ("EXPORT", "DATABASE") => self.export(),
            ("IMPORT", "DATABASE") => self.import(),
            ("USE", _) => {
                let (name, end) = self.name_at(1)?;
                self.ends_at(end).map(|()| Syntax::Use(vec![name]))
            }
            _ => self.other(),
        }
    }

    /// The word at `at` in upper case, or a parenthesis that opens; empty if there is something else.
    pub(crate) fn word(&self, at: usize) -> String {
        match self.tokens.get(at).map(|token| &token.token) {
            Some(Token::Word(word)) if word.quote_style.is_none() => word.value.to_uppercase(),
            Some(Token::LParen) => "(".to_owned(),
            _ => String::new(),
        }
    }

    /// The query that the tokens from `from` on spell.
    pub(crate) fn query(&mut self, from: usize) -> Result<Box<Query>> {
        let mut parser = self.parser(from);
        let mut query = parser.parse_query().map_err(|error| plan_error::of_parser(&error, self.sql))?;
        let rest = parser.peek_token();
        if rest.token != Token::EOF {
            let error = Error::user(format!("expected the end of the statement, found {}", rest.token));
            return Err(plan_error::with_location(error, rest.span.start));
        }
        desugar(&mut query)?;
        Ok(query)
    }

    /// A query, or the name or path of a table standing for all of its rows.
    pub(crate) fn query_or_table(&mut self, from: usize) -> Result<Box<Query>> {
        let starts_query = match self.tokens.get(from).map(|token| &token.token) {
            Some(Token::Word(word)) => matches!(
                word.keyword,
                Keyword::SELECT | Keyword::FROM | Keyword::WITH | Keyword::VALUES | Keyword::TABLE
            ),
            Some(Token::LParen) => true,
            _ => false,
        };
        if !starts_query && from < self.tokens.len() {
            let span = self.tokens[from].span;
            self.tokens.insert(from, TokenWithSpan { token: Token::make_keyword("FROM"), span });
        }
        self.query(from)
    }

    /// `… SET ENCODING x` is ours; all else is the parser's.
    fn alter_table(&mut self) -> Result<Syntax> {
        let Some(at) = self.tokens.len().checked_sub(3).filter(|&at| self.word(at) == "SET") else {
            return self.alter_using();
        };
        if self.word(at + 1) != "ENCODING" {
            return self.alter_using();
        }
        let encoding = match &self.tokens[at + 2].token {
            Token::Word(word) => word.value.clone(),
            Token::SingleQuotedString(text) => text.clone(),
            _ => return Err(self.error_at(at + 2, "expected the name of an encoding")),
        };
        let span = self.tokens[at].span;
        let drop_default = ["DROP", "DEFAULT"].map(|word| TokenWithSpan { token: Token::make_keyword(word), span });
        self.tokens.truncate(at);
        self.tokens.extend(drop_default);
        match self.other()? {
            Syntax::Alter(alter) => Ok(Syntax::SetEncoding { alter, encoding }),
            _ => Err(self.error_at(at, "expected ALTER TABLE name ALTER column SET ENCODING encoding")),
        }
    }

    /// `VACUUM [t]` is a checkpoint, which drops deleted rows; `ANALYZE [t]` has nothing to do: statistics are kept.
    fn maintenance(&self, table: &str) -> Result<Syntax> {
        self.ends_at(if table.is_empty() { 1 } else { 2 })?;
        Ok(if self.word(0) == "VACUUM" { Syntax::Checkpoint } else { Syntax::Nothing })
    }

    /// `BEGIN [TRANSACTION | WORK]`, `ROLLBACK TO [SAVEPOINT] name` and so on.
    fn transaction(&self) -> Result<Syntax> {
        let word = |at| self.word(at);
        let skip = |at: usize, words: &[&str]| if words.contains(&word(at).as_str()) { at + 1 } else { at };
        let name = |at: usize| match self.tokens.get(at).map(|token| &token.token) {
            Some(Token::Word(name)) if name.quote_style.is_some() => Ok(name.value.clone()),
            Some(Token::Word(name)) => Ok(name.value.to_lowercase()),
            _ => Err(self.error_at(at, "expected the name of a savepoint")),
        };
        let noise = ["TRANSACTION", "WORK"];
        let (step, end) = match word(0).as_str() {
            "START" if word(1) != "TRANSACTION" => return Err(self.error_at(1, "expected TRANSACTION")),
            "BEGIN" | "START" => (TransactionStep::Begin, skip(1, &noise)),
            "COMMIT" | "END" => (TransactionStep::Commit, skip(1, &noise)),
            "SAVEPOINT" => (TransactionStep::Savepoint(name(1)?), 2),
            "RELEASE" => {
                let at = skip(1, &["SAVEPOINT"]);
                (TransactionStep::Release(name(at)?), at + 1)
            }
            _ => match skip(1, &noise) {
                at if word(at) == "TO" => {
                    let at = skip(at + 1, &["SAVEPOINT"]);
                    (TransactionStep::RollbackTo(name(at)?), at + 1)
                }
                at => (TransactionStep::Rollback, at),
            },
        };
        self.ends_at(end).map(|()| Syntax::Transaction(step))
    }

    fn set(&self) -> Result<Syntax> {
        let name_end = self.tokens.iter().position(|token| match &token.token {
            Token::Eq => true,
            Token::Word(word) => word.keyword == Keyword::TO,
            _ => false,
        });
        let (Some(at), Some(Token::Word(name))) = (name_end, self.tokens.get(1).map(|token| &token.token)) else {
            return Err(self.error_at(self.tokens.len(), "expected SET name = value"));
        };
        if at != 2 {
            return Err(self.error_at(2, "expected SET name = value"));
        }
        let value = match &self.tokens[at + 1..] {
            [] => return Err(self.error_at(at + 1, "expected a value")),
            [TokenWithSpan { token: Token::SingleQuotedString(text), .. }] => text.clone(),
            _ => self.text_of(at + 1..self.tokens.len()).to_owned(),
        };
        match name.value.to_lowercase() {
            name if name == "schema" || name == "search_path" => {
                let places = value.split(',').map(|place| WrittenName::of_text(place.trim()));
                Ok(Syntax::Use(places.collect::<Result<_>>()?))
            }
            name => Ok(Syntax::Set { name, value }),
        }
    }

    /// What was written as these tokens; there is one at least.
    pub(crate) fn text_of(&self, tokens: Range<usize>) -> &str {
        let (first, last) = (&self.tokens[tokens.start], &self.tokens[tokens.end - 1]);
        &self.sql[self.lines.offset(self.sql, first.span.start)..self.lines.offset(self.sql, last.span.end)]
    }

    /// The name that begins at a token, and the token behind it.
    pub(crate) fn name_at(&self, mut at: usize) -> Result<(WrittenName, usize)> {
        let mut parts = Vec::new();
        loop {
            match self.tokens.get(at).map(|token| &token.token) {
                Some(Token::Word(word)) if word.quote_style.is_some() => parts.push(word.value.clone()),
                Some(Token::Word(word)) => parts.push(word.value.to_lowercase()),
                _ => return Err(self.error_at(at, "expected a name")),
            }
            if self.tokens.get(at + 1).map(|token| &token.token) != Some(&Token::Period) {
                return Ok((WrittenName::of_parts(parts)?, at + 1));
            }
            at += 2;
        }
    }

    pub(crate) fn other(&mut self) -> Result<Syntax> {
        let mut parser = self.parser(0);
        let statement = parser.parse_statement().map_err(|error| plan_error::of_parser(&error, self.sql))?;
        let rest = parser.peek_token();
        if rest.token != Token::EOF {
            let error = Error::user(format!("expected the end of the statement, found {}", rest.token));
            return Err(plan_error::with_location(error, rest.span.start));
        }
        match statement {
            ast::Statement::CreateView(mut view) if !view.materialized => {
                desugar(&mut view.query)?;
                Ok(Syntax::CreateView(Box::new(view)))
            }
            ast::Statement::Drop { object_type: ast::ObjectType::View, if_exists, names, .. } => {
                Ok(Syntax::DropView { names: written_names(&names)?, if_exists })
            }
            ast::Statement::CreateSchema { schema_name: ast::SchemaName::Simple(name), if_not_exists, .. } => {
                Ok(Syntax::CreateSchema { name: WrittenName::of(&name)?, if_not_exists })
            }
            ast::Statement::Drop { object_type: ast::ObjectType::Schema, if_exists, names, cascade, .. } => {
                let names = written_names(&names)?;
                Ok(Syntax::DropSchema { names, if_exists, cascade })
            }
            ast::Statement::Drop { object_type: ast::ObjectType::Sequence, if_exists, names, .. } => {
                Ok(Syntax::DropSequence { names: written_names(&names)?, if_exists })
            }
            ast::Statement::Drop { object_type: ast::ObjectType::Table, if_exists, names, .. } => {
                Ok(Syntax::DropTable { names: written_names(&names)?, if_exists })
            }
            ast::Statement::CreateTable(mut table) => {
                table.query.iter_mut().try_for_each(|query| desugar(query))?;
                Ok(Syntax::CreateTable { table: Box::new(table), encodings: Vec::new() })
            }
            ast::Statement::Insert(insert) => insert_syntax(insert),
            ast::Statement::AlterTable(alter) => Ok(Syntax::Alter(Box::new(alter))),
            ast::Statement::CreateIndex(index) => Ok(Syntax::CreateIndex(Box::new(index))),
            ast::Statement::Drop { object_type: ast::ObjectType::Index, if_exists, names, .. } if names.len() == 1 => {
                Ok(Syntax::DropIndex { name: WrittenName::of(&names[0])?, if_exists })
            }
            ast::Statement::Update(update) => Ok(Syntax::Update(Box::new(update))),
            ast::Statement::Delete(delete) => Ok(Syntax::Delete(Box::new(delete))),
            ast::Statement::Merge(merge) => Ok(Syntax::Merge(Box::new(merge))),
            ast::Statement::Truncate(truncate) => match &truncate.table_names[..] {
                [table] => Ok(Syntax::Truncate { table: WrittenName::of(&table.name)? }),
                _ => Err(Error::unsupported("TRUNCATE of several tables")),
            },
            other => {
                let text = other.to_string();
                let words: Vec<&str> = text.split_whitespace().take(2).collect();
                let is_pair = matches!(words[0], "CREATE" | "DROP" | "ALTER" | "INSERT" | "DELETE");
                Ok(Syntax::Unsupported { what: words[..if is_pair { words.len() } else { 1 }].join(" ") })
            }
        }
    }

    pub(crate) fn parser(&self, from: usize) -> Parser<'static> {
        let mut tokens = self.tokens[from.min(self.tokens.len())..].to_vec();
        tokens.push(TokenWithSpan { token: Token::EOF, span: Span::new(self.end, self.end) });
        Parser::new(&Grammar).with_recursion_limit(PARSER_RECURSION_MAX).with_tokens_with_locations(tokens)
    }

    fn setting_name(&self, at: usize) -> Result<String> {
        match self.tokens.get(at).map(|token| &token.token) {
            Some(Token::Word(word)) => self.ends_at(at + 1).map(|()| word.value.to_lowercase()),
            _ => Err(self.error_at(at, "expected the name of a setting")),
        }
    }

    pub(crate) fn ends_at(&self, at: usize) -> Result<()> {
        if at < self.tokens.len() { Err(self.error_at(at, "expected the end of the statement")) } else { Ok(()) }
    }

    pub(crate) fn error_at(&self, at: usize, message: &str) -> Error {
        match self.tokens.get(at) {
            Some(token) => {
                plan_error::with_location(Error::user(format!("{message}, found {}", token.token)), token.span.start)
            }
            None => plan_error::with_location(Error::user(message), self.end),
        }
    }
}

/// Rewrites syntax that the binder doesn't know into syntax that it knows.
pub(crate) fn desugar(query: &mut Query) -> Result<()> {
    match query.visit(&mut Desugar) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Desugar;

impl VisitorMut for Desugar {
    type Break = Error;

    /// `ORDER BY ALL`: by the positions of all selected expressions.
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        let SetExpr::Select(select) = query.body.as_ref() else {
            return ControlFlow::Continue(());
        };
        let is_wildcard =
            |item: &SelectItem| !matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
        if let Some(order) = &mut query.order_by
            && let OrderByKind::All(options) = &order.kind
            && !select.projection.iter().any(is_wildcard)
        {
            let by = |at: usize| OrderByExpr { expr: ordinal(at), options: *options, with_fill: None };
            order.kind = OrderByKind::Expressions((0..select.projection.len()).map(by).collect());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut ast::TableFactor) -> ControlFlow<Error> {
        match sample::rewrite(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        if matches!(select.flavor, SelectFlavor::FromFirstNoSelect) {
            select.projection = vec![SelectItem::Wildcard(ast::WildcardAdditionalOptions::default())];
        }
        if let GroupByExpr::All(modifiers) = &select.group_by {
            match group_by_ordinals(select) {
                Ok(ordinals) => select.group_by = GroupByExpr::Expressions(ordinals, modifiers.clone()),
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }
}

/// A position in the SELECT list, as SQL counts it.
pub(crate) fn ordinal(at: usize) -> Expr {
    Expr::value(Value::Number((at + 1).to_string(), false))
}

/// `GROUP BY ALL`: the positions of all selected expressions without an aggregate.
fn group_by_ordinals(select: &Select) -> Result<Vec<Expr>> {
    let mut ordinals = Vec::new();
    for (at, item) in select.projection.iter().enumerate() {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                if !contains_aggregate(expr) {
                    ordinals.push(ordinal(at));
                }
            }
            _ => {
                return Err(Error::unsupported("GROUP BY ALL with * in the SELECT list")
                    .with_hint("name the columns, or use SELECT DISTINCT"));
            }
        }
    }
    Ok(ordinals)
}

fn contains_aggregate(expr: &Expr) -> bool {
    let mut found = false;
    let _: ControlFlow<()> = ast::visit_expressions(expr, |part| {
        if let Expr::Function(function) = part {
            let name = function.name.to_string().to_lowercase();
            let is_aggregate = FUNCTIONS.aggregate.contains_key(&name) || AGGREGATES.contains(&name.as_str());
            found |= function.over.is_none() && is_aggregate;
        }
        ControlFlow::Continue(())
    });
    found
}

/// A location of the tokenizer as ours; the empty location has line 0.
pub(crate) fn position(location: Location) -> Option<Position> {
    (location.line > 0).then_some(Position { line: location.line as u32, column: location.column.max(1) as u32 })
}
