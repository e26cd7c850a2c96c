//! Files by pattern: `*` and `?` for parts of a name, `[ab]` for one of several characters, `**` for any number of
//! nested folders.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use glob::Pattern;
use godwit_common::{Error, Result};
use godwit_io::{FileKind, Files, url_scheme};

/// Matches any number of nested folders.
const FOLDERS: &str = "**";

/// Returns true if a path is a pattern.
pub(crate) fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Returns the files that match a pattern, ordered by name; there must be at least one.
pub(crate) fn expand(files: &dyn Files, pattern: &str) -> Result<Vec<PathBuf>> {
    let found = find(files, pattern)?;
    if found.is_empty() {
        return Err(Error::user(format!("no file matches '{pattern}'")).with_hint("check the path and the pattern"));
    }
    Ok(found)
}

/// Returns the files that match a pattern, ordered by name.
pub(crate) fn find(files: &dyn Files, pattern: &str) -> Result<Vec<PathBuf>> {
    let mut parts = Vec::new();
    let (mut start, below) = match url_scheme(pattern) {
        // Two slashes count as one in a path, but not in a URL.
        Some(scheme) => {
            let below = &pattern[scheme.len() + "://".len()..];
            let (server, below) = below.split_once('/').unwrap_or((below, ""));
            (PathBuf::from(format!("{scheme}://{server}")), below)
        }
        None => (PathBuf::new(), pattern),
    };
    for component in Path::new(below).components() {
        let text = component.as_os_str().to_string_lossy();
        match component {
            // Several in a row match the same as one.
            Component::Normal(_) if text == FOLDERS && matches!(parts.last(), Some(Part::Folders)) => {}
            Component::Normal(_) if !parts.is_empty() || is_glob(&text) => parts.push(part(pattern, &text)?),
            // `..` after a pattern is the parent of the matched folder.
            _ if !parts.is_empty() => parts.push(Part::Fixed(component.as_os_str().into())),
            _ => start.push(component),
        }
    }
    if let Some(Part::Folders) = parts.last() {
        parts.push(part(pattern, "*")?);
    }
    let mut found = Vec::new();
    descend(files, start, &parts, &mut found)?;
    found.sort();
    found.dedup();
    Ok(found)
}

/// The requirement for a name between two slashes.
enum Part {
    /// This name.
    Fixed(PathBuf),
    /// A name that matches.
    Like(Pattern),
    /// Any number of folders, including none.
    Folders,
}

fn part(pattern: &str, text: &str) -> Result<Part> {
    if text == FOLDERS {
        return Ok(Part::Folders);
    }
    if !is_glob(text) {
        return Ok(Part::Fixed(text.into()));
    }
    let wrong = |error: glob::PatternError| {
        Error::user(format!("'{pattern}' is not a valid pattern: {}", error.msg))
            .with_hint("* stands for any part of a name, ? for a character, [ab] for one of several, ** for folders")
    };
    Pattern::new(text).map(Part::Like).map_err(wrong)
}

/// Adds the files below `path` whose names match the rest of a pattern.
fn descend(files: &dyn Files, mut path: PathBuf, mut parts: &[Part], found: &mut Vec<PathBuf>) -> Result<()> {
    while let [Part::Fixed(name), rest @ ..] = parts {
        path.push(name);
        parts = rest;
    }
    match parts {
        [Part::Folders, rest @ ..] => {
            // Links may lead in circles: each folder is visited once.
            let mut seen = BTreeSet::new();
            let mut folders = vec![path];
            while let Some(folder) = folders.pop() {
                if identity(files, &folder).is_some_and(|identity| seen.insert(identity)) {
                    folders.extend(entries(files, &folder)?);
                    descend(files, folder, rest, found)?;
                }
            }
        }
        [Part::Like(pattern), rest @ ..] => {
            for entry in entries(files, &path)? {
                if entry.file_name().is_some_and(|name| pattern.matches(&name.to_string_lossy())) {
                    descend(files, entry, rest, found)?;
                }
            }
        }
        [] if files.metadata(&path).is_ok_and(|metadata| metadata.kind == FileKind::File) => found.push(path),
        _ => {}
    }
    Ok(())
}

/// Returns the identity of a folder, whatever its name; `None` if it isn't a folder.
fn identity(files: &dyn Files, folder: &Path) -> Option<(u64, u64)> {
    let found = files.metadata(in_sight(folder)).ok()?;
    (found.kind == FileKind::Folder).then_some(found.identity)
}

/// Returns the content of a folder; nothing if it doesn't exist.
fn entries(files: &dyn Files, folder: &Path) -> Result<Vec<PathBuf>> {
    let listed = match files.entries(in_sight(folder)) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(vec![]);
        }
        listed => listed,
    };
    let listed = listed.map_err(|error| Error::io(format!("reading the folder {}", folder.display()), &error))?;
    Ok(listed.into_iter().filter_map(|entry| Some(folder.join(entry.file_name()?))).collect())
}

/// Returns the folder as a path: the current folder has no name in a relative path.
fn in_sight(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
