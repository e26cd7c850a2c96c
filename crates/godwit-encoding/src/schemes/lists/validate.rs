//! Items that fit, and values that aren't lists.

use godwit_common::Result;
use godwit_vector::PhysicalType;

use super::ListItems;
use crate::header::{TYPES, corrupt};
use crate::registry::Encoding;
use crate::scheme::Shape;

/// The schemes that items may have: those of numbers whose single values are cheap to read.
pub(super) const VALUES: &[&str] = &["null", "constant", "packed", "multiples", "decimals", "run_length", "plain"];

/// Maximum number of items of a part, which bounds the memory that a damaged header can ask for.
pub(super) const ITEMS_MAX: usize = 1 << 22;

/// The type with this number in the file.
pub(super) fn item_type(number: u8) -> Result<PhysicalType> {
    let item = TYPES.get(usize::from(number)).filter(|item| !matches!(item, PhysicalType::Bool | PhysicalType::Str));
    item.copied().ok_or_else(|| corrupt("unknown type of items"))
}

/// The body is checked only when it is read, as it begins with lengths.
pub(super) fn check(lists: &ListItems, shape: Shape) -> Result<()> {
    let is_sound = shape.physical == PhysicalType::Str
        && lists.items as usize <= ITEMS_MAX
        && lists.nulls <= lists.items
        && (lists.nulls == lists.items) == matches!(*lists.values, Encoding::Null(_));
    if is_sound { Ok(()) } else { Err(corrupt("lists contradict their header")) }
}
