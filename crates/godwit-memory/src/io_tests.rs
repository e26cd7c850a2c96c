//! Tests of the I/O threads: write ahead, read ahead, compress, fail.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use godwit_common::{ErrorKind, MemoryTag, Named};
use godwit_io::{Fault, SimulatedFiles};

use crate::{BufferConfig, BufferManager, EvictionPolicy, OwnerCounters, PAGE_BYTES, Page, SpillCompression};

const PAGE: u64 = PAGE_BYTES as u64;

fn pool_of(pages: u64, compression: SpillCompression) -> (BufferManager, SimulatedFiles) {
    let files = SimulatedFiles::new();
    let config = BufferConfig { compression, ..BufferConfig::new(pages * PAGE) };
    (BufferManager::with_files(config, Arc::new(files.clone())).unwrap(), files)
}

/// Even pages can be compressed, odd ones can't.
fn byte_of(page: u64, index: usize) -> u8 {
    let index = if page.is_multiple_of(2) { index / 64 } else { index };
    ((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ page) >> 56) as u8
}

fn page_of(manager: &BufferManager, number: u64) -> godwit_common::Result<Page> {
    let pinned = manager.allocate_page(MemoryTag::RowPage, Some(number as u32 % 5))?;
    // SAFETY: the page was created here and has no other user.
    for (index, byte) in unsafe { pinned.as_mut_slice() }.iter_mut().enumerate() {
        *byte = byte_of(number, index);
    }
    Ok(pinned.page().clone())
}

fn assert_content(manager: &BufferManager, page: &Page, number: u64) {
    let pinned = manager.pin_unchanged(page).unwrap();
    assert!(pinned.as_slice().iter().enumerate().all(|(index, &byte)| byte == byte_of(number, index)), "page {number}");
}

/// Waits for what I/O threads do in their own time.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn assert_empty(manager: &BufferManager, files: &SimulatedFiles) {
    manager.wait_for_io();
    let statistics = manager.statistics();
    assert_eq!((statistics.used_bytes, statistics.evictable_bytes, statistics.temp_file_bytes), (0, 0, 0));
    assert_eq!(files.stored_bytes(), 0);
}

#[test]
fn what_just_fits_is_not_written_and_the_first_page_too_many_writes_some_ahead() {
    const LIMIT: u64 = 128;
    let (manager, files) = pool_of(LIMIT, SpillCompression::None);
    let mut pages: Vec<_> = (0..LIMIT).map(|number| page_of(&manager, number).unwrap()).collect();
    assert_eq!(files.writes(), 0);
    pages.push(page_of(&manager, LIMIT).unwrap());
    wait_until("pages are written ahead", || files.writes() >= LIMIT / 16 - 2);
    assert!(files.writes() <= LIMIT / 8, "{} pages were written for one", files.writes());
    assert_eq!(manager.used_bytes(), LIMIT * PAGE, "written pages stay until somebody needs their memory");
    for (number, page) in pages.iter().enumerate() {
        assert_content(&manager, page, number as u64);
    }
    drop(pages);
    assert_empty(&manager, &files);
}

#[test]
fn pages_are_read_ahead_where_memory_is_free() {
    let (manager, files) = pool_of(64, SpillCompression::Auto);
    let pages: Vec<_> = (0..64).map(|number| page_of(&manager, number).unwrap()).collect();
    let pressure = manager.reserve(32 * PAGE_BYTES, MemoryTag::HashTable).unwrap();
    let (loaded, evicted): (Vec<_>, Vec<_>) = (0..64).partition(|&number| pages[number as usize].is_loaded());
    assert!(evicted.len() >= 32 && !loaded.is_empty());
    drop(pressure);
    let wished = &evicted[..16];
    manager.read_ahead(wished.iter().map(|&number| &pages[number as usize]));
    wait_until("pages come back", || wished.iter().all(|&number| pages[number as usize].is_loaded()));
    let reread = manager.statistics().reread_bytes_total;
    assert_eq!(reread, 16 * PAGE);
    for &number in wished {
        assert_content(&manager, &pages[number as usize], number);
    }
    assert_eq!(manager.statistics().reread_bytes_total, reread, "they weren't read twice");
    drop(pages);
    assert_empty(&manager, &files);
}

