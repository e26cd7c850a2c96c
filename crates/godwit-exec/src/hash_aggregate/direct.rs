//! Groups by arithmetic: the direct array, for keys with a small domain.
//!
//! ```text
//! slot  = code of key 0 · stride 0 + code of key 1 · stride 1 + …       code 0 is NULL, if the key can be NULL
//! group = map[slot] - 1                                                 groups are numbered as they appear
//! sums and counts:  lanes[group · LANES + row % LANES] += value         i64, a tight loop per state
//! other states:     rows of a state area, updated as those of row pages
//! payload:          rows of the worker's table, which the groups point to and which meet there again
//! ```
//!
//! Keys are booleans, integers of a small proven range, and dictionary vectors of strings, whose distinct values are
//! numbered. Lanes are added to the area before they could overflow.
//!
//! The direct array only pre-aggregates: at the end its groups are added to the worker's [`LocalGroups`]. So it may
//! give up at any chunk (a key that isn't a dictionary, too many distinct strings) and leave the rest to them.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use std::collections::HashMap;
use std::sync::Arc;

use godwit_common::{ErrorKind, MemoryTag, Result};
use godwit_memory::{Object, Reservation};
use godwit_rows::aggregate_state::{StateArea, StateKind};
use godwit_rows::{RowList, RowOwner, match_integers};
use godwit_trace::ObjectPart;
use godwit_vector::kernels::grouped::{FEW_GROUPS_MAX, add_by_group};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{Bitmap, CHUNK_ROWS, ColumnType, Data, Flat, PhysicalType, StrColumn, Vector};

use super::config::*;
use super::finish::integers;
use super::groups::{Grouping, LocalGroups};
use super::plan::{Feed, Plan};

/// The direct array of one worker.
pub(super) struct DirectGroups {
    keys: Vec<DirectKey>,
    /// Number of a slot's group plus one; 0: none yet. Allocated with the first chunk.
    map: Vec<u32>,
    slots_max: usize,
    /// The slot of each group.
    group_slots: Vec<u32>,
    /// The owner of the states in the area.
    owner: RowOwner,
    area: StateArea,
    /// Per state, if it is a count or a sum: totals that haven't been added to the area yet.
    lanes: Vec<Option<Lanes>>,
    lanes_per_group: usize,
    /// Total number of rows, for the number of rows per group.
    rows_taken: u64,
    bytes_max: usize,
    /// Rows since the lanes were last added to the area, and the maximum.
    rows_pending: u64,
    rows_pending_max: u64,
    /// Group of each row of the current chunk.
    groups: Vec<u32>,
    /// Their states; empty until asked for.
    rows: RowList,
    /// With payload: for each group, the worker's row that holds its payload.
    payload_rows: RowList,
    /// The rows of the current chunk that were the first of their groups.
    founders: Vec<u32>,
    reservation: Reservation,
    /// The object of the map and the lanes in memory traces.
    object: Option<Arc<Object>>,
}

/// A key that maps to a small integer code.
struct DirectKey {
    stride: usize,
    /// Number of codes, including that of NULL.
    domain: usize,
    nullable: bool,
    physical: PhysicalType,
    values: KeyValues,
}

enum KeyValues {
    /// The code of a value is its distance from the smallest.
    Integers {
        min: i64,
    },
    Strings(StringCodes),
}

/// Numbers of distinct strings, in the order of their appearance.
struct StringCodes {
    codes_max: usize,
    strings: Vec<Box<[u8]>>,
    /// Bytes of the strings.
    bytes: usize,
    codes: HashMap<Box<[u8]>, u32>,
    /// The dictionary seen last, and the code of each entry.
    dictionary: Option<u64>,
    entry_codes: Vec<u32>,
}

/// i64 totals: those of group `g` start at `g * lanes_per_group`.
struct Lanes {
    totals: Vec<i64>,
}

