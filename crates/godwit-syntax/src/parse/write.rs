//! INSERT, UPDATE, DELETE, MERGE, TRUNCATE.

use godwit_common::{Result, Span};

use super::{Parser, syntax_error};
use crate::ast::{
    Assignment, AssignmentTarget, ConflictAction, ConflictTarget, Delete, Expr, Insert, InsertPolicy, InsertSource,
    Merge, MergeAction, MergeClause, MergeCondition, MergeMatch, OnConflict, SelectItem, Statement, Truncate, Update,
    With,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

impl Parser<'_> {
    pub(super) fn insert(&mut self, with: Option<With>, start: Span) -> Result<Statement> {
        self.expect(K::Insert)?;
        let policy = if !self.eat(K::Or) {
            None
        } else if self.eat(K::Replace) {
            Some(InsertPolicy::Replace)
        } else if self.eat(K::Ignore) {
            Some(InsertPolicy::Ignore)
        } else {
            return Err(self.expected("REPLACE or IGNORE"));
        };
        self.expect(K::Into)?;
        let table = self.object_name_of("the name of a table")?;
        let alias = if self.eat(K::As) { Some(self.label()?) } else { None };
        let mut by_name = self.by_name()?;
        let has_columns = self.is_symbol(Symbol::LeftParen) && !self.is_query_in_parens();
        let columns = if has_columns { self.names_in_parens()? } else { Vec::new() };
        by_name |= self.by_name()?;
        let source = if self.eat_all(&[K::Default, K::Values]) {
            InsertSource::DefaultValues
        } else if self.starts_table_query() || self.is_symbol(Symbol::LeftParen) {
            InsertSource::Query(Box::new(self.query()?))
        } else {
            return Err(self.expected("VALUES, SELECT or DEFAULT VALUES"));
        };
        let on_conflict = if self.is(K::On) { Some(self.on_conflict()?) } else { None };
        let returning = self.returning()?;
        let span = self.since(start);
        let insert = Insert { with, policy, table, alias, columns, by_name, source, on_conflict, returning, span };
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// BY NAME; BY POSITION has no effect.
    fn by_name(&mut self) -> Result<bool> {
        if !self.eat(K::By) {
            return Ok(false);
        }
        match self.eat_any(&[K::Name, K::Position]) {
            Some(keyword) => Ok(keyword == K::Name),
            None => Err(self.expected("NAME or POSITION")),
        }
    }

    /// True if a query in parentheses comes next, rather than names.
    fn is_query_in_parens(&self) -> bool {
        let mut at = 0;
        while self.symbol_at(at) == Some(Symbol::LeftParen) {
            at += 1;
        }
        match self.keyword_at(at) {
            Some(K::Select | K::From | K::With | K::Table) => true,
            Some(K::Values) => self.symbol_at(at + 1) == Some(Symbol::LeftParen),
            _ => false,
        }
    }

    fn on_conflict(&mut self) -> Result<OnConflict> {
        let start = self.peek().span;
        self.expect_all(&[K::On, K::Conflict])?;
        let target = if self.eat_all(&[K::On, K::Constraint]) {
            Some(ConflictTarget::Constraint(self.name()?))
        } else if self.is_symbol(Symbol::LeftParen) {
            let columns = self.names_in_parens()?;
            let filter = self.filter()?;
            Some(ConflictTarget::Columns { columns, filter })
        } else {
            None
        };
        self.expect(K::Do)?;
        let action = if self.eat(K::Nothing) {
            ConflictAction::Nothing
        } else {
            self.expect(K::Update)?;
            let assignments = self.assignments()?;
            ConflictAction::Update { assignments, filter: self.filter()? }
        };
        Ok(OnConflict { target, action, span: self.since(start) })
    }

    /// `WHERE …`, if present.
    pub(super) fn filter(&mut self) -> Result<Option<Expr>> {
        if self.eat(K::Where) { self.expr().map(Some) } else { Ok(None) }
    }

    fn returning(&mut self) -> Result<Vec<SelectItem>> {
        if self.eat(K::Returning) { self.select_items() } else { Ok(Vec::new()) }
    }

    /// `SET a = 1, (b, c) = (2, 3)`.
    fn assignments(&mut self) -> Result<Vec<Assignment>> {
        self.expect(K::Set)?;
        self.comma_list(|parser| {
            let target = if parser.is_symbol(Symbol::LeftParen) {
                AssignmentTarget::Row(parser.in_parens(Self::object_name)?)
            } else {
                AssignmentTarget::Column(parser.object_name_of("the name of a column")?)
            };
            parser.expect_symbol(Symbol::Equal)?;
            Ok(Assignment { target, value: parser.expr()? })
        })
    }

    pub(super) fn update(&mut self, with: Option<With>, start: Span) -> Result<Statement> {
        self.expect(K::Update)?;
        self.eat(K::Only);
        let table = self.object_name_of("the name of a table")?;
        let alias = self.table_alias(&[K::Set])?;
        let assignments = self.assignments()?;
        let from = if self.eat(K::From) { self.table_list()? } else { Vec::new() };
        let filter = self.filter()?;
        let returning = self.returning()?;
        let span = self.since(start);
        let update = Update { with, table, alias, assignments, from, filter, returning, span };
        Ok(Statement::Update(Box::new(update)))
    }

    pub(super) fn delete(&mut self, with: Option<With>, start: Span) -> Result<Statement> {
        self.expect_all(&[K::Delete, K::From])?;
        self.eat(K::Only);
        let table = self.object_name_of("the name of a table")?;
        let alias = self.table_alias(&[])?;
        let using = if self.eat(K::Using) { self.table_list()? } else { Vec::new() };
        let filter = self.filter()?;
        let returning = self.returning()?;
        let span = self.since(start);
        Ok(Statement::Delete(Box::new(Delete { with, table, alias, using, filter, returning, span })))
    }

    pub(super) fn merge(&mut self, with: Option<With>, start: Span) -> Result<Statement> {
        self.expect(K::Merge)?;
        self.expect(K::Into)?;
        let table = self.object_name_of("the name of a table")?;
        let alias = self.table_alias(&[])?;
        self.expect(K::Using)?;
        let source = self.table_factor()?;
        let on = if self.eat(K::Using) {
            crate::ast::JoinConstraint::Using(self.names_in_parens()?)
        } else {
            self.expect(K::On)?;
            crate::ast::JoinConstraint::On(self.expr()?)
        };
        let mut clauses = Vec::new();
        while clauses.is_empty() || self.is(K::When) {
            clauses.push(self.merge_clause()?);
        }
        let returning = self.returning()?;
        let span = self.since(start);
        Ok(Statement::Merge(Box::new(Merge { with, table, alias, source, on, clauses, returning, span })))
    }

    fn merge_clause(&mut self) -> Result<MergeClause> {
        let start = self.peek().span;
        self.expect(K::When)?;
        let matched = if self.eat(K::Matched) {
            MergeMatch::Matched
        } else {
            self.expect_all(&[K::Not, K::Matched])?;
            if !self.eat(K::By) {
                MergeMatch::NotMatchedByTarget
            } else {
                match self.eat_any(&[K::Target, K::Source]) {
                    Some(K::Target) => MergeMatch::NotMatchedByTarget,
                    Some(_) => MergeMatch::NotMatchedBySource,
                    None => return Err(self.expected("TARGET or SOURCE")),
                }
            }
        };
        let condition = if self.eat(K::And) { Some(self.expr()?) } else { None };
        self.expect(K::Then)?;
        let action = self.merge_action()?;
        Ok(MergeClause { when: MergeCondition { matched, condition }, action, span: self.since(start) })
    }

    fn merge_action(&mut self) -> Result<MergeAction> {
        Ok(match self.keyword() {
            Some(K::Update) => {
                self.take();
                if !self.is(K::Set) {
                    MergeAction::UpdateAll { by_position: self.by_position()? }
                } else if self.symbol_at(1) == Some(Symbol::Star) {
                    self.at += 2;
                    MergeAction::UpdateAll { by_position: false }
                } else {
                    MergeAction::Update(self.assignments()?)
                }
            }
            Some(K::Insert) => {
                self.take();
                self.merge_insert()?
            }
            Some(K::Delete) => {
                self.take();
                MergeAction::Delete
            }
            Some(K::Do) => {
                self.take();
                self.expect(K::Nothing)?;
                MergeAction::Nothing
            }
            Some(K::Error) => {
                self.take();
                let is_end = matches!(self.kind_at(0), TokenKind::End | TokenKind::Word(Some(K::When | K::Returning)));
                MergeAction::Error(if is_end { None } else { Some(self.expr()?) })
            }
            _ => return Err(self.expected("UPDATE, INSERT, DELETE, DO NOTHING or ERROR")),
        })
    }

    fn merge_insert(&mut self) -> Result<MergeAction> {
        if self.eat_symbol(Symbol::Star) {
            return Ok(MergeAction::InsertAll { by_position: false });
        }
        if self.eat_all(&[K::Default, K::Values]) {
            return Ok(MergeAction::InsertDefaults);
        }
        if self.is(K::By) {
            return Ok(MergeAction::InsertAll { by_position: self.by_position()? });
        }
        let columns = self.optional_names_in_parens()?;
        if self.eat(K::Values) {
            return Ok(MergeAction::Insert { columns, values: self.in_parens(Self::expr)? });
        }
        if columns.is_empty() {
            return Ok(MergeAction::InsertAll { by_position: false });
        }
        Err(self.expected("VALUES"))
    }

    /// BY POSITION; BY NAME has no effect.
    fn by_position(&mut self) -> Result<bool> {
        let is_written = self.is(K::By);
        Ok(!self.by_name()? && is_written)
    }

    pub(super) fn truncate(&mut self) -> Result<Statement> {
        let start = self.take().span;
        self.eat(K::Table);
        let tables = self.comma_list(Self::object_name)?;
        if self.is(K::Cascade) {
            return Err(syntax_error("TRUNCATE has no CASCADE").at_span(self.peek().span));
        }
        Ok(Statement::Truncate(Box::new(Truncate { tables, span: self.since(start) })))
    }
}
