//! Paths into a JSON value.
//!
//! | path | leads to |
//! |---|---|
//! | `$` | the value itself |
//! | `$.a`, `$."a b"`, `$["a"]` | the member of a key |
//! | `$[0]`, `$[-1]`, `$[#-1]` | an element, from the beginning or the end |
//! | `$.*`, `$[*]` | all members, all elements |
//! | `$..a`, `$..[0]`, `$..*` | the same of the value and of every value within it, from the outside in |
//! | `/a/0` | the member of a key or the element at an index; `~1` is `/`, `~0` is `~` |
//! | `a` | the member of a key, whatever characters it contains |
//! | 0, −1 | an element |

use godwit_common::{Error, Result, SqlState};

use super::node::{Kind, Node, STEPS_OF_VALUE};
use crate::rows::Pace;

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    /// From 0, or from −1 for the last.
    Element(i64),
    /// An element of an array or a member of an object.
    KeyOrElement(String),
    AllMembers,
    AllElements,
    /// All members or elements.
    AllParts,
    /// The value and all values within it.
    Anywhere,
}

impl Path {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let steps = match text.as_bytes().first() {
            None => Vec::new(),
            Some(b'$') => steps(text)?,
            Some(b'/') => {
                let step = |key: &str| Step::KeyOrElement(key.replace("~1", "/").replace("~0", "~"));
                text[1..].split('/').map(step).collect()
            }
            Some(_) => vec![Step::Key(text.to_owned())],
        };
        Ok(Self { steps })
    }

    /// Creates the path to an index of an array.
    pub(super) fn element(at: i64) -> Self {
        Self { steps: vec![Step::Element(at)] }
    }

    /// Creates the path of keys and indices, one within the other.
    pub(super) fn of_keys<'k>(keys: impl IntoIterator<Item = &'k str>) -> Self {
        Self { steps: keys.into_iter().map(|key| Step::KeyOrElement(key.to_owned())).collect() }
    }

    /// True if it may lead to several values.
    pub(super) fn is_plural(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::AllMembers | Step::AllElements | Step::AllParts | Step::Anywhere))
    }

    /// Returns the value that the path leads to: the first if it leads to several.
    pub(super) fn find<'t>(&self, node: Node<'t>, pace: &mut Pace<'_>) -> Result<Option<Node<'t>>> {
        if self.is_plural() {
            let mut first = None;
            self.find_all(node, pace, &mut |node| {
                first.get_or_insert(node);
                Ok(())
            })?;
            return Ok(first);
        }
        let mut node = node;
        for step in &self.steps {
            match one(step, node, pace)? {
                Some(next) => node = next,
                None => return Ok(None),
            }
        }
        Ok(Some(node))
    }

    /// Calls `found` for all values that the path leads to.
    pub(super) fn find_all<'t>(
        &self,
        node: Node<'t>,
        pace: &mut Pace<'_>,
        found: &mut impl FnMut(Node<'t>) -> Result<()>,
    ) -> Result<()> {
        find_all(&self.steps, node, pace, found)
    }
}

fn find_all<'t>(
    steps: &[Step],
    node: Node<'t>,
    pace: &mut Pace<'_>,
    found: &mut impl FnMut(Node<'t>) -> Result<()>,
) -> Result<()> {
    pace.go(STEPS_OF_VALUE)?;
    let Some((step, rest)) = steps.split_first() else { return found(node) };
    match step {
        Step::AllMembers => node.members().try_for_each(|(_, value)| find_all(rest, value, pace, found)),
        Step::AllElements => node.elements().try_for_each(|value| find_all(rest, value, pace, found)),
        Step::AllParts => parts(node).try_for_each(|value| find_all(rest, value, pace, found)),
        Step::Anywhere => {
            // Without recursion: values may be nested deeply.
            let mut open = vec![node];
            while let Some(node) = open.pop() {
                find_all(rest, node, pace, found)?;
                let first_inside = open.len();
                open.extend(parts(node));
                open[first_inside..].reverse();
            }
            Ok(())
        }
        Step::Key(_) | Step::Element(_) | Step::KeyOrElement(_) => match one(step, node, pace)? {
            Some(next) => find_all(rest, next, pace, found),
            None => Ok(()),
        },
    }
}

