//! The ledger against what the operating system counts. A process of its own, so that nothing else grows meanwhile.
#![cfg(target_os = "linux")]

use godwit_common::MemoryTag;
use godwit_memory::{BufferConfig, BufferManager, PAGE_BYTES, Page};

const MIB: u64 = 1 << 20;
const LIMIT: u64 = 128 * MIB;

/// What the memory contract allows on top of the limit.
const OVERHEAD: u64 = 32 * MIB;

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn touched_page(manager: &BufferManager, partition: u32) -> Page {
    let pinned = manager.allocate_page(MemoryTag::RowPage, Some(partition)).unwrap();
    // SAFETY: the page was allocated just now, nobody else has a pin.
    unsafe { pinned.as_mut_slice() }.fill(partition as u8);
    pinned.page().clone()
}

#[test]
fn resident_memory_follows_the_ledger() {
    let start = resident_bytes();
    let manager = BufferManager::new(BufferConfig::new(LIMIT)).unwrap();
    let grown = || resident_bytes().saturating_sub(start);
    let page_total = 3 * LIMIT / PAGE_BYTES as u64;

    // Three times the limit in pages: the rest is on disk.
    let mut pages: Vec<_> = (0..page_total).map(|page| touched_page(&manager, page as u32 % 16)).collect();
    assert!(grown() > LIMIT / 2, "{} bytes grown", grown());
    assert!(grown() <= LIMIT + OVERHEAD, "{} bytes grown", grown());
    let spilled = manager.statistics().spilled_bytes_total;
    assert!((2 * LIMIT..=2 * LIMIT + LIMIT / 8).contains(&spilled), "{spilled} bytes spilled");

    // A reservation drives out pages from all over the arenas; the memory behind it is the caller's.
    let half = (LIMIT / 2) as usize;
    let reservation = manager.reserve(half, MemoryTag::HashTable).unwrap();
    let table = vec![1_u8; half];
    assert!(grown() <= LIMIT + OVERHEAD, "{} bytes grown", grown());

    // Every page comes by again while the table stays.
    for (index, page) in pages.iter().enumerate() {
        let pinned = manager.pin(page).unwrap();
        assert!(pinned.as_slice().iter().all(|&byte| byte == (index % 16) as u8));
    }
    assert!(grown() <= LIMIT + OVERHEAD, "{} bytes grown", grown());
    assert!(table.iter().all(|&byte| byte == 1));
    drop((table, reservation));

    // Freed pages stay resident below the limit, until something else needs the room.
    let mut fresh: Vec<_> = (0..LIMIT / PAGE_BYTES as u64).map(|_| touched_page(&manager, 1)).collect();
    fresh.truncate(fresh.len() / 2);
    assert!(manager.statistics().idle_bytes > LIMIT / 4);
    let reservation = manager.reserve(half, MemoryTag::HashTable).unwrap();
    let table = vec![1_u8; half];
    assert!(grown() <= LIMIT + OVERHEAD, "{} bytes grown", grown());
    assert!(table.iter().all(|&byte| byte == 1));
    drop((table, reservation, fresh));

    // Large pages come and go.
    let large = manager.allocate_large(half, MemoryTag::HashTable).unwrap();
    // SAFETY: as above.
    unsafe { large.as_mut_slice() }.fill(1);
    assert!(grown() <= LIMIT + OVERHEAD, "{} bytes grown", grown());
    drop(large);

    // Freed in an order that leaves holes everywhere, and then altogether.
    let mut position = 0;
    pages.retain(|_| {
        position += 1;
        position % 10 == 0
    });
    let used = manager.used_bytes();
    assert!(grown() <= (5 * used).min(LIMIT) + OVERHEAD, "{} bytes grown, {used} used", grown());
    drop(pages);
    // Pages that were being written go when that has ended.
    manager.wait_for_io();
    assert!(grown() <= OVERHEAD, "{} bytes grown", grown());
    assert_eq!(manager.used_bytes(), 0);
}
