//! PostgreSQL's formats: `%[argument$][-][width]kind`, of the kinds s, I and L.

use godwit_common::Result;

use super::template::{Align, Parser, Piece, Size, Spec, push_text};

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
    while format.eat('-') {
        spec.align = Some(Align::Left);
    }
    spec.width = if format.eat('*') {
        let number = format.argument_number()?;
        Some(Size::Argument(format.argument(number)?))
    } else {
        format.number()?.map(Size::Fixed)
    };
    match format.take() {
        Some(kind @ ('s' | 'I' | 'L')) => spec.kind = Some(kind),
        Some(kind) => return Err(format.wrong(format!("there is no kind '{kind}'"))),
        None => return Err(format.wrong("its last field has no kind")),
    }
    let argument = format.argument(number)?;
    Ok(Piece::Value { argument, spec })
}