impl DirectGroups {
    /// A direct array, if the keys and their domain allow it.
    pub(super) fn new(plan: &Plan, grouping: &Grouping) -> Result<Option<Self>> {
        let (memory, workers) = (&grouping.memory, grouping.workers);
        let Some((keys, slots_max)) = direct_keys(&plan.key_types_from_input) else { return Ok(None) };
        let mut rows_pending_max = u64::MAX;
        let lanes = plan
            .states
            .iter()
            .map(|state| {
                let argument = match (state.kind, &state.feed, &state.arguments[..]) {
                    (StateKind::Count, _, [] | [_]) => return Some(Lanes { totals: Vec::new() }),
                    (StateKind::SumI64 | StateKind::SumI128, Feed::Input { .. }, [argument]) => argument,
                    _ => return None,
                };
                let bound = plan.input_types[*argument].bound()?;
                let largest = bound.min.unsigned_abs().max(bound.max.unsigned_abs()).max(1);
                let rows = (i64::MAX as u128 / largest) as u64;
                if rows < LANE_ROWS_MIN {
                    return None;
                }
                rows_pending_max = rows_pending_max.min(rows);
                Some(Lanes { totals: Vec::new() })
            })
            .collect();
        let owner = RowOwner::new();
        Ok(Some(Self {
            keys,
            map: Vec::new(),
            slots_max,
            group_slots: Vec::new(),
            rows: plan.layout.new_list(),
            payload_rows: RowList::new(&grouping.layout),
            area: StateArea::new(&plan.layout, &owner),
            owner,
            lanes,
            lanes_per_group: LANES,
            rows_taken: 0,
            bytes_max: (memory.memory_limit() as f64 * DIRECT_MEMORY_SHARE / workers as f64) as usize,
            rows_pending: 0,
            rows_pending_max,
            groups: Vec::new(),
            founders: Vec::new(),
            reservation: memory.reserve(0, MemoryTag::HashTable)?,
            object: memory.object_of(MemoryTag::HashTable),
        }))
    }

    /// Number of groups.
    pub(super) fn groups(&self) -> usize {
        self.group_slots.len()
    }

    /// Finds the group of each row of the dense keys, before the states are updated. Returns false if these keys have
    /// no slots: the chunk has to go elsewhere.
    pub(super) fn assign(&mut self, plan: &Plan, keys: &[Vector], rows: usize) -> Result<bool> {
        if self.rows_pending + rows as u64 > self.rows_pending_max {
            self.add_lanes(plan);
        }
        self.rows.clear();
        self.founders.clear();
        self.groups.clear();
        self.groups.resize(rows, 0);
        // Without keys all rows belong to group 0.
        let is_only_group = self.keys.is_empty() && !self.group_slots.is_empty();
        if !is_only_group && !self.find_groups(plan, keys)? {
            return Ok(false);
        }
        self.rows_pending += rows as u64;
        self.rows_taken += rows as u64;
        Ok(true)
    }

    /// Finds the group of each row in `self.groups`. Returns false as [`assign`](Self::assign) does.
    fn find_groups(&mut self, plan: &Plan, keys: &[Vector]) -> Result<bool> {
        if self.map.is_empty() {
            if !self.reserve(self.slots_max * size_of::<u32>())? {
                return Ok(false);
            }
            self.map = vec![0; self.slots_max];
            self.declare_traced();
        }
        for (key, vector) in self.keys.iter_mut().zip(keys) {
            if !key.add_to_slots(vector, &mut self.groups) {
                return Ok(false);
            }
        }
        let mut all_known = true;
        for group in &self.groups {
            all_known &= self.map[*group as usize] != 0;
        }
        if !all_known && !self.make_groups(plan)? {
            return Ok(false);
        }
        godwit_trace::loads(|loads| {
            let of_row = |row: usize| (&raw const self.map[self.groups[row % self.groups.len()] as usize]).cast();
            // To see which slots are new, to create their groups, and to get the group numbers.
            loads.each(self.groups.len() * if all_known { 2 } else { 3 }, of_row);
        });
        for group in &mut self.groups {
            *group = self.map[*group as usize] - 1;
        }
        Ok(true)
    }

    /// Grows the reservation to `bytes` in total. Returns false if that is too much.
    fn reserve(&mut self, bytes: usize) -> Result<bool> {
        if bytes > self.bytes_max {
            return Ok(false);
        }
        match self.reservation.resize(bytes) {
            Err(error) if error.kind() == ErrorKind::Resource => Ok(false),
            reserved => reserved.map(|()| true),
        }
    }

