//! The functions that statements can call.

use godwit_plan::{
    AggregateMatch, ArgumentType, Expr, FunctionKind, FunctionRegistry, NoFunction, ScalarMatch, WindowMatch,
};
use godwit_types::{SqlType, Value};

use crate::rows::{self, RowFunction};
use crate::{aggregate, clock, evaluate, kernel, lambda, operators, window};

/// The functions of SQL, and those added by a session, such as `nextval`.
#[derive(Default)]
pub struct Registry {
    of_session: Vec<RowFunction>,
}

impl Registry {
    /// Adds a function, or another form of it.
    #[must_use]
    pub fn with_function(mut self, function: RowFunction) -> Self {
        self.of_session.push(function);
        self
    }

    fn row_functions(&self) -> impl Iterator<Item = &RowFunction> {
        rows::BUILT_IN.iter().map(|function| &function.form).chain(&self.of_session)
    }
}

impl FunctionRegistry for Registry {
    fn kind(&self, name: &str) -> Option<FunctionKind> {
        if aggregate::is_known(name) {
            Some(FunctionKind::Aggregate)
        } else if window::is_known(name) {
            Some(FunctionKind::Window)
        } else if lambda::is_known(name)
            || godwit_scalar::is_known(name)
            || operators::names().chain(clock::names()).any(|known| known == name)
            || self.row_functions().any(|function| function.name == name)
        {
            Some(FunctionKind::Scalar)
        } else {
            None
        }
    }

    fn scalar(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<ScalarMatch, NoFunction> {
        let forms: Vec<&RowFunction> = self.row_functions().filter(|function| function.name == name).collect();
        if !forms.is_empty() {
            rows::resolve(&forms, arguments)
        } else if lambda::is_known(name) {
            lambda::resolve(name, arguments)
        } else if let Some(found) = operators::resolve(name, arguments).or_else(|| clock::resolve(name, arguments)) {
            found
        } else {
            kernel::resolve(name, arguments)
        }
    }

    fn lambda_parameters(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<Vec<Vec<SqlType>>, NoFunction> {
        lambda::parameters(name, arguments)
    }

    fn aggregate(
        &self,
        name: &str,
        arguments: &[ArgumentType<'_>],
        order_by: &[ArgumentType<'_>],
    ) -> Result<AggregateMatch, NoFunction> {
        aggregate::resolve(name, arguments, order_by)
    }

    fn window(&self, name: &str, arguments: &[ArgumentType<'_>]) -> Result<WindowMatch, NoFunction> {
        window::resolve(name, arguments)
    }

    fn names(&self) -> Vec<String> {
        let functions = aggregate::names().chain(window::names()).chain(lambda::names());
        let functions = functions.chain(operators::names()).chain(clock::names());
        let kernels = godwit_scalar::functions().iter().flat_map(|function| function.names.iter().copied());
        let functions = functions.chain(kernels).chain(self.row_functions().map(|function| function.name));
        let mut names: Vec<String> = functions.map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn evaluate(&self, call: &Expr) -> Option<godwit_common::Result<Value>> {
        evaluate::evaluate(call)
    }
}
