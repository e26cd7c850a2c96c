//! Lists as sets: equal elements, in one list or two.

use std::ops::Range;

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::Vector;

use super::call::{Call, strict};
use super::keys::{Keys, Typed, match_keys};
use super::list_function;
use super::lists::Lists;
use super::types::{Chosen, element_of_all, list_as};
use crate::function::Function;
use crate::kernel::{Lease, Work};
use crate::room::scratch;

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["list_distinct", "array_distinct"],
            "The elements of the list that aren't NULL, each once, in the order in which they first come",
        )
        .example("list_distinct([2, 1, 2, NULL])", "[2, 1]")
        .chosen("list_distinct(list)", distinct),
        list_function(&["list_unique", "array_unique"], "How many different elements the list has, without NULL")
            .example("list_unique([2, 1, 2, NULL])", "2")
            .chosen("list_unique(list)", unique),
        list_function(&["list_union", "array_union"], "The elements of both lists, each once")
            .example("list_union([1, 2], [2, 3])", "[1, 2, 3]")
            .chosen("list_union(list, list)", |lists| pair(lists, Taken::Union)),
        list_function(
            &["list_intersect", "array_intersect"],
            "The elements that are in both lists, each once, without NULL",
        )
        .example("list_intersect([1, 2, 2], [2, 3])", "[2]")
        .chosen("list_intersect(list, list)", |lists| pair(lists, Taken::Intersection)),
        list_function(
            &["list_except", "array_except"],
            "The elements of the first list that aren't in the second, each once",
        )
        .example("list_except([1, 2, 1], [2, 3])", "[1]")
        .chosen("list_except(list, list)", |lists| pair(lists, Taken::Difference)),
        list_function(
            &["list_has_any", "array_has_any", "list_overlaps", "arrays_overlap", "&&"],
            "Whether the lists have an element in common that isn't NULL",
        )
        .example("list_has_any([1, 2], [2, 3])", "true")
        .chosen("list_has_any(list, list)", |lists| test(lists, [0, 1], |row| row.any())),
        list_function(
            &["list_has_all", "array_has_all"],
            "Whether all elements of the second list that aren't NULL are in the first",
        )
        .example("list_has_all([1, 2], [2])", "true")
        .chosen("list_has_all(list, list)", |lists| test(lists, [0, 1], |row| row.all())),
        list_function(&["@>"], "Whether all elements of the second list are in the first; NULL is in none")
            .example("[1, 2] @> [2]", "true")
            .chosen("list @> list", |lists| test(lists, [0, 1], |row| row.all_with_null())),
        list_function(&["<@"], "Whether all elements of the first list are in the second; NULL is in none")
            .example("[2] <@ [1, 2]", "true")
            .chosen("list <@ list", |lists| test(lists, [1, 0], |row| row.all_with_null())),
    ]
}

/// Maximum number of items of a row that are compared pairwise; more are hashed.
const SMALL: usize = 12;
/// Items between two checks for cancellation.
const CHECK_ITEMS: usize = 64 << 10;
/// A free slot of the hash table.
const FREE: u32 = u32::MAX;

/// Finds equal items of a row.
#[derive(Default)]
pub(crate) struct Groups {
    /// For each item, the first one that equals it, by their numbers in the row.
    firsts: Vec<u32>,
    /// Hash table of item numbers, by their keys.
    table: Vec<u32>,
    /// The memory of both, if it is much.
    _lease: Option<Lease>,
}

impl Groups {
    /// Groups the elements of the first list, followed by those of the second. NULL equals NULL.
    fn firsts<K: Typed>(&mut self, lists: [(&K, &Keys, Range<usize>); 2], work: &dyn Work) -> Result<&[u32]> {
        let [(_, _, first), (_, _, second)] = &lists;
        let (split, count) = (first.len(), first.len() + second.len());
        let key = |item: usize| {
            let ((typed, keys, range), item) = if item < split { (&lists[0], item) } else { (&lists[1], item - split) };
            let place = range.start + item;
            keys.is_valid(place).then(|| typed.key(place))
        };
        self.firsts.clear();
        if count <= SMALL {
            for item in 0..count {
                let own = key(item);
                let equal = (0..item).find(|&other| key(other) == own);
                self.firsts.push(equal.unwrap_or(item) as u32);
            }
            return Ok(&self.firsts);
        }
        let mask = (count * 2).next_power_of_two() - 1;
        if mask >= self.table.capacity() {
            *self = Self::default();
            let items = mask.div_ceil(2);
            self._lease = scratch((mask + 1 + items) * size_of::<u32>(), work)?;
            self.firsts.reserve_exact(items);
        }
        self.table.clear();
        self.table.resize(mask + 1, FREE);
        for item in 0..count {
            if item.is_multiple_of(CHECK_ITEMS) {
                work.check()?;
            }
            let own = key(item);
            let mut slot = own.map_or(0, K::hash) as usize & mask;
            while self.table[slot] != FREE && key(self.table[slot] as usize) != own {
                slot = (slot + 1) & mask;
            }
            if self.table[slot] == FREE {
                self.table[slot] = item as u32;
            }
            self.firsts.push(self.table[slot]);
        }
        Ok(&self.firsts)
    }

