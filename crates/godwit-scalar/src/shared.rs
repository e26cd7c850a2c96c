//! Lists, structs and maps in functions shared with texts: `||`, `length`, `repeat`, `contains`.

use godwit_plan::ArgumentType;
use godwit_types::{SqlType, Value};

use crate::function::{Category, Function, function};
use crate::list::types::Chosen;
use crate::text::are_lists;
use crate::{list, structure};

pub(crate) fn functions() -> Vec<Function> {
    let list_function = |names, description| function(Category::List, names, description);
    vec![
        list_function(&["||"], "Both lists together, or a list with one more element; NULL is an empty list")
            .example("[1] || [2]", "[1, 2]")
            .example("[1] || 2", "[1, 2]")
            .chosen("list || list", concatenation),
        list_function(&["concat"], "All lists together; NULL is an empty list")
            .example("concat([1], [2, 3])", "[1, 2, 3]")
            .chosen("concat(list, …)", |arguments| match are_lists(arguments) {
                true => list::lists_together(arguments),
                false => None,
            }),
        list_function(&["length", "len"], "The number of elements of the list")
            .example("len([1, NULL])", "2")
            .chosen("length(list)", length_of_list),
        list_function(&["repeat"], "The list several times")
            .example("repeat([1, 2], 2)", "[1, 2, 1, 2]")
            .chosen("repeat(list, BIGINT)", repeat_of_list),
        list_function(
            &["contains"],
            "Is the value an element of the list, a key of the map, or a field's value of the struct?",
        )
        .example("contains([1, 2], 2)", "true")
        .chosen("contains(list, value)", contains_in_nested),
    ]
}

/// `list || list`, `list || element`, `element || list`. NULL counts as a list, as in PostgreSQL.
fn concatenation(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [left, right] = arguments else { return None };
    let is_list = |argument: &ArgumentType<'_>| {
        let is_null = *argument.ty == SqlType::Unknown && argument.value.is_none_or(Value::is_null);
        argument.ty.element().is_some() || is_null
    };
    match (left.ty.element(), right.ty.element()) {
        (None, None) => None,
        // A list of lists takes a list as its element, unless both are lists of the same type.
        (Some(outer), Some(_)) if outer == right.ty => list::list_and_element(arguments),
        (Some(_), Some(outer)) if outer == left.ty => list::element_and_list(arguments),
        _ if is_list(left) && is_list(right) => list::lists_together(arguments),
        (Some(_), _) => list::list_and_element(arguments),
        (None, Some(_)) => list::element_and_list(arguments),
    }
}

/// `length(list)`
fn length_of_list(arguments: &[ArgumentType<'_>]) -> Chosen {
    arguments.first()?.ty.element()?;
    list::length(arguments)
}

/// `repeat(list, times)`
fn repeat_of_list(arguments: &[ArgumentType<'_>]) -> Chosen {
    arguments.first()?.ty.element()?;
    list::repeat_list(arguments)
}

/// `contains(list, element)`, `contains(map, key)`, `contains(struct, value)`
fn contains_in_nested(arguments: &[ArgumentType<'_>]) -> Chosen {
    match arguments.first()?.ty {
        SqlType::Map(_) => structure::map_contains(arguments),
        SqlType::Struct(_) => structure::struct_contains(arguments),
        ty => ty.element().and_then(|_| list::list_contains(arguments)),
    }
}

#[cfg(test)]
mod tests {
    use godwit_types::{cast_value, format_value};
    use godwit_vector::sql::{Reader, vector_of_values};

    use super::*;
    use crate::function::Chooser;
    use crate::kernel::Bounded;

    /// Evaluates a form on texts cast to types.
    fn shown(choose: Chooser, arguments: &[(&str, &str)]) -> Option<String> {
        let types: Vec<SqlType> = arguments.iter().map(|(ty, _)| SqlType::from_definition(ty).unwrap()).collect();
        let given: Vec<ArgumentType<'_>> =
            types.iter().map(|ty| ArgumentType { ty, value: None, nullable: true, lambda_parameters: None }).collect();
        let form = choose(&given)?.unwrap();
        let cast = arguments.iter().zip(types.iter().zip(&form.arguments)).map(|((_, text), (from, to))| {
            let value = cast_value(&Value::text(*text), &SqlType::Varchar, from).unwrap();
            vector_of_values(&[cast_value(&value, from, to).unwrap()], to).unwrap()
        });
        let result = form.kernel.evaluate(&cast.collect::<Vec<_>>(), 1, &Bounded::new(1 << 20)).unwrap();
        Some(format_value(&Reader::new(&result, &form.result).unwrap().value(0).unwrap(), &form.result))
    }

    #[test]
    fn lists_and_elements_are_concatenated() {
        let (list, nested) = (("INTEGER[]", "[1]"), ("INTEGER[][]", "[[2]]"));
        assert_eq!(shown(concatenation, &[list, ("BIGINT[]", "[2]")]).unwrap(), "[1, 2]");
        assert_eq!(shown(concatenation, &[list, ("BIGINT", "2")]).unwrap(), "[1, 2]");
        assert_eq!(shown(concatenation, &[("INTEGER", "2"), list]).unwrap(), "[2, 1]");
        assert_eq!(shown(concatenation, &[list, nested]).unwrap(), "[[1], [2]]");
        assert_eq!(shown(concatenation, &[nested, list]).unwrap(), "[[2], [1]]");
        assert_eq!(shown(concatenation, &[nested, nested]).unwrap(), "[[2], [2]]");
        assert_eq!(shown(concatenation, &[("VARCHAR", "a"), ("VARCHAR", "b")]), None);
    }

    #[test]
    fn nested_values_are_taken() {
        assert_eq!(shown(length_of_list, &[("INTEGER[]", "[1, NULL]")]).unwrap(), "2");
        assert_eq!(shown(length_of_list, &[("VARCHAR", "a")]), None);
        assert_eq!(shown(repeat_of_list, &[("INTEGER[]", "[1, 2]"), ("INTEGER", "2")]).unwrap(), "[1, 2, 1, 2]");
        assert_eq!(shown(contains_in_nested, &[("INTEGER[]", "[1]"), ("INTEGER", "1")]).unwrap(), "true");
        assert_eq!(
            shown(contains_in_nested, &[("MAP(INTEGER, INTEGER)", "{1=2}"), ("INTEGER", "2")]).unwrap(),
            "false"
        );
    }
}
