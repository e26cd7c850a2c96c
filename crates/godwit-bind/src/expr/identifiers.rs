//! Casts to PostgreSQL's types of object identifiers, by macros as it has them.
//!
//! ```text
//! 'orders'::regclass    regclassin('orders')    the number of the table; an error if there is none
//! conrelid::regclass    regclassout(conrelid)   the name of the table with this number
//! ```
//!
//! There is no type that is compared as a number and shown as a name: texts become numbers, numbers become texts.

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::Expr;
use godwit_syntax::ast::{self, DataTypeKind, MacroBody};
use godwit_types::SqlType;

use crate::Binder;
use crate::binder::ExprContext;

const IDENTIFIER_TYPES: [&str; 6] = ["regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole"];

/// Returns the name of the type if it is one of identifiers.
pub(super) fn identifier_type(data_type: &ast::DataType) -> Option<&'static str> {
    let DataTypeKind::Named { name, arguments } = &data_type.kind else { return None };
    let single = match &name.parts[..] {
        [single] => single,
        [schema, single] if schema.is("pg_catalog") => single,
        _ => return None,
    };
    IDENTIFIER_TYPES.into_iter().find(|known| single.is(known) && arguments.is_empty())
}

impl Binder {
    /// Binds a cast to a type of identifiers. If it is `lenient`, names that don't exist become NULL.
    pub(super) fn cast_to_identifier(
        &mut self,
        operand: &ast::Expr,
        ty: &'static str,
        lenient: bool,
        span: Span,
        cx: &mut ExprContext<'_>,
    ) -> Result<Expr> {
        let value = self.expr(operand, cx)?;
        let value = self.settle(value);
        let function = match &value.ty {
            SqlType::Varchar if lenient => format!("to_{ty}"),
            SqlType::Varchar => format!("{ty}in"),
            number if number.is_integer() => format!("{ty}out"),
            other => {
                let error = Error::user(format!("cannot cast type {other} to {ty}")).with_code(SqlState::CANNOT_COERCE);
                return Err(error.with_hint("it takes the name or the number of an object").at_span(span));
            }
        };
        let found = self.environment.find_macro(&["pg_catalog", &function]).expect("the macros of identifiers exist");
        let form = found.overloads.first().expect("macros have a form");
        let MacroBody::Expr(body) = &form.body else { unreachable!("the macros of identifiers are values") };
        let arguments = vec![(form.parameters[0].name.text.clone(), value)];
        self.expanded(&found, body, arguments, None, operand.span, cx)
    }
}
