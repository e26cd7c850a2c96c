//! Detection of a CSV file's properties from its beginning: dialect, header, names, types.
//!
//! ```text
//! sample ─▶ dialect: the one that explains most records    (dialects)
//!        ─▶ types: the narrowest of all values of a column  (types)
//!        ─▶ header: a first record that isn't a row         (here)
//! ```

mod dialects;
mod types;

use arrow_schema::{Field, Schema};
use godwit_common::{Error, Result};
use godwit_io::check_interrupt;
use godwit_types::SqlType;
use godwit_vector::sql::{field_of, type_of_field};

use super::columns::{ColumnForm, Nulls};
use super::csv::Records;
use super::cutter::{Cutter, NOT_UTF8_HINT, Piece};
use super::dialect::Dialect;
use super::options::{Format, TextOptions, Types};
use super::read_as;
use super::sample::Sample;
use types::Guess;

/// Number of records from which types are determined, unless an option says otherwise.
const SAMPLED_RECORDS: u64 = 20_480;

/// Detected properties of a file.
pub(super) struct Sniffed {
    pub dialect: Dialect,
    /// The end of a line, as options are written.
    pub newline: &'static str,
    /// Number of lines before the header or the first row, besides those skipped by an option.
    pub skip: u64,
    /// The first record, if it names the columns.
    pub header: Option<Vec<Vec<u8>>>,
    pub fields: Vec<Field>,
    /// The notation of each column's values.
    pub forms: Vec<ColumnForm>,
    /// Number of records in the sample.
    pub records: u64,
}

/// Examines a sample. `expected` are the columns to read it as. `all` cuts the whole file into pieces if the sample has
/// to be longer and the file can be read twice.
pub(super) fn csv(
    sample: &Sample,
    options: &TextOptions,
    expected: Option<&Schema>,
    all: impl FnOnce(&Dialect, u64) -> Result<Option<Cutter>>,
) -> Result<Sniffed> {
    check_encoding(sample)?;
    let given = options.columns.as_ref().map(Vec::len);
    let wanted = given.or(expected.map(|schema| schema.fields().len()));
    let found = dialects::find(sample, options, wanted);
    let bytes = &sample.whole(&found.dialect)[found.begin..];
    let width = wanted.unwrap_or(found.width);
    let mut rows = Rows { records: Records::new(&found.dialect, 1), bytes, width };
    let first = rows.next();
    let given_types = given_types(options, expected, first.as_deref(), width)?;
    let nulls: Vec<Vec<u8>> = options.nulls.iter().map(|null| null.clone().into_bytes()).collect();
    let mut guesses: Vec<Guess> = given_types.iter().map(|given| Guess::new(given.clone(), options)).collect();
    let limit = options.sample_size.unwrap_or(SAMPLED_RECORDS);
    let mut count = 0;
    while count < limit
        && let Some(row) = rows.next()
    {
        guesses.iter_mut().zip(&row).for_each(|(guess, field)| guess.see(field, Nulls::of(&nulls)));
        count += 1;
    }
    if options.sample_size.is_some_and(|wanted| count < wanted)
        && !sample.is_all
        && let Some(cutter) = all(&found.dialect, found.skip)?
    {
        count = see_all(cutter, &found.dialect, width, limit, &mut guesses, Nulls::of(&nulls))?;
    }
    let has_header = options.has_header.unwrap_or_else(|| match (&first, expected.is_some() || given.is_some()) {
        (None, _) => false,
        (Some(first), true) => is_header_of_given(first, &names_given(options, expected), &guesses, &nulls),
        (Some(first), false) => is_header(first, &guesses, &nulls, count, options),
    });
    if let Some(first) = first.as_ref().filter(|_| !has_header) {
        guesses.iter_mut().zip(first).for_each(|(guess, field)| guess.see(field, Nulls::of(&nulls)));
        count += 1;
    }
    let types: Vec<(SqlType, ColumnForm)> = guesses.iter().map(|guess| guess.outcome(options)).collect();
    let fields: Vec<Field> = match (expected, &options.columns) {
        (Some(schema), _) => schema.fields().iter().map(|given| read_as(given, Format::Csv)).collect::<Result<_>>()?,
        (None, Some(columns)) => fields_of(columns.iter().map(|(name, ty)| (name.clone(), ty.clone())))?,
        (None, None) => {
            let names = names(first.as_ref().filter(|_| has_header), width, options);
            fields_of(names.into_iter().zip(types.iter().map(|(ty, _)| ty.clone())))?
        }
    };
    let form = |((_, form), field): ((SqlType, ColumnForm), &Field)| {
        Ok(ColumnForm { ty: ColumnForm::own_type(&type_of_field(field)?), ..form })
    };
    let forms = types.into_iter().zip(&fields).map(form).collect::<Result<_>>()?;
    let header = if has_header { first } else { None };
    let newline = shown_newline(&found.dialect, &sample.bytes);
    Ok(Sniffed { dialect: found.dialect, newline, skip: found.skip, header, fields, forms, records: count })
}

