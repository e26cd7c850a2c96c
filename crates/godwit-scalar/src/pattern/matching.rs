//! Whether, where and how often a pattern matches.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction};
use godwit_vector::kernels::string::char_count;

use super::patterns::{Pattern, Usage, below_one, chosen, fallible, safe, start_byte};
use crate::function::{Category, Form, Function, function};
use crate::kernel::Work;
use crate::rows::{Text, scalar, scalar_checked};

pub(super) fn functions() -> Vec<Function> {
    vec![like(), full_match(), count(), instr()]
}

fn like() -> Function {
    function(Category::Pattern, &["regexp_like", "regexp_matches"], "Whether a part of the text matches the pattern")
        .example("regexp_like('godwit', 'w.t$')", "true")
        .example("regexp_like('godwit', '^GOD', 'i')", "true")
        .chosen("regexp_like(text, pattern[, flags])", |arguments| is_match(arguments, Usage::Search))
}

fn full_match() -> Function {
    function(Category::Pattern, &["regexp_full_match"], "Whether all of the text matches the pattern")
        .example("regexp_full_match('godwit', 'god')", "false")
        .example("regexp_full_match('godwit', 'god.*')", "true")
        .chosen("regexp_full_match(text, pattern[, flags])", |arguments| is_match(arguments, Usage::Whole))
}

fn is_match(arguments: &[ArgumentType<'_>], usage: Usage) -> Option<std::result::Result<Form, NoFunction>> {
    let forms = [
        safe(None, |patterns| {
            scalar::<(Text, Text), bool, _>(move |(text, pattern)| Ok(patterns.get(pattern, "")?.is_match(text)))
        }),
        safe(Some(2), |patterns| {
            scalar::<(Text, Text, Text), bool, _>(move |(text, pattern, flags)| {
                Ok(patterns.get(pattern, flags)?.is_match(text))
            })
        }),
    ];
    chosen(arguments, usage, &forms)
}

fn count() -> Function {
    function(Category::Pattern, &["regexp_count"], "How often the pattern matches, from a character on")
        .example("regexp_count('banana', 'an')", "2")
        .example("regexp_count('banana', 'A', 3, 'i')", "2")
        .chosen("regexp_count(text, pattern[, start[, flags]])", |arguments| {
            chosen(
                arguments,
                Usage::Search,
                &[
                    safe(None, |patterns| {
                        scalar_checked::<(Text, Text), i32, _>(move |(text, pattern), work| {
                            counted(&*patterns.get(pattern, "")?, text, 1, work)
                        })
                    }),
                    fallible(None, |patterns| {
                        scalar_checked::<(Text, Text, i64), i32, _>(move |(text, pattern, start), work| {
                            counted(&*patterns.get(pattern, "")?, text, start, work)
                        })
                    }),
                    fallible(Some(3), |patterns| {
                        scalar_checked::<(Text, Text, i64, Text), i32, _>(move |(text, pattern, start, flags), work| {
                            counted(&*patterns.get(pattern, flags)?, text, start, work)
                        })
                    }),
                ],
            )
        })
}

fn instr() -> Function {
    let description = "The character at which the pattern matches, or its end; 0 if it doesn't";
    function(Category::Pattern, &["regexp_instr"], description)
        .example("regexp_instr('godwit', 'w.t')", "4")
        .example("regexp_instr('banana', 'a(n)', 1, 2, 0, '', 1)", "5")
        .chosen("regexp_instr(text, pattern[, start[, n[, end[, flags[, group]]]]])", |arguments| {
            chosen(
                arguments,
                Usage::Search,
                &[
                    safe(None, |patterns| {
                        scalar_checked::<(Text, Text), i32, _>(move |(text, pattern), work| {
                            position(&*patterns.get(pattern, "")?, text, Wanted::default(), work)
                        })
                    }),
                    fallible(None, |patterns| {
                        scalar_checked::<(Text, Text, i64), i32, _>(move |(text, pattern, start), work| {
                            position(&*patterns.get(pattern, "")?, text, Wanted { start, ..Wanted::default() }, work)
                        })
                    }),
                    fallible(None, |patterns| {
                        scalar_checked::<(Text, Text, i64, i64), i32, _>(move |(text, pattern, start, nth), work| {
                            let wanted = Wanted { start, nth, ..Wanted::default() };
                            position(&*patterns.get(pattern, "")?, text, wanted, work)
                        })
                    }),
                    fallible(None, |patterns| {
                        scalar_checked::<(Text, Text, i64, i64, i64), i32, _>(
                            move |(text, pattern, start, nth, end), work| {
                                let wanted = Wanted { start, nth, end, ..Wanted::default() };
                                position(&*patterns.get(pattern, "")?, text, wanted, work)
                            },
                        )
                    }),
                    fallible(Some(5), |patterns| {
                        scalar_checked::<(Text, Text, i64, i64, i64, Text), i32, _>(
                            move |(text, pattern, start, nth, end, flags), work| {
                                let wanted = Wanted { start, nth, end, ..Wanted::default() };
                                position(&*patterns.get(pattern, flags)?, text, wanted, work)
                            },
                        )
                    }),
                    fallible(Some(5), |patterns| {
                        scalar_checked::<(Text, Text, i64, i64, i64, Text, i64), i32, _>(
                            move |(text, pattern, start, nth, end, flags, group), work| {
                                let wanted = Wanted { start, nth, end, group };
                                position(&*patterns.get(pattern, flags)?, text, wanted, work)
                            },
                        )
                    }),
                    // Without the `end` argument.
                    fallible(Some(4), |patterns| {
                        scalar_checked::<(Text, Text, i64, i64, Text), i32, _>(
                            move |(text, pattern, start, nth, flags), work| {
                                let wanted = Wanted { start, nth, ..Wanted::default() };
                                position(&*patterns.get(pattern, flags)?, text, wanted, work)
                            },
                        )
                    }),
                    fallible(Some(4), |patterns| {
                        scalar_checked::<(Text, Text, i64, i64, Text, i64), i32, _>(
                            move |(text, pattern, start, nth, flags, group), work| {
                                let wanted = Wanted { start, nth, group, ..Wanted::default() };
                                position(&*patterns.get(pattern, flags)?, text, wanted, work)
                            },
                        )
                    }),
                ],
            )
        })
}

/// Matches between two checks for cancellation.
pub(super) const CHECK_MATCHES: usize = 4096;

fn counted(pattern: &Pattern, text: &str, start: i64, work: &dyn Work) -> Result<i32> {
    let Some(start) = start_byte(text, start)? else { return Ok(0) };
    let mut count = 0;
    for _ in pattern.matches_from(text, start) {
        count += 1;
        if count % CHECK_MATCHES == 0 {
            work.check()?;
        }
    }
    Ok(i32::try_from(count).expect("there are at most as many matches as bytes, and one"))
}

/// The requested match, and the requested part of it.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) start: i64,
    pub(super) nth: i64,
    /// 0 for where it begins, 1 for where the text after it does.
    pub(super) end: i64,
    pub(super) group: i64,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { start: 1, nth: 1, end: 0, group: 0 }
    }
}

