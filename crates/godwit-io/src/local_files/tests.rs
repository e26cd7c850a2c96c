use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::AtomicU32;

use super::*;

/// A folder that is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let name = format!("godwit-files-test-{}-{}", std::process::id(), SERIAL.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let names = DiskSystem.entries(&self.0).unwrap();
        names.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = DiskSystem.create(path)?;
    file.write_all(text.as_bytes())?;
    file.commit()
}

#[test]
fn a_new_file_is_there_when_it_is_whole() {
    let folder = Folder::new();
    let path = folder.path("a");
    let mut dropped = DiskSystem.create(&path).unwrap();
    dropped.write_all(b"part").unwrap();
    #[cfg(target_os = "linux")]
    assert!(folder.names().is_empty(), "what isn't finished has no name");
    drop(dropped);
    assert!(folder.names().is_empty());
    write(&path, "first").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let Input::File(old) = DiskSystem.open(&path).unwrap() else { panic!("it is a file") };
    let mut second = DiskSystem.create(&path).unwrap();
    second.write_all(b"second").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first");
    second.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(folder.names(), ["a"]);
    let mut buffer = [0; 5];
    old.read_exact_at(&mut buffer, 0).unwrap();
    assert_eq!(&buffer, b"first");
    assert_eq!(old.read_exact_at(&mut buffer, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn where_files_need_a_name_it_is_a_hidden_one() {
    let folder = Folder::new();
    let hidden = hidden_name(&folder.path("a"));
    let new = |text: &str| {
        let file = OpenOptions::new().write(true).create_new(true).open(&hidden).unwrap();
        let mut new = LocalNewFile { file, path: folder.path("a"), hidden: Some(hidden.clone()) };
        new.write_all(text.as_bytes()).unwrap();
        new
    };
    drop(new("dropped"));
    assert!(folder.names().is_empty());
    new("kept").commit().unwrap();
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn the_target_of_a_link_is_written_and_the_link_stays() {
    let folder = Folder::new();
    fs::create_dir(folder.path("data")).unwrap();
    fs::write(folder.path("data/real"), "old").unwrap();
    symlink("data/real", folder.path("link")).unwrap();
    symlink("link", folder.path("link of a link")).unwrap();
    symlink("data/none", folder.path("dangling")).unwrap();
    symlink("circle", folder.path("circle")).unwrap();
    for (link, target) in [("link", "data/real"), ("link of a link", "data/real"), ("dangling", "data/none")] {
        write(&folder.path(link), link).unwrap();
        assert_eq!(fs::read_to_string(folder.path(target)).unwrap(), link);
        assert!(fs::symlink_metadata(folder.path(link)).unwrap().is_symlink());
    }
    assert!(write(&folder.path("circle"), "").is_err());
    assert_eq!(write(&folder.path("data"), "").unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert_eq!(write(&folder.path("none/a"), "").unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
#[cfg(target_os = "linux")]
fn an_open_descriptor_is_written_in_place() {
    let folder = Folder::new();
    let mut file = File::create(folder.path("a")).unwrap();
    file.write_all(b"head ").unwrap();
    write(Path::new(&format!("/dev/fd/{}", file.as_raw_fd())), "tail").unwrap();
    assert_eq!(fs::read(folder.path("a")).unwrap(), b"head tail");
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn a_stream_has_one_reader() {
    let folder = Folder::new();
    let path = folder.path("pipe");
    rustix::fs::mkfifoat(CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    assert_eq!(DiskSystem.metadata(&path).unwrap().kind, FileKind::Stream);
    let read = |text: &str| {
        std::thread::scope(|scope| {
            scope.spawn(|| write(&path, text).unwrap());
            let input = DiskSystem.open(&path).unwrap();
            assert_eq!(DiskSystem.open(&path).err().unwrap().kind(), io::ErrorKind::ResourceBusy);
            let mut found = String::new();
            input.reader().read_to_string(&mut found).unwrap();
            found
        })
    };
    assert_eq!((read("one"), read("two")), ("one".to_owned(), "two".to_owned()));
    assert_eq!(folder.names(), ["pipe"]);
}

#[test]
fn the_wait_for_a_writer_ends_when_the_statement_stops() {
    use crate::interruptible;
    use std::sync::atomic::{AtomicBool, Ordering};

    let folder = Folder::new();
    let path = folder.path("pipe");
    rustix::fs::mkfifoat(CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let is_stopped = Arc::new(AtomicBool::new(false));
    let read = || DiskSystem.open(&path).unwrap().reader().read_to_string(&mut String::new());
    let error = std::thread::scope(|scope| {
        let reader = scope.spawn(|| interruptible(is_stopped.clone(), read).unwrap_err());
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!reader.is_finished(), "a pipe without a writer isn't at its end");
        is_stopped.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(error.to_string().contains("interrupted"), "{error}");
}
