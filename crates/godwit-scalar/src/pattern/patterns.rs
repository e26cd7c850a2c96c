//! Compiled patterns.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, PoisonError};

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::Value;
use regex::{CaptureLocations, Match, Regex, RegexBuilder};

use crate::choose::change_of;
use crate::function::Form;

/// The use that a function makes of its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// Searches for it in texts.
    Search,
    /// Tests whether it matches a whole text.
    Whole,
    /// Replaces the first match or, with the flag `g`, all of them.
    Replace,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// The flag `g`: all matches count, not just the first.
    pub(super) all: bool,
    /// The pattern without the `.*$` at its end. In a single-line text it matches from the same position, with the same
    /// groups, and spares the slow search for groups the rest of the text.
    head: Option<Regex>,
}

impl Deref for Pattern {
    type Target = Regex;

    fn deref(&self) -> &Regex {
        &self.regex
    }
}

impl Pattern {
    fn new(pattern: &str, flags: &str, usage: Usage) -> Result<Self> {
        let options = Options::new(flags, usage)?;
        let regex = options.compile(pattern).map_err(|error| not_a_pattern(pattern, &error))?;
        let regex = match usage {
            Usage::Search | Usage::Replace => regex,
            // The bracket is on its own line: the pattern may end in a comment.
            Usage::Whole => {
                let whole = format!(r"\A(?:{}{})\z", options.written(pattern), if options.spaced { "\n" } else { "" });
                let options = Options { literal: false, ..options };
                options.compile(&whole).map_err(|error| not_a_pattern(pattern, &error))?
            }
        };
        let head = match usage {
            Usage::Replace if options == (Options { all: options.all, ..Options::default() }) => head_of(pattern),
            _ => None,
        };
        Ok(Self { regex, all: options.all, head })
    }

    /// Returns the matches from a byte on; `^` and `\b` see the text before it. An empty match right after another
    /// match doesn't count.
    pub(super) fn matches_from<'p, 't>(&'p self, text: &'t str, start: usize) -> Matches<'p, 't> {
        Matches { regex: &self.regex, text, at: start, last_end: None }
    }

    /// Returns the groups of the first match, and its range.
    pub(super) fn first_match(&self, text: &str) -> Option<(CaptureLocations, Range<usize>)> {
        if let Some(head) = self.head.as_ref().filter(|_| memchr::memchr(b'\n', text.as_bytes()).is_none()) {
            let mut groups = head.capture_locations();
            let found = head.captures_read(&mut groups, text)?;
            return Some((groups, found.start()..text.len()));
        }
        let mut groups = self.regex.capture_locations();
        let found = self.regex.captures_read(&mut groups, text)?;
        Some((groups, found.range()))
    }
}

/// Iterator of [`Pattern::matches_from`].
pub(super) struct Matches<'p, 't> {
    regex: &'p Regex,
    text: &'t str,
    at: usize,
    last_end: Option<usize>,
}

impl<'t> Iterator for Matches<'_, 't> {
    type Item = Match<'t>;

    fn next(&mut self) -> Option<Match<'t>> {
        self.next_by(|regex, text, at| regex.find_at(text, at))
    }
}

impl<'t> Matches<'_, 't> {
    /// Returns the next match with its groups.
    pub(super) fn next_with(&mut self, groups: &mut CaptureLocations) -> Option<Match<'t>> {
        self.next_by(|regex, text, at| regex.captures_read_at(groups, text, at))
    }

    fn next_by(&mut self, mut search: impl FnMut(&Regex, &'t str, usize) -> Option<Match<'t>>) -> Option<Match<'t>> {
        while self.at <= self.text.len() {
            let found = search(self.regex, self.text, self.at)?;
            self.at = found.end();
            if !found.is_empty() || self.last_end != Some(found.end()) {
                self.last_end = Some(found.end());
                return Some(found);
            }
            self.at += self.text[self.at..].chars().next().map_or(1, char::len_utf8);
        }
        None
    }
}

/// Cuts off a `.*$` at the end of a pattern without flags; `None` if the rest might have another meaning.
fn head_of(pattern: &str) -> Option<Regex> {
    let head = pattern.strip_suffix(".*$").filter(|head| !head.is_empty() && !head.ends_with('\\'))?;
    let changes_meaning = head.contains('|') || head.replace("(?:", "").contains("(?");
    if changes_meaning { None } else { Regex::new(head).ok() }
}