/// Returns the values of an object or the elements of an array.
fn parts<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    node.members().map(|(_, value)| value).chain(node.elements())
}

/// Follows a step that leads to one value at most.
fn one<'t>(step: &Step, node: Node<'t>, pace: &mut Pace<'_>) -> Result<Option<Node<'t>>> {
    Ok(match step {
        Step::Key(key) => node.member(key, pace)?,
        Step::Element(at) => element(node, *at, pace)?,
        Step::KeyOrElement(key) => part_of(node, key, pace)?,
        Step::AllMembers | Step::AllElements | Step::AllParts | Step::Anywhere => unreachable!("it leads to several"),
    })
}

/// Returns the member of a key, or the element of an array at the place that the text says.
pub(super) fn part_of<'t>(node: Node<'t>, key: &str, pace: &mut Pace<'_>) -> Result<Option<Node<'t>>> {
    match node.kind() {
        Kind::Array => match key.parse() {
            Ok(at) => element(node, at, pace),
            Err(_) => Ok(None),
        },
        _ => node.member(key, pace),
    }
}

fn element<'t>(node: Node<'t>, at: i64, pace: &mut Pace<'_>) -> Result<Option<Node<'t>>> {
    let at = match usize::try_from(at) {
        Ok(at) => Some(at),
        Err(_) => node.element_count(pace)?.checked_sub(usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX)),
    };
    let Some(at) = at else { return Ok(None) };
    for (place, element) in node.elements().enumerate() {
        if place == at {
            return Ok(Some(element));
        }
        pace.go(element.text().len())?;
    }
    Ok(None)
}

/// Maximum number of steps in a path with `$`: following them recurses once per step.
const STEPS_MAX: usize = 1_000;

/// Maximum number of `..` in a path: each multiplies the values that are looked at by the depth of nesting.
const ANYWHERE_MAX: usize = 4;

/// Parses the steps after `$`.
fn steps(path: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = &path[1..];
    while !rest.is_empty() {
        let wrong = |rest: &str| wrong_path(path, path.len() - rest.len());
        let is_anywhere = rest.starts_with("..");
        if let Some(behind) = rest.strip_prefix("..") {
            if steps.iter().filter(|step| **step == Step::Anywhere).count() == ANYWHERE_MAX {
                return Err(Error::user(format!("a path into JSON has at most {ANYWHERE_MAX} times .."))
                    .with_code(SqlState::STATEMENT_TOO_COMPLEX));
            }
            steps.push(Step::Anywhere);
            // A member follows without a point of its own.
            rest = if behind.starts_with('[') { behind } else { &rest[1..] };
        }
        let (step, behind) = match rest.as_bytes()[0] {
            b'.' => member_step(&rest[1..]),
            b'[' => element_step(&rest[1..]),
            _ => None,
        }
        .ok_or_else(|| wrong(rest))?;
        if steps.len() == STEPS_MAX {
            return Err(Error::user(format!("a path into JSON has at most {STEPS_MAX} steps"))
                .with_code(SqlState::STATEMENT_TOO_COMPLEX));
        }
        steps.push(match step {
            Step::AllMembers | Step::AllElements if is_anywhere => Step::AllParts,
            step => step,
        });
        rest = behind;
    }
    Ok(steps)
}

/// Parses a step after a point: `*`, a key in quotes, or one that ends before the next step.
fn member_step(text: &str) -> Option<(Step, &str)> {
    if let Some(behind) = text.strip_prefix('*') {
        return Some((Step::AllMembers, behind));
    }
    if text.starts_with('"') {
        return quoted(text).map(|(key, behind)| (Step::Key(key), behind));
    }
    let (key, behind) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    (!key.is_empty()).then(|| (Step::Key(key.to_owned()), behind))
}

/// Parses a step after a bracket: `*`, an index, a key in quotes.
fn element_step(text: &str) -> Option<(Step, &str)> {
    if text.starts_with('"') {
        let (key, behind) = quoted(text)?;
        return Some((Step::Key(key), behind.strip_prefix(']')?));
    }
    let (place, behind) = text.split_once(']')?;
    if place == "*" {
        return Some((Step::AllElements, behind));
    }
    let place = place.strip_prefix('#').filter(|place| place.starts_with('-')).unwrap_or(place);
    place.parse().ok().map(|place| (Step::Element(place), behind))
}

