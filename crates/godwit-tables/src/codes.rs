//! What a version promises of the codes of its text columns.
//!
//! ```text
//! main:   all parts have codes ──▶ the values are in the dictionary
//! delta:  strings ──▶ all of them in the dictionary, too:  codes of the dictionary, at no cost
//!                     some are new:                        a domain of all values, if they are few; operators translate
//! ```
//!
//! Scans emit rows of the delta as strings in any case: whoever wants codes searches them in the dictionary.

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::{DOMAIN_VALUES_MAX, TextDomain};
use godwit_vector::{PhysicalType, Vector};

use crate::version::TableVersion;

/// Rows of a delta whose strings are looked up to find out whether they are new: that takes some milliseconds, once per
/// version.
const DELTA_ROWS_MAX: usize = 16_384;

impl TableVersion {
    /// The values of a text column, if the codes of its dictionary stand for all of them.
    pub(crate) fn text_codes(&self, column: usize) -> Result<Option<Arc<TextDomain>>> {
        let known = self.known_codes(column);
        if known.get().is_none() {
            let found = self.find_text_codes(column)?;
            return Ok(known.get_or_init(|| found).clone());
        }
        Ok(known.get().cloned().flatten())
    }

    fn find_text_codes(&self, column: usize) -> Result<Option<Arc<TextDomain>>> {
        let Some(domain) = self.main_domain(column)? else { return Ok(None) };
        Ok(self.delta_strings(column).all(|strings| domain.has_all(&strings)).then(|| Arc::new(domain)))
    }

    /// The values of a text column, if they are few and known.
    pub(crate) fn text_domain(&self, column: usize) -> Result<Option<Arc<TextDomain>>> {
        if let Some(codes) = self.text_codes(column)? {
            return Ok(Some(codes));
        }
        let Some(domain) = self.main_domain(column)? else { return Ok(None) };
        if domain.len() > DOMAIN_VALUES_MAX {
            return Ok(None);
        }
        let delta: Vec<Vector> = self.delta_strings(column).collect();
        let flats: Vec<_> = delta.iter().map(Vector::to_flat).collect();
        let added = delta.iter().zip(&flats).flat_map(|(strings, flat)| {
            flat.strings().iter().enumerate().filter(|(row, _)| strings.is_valid(*row)).map(|(_, string)| string)
        });
        let dictionary = domain.dictionary().values();
        Ok(TextDomain::new(dictionary.strings().iter().chain(added)).map(Arc::new))
    }

    /// The values of the main part, if it has only codes and the delta isn't too large to look into.
    fn main_domain(&self, column: usize) -> Result<Option<TextDomain>> {
        let is_text = self.row_type()[column].physical == PhysicalType::Str;
        let dictionary = self.main().columns[column].dictionary.as_ref().filter(|_| is_text);
        let Some(dictionary) = dictionary.filter(|_| self.delta_rows() <= DELTA_ROWS_MAX) else { return Ok(None) };
        if !self.main().has_only_codes(column) {
            return Ok(None);
        }
        Ok(Some(TextDomain::of_dictionary(dictionary.load(self.memory())?.shared().clone())))
    }

    fn delta_strings(&self, column: usize) -> impl Iterator<Item = Vector> {
        self.delta().map(move |chunk| chunk.dense(column))
    }
}
