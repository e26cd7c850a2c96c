//! Files of some hundred bytes that no writer would produce: they must give clear errors and take little memory.

use super::*;

/// A structure in Thrift's compact protocol.
#[derive(Default, Clone)]
struct Structure {
    bytes: Vec<u8>,
    last: u8,
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7F {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn zigzag(number: i64) -> Vec<u8> {
    varint(((number << 1) ^ (number >> 63)) as u64)
}

impl Structure {
    fn field(mut self, id: u8, wire: u8, value: impl AsRef<[u8]>) -> Self {
        self.bytes.push((id - self.last) << 4 | wire);
        self.bytes.extend(value.as_ref());
        self.last = id;
        self
    }

    fn i32(self, id: u8, value: i32) -> Self {
        self.field(id, 5, zigzag(value.into()))
    }

    fn i64(self, id: u8, value: usize) -> Self {
        self.field(id, 6, zigzag(value as i64))
    }

    fn text(self, id: u8, text: &str) -> Self {
        self.field(id, 8, [varint(text.len() as u64), text.into()].concat())
    }

    fn list(self, id: u8, wire: u8, elements: Vec<Vec<u8>>) -> Self {
        let head = [vec![0xF0 | wire], varint(elements.len() as u64)].concat();
        self.field(id, 9, [head, elements.concat()].concat())
    }

    fn structure(self, id: u8, inner: Structure) -> Self {
        self.field(id, 12, inner.end())
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

const BOOLEAN: i32 = 0;
const INT32: i32 = 1;
const FIXED: i32 = 7;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const DELTA_BINARY_PACKED: i32 = 5;
const UNCOMPRESSED: i32 = 0;
const LZO: i32 = 3;

fn group(children: i32) -> Vec<u8> {
    Structure::default().i32(3, 1).text(4, "a").i32(5, children).end()
}

fn leaf(ty: i32, length: i32, optional: bool) -> Vec<u8> {
    Structure::default().i32(1, ty).i32(2, length).i32(3, optional.into()).text(4, "x").end()
}

fn file_of(pages: &[u8], schema: Vec<Vec<u8>>, rows: usize, row_groups: Vec<Vec<u8>>) -> Vec<u8> {
    let footer = Structure::default().i32(1, 1).list(2, 12, schema).i64(3, rows).list(4, 12, row_groups).end();
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", pages, &footer, &length, b"PAR1"].concat()
}

/// A file whose schema is structs within structs.
fn deep(levels: usize) -> Vec<u8> {
    let schema = (0..=levels).map(|_| group(1)).chain([leaf(INT32, 0, true)]).collect();
    file_of(&[], schema, 0, Vec::new())
}

/// A file of one column `x` with one page of plain values.
fn of_page(ty: i32, length: i32, optional: bool, rows: usize, body: &[u8]) -> Vec<u8> {
    of_encoded_page((ty, length, optional), PLAIN, UNCOMPRESSED, rows, body)
}

fn of_encoded_page(
    (ty, length, optional): (i32, i32, bool),
    encoding: i32,
    codec: i32,
    rows: usize,
    body: &[u8],
) -> Vec<u8> {
    of_headed_page((ty, length, optional), encoding, codec, rows, body, Vec::new())
}

/// A file whose page header contains a list that no reader knows, unless it is empty.
fn of_headed_page(
    (ty, length, optional): (i32, i32, bool),
    encoding: i32,
    codec: i32,
    rows: usize,
    body: &[u8],
    unknown: Vec<u8>,
) -> Vec<u8> {
    let header = Structure::default().i32(1, rows as i32).i32(2, encoding).i32(3, 3).i32(4, 3);
    let sizes = Structure::default().i32(1, 0).i32(2, body.len() as i32).i32(3, body.len() as i32);
    let sizes = sizes.structure(5, header);
    let sizes = if unknown.is_empty() { sizes } else { sizes.field(15, 9, unknown) };
    let page = [sizes.end(), body.to_vec()].concat();
    let metadata = Structure::default()
        .i32(1, ty)
        .list(2, 5, vec![zigzag(encoding.into()), zigzag(3)])
        .list(3, 8, vec![[varint(1), b"x".to_vec()].concat()])
        .i32(4, codec)
        .i64(5, rows)
        .i64(6, page.len())
        .i64(7, page.len())
        .i64(9, 4);
    let chunk = Structure::default().i64(2, 4).structure(3, metadata).end();
    let row_group = Structure::default().list(1, 12, vec![chunk]).i64(2, page.len()).i64(3, rows).end();
    file_of(&page, vec![group(1), leaf(ty, length, optional)], rows, vec![row_group])
}

/// Levels of a page whose rows are all NULL, or none of them.
fn levels(level: u8, rows: usize) -> Vec<u8> {
    let runs = [varint((rows as u64) << 1), vec![level]].concat();
    [(runs.len() as u32).to_le_bytes().to_vec(), runs].concat()
}

fn read(bytes: &[u8]) -> Result<Rows> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(file(&directory), bytes).unwrap();
    let table = ParquetTable::open(vec![file(&directory)], &memory())?;
    let columns: Vec<usize> = (0..table.row_type().len()).collect();
    scan(&table, request(&columns), 2048).map(|(rows, _)| rows)
}

#[test]
fn small_files_with_large_claims_are_errors() {
    const MOST: usize = i32::MAX as usize;
    let four = [levels(1, 1), 7i32.to_le_bytes().to_vec()].concat();
    assert_eq!(read(&of_page(INT32, 0, true, 1, &four)).unwrap(), [["7"]], "the files are what they should be");
    assert_eq!(read(&of_page(FIXED, 4, true, 1, &levels(0, 1))).unwrap(), [["NULL"]]);
    assert_eq!(read(&of_page(FIXED, 0, false, 2, &[])).unwrap(), [["\\x"], ["\\x"]]);
    assert!(read(&deep(60)).unwrap().is_empty());
    for (what, bytes, kind, message) in [
        ("long values", of_page(FIXED, i32::MAX, true, 1, &levels(0, 1)), ErrorKind::Unsupported, "bytes each"),
        ("many NULLs", of_page(INT32, 0, true, MOST, &levels(0, MOST)), ErrorKind::Resource, "out of memory"),
        ("no values", of_page(FIXED, 4, false, 3, &[]), ErrorKind::Corrupt, "x.parquet"),
        ("no levels", of_page(INT32, 0, true, 3, &[]), ErrorKind::Corrupt, "x.parquet"),
        ("depth", deep(70), ErrorKind::Unsupported, "nested deeper than 64 levels"),
        ("large depth", deep(100_000), ErrorKind::Unsupported, "nested deeper than 64 levels"),
    ] {
        let error = read(&bytes).expect_err(what);
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(error.message().contains(message), "{what}: {error}");
    }
}

#[test]
fn a_run_of_no_truth_value_is_an_error() {
    let of_run = |value| of_encoded_page((BOOLEAN, 0, false), RLE, UNCOMPRESSED, 2, &levels(value, 2));
    assert_eq!(read(&of_run(1)).unwrap(), [["true"], ["true"]]);
    for value in [2, 0x41] {
        let error = read(&of_run(value)).expect_err("a truth value is a bit");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("x.parquet"), "{error}");
    }
}

/// Billions of elements that take no bytes, in an unknown field: in the footer, and in a page header.
#[test]
fn collections_of_nothing_are_errors_at_once() {
    let truths = |count: u64| [vec![0xF1], varint(count)].concat();
    let lists = |count: usize| [vec![0xF9], varint(count as u64), truths(i32::MAX as u64).repeat(count)].concat();
    let schema = || vec![group(1), leaf(INT32, 0, false)];
    let footer = |field: Vec<u8>| {
        let footer = Structure::default().i32(1, 1).list(2, 12, schema()).i64(3, 0).list(4, 12, Vec::new());
        let footer = footer.field(15, 9, field).end();
        [b"PAR1", &footer[..], &(footer.len() as u32).to_le_bytes(), b"PAR1"].concat()
    };
    assert!(read(&footer([vec![0x15], zigzag(7)].concat())).unwrap().is_empty(), "unknown fields are fine");
    let deltas = [varint(128), varint(4), varint(1), zigzag(7)].concat();
    let page = |field: Vec<u8>| of_headed_page((INT32, 0, false), DELTA_BINARY_PACKED, UNCOMPRESSED, 1, &deltas, field);
    assert_eq!(read(&page([vec![0x15], zigzag(7)].concat())).unwrap(), [["7"]], "unknown fields are fine");
    for bytes in [footer(truths(5)), footer(lists(1000)), page(truths(5)), page(lists(1000))] {
        let error = read(&bytes).expect_err("nobody counts that far");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("a list has the wrong type"), "{error}");
    }
}

/// The library that decodes such pages panics on a number of more than ten bytes.
#[test]
fn what_a_library_gives_up_on_is_an_error_about_the_file() {
    let of_deltas = |body: &[u8]| of_encoded_page((INT32, 0, false), DELTA_BINARY_PACKED, UNCOMPRESSED, 1, body);
    let one_value = [&varint(128)[..], &varint(4), &varint(1), &zigzag(7)].concat();
    assert_eq!(read(&of_deltas(&one_value)).unwrap(), [["7"]]);
    let error = read(&of_deltas(&[0xFF; 20])).expect_err("no number is that long");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.message().contains("x.parquet"), "{error}");
}

#[test]
fn a_codec_that_is_not_supported_is_named_with_the_file() {
    let page = of_encoded_page((INT32, 0, false), PLAIN, LZO, 1, &7i32.to_le_bytes());
    let error = read(&page).expect_err("nothing decompresses it");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("x.parquet") && error.message().contains("LZO"), "{error}");
}
