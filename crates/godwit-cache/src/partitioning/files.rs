//! The interface to the kernel's files, which tests can replace.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Where the kernel's files are.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Mount point of resctrl.
    pub resctrl: PathBuf,
    /// Mount point of proc.
    pub proc: PathBuf,
}

impl Default for Paths {
    fn default() -> Self {
        Self { resctrl: "/sys/fs/resctrl".into(), proc: "/proc".into() }
    }
}

/// Operations on the kernel's files. All of them may be called concurrently.
pub trait SystemFiles: Send + Sync {
    /// The text of a file.
    fn read(&self, path: &Path) -> io::Result<String>;
    /// Opens an existing file that accepts commands.
    fn commands(&self, path: &Path) -> io::Result<Box<dyn CommandFile>>;
    /// Creates a folder; in resctrl that creates a group with its files.
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder; in resctrl that moves its threads to the default group, and removes its files.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Names of the folders in a folder.
    fn folders(&self, path: &Path) -> io::Result<Vec<String>>;
    /// The target of a symbolic link.
    fn link(&self, path: &Path) -> io::Result<PathBuf>;
    /// The calling thread's number in Linux.
    fn thread_id(&self) -> u32;
    /// True if a thread that was moved stays for a while, to save moves.
    fn paces_moves(&self) -> bool {
        true
    }
}

/// A kernel file that accepts commands. Kept open, since opening it costs more than most commands.
pub trait CommandFile: Send + Sync {
    /// Passes `command` to the kernel in a single call, since the kernel treats each call as a separate command.
    fn give(&self, command: &str) -> io::Result<()>;
}

impl CommandFile for fs::File {
    fn give(&self, command: &str) -> io::Result<()> {
        let mut file = self;
        match file.write(command.as_bytes())? {
            written if written == command.len() => Ok(()),
            _ => Err(io::ErrorKind::WriteZero.into()),
        }
    }
}

/// The files of the operating system.
#[derive(Clone, Copy, Debug)]
pub struct OsFiles;

impl SystemFiles for OsFiles {
    fn read(&self, path: &Path) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn commands(&self, path: &Path) -> io::Result<Box<dyn CommandFile>> {
        Ok(Box::new(fs::OpenOptions::new().write(true).truncate(true).open(path)?))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn folders(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    #[cfg(target_os = "linux")]
    fn thread_id(&self) -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
    }

    #[cfg(not(target_os = "linux"))]
    fn thread_id(&self) -> u32 {
        0
    }
}
