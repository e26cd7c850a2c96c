//! Formats: texts, and fields between them.

use godwit_common::{Error, Result, SqlState};

use super::field::{Cell, Fields};
use super::{braces, percent, postgres};
use crate::kernel::{Lease, Work};
use crate::room::scratch;
use crate::rows::{Pace, Writer};

/// The syntax of a format's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `{:5}`.
    Braces,
    /// `%5d`.
    Percent,
    /// `%5s`, `%I`, `%L`.
    Postgres,
}

impl Style {
    pub(super) fn of(format: &str, is_printf: bool) -> Self {
        match is_printf {
            true => Self::Percent,
            false if format.contains(['{', '}']) => Self::Braces,
            false => Self::Postgres,
        }
    }
}

/// A format.
pub(super) struct Template {
    pub(super) style: Style,
    pieces: Vec<Piece>,
    /// The memory of the pieces, if it is much.
    _lease: Option<Lease>,
}

pub(super) enum Piece {
    Text(String),
    Value { argument: usize, spec: Spec },
}

/// The way a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spec {
    /// Pads values that are shorter than the field.
    pub(super) fill: char,
    /// The alignment of padded values; `None` for the default of their type.
    pub(super) align: Option<Align>,
    pub(super) sign: Sign,
    /// With prefixes such as `0x`, and with trailing zeros.
    pub(super) is_alternate: bool,
    pub(super) width: Option<Size>,
    pub(super) precision: Option<Size>,
    /// Separates thousands.
    pub(super) separator: Option<char>,
    /// The letter for the kind of value.
    pub(super) kind: Option<char>,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            fill: ' ',
            align: None,
            sign: Sign::Minus,
            is_alternate: false,
            width: None,
            precision: None,
            separator: None,
            kind: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
    Center,
    /// The padding goes between the sign and the digits.
    Digits,
}

/// The sign of numbers that aren't negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Minus,
    Plus,
    Space,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    Fixed(usize),
    /// Given by an argument.
    Argument(usize),
}

impl Template {
    pub(super) fn parse(format: &str, arguments: usize, is_printf: bool, work: &dyn Work) -> Result<Self> {
        let style = Style::of(format, is_printf);
        let starts = memchr::memchr2_iter(b'{', b'%', format.as_bytes()).count();
        // The pieces of a list that grows are there twice meanwhile.
        let lease = scratch(2 * starts * 2 * size_of::<Piece>() + format.len(), work)?;
        let pace = Pace::new(work);
        let parser = Parser { rest: format, format, style, arguments, next: 0, is_numbered: None, pace };
        let pieces = match style {
            Style::Braces => braces::pieces(parser),
            Style::Percent => percent::pieces(parser),
            Style::Postgres => postgres::pieces(parser),
        }?;
        Ok(Self { style, pieces, _lease: lease })
    }

    pub(super) fn write<'c>(
        &self,
        cell: impl Fn(usize) -> Cell<'c>,
        fields: &mut Fields,
        out: &mut Writer<'_>,
    ) -> Result<()> {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value { argument, spec } => fields.write(cell(*argument), spec, self.style, &cell, out)?,
            }
            out.go(STEPS_OF_PIECE)?;
        }
        Ok(())
    }
}

/// What writing a piece counts for.
const STEPS_OF_PIECE: usize = 16;

/// Parses a format.
pub(super) struct Parser<'f> {
    pub(super) rest: &'f str,
    format: &'f str,
    style: Style,
    arguments: usize,
    next: usize,
    /// Whether fields give the numbers of their arguments; `None` before the first field.
    is_numbered: Option<bool>,
    pace: Pace<'f>,
}

impl<'f> Parser<'f> {
    /// Takes a character if it is next.
    pub(super) fn eat(&mut self, character: char) -> bool {
        let rest = self.rest.strip_prefix(character);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes the next character.
    pub(super) fn take(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let first = characters.next();
        self.rest = characters.as_str();
        first
    }

    /// Takes the text before one of some characters, or all.
    pub(super) fn take_until(&mut self, ends: &[char]) -> &'f str {
        let (text, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        text
    }

    /// Takes a number, if there is one.
    pub(super) fn number(&mut self) -> Result<Option<usize>> {
        /// Larger widths and precisions are a mistake.
        const NUMBER_MAX: usize = 100_000_000;
        let digits = self.rest.len() - self.rest.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        if digits == 0 {
            return Ok(None);
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        let number = number.parse().ok().filter(|&number: &usize| number <= NUMBER_MAX);
        number.map(Some).ok_or_else(|| self.wrong("a number in it is too big"))
    }

    /// Takes `1$`, the number of an argument, and converts it to count from 0.
    pub(super) fn argument_number(&mut self) -> Result<Option<usize>> {
        let start = self.rest;
        match self.number()? {
            Some(number) if self.eat('$') => {
                number.checked_sub(1).map(Some).ok_or_else(|| self.wrong("values are numbered from 1"))
            }
            _ => {
                self.rest = start;
                Ok(None)
            }
        }
    }

    /// Returns the argument of the next field: the given one, from 0, or else the one after the last field's.
    pub(super) fn argument(&mut self, number: Option<usize>) -> Result<usize> {
        self.pace.go(STEPS_OF_PIECE)?;
        let is_mixed = self.is_numbered.is_some_and(|is_numbered| is_numbered != number.is_some());
        if is_mixed && self.style != Style::Postgres {
            return Err(self.wrong("some of its fields have numbers, others don't"));
        }
        self.is_numbered = Some(number.is_some());
        let argument = number.unwrap_or(self.next);
        self.next = argument + 1;
        if argument >= self.arguments {
            let message = format!("it has a field for value {}, but there are {}", argument + 1, self.arguments);
            return Err(self.wrong(message));
        }
        Ok(argument)
    }

    /// The error for a format.
    pub(super) fn wrong(&self, message: impl AsRef<str>) -> Error {
        let hint = match self.style {
            Style::Braces => "fields are {}, {0}, {:>8.2f}; a brace is written {{ or }}",
            Style::Percent => "fields are %d, %s, %8.2f; a percent sign is written %%",
            Style::Postgres => "fields are {} and the like, or %s, %I and %L; a percent sign is then written %%",
        };
        Error::user(format!("the format '{}' can't be read: {}", self.format, message.as_ref()))
            .with_code(SqlState::INVALID_PARAMETER_VALUE)
            .with_hint(hint)
    }
}

/// Appends a text to pieces.
pub(super) fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}
