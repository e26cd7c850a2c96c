//! From DataFusion's `Expr` to an [`Expression`].

use datafusion_common::DFSchema;
use datafusion_expr::Expr;
use godwit_common::{Error, Result};
use godwit_vector::ColumnType;

use crate::{CompileContext, Expression};

pub(crate) struct Compiler<'a> {
    schema: &'a DFSchema,
    input: &'a [ColumnType],
    context: &'a CompileContext,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(schema: &'a DFSchema, input: &'a [ColumnType], context: &'a CompileContext) -> Self {
        Self { schema, input, context }
    }

    pub(crate) fn compile(&self, expr: &Expr) -> Result<Expression> {
        match expr {
            Expr::Alias(alias) => self.compile(&alias.expr),
            Expr::Column(column) => {
                let index =
                    self.schema.index_of_column(column).map_err(|error| Error::internal(error.strip_backtrace()))?;
                Ok(Expression::column(index, self.input[index].clone()))
            }
            Expr::Literal(scalar, _) => Expression::literal(scalar),
            Expr::ScalarSubquery(subquery) => Expression::parameter(&self.context.subquery(subquery)?),
            Expr::Placeholder(placeholder) => Expression::parameter(&self.context.placeholder(&placeholder.id)?),
            other => Err(Error::unsupported(format!("the expression {other}"))),
        }
    }
}