/// Returns the end of the first line, as options are written.
fn shown_newline(dialect: &Dialect, bytes: &[u8]) -> &'static str {
    let has_return = || memchr::memchr(b'\n', bytes).is_some_and(|at| bytes[..at].ends_with(b"\r"));
    match dialect.newline {
        b'\r' => "\\r",
        _ if has_return() => "\\r\\n",
        _ => "\\n",
    }
}

/// Examines the values of a file, except for the first record; returns the number of records.
fn see_all(
    mut cutter: Cutter,
    dialect: &Dialect,
    width: usize,
    limit: u64,
    guesses: &mut [Guess],
    nulls: Nulls<'_>,
) -> Result<u64> {
    let (mut piece, mut count) = (Piece::default(), 0);
    while count < limit
        && let Some(next) = cutter.next(piece)?
    {
        check_interrupt().map_err(|_| Error::cancelled())?;
        next.check()?;
        let mut rows = Rows { records: Records::new(dialect, 1), bytes: &next.bytes, width };
        if next.is_first {
            rows.next();
        }
        while count < limit
            && let Some(row) = rows.next()
        {
            guesses.iter_mut().zip(&row).for_each(|(guess, field)| guess.see(field, nulls));
            count += 1;
        }
        piece = next;
    }
    Ok(count)
}

fn check_encoding(sample: &Sample) -> Result<()> {
    match std::str::from_utf8(&sample.bytes) {
        Err(error) if error.error_len().is_some() || sample.is_all => {
            let line = sample.first_line + super::csv::breaks(&sample.bytes[..error.valid_up_to()]);
            Err(Error::user(format!("{}, line {line}: the text is not UTF-8", sample.name)).with_hint(NOT_UTF8_HINT))
        }
        _ => Ok(()),
    }
}

/// The records of a sample that are rows, one after the other.
struct Rows<'a> {
    records: Records,
    bytes: &'a [u8],
    width: usize,
}

impl Rows<'_> {
    fn next(&mut self) -> Option<Vec<Vec<u8>>> {
        while self.width != 1 && self.records.at_blank_line(self.bytes) {
            self.records.skip(self.bytes);
        }
        let fields = self.records.next(self.bytes)?;
        Some(fields.iter().take(self.width).map(<[u8]>::to_vec).collect())
    }
}

/// Returns the types given by the user, by column.
fn given_types(
    options: &TextOptions,
    expected: Option<&Schema>,
    header: Option<&[Vec<u8>]>,
    width: usize,
) -> Result<Vec<Option<SqlType>>> {
    if let Some(schema) = expected {
        return schema.fields().iter().map(|field| type_of_field(field).map(Some)).collect();
    }
    if let Some(columns) = &options.columns {
        return Ok(columns.iter().map(|(_, ty)| Some(ty.clone())).collect());
    }
    let mut types = vec![None; width];
    match &options.types {
        Types::None => {}
        Types::ByPlace(given) => {
            if given.len() > width {
                return Err(Error::user(format!("types has {} types, and the file {width} columns", given.len())));
            }
            types.iter_mut().zip(given).for_each(|(place, ty)| *place = Some(ty.clone()));
        }
        Types::ByName(given) => {
            let of_header =
                names(header.map(<[_]>::to_vec).as_ref().filter(|_| options.has_header != Some(false)), width, options);
            let unnamed = names(None, width, options);
            for (name, ty) in given {
                let is_it = |column: &String| column.eq_ignore_ascii_case(name);
                let place = of_header.iter().position(is_it).or(unnamed.iter().position(is_it));
                let place = place.ok_or_else(|| {
                    Error::user(format!("types has a type for {name}, which is no column of the file"))
                        .with_hint(format!("columns are {}", of_header.join(", ")))
                })?;
                types[place] = Some(ty.clone());
            }
        }
    }
    Ok(types)
}

