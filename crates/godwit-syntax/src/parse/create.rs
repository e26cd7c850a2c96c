//! CREATE of everything except tables; DROP, COMMENT ON.

use godwit_common::{Result, Span};

use super::{Parser, syntax_error};
use crate::ast::{
    CommentOn, CommentTarget, CreateIndex, CreateMacro, CreateSchema, CreateSequence, CreateType, CreateView, Drop,
    DropBehavior, Expr, ExprKind, MacroBody, MacroOverload, MacroParameter, ObjectKind, SequenceOption,
    SequenceOptionKind, Statement, TypeDefinition, UnaryOperator,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

/// The words between CREATE and the kind of object.
pub(super) struct CreateWords {
    pub(super) start: Span,
    pub(super) or_replace: bool,
    pub(super) temporary: bool,
}

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let or_replace = self.eat_all(&[K::Or, K::Replace]);
        let scope = self.eat_any(&[K::Local, K::Global]);
        let temporary = self.eat_any(&[K::Temp, K::Temporary]).is_some();
        if scope.is_some() && !temporary {
            return Err(self.expected("TEMPORARY"));
        }
        let words = CreateWords { start, or_replace, temporary };
        match self.keyword() {
            Some(K::Table) => self.create_table(words),
            Some(K::View) => self.create_view(words, false),
            Some(K::Recursive) => {
                self.take();
                self.create_view(words, true)
            }
            Some(K::Schema) => self.create_schema(words),
            Some(K::Sequence) => self.create_sequence(words),
            Some(K::Unique | K::Index) => self.create_index(words),
            Some(K::Type) => self.create_type(words),
            Some(K::Macro | K::Function) => self.create_macro(words),
            _ => Err(self.expected("TABLE, VIEW, SCHEMA, SEQUENCE, INDEX, TYPE or MACRO")),
        }
    }

    /// Parses `IF NOT EXISTS` for an object that doesn't replace another one.
    pub(super) fn unless_exists(&mut self, words: &CreateWords) -> Result<bool> {
        let start = self.peek().span;
        match self.if_not_exists() {
            true if words.or_replace => Err(syntax_error("OR REPLACE and IF NOT EXISTS exclude each other")
                .with_hint("leave one of them out")
                .at_span(self.since(start))),
            found => Ok(found),
        }
    }

    fn create_view(&mut self, words: CreateWords, recursive: bool) -> Result<Statement> {
        self.expect(K::View)?;
        let if_not_exists = self.unless_exists(&words)?;
        let name = self.object_name()?;
        let columns = self.optional_names_in_parens()?;
        self.expect(K::As)?;
        let query = Box::new(self.query()?);
        let CreateWords { start, or_replace, temporary } = words;
        let span = self.since(start);
        let view = CreateView { or_replace, temporary, if_not_exists, recursive, name, columns, query, span };
        Ok(Statement::CreateView(Box::new(view)))
    }

    fn create_schema(&mut self, words: CreateWords) -> Result<Statement> {
        self.expect(K::Schema)?;
        let if_not_exists = self.unless_exists(&words)?;
        let name = self.object_name()?;
        let span = self.since(words.start);
        let schema = CreateSchema { or_replace: words.or_replace, if_not_exists, name, span };
        Ok(Statement::CreateSchema(Box::new(schema)))
    }

    fn create_sequence(&mut self, words: CreateWords) -> Result<Statement> {
        self.expect(K::Sequence)?;
        let if_not_exists = self.unless_exists(&words)?;
        let name = self.object_name()?;
        let options = self.sequence_options()?;
        if self.peek().kind != TokenKind::End {
            return Err(self.expected("START, INCREMENT, MINVALUE, MAXVALUE or CYCLE"));
        }
        let CreateWords { start, or_replace, temporary } = words;
        let span = self.since(start);
        let sequence = CreateSequence { or_replace, temporary, if_not_exists, name, options, span };
        Ok(Statement::CreateSequence(Box::new(sequence)))
    }

    /// Options of a sequence, in any order.
    pub(super) fn sequence_options(&mut self) -> Result<Vec<SequenceOption>> {
        let mut options = Vec::new();
        loop {
            let start = self.peek().span;
            let Some(kind) = self.sequence_option()? else { return Ok(options) };
            options.push(SequenceOption { kind, span: self.since(start) });
        }
    }

    fn sequence_option(&mut self) -> Result<Option<SequenceOptionKind>> {
        let Some(keyword) = self.keyword() else { return Ok(None) };
        let is_owned = self.keyword_at(1) == Some(K::By);
        Ok(Some(match keyword {
            K::Start => {
                self.take();
                self.eat(K::With);
                SequenceOptionKind::Start(self.signed_number()?)
            }
            K::Restart => {
                self.take();
                let has_number = self.eat(K::With) || self.kind_at(0) == TokenKind::Number;
                SequenceOptionKind::Restart(if has_number { Some(self.signed_number()?) } else { None })
            }
            K::Increment => {
                self.take();
                self.eat(K::By);
                SequenceOptionKind::Increment(self.signed_number()?)
            }
            K::Minvalue => {
                self.take();
                SequenceOptionKind::MinValue(Some(self.signed_number()?))
            }
            K::Maxvalue => {
                self.take();
                SequenceOptionKind::MaxValue(Some(self.signed_number()?))
            }
            K::Cache => {
                self.take();
                SequenceOptionKind::Cache(self.signed_number()?)
            }
            K::Cycle => {
                self.take();
                SequenceOptionKind::Cycle(true)
            }
            K::No => {
                self.take();
                match self.eat_any(&[K::Minvalue, K::Maxvalue, K::Cycle]) {
                    Some(K::Minvalue) => SequenceOptionKind::MinValue(None),
                    Some(K::Maxvalue) => SequenceOptionKind::MaxValue(None),
                    Some(_) => SequenceOptionKind::Cycle(false),
                    None => return Err(self.expected("MINVALUE, MAXVALUE or CYCLE")),
                }
            }
            K::As => {
                self.take();
                SequenceOptionKind::As(self.data_type()?)
            }
            K::Owned if is_owned => {
                self.at += 2;
                let name = self.object_name()?;
                let is_none = name.single().is_some_and(|name| !name.quoted && name.is("none"));
                SequenceOptionKind::OwnedBy(if is_none { None } else { Some(name) })
            }
            _ => return Ok(None),
        }))
    }

    /// Parses a number, possibly signed.
    fn signed_number(&mut self) -> Result<Expr> {
        let start = self.peek().span;
        let sign = match self.symbol() {
            Some(Symbol::Minus) => Some(UnaryOperator::Minus),
            Some(Symbol::Plus) => Some(UnaryOperator::Plus),
            _ => None,
        };
        if sign.is_some() {
            self.take();
        }
        if self.kind_at(0) != TokenKind::Number {
            return Err(self.expected("a number"));
        }
        let number = self.nested(Self::primary)?;
        let Some(op) = sign else { return Ok(number) };
        let kind = ExprKind::Unary { op, operand: Box::new(number) };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn create_index(&mut self, words: CreateWords) -> Result<Statement> {
        let unique = self.eat(K::Unique);
        self.expect(K::Index)?;
        let if_not_exists = self.unless_exists(&words)?;
        let name = if self.is(K::On) { None } else { Some(self.object_name()?) };
        self.expect(K::On)?;
        let table = self.object_name_of("the name of a table")?;
        let method = if self.eat(K::Using) { Some(self.name()?) } else { None };
        let keys = self.in_parens(Self::order_by_expr)?;
        let options = if self.eat(K::With) { self.in_parens(Self::option)? } else { Vec::new() };
        let filter = self.filter()?;
        let span = self.since(words.start);
        let index = CreateIndex { unique, if_not_exists, name, table, method, keys, options, filter, span };
        Ok(Statement::CreateIndex(Box::new(index)))
    }

    fn create_type(&mut self, words: CreateWords) -> Result<Statement> {
        self.expect(K::Type)?;
        let if_not_exists = self.unless_exists(&words)?;
        let name = self.object_name()?;
        self.expect(K::As)?;
        let is_query = self.is(K::Enum)
            && self.symbol_at(1) == Some(Symbol::LeftParen)
            && matches!(self.keyword_at(2), Some(K::Select | K::From | K::With | K::Values));
        let definition = if is_query {
            self.take();
            TypeDefinition::EnumOf(self.query_in_parens()?)
        } else {
            TypeDefinition::Type(self.data_type()?)
        };
        let CreateWords { start, or_replace, temporary } = words;
        let span = self.since(start);
        let new = CreateType { or_replace, temporary, if_not_exists, name, definition, span };
        Ok(Statement::CreateType(Box::new(new)))
    }

    fn create_macro(&mut self, words: CreateWords) -> Result<Statement> {
        self.take();
        let if_not_exists = self.unless_exists(&words)?;
        let name = self.object_name()?;
        let overloads = self.comma_list(Self::macro_overload)?;
        let CreateWords { start, or_replace, temporary } = words;
        let span = self.since(start);
        let new = CreateMacro { or_replace, temporary, if_not_exists, name, overloads, span };
        Ok(Statement::CreateMacro(Box::new(new)))
    }

    /// `(parameters) AS [TABLE] body`.
    fn macro_overload(&mut self) -> Result<MacroOverload> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        let parameters =
            if self.is_symbol(Symbol::RightParen) { Vec::new() } else { self.comma_list(Self::macro_parameter)? };
        self.expect_close(open)?;
        self.expect(K::As)?;
        let body = if self.is(K::Table) && !self.is_name_at(1) {
            self.take();
            MacroBody::Table(Box::new(self.query()?))
        } else {
            MacroBody::Expr(self.expr()?)
        };
        Ok(MacroOverload { parameters, body, span: self.since(open) })
    }

    fn macro_parameter(&mut self) -> Result<MacroParameter> {
        let name = self.name()?;
        let data_type = self.optional_data_type(|parser| {
            let symbol = parser.symbol();
            matches!(symbol, Some(Symbol::Comma | Symbol::RightParen | Symbol::ColonEqual | Symbol::FatArrow))
                || parser.is(K::Default)
        })?;
        let has_default =
            self.eat_symbol(Symbol::ColonEqual) || self.eat_symbol(Symbol::FatArrow) || self.eat(K::Default);
        let default = if has_default { Some(self.expr()?) } else { None };
        Ok(MacroParameter { name, data_type, default })
    }

    /// Parses the next object kind.
    pub(super) fn object_kind(&mut self) -> Result<ObjectKind> {
        let kind = match self.keyword() {
            Some(K::Table) => ObjectKind::Table,
            Some(K::View) => ObjectKind::View,
            Some(K::Schema) => ObjectKind::Schema,
            Some(K::Sequence) => ObjectKind::Sequence,
            Some(K::Index) => ObjectKind::Index,
            Some(K::Type) => ObjectKind::Type,
            Some(K::Macro | K::Function) if self.keyword_at(1) == Some(K::Table) => {
                self.take();
                ObjectKind::TableMacro
            }
            Some(K::Macro | K::Function) => ObjectKind::Macro,
            Some(K::Database) => ObjectKind::Database,
            _ => return Err(self.expected("TABLE, VIEW, SCHEMA, SEQUENCE, INDEX, TYPE or MACRO")),
        };
        self.take();
        Ok(kind)
    }

    pub(super) fn drop(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let kind = self.object_kind()?;
        let if_exists = self.if_exists();
        let names = self.comma_list(Self::object_name)?;
        let behavior = self.drop_behavior();
        Ok(Statement::Drop(Box::new(Drop { kind, if_exists, names, behavior, span: self.since(start) })))
    }

    /// CASCADE or RESTRICT.
    pub(super) fn drop_behavior(&mut self) -> Option<DropBehavior> {
        self.eat_any(&[K::Cascade, K::Restrict]).map(|keyword| match keyword {
            K::Cascade => DropBehavior::Cascade,
            _ => DropBehavior::Restrict,
        })
    }

    pub(super) fn comment_on(&mut self) -> Result<Statement> {
        let start = self.take().span;
        self.expect(K::On)?;
        let target =
            if self.eat(K::Column) { CommentTarget::Column } else { CommentTarget::Object(self.object_kind()?) };
        let name = self.object_name()?;
        if target == CommentTarget::Column && name.parts.len() < 2 {
            return Err(syntax_error("the comment is about a column without its table")
                .with_hint("write COMMENT ON COLUMN table.column")
                .at_span(name.span));
        }
        self.expect(K::Is)?;
        let comment = if self.eat(K::Null) { None } else { Some(self.string()?) };
        Ok(Statement::CommentOn(Box::new(CommentOn { target, name, comment, span: self.since(start) })))
    }
}
