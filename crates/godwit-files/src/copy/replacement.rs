//! The replacement of a folder's files by new ones (`COPY … (OVERWRITE)`).
//!
//! New files take names that nothing has yet, so the old ones stay as they are until all new ones are complete: the
//! statement may read them, and an error leaves the folder as it was.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_io::{FileKind, Files};
use parking_lot::Mutex;

/// The old files and the new ones.
pub(super) struct Replacement {
    files: Arc<dyn Files>,
    old: Vec<PathBuf>,
    /// Those to remove if the statement fails.
    new: Mutex<Vec<PathBuf>>,
}

impl Replacement {
    /// Finds the files with an extension in a folder and below it. Links are left alone.
    pub fn of(files: &Arc<dyn Files>, folder: &Path, extension: &str) -> Result<Self> {
        let old = files_with_extension(&**files, folder, extension)
            .map_err(|error| Error::io(format!("looking for files in {}", folder.display()), &error))?;
        Ok(Self { files: Arc::clone(files), old, new: Mutex::default() })
    }

    /// Takes a name for a new file; returns false if there is a file of that name.
    #[must_use]
    pub fn take(&self, name: &Path) -> bool {
        // Other errors than that there is none are found when the file is created.
        let is_free = self.files.metadata(name).is_err();
        if is_free {
            self.new.lock().push(name.to_owned());
        }
        is_free
    }

    /// Removes the old files: the new ones are complete.
    pub fn finish(&self) -> Result<()> {
        self.new.lock().clear();
        let remove = |path: &PathBuf| {
            let removed = self.files.remove_file(path);
            removed.map_err(|error| Error::io(format!("removing {}", path.display()), &error))
        };
        self.old.iter().try_for_each(remove)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        for path in self.new.get_mut() {
            // Those that weren't complete never got their names.
            let _ = self.files.remove_file(path);
        }
    }
}

fn files_with_extension(files: &dyn Files, folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    let extension = format!(".{extension}");
    while let Some(folder) = folders.pop() {
        for path in files.entries(&folder)? {
            if files.is_link(&path) {
                continue;
            }
            match files.metadata(&path)?.kind {
                FileKind::Folder => folders.push(path),
                FileKind::File if path.to_string_lossy().ends_with(&extension) => found.push(path),
                FileKind::File | FileKind::Stream => {}
            }
        }
    }
    Ok(found)
}
