//! Chooses the encoding of a part: the smallest, weighted by decoding cost; by exact size where that is cheap to
//! compute, from a sample for strings.

use godwit_common::Named;
use godwit_vector::{PhysicalType, Vector};

use crate::column::{Column, Learned};
use crate::cost::weighted;
use crate::header::{PartContent, PartHeader};
use crate::part::EncodedPart;
use crate::registry::REGISTRY;
use crate::scheme::Proposal;
use crate::{ROW_GROUP_ROWS, validity};

/// How the encoding of a column is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncodingChoice {
    /// The smallest that is fast to read.
    #[default]
    Auto,
    /// Values as they are.
    Plain,
    /// Bit packing, where the type allows it.
    Packed,
    /// Run length, where the type allows it.
    RunLength,
    /// Symbol tables, for strings.
    Symbols,
    /// An ordered dictionary, for strings, which the table builds; the codes are encoded as with `Auto`.
    Dictionary,
}

impl Named for EncodingChoice {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Self::Auto),
        ("plain", Self::Plain),
        ("packed", Self::Packed),
        ("run_length", Self::RunLength),
        ("symbols", Self::Symbols),
        ("dictionary", Self::Dictionary),
    ];
}

impl EncodingChoice {
    /// The schemes to try: all in a list that can store the column, and the next list only if none of them can.
    fn schemes(self) -> &'static [&'static [&'static str]] {
        const PLAIN: &[&str] = &["null", "plain", "text"];
        match self {
            Self::Auto | Self::Dictionary => &[],
            Self::Plain => &[PLAIN],
            Self::Packed => &[&["packed"], &["decimals"], PLAIN],
            Self::RunLength => &[&["run_length"], PLAIN],
            Self::Symbols => &[&["symbols"], PLAIN],
        }
    }
}

/// Encodes the parts of a column in turn. What it learns from one part helps with the next.
#[derive(Default)]
pub struct Encoder {
    learned: Learned,
}

impl Encoder {
    /// An encoder of a column whose strings are lists with items of this type ([`Lists::item_type`]), if there is one.
    ///
    /// [`Lists::item_type`]: godwit_vector::Lists::item_type
    pub fn for_lists(items: Option<PhysicalType>) -> Self {
        Self { learned: Learned::of_lists(items) }
    }

    /// Encodes the values of one part: at most [`ROW_GROUP_ROWS`] rows of any type but nested ones.
    pub fn encode(&mut self, values: &Vector, choice: EncodingChoice) -> EncodedPart {
        encode_by(values, &self.learned, |column| chosen(column, choice))
    }
}

/// Encodes the values of a single part, without learning from others.
pub fn encode(values: &Vector, choice: EncodingChoice) -> EncodedPart {
    Encoder::default().encode(values, choice)
}

/// Encodes values with the scheme that `choose` picks.
pub(crate) fn encode_by(
    values: &Vector,
    learned: &Learned,
    choose: impl for<'a> FnOnce(&'a Column<'_>) -> Proposal<'a>,
) -> EncodedPart {
    let rows = values.len();
    assert!(rows <= ROW_GROUP_ROWS, "a part lies in one row group");
    let values = values.flattened();
    let column = Column::new(&values, learned);
    let mut body = Vec::new();
    if column.nulls > 0 && !column.is_null() {
        validity::write(values.validity().expect("there are NULLs"), &mut body);
    }
    let encoding = (choose(&column).write)(&mut body);
    let valid = rows - column.nulls;
    let runs = if column.numbers().is_some() { column.run_ends.len().min(valid) } else { valid };
    let header = PartHeader {
        physical: column.physical(),
        content: PartContent::Values,
        rows: rows as u32,
        nulls: column.nulls as u32,
        body_bytes: u32::try_from(body.len()).expect("the storage bounds the bytes of a part"),
        range: column.range,
        encoding,
    };
    EncodedPart { header, body, runs: runs as u32 }
}

fn chosen<'a>(column: &'a Column<'_>, choice: EncodingChoice) -> Proposal<'a> {
    let preferred = choice.schemes().iter().find_map(|names| smallest(column, |name| names.contains(&name)));
    let best = preferred.or_else(|| smallest(column, |_| true));
    best.expect("everything is stored as it is, if not shorter")
}

/// The best of the schemes that may be used.
pub(crate) fn smallest<'a>(column: &'a Column<'_>, may_use: impl Fn(&str) -> bool) -> Option<Proposal<'a>> {
    let mut best: Option<Proposal<'a>> = None;
    for entry in REGISTRY.iter().filter(|entry| may_use(entry.name)) {
        if best.as_ref().is_some_and(|best| best.size.bytes() == 0) {
            break;
        }
        if let Some(proposal) = (entry.propose)(column) {
            let score = |proposal: &Proposal<'_>| weighted(proposal.size.bytes(), proposal.cost);
            if best.as_ref().is_none_or(|best| score(&proposal) < score(best)) {
                best = Some(proposal);
            }
        }
    }
    best
}