    /// Returns the first equal element for each element of a list.
    pub(crate) fn of_list(&mut self, keys: &Keys, range: Range<usize>, work: &dyn Work) -> Result<&[u32]> {
        match_keys!(keys, typed => self.firsts([(typed, keys, range), (typed, keys, 0..0)], work))
    }

    fn of_pair(&mut self, keys: [&Keys; 2], ranges: [Range<usize>; 2], work: &dyn Work) -> Result<&[u32]> {
        let ([a, b], [first, second]) = (keys, ranges);
        match_keys!(a, b, left, right => self.firsts([(left, a, first), (right, b, second)], work))
    }
}

fn distinct(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of_all(arguments)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let keys = call.element_keys(0, &lists)?;
        let mut groups = Groups::default();
        call.picked(&[&lists.elements], |row, out| {
            let range = lists.range(row);
            for (at, &first) in groups.of_list(&keys, range.clone(), call.work)?.iter().enumerate() {
                if at == first as usize && keys.is_valid(range.start + at) {
                    out.push(range.start + at);
                }
            }
            Ok(())
        })
    };
    let types = vec![list_as(list, &element)];
    Some(Ok(strict(types, SqlType::list_of(element), compute).total().never_null()))
}

fn unique(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of_all(arguments)?;
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let keys = call.element_keys(0, &lists)?;
        let mut groups = Groups::default();
        call.fixed::<u64, _>(|row| {
            let range = lists.range(row);
            let firsts = groups.of_list(&keys, range.clone(), call.work)?.iter().enumerate();
            let is_counted = |(at, first): &(usize, &u32)| *at == **first as usize && keys.is_valid(range.start + at);
            Ok(firsts.filter(is_counted).count() as u64)
        })
    };
    Some(Ok(strict(vec![list_as(list, &element)], SqlType::UBigInt, compute).total().never_null()))
}

/// The elements that are taken from two lists.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    Union,
    Intersection,
    Difference,
}

fn pair(arguments: &[ArgumentType<'_>], taken: Taken) -> Chosen {
    let [first, second] = arguments else { return None };
    let element = element_of_all(arguments)?;
    let types = vec![list_as(first, &element), list_as(second, &element)];
    let compute = move |call: &Call<'_>| taken_of_pairs(call, taken);
    Some(Ok(strict(types, SqlType::list_of(element), compute).total().never_null()))
}

fn taken_of_pairs(call: &Call<'_>, taken: Taken) -> Result<Vector> {
    let (first, second) = (call.lists(0)?, call.lists(1)?);
    let keys = [&call.element_keys(0, &first)?, &call.element_keys(1, &second)?];
    let sources = [&first.elements, &second.elements];
    let sources = if taken == Taken::Union { &sources[..] } else { &sources[..1] };
    let mut groups = Groups::default();
    let mut in_second = Vec::new();
    call.picked(sources, |row, out| {
        let (left, right) = (first.range(row), second.range(row));
        let firsts = groups.of_pair(keys, [left.clone(), right.clone()], call.work)?;
        in_second.clear();
        in_second.resize(firsts.len(), false);
        firsts[left.len()..].iter().for_each(|&first| in_second[first as usize] = true);
        let is_first = |at: usize| firsts[at] as usize == at;
        match taken {
            Taken::Union => {
                (0..left.len()).filter(|&at| is_first(at)).for_each(|at| out.push(left.start + at));
                let start = first.elements.len() + right.start;
                (left.len()..firsts.len()).filter(|&at| is_first(at)).for_each(|at| out.push(start + at - left.len()));
            }
            Taken::Intersection => (0..left.len())
                .filter(|&at| is_first(at) && in_second[at] && keys[0].is_valid(left.start + at))
                .for_each(|at| out.push(left.start + at)),
            Taken::Difference => {
                (0..left.len()).filter(|&at| is_first(at) && !in_second[at]).for_each(|at| out.push(left.start + at))
            }
        }
        Ok(())
    })
}

/// The items of a row of two lists; only non-NULL ones are compared.
struct Compared<'a> {
    firsts: &'a [u32],
    keys: [&'a Keys; 2],
    ranges: [Range<usize>; 2],
}

impl Compared<'_> {
    /// The numbers of the second list's items.
    fn second(&self) -> impl Iterator<Item = usize> {
        let split = self.ranges[0].len();
        let place = move |at: usize| self.ranges[1].start + at - split;
        (split..self.firsts.len()).filter(move |&at| self.keys[1].is_valid(place(at)))
    }

    fn is_in_first(&self, item: usize) -> bool {
        (self.firsts[item] as usize) < self.ranges[0].len()
    }

    fn any(&self) -> bool {
        self.second().any(|item| self.is_in_first(item))
    }

    fn all(&self) -> bool {
        self.second().all(|item| self.is_in_first(item))
    }

    /// Like [`all`](Self::all), but a NULL is in no list.
    fn all_with_null(&self) -> bool {
        self.ranges[1].clone().all(|place| self.keys[1].is_valid(place)) && self.all()
    }
}

