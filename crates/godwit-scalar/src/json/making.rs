//! Converts SQL values to JSON.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::SqlType;
use godwit_vector::sql::{Reader, TextSink};
use godwit_vector::{Flat, Vector};

use crate::function::{Category, Form, Function, function};
use crate::kernel::{Kernel, Work};
use crate::list::types::{bad_argument, settled_as_text};
use crate::rows::{Pieces, for_each_row, valid_rows, with_nulls};

pub(super) fn functions() -> Vec<Function> {
    let json = |names, description| function(Category::Json, names, description);
    vec![
        json(&["to_json", "to_jsonb", "json_quote", "row_to_json", "array_to_json"], "The value as JSON")
            .example("to_json([1, NULL])", "[1,null]")
            .chosen("to_json(value)", |arguments| match arguments {
                [_] => made(arguments, Shape::Value),
                _ => None,
            }),
        json(&["json_array", "json_build_array", "jsonb_build_array"], "A JSON array of the values")
            .example("json_array(1, 'a', NULL)", "[1,\"a\",null]")
            .chosen("json_array(value, …)", |arguments| made(arguments, Shape::Array)),
        json(&["json_object", "json_build_object", "jsonb_build_object"], "A JSON object of keys and values in turn")
            .example("json_object('a', 1, 'b', TRUE)", "{\"a\":1,\"b\":true}")
            .chosen("json_object(key, value, …)", |arguments| match arguments.len() % 2 {
                0 => made(arguments, Shape::Object),
                _ => {
                    let message = "there is a key without a value: arguments are keys and values in turn".to_owned();
                    Some(Err(bad_argument(arguments.len() - 1, message)))
                }
            }),
    ]
}

/// The JSON value that is made from the arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Value,
    Array,
    Object,
}

fn made(arguments: &[ArgumentType<'_>], shape: Shape) -> Option<std::result::Result<Form, NoFunction>> {
    if arguments.iter().any(|argument| argument.lambda_parameters.is_some()) {
        return None;
    }
    let types: Vec<SqlType> = arguments.iter().map(|argument| settled_as_text(argument.ty)).collect();
    let kernel = MakingKernel { types: types.clone(), shape };
    let form = Form::strict(types, SqlType::Json, true, false, Arc::new(kernel));
    Some(Ok(Form { strict: shape == Shape::Value, ..form }))
}

struct MakingKernel {
    types: Vec<SqlType>,
    shape: Shape,
}

impl Kernel for MakingKernel {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let valid = if self.shape == Shape::Value { valid_rows(arguments) } else { None };
        let readers = arguments.iter().zip(&self.types).map(|(vector, ty)| Reader::new(vector, ty));
        let readers: Vec<Reader<'_>> = readers.collect::<Result<_>>()?;
        let mut out = Pieces::new(rows, work);
        for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
            if is_valid {
                self.write(&readers, row, &mut out)?;
            }
            out.end_row()
        })?;
        Ok(with_nulls(Flat::Str(out.finish()), valid, &[]))
    }
}

impl MakingKernel {
    fn write(&self, readers: &[Reader<'_>], row: usize, out: &mut Pieces<'_>) -> Result<()> {
        match self.shape {
            Shape::Value => readers[0].write_json(row, out),
            Shape::Array => {
                out.text().push('[');
                for (at, reader) in readers.iter().enumerate() {
                    out.text().push_str(if at == 0 { "" } else { "," });
                    reader.write_json(row, out)?;
                }
                out.text().push(']');
                Ok(())
            }
            Shape::Object => {
                out.text().push('{');
                for (at, entry) in readers.chunks_exact(2).enumerate() {
                    out.text().push_str(if at == 0 { "" } else { "," });
                    if !entry[0].write_json_key(row, out)? {
                        return Err(Error::user("a key of a JSON object must not be NULL")
                            .with_code(SqlState::INVALID_PARAMETER_VALUE));
                    }
                    entry[1].write_json(row, out)?;
                }
                out.text().push('}');
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use godwit_plan::ArgumentType;
    use godwit_types::{SqlType, Value, write_json_string};
    use godwit_vector::sql::vector_of_values;

    use super::super::node::Node;
    use crate::kernel::Bounded;
    use crate::testing::{error_of, shown};

    #[test]
    fn values_become_json() {
        let cases = [
            ("1.50", "1.50"),
            ("'x\"y\n'", r#""x\"y\n""#),
            ("NULL", "NULL"),
            ("TRUE", "true"),
            ("DATE '2020-01-01'", r#""2020-01-01""#),
            ("TIMESTAMP '2020-01-01 10:00:00'", r#""2020-01-01T10:00:00""#),
            ("TIMESTAMPTZ '2020-01-01 10:00:00'", r#""2020-01-01T10:00:00+00:00""#),
            ("INTERVAL '1 day'", r#""1 day""#),
            ("DOUBLE 'nan'", r#""NaN""#),
            ("DOUBLE '1'", "1.0"),
            ("DOUBLE '1e300'", "1e300"),
            ("BLOB '\\x61'", r#""\\x61""#),
            ("JSON '{\"a\": 1}'", r#"{"a": 1}"#),
            ("HUGEINT '170141183460469231731687303715884105727'", "170141183460469231731687303715884105727"),
            ("INTEGER[] '[1, NULL]'", "[1,null]"),
            ("STRUCT(\"a\" INTEGER, \"b c\" VARCHAR[]) '{a: 1, b c: [x]}'", r#"{"a":1,"b c":["x"]}"#),
            ("MAP(INTEGER, VARCHAR) '{1=x}'", r#"{"1":"x"}"#),
        ];
        for (value, expected) in cases {
            assert_eq!(shown("to_json", &[value]), expected, "{value}");
        }
    }

    #[test]
    fn arrays_and_objects_are_built() {
        assert_eq!(shown("json_array", &["1", "'a'", "NULL"]), r#"[1,"a",null]"#);
        assert_eq!(shown("json_build_array", &[]), "[]");
        assert_eq!(shown("json_build_object", &[]), "{}");
        // Every row needs a key, but the calls of `shown` are surrounded by NULLs.
        assert!(error_of("json_object", &["'a'", "1"]).contains("must not be NULL"));
        let key = Value::text("a\"b");
        let types = [SqlType::Varchar, SqlType::Integer];
        let argument = |ty| ArgumentType { ty, value: None, nullable: true, lambda_parameters: None };
        let arguments = types.each_ref().map(argument);
        let (_, form) = crate::choose("json_object", &arguments).unwrap();
        let vectors = [
            vector_of_values(&[key.clone(), Value::text("")], &SqlType::Varchar).unwrap(),
            vector_of_values(&[Value::from(1), Value::Null], &SqlType::Integer).unwrap(),
        ];
        let objects = form.kernel.evaluate(&vectors, 2, &Bounded::new(1 << 20)).unwrap().to_flat();
        let objects: Vec<&[u8]> = objects.strings().iter().collect();
        assert_eq!(objects, [&br#"{"a\"b":1}"#[..], br#"{"":null}"#]);
    }

    proptest! {
        #[test]
        fn strings_come_back(text in any::<String>()) {
            let mut written = String::new();
            write_json_string(&mut written, &text);
            prop_assert!(godwit_types::is_json(&written));
            prop_assert_eq!(Node::new(&written).string().unwrap(), text);
        }
    }
}
