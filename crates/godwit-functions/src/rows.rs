//! Functions that compute one value at a time, with the semantics of `godwit-types`.

use std::sync::{Arc, LazyLock};

use godwit_common::{Error, Result};
use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch, Volatility};
use godwit_scalar::Category;
use godwit_types::{SqlType, Value};

use crate::arguments::fits;
use crate::documented::Documented;
use crate::implementation::{ScalarImplementation, ValueFunction};
use crate::listed::{Listed, ListedKind};

/// One form of a function of a row's values. A name may have several, with different numbers of arguments.
#[derive(Clone)]
pub struct RowFunction {
    /// The name.
    pub name: &'static str,
    /// The types of the arguments.
    pub arguments: Vec<SqlType>,
    /// The type of the value.
    pub result: SqlType,
    /// How often a call has to be evaluated.
    pub volatility: Volatility,
    /// Checks the constant arguments (`None` for the others) when a statement is planned.
    pub check: Option<Check>,
    /// Computes the value.
    pub compute: ValueFunction,
}

/// Returns why a call can't be right.
pub type Check = Arc<dyn Fn(&[Option<&Value>]) -> Result<()> + Send + Sync>;

/// The functions that need no session.
pub(crate) static BUILT_IN: LazyLock<[Documented<RowFunction>; 2]> = LazyLock::new(|| {
    [
        Documented {
            names: &["error"],
            form: stable("error", vec![SqlType::Varchar], fail),
            description: "Nothing: the statement fails with the text as its message",
            example: ("error('no such item')", "error: no such item"),
        },
        Documented {
            names: &["version"],
            form: stable("version", Vec::new(), version),
            description: "The name and the version of the program",
            example: ("version() LIKE 'Godwit %'", "true"),
        },
    ]
});

/// Creates a function whose value is a text. It isn't folded: then `error` would fail even if there is no row.
fn stable(name: &'static str, arguments: Vec<SqlType>, compute: fn(&[Value]) -> Result<Value>) -> RowFunction {
    let (result, volatility) = (SqlType::Varchar, Volatility::Stable);
    RowFunction { name, arguments, result, volatility, check: None, compute: Arc::new(compute) }
}

pub(crate) fn listed() -> impl Iterator<Item = Listed> {
    BUILT_IN.iter().map(|function| {
        let listed = Listed::of(function, ListedKind::Scalar, Category::Value.title(), vec![signature(&function.form)]);
        Listed { volatility: Some(function.form.volatility), strict: Some(true), ..listed }
    })
}

/// Resolves a call of one of the forms.
pub(crate) fn resolve(
    forms: &[&RowFunction],
    arguments: &[ArgumentType<'_>],
) -> std::result::Result<ScalarMatch, NoFunction> {
    let takes = |form: &&&RowFunction| {
        form.arguments.len() == arguments.len()
            && arguments.iter().zip(&form.arguments).all(|(argument, ty)| fits(argument, ty))
    };
    let form = forms
        .iter()
        .find(takes)
        .ok_or_else(|| NoFunction::NoMatch { signatures: forms.iter().map(|form| signature(form)).collect() })?;
    if let Some(check) = &form.check {
        let constants: Vec<Option<&Value>> = arguments.iter().map(|argument| argument.value).collect();
        check(&constants).map_err(|error| NoFunction::BadArgument {
            argument: Some(0),
            message: error.message().to_owned(),
            code: error.code(),
        })?;
    }
    let function = ScalarFunction {
        name: form.name.into(),
        volatility: form.volatility,
        strict: true,
        may_fail: true,
        implementation: Arc::new(ScalarImplementation::Values(Arc::clone(&form.compute))),
    };
    let nullable = arguments.iter().any(|argument| argument.nullable);
    Ok(ScalarMatch { function, argument_types: form.arguments.clone(), ty: form.result.clone(), nullable })
}

fn signature(form: &RowFunction) -> String {
    let types: Vec<String> = form.arguments.iter().map(SqlType::to_string).collect();
    format!("{}({})", form.name, types.join(", "))
}

fn misplaced(name: &str) -> Error {
    Error::internal(format!("{name} of other types than its own"))
}

/// `error(message)`: fails for each row.
fn fail(arguments: &[Value]) -> Result<Value> {
    match arguments {
        [Value::Text(message)] => Err(Error::user(message.as_ref())),
        _ => Err(misplaced("error")),
    }
}

fn version(_arguments: &[Value]) -> Result<Value> {
    Ok(Value::text(concat!("Godwit ", env!("CARGO_PKG_VERSION"))))
}
