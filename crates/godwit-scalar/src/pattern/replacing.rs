//! Replacement of matches.

use std::ops::Range;

use godwit_common::{Error, Result, SqlState};
use regex::CaptureLocations;

use super::matching::CHECK_MATCHES;
use super::patterns::{Pattern, Usage, chosen, fallible, safe, start_byte};
use crate::function::{Category, Function, function};
use crate::rows::{Text, Writer, text};

pub(super) fn functions() -> Vec<Function> {
    let description = "The text with another one in place of the first match, or of all with the flag 'g'; `\\1` in it is a \
                       group, `\\0` or `\\&` all of the match, `\\\\` a backslash";
    let replace = function(Category::Pattern, &["regexp_replace"], description)
        .example("regexp_replace('2024-05-17', '([0-9]+)-([0-9]+)', '\\2/\\1')", "05/2024-17")
        .example("regexp_replace('banana', 'a', 'o', 'g')", "bonono")
        .chosen("regexp_replace(text, pattern, replacement[, flags or start[, n[, flags]]])", |arguments| {
            chosen(
                arguments,
                Usage::Replace,
                &[
                    safe(None, |patterns| {
                        text::<(Text, Text, Text), Text, _>(move |(text, pattern, by), out| {
                            replaced(&*patterns.get(pattern, "")?, text, by, out)
                        })
                    }),
                    safe(Some(3), |patterns| {
                        text::<(Text, Text, Text, Text), Text, _>(move |(text, pattern, by, flags), out| {
                            replaced(&*patterns.get(pattern, flags)?, text, by, out)
                        })
                    }),
                    fallible(None, |patterns| {
                        text::<(Text, Text, Text, i64), Text, _>(move |(text, pattern, by, start), out| {
                            replaced_from(&*patterns.get(pattern, "")?, text, by, start, 1, out)
                        })
                    }),
                    fallible(None, |patterns| {
                        text::<(Text, Text, Text, i64, i64), Text, _>(move |(text, pattern, by, start, nth), out| {
                            replaced_from(&*patterns.get(pattern, "")?, text, by, start, nth, out)
                        })
                    }),
                    fallible(Some(5), |patterns| {
                        text::<(Text, Text, Text, i64, i64, Text), Text, _>(
                            move |(text, pattern, by, start, nth, flags), out| {
                                replaced_from(&*patterns.get(pattern, flags)?, text, by, start, nth, out)
                            },
                        )
                    }),
                ],
            )
        });
    vec![replace]
}

fn replaced(pattern: &Pattern, text: &str, by: &str, out: &mut Writer<'_>) -> Result<()> {
    if pattern.all {
        return replaced_from(pattern, text, by, 1, 0, out);
    }
    let found = match has_references(by) {
        true => pattern.first_match(text).map(|(groups, place)| (Some(groups), place)),
        false => pattern.find(text).map(|found| (None, found.range())),
    };
    let Some((groups, place)) = found else {
        out.push_str(text);
        return Ok(());
    };
    push(&text[..place.start], out)?;
    write_replacement(by, text, groups.as_ref(), place.clone(), out)?;
    push(&text[place.end..], out)
}

/// Replaces the n-th match from a character on, or all matches for 0.
fn replaced_from(pattern: &Pattern, text: &str, by: &str, start: i64, nth: i64, out: &mut Writer<'_>) -> Result<()> {
    let Ok(nth) = usize::try_from(nth) else {
        let error = Error::user(format!("the match to replace is counted from 1, or 0 for all, not {nth}"));
        return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
    };
    let Some(start) = start_byte(text, start)? else { return push(text, out) };
    let mut groups = has_references(by).then(|| pattern.capture_locations());
    let mut matches = pattern.matches_from(text, start);
    let mut next = |groups: &mut Option<CaptureLocations>| match groups {
        Some(groups) => matches.next_with(groups),
        None => matches.next(),
    };
    let (mut written, mut count) = (0, 0);
    while let Some(found) = next(&mut groups) {
        count += 1;
        if nth == 0 || count == nth {
            push(&text[written..found.start()], out)?;
            write_replacement(by, text, groups.as_ref(), found.range(), out)?;
            written = found.end();
        }
        if count == nth {
            break;
        }
        if count % CHECK_MATCHES == 0 {
            out.check()?;
        }
    }
    push(&text[written..], out)
}

fn has_references(by: &str) -> bool {
    memchr::memchr(b'\\', by.as_bytes()).is_some()
}

fn push(text: &str, out: &mut Writer<'_>) -> Result<()> {
    out.reserve(text.len())?;
    out.push_str(text);
    Ok(())
}

