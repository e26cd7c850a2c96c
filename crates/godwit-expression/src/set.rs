//! IN over a list of literals.

use arrow_schema::DataType;
use godwit_common::Result;
use godwit_vector::kernels::boolean::{not, or};
use godwit_vector::kernels::cast::convert;
use godwit_vector::kernels::compare::{Comparison, compare};
use godwit_vector::kernels::hash::hash_string;
use godwit_vector::{Bitmap, Flat, PhysicalType, StrColumn, StrView, Vector};

use crate::compare::{Test, boolean, compile as compile_comparison, compile_test};
use crate::expression::{Kernel, Operation};
use crate::{Expression, range};

/// Up to this many values are compared one by one, in loops over all rows.
const COMPARED_VALUES_MAX: usize = 4;
/// Integers that span at most this many values are looked up in a bitmap, which then fits the L1 cache.
const BITMAP_VALUES_MAX: i128 = 64 * 1024;
/// Slots per string of a set: most strings that aren't in it hit a free slot, which ends the search.
const SLOTS_PER_STRING: usize = 8;

/// Compiles `argument [NOT] IN (list)`.
pub(crate) fn compile(argument: Expression, list: Vec<Expression>, negated: bool, text: &str) -> Result<Expression> {
    let has_null = list.iter().any(|value| matches!(value.as_literal(), Some((_, true))));
    let values: Vec<Expression> =
        list.into_iter().filter(|value| !matches!(value.as_literal(), Some((_, true)))).collect();
    let literals: Option<Vec<&Flat>> = values.iter().map(|value| value.as_literal().map(|(flat, _)| flat)).collect();
    let set = literals.and_then(|literals| Set::new(&argument, &values, &literals));
    let found = match set {
        Some(set) => {
            let output = boolean(argument.output().nullable || has_null);
            return Ok(Expression::strict(In { set, has_null, negated }, vec![argument], output));
        }
        None => values
            .into_iter()
            .map(|value| compile_comparison(Comparison::Equal, argument.clone(), value, text))
            .collect::<Result<Vec<_>>>()?,
    };
    let mut alternatives = found;
    if has_null {
        alternatives.push(crate::cast::null_literal(&DataType::Boolean)?);
    }
    let any = match alternatives.len() {
        0 => Expression::boolean(false),
        1 => alternatives.remove(0),
        _ => {
            let nullable = alternatives.iter().any(|alternative| alternative.output().nullable);
            Expression::new(Operation::Or, alternatives, boolean(nullable)).folded()
        }
    };
    Ok(if negated { compile_test(Test::Not, any) } else { any })
}

struct In {
    set: Set,
    /// The list contains NULL: values that aren't found give NULL.
    has_null: bool,
    negated: bool,
}

enum Set {
    /// A few values of the argument's own type, each of length 1.
    Few(Vec<Flat>),
    /// Bit `value - min`.
    Bits {
        min: i64,
        bits: Bitmap,
    },
    /// Ascending.
    Sorted(Vec<i64>),
    Strings(StringSet),
}

impl Set {
    fn new(argument: &Expression, values: &[Expression], literals: &[&Flat]) -> Option<Set> {
        let physical = argument.output().physical;
        if physical == PhysicalType::Str && values.iter().all(|value| value.output().physical == physical) {
            if literals.len() <= COMPARED_VALUES_MAX {
                return Some(Set::Few(literals.iter().map(|&flat| flat.clone()).collect()));
            }
            return Some(Set::Strings(StringSet::new(literals.iter().map(|flat| flat.strings().get(0)))));
        }
        let scale = argument.output().scale();
        if !argument.output().bound()?.fits(PhysicalType::I64)
            || values.iter().any(|value| value.output().scale() != scale)
        {
            return None;
        }
        let limits = argument.output().bound()?;
        let mut integers =
            literals.iter().map(|flat| Some(range::of_flat(flat)?.min)).collect::<Option<Vec<i128>>>()?;
        // Values that the argument can't have are never found.
        integers.retain(|&value| limits.min <= value && value <= limits.max);
        integers.sort_unstable();
        integers.dedup();
        let (Some(&min), Some(&max)) = (integers.first(), integers.last()) else { return Some(Set::Few(Vec::new())) };
        if integers.len() <= COMPARED_VALUES_MAX {
            let literal = |&value: &i128| convert(&Vector::from_values(vec![value], None), physical).to_flat();
            return (physical != PhysicalType::Bool).then(|| Set::Few(integers.iter().map(literal).collect()));
        }
        if max - min < BITMAP_VALUES_MAX {
            let mut bits = Bitmap::filled((max - min + 1) as usize, false);
            integers.iter().for_each(|value| bits.set((value - min) as usize, true));
            return Some(Set::Bits { min: min as i64, bits });
        }
        Some(Set::Sorted(integers.into_iter().map(|value| value as i64).collect()))
    }

