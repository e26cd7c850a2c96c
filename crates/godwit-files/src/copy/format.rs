//! The format of a file and its options, as users write them in `COPY … TO 'file' (FORMAT csv, HEADER false)`.

use std::path::Path;

use godwit_catalog::{CopyOption, OptionValue};
use godwit_common::{Error, Result, parse_bytes};

use super::RETURN_FILES;
use super::arrow::ArrowOptions;
use super::csv::{CsvOptions, ForceQuote};
use super::parquet::{Compression, ParquetOptions};
use super::split_options::SplitOptions;
use super::text::{Block, TextFormat};
use crate::text::Delimiter;

/// The format of a file to be written.
#[derive(Debug, Clone, PartialEq)]
pub enum FileFormat {
    /// Columns in row groups.
    Parquet(ParquetOptions),
    /// Columns as in memory.
    Arrow(ArrowOptions),
    /// Rows as text.
    Text(TextFormat),
}

impl FileFormat {
    /// Returns the format named by the options, or else by the file's extension.
    pub fn of(path: &str, options: &[CopyOption]) -> Result<FileFormat> {
        let named = options.iter().find(|option| option.name == "format");
        let format = match named {
            Some(option) => option.text()?.to_lowercase(),
            None => ending_of(path),
        };
        let options =
            Options { format: &format, rest: options.iter().filter(|option| !is_of_any_format(option)).collect() };
        match format.as_str() {
            "parquet" | "parq" => options.parquet(),
            "arrow" | "feather" => options.arrow(false),
            "arrows" => options.arrow(true),
            "csv" | "tsv" => options.csv(path),
            "json" | "jsonl" | "ndjson" => options.json(path),
            other => {
                let known = "formats are parquet, arrow, arrows, csv and json";
                Err(match named {
                    Some(_) => Error::user(format!("there is no format '{other}'")).with_hint(known),
                    None => Error::user(format!("the ending of '{path}' names no format"))
                        .with_hint(format!("write COPY ... TO '{path}' (FORMAT parquet); {known}")),
                })
            }
        }
    }
}

impl FileFormat {
    /// Returns the extension for files of the format.
    pub(super) fn ending(&self) -> String {
        let (name, block) = match self {
            FileFormat::Parquet(_) => ("parquet", Block::Plain),
            FileFormat::Arrow(_) => ("arrow", Block::Plain),
            FileFormat::Text(TextFormat::Csv(_, block)) => ("csv", *block),
            FileFormat::Text(TextFormat::Json { block, .. }) => ("json", *block),
        };
        let compressed = match block {
            Block::Plain => "",
            Block::Gzip => ".gz",
            Block::Zstd => ".zst",
        };
        format!("{name}{compressed}")
    }
}

/// Returns true for options that formats don't have.
fn is_of_any_format(option: &CopyOption) -> bool {
    ["format", RETURN_FILES].contains(&option.name.as_str()) || SplitOptions::has(option) || is_hint(option)
}

/// Returns true for options of DuckDB that only say how it writes.
fn is_hint(option: &CopyOption) -> bool {
    const HINTS: [&str; 6] = [
        "bloom_filter_false_positive_ratio",
        "dictionary_size_limit",
        "preserve_order",
        "string_dictionary_page_size_limit",
        "use_tmp_file",
        "write_bloom_filter",
    ];
    HINTS.contains(&option.name.as_str())
}

/// Returns a file name's extension, without that of a compression after it.
fn ending_of(path: &str) -> String {
    let mut path = Path::new(path);
    if block_of_ending(path) != Block::Plain {
        path = Path::new(path.file_stem().unwrap_or_default());
    }
    path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default()
}

fn block_of_ending(path: &Path) -> Block {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => Block::Gzip,
        Some("zst") => Block::Zstd,
        _ => Block::Plain,
    }
}

/// The options other than the format; each is taken once.
struct Options<'a> {
    format: &'a str,
    rest: Vec<&'a CopyOption>,
}

