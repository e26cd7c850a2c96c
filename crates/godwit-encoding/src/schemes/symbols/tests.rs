//! The form of old files.

use fsst::Compressor;
use godwit_vector::StrColumn;

use crate::lengths::{write_lengths, write_starts};
use crate::{Part, PartContent, PartHeader};

/// A part of a file of format 5: symbols in 8 bytes, compressed lengths, number 7.
#[test]
fn symbols_of_old_files_are_read() {
    let strings: Vec<String> = (0..3000).map(|row| format!("https://example.org/{}", row * 7919 % 1000)).collect();
    let plain: Vec<&[u8]> = strings.iter().map(|string| string.as_bytes()).collect();
    let compressor = Compressor::train(&plain);
    let stored: Vec<Vec<u8>> = plain.iter().map(|string| compressor.compress(string)).collect();
    let mut body = vec![compressor.symbol_table().len() as u8];
    body.extend_from_slice(compressor.symbol_lengths());
    compressor.symbol_table().iter().for_each(|symbol| body.extend(symbol.to_u64().to_le_bytes()));
    write_starts(3000, |row| stored[row].len(), &mut body);
    write_lengths(3000, |row| plain[row].len(), &mut body);
    write_lengths(3000, |row| stored[row].len(), &mut body);
    stored.iter().for_each(|bytes| body.extend_from_slice(bytes));

    let mut header = vec![12 /* Str */];
    for number in [3000, 0, body.len() as u32] {
        header.extend(number.to_le_bytes());
    }
    header.extend([0, 7]);
    let header = PartHeader::from_bytes(&mut &header[..], PartContent::Values).unwrap();
    let part = Part::new(&header, &body).unwrap();
    let is_same = |found: &StrColumn, rows: &[u32]| {
        found.len() == rows.len() && found.iter().zip(rows).all(|(found, &row)| found == plain[row as usize])
    };
    let all: Vec<u32> = (0..3000).collect();
    assert!(is_same(part.decode(1024..3000).unwrap().to_flat().strings(), &all[1024..]));
    let taken = [0, 1, 7, 8, 1023, 1024, 1024, 2999];
    assert!(is_same(part.take(0, &taken).unwrap().to_flat().strings(), &taken));
}
