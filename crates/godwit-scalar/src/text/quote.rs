//! Texts quoted for SQL.

use std::collections::HashSet;
use std::sync::LazyLock;

use godwit_common::Result;
use godwit_types::SqlType;

use super::concat::is_textual;
use crate::function::{Category, Form, Function, function};
use crate::rows::{Text, Writer, any_texts, text};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(&["quote_ident"], "The text as a name in SQL, in quotes if it needs them")
            .example("quote_ident('order by')", "\"order by\"")
            .form(text::<(Text,), Text, _>(|(text,), out| write_name(text, out)).total()),
        text_function(&["quote_literal"], "The text of a value as a text in SQL, in quotes")
            .example("quote_literal('it''s')", "'it''s'")
            .chosen("quote_literal(value)", |arguments| match arguments {
                [value] if is_textual(value) => Some(Ok(literal())),
                _ => None,
            }),
        text_function(&["quote_nullable"], "The text of a value as a text in SQL, in quotes, or NULL without quotes")
            .example("quote_nullable(NULL)", "NULL")
            .example("quote_nullable('a')", "'a'")
            .chosen("quote_nullable(value)", |arguments| match arguments {
                [value] if is_textual(value) => Some(Ok(nullable())),
                _ => None,
            }),
    ]
}

fn literal() -> Form {
    text::<(Text,), Text, _>(|(text,), out| write_literal(text, out)).total()
}

fn nullable() -> Form {
    any_texts(vec![SqlType::Varchar], false, |texts, out| match texts[0] {
        Some(text) => write_literal(&String::from_utf8_lossy(text), out),
        None => {
            out.push_str("NULL");
            Ok(())
        }
    })
    .total()
}

/// Writes a name; lower-case letters, digits and underscores need no quotes unless the name is a keyword.
pub(super) fn write_name(name: &str, out: &mut Writer<'_>) -> Result<()> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_plain = name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
        && !WORD_SET.contains(name);
    if is_plain {
        out.push_str(name);
        return Ok(());
    }
    out.push('"');
    write_doubled(name, '"', out)?;
    out.push('"');
    Ok(())
}

/// Writes a literal; with backslashes, as an escaped text, which doesn't depend on the server's treatment of them.
pub(super) fn write_literal(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let has_backslash = text.contains('\\');
    out.push_str(if has_backslash { "E'" } else { "'" });
    match has_backslash {
        true => {
            for part in text.split_inclusive('\\') {
                write_doubled(part, '\'', out)?;
                if part.ends_with('\\') {
                    out.push('\\');
                }
            }
        }
        false => write_doubled(text, '\'', out)?,
    }
    out.push('\'');
    Ok(())
}

fn write_doubled(text: &str, quote: char, out: &mut Writer<'_>) -> Result<()> {
    text.split_inclusive(quote).try_for_each(|part| {
        out.push_str(part);
        if part.ends_with(quote) {
            out.push(quote);
        }
        out.go(part.len())
    })
}

/// Keywords that can't be names everywhere: PostgreSQL's, and those that only this SQL has.
const WORDS: &str = "\
    all analyse analyze and anti any array as asc asof asymmetric authorization between bigint binary bit boolean \
    both case cast char character check coalesce collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp current_user dec decimal \
    default deferrable desc describe distinct do else end except exists extract false fetch float for foreign freeze \
    from full grant greatest group grouping having ilike in initially inner inout int integer intersect interval \
    into is isnull join lambda lateral leading least left like limit localtime localtimestamp map national natural \
    nchar none normalize not notnull null nullif numeric offset on only or order out outer overlaps overlay pivot \
    pivot_longer pivot_wider placing position positional precision primary qualify real references returning right \
    row select semi session_user setof show similar smallint some struct substring summarize symmetric table \
    tablesample then time timestamp to trailing treat trim true try_cast union unique unpivot user using values \
    varchar variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest \
    xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable";

static WORD_SET: LazyLock<HashSet<&str>> = LazyLock::new(|| WORDS.split(' ').collect());

#[cfg(test)]
mod tests {
    use crate::testing::shown;

    #[test]
    fn names() {
        for (name, quoted) in [
            ("'foo'", "foo"),
            ("'_a1'", "_a1"),
            ("'Foo bar'", "\"Foo bar\""),
            ("'1a'", "\"1a\""),
            ("'a\"b'", "\"a\"\"b\""),
            ("''", "\"\""),
            ("'é'", "\"é\""),
            ("'select'", "\"select\""),
            ("'qualify'", "\"qualify\""),
            ("NULL", "NULL"),
        ] {
            assert_eq!(shown("quote_ident", &[name]), quoted);
        }
    }

    #[test]
    fn texts() {
        assert_eq!(shown("quote_literal", &["'it's'"]), "'it''s'");
        assert_eq!(shown("quote_literal", &["'a\\b'"]), "E'a\\\\b'");
        assert_eq!(shown("quote_literal", &["'é'"]), "'é'");
        assert_eq!(shown("quote_literal", &["42"]), "'42'");
        assert_eq!(shown("quote_literal", &["NULL"]), "NULL");
        assert_eq!(shown("quote_nullable", &["NULL"]), "NULL");
        assert_eq!(shown("quote_nullable", &["'it's'"]), "'it''s'");
        assert_eq!(shown("quote_nullable", &["TRUE"]), "'true'");
    }
}