/// Returns the byte range of the requested part of the text.
pub(super) fn place_of(
    pattern: &Pattern,
    text: &str,
    wanted: Wanted,
    check: impl Fn() -> Result<()>,
) -> Result<Option<(usize, usize)>> {
    let nth = wanted.nth.checked_sub(1).and_then(|nth| usize::try_from(nth).ok());
    let nth = nth.ok_or_else(|| below_one("match", wanted.nth))?;
    let Ok(group) = usize::try_from(wanted.group) else {
        let error = Error::user(format!("the group of a pattern is counted from 0, not {}", wanted.group));
        return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
    };
    let Some(start) = start_byte(text, wanted.start)? else { return Ok(None) };
    for (at, found) in pattern.matches_from(text, start).enumerate() {
        if at == nth {
            let part = match group {
                0 => Some(found),
                _ => pattern.captures_at(text, found.start()).and_then(|groups| groups.get(group)),
            };
            return Ok(part.map(|part| (part.start(), part.end())));
        }
        if at % CHECK_MATCHES == 0 {
            check()?;
        }
    }
    Ok(None)
}

fn position(pattern: &Pattern, text: &str, wanted: Wanted, work: &dyn Work) -> Result<i32> {
    if !matches!(wanted.end, 0 | 1) {
        let error =
            Error::user(format!("{} is neither 0, for the beginning of a match, nor 1, for its end", wanted.end));
        return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
    }
    let place = place_of(pattern, text, wanted, || work.check())?;
    Ok(place.map_or(0, |(start, end)| {
        let bytes = if wanted.end == 0 { start } else { end };
        i32::try_from(char_count(&text.as_bytes()[..bytes]) + 1).expect("texts have at most a billion characters")
    }))
}

#[cfg(test)]
mod tests {
    use godwit_types::SqlType;

    use crate::testing::{call, error_of, shown};

