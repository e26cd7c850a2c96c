//! Matching parts of a text, and the parts between them.

use godwit_common::{Error, Result, SqlState};

use super::matching::{Wanted, place_of};
use super::named::named;
use super::patterns::{Pattern, Usage, chosen, fallible, safe};
use crate::function::{Category, Function, function};
use crate::rows::{ListWriter, Text, Writer, text, texts};

pub(super) fn functions() -> Vec<Function> {
    vec![groups(), extract(), extract_all(), substring(), split(), escape()]
}

fn groups() -> Function {
    let description = "The groups of the first match, or all of it if the pattern has none; NULL if nothing matches";
    function(Category::Pattern, &["regexp_match"], description)
        .example("regexp_match('2024-05-17', '([0-9]+)-([0-9]+)')", "[2024, 05]")
        .chosen("regexp_match(text, pattern[, flags])", |arguments| {
            chosen(
                arguments,
                Usage::Search,
                &[
                    safe(None, |patterns| {
                        texts::<(Text, Text), _>(move |(text, pattern), out| {
                            write_groups(&*patterns.get(pattern, "")?, text, out)
                        })
                    }),
                    safe(Some(2), |patterns| {
                        texts::<(Text, Text, Text), _>(move |(text, pattern, flags), out| {
                            write_groups(&*patterns.get(pattern, flags)?, text, out)
                        })
                    }),
                ],
            )
        })
}

fn extract() -> Function {
    let description = "The first match, one of its groups, or those with names as a struct; empty if nothing matches";
    function(Category::Pattern, &["regexp_extract"], description)
        .example("regexp_extract('flew 1200 km', '[0-9]+')", "1200")
        .example("regexp_extract('flew 1200 km', '([0-9]+) ([a-z]+)', 2)", "km")
        .chosen("regexp_extract(text, pattern[, group or list of names][, flags])", |arguments| {
            named(arguments, false).or_else(|| {
                chosen(
                    arguments,
                    Usage::Search,
                    &[
                        safe(None, |patterns| {
                            text::<(Text, Text), Text, _>(move |(text, pattern), out| {
                                write_part(&*patterns.get(pattern, "")?, text, 0, out)
                            })
                        }),
                        fallible(None, |patterns| {
                            text::<(Text, Text, i64), Text, _>(move |(text, pattern, group), out| {
                                write_part(&*patterns.get(pattern, "")?, text, group, out)
                            })
                        }),
                        safe(Some(2), |patterns| {
                            text::<(Text, Text, Text), Text, _>(move |(text, pattern, flags), out| {
                                write_part(&*patterns.get(pattern, flags)?, text, 0, out)
                            })
                        }),
                        fallible(Some(3), |patterns| {
                            text::<(Text, Text, i64, Text), Text, _>(move |(text, pattern, group, flags), out| {
                                write_part(&*patterns.get(pattern, flags)?, text, group, out)
                            })
                        }),
                    ],
                )
            })
        })
}

fn extract_all() -> Function {
    let description = "All matches, or one of the groups of each, or those with names as structs";
    function(Category::Pattern, &["regexp_extract_all"], description)
        .example("regexp_extract_all('1 km, 2 km', '[0-9]+')", "[1, 2]")
        .example("regexp_extract_all('1 km, 2 m', '([0-9]+) ([a-z]+)', 2)", "[km, m]")
        .chosen("regexp_extract_all(text, pattern[, group or list of names][, flags])", |arguments| {
            named(arguments, true).or_else(|| {
                chosen(
                    arguments,
                    Usage::Search,
                    &[
                        safe(None, |patterns| {
                            texts::<(Text, Text), _>(move |(text, pattern), out| {
                                write_parts(&*patterns.get(pattern, "")?, text, 0, out)
                            })
                        }),
                        fallible(None, |patterns| {
                            texts::<(Text, Text, i64), _>(move |(text, pattern, group), out| {
                                write_parts(&*patterns.get(pattern, "")?, text, group, out)
                            })
                        }),
                        safe(Some(2), |patterns| {
                            texts::<(Text, Text, Text), _>(move |(text, pattern, flags), out| {
                                write_parts(&*patterns.get(pattern, flags)?, text, 0, out)
                            })
                        }),
                        fallible(Some(3), |patterns| {
                            texts::<(Text, Text, i64, Text), _>(move |(text, pattern, group, flags), out| {
                                write_parts(&*patterns.get(pattern, flags)?, text, group, out)
                            })
                        }),
                    ],
                )
            })
        })
}

