//! Cuts between records, wherever the bytes that were read end. What is read is tested in SQL (`tests/sql/copy`).

use proptest::prelude::*;

use super::csv::{Dialect, Records};
use super::cutter::last_record_end;
use super::json_scanner::JsonScanner;

const DIALECTS: [Dialect; 3] = [
    Dialect { delimiter: b',', quote: b'"', escape: None },
    Dialect { delimiter: b';', quote: b'\'', escape: None },
    Dialect { delimiter: b'|', quote: b'"', escape: Some(b'\\') },
];

/// A field as a writer would write it: quoted if it has to be.
fn write(field: &str, dialect: &Dialect, out: &mut Vec<u8>) {
    let special = [dialect.delimiter, dialect.quote, dialect.escape.unwrap_or(b'"'), b'\n', b'\r'];
    if !field.is_empty() && !field.bytes().any(|byte| special.contains(&byte)) {
        out.extend(field.bytes());
        return;
    }
    let escape = dialect.escape.unwrap_or(dialect.quote);
    out.push(dialect.quote);
    for byte in field.bytes() {
        if byte == dialect.quote || byte == escape {
            out.push(escape);
        }
        out.push(byte);
    }
    out.push(dialect.quote);
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
                    bytes.push(dialect.delimiter);
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
            if let Some(end) = scanner.last_object_end(&mut bytes) {
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