impl Options<'_> {
    /// Takes the option that has one of these names.
    fn take(&mut self, names: &[&str]) -> Option<&CopyOption> {
        let at = self.rest.iter().position(|option| names.contains(&option.name.as_str()))?;
        Some(self.rest.remove(at))
    }

    fn flag(&mut self, names: &[&str], default: bool) -> Result<bool> {
        self.take(names).map_or(Ok(default), CopyOption::flag)
    }

    fn text(&mut self, names: &[&str]) -> Result<Option<String>> {
        self.take(names).map(|option| option.text().map(str::to_owned)).transpose()
    }

    /// Takes an option that is a single one-byte character.
    fn character(&mut self, names: &[&str], default: u8) -> Result<u8> {
        let Some(text) = self.text(names)? else { return Ok(default) };
        match text.as_str() {
            "\\t" => Ok(b'\t'),
            text if text.len() == 1 && !matches!(text.as_bytes()[0], b'\n' | b'\r') => Ok(text.as_bytes()[0]),
            _ => Err(Error::user(format!("{}: '{text}' is not a single character", names[0]))
                .with_hint("a quote or an escape is one ASCII character")),
        }
    }

    fn number(&mut self, names: &[&str]) -> Result<Option<usize>> {
        let Some(text) = self.text(names)? else { return Ok(None) };
        match text.parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(Error::user(format!("{}: '{text}' is not a positive number", names[0]))),
        }
    }

    fn block(&mut self, path: &str) -> Result<Block> {
        match self.text(&["compression", "codec"])?.map(|name| name.to_lowercase()).as_deref() {
            None | Some("auto" | "auto_detect") => Ok(block_of_ending(Path::new(path))),
            Some("none" | "uncompressed") => Ok(Block::Plain),
            Some("gzip" | "gz") => Ok(Block::Gzip),
            Some("zstd" | "zst") => Ok(Block::Zstd),
            Some(other) => Err(Error::user(format!("there is no compression '{other}' for text"))
                .with_hint("compressions are none, gzip and zstd")),
        }
    }

    fn parquet(mut self) -> Result<FileFormat> {
        let level = self.number(&["compression_level"])?;
        let name = self.text(&["compression", "codec"])?.unwrap_or_else(|| "snappy".into()).to_lowercase();
        let compression = Compression::of(&name, level)?;
        let row_group_rows = self.number(&["row_group_size", "chunk_size"])?;
        let bytes = self.text(&["row_group_size_bytes"])?.map(|text| parse_bytes(&text)).transpose()?;
        let metadata = match self.take(&["kv_metadata"]).map(|option| &option.value) {
            None => Vec::new(),
            Some(OptionValue::Fields(fields)) => fields.clone(),
            Some(_) => return Err(Error::user("KV_METADATA takes names and values: {author: 'me'}")),
        };
        let has_new_pages = match self.text(&["parquet_version"])?.map(|version| version.to_lowercase()).as_deref() {
            None | Some("v1") => false,
            Some("v2") => true,
            Some(other) => return Err(Error::user(format!("PARQUET_VERSION is V1 or V2, not {other}"))),
        };
        let defaults = ParquetOptions::default();
        let options = ParquetOptions {
            compression,
            row_group_rows: row_group_rows.unwrap_or(defaults.row_group_rows),
            row_group_bytes: bytes
                .map_or(defaults.row_group_bytes, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
            metadata,
            has_new_pages,
        };
        self.end()?;
        Ok(FileFormat::Parquet(options))
    }

    fn arrow(mut self, is_stream: bool) -> Result<FileFormat> {
        let name = self.text(&["compression", "codec"])?.unwrap_or_else(|| "none".into()).to_lowercase();
        let compression = ArrowOptions::compression(&name)?;
        self.end()?;
        Ok(FileFormat::Arrow(ArrowOptions { is_stream, compression }))
    }

    fn csv(mut self, path: &str) -> Result<FileFormat> {
        let delimiter = match self.take(&["delimiter", "delim", "sep"]) {
            Some(option) => Delimiter::of(option)?,
            None => Delimiter::one(if self.format == "tsv" { b'\t' } else { b',' }),
        };
        let block = self.block(path)?;
        let quote = self.character(&["quote"], b'"')?;
        let options = CsvOptions {
            header: self.flag(&["header"], true)?,
            delimiter,
            quote,
            escape: self.character(&["escape"], quote)?,
            null: self.text(&["null", "nullstr"])?.unwrap_or_default(),
            date_format: self.text(&["dateformat", "date_format"])?,
            timestamp_format: self.text(&["timestampformat", "timestamp_format"])?,
            force_quote: match self.take(&["force_quote"]) {
                None => ForceQuote::None,
                Some(option) if option.word() == Some("*") => ForceQuote::All,
                Some(option) => ForceQuote::Columns(option.texts()?.iter().map(|name| name.to_lowercase()).collect()),
            },
        };
        if options.delimiter.bytes().contains(&options.quote) {
            return Err(Error::user("the quote is in the delimiter"));
        }
        self.end()?;
        Ok(FileFormat::Text(TextFormat::Csv(options, block)))
    }

    fn json(mut self, path: &str) -> Result<FileFormat> {
        let block = self.block(path)?;
        let array = self.flag(&["array"], false)?;
        self.end()?;
        Ok(FileFormat::Text(TextFormat::Json { array, block }))
    }

    /// Rejects options that weren't taken: unknown ones, those of other formats, and repetitions.
    fn end(self) -> Result<()> {
        match self.rest.first() {
            None => Ok(()),
            Some(option) => Err(Error::user(format!("COPY TO {} has no option {}", self.format, option.name))
                .with_hint(match self.format {
                    "parquet" | "parq" => {
                        "options are COMPRESSION, COMPRESSION_LEVEL, ROW_GROUP_SIZE, ROW_GROUP_SIZE_BYTES"
                    }
                    "arrow" | "arrows" | "feather" => "the option is COMPRESSION",
                    "csv" | "tsv" => {
                        "options are HEADER, DELIMITER, QUOTE, ESCAPE, FORCE_QUOTE, NULL, DATEFORMAT, TIMESTAMPFORMAT, \
                         COMPRESSION"
                    }
                    _ => "options are ARRAY, COMPRESSION",
                })),
        }
    }
}
