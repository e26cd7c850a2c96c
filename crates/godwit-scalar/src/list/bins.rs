//! The bins of a histogram: a list of bounds, in any order. A value belongs to the least bound that isn't below it.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, Value, parse_value};
use godwit_vector::sql::array_of_values;

use super::call::{Call, strict};
use super::keys::{Keys, Typed, match_keys};
use super::picks::internal;
use super::types::{Chosen, any_type, list_as, open_element};
use super::{list_function, sort};
use crate::function::Function;
use crate::kernel::Work;

pub(super) fn functions() -> Vec<Function> {
    vec![
        list_function(
            &["histogram_bin"],
            "The bin of a histogram that a value belongs to: the least that isn't below it, or what stands for the others",
        )
        .example("histogram_bin(15, [10, 20])", "20")
        .example("histogram_bin(25, [10, 20])", "2147483647")
        .chosen("histogram_bin(value, list)", |arguments| bin(arguments, false)),
        list_function(
            &["histogram_bin_exact"],
            "The bin of a histogram that equals a value, or what stands for the others",
        )
        .example("histogram_bin_exact(20, [10, 20])", "20")
        .example("histogram_bin_exact(15, [10, 20])", "2147483647")
        .chosen("histogram_bin_exact(value, list)", |arguments| bin(arguments, true)),
    ]
}

fn bin(arguments: &[ArgumentType<'_>], is_exact: bool) -> Chosen {
    let [value, bins] = arguments else { return None };
    open_element(bins)?;
    let ty = match any_type(value) {
        SqlType::Decimal { .. } => SqlType::Double,
        SqlType::Enum(_) => SqlType::Varchar,
        other => other,
    };
    let others = bin_of_others(&ty)?;
    let compute = move |call: &Call<'_>| {
        let lists = call.lists(1)?;
        let bins = Bins { bins: call.element_keys(1, &lists)?, values: call.keys(0)?, is_exact };
        let others = array_of_values(std::slice::from_ref(&others), call.result)?;
        let sources: [&dyn Array; 2] = [&lists.elements, &others];
        let source: ArrayRef = arrow_select::concat::concat(&sources).map_err(internal)?;
        let (mut sorted, mut of) = (Vec::new(), None);
        call.element(&source, |row| -> Result<Option<usize>> {
            let range = lists.range(row);
            if of.as_ref() != Some(&range) {
                sorted = bins.sorted(range.clone(), call.work)?;
                of = Some(range);
            }
            Ok(Some(bins.find(&sorted, row).unwrap_or(lists.elements.len())))
        })
    };
    Some(Ok(strict(vec![ty.clone(), list_as(bins, &ty)], ty, compute).never_null()))
}

/// Returns the bin that stands for all values without one, as in DuckDB: the greatest value, or an empty text.
fn bin_of_others(ty: &SqlType) -> Option<Value> {
    let text = match ty {
        _ if ty.integer_range().is_some() => return ty.integer_range().map(|(_, greatest)| Value::Integer(greatest)),
        SqlType::UHugeInt => return Some(Value::UHuge(u128::MAX)),
        SqlType::Varchar | SqlType::Blob => "",
        SqlType::Time => "24:00:00",
        _ if ty.is_float() || ty.is_timestamp() || *ty == SqlType::Date => "infinity",
        _ => return None,
    };
    parse_value(text, ty).ok()
}

/// Values that are looked up among bins.
struct Bins {
    bins: Keys,
    values: Keys,
    is_exact: bool,
}

impl Bins {
    /// Returns the places of some bins in order.
    fn sorted(&self, range: Range<usize>, work: &dyn Work) -> Result<Vec<u32>> {
        if !range.clone().all(|at| self.bins.is_valid(at)) {
            return Err(Error::user("a bin of a histogram is NULL").with_code(SqlState::INVALID_PARAMETER_VALUE));
        }
        sort::ascending(&self.bins, range, work)
    }

    /// Returns the place of the bin of a row's value.
    fn find(&self, sorted: &[u32], row: usize) -> Option<usize> {
        match_keys!(self.bins, self.values, bins, values => {
            let value = values.key(self.values.place(row)?);
            let at = *sorted.get(sorted.partition_point(|at| bins.key(*at as usize) < value))? as usize;
            (!self.is_exact || bins.key(at) == value).then_some(at)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn values_belong_to_the_least_bin_that_is_not_below_them() {
        let bins = "INTEGER[] '[20, 10, 20]'";
        for (value, bin) in [("9", "10"), ("10", "10"), ("11", "20"), ("21", "2147483647"), ("NULL", "NULL")] {
            assert_eq!(shown("histogram_bin", &[value, bins]), bin);
        }
        for (value, bin) in [("9", "2147483647"), ("10", "10"), ("20", "20")] {
            assert_eq!(shown("histogram_bin_exact", &[value, bins]), bin);
        }
        assert_eq!(shown("histogram_bin", &["VARCHAR 'c'", "VARCHAR[] '[b]'"]), "");
        assert_eq!(shown("histogram_bin", &["DATE '2020-01-02'", "DATE[] '[2020-01-01]'"]), "infinity");
        assert_eq!(call("histogram_bin", &["1.5", "INTEGER[] '[2]'"]).unwrap().1.to_string(), "DOUBLE");
        assert_eq!(shown("histogram_bin", &["1", "INTEGER[] '[]'"]), "2147483647");
        assert!(error_of("histogram_bin", &["1", "INTEGER[] '[NULL]'"]).contains("is NULL"));
    }
}
