//! The program's own code in memory: most of it runs once, while a statement is planned, and stays resident for no
//! benefit.
//!
//! The kernel maps code in when it first runs, 64 KiB at a time, and keeps it mapped; a shell that has planned one
//! query holds some 50 MiB of it. Those pages are copies of the program's file: they can be unmapped at any moment, and
//! code that runs again is mapped from the page cache at a few microseconds apiece. Under a tight limit that is the
//! cheapest memory to reclaim.

use std::ops::Range;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::mm::Advice;

/// Minimum time between releases. Hot code is back within a millisecond; more frequent releases would cost too much.
const INTERVAL: Duration = Duration::from_millis(50);

/// The mappings of the program's code, found on first use.
#[derive(Default)]
pub(crate) struct CodePages {
    mappings: OnceLock<Vec<Range<usize>>>,
    released: Mutex<Option<Instant>>,
}

impl CodePages {
    /// Unmaps the code; what still runs is mapped in again. Returns false if that was done a moment ago.
    pub(crate) fn release(&self) -> bool {
        {
            let mut released = self.released.lock();
            if released.is_some_and(|before| before.elapsed() < INTERVAL) {
                return false;
            }
            *released = Some(Instant::now());
        }
        for mapping in self.mappings.get_or_init(|| code_mappings().unwrap_or_default()) {
            // SAFETY: the mapping is code of the running program: private, backed by its file, never written to (it is
            // executable and not writable, and the program has no text relocations), and mapped until the process ends.
            // Dropping such pages loses nothing: the next access reads the same bytes from the file.
            let dropped = unsafe { rustix::mm::madvise(mapping.start as *mut _, mapping.len(), Advice::LinuxDontNeed) };
            // Advice only: pages that stay cost memory, not correctness.
            let _ = dropped;
        }
        true
    }
}

/// The executable mappings of the program's file.
fn code_mappings() -> Option<Vec<Range<usize>>> {
    let program = std::fs::read_link("/proc/self/exe").ok()?;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    Some(maps.lines().filter_map(|line| code_mapping(line, program.to_str()?)).collect())
}

/// The range of a line "from-to r-xp offset device inode path" that is code of `program`.
fn code_mapping(line: &str, program: &str) -> Option<Range<usize>> {
    let mut fields = line.split_ascii_whitespace();
    let (from, to) = fields.next()?.split_once('-')?;
    let is_code = fields.next()? == "r-xp" && line.ends_with(program);
    let address = |text| usize::from_str_radix(text, 16).ok();
    is_code.then_some(address(from)?..address(to)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resident pages that are copies of files, in pages.
    fn resident_file_pages() -> u64 {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        statm.split_whitespace().nth(2).unwrap().parse().unwrap()
    }

    #[test]
    fn only_code_of_the_program_is_found() {
        let line = "55d0c0a00000-55d0c4e00000 r-xp 01400000 fe:00 1234    /usr/bin/godwit";
        assert_eq!(code_mapping(line, "/usr/bin/godwit"), Some(0x55d0c0a00000..0x55d0c4e00000));
        assert_eq!(code_mapping(line, "/usr/bin/other"), None);
        assert_eq!(code_mapping(&line.replace("r-xp", "rw-p"), "/usr/bin/godwit"), None);
        assert_eq!(code_mapping("", "/usr/bin/godwit"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri has no pages of code")]
    fn the_program_runs_on_in_less_memory() {
        let pages = CodePages::default();
        assert!(!code_mappings().unwrap().is_empty());
        let before = resident_file_pages();
        assert!(pages.release());
        assert!(resident_file_pages() < before);
        assert!(!pages.release(), "not twice in a moment");
    }
}
