//! Memory of pages: frames of [`PAGE_BYTES`], carved from large mappings.
//!
//! ```text
//!   arena (32 MiB mapping)   │ block 0 (2 MiB, a huge page) │ block 1 │ ... │ block 15 │
//!                            │ f0 f1 f2 f3 f4 f5 f6 f7      │
//!   frame:   absent ──open block──► idle ──allocate──► used
//!              ▲                     │ ▲                 │
//!              └──release to system──┘ └──────free───────┘
//! ```
//!
//! The first touch of a frame makes its whole huge page resident, so opening a block makes all its frames idle:
//! *used + idle* is an honest upper bound on what is resident. Frames go back to the system as whole blocks where
//! possible; a block of which only a part goes back is excluded from the kernel's huge pages, which would otherwise
//! fill the holes again. Where huge pages are slow to get (`huge_pages.rs`), a block is opened in small pages, and the
//! kernel may collapse them into a huge one later, in the background.

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use godwit_common::Result;
use parking_lot::{Mutex, MutexGuard};

use crate::config::{ARENA_BYTES, HUGE_PAGE_BYTES, PAGE_BYTES};
use crate::huge_pages::HugePages;
use crate::system_memory::{advise_huge, map, release_to_system, take_back, unmap};

const BLOCK_FRAMES: usize = HUGE_PAGE_BYTES / PAGE_BYTES;
const BLOCKS: usize = ARENA_BYTES / HUGE_PAGE_BYTES;

const _: () = assert!(BLOCK_FRAMES == 8, "a block is a byte of the masks");
const _: () = assert!(BLOCK_FRAMES * BLOCKS == u128::BITS as usize, "an arena is a mask");

/// Zeroed memory straight from the system, on huge pages if it is large enough and they pay off.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping belongs to the process, not to the thread that made it.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(bytes: usize, huge_pages: &HugePages) -> Result<Self> {
        let start = map(bytes)?;
        if bytes >= HUGE_PAGE_BYTES {
            // SAFETY: the range has just been mapped.
            unsafe { huge_pages.prepare(start, bytes) };
        }
        Ok(Self { start, bytes })
    }

    /// Gives up ownership without unmapping; [`from_raw`](Self::from_raw) takes it back.
    pub(crate) fn into_raw(self) -> NonNull<u8> {
        ManuallyDrop::new(self).start
    }

    /// # Safety
    /// `start` came from [`into_raw`](Self::into_raw) of a mapping of `bytes` bytes, and this is called once for it.
    pub(crate) unsafe fn from_raw(start: NonNull<u8>, bytes: usize) -> Self {
        Self { start, bytes }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and is no longer used when it is dropped.
        unsafe { unmap(self.start, self.bytes) };
    }
}

struct Arena {
    mapping: Mapping,
    /// Frames that are resident and free, one bit each.
    idle: u128,
    /// Frames that aren't resident. Frames that are neither idle nor absent are used, or on their way to one of these.
    absent: u128,
    /// Blocks that the kernel mustn't turn into huge pages, because they have holes.
    holed_blocks: u16,
    /// Blocks that were opened in small pages, and stay that way until they are released, unless the kernel collapses
    /// them.
    small_blocks: u16,
}

impl Arena {
    fn new() -> Result<Self> {
        let mapping = Mapping { start: map(ARENA_BYTES)?, bytes: ARENA_BYTES };
        // SAFETY: the range has just been mapped.
        unsafe { advise_huge(mapping.start, ARENA_BYTES, true) };
        Ok(Self { mapping, idle: 0, absent: u128::MAX, holed_blocks: 0, small_blocks: 0 })
    }

    fn frame_at(&self, frame: usize) -> NonNull<u8> {
        assert!(frame < u128::BITS as usize);
        // SAFETY: the offset is below the size of the mapping.
        unsafe { self.mapping.start.add(frame * PAGE_BYTES) }
    }

    /// The idle frame with the lowest address, so that the last arenas empty out.
    fn take_idle(&mut self) -> NonNull<u8> {
        let frame = self.idle.trailing_zeros() as usize;
        self.idle &= !(1 << frame);
        self.frame_at(frame)
    }