    fn contains(&self, argument: &Vector, rows: usize) -> Vector {
        let bytes: Vec<u8> = match self {
            Set::Few(values) => {
                let no =
                    Vector::constant(Flat::Bool(vec![0u8].into()), rows).with_validity(argument.validity().cloned());
                return values.iter().fold(no, |found, value| {
                    or(&found, &compare(Comparison::Equal, argument, &Vector::constant(value.clone(), rows)))
                });
            }
            Set::Bits { min, bits } => {
                let integers = convert(argument, PhysicalType::I64).to_flat();
                let test = |value: &i64| {
                    let at = value.wrapping_sub(*min) as u64 as usize;
                    (at < bits.len() && bits.get(at)) as u8
                };
                integers.values::<i64>().iter().map(test).collect()
            }
            Set::Sorted(values) => {
                let integers = convert(argument, PhysicalType::I64).to_flat();
                integers.values::<i64>().iter().map(|value| values.binary_search(value).is_ok() as u8).collect()
            }
            Set::Strings(set) => {
                let flat = argument.to_flat();
                let strings = flat.strings();
                strings
                    .views()
                    .iter()
                    .zip(strings.iter())
                    .map(|(view, string)| set.contains(view, string) as u8)
                    .collect()
            }
        };
        Vector::from_bools(bytes, None).with_validity(argument.validity().cloned())
    }
}

impl Kernel for In {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let mut found = self.set.contains(&arguments[0], rows);
        if self.has_null {
            found = or(&found, &Vector::null(PhysicalType::Bool, rows));
        }
        Ok(if self.negated { not(&found) } else { found })
    }
}

/// Strings with an open-addressing hash table of their indices.
struct StringSet {
    strings: StrColumn,
    /// Index + 1 of a string, or 0. Their number is a power of two, at least [`SLOTS_PER_STRING`] per string.
    slots: Vec<u32>,
}

impl StringSet {
    fn new<'a>(strings: impl Iterator<Item = &'a [u8]>) -> Self {
        let strings = StrColumn::from_strings(strings);
        let slots = vec![0; (strings.len() * SLOTS_PER_STRING).next_power_of_two()];
        let mut set = Self { strings: strings.clone(), slots };
        for (index, (view, string)) in strings.views().iter().zip(strings.iter()).enumerate() {
            let slot = set.slot_of(view, string);
            set.slots[slot] = index as u32 + 1;
        }
        set
    }

    /// Returns the slot that holds `string`, whose view is `view`, or the free one where it belongs.
    #[inline]
    fn slot_of(&self, view: &StrView, string: &[u8]) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = hash_string(view, string) as usize & mask;
        while self.slots[slot] != 0 && !self.is_at(self.slots[slot] as usize - 1, view, string) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    /// True if string `index` equals the given one. Short ones are equal if their views are.
    #[inline]
    fn is_at(&self, index: usize, view: &StrView, string: &[u8]) -> bool {
        if view.is_inline() {
            self.strings.views()[index].bits() == view.bits()
        } else {
            self.strings.get(index) == string
        }
    }

    fn contains(&self, view: &StrView, string: &[u8]) -> bool {
        self.slots[self.slot_of(view, string)] != 0
    }
}
