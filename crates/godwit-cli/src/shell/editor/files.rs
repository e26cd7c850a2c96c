//! Completion of paths.

use std::fs;
use std::path::Path;

use crate::shell::dot::in_home;

/// Maximum number of a folder's entries to examine, so that one with millions doesn't hold up the user.
const ENTRIES_MAX: usize = 20_000;

/// Returns paths with this prefix; folders end in a slash.
pub(super) fn paths(begun: &str) -> Vec<String> {
    let (folder, name) = begun.rfind('/').map_or(("", begun), |at| begun.split_at(at + 1));
    if begun.contains("://") || begun.contains(['*', '\n']) {
        return Vec::new();
    }
    let place = if folder.is_empty() { Path::new(".").to_owned() } else { in_home(folder) };
    let Ok(entries) = fs::read_dir(place) else { return Vec::new() };
    let mut paths: Vec<String> = entries
        .take(ENTRIES_MAX)
        .flatten()
        .filter_map(|entry| {
            let entry_name = entry.file_name().into_string().ok()?;
            let is_hidden = entry_name.starts_with('.') && !name.starts_with('.');
            if is_hidden || !entry_name.starts_with(name) || entry_name.contains(char::is_control) {
                return None;
            }
            let slash = if entry.path().is_dir() { "/" } else { "" };
            Some(format!("{folder}{entry_name}{slash}"))
        })
        .collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::paths;

    #[test]
    fn folders_and_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        for file in ["data.csv", "data/a b.parquet", ".hidden"] {
            std::fs::write(folder.path().join(file), "").unwrap();
        }
        let at = |name: &str| paths(&folder.path().join(name).display().to_string());
        let place = folder.path().display();
        assert_eq!(at("da"), [format!("{place}/data.csv"), format!("{place}/data/")]);
        assert_eq!(paths(&format!("{place}/data/")), [format!("{place}/data/a b.parquet")]);
        assert_eq!(paths(&format!("{place}/")).len(), 2);
        assert_eq!(at(".h").len(), 1);
        assert!(paths("s3://bucket/").is_empty() && paths("/no/such/folder/").is_empty());
    }
}
