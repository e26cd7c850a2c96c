//! Functions that exist only with OVER. `first_value` and `last_value` aren't here: they are aggregates.

use std::sync::Arc;

use godwit_plan::{ArgumentType, NoFunction, WindowFunction, WindowMatch};
use godwit_types::{SqlType, common_type};

use crate::arguments::{any_type, settled};
use crate::documented::{self, Documented, function};
use crate::listed::{Listed, ListedKind};

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

const FUNCTIONS: &[Documented<Form>] = &[
    function(&["row_number"], Form::Number, "The number of the row in its partition, from 1")
        .example("row_number() OVER (ORDER BY x) FROM unnest([5, 7, 7]) AS t(x)", "1, 2, 3"),
    function(&["rank"], Form::Number, "1 and how many rows come before the row and its equals, which leaves gaps")
        .example("rank() OVER (ORDER BY x) FROM unnest([5, 7, 7, 9]) AS t(x)", "1, 2, 2, 4"),
    function(&["dense_rank"], Form::Number, "1 and how many different rows come before the row")
        .example("dense_rank() OVER (ORDER BY x) FROM unnest([5, 7, 7, 9]) AS t(x)", "1, 2, 2, 3"),
    function(&["percent_rank"], Form::Share, "The share of the other rows that come before the row and its equals")
        .example("percent_rank() OVER (ORDER BY x) FROM unnest([5, 7, 9]) AS t(x)", "0.0, 0.5, 1.0"),
    function(&["cume_dist"], Form::Share, "The share of rows that come before the row, or with it")
        .example("cume_dist() OVER (ORDER BY x) FROM unnest([5, 7, 7, 9]) AS t(x)", "0.25, 0.75, 0.75, 1.0"),
    function(
        &["ntile"],
        Form::Buckets,
        "The part, from 1, that the row is in if the partition is cut into equal parts",
    )
    .example("ntile(2) OVER (ORDER BY x) FROM unnest([5, 7, 9]) AS t(x)", "1, 1, 2"),
    function(
        &["lag"],
        Form::Shift,
        "The value of a row before, the last one if no distance is said; without it NULL, or the third argument",
    )
    .example("lag(x, 1, 0) OVER (ORDER BY x) FROM unnest([5, 7, 9]) AS t(x)", "0, 5, 7"),
    function(
        &["lead"],
        Form::Shift,
        "The value of a row after, the next one if no distance is said; without it NULL, or the third argument",
    )
    .example("lead(x) OVER (ORDER BY x) FROM unnest([5, 7, 9]) AS t(x)", "7, 9, NULL"),
    function(&["nth_value"], Form::PickNth, "The value of a row of the frame, counted from 1; NULL if it has fewer")
        .example("nth_value(x, 2) OVER (ORDER BY x) FROM unnest([5, 7, 9]) AS t(x)", "NULL, 7, 7"),
    function(&["fill"], Form::Fill, "The value; for NULL, what lies on the line through its neighbors by the order")
        .example("fill(x) OVER (ORDER BY i) FROM (VALUES (1, 5), (2, NULL), (3, 9)) AS t(i, x)", "5, 7, 9"),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    documented::names(FUNCTIONS)
}

pub(crate) fn is_known(name: &str) -> bool {
    form_of(name).is_some()
}

fn form_of(name: &str) -> Option<Form> {
    documented::find(FUNCTIONS, name).map(|function| function.form)
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

pub(crate) fn listed() -> impl Iterator<Item = Listed> {
    FUNCTIONS.iter().map(|function| {
        Listed::of(function, ListedKind::Window, "Windows", function.form.signatures(function.names[0]))
    })
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