    /// Creates a group for each new slot in `self.groups`, which holds slots. Returns false if there are too many
    /// groups.
    fn make_groups(&mut self, plan: &Plan) -> Result<bool> {
        let groups = self.group_slots.len();
        let is_tested = groups > DIRECT_GROUPS_FREE.max(self.slots_max / 2);
        if is_tested && (self.rows_taken as f64) < groups as f64 * DIRECT_REDUCTION_MIN {
            return Ok(false);
        }
        // Vectors double when they grow, and the old and the new one are alive at the same time; a chunk adds few
        // groups.
        let lanes_bytes = self.lanes.iter().flatten().count() * self.lanes_per_group * size_of::<i64>();
        let group_bytes = plan.layout.bytes() + lanes_bytes + size_of::<u32>();
        let groups_max = (groups + CHUNK_ROWS).min(self.slots_max);
        let bytes = self.map.len() * size_of::<u32>() + groups_max * group_bytes * 2;
        if bytes > self.reservation.bytes() && !self.reserve(bytes.next_multiple_of(DIRECT_GROWTH_BYTES))? {
            return Ok(false);
        }
        for (row, &slot) in self.groups.iter().enumerate() {
            let group = &mut self.map[slot as usize];
            if *group == 0 {
                self.founders.push(row as u32);
                self.group_slots.push(slot);
                *group = self.group_slots.len() as u32;
            }
        }
        let groups = self.group_slots.len();
        self.area.grow(&self.owner, groups);
        if groups > LANES_GROUPS_MAX && self.lanes_per_group > 1 {
            self.add_lanes(plan);
            self.lanes_per_group = 1;
        }
        for lanes in self.lanes.iter_mut().flatten() {
            let totals = groups * self.lanes_per_group;
            if totals > lanes.totals.capacity() {
                lanes.forget_traced();
            }
            lanes.totals.resize(totals, 0);
        }
        self.declare_traced();
        Ok(true)
    }

    /// Tells a memory trace where the map and the lanes are, one after the other.
    fn declare_traced(&self) {
        let Some(object) = self.object.as_ref().filter(|_| godwit_trace::is_on()) else { return };
        let map = ObjectPart::of_bytes(self.map.as_ptr().cast(), size_of_val(&self.map[..]), 0);
        let mut offset = map.bytes;
        godwit_trace::declare(map.with_entries(0, self.map.len() as u64), object.trace_key(), || object.traced());
        for Lanes { totals } in self.lanes.iter().flatten() {
            let lanes = ObjectPart::of_bytes(totals.as_ptr().cast(), totals.capacity() * size_of::<i64>(), offset);
            offset += lanes.bytes;
            godwit_trace::declare(lanes, object.trace_key(), || object.traced());
        }
    }

    /// Tells a memory trace that the map and the lanes are about to be freed.
    fn forget_traced(&self) {
        if godwit_trace::is_on() {
            godwit_trace::forget(self.map.as_ptr().cast(), size_of_val(&self.map[..]));
            self.lanes.iter().flatten().for_each(Lanes::forget_traced);
        }
    }

    /// Updates state `state` of the groups of the current chunk's rows, or of some of these rows: `arguments` have a
    /// value for each of them.
    pub(super) fn update(
        &mut self,
        plan: &Plan,
        state: usize,
        selected: Option<&[u32]>,
        arguments: &[Vector],
    ) -> Result<()> {
        if let Some(lanes) = &mut self.lanes[state] {
            let picked: Vec<u32>;
            let groups = match selected {
                Some(rows) => {
                    picked = rows.iter().map(|&row| self.groups[row as usize]).collect();
                    &picked
                }
                None => &self.groups,
            };
            let lanes_per_group = self.lanes_per_group;
            // Sums of few groups stay in registers.
            let are_loaded = self.group_slots.len() > FEW_GROUPS_MAX;
            godwit_trace::loads(|loads| {
                let groups: &[u32] = if are_loaded { groups } else { &[] };
                let first = |row: usize| groups[row] as usize * lanes_per_group + row % lanes_per_group;
                loads.each(groups.len(), |row| (&raw const lanes.totals[first(row)]).cast());
            });
            match plan.layout.kind(state) {
                StateKind::Count => lanes.count(groups, self.lanes_per_group, arguments.first()),
                _ => lanes.sum(groups, self.lanes_per_group, &arguments[0]),
            }
            return Ok(());
        }
        if self.rows.is_empty() {
            self.area.list(&self.groups, &mut self.rows);
        }
        match selected {
            None => plan.layout.update(&mut self.owner, state, self.rows.all(), arguments),
            Some(selected) => {
                let mut picked = plan.layout.new_list();
                picked.append_picked(self.rows.all(), selected);
                plan.layout.update(&mut self.owner, state, picked.all(), arguments)
            }
        }
    }