/// Options given by flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Options {
    all: bool,
    ignore_case: bool,
    literal: bool,
    /// `^` and `$` match at the ends of lines.
    lines: bool,
    /// `.` matches the end of a line.
    across_lines: bool,
    /// Blanks and comments are ignored.
    spaced: bool,
    swap_greed: bool,
}

impl Options {
    fn new(flags: &str, usage: Usage) -> Result<Self> {
        let mut options = Self::default();
        for flag in flags.chars() {
            match flag {
                'g' if usage == Usage::Replace => options.all = true,
                'g' => {
                    let error = Error::user(
                        "the flag 'g' is for functions that replace: others look at all matches, or at one",
                    );
                    return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
                }
                'i' => options.ignore_case = true,
                'c' => options.ignore_case = false,
                'l' | 'q' => options.literal = true,
                'm' | 'n' => (options.lines, options.across_lines) = (true, false),
                'p' => (options.lines, options.across_lines) = (false, false),
                'w' => (options.lines, options.across_lines) = (true, true),
                's' => (options.lines, options.across_lines) = (options.lines, true),
                'x' => options.spaced = true,
                'U' => options.swap_greed = true,
                other => {
                    let hint = "flags are c, i (any case), g (all matches), l or q (no pattern, but text), m or n (^ and $ \
                                match at lines), s (. matches line ends), w (both), p (neither), x (blanks don't count), U";
                    let error = Error::user(format!("'{other}' is no flag of a regular expression"));
                    return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE).with_hint(hint));
                }
            }
        }
        Ok(options)
    }

    /// Writes the pattern as an expression.
    fn written(&self, pattern: &str) -> String {
        if self.literal { regex::escape(pattern) } else { pattern.to_owned() }
    }

    fn compile(&self, pattern: &str) -> std::result::Result<Regex, regex::Error> {
        RegexBuilder::new(&self.written(pattern))
            .case_insensitive(self.ignore_case)
            .multi_line(self.lines)
            .dot_matches_new_line(self.across_lines)
            .ignore_whitespace(self.spaced && !self.literal)
            .swap_greed(self.swap_greed)
            .build()
    }
}

/// Longest part of a pattern that a message quotes, in characters.
const SHOWN_MAX: usize = 60;

/// The error for a pattern that can't be compiled.
fn not_a_pattern(pattern: &str, error: &regex::Error) -> Error {
    let shown = match pattern.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("'{}…'", &pattern[..end]),
        None => format!("'{pattern}'"),
    };
    match error {
        regex::Error::CompiledTooBig(bytes) => {
            let message =
                format!("the regular expression {shown} is too large: compiled it takes more than {bytes} bytes");
            Error::user(message)
                .with_code(SqlState::PROGRAM_LIMIT_EXCEEDED)
                .with_hint("counted repetitions such as {1000} copy what they repeat")
        }
        error => {
            let told = error.to_string();
            let reason = told.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or(&told);
            let place = place_of(&told, pattern).map(|place| format!(", at character {place}")).unwrap_or_default();
            Error::user(format!("{shown} is not a regular expression: {reason}{place}"))
                .with_code(SqlState::INVALID_REGULAR_EXPRESSION)
        }
    }
}

/// Returns the character, from 1, that the crate's message points at with a caret, below the pattern's own line.
fn place_of(told: &str, pattern: &str) -> Option<usize> {
    let mut lines = told.lines().skip_while(|line| line.trim_start() != pattern.trim_start());
    let shown = lines.next()?;
    let indent = shown.chars().count().checked_sub(pattern.chars().count())?;
    let caret = lines.next()?.chars().position(|c| c == '^')?;
    caret.checked_sub(indent).map(|at| at + 1)
}

/// Number of varying patterns that are kept compiled. A compiled pattern may take megabytes.
const RECENT_MAX: usize = 8;

/// The patterns of a call: a constant one, or those of the latest rows.
pub(super) struct Patterns {
    usage: Usage,
    constant: Option<Pattern>,
    recent: Mutex<Vec<Recent>>,
}

struct Recent {
    pattern: Box<str>,
    flags: Box<str>,
    compiled: Arc<Pattern>,
}

