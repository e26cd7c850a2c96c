//! Formats with fields in braces: `{argument:[[fill]align][sign][#][0][width][separator][.precision][kind]}`.

use godwit_common::Result;

use super::template::{Align, Parser, Piece, Sign, Size, Spec, push_text};

pub(super) fn pieces(mut format: Parser<'_>) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    loop {
        push_text(&mut pieces, format.take_until(&['{', '}']));
        match format.take() {
            None => return Ok(pieces),
            Some('{') if format.eat('{') => push_text(&mut pieces, "{"),
            Some('{') => pieces.push(field(&mut format)?),
            Some(_) if format.eat('}') => push_text(&mut pieces, "}"),
            Some(_) => return Err(format.wrong("a } has no {")),
        }
    }
}

fn field(format: &mut Parser<'_>) -> Result<Piece> {
    let number = format.number()?;
    let argument = format.argument(number)?;
    let spec = if format.eat(':') { spec(format)? } else { Spec::default() };
    match format.eat('}') {
        true => Ok(Piece::Value { argument, spec }),
        false => Err(format.wrong("a field doesn't end, or has another form")),
    }
}

fn spec(format: &mut Parser<'_>) -> Result<Spec> {
    let mut spec = Spec::default();
    let mut characters = format.rest.chars();
    match (characters.next(), characters.next().and_then(align)) {
        (Some(fill), Some(align)) if fill != '{' && fill != '}' => {
            spec.fill = fill;
            spec.align = Some(align);
            format.rest = characters.as_str();
        }
        (Some(first), _) => {
            spec.align = align(first);
            if spec.align.is_some() {
                format.take();
            }
        }
        (None, _) => {}
    }
    for (character, sign) in [('+', Sign::Plus), ('-', Sign::Minus), (' ', Sign::Space)] {
        if format.eat(character) {
            spec.sign = sign;
            break;
        }
    }
    spec.is_alternate = format.eat('#');
    if format.eat('0') {
        spec.fill = '0';
        spec.align = Some(Align::Digits);
    }
    spec.width = size(format)?;
    spec.separator = separator(format);
    if format.eat('.') {
        let precision = size(format)?;
        spec.precision = Some(precision.ok_or_else(|| format.wrong("a precision has no number"))?);
    }
    if spec.separator.is_none() {
        spec.separator = separator(format);
    }
    if !format.rest.starts_with('}') {
        spec.kind = format.take();
    }
    Ok(spec)
}

fn align(character: char) -> Option<Align> {
    match character {
        '<' => Some(Align::Left),
        '>' => Some(Align::Right),
        '^' => Some(Align::Center),
        '=' => Some(Align::Digits),
        _ => None,
    }
}

/// Parses a number, or a field naming the argument that has it.
fn size(format: &mut Parser<'_>) -> Result<Option<Size>> {
    if !format.eat('{') {
        return Ok(format.number()?.map(Size::Fixed));
    }
    let number = format.number()?;
    let argument = format.argument(number)?;
    match format.eat('}') {
        true => Ok(Some(Size::Argument(argument))),
        false => Err(format.wrong("the field of a width or precision doesn't end")),
    }
}

/// Parses `,`, `_`, `'`, or any character after a `t`.
fn separator(format: &mut Parser<'_>) -> Option<char> {
    if format.rest.starts_with('t') && !format.rest[1..].starts_with('}') {
        format.take();
        return format.take();
    }
    [',', '_', '\''].into_iter().find(|&separator| format.eat(separator))
}
