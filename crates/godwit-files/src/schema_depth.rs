//! How deeply the schema of a file is nested, found before the Parquet crate builds it: that, and all who walk over types,
//! need stack for each level.

use godwit_common::{Error, Result};

use crate::thrift::{Compact, Parsed, Stop};

/// Most levels of a schema: as many as of a nested type of SQL's.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 64;

/// Fails if the schema of a footer that begins with `bytes` is nested too deeply; true if the schema ends within them.
pub(crate) fn check_depth(bytes: &[u8]) -> Result<bool> {
    let mut levels = Levels::default();
    match schema(&mut Compact::new(bytes), &mut levels) {
        _ if levels.is_too_deep => {
            Err(Error::unsupported(format!("columns that are nested deeper than {SCHEMA_DEPTH_MAX} levels")))
        }
        Ok(()) => Ok(true),
        Err(Stop::End) => Ok(false),
        Err(Stop::Invalid(what)) => Err(Error::corrupt(format!("invalid footer: {what}"))),
    }
}

/// Elements of a schema come in depth-first order, each with the number of its children.
#[derive(Default)]
struct Levels {
    /// Children that are to come, by level.
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

/// The schema is the second field of a footer; what is behind it doesn't matter.
fn schema(input: &mut Compact<'_>, levels: &mut Levels) -> Parsed<()> {
    const SCHEMA: i16 = 2;
    const CHILDREN: i16 = 5;
    let mut is_found = false;
    let parsed = input.fields(|input, id, wire| {
        if id != SCHEMA {
            return if is_found { Err(Stop::End) } else { input.skip(wire, 0) };
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
            // A file can say of more elements than anybody wants to look at that they are nested.
            if levels.is_too_deep { Err(Stop::Invalid("nested too deeply")) } else { Ok(()) }
        })?;
        is_found = true;
        Ok(())
    });
    if is_found { Ok(()) } else { parsed }
}