/// Writes the replacement of a match; a backslash that doesn't begin a reference stands for itself.
fn write_replacement(
    by: &str,
    text: &str,
    groups: Option<&CaptureLocations>,
    place: Range<usize>,
    out: &mut Writer<'_>,
) -> Result<()> {
    let Some(groups) = groups else { return push(by, out) };
    let mut rest = by;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        push(&rest[..at], out)?;
        let behind = rest.get(at + 2..);
        match rest.as_bytes().get(at + 1) {
            Some(b'0' | b'&') => push(&text[place.clone()], out)?,
            Some(digit @ b'1'..=b'9') => {
                push(groups.get(usize::from(digit - b'0')).map_or("", |(start, end)| &text[start..end]), out)?;
            }
            Some(b'\\') => push("\\", out)?,
            _ => {
                push("\\", out)?;
                rest = &rest[at + 1..];
                continue;
            }
        }
        rest = behind.expect("references are ASCII");
    }
    push(rest, out)
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    fn replaced(arguments: &[&str]) -> String {
        let quoted: Vec<String> = arguments.iter().map(|text| format!("'{text}'")).collect();
        shown("regexp_replace", &quoted.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn matches_are_replaced() {
        assert_eq!(replaced(&["abc123", "[0-9]+", "#"]), "abc#");
        assert_eq!(replaced(&["abab", "a", "x"]), "xbab");
        assert_eq!(replaced(&["abab", "a", "x", "g"]), "xbxb");
        assert_eq!(replaced(&["abAb", "a", "x", "gi"]), "xbxb");
        assert_eq!(replaced(&["abc", "", "-", "g"]), "-a-b-c-");
        assert_eq!(replaced(&["aaa", "b*", "-", "g"]), "-a-a-a-");
        assert_eq!(replaced(&["äbc", "x", "-"]), "äbc");
        assert_eq!(replaced(&["a.b", ".", "-", "gl"]), "a-b");
        assert_eq!(replaced(&["abc", "b", "$1{x}"]), "a$1{x}c");
        for at in 0..4 {
            let mut arguments = ["'a'"; 4];
            arguments[3] = "'g'";
            arguments[at] = "NULL";
            assert_eq!(shown("regexp_replace", &arguments), "NULL");
        }
    }

    #[test]
    fn replacements_refer_to_groups() {
        assert_eq!(replaced(&["abab", "(a)(b)", "[\\2\\1]"]), "[ba]ab");
        assert_eq!(replaced(&["abab", "(a)(b)", "[\\2\\1]", "g"]), "[ba][ba]");
        assert_eq!(replaced(&["abc", "b", "<\\0\\&>"]), "a<bb>c");
        assert_eq!(replaced(&["abc", "b", "\\\\1"]), "a\\1c");
        assert_eq!(replaced(&["abc", "b", "\\5\\ä\\"]), "a\\ä\\c");
        assert_eq!(replaced(&["abc", "(x)?b", "[\\1]"]), "a[]c");
        let url = "^https?://(?:www\\.)?([^/]+)/.*$";
        assert_eq!(replaced(&["https://www.godwit.org/a/b", url, "\\1"]), "godwit.org");
        assert_eq!(replaced(&["https://godwit.org/a\nb", url, "\\1"]), "https://godwit.org/a\nb");
        assert_eq!(replaced(&["http://a/b", url, "\\0"]), "http://a/b");
        assert_eq!(replaced(&["no URL", url, "\\1"]), "no URL");
    }

    #[test]
    fn the_nth_match_is_replaced() {
        let nth = |start: &str, nth: &str| shown("regexp_replace", &["'äaäaäa'", "'a'", "'x'", start, nth]);
        assert_eq!(nth("1", "2"), "äaäxäa");
        assert_eq!(nth("3", "1"), "äaäxäa");
        assert_eq!(nth("3", "0"), "äaäxäx");
        assert_eq!(nth("1", "9"), "äaäaäa");
        assert_eq!(nth("99", "1"), "äaäaäa");
        assert_eq!(shown("regexp_replace", &["'abab'", "'A'", "'x'", "2", "1", "'i'"]), "abxb");
        assert_eq!(shown("regexp_replace", &["'abab'", "'a'", "'x'", "2"]), "abxb");
        assert!(error_of("regexp_replace", &["'a'", "'a'", "'x'", "0", "1"]).contains("from 1"));
        assert!(error_of("regexp_replace", &["'a'", "'a'", "'x'", "1", "-1"]).contains("not -1"));
    }
}
