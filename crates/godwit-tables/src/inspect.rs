//! The structure of tables, for inspection.

use godwit_storage::table::Segment;

use crate::version::TableVersion;

/// A segment: a column of a row group.
#[derive(Debug, Clone, PartialEq)]
pub struct SegmentInfo {
    /// The column's name.
    pub column: String,
    /// Number of the row group in the table, starting at 0.
    pub row_group: u64,
    /// The name of its object in memory: see `godwit_heat()`.
    pub object: String,
    /// Number of rows.
    pub rows: u64,
    /// Number of NULLs.
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
    /// Number of strings.
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
                infos.push(SegmentInfo {
                    column: column.field.name().clone(),
                    row_group: row_group as u64,
                    object: segment.object().map(|object| object.path()).unwrap_or_default(),
                    rows: group.rows as u64,
                    nulls: segment.nulls(),
                    encoding: encodings(segment),
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

/// The names of the encodings of a segment, each once.
fn encodings(segment: &Segment) -> String {
    let mut names: Vec<String> = Vec::new();
    for part in &segment.parts {
        let name = part.header.encoding.name();
        let name = if part.has_codes() { format!("dictionary, {name}") } else { name.to_owned() };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join("; ")
}
