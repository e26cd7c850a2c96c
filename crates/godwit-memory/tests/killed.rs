//! A process that is killed while it spills leaves nothing behind.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use godwit_common::MemoryTag;
use godwit_memory::{BufferConfig, BufferManager, PAGE_BYTES};

/// Set for the process that is to be killed: where it spills.
const DIRECTORY: &str = "GODWIT_KILLED_TEST_DIRECTORY";

/// What the process says when pages are on disk.
const SPILLED: &str = "spilled";

/// Spills forever.
fn spill(directory: &Path) -> ! {
    let config = BufferConfig { temp_directory: directory.to_owned(), ..BufferConfig::new(64 * PAGE_BYTES as u64) };
    let manager = BufferManager::new(config).unwrap();
    loop {
        let pages: Vec<_> =
            (0..256).map(|_| manager.allocate_page(MemoryTag::RowPage, None).unwrap().page().clone()).collect();
        assert!(manager.statistics().temp_file_bytes > 0);
        println!("{SPILLED}");
        drop(pages);
    }
}

#[test]
fn a_killed_process_leaves_no_temporary_file() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        spill(&PathBuf::from(directory));
    }
    let directory = std::env::temp_dir().join(format!("godwit-killed-test-{}", std::process::id()));
    for _ in 0..3 {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_killed_process_leaves_no_temporary_file", "--nocapture"])
            .env(DIRECTORY, &directory)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let has_spilled = output.lines().any(|line| line.unwrap().contains(SPILLED));
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(has_spilled, "the process ended before it spilled");
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    }
    std::fs::remove_dir(directory).unwrap();
}