    /// Takes an absent frame of a block with holes, if there is one.
    fn take_hole(&mut self) -> Option<NonNull<u8>> {
        let block = (0..BLOCKS).find(|&block| self.absent & block_mask(block) != 0 && self.is_holed(block))?;
        let frame = (self.absent & block_mask(block)).trailing_zeros() as usize;
        self.absent &= !(1 << frame);
        let start = self.frame_at(frame);
        // SAFETY: the frame is mapped, and isn't in use.
        unsafe { take_back(start, PAGE_BYTES) };
        Some(start)
    }

    fn is_holed(&self, block: usize) -> bool {
        self.holed_blocks & (1 << block) != 0
    }

    /// Takes a whole absent block out of the arena, to be opened: until it is idle, nothing else can take its frames.
    /// Returns its number; `None` if there is none.
    fn take_absent_block(&mut self) -> Option<usize> {
        let block = (0..BLOCKS).find(|&block| self.absent & block_mask(block) == block_mask(block))?;
        self.absent &= !block_mask(block);
        Some(block)
    }

    /// Makes a block idle that was taken out.
    fn add_idle_block(&mut self, block: usize, is_small: bool) {
        self.idle |= block_mask(block);
        let start = self.frame_at(block * BLOCK_FRAMES);
        // SAFETY: the block is mapped, and isn't in use.
        unsafe { take_back(start, HUGE_PAGE_BYTES) };
        if is_small {
            self.small_blocks |= 1 << block;
            // SAFETY: the block is mapped, and isn't in use. With one small page present, further faults in it stay
            // small.
            unsafe {
                start.write_volatile(0);
                advise_huge(start, HUGE_PAGE_BYTES, true);
            }
        }
    }

    /// Takes all idle frames of `block` out of the arena, to be released.
    fn take_block(&mut self, block: usize) -> Release {
        let frames = self.idle & block_mask(block);
        self.idle &= !frames;
        let is_whole = frames | (self.absent & block_mask(block)) == block_mask(block);
        let start = self.frame_at(block * BLOCK_FRAMES);
        let change = match (is_whole, self.is_holed(block)) {
            (true, true) => Some(true),
            (false, false) => Some(false),
            _ => None,
        };
        if is_whole {
            self.holed_blocks &= !(1 << block);
            // Without a small page in it, the next fault would be that of a huge one.
            self.small_blocks &= !(1 << block);
        } else {
            self.holed_blocks |= 1 << block;
        }
        Release { block_start: start, block, frames, is_whole, change }
    }

    fn whole_idle_block(&self) -> Option<usize> {
        let is_whole = |block: &usize| {
            self.idle & block_mask(*block) != 0 && (self.idle | self.absent) & block_mask(*block) == block_mask(*block)
        };
        (0..BLOCKS).rev().find(is_whole)
    }
}

fn block_mask(block: usize) -> u128 {
    0xff << (block * BLOCK_FRAMES)
}

/// Frames of one block that are being released to the system; until they are marked absent, nothing else can take them.
/// A whole block is released with its absent frames: those can't be taken either, because the block is no longer marked
/// as holed, and it can't be opened before all its frames are absent.
struct Release {
    block_start: NonNull<u8>,
    block: usize,
    frames: u128,
    is_whole: bool,
    /// Whether the advice on huge pages has to change, and to what.
    change: Option<bool>,
}

impl Release {
    fn run(&self) {
        // SAFETY: the block is part of a mapped arena, which isn't unmapped while frames are being released; these
        // frames are free, and can't be taken before they are marked absent.
        unsafe {
            if let Some(huge) = self.change {
                advise_huge(self.block_start, HUGE_PAGE_BYTES, huge);
            }
            if self.is_whole {
                release_to_system(self.block_start, HUGE_PAGE_BYTES);
                return;
            }
            for frame in 0..BLOCK_FRAMES {
                if self.frames >> (self.block * BLOCK_FRAMES + frame) & 1 == 1 {
                    release_to_system(self.block_start.add(frame * PAGE_BYTES), PAGE_BYTES);
                }
            }
        }
    }
}

