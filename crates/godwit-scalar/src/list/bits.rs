//! Aggregates of the bits of a list's elements, and the bit string with a bit for each of several integers.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_vector::{Flat, Native, Vector, match_integer_type};

use super::call::{Call, strict};
use super::list_function;
use super::lists::Lists;
use super::types::{Chosen, element_of, list_as};
use crate::choose::fits;
use crate::function::Function;
use crate::rows::Writer;

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(&["list_bit_and"], "The bits that all elements of the list have")
            .example("list_bit_and([6, 3])", "2")
            .chosen("list_bit_and(list)", all),
        list_function(&["list_bit_or"], "The bits that some element of the list has")
            .example("list_bit_or([6, 3])", "7")
            .chosen("list_bit_or(list)", any),
        list_function(&["list_bit_xor"], "The bits that an odd number of the list's elements have")
            .example("list_bit_xor([6, 3])", "5")
            .chosen("list_bit_xor(list)", odd),
        list_function(
            &["list_bitstring_agg"],
            "A bit for each integer from the least to the greatest: whether it is in the list; the bounds may be given",
        )
        .example("list_bitstring_agg([1, 3])", "101")
        .example("list_bitstring_agg([1, 3], 0, 5)", "010100")
        .chosen("list_bitstring_agg(list)", string)
        .chosen("list_bitstring_agg(list, least, greatest)", string),
    ]
}

