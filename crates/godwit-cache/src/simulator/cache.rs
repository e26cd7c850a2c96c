//! A set-associative cache whose ways can be masked.

use super::plru::Tree;
use crate::WayMask;

/// No line has this number: it would start at the end of the address space.
const EMPTY: u64 = u64::MAX;

/// Size and shape of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of sets, any number above 0.
    pub sets: u64,
    /// Lines per set, 1 to 64.
    pub ways: u32,
    /// Size of a line.
    pub line_bytes: u64,
}

impl Geometry {
    /// A cache of `bytes`, which must divide evenly into ways of whole lines.
    pub fn of_size(bytes: u64, ways: u32, line_bytes: u64) -> Self {
        let sets = bytes / line_bytes / u64::from(ways);
        let geometry = Self { sets, ways, line_bytes };
        assert_eq!(geometry.bytes(), bytes, "a cache consists of full sets");
        geometry
    }

    /// Size of the cache.
    pub fn bytes(&self) -> u64 {
        self.sets * u64::from(self.ways) * self.line_bytes
    }
}

/// Which line is evicted when a set is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The least recently used one.
    Lru,
    /// Approximately that one, with a bit per pair of halves, as in hardware.
    TreePlru,
    /// The one that is expected to be used again last: re-reference interval prediction (Jaleel, Theobald, Steely,
    /// Emer, "High Performance Cache Replacement Using Re-Reference Interval Prediction", 2010), its static form with
    /// two bits. A line that is reused outlives those of a stream; last-level caches of servers do something similar.
    Rrip,
}

/// Ages of lines under [`Replacement::Rrip`]: that of a line just loaded, and that of one that may be evicted. A line
/// that was hit has age 0.
const LOADED_AGE: u64 = 2;
const OLDEST_AGE: u64 = 3;

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The line was there.
    Hit,
    /// It wasn't, and has been loaded, in place of another line or into an empty way.
    Miss {
        /// The line that was evicted.
        evicted: Option<u64>,
    },
}

/// A cache. Line `n` belongs to set `n % sets`.
pub struct Cache {
    geometry: Geometry,
    replacement: Replacement,
    /// Line numbers by set, then by way.
    lines: Vec<u64>,
    /// When each was used last, with [`Replacement::Lru`]; its age, with [`Replacement::Rrip`].
    used: Vec<u64>,
    clock: u64,
    /// By set; only with [`Replacement::TreePlru`].
    trees: Vec<Tree>,
}

impl Cache {
    /// An empty cache. It takes up to 16 bytes per line of `geometry`.
    pub fn new(geometry: Geometry, replacement: Replacement) -> Self {
        assert!(geometry.sets > 0 && (1..=64).contains(&geometry.ways), "a cache has sets, and 1 to 64 ways");
        let slots = usize::try_from(geometry.sets).expect("sets fit memory") * geometry.ways as usize;
        let (used, trees) = match replacement {
            Replacement::Lru | Replacement::Rrip => (vec![0; slots], Vec::new()),
            Replacement::TreePlru => (Vec::new(), vec![Tree::default(); slots / geometry.ways as usize]),
        };
        Self { geometry, replacement, lines: vec![EMPTY; slots], used, clock: 0, trees }
    }

    /// Its size and shape.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Looks up a line in all ways. If it isn't there, it takes the place of one in the ways of `mask`, of which there
    /// must be at least one.
    pub fn access(&mut self, line: u64, mask: WayMask) -> Lookup {
        self.access_slot(line, mask).1
    }

    /// [`access`](Self::access) that also returns the slot where the line is now.
    pub(super) fn access_slot(&mut self, line: u64, mask: WayMask) -> (usize, Lookup) {
        debug_assert!(line != EMPTY);
        let (set, first) = self.set_of(line);
        let ways = self.geometry.ways as usize;
        if let Some(way) = self.lines[first..first + ways].iter().position(|&held| held == line) {
            self.touch(set, way, 0);
            return (first + way, Lookup::Hit);
        }
        let way = self.victim(set, first, mask);
        let evicted = std::mem::replace(&mut self.lines[first + way], line);
        self.touch(set, way, LOADED_AGE);
        (first + way, Lookup::Miss { evicted: (evicted != EMPTY).then_some(evicted) })
    }

    /// Removes a line, if it is there.
    pub fn invalidate(&mut self, line: u64) {
        let (_, first) = self.set_of(line);
        let set = &mut self.lines[first..first + self.geometry.ways as usize];
        if let Some(held) = set.iter_mut().find(|held| **held == line) {
            *held = EMPTY;
        }
    }

    fn set_of(&self, line: u64) -> (usize, usize) {
        let set = (line % self.geometry.sets) as usize;
        (set, set * self.geometry.ways as usize)
    }

    /// An empty way of the mask, or the one that the policy chooses.
    fn victim(&mut self, set: usize, first: usize, mask: WayMask) -> usize {
        let ways = self.geometry.ways;
        let permitted = || (0..ways).filter(|&way| mask.contains(way)).map(|way| way as usize);
        if let Some(way) = permitted().find(|&way| self.lines[first + way] == EMPTY) {
            return way;
        }
        match self.replacement {
            Replacement::Lru => {
                permitted().min_by_key(|&way| self.used[first + way]).expect("the mask has a way of this cache")
            }
            Replacement::TreePlru => self.trees[set].victim(mask, ways) as usize,
            Replacement::Rrip => {
                let oldest = permitted().rev().max_by_key(|&way| self.used[first + way]);
                let oldest = oldest.expect("the mask has a way of this cache");
                // All lines age together until one may be evicted.
                let aging = OLDEST_AGE - self.used[first + oldest];
                permitted().for_each(|way| self.used[first + way] += aging);
                oldest
            }
        }
    }

    /// Records a use; `age` is that of the line afterwards.
    fn touch(&mut self, set: usize, way: usize, age: u64) {
        match self.replacement {
            Replacement::Lru => {
                self.clock += 1;
                self.used[set * self.geometry.ways as usize + way] = self.clock;
            }
            Replacement::TreePlru => self.trees[set].touch(way as u32, self.geometry.ways),
            Replacement::Rrip => self.used[set * self.geometry.ways as usize + way] = age,
        }
    }
}