/// A test of two lists, given by the order of the arguments.
fn test(arguments: &[ArgumentType<'_>], order: [usize; 2], test: fn(&Compared<'_>) -> bool) -> Chosen {
    let [first, second] = arguments else { return None };
    let element = element_of_all(arguments)?;
    let compute = move |call: &Call<'_>| {
        let lists: [Lists; 2] = [call.lists(order[0])?, call.lists(order[1])?];
        let keys = [&call.element_keys(order[0], &lists[0])?, &call.element_keys(order[1], &lists[1])?];
        let mut groups = Groups::default();
        call.fixed::<bool, _>(|row| {
            let ranges = [lists[0].range(row), lists[1].range(row)];
            let firsts = groups.of_pair(keys, ranges.clone(), call.work)?;
            Ok(test(&Compared { firsts, keys, ranges }))
        })
    };
    let types = vec![list_as(first, &element), list_as(second, &element)];
    Some(Ok(strict(types, SqlType::Boolean, compute).total().never_null()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, shown};

    fn many(range: std::ops::Range<i32>) -> String {
        let texts: Vec<String> = range.map(|number| number.to_string()).collect();
        format!("INTEGER[] '[{}]'", texts.join(", "))
    }

    type Items = Vec<Option<u8>>;

    fn written(items: &Items) -> String {
        let texts: Vec<String> =
            items.iter().map(|item| item.map_or("NULL".to_owned(), |number| number.to_string())).collect();
        format!("[{}]", texts.join(", "))
    }

    /// Returns the items that pass a test, each once.
    fn once(items: &[Option<u8>], test: impl Fn(&Option<u8>) -> bool) -> Items {
        let mut kept = Items::new();
        for item in items.iter().filter(|item| test(item)) {
            if !kept.contains(item) {
                kept.push(*item);
            }
        }
        kept
    }

    proptest::proptest! {
        #[test]
        fn sets_are_those_of_plain_loops(
            a in proptest::collection::vec(proptest::option::of(0_u8..12), 0..30),
            b in proptest::collection::vec(proptest::option::of(0_u8..12), 0..30),
        ) {
            let texts = [&a, &b].map(|items| format!("INTEGER[] '{}'", written(items)));
            let of_both = |name: &str| shown(name, &[&texts[0], &texts[1]]);
            let both = [a.clone(), b.clone()].concat();
            proptest::prop_assert_eq!(shown("list_distinct", &[&texts[0]]), written(&once(&a, Option::is_some)));
            proptest::prop_assert_eq!(of_both("list_union"), written(&once(&both, |_| true)));
            let common = once(&a, |item| item.is_some() && b.contains(item));
            proptest::prop_assert_eq!(of_both("list_intersect"), written(&common));
            proptest::prop_assert_eq!(of_both("list_except"), written(&once(&a, |item| !b.contains(item))));
            proptest::prop_assert_eq!(of_both("list_has_any"), (!common.is_empty()).to_string());
            let all = b.iter().all(|item| item.is_none() || a.contains(item));
            proptest::prop_assert_eq!(of_both("list_has_all"), all.to_string());
            proptest::prop_assert_eq!(of_both("@>"), (all && !b.contains(&None)).to_string());
            let mut sorted = a.clone();
            sorted.sort_by_key(|item| (item.is_none(), *item));
            proptest::prop_assert_eq!(shown("list_sort", &[&texts[0]]), written(&sorted));
            let without: Items = a.iter().copied().filter(|item| *item != Some(3)).collect();
            proptest::prop_assert_eq!(shown("list_remove", &[&texts[0], "3"]), written(&without));
        }
    }

    #[test]
    fn elements_are_distinct() {
        assert_eq!(shown("list_distinct", &["INTEGER[] '[2, 1, NULL, 2, NULL]'"]), "[2, 1]");
        assert_eq!(shown("array_distinct", &["INTEGER[] '[]'"]), "[]");
        assert_eq!(shown("list_distinct", &["NULL"]), "NULL");
        assert_eq!(shown("list_distinct", &["DOUBLE[] '[0, -0, nan, nan]'"]), "[0.0, NaN]");
        assert_eq!(shown("list_distinct", &["INTEGER[][] '[[1], [1], [NULL], [NULL]]'"]), "[[1], [NULL]]");
        assert_eq!(shown("list_unique", &["VARCHAR[] '[a, ä, a, NULL]'"]), "2");
        assert_eq!(call("list_unique", &["NULL"]).unwrap().1.to_string(), "UBIGINT");
        assert_eq!(shown("list_unique", &[&many(0..100)]), "100");
    }

    #[test]
    fn sets_of_two_lists() {
        let lists = ["INTEGER[] '[1, NULL, 2, 2, 3]'", "INTEGER[] '[NULL, 3, 4, 4]'"];
        assert_eq!(shown("list_union", &lists), "[1, NULL, 2, 3, 4]");
        assert_eq!(shown("list_intersect", &lists), "[3]");
        assert_eq!(shown("array_except", &lists), "[1, 2]");
        assert_eq!(shown("array_except", &["INTEGER[] '[1, NULL]'", "INTEGER[] '[]'"]), "[1, NULL]");
        assert_eq!(shown("list_intersect", &["NULL", "INTEGER[] '[1]'"]), "NULL");
        assert_eq!(shown("list_intersect", &[&many(0..50), &many(48..99)]), "[48, 49]");
        assert_eq!(shown("list_union", &["VARCHAR[] '[]'", "VARCHAR[] '[]'"]), "[]");
        assert_eq!(shown("list_union", &["INTEGER[] '[1]'", "BIGINT[] '[5000000000]'"]), "[1, 5000000000]");
    }

    #[test]
    fn lists_have_elements_in_common() {
        assert_eq!(shown("list_has_any", &["INTEGER[] '[1, 2]'", "INTEGER[] '[2, 3]'"]), "true");
        assert_eq!(shown("&&", &["INTEGER[] '[1, NULL]'", "INTEGER[] '[NULL]'"]), "false");
        assert_eq!(shown("list_has_any", &["INTEGER[] '[]'", "INTEGER[] '[]'"]), "false");
        assert_eq!(shown("list_has_all", &["INTEGER[] '[1, 2]'", "INTEGER[] '[2, 2, NULL]'"]), "true");
        assert_eq!(shown("list_has_all", &["INTEGER[] '[1, 2]'", "INTEGER[] '[3]'"]), "false");
        assert_eq!(shown("@>", &["INTEGER[] '[1, NULL]'", "INTEGER[] '[NULL]'"]), "false");
        assert_eq!(shown("@>", &["INTEGER[] '[1]'", "INTEGER[] '[]'"]), "true");
        assert_eq!(shown("<@", &["INTEGER[] '[2, 2]'", "INTEGER[] '[1, 2]'"]), "true");
        assert_eq!(shown("<@", &["INTEGER[] '[3]'", "INTEGER[] '[1, 2]'"]), "false");
        assert_eq!(shown("list_has_all", &[&many(0..100), &many(30..90)]), "true");
        assert_eq!(shown("list_has_all", &["NULL", "INTEGER[] '[1]'"]), "NULL");
    }
}
