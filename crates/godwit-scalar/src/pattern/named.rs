//! Groups of matches by name: `regexp_extract(text, pattern, ['day', 'month'])` as structs.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{ListArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::arrow_type;
use godwit_vector::{Flat, Vector, to_arrow};

use super::patterns::{Pattern, Patterns, Usage, compiled};
use crate::choose::fits;
use crate::function::Form;
use crate::kernel::{Kernel, Work, too_long};
use crate::list::types::bad_argument;
use crate::room::Room;
use crate::rows::{CHECK_ELEMENTS, ELEMENT_BYTES, Strings, Writer, for_each_row, valid_rows, with_nulls};

/// The argument with the names; the flags follow it.
const NAMES: usize = 2;
const FLAGS: usize = 3;

/// Returns the form for a list of names as the third argument; `None` if it isn't a list.
pub(super) fn named(arguments: &[ArgumentType<'_>], all: bool) -> Option<std::result::Result<Form, NoFunction>> {
    let names = arguments.get(NAMES).filter(|names| matches!(names.ty, SqlType::List(_) | SqlType::Array(..)))?;
    let takes = |at: usize| arguments.get(at).is_none_or(|argument| fits(argument, &SqlType::Varchar));
    if arguments.len() > FLAGS + 1 || ![0, 1, FLAGS].into_iter().all(takes) {
        return None;
    }
    Some(form(arguments, names, all))
}

fn form(arguments: &[ArgumentType<'_>], names: &ArgumentType<'_>, all: bool) -> std::result::Result<Form, NoFunction> {
    let names = names_of(names).map_err(|message| bad_argument(NAMES, message))?;
    let flags = (arguments.len() > FLAGS).then_some(FLAGS);
    let constant = compiled(arguments, Usage::Search, flags)?;
    if let Some(pattern) = &constant {
        check_groups(pattern, names.len()).map_err(|error| bad_argument(NAMES, error.message()))?;
    }
    let fields: Vec<(&str, SqlType)> = names.iter().map(|name| (*name, SqlType::Varchar)).collect();
    let group = SqlType::struct_of(fields);
    let result = if all { SqlType::list_of(group.clone()) } else { group.clone() };
    let mut types = vec![SqlType::Varchar; arguments.len()];
    types[NAMES] = SqlType::list_of(SqlType::Varchar);
    let may_fail = constant.is_none();
    let kernel = NamedKernel { patterns: Patterns::new(Usage::Search, constant), names: names.len(), group, all };
    Ok(Form::strict(types, result, may_fail, false, Arc::new(kernel)))
}

/// Returns the names of a constant list, or what is wrong with it.
fn names_of<'a>(argument: &ArgumentType<'a>) -> std::result::Result<Vec<&'a str>, String> {
    let Some(Value::List(names)) = argument.value else {
        return Err("the names of groups have to be a constant list of texts".to_owned());
    };
    let name = |name: &'a Value| match name {
        Value::Text(name) => Ok(&**name),
        _ => Err("the name of a group has to be a text".to_owned()),
    };
    let names = names.iter().map(name).collect::<std::result::Result<Vec<&str>, String>>()?;
    let mut known = HashSet::new();
    match names.iter().find(|name| !known.insert(name.to_lowercase())) {
        Some(name) => Err(format!("the name '{name}' comes twice")),
        None if names.is_empty() => Err("there has to be a name for a group".to_owned()),
        None => Ok(names),
    }
}

fn check_groups(pattern: &Pattern, names: usize) -> Result<()> {
    let groups = pattern.captures_len() - 1;
    if names > groups {
        let message = format!("there are {names} names, but the pattern has only {groups} groups");
        return Err(Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE));
    }
    Ok(())
}

struct NamedKernel {
    patterns: Patterns,
    /// Number of named groups, which are the first ones.
    names: usize,
    /// The struct type of a match.
    group: SqlType,
    /// True for a list of all matches instead of the first one.
    all: bool,
}

impl Kernel for NamedKernel {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let (texts, patterns) = (Strings::of(&arguments[0]), Strings::of(&arguments[1]));
        let flags = arguments.get(FLAGS).map(Strings::of);
        let valid = valid_rows(arguments);
        let fields = (0..self.names).map(|_| Column::new(rows, work)).collect();
        let mut structs = Structs { fields, count: 0, room: Room::new(rows, work), work };
        let mut ends: Vec<i32> = vec![0];
        for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
            if is_valid {
                let flags = flags.as_ref().map_or("", |flags| flags.text(row));
                let pattern = self.patterns.get(patterns.text(row), flags)?;
                check_groups(&pattern, self.names)?;
                self.write(&pattern, texts.text(row), &mut structs)?;
            } else if !self.all {
                structs.push(|_| Some(""))?;
            }
            ends.push(i32::try_from(structs.count).map_err(|_| too_long())?);
            Ok(())
        })?;
        let structs = structs.finish(&self.group)?;
        let array = match self.all {
            false => Flat::Nested(Arc::new(structs)),
            true => {
                let DataType::List(field) = arrow_type(&SqlType::list_of(self.group.clone()))? else {
                    unreachable!("lists are lists in Arrow")
                };
                let offsets = OffsetBuffer::new(ends.into());
                Flat::Nested(Arc::new(ListArray::new(field, offsets, Arc::new(structs), None)))
            }
        };
        Ok(with_nulls(array, valid, &[]))
    }
}