/// All arenas of a pool, by address.
#[derive(Default)]
pub(crate) struct Arenas {
    by_start: Mutex<BTreeMap<usize, Arena>>,
    idle_frames: AtomicU64,
    huge_pages: HugePages,
}

impl Arenas {
    /// A mapping for a page that isn't a frame.
    pub(crate) fn map(&self, bytes: usize) -> Result<Mapping> {
        Mapping::new(bytes, &self.huge_pages)
    }

    /// A frame with arbitrary content.
    pub(crate) fn allocate(&self) -> Result<NonNull<u8>> {
        let mut arenas = self.by_start.lock();
        if self.idle_frames.load(Relaxed) > 0 {
            let arena = arenas.values_mut().find(|arena| arena.idle != 0).expect("an idle frame is in an arena");
            self.idle_frames.fetch_sub(1, Relaxed);
            return Ok(arena.take_idle());
        }
        if let Some(frame) = arenas.values_mut().find_map(Arena::take_hole) {
            return Ok(frame);
        }
        self.open_block(&mut arenas)
    }

    /// Makes a whole absent block idle, and takes one of its frames.
    #[cold]
    fn open_block(&self, arenas: &mut MutexGuard<'_, BTreeMap<usize, Arena>>) -> Result<NonNull<u8>> {
        let of_known = arenas.iter_mut().find_map(|(&start, arena)| Some((start, arena.take_absent_block()?)));
        let (arena_start, block) = match of_known {
            Some(found) => found,
            None => {
                let mut arena = Arena::new()?;
                let block = arena.take_absent_block().expect("a new arena is absent");
                let start = arena.mapping.start.addr().get();
                arenas.insert(start, arena);
                (start, block)
            }
        };
        let start = arenas[&arena_start].frame_at(block * BLOCK_FRAMES);
        // SAFETY: the block is mapped, starts at a multiple of its size, and isn't in use. Its arena isn't unmapped
        // while some of its frames aren't absent.
        let (is_huge, probe) = unsafe { self.huge_pages.advise(start, HUGE_PAGE_BYTES) };
        if let Some(probe) = probe {
            // Nobody else should have to wait for it. At most one other block is being carved up meanwhile.
            MutexGuard::unlocked(arenas, || probe.run(&self.huge_pages));
        }
        let arena = arenas.get_mut(&arena_start).expect("an arena with a block on its way stays mapped");
        arena.add_idle_block(block, !is_huge);
        self.idle_frames.fetch_add(BLOCK_FRAMES as u64 - 1, Relaxed);
        Ok(arena.take_idle())
    }

    /// Takes a frame back, and releases frames to the system until at most `idle_bytes_max` are idle.
    pub(crate) fn free(&self, memory: NonNull<u8>, idle_bytes_max: u64) {
        let start = memory.addr().get() & !(ARENA_BYTES - 1);
        let frame = (memory.addr().get() - start) / PAGE_BYTES;
        let mut arenas = self.by_start.lock();
        let arena = arenas.get_mut(&start).expect("a frame is freed to the pool it came from");
        assert!((arena.idle | arena.absent) >> frame & 1 == 0, "a frame is freed twice");
        arena.idle |= 1 << frame;
        self.idle_frames.fetch_add(1, Relaxed);
        drop(arenas);
        self.trim(idle_bytes_max);
    }

    /// Releases frames to the system until at most `idle_bytes_max` are idle.
    pub(crate) fn trim(&self, idle_bytes_max: u64) {
        while self.idle_bytes() > idle_bytes_max {
            let mut arenas = self.by_start.lock();
            let Some((start, release)) = take_release(&mut arenas) else { return };
            self.idle_frames.fetch_sub(u64::from(release.frames.count_ones()), Relaxed);
            drop(arenas);
            release.run();
            let mut arenas = self.by_start.lock();
            let arena = arenas.get_mut(&start).expect("an arena with frames on their way stays mapped");
            arena.absent |= release.frames;
            if arena.absent == u128::MAX {
                let empty = arenas.remove(&start);
                drop(arenas);
                drop(empty);
            }
        }
    }

