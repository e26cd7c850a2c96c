//! The options of `COPY` for folders of files.

use arrow_schema::Schema;
use godwit_catalog::{CopyOption, OptionValue};
use godwit_common::{Error, Result, parse_bytes};

use super::name_pattern::NamePattern;

/// Bytes of a file after which another one begins, if `FILE_SIZE_BYTES` is given without a number.
const FILE_BYTES_DEFAULT: u64 = 1 << 30;

/// The distribution of rows over files.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitOptions {
    /// Columns whose values name folders.
    pub(super) partition_by: Vec<String>,
    /// True if the files contain these columns, too.
    pub(super) keeps_columns: bool,
    pub(super) file_bytes: Option<u64>,
    /// True if each worker writes files of its own.
    pub(super) by_worker: bool,
    pub(super) existing: Existing,
    pub(super) names: NamePattern,
    /// The extension of the files; `None`: that of the format.
    pub(super) extension: Option<String>,
}

/// What becomes of the files that are in the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    /// There must be none.
    Refused,
    /// `OVERWRITE_OR_IGNORE`: those with the names of new ones are replaced.
    Overwritten,
    /// `OVERWRITE`: in the end there are no others of the same extension.
    Removed,
    /// `APPEND`: they stay, since new ones have other names.
    Kept,
}

impl SplitOptions {
    /// Names of the options.
    const NAMES: [&str; 9] = [
        "partition_by",
        "write_partition_columns",
        "file_size_bytes",
        "per_thread_output",
        "overwrite_or_ignore",
        "overwrite",
        "append",
        "filename_pattern",
        "file_extension",
    ];

    /// Returns true if an option is one of these.
    pub(super) fn has(option: &CopyOption) -> bool {
        Self::NAMES.contains(&option.name.as_str())
    }

    /// Returns these options from those of a statement; `None`: it writes a single file.
    pub fn of(options: &[CopyOption], schema: &Schema) -> Result<Option<Self>> {
        let mut split = Self {
            partition_by: Vec::new(),
            keeps_columns: false,
            file_bytes: None,
            by_worker: false,
            existing: Existing::Refused,
            names: NamePattern::numbered(),
            extension: None,
        };
        let mut pattern = None;
        for option in options {
            match option.name.as_str() {
                "partition_by" if option.word() == Some("*") => {
                    split.partition_by = schema.fields().iter().map(|field| field.name().clone()).collect();
                }
                "partition_by" => split.partition_by = option.texts()?.to_vec(),
                "write_partition_columns" => split.keeps_columns = option.flag()?,
                "file_size_bytes" => {
                    split.file_bytes = Some(match option.value {
                        OptionValue::Absent => FILE_BYTES_DEFAULT,
                        _ => parse_bytes(option.text()?)?.max(1),
                    });
                }
                "per_thread_output" => split.by_worker = option.flag()?,
                "overwrite_or_ignore" if option.flag()? => split.set_existing(Existing::Overwritten)?,
                "overwrite" if option.flag()? => split.set_existing(Existing::Removed)?,
                "append" if option.flag()? => split.set_existing(Existing::Kept)?,
                "filename_pattern" => pattern = Some(NamePattern::parse(option.text()?)?),
                "file_extension" => split.extension = Some(extension(option.text()?)?),
                _ => {}
            }
        }
        let has_pattern = pattern.is_some();
        split.names = match (pattern, split.existing) {
            (Some(pattern), Existing::Kept) if !pattern.is_unique() => {
                return Err(Error::user("APPEND with a FILENAME_PATTERN without {uuid} could replace files"));
            }
            (Some(pattern), _) => pattern,
            (None, Existing::Kept) => NamePattern::unique(),
            (None, Existing::Refused | Existing::Overwritten | Existing::Removed) => NamePattern::numbered(),
        };
        if !split.partition_by.is_empty() || split.file_bytes.is_some() || split.by_worker {
            return Ok(Some(split));
        }
        let of_folders = [
            ("APPEND", split.existing == Existing::Kept),
            ("FILENAME_PATTERN", has_pattern),
            ("FILE_EXTENSION", split.extension.is_some()),
        ];
        match of_folders.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                Err(Error::user(format!("{option} is for folders of files, and this is a single file"))
                    .with_hint("add PARTITION_BY, FILE_SIZE_BYTES or PER_THREAD_OUTPUT to write a folder"))
            }
            None => Ok(None),
        }
    }

    fn set_existing(&mut self, existing: Existing) -> Result<()> {
        if self.existing != Existing::Refused {
            return Err(Error::user("only one of OVERWRITE, OVERWRITE_OR_IGNORE and APPEND can be given"));
        }
        self.existing = existing;
        Ok(())
    }
}

/// Returns an extension without the point in front.
fn extension(text: &str) -> Result<String> {
    let extension = text.strip_prefix('.').unwrap_or(text);
    match extension.is_empty() || extension.starts_with('.') || extension.contains(['/', '\\', '\0']) {
        true => {
            Err(Error::user(format!("'{text}' is not an extension of file names")).with_hint("write 'csv' or 'txt'"))
        }
        false => Ok(extension.to_owned()),
    }
}