pub(super) fn all(arguments: &[ArgumentType<'_>]) -> Chosen {
    of_bits(arguments, |a, b| a & b)
}

pub(super) fn any(arguments: &[ArgumentType<'_>]) -> Chosen {
    of_bits(arguments, |a, b| a | b)
}

pub(super) fn odd(arguments: &[ArgumentType<'_>]) -> Chosen {
    of_bits(arguments, |a, b| a ^ b)
}

#[allow(clippy::unnecessary_cast, reason = "one of the types is i128 already")]
fn of_bits(arguments: &[ArgumentType<'_>], combine: fn(i128, i128) -> i128) -> Chosen {
    let [list] = arguments else { return None };
    let element = element_of(list)?;
    let types = vec![list_as(list, &element)];
    if matches!(element, SqlType::Bit | SqlType::UHugeInt) {
        return Some(Ok(strict(types, element, move |call: &Call<'_>| of_strings(call, combine))));
    }
    element.integer_range()?;
    let compute = move |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let vector = lists.vector()?;
        let flat = vector.to_flat();
        match_integer_type!(flat.physical(), T => combined::<T>(call, &lists, &vector, &flat, |a, b| {
            combine(a as i128, b as i128) as T
        }))
    };
    Some(Ok(strict(types, element, compute).total()))
}

fn combined<T: Native>(
    call: &Call<'_>,
    lists: &Lists,
    vector: &Vector,
    flat: &Flat,
    combine: impl Fn(T, T) -> T,
) -> Result<Vector> {
    let values = flat.values::<T>();
    let mut results = vec![T::default(); call.rows];
    let mut nulls = Vec::new();
    for row in (0..call.rows).filter(|&row| call.is_computed(row)) {
        let valid = lists.range(row).filter(|&at| vector.is_valid(at)).map(|at| values[at]);
        match valid.reduce(&combine) {
            Some(value) => results[row] = value,
            None => nulls.push(row),
        }
    }
    Ok(Vector::from_values(results, call.validity_without(&nulls)))
}

/// The same for BIT, whose values are digits, and UHUGEINT, whose values are 16 bytes.
fn of_strings(call: &Call<'_>, combine: fn(i128, i128) -> i128) -> Result<Vector> {
    let lists = call.lists(0)?;
    let vector = lists.vector()?;
    let flat = vector.to_flat();
    let strings = flat.strings();
    // Digits differ in their last bit.
    let common = if *call.result == SqlType::Bit { b'0' } else { 0 };
    call.texts(|row, out| -> Result<Option<()>> {
        let mut valid = lists.range(row).filter(|&at| vector.is_valid(at)).map(|at| strings.get(at));
        let Some(first) = valid.next() else { return Ok(None) };
        out.reserve(first.len())?;
        out.push_bytes(first);
        for other in valid {
            out.check()?;
            if other.len() != first.len() {
                let lengths = format!("{} and {}", first.len(), other.len());
                return Err(invalid(format!("bit strings of {lengths} bits can't be combined"))
                    .with_hint("bitstring(bits, length) puts zeros before them"));
            }
            for (bits, other) in out.row_mut().iter_mut().zip(other) {
                *bits = combine((*bits).into(), (*other).into()) as u8 | common;
            }
        }
        Ok(Some(()))
    })
}

/// The bit string of a list of integers: the first bit stands for the least.
pub(super) fn string(arguments: &[ArgumentType<'_>]) -> Chosen {
    let (list, bounds) = arguments.split_first()?;
    element_of(list).filter(SqlType::is_integer)?;
    let is_number = |bound: &ArgumentType<'_>| bound.ty.is_integer() || fits(bound, &SqlType::HugeInt);
    (matches!(bounds, [] | [_, _]) && bounds.iter().all(is_number)).then_some(())?;
    let mut types = vec![SqlType::HugeInt; arguments.len()];
    types[0] = list_as(list, &SqlType::HugeInt);
    let compute = |call: &Call<'_>| {
        let lists = call.lists(0)?;
        let vector = lists.vector()?;
        let flat = vector.to_flat();
        let values = flat.values::<i128>();
        let bounds: Vec<Flat> = call.arguments[1..].iter().map(Vector::to_flat).collect();
        call.texts(|row, out| -> Result<Option<()>> {
            let valid = || lists.range(row).filter(|&at| vector.is_valid(at)).map(|at| values[at]);
            let Some((least, greatest)) = valid().min().zip(valid().max()) else { return Ok(None) };
            let range = match &bounds[..] {
                [from, to] => (from.values::<i128>()[row], to.values::<i128>()[row]),
                _ => (least, greatest),
            };
            if let Some(outside) = [least, greatest].into_iter().find(|value| !(range.0..=range.1).contains(value)) {
                let error = Error::user(format!("{outside} isn't between {} and {}", range.0, range.1));
                return Err(error.with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE));
            }
            let length = range.1.checked_sub(range.0).and_then(|last| usize::try_from(last).ok());
            zeros(length.unwrap_or(usize::MAX).saturating_add(1), out)?;
            let bits = out.row_mut();
            valid().for_each(|value| bits[(value - range.0) as usize] = b'1');
            Ok(Some(()))
        })
    };
    Some(Ok(strict(types, SqlType::Bit, compute)))
}

fn zeros(count: usize, out: &mut Writer<'_>) -> Result<()> {
    const ZEROS: [u8; 4096] = [b'0'; 4096];
    out.reserve(count)?;
    for start in (0..count).step_by(ZEROS.len()) {
        out.check()?;
        out.push_bytes(&ZEROS[..ZEROS.len().min(count - start)]);
    }
    Ok(())
}

fn invalid(message: String) -> Error {
    Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn integers() {
        assert_eq!(shown("list_bit_and", &["BIGINT[] '[-1, 5, NULL]'"]), "5");
        assert_eq!(shown("list_bit_xor", &["UTINYINT[] '[255, 1]'"]), "254");
        assert_eq!(shown("list_bit_or", &["INTEGER[] '[]'"]), "NULL");
        assert_eq!(shown("list_bit_and", &["HUGEINT[] '[-1, 36893488147419103232]'"]), "36893488147419103232");
        let greatest = u128::MAX.to_string();
        assert_eq!(shown("list_bit_and", &[&format!("UHUGEINT[] '[{greatest}, NULL, 5]'")]), "5");
        assert_eq!(shown("list_bit_or", &[&format!("UHUGEINT[] '[{greatest}, 5]'")]), greatest);
        assert_eq!(shown("list_bit_xor", &["UHUGEINT[] '[]'"]), "NULL");
    }

    #[test]
    fn bit_strings() {
        let list = "BIT[] '[0110, NULL, 0011]'";
        assert_eq!(shown("list_bit_and", &[list]), "0010");
        assert_eq!(shown("list_bit_or", &[list]), "0111");
        assert_eq!(shown("list_bit_xor", &[list]), "0101");
        assert_eq!(shown("list_bit_xor", &["BIT[] '[NULL]'"]), "NULL");
        assert!(error_of("list_bit_and", &["BIT[] '[0110, 011]'"]).contains("4 and 3 bits"));
    }

    #[test]
    fn bit_strings_of_integers() {
        let list = "INTEGER[] '[3, NULL, -1, 3]'";
        assert_eq!(shown("list_bitstring_agg", &[list]), "10001");
        assert_eq!(shown("list_bitstring_agg", &[list, "-2", "4"]), "0100010");
        assert_eq!(shown("list_bitstring_agg", &["INTEGER[] '[NULL]'", "-2", "4"]), "NULL");
        assert!(error_of("list_bitstring_agg", &[list, "0", "4"]).contains("-1 isn't between 0 and 4"));
        assert!(error_of("list_bitstring_agg", &["BIGINT[] '[0, 9223372036854775807]'"]).contains("longer than"));
    }
}