    pub(crate) fn idle_bytes(&self) -> u64 {
        self.idle_frames.load(Relaxed) * PAGE_BYTES as u64
    }
}

/// Chooses what to release: a block that is entirely idle, or else the idle frames of some block; from the end, because
/// allocation takes from the front.
fn take_release(arenas: &mut BTreeMap<usize, Arena>) -> Option<(usize, Release)> {
    for (&start, arena) in arenas.iter_mut().rev() {
        if let Some(block) = arena.whole_idle_block() {
            return Some((start, arena.take_block(block)));
        }
    }
    let (&start, arena) = arenas.iter_mut().rev().find(|(_, arena)| arena.idle != 0)?;
    let highest = u128::BITS as usize - 1 - arena.idle.leading_zeros() as usize;
    Some((start, arena.take_block(highest / BLOCK_FRAMES)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of a frame the tests check: Miri is slow.
    const LOOKED_AT: usize = if cfg!(miri) { 64 } else { PAGE_BYTES };

    fn fill(frame: NonNull<u8>, byte: u8) {
        // SAFETY: a used frame has PAGE_BYTES that only this test touches.
        unsafe { frame.write_bytes(byte, LOOKED_AT) };
    }

    fn is_filled(frame: NonNull<u8>, byte: u8) -> bool {
        // SAFETY: as above, and written before.
        unsafe { std::slice::from_raw_parts(frame.as_ptr(), LOOKED_AT) }.iter().all(|&found| found == byte)
    }

    #[test]
    fn threads_that_allocate_and_free_leave_nothing() {
        let arenas = Arenas::default();
        std::thread::scope(|scope| {
            for thread in 0..3u8 {
                let arenas = &arenas;
                scope.spawn(move || {
                    for round in 0..if cfg!(miri) { 2 } else { 20 } {
                        let frames: Vec<_> = (0..30).map(|_| arenas.allocate().unwrap()).collect();
                        let byte = |index: usize| thread + index as u8 * 3;
                        frames.iter().enumerate().for_each(|(index, &frame)| fill(frame, byte(index)));
                        for (index, &frame) in frames.iter().enumerate() {
                            assert!(is_filled(frame, byte(index)));
                            arenas.free(frame, round * PAGE_BYTES as u64);
                        }
                    }
                });
            }
        });
        arenas.trim(0);
        assert!(arenas.by_start.lock().is_empty() && arenas.idle_bytes() == 0);
    }

    #[test]
    fn frames_are_distinct_and_keep_their_content() {
        let arenas = Arenas::default();
        let frames: Vec<_> = (0..300).map(|_| arenas.allocate().unwrap()).collect();
        for (byte, &frame) in frames.iter().enumerate() {
            fill(frame, byte as u8);
        }
        for &frame in frames.iter().skip(1).step_by(2) {
            arenas.free(frame, 0);
        }
        assert_eq!(arenas.idle_bytes(), 0);
        let again: Vec<_> = (0..150).map(|_| arenas.allocate().unwrap()).collect();
        for &frame in &again {
            fill(frame, 0xff);
        }
        for (byte, &frame) in frames.iter().enumerate().step_by(2) {
            assert!(is_filled(frame, byte as u8));
        }
        for frame in frames.into_iter().step_by(2).chain(again) {
            arenas.free(frame, 0);
        }
        assert!(arenas.by_start.lock().is_empty(), "empty arenas are unmapped");
    }

    #[test]
    fn opening_a_block_makes_its_rest_idle() {
        let arenas = Arenas::default();
        let frame = arenas.allocate().unwrap();
        assert_eq!(arenas.idle_bytes(), 7 * PAGE_BYTES as u64);
        arenas.trim(0);
        assert_eq!(arenas.idle_bytes(), 0);
        let hole = arenas.allocate().unwrap();
        assert_eq!(arenas.idle_bytes(), 0, "holes are filled one by one");
        arenas.free(frame, u64::MAX);
        arenas.free(hole, u64::MAX);
        assert_eq!(arenas.idle_bytes(), 2 * PAGE_BYTES as u64);
        arenas.trim(0);
        assert!(arenas.by_start.lock().is_empty());
    }
}