fn substring() -> Function {
    let description = "The part that matches, from a character on, or one of its groups; NULL if nothing matches";
    function(Category::Pattern, &["regexp_substr"], description)
        .example("regexp_substr('flew 1200 km', '[0-9]+')", "1200")
        .example("regexp_substr('banana', 'a(n)', 1, 2, 'i', 1)", "n")
        .chosen("regexp_substr(text, pattern[, start[, n[, flags[, group]]]])", |arguments| {
            chosen(
                arguments,
                Usage::Search,
                &[
                    safe(None, |patterns| {
                        text::<(Text, Text), Text, _>(move |(text, pattern), out| {
                            write_wanted(&*patterns.get(pattern, "")?, text, Wanted::default(), out)
                        })
                    }),
                    fallible(None, |patterns| {
                        text::<(Text, Text, i64), Text, _>(move |(text, pattern, start), out| {
                            write_wanted(&*patterns.get(pattern, "")?, text, Wanted { start, ..Wanted::default() }, out)
                        })
                    }),
                    fallible(None, |patterns| {
                        text::<(Text, Text, i64, i64), Text, _>(move |(text, pattern, start, nth), out| {
                            let wanted = Wanted { start, nth, ..Wanted::default() };
                            write_wanted(&*patterns.get(pattern, "")?, text, wanted, out)
                        })
                    }),
                    fallible(Some(4), |patterns| {
                        text::<(Text, Text, i64, i64, Text), Text, _>(move |(text, pattern, start, nth, flags), out| {
                            let wanted = Wanted { start, nth, ..Wanted::default() };
                            write_wanted(&*patterns.get(pattern, flags)?, text, wanted, out)
                        })
                    }),
                    fallible(Some(4), |patterns| {
                        text::<(Text, Text, i64, i64, Text, i64), Text, _>(
                            move |(text, pattern, start, nth, flags, group), out| {
                                let wanted = Wanted { start, nth, group, ..Wanted::default() };
                                write_wanted(&*patterns.get(pattern, flags)?, text, wanted, out)
                            },
                        )
                    }),
                ],
            )
        })
}

fn split() -> Function {
    let names = &["regexp_split_to_array", "string_split_regex", "str_split_regex", "regexp_split"];
    function(Category::Pattern, names, "The parts of the text between matches")
        .example("regexp_split_to_array('a, b,c', ', *')", "[a, b, c]")
        .chosen("regexp_split_to_array(text, pattern[, flags])", |arguments| {
            chosen(
                arguments,
                Usage::Search,
                &[
                    safe(None, |patterns| {
                        texts::<(Text, Text), _>(move |(text, pattern), out| {
                            write_between(&*patterns.get(pattern, "")?, text, out)
                        })
                    }),
                    safe(Some(2), |patterns| {
                        texts::<(Text, Text, Text), _>(move |(text, pattern, flags), out| {
                            write_between(&*patterns.get(pattern, flags)?, text, out)
                        })
                    }),
                ],
            )
        })
}

fn escape() -> Function {
    function(Category::Pattern, &["regexp_escape"], "A pattern that matches nothing but the text")
        .example("regexp_escape('1.5')", r"1\.5")
        .form(text::<(Text,), Text, _>(|(text,), out| {
            let mut written = 0;
            // Escaped angle brackets would be word boundaries.
            let is_special = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"_<>".contains(byte);
            for (at, _) in text.bytes().enumerate().filter(|(_, byte)| is_special(byte)) {
                out.push_str(&text[written..at]);
                out.push('\\');
                written = at;
            }
            out.push_str(&text[written..]);
        }))
}

fn write_groups(pattern: &Pattern, text: &str, out: &mut ListWriter<'_>) -> Result<Option<()>> {
    if pattern.captures_len() == 1 {
        return pattern.find(text).map(|found| out.push(found.as_str())).transpose();
    }
    let Some(groups) = pattern.captures(text) else { return Ok(None) };
    for group in groups.iter().skip(1) {
        match group {
            Some(group) => out.push(group.as_str())?,
            None => out.push_null()?,
        }
    }
    Ok(Some(()))
}

/// Checks the number of a group; groups that a pattern doesn't have are empty.
fn group_of(number: i64) -> Result<usize> {
    usize::try_from(number).map_err(|_| {
        Error::user(format!("the group of a pattern is counted from 0, for all of the match, not {number}"))
            .with_code(SqlState::INVALID_PARAMETER_VALUE)
    })
}

fn write_part(pattern: &Pattern, text: &str, group: i64, out: &mut Writer<'_>) -> Result<()> {
    let found = match group_of(group)? {
        0 => pattern.find(text),
        group if group >= pattern.captures_len() => None,
        group => pattern.captures(text).and_then(|groups| groups.get(group)),
    };
    out.push_str(found.map_or("", |found| found.as_str()));
    Ok(())
}

fn write_parts(pattern: &Pattern, text: &str, group: i64, out: &mut ListWriter<'_>) -> Result<()> {
    match group_of(group)? {
        0 => pattern.find_iter(text).try_for_each(|found| out.push(found.as_str())),
        group => pattern.captures_iter(text).try_for_each(|groups| match groups.get(group) {
            Some(found) => out.push(found.as_str()),
            None => out.push_null(),
        }),
    }
}

fn write_wanted(pattern: &Pattern, text: &str, wanted: Wanted, out: &mut Writer<'_>) -> Result<Option<()>> {
    let place = place_of(pattern, text, wanted, || out.check())?;
    Ok(place.map(|(start, end)| out.push_str(&text[start..end])))
}