/// Parses a key in quotes, in which a backslash escapes the next character.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut key = String::new();
    let mut chars = text[1..].chars();
    loop {
        match chars.next()? {
            '"' => return Some((key, chars.as_str())),
            '\\' => key.push(chars.next()?),
            other => key.push(other),
        }
    }
}

fn wrong_path(path: &str, at: usize) -> Error {
    let place = path[..at].chars().count() + 1;
    Error::user(format!("'{path}' is not a path into JSON: see character {place}"))
        .with_code(SqlState::INVALID_PARAMETER_VALUE)
        .with_hint("paths are such as $.key[0], $.\"a key\"[#-1], $.*, $..key, /key/0, or a key")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounded;

    fn found(text: &str, path: &str) -> Vec<String> {
        let mut all = Vec::new();
        let path = Path::parse(path).unwrap();
        let work = Bounded::new(0);
        path.find_all(Node::new(text), &mut Pace::new(&work), &mut |node| {
            all.push(node.text().to_owned());
            Ok(())
        })
        .unwrap();
        let first = path.find(Node::new(text), &mut Pace::new(&work)).unwrap().map(|node| node.text().to_owned());
        if !path.is_plural() {
            assert_eq!(first, all.first().cloned(), "{text} {path:?}");
        }
        all
    }

    #[test]
    fn paths_lead_somewhere() {
        let text = r#"{"a": [1, {"b c": 2, "0": 3}], "d.e": {"f/g": 4, "*": 5}}"#;
        for (path, value) in [
            ("$.a[0]", "1"),
            ("$.a[#-2]", "1"),
            ("$.a[-1].\"b c\"", "2"),
            ("$[\"a\"][1][\"b c\"]", "2"),
            ("$.a[1].0", "3"),
            ("/a/1/0", "3"),
            ("/d.e/f~1g", "4"),
            ("$.\"d.e\".\"*\"", "5"),
        ] {
            assert_eq!(found(text, path), [value], "{path}");
        }
        assert_eq!(found(text, "d.e").len(), 1);
        assert_eq!(found(text, "$.a[*]").len(), 2);
        assert_eq!(found(text, "$.*.*"), ["4", "5"]);
        assert_eq!(found("[[1, 2], [3], 4]", "$[*][0]"), ["1", "3"]);
        assert_eq!(found(r#"{"a": {"b": 1}, "b": [{"b": 2}, 3]}"#, "$..b"), [r#"[{"b": 2}, 3]"#, "1", "2"]);
        assert_eq!(found("[[1, 2], [3]]", "$..[0]"), ["[1, 2]", "1", "3"]);
        assert_eq!(found(r#"{"a": {"b": {"b": 5}}}"#, "$.a..b.b"), ["5"]);
        assert_eq!(found(r#"{"a": {"b": 1}}"#, "$..*"), [r#"{"b": 1}"#, "1"]);
        assert_eq!(found("[1, [2]]", "$..*"), ["1", "[2]", "2"]);
        for path in ["$.x", "$[0]", "$.a[2]", "$.a[-3]", "$.a[-9223372036854775808]", "/a/x", "/a/-9"] {
            assert!(found(text, path).is_empty(), "{path}");
        }
        assert_eq!(found(text, "$"), [text]);
        assert_eq!(found(text, ""), [text]);
    }

    #[test]
    fn wrong_paths_are_refused() {
        for (path, place) in
            [("$.", 2), ("$a", 2), ("$..", 3), ("$...b", 3), ("$.a[", 4), ("$[x]", 2), ("$é.\"", 2), ("$[#1]", 2)]
        {
            let error = Path::parse(path).unwrap_err();
            assert!(error.message().ends_with(&format!("character {place}")), "{path}: {}", error.message());
        }
        let long = format!("${}", ".*".repeat(STEPS_MAX + 1));
        assert!(Path::parse(&long).unwrap_err().message().contains("at most"));
    }
}