    /// Takes over the payload of the current chunk's rows into rows of `local`, whose table has room for all of them.
    pub(super) fn update_payload(
        &mut self,
        local: &mut LocalGroups,
        keys: &[Vector],
        payload: &[Vector],
    ) -> Result<()> {
        if !self.founders.is_empty() {
            let take =
                |columns: &[Vector]| columns.iter().map(|column| column.take(&self.founders)).collect::<Vec<_>>();
            let (keys, payload) = (take(keys), take(payload));
            let mut hashes = Vec::new();
            hash_vectors(&keys, self.founders.len(), &mut hashes);
            self.payload_rows.append(local.assign(&keys, &payload, &hashes)?);
        }
        if local.grouping().improves_payload() {
            let mut rows = RowList::new(&local.grouping().layout);
            rows.append_picked(self.payload_rows.all(), &self.groups);
            local.improve(&mut rows, keys, payload)?;
            self.payload_rows.scatter(&self.groups, rows.all());
        }
        Ok(())
    }

    /// Adds the lanes to the area and zeroes them.
    fn add_lanes(&mut self, plan: &Plan) {
        self.rows_pending = 0;
        let lanes_per_group = self.lanes_per_group;
        let groups: Vec<u32> = (0..self.area.groups() as u32).collect();
        let (mut rows, mut sums) = (plan.layout.new_list(), Vec::new());
        for groups in groups.chunks(CHUNK_ROWS) {
            self.area.list(groups, &mut rows);
            for (state, lanes) in self.lanes.iter().enumerate() {
                let Some(Lanes { totals }) = lanes else { continue };
                // New groups have no lanes yet.
                let begin = totals.len().min(groups[0] as usize * lanes_per_group);
                let end = totals.len().min(begin + groups.len() * lanes_per_group);
                sums.clear();
                sums.extend(totals[begin..end].chunks_exact(lanes_per_group).map(|lanes| lanes.iter().sum::<i64>()));
                plan.layout.add(&mut self.owner, state, rows.slice(0..sums.len()), &sums);
            }
        }
        self.lanes.iter_mut().flatten().for_each(|lanes| lanes.totals.fill(0));
    }

    /// Moves all groups to `local`.
    pub(super) fn flush(&mut self, plan: &Plan, local: &mut LocalGroups) -> Result<()> {
        self.add_lanes(plan);
        let groups: Vec<u32> = (0..self.groups() as u32).collect();
        let (mut hashes, mut rows) = (Vec::new(), plan.layout.new_list());
        for groups in groups.chunks(CHUNK_ROWS) {
            let keys: Vec<Vector> = self.keys.iter().map(|key| key.vector(groups, &self.group_slots)).collect();
            hash_vectors(&keys, groups.len(), &mut hashes);
            self.area.list(groups, &mut rows);
            local.add_rows(&keys, &plan.no_payload(groups.len()), &hashes, self.owner.read(rows.all()))?;
        }
        self.forget_traced();
        self.map = Vec::new();
        self.group_slots.clear();
        self.payload_rows.clear();
        self.area.clear();
        self.lanes.iter_mut().flatten().for_each(|lanes| lanes.totals.clear());
        self.reservation.resize(0)
    }
}

impl Drop for DirectGroups {
    fn drop(&mut self) {
        self.forget_traced();
    }
}

/// The number of slots that a direct array of these keys has, if all have small domains.
pub(super) fn direct_slots(types: &[ColumnType]) -> Option<usize> {
    direct_keys(types).map(|(_, slots)| slots)
}

