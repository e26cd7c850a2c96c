//! `path_join`: several paths as one.

use godwit_common::{Error, Result, SqlState};
use godwit_types::SqlType;

use crate::function::{Category, Function, function};
use crate::rows::{Writer, any_texts};

pub(super) fn functions() -> Vec<Function> {
    let description = "The parts of a path with / between them, without . and .. where that is possible";
    vec![
        function(Category::Text, &["path_join"], description)
            .example("path_join('dir/', 'subdir', '../file.csv')", "dir/file.csv")
            .form(any_texts(vec![SqlType::Varchar], true, write_joined)),
    ]
}

/// Joins paths; an absolute one must lead further than those before it.
fn write_joined(paths: &[Option<&[u8]>], out: &mut Writer<'_>) -> Result<Option<()>> {
    let Some(paths) = paths.iter().copied().collect::<Option<Vec<&[u8]>>>() else { return Ok(None) };
    let mut joined = Path::of(paths[0]);
    for path in &paths[1..] {
        let next = Path::of(path);
        if next.root == 0 {
            joined.push(path);
        } else if next.is_within(&joined) {
            joined = next;
        } else {
            let [next, joined] = [next, joined].map(|path| String::from_utf8_lossy(&path.text).into_owned());
            let error = Error::user(format!("'{next}' can't be joined to '{joined}': it doesn't begin with that"));
            return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
        }
    }
    let is_directory = paths[paths.len() - 1].last().copied().is_some_and(is_separator);
    out.push_bytes(if joined.text.is_empty() { b"." } else { &joined.text });
    if is_directory && joined.text.len() > joined.root {
        out.push_bytes(b"/");
    }
    Ok(Some(()))
}

fn is_separator(byte: u8) -> bool {
    byte == b'/' || byte == b'\\'
}

/// A path without needless parts.
struct Path {
    text: Vec<u8>,
    /// Length of what can't be left by `..`: `/`, `s3://bucket/`; 0 if the path is relative.
    root: usize,
}

impl Path {
    fn of(path: &[u8]) -> Self {
        let host = end_of_host(path);
        let mut text = path[..host.unwrap_or(0)].to_vec();
        let rest = &path[text.len()..];
        if host.is_some() || rest.first().copied().is_some_and(is_separator) {
            text.push(b'/');
        }
        let mut of = Self { root: text.len(), text };
        of.push(rest);
        of
    }

    /// Appends the parts of a relative path.
    fn push(&mut self, path: &[u8]) {
        for part in path.split(|&byte| is_separator(byte)) {
            let last = self.last_part();
            match part {
                b"" | b"." => {}
                b".." if self.text[last..].is_empty() && self.root > 0 => {}
                b".." if !matches!(&self.text[last..], b"" | b"..") => {
                    self.text.truncate(last.saturating_sub(1).max(self.root))
                }
                _ => {
                    if self.text.len() > self.root {
                        self.text.push(b'/');
                    }
                    self.text.extend_from_slice(part);
                }
            }
        }
    }

    /// Returns where the last part begins.
    fn last_part(&self) -> usize {
        self.text[self.root..].iter().rposition(|&byte| byte == b'/').map_or(self.root, |at| self.root + at + 1)
    }

    /// Whether it is the other path, or leads further.
    fn is_within(&self, other: &Path) -> bool {
        let Some(further) = self.text.strip_prefix(&other.text[..]) else { return false };
        self.root == other.root && (other.text.len() == other.root || matches!(further.first(), None | Some(b'/')))
    }
}

/// Returns the end of `scheme://host` at the start of a path, if it is there. One letter is no scheme but a drive.
fn end_of_host(path: &[u8]) -> Option<usize> {
    let host = path.iter().position(|&byte| is_separator(byte))? + 2;
    let is_url = host > 4 && path[..host.min(path.len())].ends_with(b"://");
    is_url.then(|| path[host..].iter().position(|&byte| is_separator(byte)).map_or(path.len(), |at| host + at))
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn parts_become_one_path() {
        for (paths, joined) in [
            (&["a", "b"][..], "a/b"),
            (&["a/", "b/", "c"], "a/b/c"),
            (&["a", "b/"], "a/b/"),
            (&["a/b/", ""], "a/b"),
            (&["a", "", ".", "b"], "a/b"),
            (&["a\\b", "c"], "a/b/c"),
            (&["C:\\", "b"], "C:/b"),
            (&["//a", "b"], "/a/b"),
            (&["a/b", "../c"], "a/c"),
            (&["a", ".."], "."),
            (&["a/../../b"], "../b"),
            (&["../..", "b"], "../../b"),
            (&["/..", "b"], "/b"),
            (&["s3://bucket/x", "..", "..", "y"], "s3://bucket/y"),
            (&["s3://b"], "s3://b/"),
            (&["s3:/b", "c"], "s3:/b/c"),
            (&["a:/b", "c"], "a:/b/c"),
            (&["/", "/b"], "/b"),
            (&["/a/b", "/a/b/c"], "/a/b/c"),
            (&["s3://b/x", "s3://b/x/y"], "s3://b/x/y"),
            (&["", "../é"], "../é"),
            (&[""], "."),
            (&["/"], "/"),
        ] {
            let paths: Vec<String> = paths.iter().map(|path| format!("'{path}'")).collect();
            assert_eq!(shown("path_join", &paths.iter().map(String::as_str).collect::<Vec<_>>()), joined, "{paths:?}");
        }
        assert_eq!(shown("path_join", &["'a'", "NULL"]), "NULL");
    }

    #[test]
    fn absolute_parts_lead_further() {
        for (path, other) in
            [("a", "/b"), ("/a", "/ab"), ("", "/"), ("/a", "/"), ("a", "s3://b"), ("s3://a", "s3://ab")]
        {
            let error = error_of("path_join", &[&format!("'{path}'"), &format!("'{other}'")]);
            assert!(error.contains("can't be joined"), "{path} {other}: {error}");
        }
    }
}
