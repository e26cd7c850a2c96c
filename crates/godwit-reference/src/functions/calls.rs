//! Calls of these functions: the shortest way to an expression in a test.

use godwit_plan::{AggregateCall, ArgumentType, Expr, ExprKind, FunctionRegistry, SortKey, WindowCall, WindowTarget};

use super::TestFunctions;

impl TestFunctions {
    /// Makes a call of a scalar function, with its arguments cast to the types that it takes.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn call(self, name: &str, args: Vec<Expr>) -> Expr {
        let found = self.scalar(name, &types(&args)).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let args = args.into_iter().zip(&found.argument_types).map(|(arg, ty)| arg.cast_to(ty)).collect();
        Expr::new(ExprKind::Call(found.function, args), found.ty, found.nullable)
    }

    /// Makes a call of an aggregate function, with its arguments cast to the types that it takes.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn aggregate_call(self, name: &str, args: Vec<Expr>) -> AggregateCall {
        let found = self.aggregate(name, &types(&args), &[]).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        AggregateCall::of(found, args)
    }

    /// Makes a call of a window or aggregate function over a window, with SQL's default frame.
    ///
    /// # Panics
    /// If there is no such function.
    pub fn window_call(
        self,
        name: &str,
        args: Vec<Expr>,
        partition_by: Vec<Expr>,
        order_by: Vec<SortKey>,
    ) -> WindowCall {
        let (function, argument_types, ty, nullable) = match self.window(name, &types(&args)) {
            Ok(found) => (WindowTarget::Window(found.function), found.argument_types, found.ty, found.nullable),
            Err(_) => {
                let found =
                    self.aggregate(name, &types(&args), &[]).unwrap_or_else(|error| panic!("{name}: {error:?}"));
                (WindowTarget::Aggregate(found.function), found.argument_types, found.ty, found.nullable)
            }
        };
        let args = args.into_iter().zip(&argument_types).map(|(arg, ty)| arg.cast_to(ty)).collect();
        WindowCall { args, nullable, ..WindowCall::over(function, ty, partition_by, order_by) }
    }
}

fn types(args: &[Expr]) -> Vec<ArgumentType<'_>> {
    let argument = |arg| {
        let Expr { kind, ty, nullable, .. }: &Expr = arg;
        let lambda_parameters = match kind {
            ExprKind::Lambda(parameters, _) => Some(parameters.len()),
            _ => None,
        };
        ArgumentType { ty, value: arg.as_literal(), nullable: *nullable, lambda_parameters }
    };
    args.iter().map(argument).collect()
}
