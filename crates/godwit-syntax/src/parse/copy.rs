//! COPY, EXPORT and IMPORT.

use godwit_common::Result;

use super::Parser;
use crate::ast::{
    Copy, CopyDirection, CopyPath, CopySource, ExportDatabase, Expr, ExprKind, ImportDatabase, Statement,
    StatementOption,
};
use crate::keyword::Keyword as K;
use crate::lex::{Symbol, TokenKind};

impl Parser<'_> {
    /// `COPY { table [(columns)] | (query) } { TO | FROM } { path | (expression) | parameter } [options]`.
    pub(super) fn copy(&mut self) -> Result<Statement> {
        let start = self.take().span;
        let source = if self.is_symbol(Symbol::LeftParen) {
            CopySource::Query(self.query_in_parens()?)
        } else {
            let name = self.object_name_of("a table, or a query in parentheses")?;
            CopySource::Table { name, columns: self.optional_names_in_parens()? }
        };
        let direction = match self.eat_any(&[K::To, K::From]) {
            Some(K::To) => CopyDirection::To,
            Some(_) if matches!(source, CopySource::Table { .. }) => CopyDirection::From,
            Some(_) => return Err(self.error("COPY … FROM takes the name of a table")),
            None => return Err(self.expected("TO or FROM")),
        };
        let path = if self.is(K::Stdin) || self.is(K::Stdout) {
            CopyPath::Standard(self.take().span)
        } else if self.is_symbol(Symbol::LeftParen) || self.is_parameter() {
            CopyPath::Computed(Box::new(self.nested(Self::primary)?))
        } else {
            let (path, span) = self.path_text()?;
            CopyPath::File(path, span)
        };
        let options = self.copy_options()?;
        Ok(Statement::Copy(Box::new(Copy { source, direction, path, options, span: self.since(start) })))
    }

    fn is_parameter(&self) -> bool {
        self.kind_at(0) == TokenKind::Parameter || self.is_symbol(Symbol::Question)
    }

    /// `[WITH] (option, …)`, or words without parentheses: `WITH CSV HEADER DELIMITER ';'`.
    fn copy_options(&mut self) -> Result<Vec<StatementOption>> {
        self.eat(K::With);
        if self.is_symbol(Symbol::LeftParen) {
            return self.in_parens(Self::option);
        }
        let mut options = Vec::new();
        while matches!(self.kind_at(0), TokenKind::Word(_)) {
            let name = self.label()?;
            self.eat(K::As);
            let format = ["csv", "parquet", "json", "text", "binary"].iter().any(|format| name.is(format));
            let value = match self.kind_at(0) {
                _ if format => {
                    let value = Expr { span: name.span, kind: ExprKind::Column(vec![name.clone()]) };
                    let name = crate::ast::Ident::new("format", name.span);
                    options.push(StatementOption { name, value: Some(value) });
                    continue;
                }
                TokenKind::Number => Some(self.nested(Self::primary)?),
                kind if kind.is_string() => Some(self.nested(Self::primary)?),
                _ if self.is_symbol(Symbol::LeftParen) => Some(self.expr()?),
                _ if name.is("format") => Some(self.setting_word()?),
                _ => None,
            };
            options.push(StatementOption { name, value });
        }
        Ok(options)
    }

    fn setting_word(&mut self) -> Result<Expr> {
        let name = self.label()?;
        Ok(Expr { span: name.span, kind: ExprKind::Column(vec![name]) })
    }

    pub(super) fn export(&mut self) -> Result<Statement> {
        let start = self.take().span;
        self.expect(K::Database)?;
        let (folder, _) = self.path_text()?;
        let options = self.optional_options()?;
        Ok(Statement::ExportDatabase(Box::new(ExportDatabase { folder, options, span: self.since(start) })))
    }

    pub(super) fn import(&mut self) -> Result<Statement> {
        let start = self.take().span;
        self.expect(K::Database)?;
        let (folder, _) = self.path_text()?;
        Ok(Statement::ImportDatabase(Box::new(ImportDatabase { folder, span: self.since(start) })))
    }
}
