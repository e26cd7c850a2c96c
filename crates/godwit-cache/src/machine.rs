//! The caches of the machine, as Linux describes them below `/sys`.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Where Linux describes the caches of the first processor. The others have the same sizes on all machines that can
/// partition their cache.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// Sizes of the caches that matter here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSizes {
    /// Size of one last-level cache; a machine may have several, each shared by some of its cores.
    pub last_level_bytes: u64,
    /// Number of ways of the last-level cache.
    pub ways: u32,
    /// Size of a cache line.
    pub line_bytes: u64,
    /// The largest cache below the last level, usually a core's own.
    pub core_bytes: u64,
    /// Where these numbers come from.
    pub origin: Origin,
}

/// Where sizes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The operating system reported them.
    System,
    /// It reported none, or nonsense.
    Assumed,
}

impl CacheSizes {
    /// The sizes assumed if the system reports none: those of a small server.
    pub const ASSUMED: Self =
        Self { last_level_bytes: 32 << 20, ways: 16, line_bytes: 64, core_bytes: 1 << 20, origin: Origin::Assumed };

    /// Sizes of this machine, or [`CacheSizes::ASSUMED`]. Read once.
    pub fn of_this_machine() -> Self {
        static SIZES: OnceLock<CacheSizes> = OnceLock::new();
        *SIZES.get_or_init(|| Self::read(Path::new(CACHES)).unwrap_or(Self::ASSUMED))
    }

    /// Reads the folder that describes a processor's caches (`index0`, `index1` and so on). `None` if there is no data
    /// cache of the second level or above, or if the description makes no sense.
    fn read(folder: &Path) -> Option<Self> {
        let mut caches: Vec<Described> =
            fs::read_dir(folder).ok()?.flatten().filter_map(|entry| Described::read(&entry.path())).collect();
        caches.sort_by_key(|cache| cache.level);
        let last = caches.pop().filter(|last| last.level >= 2)?;
        let core_bytes = caches.pop().map_or(0, |below| below.bytes);
        Some(Self {
            last_level_bytes: last.bytes,
            ways: last.ways,
            line_bytes: last.line_bytes,
            core_bytes,
            origin: Origin::System,
        })
    }
}

/// A cache for data.
struct Described {
    level: u32,
    bytes: u64,
    ways: u32,
    line_bytes: u64,
}

impl Described {
    fn read(folder: &Path) -> Option<Self> {
        let text = |file: &str| fs::read_to_string(folder.join(file)).ok().map(|text| text.trim().to_owned());
        let number = |file| text(file)?.parse::<u64>().ok().filter(|&number| number > 0);
        if text("type")? == "Instruction" {
            return None;
        }
        Some(Self {
            level: number("level")?.try_into().ok()?,
            bytes: parse_size(&text("size")?)?,
            ways: number("ways_of_associativity")?.try_into().ok()?,
            line_bytes: number("coherency_line_size")?,
        })
    }
}

/// Parses a size such as `32768K`; 0 counts as none.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(folder: &Path, index: u32, [level, kind, size, ways]: [&str; 4]) {
        let folder = folder.join(format!("index{index}"));
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in [("level", level), ("type", kind), ("size", size), ("ways_of_associativity", ways)] {
            fs::write(folder.join(file), format!("{text}\n")).unwrap();
        }
        fs::write(folder.join("coherency_line_size"), "64\n").unwrap();
    }

    #[test]
    fn the_thesis_machine() {
        let folder = tempfile::tempdir().unwrap();
        describe(folder.path(), 0, ["1", "Data", "32K", "8"]);
        describe(folder.path(), 1, ["1", "Instruction", "32K", "8"]);
        describe(folder.path(), 3, ["3", "Unified", "56320K", "20"]);
        describe(folder.path(), 2, ["2", "Unified", "256K", "8"]);
        fs::write(folder.path().join("uevent"), "").unwrap();
        let caches = CacheSizes::read(folder.path()).unwrap();
        assert_eq!((caches.last_level_bytes, caches.ways), (55 << 20, 20));
        assert_eq!((caches.core_bytes, caches.line_bytes, caches.origin), (256 << 10, 64, Origin::System));
    }

    #[test]
    fn nonsense_is_not_believed() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(CacheSizes::read(&folder.path().join("missing")), None);
        assert_eq!(CacheSizes::read(folder.path()), None);
        describe(folder.path(), 0, ["1", "Data", "32K", "8"]);
        assert_eq!(CacheSizes::read(folder.path()), None, "a first level alone is no shared cache");
        describe(folder.path(), 1, ["3", "Unified", "0K", "0"]);
        assert_eq!(CacheSizes::read(folder.path()), None);
        describe(folder.path(), 1, ["3", "Unified", "8M", "16"]);
        let caches = CacheSizes::read(folder.path()).unwrap();
        assert_eq!((caches.last_level_bytes, caches.core_bytes), (8 << 20, 32 << 10));
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [("32K", Some(32 << 10)), ("8M", Some(8 << 20)), ("1G", Some(1 << 30)), ("512", Some(512))]
        {
            assert_eq!(parse_size(text), bytes);
        }
        for text in ["", "K", "0K", "12KK", "-1K", "x", "99999999999999999G"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
        assert!(CacheSizes::of_this_machine().last_level_bytes > 0);
    }
}
