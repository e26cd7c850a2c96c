//! Tests of the pool's public interface, mostly on simulated disks.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use godwit_common::{ErrorKind, MemoryTag};
use godwit_io::{Fault, SimulatedFiles};

use crate::codec::Codec;
use crate::{BufferConfig, BufferManager, IoMethod, OwnerCounters, PAGE_BYTES, Page, PinnedPage, SpillCompression};

const PAGE: u64 = PAGE_BYTES as u64;

/// A pool on a simulated disk that stores pages as they are.
fn pool_of(pages: u64) -> (BufferManager, SimulatedFiles) {
    pool_with(BufferConfig { compression: SpillCompression::None, ..BufferConfig::new(pages * PAGE) })
}

fn pool_with(config: BufferConfig) -> (BufferManager, SimulatedFiles) {
    let files = SimulatedFiles::new();
    (BufferManager::with_files(config, Arc::new(files.clone())).unwrap(), files)
}

fn block_of(page: &PinnedPage, block: usize, seed: u64) -> [u8; 8] {
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (block + page.len()) as u64).to_le_bytes()
}

/// Writes to each 4 KiB of the page, and to its end.
fn fill(page: &PinnedPage, seed: u64) {
    // SAFETY: the tests give each page to one thread.
    let content = unsafe { page.as_mut_slice() };
    for (block, bytes) in content.chunks_mut(4096).enumerate() {
        let start = bytes.len().saturating_sub(8);
        let length = bytes.len() - start;
        bytes[start..].copy_from_slice(&block_of(page, block, seed)[..length]);
    }
}

fn assert_filled(page: &PinnedPage, seed: u64) {
    for (block, bytes) in page.as_slice().chunks(4096).enumerate() {
        let start = bytes.len().saturating_sub(8);
        assert_eq!(bytes[start..], block_of(page, block, seed)[..bytes.len() - start], "block {block}");
    }
}

fn filled_page(manager: &BufferManager, seed: u64) -> Page {
    let pinned = manager.allocate_page(MemoryTag::RowPage, None).unwrap();
    fill(&pinned, seed);
    pinned.page().clone()
}

fn assert_empty(manager: &BufferManager, files: &SimulatedFiles) {
    manager.wait_for_io();
    let statistics = manager.statistics();
    assert_eq!(statistics.used_bytes, 0);
    assert_eq!(statistics.evictable_bytes, 0);
    assert_eq!(statistics.tag_bytes.iter().sum::<u64>(), 0);
    assert_eq!(statistics.temp_file_bytes, 0);
    assert_eq!(files.stored_bytes(), 0);
}

