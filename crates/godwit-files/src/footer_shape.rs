//! Defects in the shape of a footer, found before the Parquet crate parses it.
//!
//! There are two: a schema that is nested too deeply, since the crate and all code that walks over types need stack for
//! each level; and collections whose elements take no bytes, which [`Compact`] rejects: the crate skips as many as a
//! footer claims, which may be billions for each of its bytes.

use godwit_common::{Error, Result};

use crate::thrift::{Compact, Parsed, Stop};

/// Maximum number of levels of a schema: the same as for nested SQL types.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 64;

/// Fails if the Parquet crate shouldn't parse this footer.
pub(crate) fn check_footer(bytes: &[u8]) -> Result<()> {
    let mut levels = Levels::default();
    match walk(&mut Compact::new(bytes), &mut levels) {
        _ if levels.is_too_deep => {
            Err(Error::unsupported(format!("columns that are nested deeper than {SCHEMA_DEPTH_MAX} levels")))
        }
        Ok(()) => Ok(()),
        Err(Stop::End) => Err(Error::corrupt("invalid footer: it ends too early")),
        Err(Stop::Invalid(what)) => Err(Error::corrupt(format!("invalid footer: {what}"))),
    }
}

/// Elements of a schema come in depth-first order, each with the number of its children.
#[derive(Default)]
struct Levels {
    /// Children still to come, by level.
    open: Vec<i32>,
    is_too_deep: bool,
}

impl Levels {
    fn add(&mut self, children: i32) {
        while self.open.pop_if(|left| *left <= 0).is_some() {}
        if let Some(left) = self.open.last_mut() {
            *left -= 1;
        }
        if children > 0 {
            self.open.push(children);
            self.is_too_deep |= self.open.len() > SCHEMA_DEPTH_MAX;
        }
    }
}

/// Walks over the schema, the second field of a footer, and skips all others.
fn walk(input: &mut Compact<'_>, levels: &mut Levels) -> Parsed<()> {
    const SCHEMA: i16 = 2;
    const CHILDREN: i16 = 5;
    input.fields(|input, id, wire| {
        if id != SCHEMA {
            return input.skip(wire, 0);
        }
        input.structures(wire, |input| {
            let mut children = 0;
            input.fields(|input, id, wire| {
                if id == CHILDREN {
                    children = input.i32(wire)?;
                    return Ok(());
                }
                input.skip(wire, 1)
            })?;
            levels.add(children);
            // A file may claim any depth of nesting.
            if levels.is_too_deep { Err(Stop::Invalid("nested too deeply")) } else { Ok(()) }
        })
    })
}