/// The keys and the number of slots, if all keys have small domains.
fn direct_keys(types: &[ColumnType]) -> Option<(Vec<DirectKey>, usize)> {
    let is_string = |ty: &ColumnType| ty.physical == PhysicalType::Str;
    let mut slots = 1usize;
    for ty in types.iter().filter(|ty| !is_string(ty)) {
        slots = slots.checked_mul(integer_domain(ty)?)?;
    }
    let strings = types.iter().filter(|ty| is_string(ty)).count();
    let per_string = match strings {
        0 => 1,
        _ => (((DIRECT_SLOTS_MAX / slots.max(1)) as f64).powf(1.0 / strings as f64) as usize).min(DIRECT_STRINGS_MAX),
    };
    let slots = slots.checked_mul(per_string.checked_pow(strings as u32)?)?;
    let slots_max = if strings == 0 { DENSE_SLOTS_MAX } else { DIRECT_SLOTS_MAX };
    if slots > slots_max || (strings > 0 && per_string < DIRECT_STRINGS_MIN) {
        return None;
    }
    let mut stride = 1;
    let keys = types
        .iter()
        .map(|ty| {
            let (values, domain) = if is_string(ty) {
                (KeyValues::Strings(StringCodes::new(per_string - ty.nullable as usize)), per_string)
            } else {
                let min = ty.bound().expect("checked").min as i64;
                (KeyValues::Integers { min }, integer_domain(ty).expect("checked"))
            };
            let key = DirectKey { stride, domain, nullable: ty.nullable, physical: ty.physical, values };
            stride *= domain;
            key
        })
        .collect();
    Some((keys, slots))
}

/// Number of codes of an integer or boolean key, if it is small.
fn integer_domain(ty: &ColumnType) -> Option<usize> {
    if !ty.physical.is_integer() && ty.physical != PhysicalType::Bool {
        return None;
    }
    let bound = ty.bound()?;
    if bound.min < i64::MIN as i128 || bound.max > i64::MAX as i128 || bound.max < bound.min {
        return None;
    }
    let count = usize::try_from(bound.count()).ok()?.checked_add(ty.nullable as usize)?;
    (count <= DENSE_SLOTS_MAX).then_some(count)
}

impl DirectKey {
    /// Adds each row's code times the stride to `slots`. Returns false if the values have no codes.
    fn add_to_slots(&mut self, vector: &Vector, slots: &mut [u32]) -> bool {
        let (stride, first) = (self.stride as u32, self.nullable as u32);
        let validity = vector.validity().map(|validity| &**validity);
        if validity.is_some() && !self.nullable {
            return false;
        }
        match &mut self.values {
            KeyValues::Strings(codes) => {
                let Some((entries, dictionary)) = vector.as_dictionary() else { return false };
                if codes.dictionary != Some(dictionary.id())
                    && !codes.enter(dictionary.id(), dictionary.values().strings())
                {
                    return false;
                }
                if dictionary.is_empty() {
                    return true;
                }
                let entry_codes = &codes.entry_codes[..];
                add_codes(slots, validity, stride, |row| entry_codes[entries[row] as usize] + first);
            }
            KeyValues::Integers { min } => {
                let min = *min;
                if let Data::Constant(value) = vector.data() {
                    let code = integer_codes(value, min)[0].wrapping_add(first);
                    add_codes(slots, validity, stride, |_| code);
                    return true;
                }
                match vector.to_flat() {
                    Flat::Bool(values) => add_codes(slots, validity, stride, |row| values[row] as u32 + first),
                    flat => match_integers!(&flat, values => {
                        // The value at a NULL may be out of bounds.
                        let code = |row: usize| ((values[row] as i64).wrapping_sub(min) as u32).wrapping_add(first);
                        add_codes(slots, validity, stride, code)
                    }),
                }
            }
        }
        true
    }

    /// The values of the key in some groups.
    fn vector(&self, groups: &[u32], group_slots: &[u32]) -> Vector {
        let code = |&group: &u32| {
            let code = group_slots[group as usize] as usize / self.stride % self.domain;
            code.checked_sub(self.nullable as usize)
        };
        let codes: Vec<Option<usize>> = groups.iter().map(code).collect();
        let validity = self.nullable.then(|| Bitmap::from_fn(codes.len(), |i| codes[i].is_some()));
        let flat = match &self.values {
            KeyValues::Integers { min } => {
                integers(self.physical, codes.iter().map(|code| *min as i128 + code.unwrap_or(0) as i128))
            }
            KeyValues::Strings(strings) => {
                let string = |code: &Option<usize>| code.map_or(&[][..], |code| &strings.strings[code]);
                Flat::Str(StrColumn::from_strings(codes.iter().map(string)))
            }
        };
        Vector::flat(flat, validity)
    }
}

