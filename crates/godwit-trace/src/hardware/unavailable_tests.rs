//! Tests the meaning of the kernel's errors, given the facts about the user.

use super::*;
use crate::hardware::processor::{Places, SampledEvent};
use rustix::io::Errno;
use std::fs;

const FREE: Facts = Facts { paranoid: Some(2), is_capable: false, is_filtered: false };

fn facts_of(paranoid: &str, status: &str) -> Facts {
    let folder = tempfile::tempdir().unwrap();
    let processes = folder.path().join("proc");
    fs::create_dir_all(processes.join("sys/kernel")).unwrap();
    fs::create_dir_all(processes.join("self")).unwrap();
    fs::write(processes.join("sys/kernel/perf_event_paranoid"), paranoid).unwrap();
    fs::write(processes.join("self/status"), status).unwrap();
    Facts::read(&Places { processes, devices: folder.path().into() })
}

#[test]
fn facts_are_read() {
    let status = "Name:\tgodwit\nCapEff:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n";
    assert_eq!(facts_of("2\n", status), FREE);
    let container = "CapEff:\t00000000a80425fb\nSeccomp:\t2\n";
    assert_eq!(facts_of("-1\n", container), Facts { paranoid: Some(-1), is_filtered: true, ..FREE });
    let with_perfmon = "CapEff:\t0000004000000000\nSeccomp:\t2\n";
    assert_eq!(facts_of("4\n", with_perfmon), Facts { paranoid: Some(4), is_capable: true, is_filtered: true });
    assert_eq!(facts_of("none", ""), Facts { paranoid: None, ..FREE });
}

#[test]
fn the_setting_is_blamed_if_it_forbids() {
    let user_only = SampledEvent::page_faults();
    let mut kernel_too = SampledEvent::page_faults();
    kernel_too.exclude_kernel = false;
    let strict = Facts { paranoid: Some(3), ..FREE };
    for error in [Errno::ACCESS, Errno::PERM] {
        assert_eq!(strict.why_not_opened(&user_only, error), Unavailable::Paranoid { value: 3, most: 2 });
        assert_eq!(FREE.why_not_opened(&kernel_too, error), Unavailable::Paranoid { value: 2, most: 1 });
        assert!(matches!(FREE.why_not_opened(&user_only, error), Unavailable::Forbidden { .. }));
        let capable = Facts { is_capable: true, ..strict };
        assert!(matches!(capable.why_not_opened(&user_only, error), Unavailable::Forbidden { .. }));
    }
    let text = strict.why_not_opened(&user_only, Errno::ACCESS).to_string();
    assert!(text.contains("perf_event_paranoid is 3 and must be at most 2"), "{text}");
    assert!(text.contains("CAP_PERFMON"), "{text}");
}

#[test]
fn a_filter_is_blamed_if_there_is_one() {
    let event = SampledEvent::page_faults();
    let filtered = Facts { is_filtered: true, ..FREE };
    for error in [Errno::PERM, Errno::NOSYS, Errno::ACCESS] {
        assert_eq!(filtered.why_not_opened(&event, error), Unavailable::SystemCallFilter);
    }
    // The kernel's own error, while the setting also forbids it.
    let both = Facts { paranoid: Some(3), ..filtered };
    assert_eq!(both.why_not_opened(&event, Errno::PERM), Unavailable::SystemCallFilter);
    assert_eq!(both.why_not_opened(&event, Errno::ACCESS), Unavailable::Paranoid { value: 3, most: 2 });
}

#[test]
fn other_errors_are_told_with_the_event() {
    let event = SampledEvent::page_faults();
    for error in [Errno::INVAL, Errno::NOENT, Errno::OPNOTSUPP, Errno::NODEV, Errno::NOSYS] {
        let text = FREE.why_not_opened(&event, error).to_string();
        assert!(
            text.starts_with("the kernel can't sample addresses with the event page-faults for a thread ("),
            "{text}"
        );
    }
    let text = FREE.why_not_opened(&event, Errno::MFILE).to_string();
    assert!(text.starts_with("couldn't open an event for another thread: Too many open files"), "{text}");
    let text = FREE.why_not_mapped(262_144, Errno::PERM).to_string();
    assert!(text.starts_with("a ring buffer of 262144 bytes") && text.contains("perf_event_mlock_kb"), "{text}");
    assert!(FREE.why_not_mapped(4_096, Errno::NOMEM).to_string().starts_with("couldn't map a ring buffer"));
}