#[test]
fn a_pool_that_is_gone_has_closed_its_files() {
    let files = Arc::new(SimulatedFiles::new());
    let config = BufferConfig { compression: SpillCompression::None, ..BufferConfig::new(4 * PAGE) };
    let manager = BufferManager::with_files(config, files.clone()).unwrap();
    let pages: Vec<_> = (0..16).map(|seed| filled_page(&manager, seed)).collect();
    assert!(manager.statistics().temp_file_bytes > 0);
    drop((pages, manager));
    // A thread may still be busy with a page.
    let deadline = Instant::now() + Duration::from_secs(20);
    while Arc::strong_count(&files) > 1 {
        assert!(Instant::now() < deadline, "the files are held");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn pages_come_back_as_they_were() {
    let (manager, files) = pool_of(8);
    let pages: Vec<_> = (0..64).map(|seed| filled_page(&manager, seed)).collect();
    assert!(manager.statistics().evictions >= 56);
    assert_eq!(manager.statistics().temp_file_bytes, 56 * PAGE);
    for _ in 0..2 {
        for (seed, page) in pages.iter().enumerate() {
            assert_filled(&manager.pin(page).unwrap(), seed as u64);
        }
    }
    let statistics = manager.statistics();
    assert!(statistics.peak_bytes <= 8 * PAGE);
    assert_eq!(statistics.spilled_bytes_total, statistics.evictions * PAGE, "pin counts as a change");
    drop(pages);
    assert_empty(&manager, &files);
}

#[test]
fn unchanged_pages_are_not_written_twice() {
    let (manager, files) = pool_of(2);
    let pages: Vec<_> = (0..8).map(|seed| filled_page(&manager, seed)).collect();
    for _ in 0..3 {
        for (seed, page) in pages.iter().enumerate() {
            assert_filled(&manager.pin_unchanged(page).unwrap(), seed as u64);
        }
    }
    // Pages whose turn it was to leave may still be in memory, with their writes in flight: a request that finds a
    // clean page doesn't wait.
    let evict_all = || drop(manager.reserve(2 * PAGE_BYTES, MemoryTag::HashTable).unwrap());
    evict_all();
    assert_eq!(files.writes(), 8);
    fill(&manager.pin(&pages[0]).unwrap(), 100);
    for (seed, page) in pages.iter().enumerate().skip(1) {
        assert_filled(&manager.pin_unchanged(page).unwrap(), seed as u64);
    }
    assert_filled(&manager.pin_unchanged(&pages[0]).unwrap(), 100);
    evict_all();
    assert!(!pages.iter().any(Page::is_loaded));
    assert_eq!(files.writes(), 9);
}

#[test]
fn the_partition_needed_last_leaves_first_then_the_least_recently_used() {
    let (manager, _files) = pool_of(6);
    let allocate = |partition| manager.allocate_page(MemoryTag::RowPage, partition).unwrap().page().clone();
    let pages =
        [allocate(None), allocate(Some(1)), allocate(Some(3)), allocate(Some(3)), allocate(Some(2)), allocate(None)];
    drop(manager.pin(&pages[2]).unwrap());
    pages[5].set_partition(9);
    let mut order = Vec::new();
    let mut pressure = Vec::new();
    for _ in 0..6 {
        let before: Vec<_> = pages.iter().map(Page::is_loaded).collect();
        pressure.push(manager.reserve(PAGE_BYTES, MemoryTag::HashTable).unwrap());
        order.extend((0..6).filter(|&page| before[page] != pages[page].is_loaded()));
    }
    // Page 5 moved to partition 9 while it was queued without a partition: it is evicted when its old list is reached.
    assert_eq!(order, [3, 2, 4, 1, 0, 5]);
}

#[test]
fn a_pinned_page_stays_and_the_error_names_the_holders() {
    let (manager, files) = pool_of(4);
    let pinned: Vec<_> = (0..3).map(|_| manager.allocate_page(MemoryTag::RowPage, None).unwrap()).collect();
    let reservation = manager.reserve(PAGE_BYTES, MemoryTag::HashTable).unwrap();
    let second_pin = pinned[0].clone();
    let error = manager.allocate_page(MemoryTag::Sort, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Resource);
    assert!(error.message().contains("row page 768.0 KiB, hash table 256.0 KiB"), "{error}");
    assert!(manager.try_reserve(1, MemoryTag::Sort).is_none());
    assert!(manager.reserve(5 * PAGE_BYTES, MemoryTag::Sort).unwrap_err().message().contains("in one piece"));
    assert_eq!(manager.used_bytes(), 4 * PAGE);
    drop((pinned, reservation));
    assert_eq!(manager.used_bytes(), PAGE, "the clone is a pin and a handle of its own");
    drop(second_pin);
    assert_empty(&manager, &files);
}

#[test]
fn reservations_grow_by_eviction_and_keep_their_size_when_they_cannot() {
    let (manager, files) = pool_of(4);
    let pages: Vec<_> = (0..3).map(|seed| filled_page(&manager, seed)).collect();
    let mut reservation = manager.reserve(PAGE_BYTES, MemoryTag::HashTable).unwrap();
    reservation.resize(3 * PAGE_BYTES).unwrap();
    assert_eq!(pages.iter().filter(|page| page.is_loaded()).count(), 1);
    let pin = manager.pin(&pages[0]).unwrap();
    assert!(reservation.resize(4 * PAGE_BYTES).is_err());
    assert_eq!(reservation.bytes(), 3 * PAGE_BYTES);
    reservation.resize(100).unwrap();
    assert_eq!(manager.used_bytes(), PAGE + 100);
    assert_eq!(manager.available_bytes(), 3 * PAGE - 100);
    drop((pin, pages, reservation));
    assert_empty(&manager, &files);
}

#[test]
fn large_pages_are_zeroed_and_spill_into_files_of_their_own() {
    let (manager, files) = pool_of(16);
    let sizes = [1, 5000, PAGE_BYTES + 1, 2_500_000];
    let pages: Vec<_> = sizes
        .iter()
        .map(|&bytes| {
            let pinned = manager.allocate_large(bytes, MemoryTag::HeapPage).unwrap();
            assert_eq!(pinned.len(), bytes);
            assert!(pinned.as_slice().iter().all(|&byte| byte == 0));
            fill(&pinned, bytes as u64);
            pinned.page().clone()
        })
        .collect();
    let pressure = manager.reserve(16 * PAGE_BYTES, MemoryTag::HashTable).unwrap();
    assert_eq!(files.open_files(), sizes.len());
    drop(pressure);
    for (page, &bytes) in pages.iter().zip(&sizes) {
        assert!(!page.is_loaded());
        assert_filled(&manager.pin(page).unwrap(), bytes as u64);
    }
    assert_eq!(files.open_files(), 0, "a page pinned for writing needs no copy");
    drop(pages);
    assert_empty(&manager, &files);
}

#[test]
fn owners_see_what_is_allocated_in_their_scope() {
    let (manager, _files) = pool_of(2);
    let (query, operator) = (OwnerCounters::new(), OwnerCounters::new());
    let in_query = manager.scoped(query.clone());
    let in_operator = in_query.scoped(operator.clone());
    let reservation = in_query.reserve(1000, MemoryTag::Reader).unwrap();
    let page = filled_page(&in_operator, 1);
    assert_eq!((query.reserved_bytes(), operator.reserved_bytes()), (PAGE + 1000, PAGE));
    let others = manager.reserve(PAGE_BYTES, MemoryTag::Other).unwrap();
    assert_eq!((query.reserved_bytes(), operator.reserved_bytes()), (1000, 0));
    assert_eq!((query.spilled_bytes(), operator.spilled_bytes()), (PAGE, PAGE));
    drop((others, reservation));
    drop(manager.pin(&page).unwrap());
    assert_eq!((query.reread_bytes(), operator.peak_bytes()), (PAGE, PAGE));
    drop(page);
    assert_eq!((query.reserved_bytes(), query.peak_bytes()), (0, PAGE + 1000));
}

#[test]
fn the_limit_can_be_lowered_as_far_as_pages_can_go() {
    let (manager, _files) = pool_of(8);
    let pages: Vec<_> = (0..8).map(|seed| filled_page(&manager, seed)).collect();
    let pin = manager.pin(&pages[7]).unwrap();
    manager.set_memory_limit(3 * PAGE).unwrap();
    assert_eq!(manager.used_bytes(), 3 * PAGE);
    assert!(manager.set_memory_limit(PAGE - 1).is_err());
    assert_eq!(manager.memory_limit(), 3 * PAGE);
    assert_filled(&pin, 7);
}

#[test]
fn a_full_disk_is_a_clear_error_and_loses_nothing() {
    for fault in [Fault::DiskFull, Fault::ShortWrite, Fault::Broken] {
        let (manager, files) = pool_of(4);
        let pages: Vec<_> = (0..6).map(|seed| filled_page(&manager, seed)).collect();
        files.fail_write(2, fault);
        let error = manager.reserve(3 * PAGE_BYTES, MemoryTag::HashTable).unwrap_err();
        let expected = if fault == Fault::Broken { ErrorKind::Io } else { ErrorKind::Resource };
        assert_eq!(error.kind(), expected, "{error}");
        assert_eq!(manager.used_bytes(), 3 * PAGE, "what was evicted before the fault is free");
        drop(manager.reserve(4 * PAGE_BYTES, MemoryTag::HashTable).unwrap());
        for (seed, page) in pages.iter().enumerate() {
            assert_filled(&manager.pin(page).unwrap(), seed as u64);
        }
        drop(pages);
        assert_empty(&manager, &files);
    }
}

#[test]
fn a_damaged_or_unreadable_page_is_an_error_and_the_pool_goes_on() {
    for (fault, expected) in [(Fault::BitFlip, ErrorKind::Corrupt), (Fault::Broken, ErrorKind::Io)] {
        let (manager, files) = pool_of(2);
        let pages: Vec<_> = (0..3).map(|seed| filled_page(&manager, seed)).collect();
        let evicted = pages.iter().position(|page| !page.is_loaded()).unwrap();
        files.fail_read(1, fault);
        assert_eq!(manager.pin(&pages[evicted]).unwrap_err().kind(), expected);
        assert_filled(&manager.pin(&pages[evicted]).unwrap(), evicted as u64);
        drop(pages);
        assert_empty(&manager, &files);
    }
}

#[test]
fn the_quota_of_temporary_space_is_kept() {
    let (manager, files) = pool_of(2);
    manager.set_max_temp_directory_bytes(Some(3 * PAGE));
    let mut pages: Vec<_> = (0..5).map(|seed| filled_page(&manager, seed)).collect();
    let error = manager.allocate_page(MemoryTag::RowPage, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Resource);
    assert!(error.hint().unwrap().contains("max_temp_directory_size"), "{error}");
    assert_eq!(files.stored_bytes(), 3 * PAGE);
    let evicted = pages.iter().position(|page| !page.is_loaded()).unwrap();
    pages.remove(evicted);
    manager.allocate_page(MemoryTag::RowPage, None).unwrap();
    manager.set_max_temp_directory_bytes(None);
    let more: Vec<_> = (0..5).map(|seed| filled_page(&manager, seed)).collect();
    drop((pages, more));
    assert_empty(&manager, &files);
}

#[test]
fn some_of_the_disk_is_left_to_others() {
    let (manager, files) = pool_of(2);
    files.set_disk_bytes((256 << 20) + 100 * PAGE);
    let mut pages = Vec::new();
    let error = loop {
        match manager.allocate_page(MemoryTag::RowPage, None) {
            Ok(pinned) => pages.push(pinned.page().clone()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Resource);
    assert!(error.message().contains("is full"), "{error}");
    assert_eq!(files.stored_bytes(), 64 * PAGE, "space is looked at each 64 pages");
    assert!(manager.allocate_large(PAGE_BYTES, MemoryTag::HeapPage).is_err());
    drop(pages);
    assert_empty(&manager, &files);
}

#[test]
fn with_force_spill_every_unpin_evicts() {
    let files = SimulatedFiles::new();
    let config = BufferConfig { force_spill: true, ..BufferConfig::new(8 * PAGE) };
    let manager = BufferManager::with_files(config, Arc::new(files.clone())).unwrap();
    let pages: Vec<_> = (0..4).map(|seed| filled_page(&manager, seed)).collect();
    assert!(pages.iter().all(|page| !page.is_loaded()));
    assert_eq!(manager.used_bytes(), 0);
    for (seed, page) in pages.iter().enumerate() {
        let pin = manager.pin(page).unwrap();
        let other = pin.clone();
        drop(pin);
        assert_filled(&other, seed as u64);
    }
    assert_eq!(manager.statistics().evictions, 8);
    drop(pages);
    assert_empty(&manager, &files);
}

#[test]
fn a_new_temp_directory_takes_the_next_spills_and_the_old_files_go() {
    let base = std::env::temp_dir().join(format!("godwit-memory-test-{}", std::process::id()));
    let config = BufferConfig { temp_directory: base.join("first"), ..BufferConfig::new(2 * PAGE) };
    let manager = BufferManager::new(config).unwrap();
    assert!(!base.exists(), "nothing is created before the first spill");
    let first: Vec<_> = (0..4).map(|seed| filled_page(&manager, seed)).collect();
    manager.set_temp_directory(base.join("second"));
    let second: Vec<_> = (4..8).map(|seed| filled_page(&manager, seed)).collect();
    for (seed, page) in first.iter().chain(&second).enumerate() {
        assert_filled(&manager.pin(page).unwrap(), seed as u64);
    }
    assert!(manager.statistics().temp_file_bytes >= 6 * PAGE);
    for directory in ["first", "second"] {
        assert_eq!(std::fs::read_dir(base.join(directory)).unwrap().count(), 0, "files have no name");
    }
    drop((first, second));
    assert_eq!(manager.statistics().temp_file_bytes, 0);
    std::fs::remove_dir_all(base).unwrap();
}

#[test]
fn the_temporary_file_shrinks_when_its_end_is_free() {
    let (manager, files) = pool_of(2);
    let mut pages: Vec<_> = (0..300).map(|seed| filled_page(&manager, seed)).collect();
    assert_eq!(files.stored_bytes(), 298 * PAGE);
    pages.truncate(100);
    assert!(files.stored_bytes() <= 100 * PAGE + 64 * PAGE);
    assert_eq!(files.stored_bytes(), manager.statistics().temp_file_bytes);
}

#[test]
fn a_request_waits_for_a_spill_that_frees_enough_for_two() {
    let (manager, _files) = pool_of(2);
    for round in 0..300 {
        let pinned = manager.allocate_page(MemoryTag::RowPage, None).unwrap();
        let evictable = filled_page(&manager, round);
        let start = Barrier::new(2);
        let reserve = || {
            start.wait();
            manager.reserve(1, MemoryTag::HashTable).map(drop)
        };
        thread::scope(|scope| {
            let other = scope.spawn(reserve);
            reserve().unwrap();
            other.join().unwrap().unwrap();
        });
        drop((pinned, evictable));
    }
}

/// A reproducible stream of numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// One thread's share of the storm: pages, pins and reservations come and go, contents are checked at every pin.
fn storm(manager: &BufferManager, shared: &[Page], random: &mut Random, steps: u64) {
    let mut pages: Vec<(Page, u64)> = Vec::new();
    let mut pins: Vec<(PinnedPage, u64)> = Vec::new();
    let mut reservations = Vec::new();
    for step in 0..steps {
        match random.below(12) {
            0..4 => {
                let partition = [None, Some(random.below(16) as u32)][random.below(2) as usize];
                let pinned = if random.below(10) == 0 {
                    manager.allocate_large(1 + random.below(600_000) as usize, MemoryTag::HeapPage)
                } else {
                    manager.allocate_page(MemoryTag::RowPage, partition)
                };
                let pinned = pinned.unwrap();
                fill(&pinned, step);
                pages.push((pinned.page().clone(), step));
            }
            4..8 if !pages.is_empty() => {
                let chosen = random.below(pages.len() as u64) as usize;
                let (page, seed) = &mut pages[chosen];
                let pinned = if random.below(2) == 0 {
                    manager.pin_unchanged(page).unwrap()
                } else {
                    let pinned = manager.pin(page).unwrap();
                    assert_filled(&pinned, *seed);
                    *seed = step;
                    fill(&pinned, step);
                    pinned
                };
                assert_filled(&pinned, *seed);
                if pins.iter().all(|(pin, _)| pin.page().bytes() != page.bytes() || pin.as_ptr() != pinned.as_ptr()) {
                    pins.push((pinned, *seed));
                }
                if pins.len() > 3 {
                    pins.remove(0);
                }
            }
            8 if !pages.is_empty() => {
                pages.swap_remove(random.below(pages.len() as u64) as usize);
            }
            9 => reservations.push(manager.reserve(random.below(300_000) as usize, MemoryTag::HashTable).unwrap()),
            10 => {
                let seed = random.below(shared.len() as u64);
                assert_filled(&manager.pin_unchanged(&shared[seed as usize]).unwrap(), seed);
            }
            _ => {
                reservations.clear();
                manager.read_ahead(pages.iter().map(|(page, _)| page).take(8));
            }
        }
        reservations.truncate(4);
        pages.truncate(60);
    }
}

fn check_storm(change: BufferConfig, steps: u64) {
    const THREADS: u64 = 4;
    // Those of I/O threads, each with a buffer for each page of a batch.
    const SPILL_BUFFERS_MAX: u64 = 4 * 8 * Codec::encoded_bytes_max(PAGE_BYTES) as u64;
    // Each thread holds at most 4 pins and an allocation of up to 3 pages each, and 4 reservations of up to 2 pages.
    let limit = THREADS * 24 * PAGE;
    let (manager, files) = pool_with(BufferConfig { memory_limit: limit, ..change });
    let shared: Vec<_> = (0..40).map(|seed| filled_page(&manager, seed)).collect();
    let finished = AtomicBool::new(false);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !finished.load(Relaxed) {
                assert!(manager.used_bytes() <= limit + SPILL_BUFFERS_MAX);
                thread::yield_now();
            }
        });
        let workers: Vec<_> = (1..=THREADS)
            .map(|seed| {
                let (manager, shared) = (&manager, &shared);
                scope.spawn(move || storm(manager, shared, &mut Random(seed * 7919), steps))
            })
            .collect();
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        finished.store(true, Relaxed);
        watcher.join().unwrap();
        for result in results {
            result.unwrap();
        }
    });
    let statistics = manager.statistics();
    assert!(statistics.evictions > 100 && statistics.reread_bytes_total > 0, "the storm must spill: {statistics:?}");
    assert!(statistics.peak_bytes <= limit);
    drop(shared);
    assert_empty(&manager, &files);
}