/// Adds `code(row)` times `stride` to the slot of each valid row; the code of NULL is 0.
#[inline(always)]
fn add_codes(slots: &mut [u32], validity: Option<&Bitmap>, stride: u32, code: impl Fn(usize) -> u32) {
    match validity {
        None => slots.iter_mut().enumerate().for_each(|(row, slot)| *slot += code(row) * stride),
        Some(validity) => slots.iter_mut().enumerate().for_each(|(row, slot)| {
            if validity.get(row) {
                *slot += code(row) * stride;
            }
        }),
    }
}

/// Distances of integers or booleans from `min`.
fn integer_codes(flat: &Flat, min: i64) -> Vec<u32> {
    match flat {
        Flat::Bool(values) => values.iter().map(|&value| value as u32).collect(),
        flat => match_integers!(flat, values => {
            values.iter().map(|&value| (value as i64).wrapping_sub(min) as u32).collect()
        }),
    }
}

impl StringCodes {
    fn new(codes_max: usize) -> Self {
        let (strings, codes, entry_codes) = (Vec::new(), HashMap::new(), Vec::new());
        Self { codes_max, strings, bytes: 0, codes, dictionary: None, entry_codes }
    }

    /// Looks up or assigns the code of each dictionary entry. Returns false if there are too many strings, or they are
    /// too long together.
    fn enter(&mut self, dictionary: u64, entries: &StrColumn) -> bool {
        if entries.len() > self.codes_max {
            return false;
        }
        self.entry_codes.clear();
        for entry in entries.iter() {
            let code = match self.codes.get(entry) {
                Some(&code) => code,
                None if self.strings.len() < self.codes_max && self.bytes + entry.len() <= STRING_CODES_BYTES_MAX => {
                    self.bytes += entry.len();
                    let code = self.strings.len() as u32;
                    self.strings.push(entry.into());
                    self.codes.insert(entry.into(), code);
                    code
                }
                None => {
                    self.dictionary = None;
                    return false;
                }
            };
            self.entry_codes.push(code);
        }
        self.dictionary = Some(dictionary);
        true
    }
}

impl Lanes {
    /// Tells a memory trace that the totals are about to be freed.
    fn forget_traced(&self) {
        if godwit_trace::is_on() {
            godwit_trace::forget(self.totals.as_ptr().cast(), self.totals.capacity() * size_of::<i64>());
        }
    }

    fn count(&mut self, groups: &[u32], lanes: usize, argument: Option<&Vector>) {
        match argument.and_then(Vector::validity) {
            None => add_dense(&mut self.totals, groups, lanes, |_| 1),
            Some(validity) => add_to_lanes(&mut self.totals, groups, lanes, |row| validity.get(row) as i64),
        }
    }

    fn sum(&mut self, groups: &[u32], lanes: usize, argument: &Vector) {
        let flat = argument.to_flat();
        let totals = &mut self.totals;
        match_integers!(&flat, values => {
            let values = &values[..groups.len()];
            match argument.validity() {
                None => add_dense(totals, groups, lanes, |row| values[row] as i64),
                Some(validity) => add_to_lanes(totals, groups, lanes, |row| {
                    if validity.get(row) { values[row] as i64 } else { 0 }
                }),
            }
        })
    }
}

/// [`add_to_lanes`] for amounts that are cheap to read: with a handful of groups, they are summed group by group.
#[inline(always)]
fn add_dense(totals: &mut [i64], groups: &[u32], lanes: usize, amount: impl Fn(usize) -> i64) {
    let groups_len = totals.len() / lanes;
    if (2..=FEW_GROUPS_MAX).contains(&groups_len) {
        add_by_group(groups, groups_len, amount, |group, sum| totals[group * lanes] += sum);
    } else {
        add_to_lanes(totals, groups, lanes, amount);
    }
}

/// Adds `amount(row)` to a lane of the group of each row.
#[inline(always)]
fn add_to_lanes(totals: &mut [i64], groups: &[u32], lanes: usize, amount: impl Fn(usize) -> i64) {
    if totals.len() == lanes {
        // A single group: the sum of a slice.
        totals[0] += (0..groups.len()).map(amount).sum::<i64>();
    } else if lanes == LANES {
        let mut row = 0;
        for four in groups.chunks(LANES) {
            for (lane, &group) in four.iter().enumerate() {
                totals[group as usize * LANES + lane] += amount(row);
                row += 1;
            }
        }
    } else {
        for (row, &group) in groups.iter().enumerate() {
            totals[group as usize] += amount(row);
        }
    }
}
