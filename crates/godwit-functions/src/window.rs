//! Functions that exist only with OVER. `first_value` and `last_value` aren't here: they are aggregates.

use std::sync::Arc;

use godwit_plan::{ArgumentType, NoFunction, WindowFunction, WindowMatch};
use godwit_types::{SqlType, common_type};

use crate::arguments::{any_type, settled};

/// The signature of a function.
#[derive(Clone, Copy)]
enum Form {
    /// No arguments; a number.
    Number,
    /// No arguments; a fraction.
    Share,
    /// A number of buckets.
    Buckets,
    /// A value, an offset, and the value beyond the ends.
    Shift,
    /// A value and its number in the frame.
    PickNth,
    /// A value, which the binder computes from others.
    Fill,
}

/// (name, form).
const FUNCTIONS: &[(&str, Form)] = &[
    ("row_number", Form::Number),
    ("rank", Form::Number),
    ("dense_rank", Form::Number),
    ("percent_rank", Form::Share),
    ("cume_dist", Form::Share),
    ("ntile", Form::Buckets),
    ("lag", Form::Shift),
    ("lead", Form::Shift),
    ("nth_value", Form::PickNth),
    ("fill", Form::Fill),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

pub(crate) fn is_known(name: &str) -> bool {
    form_of(name).is_some()
}

fn form_of(name: &str) -> Option<Form> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|&(_, form)| form)
}

pub(crate) fn resolve(name: &str, arguments: &[ArgumentType<'_>]) -> Result<WindowMatch, NoFunction> {
    let form = form_of(name).ok_or(NoFunction::UnknownName)?;
    let value = |at: usize| any_type(&arguments[at]);
    let (argument_types, ty, nullable) = match (form, arguments.len()) {
        (Form::Number, 0) => (Vec::new(), SqlType::BigInt, false),
        (Form::Share, 0) => (Vec::new(), SqlType::Double, false),
        (Form::Buckets, 1) => (vec![SqlType::BigInt], SqlType::BigInt, false),
        (Form::Shift, 1) => (vec![value(0)], value(0), true),
        (Form::Shift, 2) => (vec![value(0), SqlType::BigInt], value(0), true),
        (Form::Shift, 3) => {
            let ty = common_type(arguments[0].ty, arguments[2].ty).map(settled).ok_or_else(|| no_match(name, form))?;
            (vec![ty.clone(), SqlType::BigInt, ty.clone()], ty, true)
        }
        (Form::Fill, 1) => (vec![value(0)], value(0), true),
        (Form::PickNth, 2) => (vec![value(0), SqlType::BigInt], value(0), true),
        _ => return Err(no_match(name, form)),
    };
    let uses_frame = matches!(form, Form::PickNth);
    let function = WindowFunction { name: name.into(), uses_frame, implementation: Arc::new(()) };
    Ok(WindowMatch { function, argument_types, ty, nullable })
}

/// Each function with each of its signatures.
pub(crate) fn signatures() -> impl Iterator<Item = (&'static str, String)> {
    FUNCTIONS.iter().flat_map(|&(name, form)| form.signatures(name).into_iter().map(move |signature| (name, signature)))
}

fn no_match(name: &str, form: Form) -> NoFunction {
    NoFunction::NoMatch { signatures: form.signatures(name) }
}

impl Form {
    fn signatures(self, name: &str) -> Vec<String> {
        let forms: &[&str] = match self {
            Form::Number | Form::Share => &["()"],
            Form::Buckets => &["(BIGINT)"],
            Form::Shift => &["(value)", "(value, BIGINT)", "(value, BIGINT, value)"],
            Form::PickNth => &["(value, BIGINT)"],
            Form::Fill => &["(value)"],
        };
        forms.iter().map(|form| format!("{name}{form}")).collect()
    }
}
