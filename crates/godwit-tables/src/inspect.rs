//! What tables are made of, for whoever wants to look.

use godwit_encoding::{Encoding, PartHeader};
use godwit_storage::table::{Segment, stored_type};
use godwit_vector::PhysicalType;

use crate::version::TableVersion;

/// A segment: a column of a row group.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentInfo {
    /// The column's name.
    pub column: String,
    /// Number of the row group in the table, from 0.
    pub row_group: u64,
    /// What memory calls it: see `godwit_heat()`.
    pub object: String,
    /// Rows.
    pub rows: u64,
    /// NULLs.
    pub nulls: u64,
    /// How its parts are encoded; several names if they differ.
    pub encoding: String,
    /// Bytes of the bodies of its parts.
    pub bytes: u64,
}

/// The dictionary of a text column.
#[derive(Debug, Clone, PartialEq)]
pub struct DictionaryInfo {
    /// The column's name.
    pub column: String,
    /// How many strings it has.
    pub strings: u64,
    /// Bytes that it takes in the file.
    pub bytes: u64,
}

impl TableVersion {
    /// All segments, by row group, then by column.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        let mut infos = Vec::new();
        for (row_group, group) in self.main().groups.iter().enumerate() {
            for (segment, column) in group.segments.iter().zip(&self.main().columns) {
                let is_text = stored_type(column.field.data_type()).ok() == Some(PhysicalType::Str);
                infos.push(SegmentInfo {
                    column: column.field.name().clone(),
                    row_group: row_group as u64,
                    object: segment.object().map(|object| object.path()).unwrap_or_default(),
                    rows: group.rows as u64,
                    nulls: segment.nulls(),
                    encoding: encodings(segment, is_text),
                    bytes: segment.parts.iter().map(|part| part.header.body_bytes as u64).sum(),
                });
            }
        }
        infos
    }

    /// All dictionaries.
    pub fn dictionaries(&self) -> Vec<DictionaryInfo> {
        let columns = self.main().columns.iter();
        let of = columns.filter_map(|column| Some((column.field.name().clone(), column.dictionary.as_ref()?)));
        of.map(|(column, dictionary)| DictionaryInfo {
            column,
            strings: dictionary.len() as u64,
            bytes: dictionary.bytes(),
        })
        .collect()
    }
}

/// The name of a part's encoding.
pub(crate) fn encoding_of(header: &PartHeader) -> &'static str {
    match header.encoding {
        Encoding::Null => "null",
        Encoding::Constant(_) => "constant",
        Encoding::Packed(_) => "packed",
        Encoding::Decimals { .. } => "decimals",
        Encoding::RunLength { .. } => "run_length",
        Encoding::Plain => "plain",
        Encoding::Text => "text",
        Encoding::Symbols => "symbols",
    }
}

/// The names of the encodings of a segment, each once.
fn encodings(segment: &Segment, is_text: bool) -> String {
    let mut names: Vec<String> = Vec::new();
    for part in &segment.parts {
        let name = encoding_of(&part.header);
        let name = if is_text && part.has_codes() { format!("dictionary, {name}") } else { name.to_owned() };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join("; ")
}