/// The compiled pattern of a row.
pub(super) enum Found<'p> {
    Constant(&'p Pattern),
    Recent(Arc<Pattern>),
}

impl Deref for Found<'_> {
    type Target = Pattern;

    #[inline]
    fn deref(&self) -> &Pattern {
        match self {
            Self::Constant(pattern) => pattern,
            Self::Recent(pattern) => pattern,
        }
    }
}

impl Patterns {
    pub(super) fn new(usage: Usage, constant: Option<Pattern>) -> Self {
        Self { usage, constant, recent: Mutex::default() }
    }

    /// Returns the compiled pattern of a row.
    #[inline]
    pub(super) fn get(&self, pattern: &str, flags: &str) -> Result<Found<'_>> {
        match &self.constant {
            Some(constant) => Ok(Found::Constant(constant)),
            None => self.varying(pattern, flags).map(Found::Recent),
        }
    }

    /// Keeps the most recently used pattern first.
    fn varying(&self, pattern: &str, flags: &str) -> Result<Arc<Pattern>> {
        let is_it = |recent: &Recent| *recent.pattern == *pattern && *recent.flags == *flags;
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = recent.iter().position(is_it) {
            recent[..=at].rotate_right(1);
            return Ok(Arc::clone(&recent[0].compiled));
        }
        drop(recent);
        let compiled = Arc::new(Pattern::new(pattern, flags, self.usage)?);
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.truncate(RECENT_MAX - 1);
        recent.insert(0, Recent { pattern: pattern.into(), flags: flags.into(), compiled: Arc::clone(&compiled) });
        Ok(compiled)
    }
}

/// A way to call a function whose second argument is a pattern.
pub(super) struct Call {
    /// Index of the argument with the flags.
    pub(super) flags: Option<usize>,
    /// True if only the pattern and its flags can make it fail.
    pub(super) is_safe: bool,
    pub(super) form: fn(Patterns) -> Form,
}

/// A call that can't fail once its pattern is known to be valid.
pub(super) const fn safe(flags: Option<usize>, form: fn(Patterns) -> Form) -> Call {
    Call { flags, is_safe: true, form }
}

/// A call that may fail because of its other arguments.
pub(super) const fn fallible(flags: Option<usize>, form: fn(Patterns) -> Form) -> Call {
    Call { flags, is_safe: false, form }
}

/// Index of the argument with the pattern.
const PATTERN: usize = 1;