    #[test]
    fn texts_match() {
        assert_eq!(shown("regexp_like", &["'abc'", "'b.'"]), "true");
        assert_eq!(shown("regexp_matches", &["'abc'", "'B'"]), "false");
        assert_eq!(shown("regexp_matches", &["'abc'", "'B'", "'i'"]), "true");
        assert_eq!(shown("regexp_matches", &["'a.c'", "'.'", "'l'"]), "true");
        assert_eq!(shown("regexp_matches", &["'a\nb'", "'a.b'"]), "false");
        assert_eq!(shown("regexp_matches", &["'a\nb'", "'a.b'", "'s'"]), "true");
        assert_eq!(shown("regexp_matches", &["'a\nb'", "'^b$'"]), "false");
        assert_eq!(shown("regexp_matches", &["'a\nb'", "'^b$'", "'n'"]), "true");
        assert_eq!(shown("regexp_matches", &["'ab'", "'a b # both'", "'x'"]), "true");
        assert_eq!(shown("regexp_matches", &["''", "''"]), "true");
        for arguments in [["NULL", "'.*'"], ["'a'", "NULL"]] {
            assert_eq!(shown("regexp_matches", &arguments), "NULL");
        }
        assert_eq!(shown("regexp_matches", &["'a'", "'a'", "NULL"]), "NULL");
    }

    #[test]
    fn whole_texts_match() {
        assert_eq!(shown("regexp_full_match", &["'ab'", "'a|ab'"]), "true");
        assert_eq!(shown("regexp_full_match", &["'abc'", "'b'"]), "false");
        assert_eq!(shown("regexp_full_match", &["'ABC'", "'a.*'", "'i'"]), "true");
        assert_eq!(shown("regexp_full_match", &["'a'", "'a # one'", "'x'"]), "true");
        assert_eq!(shown("regexp_full_match", &["'(a'", "'(a'", "'l'"]), "true");
        assert_eq!(shown("regexp_full_match", &["NULL", "'a'"]), "NULL");
    }

    #[test]
    fn matches_are_counted() {
        assert_eq!(shown("regexp_count", &["'äbäbä'", "'ä'"]), "3");
        assert_eq!(shown("regexp_count", &["'äbäbä'", "'ä'", "2"]), "2");
        assert_eq!(shown("regexp_count", &["'äbäbä'", "'Ä'", "2", "'i'"]), "2");
        assert_eq!(shown("regexp_count", &["'abc'", "''"]), "4");
        assert_eq!(shown("regexp_count", &["'abc'", "'^b'", "2"]), "0");
        assert_eq!(shown("regexp_count", &["'abc'", "'b'", "9223372036854775807"]), "0");
        assert_eq!(shown("regexp_count", &["''", "'b'"]), "0");
        assert_eq!(call("regexp_count", &["'a'", "'a'"]).unwrap().1, SqlType::Integer);
        assert!(error_of("regexp_count", &["'abc'", "'b'", "0"]).contains("counted from 1, not 0"));
    }

    #[test]
    fn matches_have_places() {
        assert_eq!(shown("regexp_instr", &["'äöü'", "'ü'"]), "3");
        assert_eq!(shown("regexp_instr", &["'abc'", "'x'"]), "0");
        assert_eq!(shown("regexp_instr", &["'abcabc'", "'b'", "3"]), "5");
        assert_eq!(shown("regexp_instr", &["'abcabc'", "'b'", "1", "2"]), "5");
        assert_eq!(shown("regexp_instr", &["'abcabc'", "'b'", "1", "3"]), "0");
        assert_eq!(shown("regexp_instr", &["'abcabc'", "'bc'", "1", "1", "1"]), "4");
        assert_eq!(shown("regexp_instr", &["'abcabc'", "'BC'", "1", "1", "1", "'i'"]), "4");
        assert_eq!(shown("regexp_instr", &["'abcabc'", "'a(b)(c)'", "1", "1", "0", "''", "2"]), "3");
        assert_eq!(shown("regexp_instr", &["'abcabc'", "'a(b)(c)'", "1", "1", "0", "''", "3"]), "0");
        assert_eq!(shown("regexp_instr", &["'abcabc'", "'B'", "1", "2", "'i'"]), "5");
        assert_eq!(shown("regexp_instr", &["'abcabc'", "'A(B)'", "1", "2", "'i'", "1"]), "5");
        assert!(error_of("regexp_instr", &["'a'", "'a'", "1", "0"]).contains("counted from 1"));
        assert!(error_of("regexp_instr", &["'a'", "'a'", "1", "1", "2"]).contains("neither 0"));
        assert!(error_of("regexp_instr", &["'a'", "'a'", "1", "1", "0", "''", "-1"]).contains("not -1"));
    }
}
