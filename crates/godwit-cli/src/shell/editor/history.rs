//! History of input: a file of the user's, to which each entry is appended when it is run.

use std::fs;
use std::path::PathBuf;

use godwit::without_secrets;
use rustyline::Editor;
use rustyline::history::FileHistory;

use super::ShellHelper;
use crate::shell::complain;

/// Maximum number of entries kept, and their maximum length.
pub(in crate::shell) const ENTRIES_MAX: usize = 10_000;
const ENTRY_BYTES_MAX: usize = 64 << 10;

/// Settings with secret values; statements with them aren't kept.
const SECRETS: [&str; 4] = ["s3_access_key_id", "s3_secret_access_key", "s3_session_token", "http_bearer_token"];

/// The history file; none if there is no place for it.
pub(in crate::shell) struct HistoryFile(Option<PathBuf>);

impl HistoryFile {
    /// Returns `godwit/history` in the user's state folder.
    pub(in crate::shell) fn of_user() -> Self {
        Self(user_folder("XDG_STATE_HOME", ".local/state").map(|state| state.join("godwit/history")))
    }

    pub(in crate::shell) fn load(&self, editor: &mut Editor<ShellHelper, FileHistory>) {
        if let Some(path) = &self.0 {
            // The first time, there is none.
            let _ = editor.load_history(path);
        }
    }

    /// Adds an entry. Failures are reported once.
    pub(in crate::shell) fn add(&mut self, editor: &mut Editor<ShellHelper, FileHistory>, text: &str) {
        let text = text.trim_end();
        if text.is_empty() || text.len() > ENTRY_BYTES_MAX || has_secrets(text) {
            return;
        }
        let added = editor.add_history_entry(text);
        let Some(path) = &self.0 else { return };
        if !matches!(added, Ok(true)) {
            return;
        }
        let saved = path.parent().map_or(Ok(()), fs::create_dir_all).map_err(|error| error.to_string());
        let saved = saved.and_then(|()| editor.append_history(path).map_err(|error| error.to_string()));
        if let Err(error) = saved {
            complain(format_args!("the history can't be saved to {}: {error}\n", path.display()));
            self.0 = None;
        }
    }
}

fn has_secrets(text: &str) -> bool {
    let lower = text.to_lowercase();
    without_secrets(text) != text || (lower.contains('=') && SECRETS.iter().any(|name| lower.contains(name)))
}

/// Returns the folder named by a variable, or else one in the user's home.
pub(in crate::shell) fn user_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder(variable).or_else(|| folder("HOME").map(|home| home.join(in_home)))
}

#[cfg(test)]
mod tests {
    use super::has_secrets;

    #[test]
    fn secrets_arent_kept() {
        assert!(has_secrets("SET S3_secret_access_key = 'x';"));
        assert!(has_secrets("FROM 'https://user:password@example.com/a.csv';"));
        assert!(!has_secrets("SHOW s3_secret_access_key;") && !has_secrets("FROM 'https://example.com/a.csv';"));
    }
}