/// Returns the form of the call that fits the arguments best, with the pattern compiled if it is a constant.
pub(super) fn chosen(
    arguments: &[ArgumentType<'_>],
    usage: Usage,
    calls: &[Call],
) -> Option<std::result::Result<Form, NoFunction>> {
    let change = |call: &Call| change_of(&(call.form)(Patterns::new(usage, None)), arguments);
    let fitting = calls.iter().filter_map(|call| change(call).map(|change| (change, call)));
    let (_, call) = fitting.min_by_key(|(change, _)| *change)?;
    Some(compiled(arguments, usage, call.flags).map(|constant| {
        let is_checked = constant.is_some();
        let form = (call.form)(Patterns::new(usage, constant));
        Form { may_fail: form.may_fail && !(call.is_safe && is_checked), ..form }
    }))
}

/// Returns the compiled pattern if it and its flags are constants.
pub(super) fn compiled(
    arguments: &[ArgumentType<'_>],
    usage: Usage,
    flags: Option<usize>,
) -> std::result::Result<Option<Pattern>, NoFunction> {
    let text = |at: usize| match arguments[at].value {
        Some(Value::Text(text)) => Some(&**text),
        _ => None,
    };
    let (Some(pattern), Some(flags)) = (text(PATTERN), flags.map_or(Some(""), text)) else { return Ok(None) };
    let bad = |error: Error| {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        let message = format!("{}{hint}", error.message());
        NoFunction::BadArgument { argument: Some(PATTERN), message, code: error.code() }
    };
    Pattern::new(pattern, flags, usage).map(Some).map_err(bad)
}

/// Converts the character where a search starts, from 1, to a byte; `None` if it is after the end.
pub(super) fn start_byte(text: &str, start: i64) -> Result<Option<usize>> {
    let Some(chars) = start.checked_sub(1).and_then(|chars| usize::try_from(chars).ok()) else {
        return Err(below_one("start of a search", start));
    };
    if chars == 0 || text.is_ascii() {
        return Ok((chars <= text.len()).then_some(chars));
    }
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    Ok(ends.into_iter().nth(chars))
}

/// The error for a number that counts from 1.
pub(super) fn below_one(what: &str, number: i64) -> Error {
    Error::user(format!("the {what} is counted from 1, not {number}")).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

#[cfg(test)]
mod tests {
    use godwit_common::Error;
    use proptest::prelude::*;

    use super::*;

    fn error(pattern: &str, flags: &str) -> Error {
        Pattern::new(pattern, flags, Usage::Search).expect_err("the pattern is wrong")
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        let told = |pattern| error(pattern, "").message().to_owned();
        assert_eq!(told("é("), "'é(' is not a regular expression: unclosed group, at character 2");
        assert_eq!(
            told("*"),
            "'*' is not a regular expression: repetition operator missing expression, at character 1"
        );
        assert!(told("a\n(").starts_with("'a\n(' is not a regular expression: unclosed group"));
        assert!(told("(?=a)").contains("look-around"));
        assert_eq!(error("a{1000}{1000}", "").code(), SqlState::PROGRAM_LIMIT_EXCEEDED);
        assert_eq!(error("[", "").code(), SqlState::INVALID_REGULAR_EXPRESSION);
        assert!(error("a", "q?").message().contains("'?' is no flag"));
        assert!(error("a", "g").message().contains("'g'"));
        assert!(Pattern::new("(", "q", Usage::Search).is_ok());
    }

    #[test]
    fn patterns_of_rows_are_kept_a_while() {
        let patterns = Patterns::new(Usage::Search, None);
        for round in 0..3 {
            for number in 0..2 * RECENT_MAX {
                let pattern = patterns.get(&format!("^{number}$"), "").unwrap();
                assert!(pattern.is_match(&number.to_string()), "{round}");
            }
        }
        let first = patterns.varying("a", "").unwrap();
        patterns.varying("b", "").unwrap();
        assert!(Arc::ptr_eq(&first, &patterns.varying("a", "").unwrap()));
        assert!(!patterns.varying("a", "i").unwrap().regex.as_str().is_empty());
        assert!(patterns.recent.lock().unwrap().len() <= RECENT_MAX);
    }

    #[test]
    fn searches_start_at_characters() {
        assert_eq!(start_byte("äbc", 2).unwrap(), Some(2));
        assert_eq!(start_byte("äbc", 4).unwrap(), Some(4));
        assert_eq!(start_byte("äbc", 5).unwrap(), None);
        assert_eq!(start_byte("abc", i64::MAX).unwrap(), None);
        assert!(start_byte("abc", 0).is_err() && start_byte("abc", i64::MIN).is_err());
    }

    proptest! {
        #[test]
        fn matches_are_those_of_the_crate(pattern in "[ab|*?^$]{0,5}", text in "[abé]{0,6}") {
            if let Ok(pattern) = Pattern::new(&pattern, "", Usage::Search) {
                let expected: Vec<_> = pattern.regex.find_iter(&text).map(|found| found.range()).collect();
                let found: Vec<_> = pattern.matches_from(&text, 0).map(|found| found.range()).collect();
                prop_assert_eq!(found, expected);
            }
        }

        /// The head of a pattern finds the same match and groups as the whole pattern.
        #[test]
        fn heads_match_alike(head in "(\\^)?(a|b|\\.|\\[ab\\]|\\(b\\*\\?\\)|\\(\\?:a\\)\\?){1,4}", text in "[abc\n]{0,8}") {
            let written = format!("{head}.*$");
            let pattern = Pattern::new(&written, "g", Usage::Replace).unwrap();
            let groups = |found: &CaptureLocations| (1..found.len()).map(|group| found.get(group)).collect::<Vec<_>>();
            let mut locations = pattern.regex.capture_locations();
            let whole = pattern.regex.captures_read(&mut locations, &text);
            let expected = whole.map(|found| (groups(&locations), found.range()));
            let found = pattern.first_match(&text).map(|(found, place)| (groups(&found), place));
            prop_assert_eq!(found, expected);
        }
    }
}