impl NamedKernel {
    /// Writes the matches. In the first match, groups that take no part are empty; in lists of all, they are NULL.
    fn write(&self, pattern: &Pattern, text: &str, structs: &mut Structs<'_>) -> Result<()> {
        if !self.all {
            let groups = pattern.captures(text);
            let part = |name| groups.as_ref().and_then(|groups| groups.get(name + 1)).map_or("", |part| part.as_str());
            return structs.push(|name| Some(part(name)));
        }
        for groups in pattern.captures_iter(text) {
            structs.push(|name| groups.get(name + 1).map(|part| part.as_str()))?;
        }
        Ok(())
    }
}

struct Structs<'w> {
    fields: Vec<Column<'w>>,
    count: usize,
    /// Memory of the fields besides their bytes.
    room: Room<'w>,
    work: &'w dyn Work,
}

struct Column<'w> {
    texts: Writer<'w>,
    nulls: Vec<usize>,
}

impl<'w> Column<'w> {
    fn new(rows: usize, work: &'w dyn Work) -> Self {
        Self { texts: Writer::new(rows, work), nulls: Vec::new() }
    }
}

impl Structs<'_> {
    /// Appends a struct with the fields given by `part`.
    fn push<'t>(&mut self, part: impl Fn(usize) -> Option<&'t str>) -> Result<()> {
        for (name, field) in self.fields.iter_mut().enumerate() {
            match part(name) {
                Some(part) => field.texts.push_str(part),
                None => field.nulls.push(self.count),
            }
            field.texts.end_row()?;
        }
        self.count += 1;
        if self.count.is_multiple_of(CHECK_ELEMENTS) {
            self.work.check()?;
            self.room.count(self.count * ELEMENT_BYTES * self.fields.len())?;
        }
        Ok(())
    }

    fn finish(self, ty: &SqlType) -> Result<StructArray> {
        let DataType::Struct(fields) = arrow_type(ty)? else { unreachable!("structs are structs in Arrow") };
        let column = |field: Column<'_>| {
            to_arrow(&with_nulls(Flat::Str(field.texts.finish()), None, &field.nulls), &DataType::Utf8View)
        };
        let columns = self.fields.into_iter().map(column).collect::<Result<_>>()?;
        Ok(StructArray::new(fields, columns, None))
    }
}

#[cfg(test)]
mod tests {
    use godwit_plan::{ArgumentType, NoFunction};
    use godwit_types::{SqlType, Value};

    use crate::testing::shown;

    const DATE: [&str; 2] = ["'17.05.2024'", "'([0-9]+)[.]([0-9]+)([.]x)?'"];

    #[test]
    fn groups_are_fields() {
        let of = |name: &str, names: &str| shown(name, &[DATE[0], DATE[1], &format!("VARCHAR[] '{names}'")]);
        assert_eq!(of("regexp_extract", "[day, month]"), "{'day': 17, 'month': 05}");
        assert_eq!(of("regexp_extract", "[day, month, more]"), "{'day': 17, 'month': 05, 'more': ''}");
        assert_eq!(of("regexp_extract_all", "[d, m, x]"), "[{'d': 17, 'm': 05, 'x': NULL}]");
        let none = ["'abc'", "'(x)'", "VARCHAR[] '[a]'"];
        assert_eq!(shown("regexp_extract", &none), "{'a': ''}");
        assert_eq!(shown("regexp_extract_all", &none), "[]");
        assert_eq!(shown("regexp_extract", &["'abc'", "'(B)'", "VARCHAR[] '[a]'", "'i'"]), "{'a': b}");
        assert_eq!(shown("regexp_extract", &["NULL", "'(B)'", "VARCHAR[] '[a]'"]), "NULL");
        assert_eq!(shown("regexp_extract_all", &["'ab'", "NULL", "VARCHAR[] '[a]'"]), "NULL");
    }

    #[test]
    fn names_are_checked() {
        let told = |names: &[Option<&str>]| {
            let names = Value::List(names.iter().map(|name| Value::from(*name)).collect());
            let pattern = Value::text("(a)(b)");
            let types = [SqlType::Varchar, SqlType::Varchar, SqlType::list_of(SqlType::Varchar)];
            let values = [None, Some(&pattern), Some(&names)];
            let argument = |(ty, value)| ArgumentType { ty, value, nullable: true, lambda_parameters: None };
            let arguments: Vec<ArgumentType<'_>> = types.iter().zip(values).map(argument).collect();
            match crate::choose("regexp_extract", &arguments) {
                Err(NoFunction::BadArgument { message, .. }) => message,
                _ => panic!("{names:?} are taken"),
            }
        };
        assert!(told(&[]).contains("has to be a name"));
        assert!(told(&[Some("a"), Some("A")]).contains("'A' comes twice"));
        assert!(told(&[Some("a"), None]).contains("has to be a text"));
        assert!(told(&[Some("a"), Some("b"), Some("c")]).contains("only 2 groups"));
    }
}
