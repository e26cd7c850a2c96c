//! CREATE TABLE: columns and constraints.

use godwit_common::{Result, Span};

use super::create::CreateWords;
use super::{Parser, syntax_error};
use crate::ast::{
    ColumnConstraint, ColumnConstraintKind, ColumnDef, CreateTable, ForeignReference, Ident, ReferentialAction,
    Statement, TableConstraint, TableConstraintKind,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

impl Parser<'_> {
    pub(super) fn create_table(&mut self, words: CreateWords) -> Result<Statement> {
        self.expect(K::Table)?;
        let if_not_exists = self.unless_exists(&words)?;
        let CreateWords { start, or_replace, temporary } = words;
        let mut table = CreateTable {
            or_replace,
            temporary,
            if_not_exists,
            name: self.object_name()?,
            columns: Vec::new(),
            constraints: Vec::new(),
            like: Vec::new(),
            options: Vec::new(),
            query: None,
            with_data: true,
            span: start,
        };
        if self.is_symbol(Symbol::LeftParen) {
            self.table_elements(&mut table)?;
        }
        if self.eat(K::With) {
            table.options = self.in_parens(Self::option)?;
        }
        if self.eat(K::As) {
            table.query = Some(Box::new(self.query()?));
            if self.eat_all(&[K::With, K::No, K::Data]) {
                table.with_data = false;
            } else {
                self.eat_all(&[K::With, K::Data]);
            }
        } else if table.columns.is_empty() && table.like.is_empty() {
            return Err(self.expected("( or AS"));
        }
        table.span = self.since(start);
        Ok(Statement::CreateTable(Box::new(table)))
    }

    /// `(columns and constraints)`.
    fn table_elements(&mut self, table: &mut CreateTable) -> Result<()> {
        let open = self.peek().span;
        self.expect_symbol(Symbol::LeftParen)?;
        loop {
            if self.starts_table_constraint() {
                table.constraints.push(self.table_constraint()?);
            } else if self.eat(K::Like) {
                table.like.push((table.columns.len(), self.object_name()?));
            } else {
                table.columns.push(self.column_def()?);
            }
            // The last element may be followed by a comma.
            if !self.eat_symbol(Symbol::Comma) || self.is_symbol(Symbol::RightParen) {
                return self.expect_close(open);
            }
        }
    }

    /// True if a table constraint comes next rather than a column.
    pub(super) fn starts_table_constraint(&self) -> bool {
        matches!(self.keyword(), Some(K::Constraint | K::Primary | K::Unique | K::Check | K::Foreign))
    }

    /// `name [type] constraints`.
    pub(super) fn column_def(&mut self) -> Result<ColumnDef> {
        let name = self.name_of("the name of a column")?;
        self.column_of(name)
    }

    /// Parses the rest of a column's definition.
    pub(super) fn column_of(&mut self, name: Ident) -> Result<ColumnDef> {
        let data_type = self.optional_data_type(|parser| {
            let is_end = matches!(parser.symbol(), Some(Symbol::Comma | Symbol::RightParen));
            is_end || parser.peek().kind == TokenKind::End || parser.starts_column_constraint()
        })?;
        let mut constraints: Vec<ColumnConstraint> = Vec::new();
        while let Some(constraint) = self.column_constraint()? {
            let is_encoding = |one: &ColumnConstraint| matches!(one.kind, ColumnConstraintKind::Encoding(_));
            if is_encoding(&constraint) && constraints.iter().any(is_encoding) {
                let message = format!("{} has an encoding already", name.text);
                return Err(syntax_error(message).at_span(constraint.span));
            }
            constraints.push(constraint);
        }
        let span = self.since(name.span);
        Ok(ColumnDef { name, data_type, constraints, span })
    }

    fn starts_column_constraint(&self) -> bool {
        match self.keyword() {
            Some(
                K::Constraint
                | K::Not
                | K::Null
                | K::Default
                | K::Primary
                | K::Unique
                | K::Check
                | K::References
                | K::Collate
                | K::As
                | K::Using,
            ) => true,
            Some(K::Generated) => matches!(self.keyword_at(1), Some(K::Always | K::By)),
            Some(K::Encoding) => !matches!(self.symbol_at(1), Some(Symbol::LeftParen | Symbol::LeftBracket)),
            _ => false,
        }
    }

    fn column_constraint(&mut self) -> Result<Option<ColumnConstraint>> {
        if !self.starts_column_constraint() {
            return Ok(None);
        }
        let start = self.peek().span;
        let name = if self.eat(K::Constraint) { Some(self.name()?) } else { None };
        let kind = match self.take().kind {
            TokenKind::Word(Some(K::Not)) => {
                self.expect(K::Null)?;
                ColumnConstraintKind::NotNull
            }
            TokenKind::Word(Some(K::Null)) => ColumnConstraintKind::Null,
            TokenKind::Word(Some(K::Default)) => ColumnConstraintKind::Default(self.expr()?),
            TokenKind::Word(Some(K::Primary)) => {
                self.expect(K::Key)?;
                ColumnConstraintKind::PrimaryKey
            }
            TokenKind::Word(Some(K::Unique)) => ColumnConstraintKind::Unique,
            TokenKind::Word(Some(K::Check)) => ColumnConstraintKind::Check(self.one_in_parens()?),
            TokenKind::Word(Some(K::References)) => ColumnConstraintKind::References(self.foreign_reference()?),
            TokenKind::Word(Some(K::Collate)) => ColumnConstraintKind::Collate(self.object_name()?),
            TokenKind::Word(Some(K::As)) => self.generated()?,
            TokenKind::Word(Some(K::Generated)) => self.generated_or_identity()?,
            TokenKind::Word(Some(K::Encoding)) => ColumnConstraintKind::Encoding(self.encoding_name()?),
            TokenKind::Word(Some(K::Using)) => {
                self.expect(K::Compression)?;
                ColumnConstraintKind::Encoding(self.encoding_name()?)
            }
            _ => {
                self.at -= 1;
                return Err(self.expected("a constraint"));
            }
        };
        Ok(Some(ColumnConstraint { name, kind, span: self.since(start) }))
    }

    /// Parses the name of an encoding, as a word or in quotes.
    pub(super) fn encoding_name(&mut self) -> Result<Ident> {
        let kind = self.peek().kind;
        let is_name = matches!(kind, TokenKind::Word(_)) || kind.is_string() || kind.is_quoted_name();
        if is_name { self.label_or_text() } else { Err(self.expected("the name of an encoding")) }
    }

    /// `(expr) [STORED | VIRTUAL]`.
    fn generated(&mut self) -> Result<ColumnConstraintKind> {
        let expr = self.one_in_parens()?;
        let stored = self.eat_any(&[K::Stored, K::Virtual]).map(|keyword| keyword == K::Stored);
        Ok(ColumnConstraintKind::Generated { expr, stored })
    }

    /// Parses what follows GENERATED.
    fn generated_or_identity(&mut self) -> Result<ColumnConstraintKind> {
        let always = self.eat(K::Always);
        if !always {
            self.expect_all(&[K::By, K::Default])?;
        }
        self.expect(K::As)?;
        if !self.eat(K::Identity) {
            return if always { self.generated() } else { Err(self.expected("IDENTITY")) };
        }
        let mut options = Vec::new();
        if self.is_symbol(Symbol::LeftParen) {
            let open = self.take().span;
            options = self.sequence_options()?;
            self.expect_close(open)?;
        }
        Ok(ColumnConstraintKind::Identity { always, options })
    }

    /// Parses what follows REFERENCES.
    fn foreign_reference(&mut self) -> Result<ForeignReference> {
        let table = self.object_name_of("the name of a table")?;
        let columns = self.optional_names_in_parens()?;
        let (mut on_delete, mut on_update) = (None, None);
        loop {
            if self.eat_all(&[K::On, K::Delete]) {
                on_delete = Some(self.referential_action()?);
            } else if self.eat_all(&[K::On, K::Update]) {
                on_update = Some(self.referential_action()?);
            } else {
                return Ok(ForeignReference { table, columns, on_delete, on_update });
            }
        }
    }

    fn referential_action(&mut self) -> Result<ReferentialAction> {
        Ok(if self.eat_all(&[K::No, K::Action]) {
            ReferentialAction::NoAction
        } else if self.eat(K::Restrict) {
            ReferentialAction::Restrict
        } else if self.eat(K::Cascade) {
            ReferentialAction::Cascade
        } else if self.eat_all(&[K::Set, K::Null]) {
            ReferentialAction::SetNull
        } else if self.eat_all(&[K::Set, K::Default]) {
            ReferentialAction::SetDefault
        } else {
            return Err(self.expected("NO ACTION, RESTRICT, CASCADE, SET NULL or SET DEFAULT"));
        })
    }

    /// `[CONSTRAINT name] …` in a table definition.
    pub(super) fn table_constraint(&mut self) -> Result<TableConstraint> {
        let start: Span = self.peek().span;
        let name = if self.eat(K::Constraint) { Some(self.name()?) } else { None };
        let kind = match self.eat_any(&[K::Primary, K::Unique, K::Check, K::Foreign]) {
            Some(K::Primary) => {
                self.expect(K::Key)?;
                TableConstraintKind::PrimaryKey(self.names_in_parens()?)
            }
            Some(K::Unique) => TableConstraintKind::Unique(self.names_in_parens()?),
            Some(K::Check) => TableConstraintKind::Check(self.one_in_parens()?),
            Some(_) => {
                self.expect(K::Key)?;
                let columns = self.names_in_parens()?;
                self.expect(K::References)?;
                TableConstraintKind::ForeignKey { columns, reference: self.foreign_reference()? }
            }
            None => return Err(self.expected("PRIMARY KEY, UNIQUE, CHECK or FOREIGN KEY")),
        };
        Ok(TableConstraint { name, kind, span: self.since(start) })
    }
}