#[test]
fn a_page_that_cannot_be_read_ahead_is_reported_when_it_is_pinned() {
    let (manager, files) = pool_of(8, SpillCompression::None);
    let pages: Vec<_> = (0..8).map(|number| page_of(&manager, number).unwrap()).collect();
    drop(manager.reserve(8 * PAGE_BYTES, MemoryTag::HashTable).unwrap());
    files.fail_read(1, Fault::BitFlip);
    manager.read_ahead(&pages[..2]);
    wait_until("the other page comes back", || pages[..2].iter().any(Page::is_loaded));
    wait_until("the damaged page is given up", || manager.used_bytes() == PAGE);
    for (number, page) in pages.iter().enumerate() {
        assert_content(&manager, page, number as u64);
    }
    drop(pages);
    assert_empty(&manager, &files);
}

#[test]
fn compressed_pages_take_less_and_come_back_as_they_were() {
    for compression in [SpillCompression::Lz4, SpillCompression::Zstd] {
        let (manager, files) = pool_of(48, compression);
        let pages: Vec<_> = (0..200).map(|number| page_of(&manager, number).unwrap()).collect();
        let statistics = manager.statistics();
        assert!(statistics.stored_bytes_total < statistics.spilled_bytes_total * 3 / 4, "{statistics:?}");
        assert!(statistics.temp_file_bytes < statistics.spilled_bytes_total * 3 / 4, "{statistics:?}");
        assert_eq!(manager.spill_codec(), compression.name());
        for _ in 0..2 {
            for (number, page) in pages.iter().enumerate() {
                manager.read_ahead(&pages[number..pages.len().min(number + 4)]);
                assert_content(&manager, page, number as u64);
            }
        }
        drop(pages);
        assert_empty(&manager, &files);
    }
}

#[test]
fn a_damaged_compressed_page_is_an_error() {
    let (manager, files) = pool_of(2, SpillCompression::Lz4);
    let pages: Vec<_> = (0..6).map(|number| page_of(&manager, number).unwrap()).collect();
    let evicted = (0..6).find(|&number: &usize| number.is_multiple_of(2) && !pages[number].is_loaded()).unwrap();
    files.fail_read(1, Fault::BitFlip);
    assert_eq!(manager.pin(&pages[evicted]).unwrap_err().kind(), ErrorKind::Corrupt);
    assert_content(&manager, &pages[evicted], evicted as u64);
    drop(pages);
    assert_empty(&manager, &files);
}

/// The same work with a fault at each write in turn: it ends with the right pages or with a clear error, and never
/// hangs.
#[test]
fn a_fault_at_any_write_is_a_clear_error_and_the_pool_goes_on() {
    for fault in [Fault::DiskFull, Fault::ShortWrite, Fault::Broken] {
        for call in (1..=40).step_by(3) {
            let (manager, files) = pool_of(64, SpillCompression::Auto);
            files.fail_write(call, fault);
            let mut errors = 0;
            let mut check = |error: &godwit_common::Error| {
                errors += 1;
                let expected = if fault == Fault::Broken { ErrorKind::Io } else { ErrorKind::Resource };
                assert_eq!(error.kind(), expected, "{error}");
            };
            let mut pages = Vec::new();
            for number in 0..96 {
                let page = page_of(&manager, number).inspect_err(&mut check).or_else(|_| page_of(&manager, number));
                pages.push(page.expect("the disk is well again"));
            }
            for (number, page) in pages.iter().enumerate() {
                let _ = manager.pin_unchanged(page).inspect_err(&mut check);
                assert_content(&manager, page, number as u64);
            }
            assert!(errors <= 1 && manager.statistics().evictions >= 32);
            drop(pages);
            assert_empty(&manager, &files);
        }
    }
}

#[test]
fn a_disk_that_stays_broken_fails_every_request_and_keeps_what_is_in_memory() {
    let (manager, files) = pool_of(64, SpillCompression::None);
    let pages: Vec<_> = (0..64).map(|number| page_of(&manager, number).unwrap()).collect();
    for call in 1..=1000 {
        files.fail_write(call, Fault::DiskFull);
    }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(page_of(&manager, 0).unwrap_err().kind(), ErrorKind::Resource);
                }
            });
        }
    });
    for (number, page) in pages.iter().enumerate() {
        assert!(page.is_loaded());
        assert_content(&manager, page, number as u64);
    }
}

