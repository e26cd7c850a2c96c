//! DataFusion's errors as ours: its messages without its labels and backtraces.

use arrow_schema::ArrowError;
use datafusion_common::DataFusionError;
use godwit_common::{Error, SqlState};

/// The error of a function as one of the user, except where DataFusion says that it is a bug.
pub fn error_of(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(ours) => ours.clone(),
            None => Error::user(inner.to_string()),
        },
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => error_of(inner),
        DataFusionError::Shared(inner) => error_of(inner),
        DataFusionError::Collection(errors) if !errors.is_empty() => error_of(&errors[0]),
        DataFusionError::ArrowError(arrow, _) => error_of_arrow(arrow),
        DataFusionError::Execution(message) | DataFusionError::Plan(message) => Error::user(plain(message)),
        DataFusionError::NotImplemented(message) => Error::unsupported(plain(message)),
        DataFusionError::Internal(message) => Error::internal(plain(message)),
        other => Error::user(plain(&other.strip_backtrace())),
    }
}

/// The error of one of Arrow's kernels.
pub fn error_of_arrow(error: &ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(inner) => match inner.downcast_ref::<DataFusionError>() {
            Some(inner) => error_of(inner),
            None => Error::user(inner.to_string()),
        },
        ArrowError::DivideByZero => Error::user("division by zero")
            .with_code(SqlState::DIVISION_BY_ZERO)
            .with_hint("divide by NULLIF(divisor, 0) to get NULL instead"),
        other => {
            let text = other.to_string();
            // "Cast error: Cannot cast string 'x' to value of Int32 type": the prefix says nothing.
            Error::user(text.split_once("error: ").map_or(text.as_str(), |(_, message)| message))
        }
    }
}

/// Labels that DataFusion puts before its messages.
const LABELS: [&str; 4] =
    ["Error during planning: ", "Execution error: ", "This feature is not implemented: ", "Arrow error: "];

/// A message without labels, advertisements and backtraces.
fn plain(message: &str) -> String {
    let message = message.split("\n\nbacktrace:").next().unwrap_or(message);
    let message = message.split("\nThis issue was likely caused by a bug").next().unwrap_or(message);
    let without_labels = LABELS.iter().fold(message.trim().to_owned(), |text, label| text.replace(label, ""));
    without_labels.trim_end_matches('.').to_owned()
}
