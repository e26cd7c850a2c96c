//! Chooses the form of a function for the arguments of a call.
//!
//! The form is chosen whose types require the least change: none, then a wider type of the same family, then another
//! type to which values are cast implicitly (`godwit-types`, casts of the context "implicit"). Quoted text and NULL fit
//! everywhere; they prefer to be text. Among equals, the first form is chosen. A name may stand for several functions,
//! which take arguments of different kinds: the length of a text, and of a list.

use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{Context, SqlType, cast_kind};

use crate::function::{Form, Forms, Function};
use crate::library::{find, is_known};

/// Returns the function of a name that takes these arguments, and its form with one type for each argument.
pub fn choose(name: &str, arguments: &[ArgumentType<'_>]) -> Result<(&'static Function, Form), NoFunction> {
    if !is_known(name) {
        return Err(NoFunction::UnknownName);
    }
    match best_form(name, arguments) {
        Err(NoFunction::NoMatch { signatures }) => {
            with_typed_null(name, arguments, TYPED_NULLS_MAX).ok_or(NoFunction::NoMatch { signatures })
        }
        found => found,
    }
}

/// Untyped NULLs of a call that get a type: some ten are tried for each, so that three take a thousand tries.
const TYPED_NULLS_MAX: usize = 3;

/// Retries with a type for an untyped NULL: a list, a map or a struct, or an element like another argument. At most
/// `nulls_max` of them get one.
fn with_typed_null(name: &str, arguments: &[ArgumentType<'_>], nulls_max: usize) -> Option<(&'static Function, Form)> {
    if nulls_max == 0 {
        return None;
    }
    let is_null = |argument: &ArgumentType<'_>| {
        *argument.ty == SqlType::Unknown && argument.value.is_some_and(godwit_types::Value::is_null)
    };
    let at = arguments.iter().position(is_null)?;
    let of_others = arguments.iter().filter(|argument| !is_null(argument)).map(|argument| match argument.ty {
        SqlType::Unknown => &SqlType::Varchar,
        ty => ty,
    });
    let map_of = |key: &SqlType| SqlType::Map((key.clone(), SqlType::Integer).into());
    let nested_in = |ty: &SqlType| [SqlType::list_of(ty.clone()), map_of(ty)];
    let like_others =
        of_others.flat_map(|ty| ty.element().cloned().into_iter().chain([ty.clone()]).chain(nested_in(ty)));
    let of_none = nested_in(&SqlType::Integer).into_iter().chain([SqlType::struct_of([("v1", SqlType::Integer)])]);
    let types = like_others.chain([SqlType::decimal(18, 3)]).chain(of_none);
    types.filter(|ty| *ty != SqlType::Unknown).find_map(|ty| {
        let mut typed = arguments.to_vec();
        typed[at].ty = &ty;
        let found = best_form(name, &typed).ok().or_else(|| with_typed_null(name, &typed, nulls_max - 1));
        // The substituted type would show in a value, unless that is NULL.
        found.filter(|(_, form)| form.strict || !matches!(ty, SqlType::Struct(_)))
    })
}

fn best_form(name: &str, arguments: &[ArgumentType<'_>]) -> Result<(&'static Function, Form), NoFunction> {
    let mut best: Option<(u32, &'static Function, Form)> = None;
    for function in find(name) {
        for forms in &function.forms {
            match forms {
                Forms::Typed(form) => {
                    let Some(change) = change_of(form, arguments) else { continue };
                    if best.as_ref().is_none_or(|(least, ..)| change < *least) {
                        best = Some((change, function, form.clone()));
                    }
                }
                Forms::Chosen { choose, .. } if best.as_ref().is_none_or(|(change, ..)| *change > 0) => {
                    if let Some(found) = choose(arguments) {
                        return found.map(|form| (function, in_full(form, arguments.len())));
                    }
                }
                Forms::Chosen { .. } => {}
            }
        }
    }
    match best {
        Some((_, function, form)) => Ok((function, in_full(form, arguments.len()))),
        None => {
            Err(NoFunction::NoMatch { signatures: find(name).flat_map(|function| function.signatures(name)).collect() })
        }
    }
}

fn in_full(form: Form, arguments: usize) -> Form {
    let types = form.types_of(arguments).map(|types| types.cloned().collect());
    Form { arguments: types.unwrap_or_default(), ..form }
}

/// Returns how much the arguments must change for a form; `None` if it doesn't take them.
pub(crate) fn change_of(form: &Form, arguments: &[ArgumentType<'_>]) -> Option<u32> {
    let types = form.types_of(arguments.len())?;
    arguments.iter().zip(types).map(|(argument, ty)| change(argument, ty)).sum()
}

/// Changes to another family cost more than any within one.
const OTHER_FAMILY: u32 = 100;

fn change(argument: &ArgumentType<'_>, ty: &SqlType) -> Option<u32> {
    let from = argument.ty;
    if argument.lambda_parameters.is_some() {
        return None;
    }
    if from == ty {
        return Some(0);
    }
    if *from == SqlType::Unknown {
        let is_text = argument.value.is_some_and(|value| !value.is_null());
        return Some(if is_text && *ty == SqlType::Varchar { 0 } else { 1 });
    }
    if !fits(argument, ty) {
        // Labels are texts, and so are the values of some types, wherever a function takes text.
        let is_text = matches!(from, SqlType::Enum(_) | SqlType::Json | SqlType::Bit);
        return (is_text && *ty == SqlType::Varchar).then_some(2 * OTHER_FAMILY);
    }
    let bits = |ty: &SqlType| ty.integer_bits().map(|bits| bits.ilog2());
    Some(match (bits(from), bits(ty)) {
        (Some(from), Some(to)) => to.abs_diff(from) + 1,
        _ if from.is_float() && ty.is_float() || from.is_timestamp() && ty.is_timestamp() => 1,
        // DECIMAL prefers DOUBLE over other families; integers prefer decimals.
        _ if from.is_integer() && ty.is_decimal() => OTHER_FAMILY / 2,
        _ if *ty == SqlType::Double => OTHER_FAMILY,
        _ => OTHER_FAMILY + 1,
    })
}

/// True if an argument is cast to this type implicitly.
pub(crate) fn fits(argument: &ArgumentType<'_>, ty: &SqlType) -> bool {
    argument.ty == ty || cast_kind(argument.ty, ty).is_some_and(|cast| cast.context == Context::Implicit)
}