#[test]
fn the_policy_decides_between_cached_and_temporary_pages() {
    for (policy, expected) in [
        // Cached pages, then the partition needed last.
        (EvictionPolicy::PersistentFirst, ["cached", "partition 3", "partition 1"]),
        (EvictionPolicy::TemporaryFirst, ["partition 3", "partition 1", "cached"]),
        // In the order in which they were used.
        (EvictionPolicy::Mixed, ["partition 1", "cached", "partition 3"]),
    ] {
        let (manager, _files) = pool_of(8, SpillCompression::None);
        manager.set_eviction_policy(policy);
        let temporary = |partition| manager.allocate_page(MemoryTag::RowPage, Some(partition)).unwrap().page().clone();
        let first = temporary(1);
        let (cached, pin) = manager.cache(PAGE_BYTES, MemoryTag::Reader, |_| Ok(())).unwrap().unwrap();
        drop(pin);
        let third = temporary(3);
        let mut pressure = vec![manager.reserve(5 * PAGE_BYTES, MemoryTag::HashTable).unwrap()];
        let state =
            || [("partition 1", first.is_loaded()), ("cached", cached.is_loaded()), ("partition 3", third.is_loaded())];
        let mut order = Vec::new();
        for _ in 0..3 {
            let before = state();
            pressure.push(manager.reserve(PAGE_BYTES, MemoryTag::HashTable).unwrap());
            order.extend(
                before
                    .into_iter()
                    .zip(state())
                    .filter(|(before, after)| before.1 && !after.1)
                    .map(|(before, _)| before.0),
            );
        }
        assert_eq!(order, expected, "{policy:?}");
        assert_eq!(manager.eviction_policy(), policy);
    }
}

#[test]
fn evictable_pages_are_told_by_owner_and_files_by_slot() {
    let (manager, files) = pool_of(16, SpillCompression::None);
    let owner = OwnerCounters::new();
    let scoped = manager.scoped(owner.clone());
    let own: Vec<_> = (0..4).map(|number| page_of(&scoped, number).unwrap()).collect();
    let others: Vec<_> = (4..10).map(|number| page_of(&manager, number).unwrap()).collect();
    let pinned = manager.pin(&own[0]).unwrap();
    let tag = MemoryTag::RowPage as usize;
    assert_eq!((manager.evictable().of(&owner)[tag], manager.evictable().total()[tag]), (3 * PAGE, 9 * PAGE));
    assert_eq!(manager.evictable().total()[tag], manager.evictable_bytes());
    assert!(manager.temp_files().is_empty());
    drop(manager.reserve(15 * PAGE_BYTES, MemoryTag::HashTable).unwrap());
    assert_eq!(manager.evictable().total()[tag], 0, "all but the pinned one went");
    let [file] = &manager.temp_files()[..] else { panic!("one size of slot, one file") };
    assert_eq!((file.slot_bytes, file.used_slots, file.bytes), (Some(PAGE), 9, file.slots * PAGE));
    drop((own, others, pinned));
    assert_empty(&manager, &files);
    assert!(manager.temp_files().is_empty());
}

#[test]
fn large_pages_are_compressed_like_small_ones() {
    const BYTES: usize = 5 * PAGE_BYTES + 1;
    for compression in [SpillCompression::Lz4, SpillCompression::Zstd] {
        let (manager, files) = pool_of(16, compression);
        let pages: Vec<_> = (0..12)
            .map(|number| {
                let pinned = manager.allocate_large(BYTES, MemoryTag::HeapPage).unwrap();
                // SAFETY: the page was created here and has no other user.
                for (index, byte) in unsafe { pinned.as_mut_slice() }.iter_mut().enumerate() {
                    *byte = byte_of(number, index);
                }
                pinned.page().clone()
            })
            .collect();
        let statistics = manager.statistics();
        assert!(statistics.stored_bytes_total < statistics.spilled_bytes_total * 3 / 4, "{statistics:?}");
        assert!(manager.temp_files().iter().all(|file| file.slot_bytes.is_none()));
        for _ in 0..2 {
            for (number, page) in pages.iter().enumerate() {
                manager.read_ahead(&pages[number..pages.len().min(number + 2)]);
                assert_content(&manager, page, number as u64);
            }
        }
        drop(pages);
        assert_empty(&manager, &files);
    }
}
