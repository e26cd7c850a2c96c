//! How much memory the process may use.

use std::fs;
use std::path::{Path, PathBuf};

use godwit_common::{Error, Result, format_bytes};

use crate::config::minimum_memory_limit;

/// Share of the available memory that the default limit takes, in percent: the rest is for the host, the allocator and
/// the page cache.
const DEFAULT_PERCENT: u64 = 80;

/// Assumed where the system doesn't say how much memory it has.
const FALLBACK_BYTES: u64 = 4 << 30;

/// The limit if the user sets none, and an explanation.
pub fn default_memory_limit() -> (u64, String) {
    let (bytes, source) = available_memory(Path::new("/"));
    let limit = bytes / 100 * DEFAULT_PERCENT;
    (limit, format!("{DEFAULT_PERCENT} % of {} ({source})", format_bytes(bytes)))
}

/// Refuses limits with which some statements could not finish.
pub fn check_memory_limit(limit_bytes: u64, workers: usize) -> Result<()> {
    let minimum = minimum_memory_limit(workers);
    if limit_bytes >= minimum {
        return Ok(());
    }
    Err(Error::user(format!(
        "a memory limit of {} is below the minimum of {} for {workers} threads",
        format_bytes(limit_bytes),
        format_bytes(minimum),
    ))
    .with_hint("raise memory_limit or lower threads"))
}

/// The smallest of physical memory and the limits of the process's cgroups. `root` is "/", except in tests.
fn available_memory(root: &Path) -> (u64, &'static str) {
    let physical = physical_memory(root).map_or((FALLBACK_BYTES, "assumed"), |bytes| (bytes, "physical memory"));
    [
        cgroup_v2_limit(root).map(|bytes| (bytes, "cgroup v2 limit")),
        cgroup_v1_limit(root).map(|bytes| (bytes, "cgroup v1 limit")),
    ]
    .into_iter()
    .flatten()
    .chain([physical])
    .min_by_key(|&(bytes, _)| bytes)
    .expect("physical memory is always there")
}

fn physical_memory(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

fn cgroup_v2_limit(root: &Path) -> Option<u64> {
    let path = cgroup_path(root, |controllers| controllers.is_empty())?;
    smallest_limit(&root.join("sys/fs/cgroup"), &path, "memory.max")
}

fn cgroup_v1_limit(root: &Path) -> Option<u64> {
    let path = cgroup_path(root, |controllers| controllers.split(',').any(|name| name == "memory"))?;
    smallest_limit(&root.join("sys/fs/cgroup/memory"), &path, "memory.limit_in_bytes")
}

/// The path in the line "id:controllers:path" whose controllers match.
fn cgroup_path(root: &Path, matches: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let text = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let path = fields.next()?;
        matches(controllers).then(|| PathBuf::from(path.trim_start_matches('/')))
    })
}

/// A group is bound by its own limit and by those of its ancestors. In a container the path may be that on the host, of
/// which only the mount's root exists here.
fn smallest_limit(mount: &Path, path: &Path, file: &str) -> Option<u64> {
    path.ancestors()
        .filter_map(|group| fs::read_to_string(mount.join(group).join(file)).ok())
        .filter_map(|text| text.trim().parse().ok())
        .min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, files: &[(&str, &str)], expected: (u64, &str)) {
        let root = std::env::temp_dir().join(format!("godwit-limits-test-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(available_memory(&root), expected, "{name}");
        let _ = fs::remove_dir_all(root);
    }

    #[test]
    fn the_smallest_bound_counts() {
        const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       2097152 kB\nMemFree: 1 kB\n");
        check("unknown", &[], (FALLBACK_BYTES, "assumed"));
        check("bare", &[MEMINFO], (2 << 30, "physical memory"));
        let v2 = [
            MEMINFO,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/memory.max", "1073741824\n"),
        ];
        check("v2", &v2, (1 << 30, "cgroup v2 limit"));
        let v1 = [
            MEMINFO,
            ("proc/self/cgroup", "5:cpu:/x\n4:memory,hugetlb:/x\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
        ];
        check("v1", &v1, (512 << 20, "cgroup v1 limit"));
        let unlimited = [v1[0], v1[1], ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")];
        check("unlimited", &unlimited, (2 << 30, "physical memory"));
    }

    #[test]
    fn limits_below_the_minimum_are_refused() {
        assert!(check_memory_limit(96 << 20, 2).is_ok());
        let error = check_memory_limit(95 << 20, 2).unwrap_err();
        assert!(error.message().contains("96.0 MiB"), "{error}");
    }
}
