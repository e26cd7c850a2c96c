//! C's formats: `%[argument$][flags][width][.precision]kind`.

use godwit_common::Result;

use super::template::{Align, Parser, Piece, Sign, Size, Spec, push_text};

pub(super) fn pieces(mut format: Parser<'_>) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    loop {
        push_text(&mut pieces, format.take_until(&['%']));
        if format.take().is_none() {
            return Ok(pieces);
        }
        if format.eat('%') {
            push_text(&mut pieces, "%");
        } else {
            pieces.push(field(&mut format)?);
        }
    }
}

fn field(format: &mut Parser<'_>) -> Result<Piece> {
    let number = format.argument_number()?;
    let mut spec = Spec { align: Some(Align::Right), ..Spec::default() };
    flags(format, &mut spec);
    spec.width = size(format)?;
    if format.eat('.') {
        // `%.d` separates thousands by points; other kinds have no digits then.
        match format.rest.starts_with(['d', 'i', 'u']) {
            true => spec.separator = Some('.'),
            false => spec.precision = Some(size(format)?.unwrap_or(Size::Fixed(0))),
        }
    }
    // The size modifiers of C's integers.
    format.rest = format.rest.trim_start_matches(['h', 'l', 'j', 'z', 't', 'L']);
    let kind = format.take().ok_or_else(|| format.wrong("its last field has no kind"))?;
    const KINDS: &str = "diuxXobBcsfFeEgG";
    if !KINDS.contains(kind) {
        return Err(format.wrong(format!("there is no kind '{kind}'")));
    }
    spec.kind = Some(kind);
    let argument = format.argument(number)?;
    Ok(Piece::Value { argument, spec })
}

fn flags(format: &mut Parser<'_>, spec: &mut Spec) {
    let mut has_zeros = false;
    loop {
        match format.rest.chars().next() {
            Some('-') => spec.align = Some(Align::Left),
            Some('+') => spec.sign = Sign::Plus,
            Some(' ') if spec.sign == Sign::Minus => spec.sign = Sign::Space,
            Some(' ') => {}
            Some('#') => spec.is_alternate = true,
            Some('0') => has_zeros = true,
            Some(separator @ (',' | '_' | '\'')) => spec.separator = Some(separator),
            _ => break,
        }
        format.take();
    }
    if has_zeros && spec.align != Some(Align::Left) {
        spec.fill = '0';
        spec.align = Some(Align::Digits);
    }
}

/// Parses a number, or `*` for the next argument.
fn size(format: &mut Parser<'_>) -> Result<Option<Size>> {
    match format.eat('*') {
        true => format.argument(None).map(|argument| Some(Size::Argument(argument))),
        false => Ok(format.number()?.map(Size::Fixed)),
    }
}
