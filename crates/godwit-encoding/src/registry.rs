//! The schemes: the one place that lists them.

use godwit_common::Result;

use crate::column::Column;
use crate::header::corrupt;
use crate::parameters::take;
use crate::scheme::{Proposal, Scheme};
use crate::schemes::constant::Constant;
use crate::schemes::decimals::Decimals;
use crate::schemes::delta::Delta;
use crate::schemes::lists::ListItems;
use crate::schemes::multiples::Multiples;
use crate::schemes::null::Null;
use crate::schemes::packed::Packed;
use crate::schemes::plain::Plain;
use crate::schemes::run_length::RunLength;
use crate::schemes::symbols::Symbols;
use crate::schemes::text::Text;

/// A scheme without its parameters.
pub(crate) struct Entry {
    /// The name that users see.
    pub name: &'static str,
    /// Numbers in the file, one for each form of the parameters and the body. Never reused for another scheme.
    pub numbers: &'static [u8],
    /// [`Scheme::propose`].
    pub propose: for<'a> fn(&'a Column<'_>) -> Option<Proposal<'a>>,
    read: fn(usize, &mut &[u8]) -> Result<Encoding>,
}

macro_rules! registry {
    ($($(#[$doc:meta])* $Scheme:ident = $name:literal, $numbers:expr;)*) => {
        /// How the values of a part are stored, with the parameters that decoding needs besides the body.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Encoding {
            $($(#[$doc])* $Scheme($Scheme),)*
        }

        /// All schemes.
        pub(crate) const REGISTRY: &[Entry] = &[
            $(Entry {
                name: $name,
                numbers: &$numbers,
                propose: <$Scheme as Scheme>::propose,
                read: |form, bytes| Ok(Encoding::$Scheme($Scheme::read(form, bytes)?)),
            },)*
        ];

        impl Encoding {
            pub(crate) fn scheme(&self) -> &dyn Scheme {
                match self {
                    $(Self::$Scheme(scheme) => scheme,)*
                }
            }

            /// The scheme's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$Scheme(_) => $name,)*
                }
            }
        }
    };
}

registry! {
    /// All rows are NULL.
    Null = "null", [0];
    /// All rows have the same value.
    Constant = "constant", [1, 12];
    /// Integers: distances from a base in a few bits.
    Packed = "packed", [2];
    /// Integers: multiples of a factor, packed.
    Multiples = "multiples", [8];
    /// Integers: differences from the previous row, packed.
    Delta = "delta", [9];
    /// Floats that are decimals: integers, packed, and exceptions.
    Decimals = "decimals", [3, 11];
    /// Ends of runs, and a value per run.
    RunLength = "run_length", [4, 10];
    /// Values as they are.
    Plain = "plain", [5];
    /// Strings as they are.
    Text = "text", [6];
    /// Strings compressed with a symbol table.
    Symbols = "symbols", [7, 13];
    /// Lists of numbers: lengths, and items in a scheme of their own.
    ListItems = "lists", [14];
}

impl Encoding {
    /// True if values are read as they are stored, or if there is only one. So are lists: flat vectors of them would be
    /// strings, which scans would have to take apart.
    pub fn is_flat(&self) -> bool {
        match self {
            Self::Null(_) | Self::Constant(_) | Self::Plain(_) | Self::Text(_) | Self::ListItems(_) => true,
            Self::Packed(_)
            | Self::Multiples(_)
            | Self::Delta(_)
            | Self::Decimals(_)
            | Self::RunLength(_)
            | Self::Symbols(_) => false,
        }
    }
}

/// The name of the scheme that has this number in the file.
fn name_of(number: u8) -> Option<&'static str> {
    REGISTRY.iter().find(|entry| entry.numbers.contains(&number)).map(|entry| entry.name)
}

impl Encoding {
    /// Appends the number and the parameters.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let entry = REGISTRY.iter().find(|entry| entry.name == self.name()).expect("every scheme is registered");
        out.push(entry.numbers[self.scheme().form()]);
        self.scheme().write(out);
    }

    /// Reads an encoding inside of another, which must be one of `names`. This is checked before it is read: encodings are
    /// read by recursion, which bytes of a damaged file must not drive.
    pub(crate) fn read_inner(names: &[&str], bytes: &mut &[u8]) -> Result<Self> {
        let name = bytes.first().and_then(|&number| name_of(number));
        match name.is_some_and(|name| names.contains(&name)) {
            true => Self::read(bytes),
            false => Err(corrupt("an encoding that can't be inside of another")),
        }
    }

    /// Reads what [`write`](Self::write) has appended.
    pub(crate) fn read(bytes: &mut &[u8]) -> Result<Self> {
        let [number] = take(bytes)?;
        let form = |entry: &Entry| entry.numbers.iter().position(|known| *known == number);
        let known = REGISTRY.iter().find_map(|entry| Some((entry, form(entry)?)));
        let (entry, form) = known.ok_or_else(|| corrupt("unknown encoding"))?;
        (entry.read)(form, bytes)
    }
}
