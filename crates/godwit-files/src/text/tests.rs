//! Cuts between records, wherever the bytes read so far end. Reading is tested in SQL (`tests/sql/copy`).

use proptest::prelude::*;

use super::columns::Nulls;
use super::csv::Records;
use super::cutter::{Piece, last_record_end};
use super::dialect::{Delimiter, Dialect};
use super::json::JsonScanner;
use super::records::CsvRecords;
use super::separators::{Wanted, last_record};

const DIALECTS: [Dialect; 3] =
    [dialect(b',', b'"', None), dialect(b';', b'\'', None), dialect(b'|', b'"', Some(b'\\'))];

const fn dialect(delimiter: u8, quote: u8, escape: Option<u8>) -> Dialect {
    Dialect { delimiter: Delimiter::one(delimiter), quote: Some(quote), escape, comment: None, newline: b'\n' }
}

/// Writes a field as a writer would: quoted if necessary.
fn write(field: &str, dialect: &Dialect, out: &mut Vec<u8>) {
    let quote = dialect.quote.unwrap();
    let special = [dialect.delimiter.bytes()[0], quote, dialect.escape.unwrap_or(b'"'), b'\n', b'\r'];
    if !field.is_empty() && !field.bytes().any(|byte| special.contains(&byte)) {
        out.extend(field.bytes());
        return;
    }
    let escape = dialect.escape.unwrap_or(quote);
    out.push(quote);
    for byte in field.bytes() {
        if byte == quote || byte == escape {
            out.push(escape);
        }
        out.push(byte);
    }
    out.push(quote);
}

proptest! {
    #[test]
    fn csv_is_cut_between_records(
        rows in prop::collection::vec(prop::collection::vec("[ab,;|\"'\\\\\n]{0,6}", 2..4), 1..8),
        dialect in prop::sample::select(&DIALECTS[..]),
        at in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for row in &rows {
            for (column, field) in row.iter().enumerate() {
                if column > 0 {
                    bytes.extend(dialect.delimiter.bytes());
                }
                write(field, &dialect, &mut bytes);
            }
            bytes.push(b'\n');
            ends.push(bytes.len());
        }
        let length = at.index(bytes.len() + 1);
        let expected = ends.iter().copied().filter(|&end| end <= length).max();
        prop_assert_eq!(last_record_end(&bytes[..length], &dialect), expected);

        let mut records = Records::new(&dialect, 1);
        for row in &rows {
            let fields = records.next(&bytes).expect("a record for each row");
            let found: Vec<&[u8]> = fields.iter().collect();
            prop_assert_eq!(found, row.iter().map(|field| field.as_bytes()).collect::<Vec<_>>());
        }
        prop_assert!(records.next(&bytes).is_none());
    }

    /// Fields agree with the parser's, whether quotes are regular or not, and however many records are requested at
    /// once.
    #[test]
    fn separators_are_where_the_parser_sees_them(
        text in "([ab]{0,3}|\"[ab,;\n]{0,4}\"|\"\"|[\",;\r\n|\\\\]|,|\n|x{60,70}){0,40}",
        dialect in prop::sample::select(&DIALECTS[..]),
        width in 1usize..4,
        records_max in 1usize..5,
        null_padding in any::<bool>(),
    ) {
        let bytes = text.as_bytes();
        let found = last_record(bytes, &dialect, true);
        if found.is_regular {
            prop_assert_eq!(found.end, last_record_end(bytes, &dialect));
        }
        let (mut expected, mut rejected_by_parser): (Vec<Vec<Vec<u8>>>, usize) = Default::default();
        let mut parser = Records::new(&dialect, 1);
        let wanted = Wanted { records_max, width, ignore_errors: true, rejects_max: 0, null_padding };
        while let Some(fields) = parser.next(bytes) {
            match wanted.has(fields.len(), fields.ends_empty) && !fields.met.unclosed {
                _ if fields.is_blank && width > 1 => {}
                true => expected.push(fields.iter().take(width).map(<[u8]>::to_vec).collect()),
                false => rejected_by_parser += 1,
            }
        }

        let piece = Piece { bytes: bytes.to_vec(), first_line: 1, is_regular: found.is_regular, ..Piece::default() };
        let mut records = CsvRecords::default();
        records.open(&piece, &dialect, None, false).unwrap();
        let (mut read, mut rejected) = (Vec::new(), 0);
        loop {
            let step = records.next(&piece, &dialect, wanted);
            rejected += step.rejected as usize;
            prop_assert!(step.wrong_width.is_none());
            if records.len() == 0 {
                break;
            }
            let columns: Vec<_> = (0..width).map(|column| records.fields(&piece, column, &dialect, Nulls::default())).collect();
            for record in 0..records.len() {
                read.push(columns.iter().filter_map(|column| Some(column.get(record)?.to_vec())).collect::<Vec<_>>());
            }
        }
        prop_assert_eq!(read, expected);
        prop_assert_eq!(rejected, rejected_by_parser);
    }

    #[test]
    fn json_is_cut_between_objects(
        objects in prop::collection::vec("\\{\"a\": (1|\"[\\]\\[{},]*\"|\"\\\\\\\\\\\\\"\"|\\[1, \\{\"b\": 2\\}\\])\\}", 1..6),
        is_array in any::<bool>(),
        reads in prop::collection::vec(1usize..40, 1..20),
    ) {
        let separator = if is_array { ",\n" } else { "\n" };
        let text = objects.join(separator);
        let text = if is_array { format!("[{text}]") } else { text };
        let mut scanner = JsonScanner::default();
        let (mut found, mut bytes, mut at) = (Vec::new(), Vec::new(), 0);
        for read in reads.into_iter().chain([text.len()]) {
            let end = text.len().min(at + read);
            bytes.extend_from_slice(&text.as_bytes()[at..end]);
            at = end;
            if let Some(end) = scanner.last_value_end(&mut bytes) {
                let rest = bytes.split_off(end);
                scanner.forget(bytes.len());
                found.extend(bytes);
                bytes = rest;
            }
        }
        let found = String::from_utf8(found).unwrap();
        let dense = |text: &str| text.replace([' ', '\n'], "");
        prop_assert_eq!(dense(&found), dense(&objects.concat()));
    }
}