/// Writes the parts between matches; empty matches at the ends of the text separate nothing.
fn write_between(pattern: &Pattern, text: &str, out: &mut ListWriter<'_>) -> Result<()> {
    let mut start = 0;
    for found in pattern.find_iter(text) {
        if !found.is_empty() || (found.start() > 0 && found.end() < text.len()) {
            out.push(&text[start..found.start()])?;
            start = found.end();
        }
    }
    out.push(&text[start..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::testing::{error_of, shown};

    #[test]
    fn groups_of_the_first_match() {
        assert_eq!(shown("regexp_match", &["'abc123'", "'([a-z]+)([0-9]+)(x)?'"]), "[abc, 123, NULL]");
        assert_eq!(shown("regexp_match", &["'abc'", "'b'"]), "[b]");
        assert_eq!(shown("regexp_match", &["'abc'", "'B'", "'i'"]), "[b]");
        assert_eq!(shown("regexp_match", &["'abc'", "'x'"]), "NULL");
        assert_eq!(shown("regexp_match", &["'abc'", "NULL"]), "NULL");
        assert_eq!(shown("regexp_match", &["'a'", "''"]), "['']");
    }

    #[test]
    fn parts_that_match() {
        assert_eq!(shown("regexp_extract", &["'abc123'", "'[0-9]+'"]), "123");
        assert_eq!(shown("regexp_extract", &["'abc123'", "'([a-z]+)([0-9]+)'", "2"]), "123");
        assert_eq!(shown("regexp_extract", &["'abc123'", "'([a-z]+)([0-9]+)'", "3"]), "");
        assert_eq!(shown("regexp_extract", &["'abc'", "'[0-9]+'"]), "");
        assert_eq!(shown("regexp_extract", &["'aBc'", "'b'", "'i'"]), "B");
        assert_eq!(shown("regexp_extract", &["'aBc'", "'(b)c'", "1", "'i'"]), "B");
        assert_eq!(shown("regexp_extract", &["'abc'", "'(x)?b'", "1"]), "");
        assert_eq!(shown("regexp_extract", &["'foobarbaz'", "NULL"]), "NULL");
        assert_eq!(shown("regexp_extract", &["NULL", "'a'"]), "NULL");
        assert!(error_of("regexp_extract", &["'a'", "'a'", "-1"]).contains("from 0"));
    }

    #[test]
    fn all_parts_that_match() {
        assert_eq!(shown("regexp_extract_all", &["'a1b2'", "'([a-z])([0-9])'"]), "[a1, b2]");
        assert_eq!(shown("regexp_extract_all", &["'a1b2'", "'([a-z])([0-9])'", "1"]), "[a, b]");
        assert_eq!(shown("regexp_extract_all", &["'a1bc'", "'([a-z])([0-9])?'", "2"]), "[1, NULL, NULL]");
        assert_eq!(shown("regexp_extract_all", &["'a1bc'", "'([A-Z])'", "1", "'i'"]), "[a, b, c]");
        assert_eq!(shown("regexp_extract_all", &["'abc'", "'x'"]), "[]");
        assert_eq!(shown("regexp_extract_all", &["'é'", "''"]), "['', '']");
        assert_eq!(shown("regexp_extract_all", &["'abc'", "NULL"]), "NULL");
    }

    #[test]
    fn parts_by_place() {
        assert_eq!(shown("regexp_substr", &["'banana'", "'an.'"]), "ana");
        assert_eq!(shown("regexp_substr", &["'banana'", "'an.?'", "3"]), "ana");
        assert_eq!(shown("regexp_substr", &["'banana'", "'a.?'", "1", "3"]), "a");
        assert_eq!(shown("regexp_substr", &["'banana'", "'A'", "1", "1", "'i'"]), "a");
        assert_eq!(shown("regexp_substr", &["'banana'", "'a(.)(.)'", "1", "1", "''", "2"]), "a");
        assert_eq!(shown("regexp_substr", &["'banana'", "'x'"]), "NULL");
    }

    #[test]
    fn parts_between_matches() {
        assert_eq!(shown("regexp_split_to_array", &["'a, b,c'", "', *'"]), "[a, b, c]");
        assert_eq!(shown("string_split_regex", &["''", "','"]), "['']");
        assert_eq!(shown("str_split_regex", &["'äbc'", "''"]), "[ä, b, c]");
        assert_eq!(shown("regexp_split", &["'aXb'", "'x'", "'i'"]), "[a, b]");
        assert_eq!(shown("regexp_split_to_array", &["',a,'", "','"]), "['', a, '']");
        assert_eq!(shown("regexp_split_to_array", &["'abc'", "NULL"]), "NULL");
    }

    proptest! {
        #[test]
        fn escaped_text_matches_itself(text in any::<String>()) {
            let text = text.replace('\'', "").replace(['\\'], "");
            let escaped = shown("regexp_escape", &[&format!("'{text}'")]);
            prop_assert_eq!(shown("regexp_full_match", &[&format!("'{text}'"), &format!("'{escaped}'")]), "true");
        }
    }
}