#[test]
fn a_storm_of_threads_finds_every_page_intact() {
    for io_method in [IoMethod::Auto, IoMethod::Threads] {
        check_storm(BufferConfig { io_method, ..BufferConfig::new(0) }, 4000);
    }
}

#[test]
fn a_storm_of_compressed_pages_finds_every_page_intact() {
    for compression in [SpillCompression::Lz4, SpillCompression::Zstd] {
        check_storm(BufferConfig { compression, ..BufferConfig::new(0) }, 1500);
    }
}

#[test]
fn a_storm_with_forced_spills_finds_every_page_intact() {
    check_storm(BufferConfig { force_spill: true, ..BufferConfig::new(0) }, 1000);
}

#[test]
fn a_storm_on_a_failing_disk_loses_no_page() {
    const THREADS: u64 = 4;
    let (manager, files) = pool_of(THREADS * 4);
    let mut random = Random(42);
    for _ in 0..300 {
        let fault = [Fault::DiskFull, Fault::ShortWrite, Fault::Broken][random.below(3) as usize];
        files.fail_write(1 + random.below(2000), fault);
        files.fail_read(1 + random.below(2000), [Fault::Broken, Fault::BitFlip][random.below(2) as usize]);
    }
    let errors: u64 = thread::scope(|scope| {
        let worker = |seed: u64| {
            let (mut random, mut pages, mut errors) = (Random(seed), Vec::new(), 0);
            for step in 0..1500 {
                if random.below(2) == 0 || pages.is_empty() {
                    match manager.allocate_page(MemoryTag::RowPage, Some(random.below(4) as u32)) {
                        Ok(pinned) => {
                            fill(&pinned, step);
                            pages.push((pinned.page().clone(), step));
                        }
                        Err(_) => errors += 1,
                    }
                } else {
                    let (page, seed) = &pages[random.below(pages.len() as u64) as usize];
                    match manager.pin(page) {
                        Ok(pinned) => assert_filled(&pinned, *seed),
                        Err(_) => errors += 1,
                    }
                }
                if pages.len() > 40 {
                    pages.swap_remove(random.below(40) as usize);
                }
            }
            errors
        };
        let workers: Vec<_> = (1..=THREADS).map(|seed| scope.spawn(move || worker(seed))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert!(errors > 100, "only {errors} faults were met");
    assert_empty(&manager, &files);
}

#[test]
fn cached_pages_make_room_for_intermediates_and_are_never_written() {
    const PAGES: usize = 8;
    let manager = BufferManager::new(BufferConfig::new((PAGES * PAGE_BYTES) as u64)).unwrap();
    let fill = |byte: u8| {
        move |target: &mut [u8]| {
            target.fill(byte);
            Ok(())
        }
    };
    let mut cached = Vec::new();
    while let Some((page, pinned)) = manager.cache(PAGE_BYTES, MemoryTag::Reader, fill(cached.len() as u8)).unwrap() {
        assert_eq!(pinned.as_ref()[7], cached.len() as u8);
        cached.push(page);
    }
    assert_eq!(cached.len(), PAGES / 2, "half of the limit stays free for operators");
    let kept = cached[1].pin().expect("nobody needed the room yet");
    let pages: Vec<_> = (0..PAGES - 1).map(|_| manager.allocate_page(MemoryTag::RowPage, None).unwrap()).collect();
    assert_eq!(cached.iter().filter(|page| page.pin().is_some()).count(), 1, "all but the pinned one are gone");
    assert_eq!(kept.as_ref()[PAGE_BYTES - 1], 1);
    assert_eq!(manager.statistics().spilled_bytes_total, 0);
    drop((kept, pages, cached));
    assert_eq!(manager.used_bytes(), 0);
}

#[test]
fn a_cached_page_that_cannot_be_filled_leaves_nothing_behind() {
    let manager = BufferManager::new(BufferConfig::new((4 * PAGE_BYTES) as u64)).unwrap();
    let failed = manager.cache(1000, MemoryTag::Reader, |_| Err(godwit_common::Error::corrupt("a test")));
    assert!(failed.is_err());
    assert_eq!(manager.used_bytes(), 0);
}
