//! Results as text, in the format that the user chose.
//!
//! A renderer turns batches into bytes and does no input or output itself: the shell writes the content of the buffer
//! after each call, so errors of output are handled by the shell alone, and memory holds one batch's text at a time.

mod boxed;
mod csv;
mod json;
mod markdown;

pub use boxed::with_separators;

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use clap::ValueEnum;
use godwit::{Error, Result};

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table drawn with lines; of many rows, the first and the last
    Box,
    /// Comma-separated values with a header
    Csv,
    /// One array of objects
    Json,
    /// One object per line
    #[value(name = "jsonlines")]
    JsonLines,
    /// A Markdown table
    Markdown,
}

impl Format {
    /// A renderer for one result. `width_max`: columns of the terminal, if it goes to one.
    pub fn renderer(self, schema: &SchemaRef, width_max: Option<usize>) -> Box<dyn Renderer> {
        match self {
            Format::Box => Box::new(boxed::BoxRenderer::new(schema, width_max)),
            Format::Csv => Box::new(csv::CsvRenderer::new(schema)),
            Format::Json => Box::new(json::JsonRenderer::array()),
            Format::JsonLines => Box::new(json::JsonRenderer::lines()),
            Format::Markdown => Box::new(markdown::MarkdownRenderer::new(schema)),
        }
    }

    /// The name that `--format` and `.mode` take.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Writes one result.
pub trait Renderer {
    /// Appends what can be written once `batch` is known.
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()>;
    /// Appends the rest, after the last batch.
    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()>;
}

/// How instants look outside JSON: with a space, as in SQL.
const TIMESTAMP_FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f";
const TIMESTAMP_TZ_FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f%:z";

/// A formatter per column for tables for people: NULL is spelled out.
fn formatters(batch: &RecordBatch) -> Result<Vec<ArrayFormatter<'_>>> {
    const OPTIONS: FormatOptions<'static> = FormatOptions::new()
        .with_null("NULL")
        .with_timestamp_format(Some(TIMESTAMP_FORMAT))
        .with_timestamp_tz_format(Some(TIMESTAMP_TZ_FORMAT));
    let formatter = |column| ArrayFormatter::try_new(column, &OPTIONS).map_err(unsupported);
    batch.columns().iter().map(|column| formatter(column.as_ref())).collect()
}

/// Values of these types are right-aligned.
fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_number(values),
        other => other.is_numeric(),
    }
}

/// The Arrow writers fail on types that a format can't express.
fn unsupported(error: ArrowError) -> Error {
    Error::unsupported(format!("this result in this format: {error}")).with_hint("choose another format with .mode")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Decimal128Array, Int64Array, StringArray, TimestampMicrosecondArray};

    use super::*;

    /// Two batches of the same columns: a number, a text with all that needs escaping, a decimal, an instant.
    pub(super) fn batches() -> Vec<RecordBatch> {
        let batch = |numbers: Vec<Option<i64>>, texts: Vec<Option<&str>>| {
            let rows = numbers.len();
            let decimals = Decimal128Array::from(vec![Some(1250); rows]).with_precision_and_scale(10, 2).unwrap();
            let instants = TimestampMicrosecondArray::from(vec![Some(86_400_000_000); rows]);
            RecordBatch::try_from_iter_with_nullable([
                ("n", Arc::new(Int64Array::from(numbers)) as ArrayRef, true),
                ("text", Arc::new(StringArray::from(texts)) as ArrayRef, true),
                ("d", Arc::new(decimals) as ArrayRef, true),
                ("t", Arc::new(instants) as ArrayRef, true),
            ])
            .unwrap()
        };
        vec![batch(vec![Some(1), None], vec![Some("a,\"b\""), Some("x|y\nz")]), batch(vec![Some(300)], vec![None])]
    }

    pub(super) fn render(format: Format, batches: &[RecordBatch], width_max: Option<usize>) -> String {
        let mut out = Vec::new();
        let mut renderer = format.renderer(&batches[0].schema(), width_max);
        for batch in batches {
            renderer.batch(batch, &mut out).unwrap();
        }
        renderer.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_format_escapes_what_would_break_it() {
        assert_eq!(
            render(Format::Csv, &batches(), None),
            "n,text,d,t\n1,\"a,\"\"b\"\"\",12.50,1970-01-02 00:00:00\n,\"x|y\nz\",12.50,1970-01-02 00:00:00\n\
             300,,12.50,1970-01-02 00:00:00\n"
        );
        assert_eq!(
            render(Format::JsonLines, &batches(), None),
            "{\"n\":1,\"text\":\"a,\\\"b\\\"\",\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"}\n\
             {\"n\":null,\"text\":\"x|y\\nz\",\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"}\n\
             {\"n\":300,\"text\":null,\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"}\n"
        );
        assert_eq!(
            render(Format::Json, &batches(), None),
            "[{\"n\":1,\"text\":\"a,\\\"b\\\"\",\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"},\
             {\"n\":null,\"text\":\"x|y\\nz\",\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"},\
             {\"n\":300,\"text\":null,\"d\":12.50,\"t\":\"1970-01-02T00:00:00\"}]\n"
        );
        assert_eq!(
            render(Format::Markdown, &batches(), None),
            "| n | text | d | t |\n|---:|---|---:|---|\n\
             | 1 | a,\"b\" | 12.50 | 1970-01-02 00:00:00 |\n\
             | NULL | x\\|y<br>z | 12.50 | 1970-01-02 00:00:00 |\n\
             | 300 | NULL | 12.50 | 1970-01-02 00:00:00 |\n"
        );
    }

    #[test]
    fn each_format_writes_a_result_without_rows() {
        let schema = batches()[0].schema();
        let render = |format: Format| {
            let mut out = Vec::new();
            format.renderer(&schema, None).finish(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(render(Format::Csv), "n,text,d,t\n");
        assert_eq!(render(Format::JsonLines), "");
        assert_eq!(render(Format::Json), "[]\n");
        assert_eq!(render(Format::Markdown), "| n | text | d | t |\n|---:|---|---:|---|\n");
        assert!(render(Format::Box).ends_with("0 rows\n"));
    }
}