fn fields_of(columns: impl Iterator<Item = (String, SqlType)>) -> Result<Vec<Field>> {
    columns.map(|(name, ty)| field_of(name, &ty, true)).collect()
}

/// Returns true if a record may be a row.
fn fits(record: &[Vec<u8>], guesses: &[Guess], nulls: &[Vec<u8>]) -> bool {
    record.iter().zip(guesses).all(|(field, guess)| guess.may_be(field, Nulls::of(nulls)))
}

/// Returns the names that the user or a table gives the columns.
fn names_given<'a>(options: &'a TextOptions, expected: Option<&'a Schema>) -> Vec<&'a str> {
    match (expected, &options.columns) {
        (Some(schema), _) => schema.fields().iter().map(|field| field.name().as_str()).collect(),
        (None, columns) => columns.iter().flatten().map(|(name, _)| name.as_str()).collect(),
    }
}

/// Returns true if the first record is a header of columns with given names and types: if it names them, or can't be a
/// row, or if all are text. In the latter case a missing field before any other name shows a row (DuckDB).
fn is_header_of_given(first: &[Vec<u8>], names: &[&str], guesses: &[Guess], nulls: &[Vec<u8>]) -> bool {
    let is_name = |(field, name): &(&Vec<u8>, &&str)| name.as_bytes().eq_ignore_ascii_case(field.trim_ascii());
    let is_full = first.len() == names.len();
    match first.iter().zip(names).find(|pair| !is_name(pair)) {
        None => is_full,
        Some((field, _)) => {
            let all_text = guesses.iter().all(Guess::is_given_text);
            !fits(first, guesses, nulls) || all_text && is_full && !Nulls::of(nulls).has(field)
        }
    }
}

/// Returns true if the first of several records is a header: if it can't be a row, or nothing distinguishes it from
/// one. A single record is a header if it is text.
fn is_header(first: &[Vec<u8>], guesses: &[Guess], nulls: &[Vec<u8>], others: u64, options: &TextOptions) -> bool {
    let is_missing = |field: &Vec<u8>| field.trim_ascii().is_empty();
    if first.iter().all(is_missing) {
        return true;
    }
    let missing = first.iter().filter(|field| is_missing(field)).count();
    if others == 0 {
        return missing == 0
            && first.iter().all(|field| {
                let mut alone = Guess::new(None, options);
                alone.see(field, Nulls::of(nulls));
                alone.outcome(options).0 == SqlType::Varchar
            });
    }
    let all_text = guesses.iter().all(|guess| guess.outcome(options).0 == SqlType::Varchar);
    (all_text && missing * 2 < first.len()) || !fits(first, guesses, nulls)
}

/// Returns a name made of lower-case letters, digits and underscores, which needs no quotes unless it is a keyword.
fn normalized(name: &str) -> String {
    let mut words = String::with_capacity(name.len());
    for letter in name.trim().chars().flat_map(char::to_lowercase) {
        match letter.is_alphanumeric() {
            true => words.push(letter),
            false if words.ends_with('_') => {}
            false => words.push('_'),
        }
    }
    let words = words.trim_matches('_');
    if words.starts_with(|first: char| first.is_ascii_digit()) { format!("_{words}") } else { words.to_owned() }
}

/// Returns the names of the columns, made unique.
fn names(header: Option<&Vec<Vec<u8>>>, width: usize, options: &TextOptions) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(width);
    let digits = width.saturating_sub(1).max(1).ilog10() as usize + 1;
    for column in 0..width {
        let of_header =
            header.and_then(|header| header.get(column)).map(|name| String::from_utf8_lossy(name).into_owned());
        let of_header = of_header.map(|name| if options.normalize_names { normalized(&name) } else { name });
        let base = match options.names.get(column).cloned().or(of_header).as_deref().map(str::trim) {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => format!("column{column:0digits$}"),
        };
        let is_taken = |name: &str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let mut name = base.clone();
        let mut number = 1;
        while is_taken(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        names.push(name);
    }
    names
}
