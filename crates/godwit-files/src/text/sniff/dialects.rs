//! Detects the delimiter, quote, escape and comment character that explain a sample's records.
//!
//! Each combination of characters that occur is tried. It is possible if, from some record on, all have the same number
//! of fields, and no record before has as many; those before are the preamble. The best possible one has more records,
//! or as many with more fields, or quoted fields where others see quotes within text.

use super::super::csv::{Met, Records};
use super::super::dialect::{Delimiter, Dialect};
use super::super::options::TextOptions;
use super::super::sample::Sample;

/// Delimiters to try, the likeliest first.
const DELIMITERS: [u8; 4] = [b',', b'|', b';', b'\t'];

/// Quotes and escapes to try, the likeliest first.
const QUOTES: [(Option<u8>, Option<u8>); 5] =
    [(Some(b'"'), None), (Some(b'\''), None), (Some(b'"'), Some(b'\\')), (Some(b'\''), Some(b'\\')), (None, None)];

/// Number of records that are examined.
const SAMPLED_RECORDS: usize = 2_048;

/// Minimum percentage of comment lines that would be records of another width.
const COMMENTS_RIGHT_MIN: usize = 60;

/// A dialect, and where records begin.
pub(super) struct Found {
    pub dialect: Dialect,
    /// Number of lines before the header or the first row, and where they end.
    pub skip: u64,
    pub begin: usize,
    /// Number of fields of a record.
    pub width: usize,
}

/// The way a dialect explains a sample.
struct Explained {
    found: Found,
    met: Met,
    /// Number of records of the usual width.
    consistent: usize,
}

/// Returns the dialect of a sample. `wanted` is the number of columns to read it as.
pub(super) fn find(sample: &Sample, options: &TextOptions, wanted: Option<usize>) -> Found {
    let newline = options.newline.unwrap_or_else(|| newline_of(&sample.bytes));
    let has = |byte: u8| memchr::memchr(byte, &sample.bytes).is_some();
    let delimiters = options.delimiter.map_or_else(
        || {
            // If one doesn't occur, it stands for all that don't: each line is a field.
            let absent = DELIMITERS.iter().find(|&&byte| !has(byte));
            let there = DELIMITERS.iter().filter(|&&byte| has(byte) || Some(&byte) == absent);
            there.map(|&byte| Delimiter::one(byte)).collect()
        },
        |given| vec![given],
    );
    let comments = match options.comment {
        Some(given) => vec![given],
        None if has(b'#') => vec![None, Some(b'#')],
        None => vec![None],
    };
    let mut best: Option<Explained> = None;
    for (quote, escape) in quotes(options, has) {
        for &delimiter in &delimiters {
            for &comment in &comments {
                let dialect = Dialect { delimiter, quote, escape, comment, newline };
                let Some(explained) = explain(sample, dialect, options, wanted) else { continue };
                if best.as_ref().is_none_or(|best| explained.is_better_than(best)) {
                    best = Some(explained);
                }
            }
        }
    }
    match best {
        Some(best) => best.found,
        None => usual(sample, &delimiters, options, newline, wanted),
    }
}

/// Returns line feed, also for those after carriage returns, unless the first line ends with just a carriage return.
fn newline_of(bytes: &[u8]) -> u8 {
    match memchr::memchr2(b'\n', b'\r', bytes) {
        Some(at) if bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n') => b'\r',
        _ => b'\n',
    }
}

fn quotes(options: &TextOptions, has: impl Fn(u8) -> bool) -> Vec<(Option<u8>, Option<u8>)> {
    if let Some(quote) = options.quote {
        return vec![(quote, options.escape.flatten())];
    }
    if let Some(escape) = options.escape {
        return vec![(Some(b'"'), escape), (Some(b'\''), escape), (None, None)];
    }
    let occurs = |&(quote, escape): &(Option<u8>, Option<u8>)| {
        quote == Some(b'"') && escape.is_none() || quote.is_none_or(&has) && escape.is_none_or(&has)
    };
    QUOTES.into_iter().filter(occurs).collect()
}

/// Returns the usual dialect with the first delimiter that gives the wanted number of fields, or several: a file that
/// no dialect explains has records with errors.
fn usual(
    sample: &Sample,
    delimiters: &[Delimiter],
    options: &TextOptions,
    newline: u8,
    wanted: Option<usize>,
) -> Found {
    let (quote, escape) = (options.quote.unwrap_or(Some(b'"')), options.escape.flatten());
    let comment = options.comment.flatten();
    let of = |&delimiter: &Delimiter| {
        let dialect = Dialect { delimiter, quote, escape, comment, newline };
        let width = Records::new(&dialect, 1).next(sample.whole(&dialect)).map_or(1, |first| first.len());
        Found { dialect, skip: 0, begin: 0, width }
    };
    let rank = |found: &Found| (wanted == Some(found.width), found.width > 1);
    let found = delimiters.iter().rev().map(of).max_by_key(rank).expect("there is a delimiter");
    Found { width: wanted.unwrap_or(found.width), ..found }
}

/// A record of a sample.
struct Line {
    fields: usize,
    ends_empty: bool,
    is_blank: bool,
    begin: usize,
    line: u64,
}

