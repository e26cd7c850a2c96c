//! Colours of the typed text, and prompts for its lines after the first.

use std::borrow::Cow;

use super::keys::{CONTINUATION_PROMPT, LINE};
use super::keywords::is_keyword;
use super::tokens::{Kind, Token, tokens};
use crate::shell::dot::COMMANDS;

const PLAIN: &str = "\x1b[0m";
const KEYWORD: &str = "\x1b[32m";
const TEXT: &str = "\x1b[33m";
const NUMBER: &str = "\x1b[35m";
const COMMENT: &str = "\x1b[90m";
const WRONG: &str = "\x1b[1;31m";
const PROMPT: &str = "\x1b[1m";
const FAINT: &str = "\x1b[90m";

/// Returns the text with prompts, and with colours if they are wanted.
pub(super) fn highlight(text: &str, colours: bool) -> Cow<'_, str> {
    if !colours && !text.contains(LINE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() * 2);
    if text.trim_start().starts_with('.') {
        let end = text.find(|c: char| c.is_whitespace()).filter(|&end| end > 0).unwrap_or(text.len());
        let style = if COMMANDS.iter().any(|command| command.name == &text[..end]) { KEYWORD } else { "" };
        push(&mut out, &text[..end], style, colours);
        push(&mut out, &text[end..], "", colours);
        return Cow::Owned(out);
    }
    let tokens = tokens(text);
    let wrong = wrong_brackets(text, &tokens);
    for (at, token) in tokens.iter().enumerate() {
        let part = &text[token.range.clone()];
        let style = match token.kind {
            Kind::Word if is_keyword(part) && !is_part_of_name(text, &tokens, at) => KEYWORD,
            Kind::Text => TEXT,
            Kind::Number => NUMBER,
            Kind::Comment => COMMENT,
            Kind::Symbol if wrong.contains(&at) => WRONG,
            _ => "",
        };
        push(&mut out, part, style, colours);
    }
    Cow::Owned(out)
}

/// Returns true if a word is next to a dot, like a column of a table.
fn is_part_of_name(text: &str, tokens: &[Token], at: usize) -> bool {
    let is_dot = |token: Option<&Token>| token.is_some_and(|token| &text[token.range.clone()] == ".");
    is_dot(at.checked_sub(1).and_then(|before| tokens.get(before))) || is_dot(tokens.get(at + 1))
}

/// Returns brackets that close nothing, or are still open at the end of a statement.
fn wrong_brackets(text: &str, tokens: &[Token]) -> Vec<usize> {
    let (mut open, mut wrong): (Vec<(usize, &str)>, Vec<usize>) = Default::default();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::Symbol) {
        match &text[token.range.clone()] {
            "(" => open.push((at, ")")),
            "[" => open.push((at, "]")),
            "{" => open.push((at, "}")),
            closing @ (")" | "]" | "}") => match open.last() {
                Some((_, expected)) if *expected == closing => drop(open.pop()),
                _ => wrong.push(at),
            },
            ";" => wrong.extend(open.drain(..).map(|(at, _)| at)),
            _ => {}
        }
    }
    wrong
}

/// Appends a part in a style; line marks become prompts of the same width.
fn push(out: &mut String, part: &str, style: &str, colours: bool) {
    let mut lines = part.split(LINE);
    let styled = |line: &str| match colours && !style.is_empty() && !line.is_empty() {
        true => format!("{style}{line}{PLAIN}"),
        false => line.to_owned(),
    };
    out.push_str(&styled(lines.next().unwrap_or_default()));
    for line in lines {
        out.push('\n');
        match colours {
            true => *out += &format!("{FAINT}{CONTINUATION_PROMPT}{PLAIN}"),
            false => out.push_str(CONTINUATION_PROMPT),
        }
        out.push_str(&styled(line));
    }
}

pub(super) fn prompt(prompt: &str) -> String {
    format!("{PROMPT}{prompt}{PLAIN}")
}

pub(super) fn hint(hint: &str) -> String {
    format!("{FAINT}{hint}{PLAIN}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text with `<k …>` and the like for colours.
    fn shown(text: &str) -> String {
        let names = [(KEYWORD, "<k "), (TEXT, "<t "), (NUMBER, "<n "), (COMMENT, "<c "), (WRONG, "<! "), (PLAIN, ">")];
        names.iter().fold(highlight(text, true).into_owned(), |text, (code, name)| text.replace(code, name))
    }

    #[test]
    fn kinds_of_tokens_have_their_colours() {
        assert_eq!(
            shown("select t.order, 'x' -- y\nFROM t WHERE a > 1"),
            "<k select> t.order, <t 'x'> <c -- y>\n<k FROM> t <k WHERE> a > <n 1>"
        );
        assert_eq!(shown("'東京 select"), "<t '東京 select>");
        assert_eq!(shown(".mode csv"), "<k .mode> csv");
        assert_eq!(shown(".mod csv"), ".mod csv");
    }

    #[test]
    fn brackets_that_dont_match_are_marked() {
        assert_eq!(shown("f(a[1]) )"), "f(a[<n 1>]) <! )>");
        assert_eq!(shown("f(a]"), "f(a<! ]>");
        assert_eq!(shown("f((a);"), "f<! (>(a);");
        assert_eq!(shown("f((a"), "f((a");
    }

    #[test]
    fn lines_after_the_first_have_a_prompt_of_their_own() {
        assert_eq!(highlight("a\n\tb", false), "a\n   ...> b");
        assert_eq!(highlight("a\nb", false), "a\nb");
        assert_eq!(highlight("'a\n\tb'", true), "\x1b[33m'a\x1b[0m\n\x1b[90m   ...> \x1b[0m\x1b[33mb'\x1b[0m");
        assert_eq!(CONTINUATION_PROMPT.len(), 8, "as wide as a tab at the start of a line");
    }
}