/// Explains a sample by a dialect; `None` if that isn't possible.
fn explain(sample: &Sample, dialect: Dialect, options: &TextOptions, wanted: Option<usize>) -> Option<Explained> {
    let bytes = sample.whole(&dialect);
    let mut records = Records::new(&dialect, 0);
    let mut lines: Vec<Line> = Vec::new();
    while lines.len() < SAMPLED_RECORDS {
        records.at_blank_line(bytes);
        let (begin, line) = (records.position(), records.line());
        let Some(fields) = records.next(bytes) else { break };
        if fields.met.malformed || fields.met.unclosed {
            return None;
        }
        lines.push(Line {
            fields: fields.len(),
            ends_empty: fields.ends_empty,
            is_blank: fields.is_blank,
            begin,
            line,
        });
    }
    if options.comment.is_none() && dialect.comment.is_some() && !comments_are_right(bytes, &dialect, &records, &lines)
    {
        return None;
    }
    let (first, width) = rows_of(&lines, options, wanted)?;
    let is_of_width = |line: &&Line| {
        line.fields == width
            || (line.fields == width + 1 && line.ends_empty)
            || options.null_padding && line.fields < width
    };
    let rows = || lines[first..].iter().filter(|line| !line.is_blank || width == 1);
    let consistent = rows().filter(is_of_width).count();
    if consistent < rows().count() && !options.skips_errors() {
        return None;
    }
    let (skip, begin) = lines.get(first).filter(|_| first > 0).map_or((0, 0), |line| (line.line, line.begin));
    Some(Explained { found: Found { dialect, skip, begin, width }, met: records.met, consistent })
}

/// Returns the first record with as many fields as those after it, and their number.
fn rows_of(lines: &[Line], options: &TextOptions, wanted: Option<usize>) -> Option<(usize, usize)> {
    let filled = || lines.iter().enumerate().filter(|(_, line)| !line.is_blank);
    if let Some(wanted) = wanted {
        let fits = |line: &Line| {
            line.fields == wanted
                || line.fields == wanted + 1 && line.ends_empty
                || options.null_padding && line.fields < wanted
        };
        return match filled().find(|(_, line)| fits(line)) {
            // Lines above the rows may be anything but records that are too long: those are errors.
            Some((at, _)) if filled().any(|(before, line)| before < at && line.fields > wanted) => None,
            Some((at, _)) if options.skip.is_none() => Some((at, wanted)),
            Some(_) => Some((0, wanted)),
            None if filled().next().is_none() => Some((0, wanted)),
            None => None,
        };
    }
    if options.skips_errors() && !options.null_padding {
        // Most records are correct.
        let widths = filled().map(|(_, line)| line.fields);
        let usual = widths
            .clone()
            .max_by_key(|&width| (widths.clone().take(100).filter(|&other| other == width).count(), width));
        let usual = usual.unwrap_or(1);
        return Some((filled().find(|(_, line)| line.fields == usual).map_or(0, |(at, _)| at), usual));
    }
    // Empty lines before the first record aren't records with one field.
    let (mut first, mut width) = (filled().next().map_or(0, |(at, _)| at), 1);
    for (at, line) in filled() {
        let is_wider = line.fields > width && !(line.fields == width + 1 && line.ends_empty && at > first && width > 1);
        if is_wider {
            // With padding, the first record may be shorter than others.
            if !options.null_padding || width == 1 {
                first = at;
            }
            width = line.fields;
        }
    }
    // Lines before the rows can't be skipped if the user says where the rows begin.
    if options.skip.is_some() && first > 0 && !lines[..first].iter().all(|line| line.is_blank) {
        return None;
    }
    Some((first, width))
}

/// Returns true if most of the comments would have another number of fields as records.
fn comments_are_right(bytes: &[u8], dialect: &Dialect, commented: &Records, lines: &[Line]) -> bool {
    if commented.comments == 0 {
        return false;
    }
    let width = lines.iter().filter(|line| !line.is_blank).map(|line| line.fields).max().unwrap_or(1);
    let mut records = Records::new(&Dialect { comment: None, ..*dialect }, 0);
    let (mut all, mut right) = (0, 0);
    for _ in 0..SAMPLED_RECORDS {
        let begin = records.position();
        let Some(fields) = records.next(bytes) else { break };
        if bytes.get(begin).copied() == dialect.comment {
            all += 1;
            right += usize::from(fields.len() != width);
        }
    }
    all > 0 && right * 100 >= all * COMMENTS_RIGHT_MIN
}

impl Explained {
    fn is_better_than(&self, best: &Explained) -> bool {
        let (width, best_width) = (self.found.width, best.found.width);
        if best.met.quoted && !self.met.quoted {
            return false;
        }
        let is_only_quoted = self.met.quoted && !best.met.quoted;
        let has_more = self.consistent > best.consistent && width >= best_width;
        let is_wider = width > best_width && (best_width == 1 || self.consistent >= best.consistent);
        has_more || is_wider || is_only_quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_how_lines_end() {
        assert_eq!([&b"a\rb\n"[..], b"a\r\nb\r", b"a\nb\r", b"a"].map(newline_of), [b'\r', b'\n', b'\n', b'\n']);
    }
}
