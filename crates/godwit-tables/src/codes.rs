//! The meaning of the codes in a version's text columns.
//!
//! ```text
//! main:   all parts have codes ──▶ values a c e          codes 0 1 2 ──▶ 0 1 3
//! delta:  codes of its own     ──▶ values d a            codes 0 1   ──▶ 2 0
//! all:    values of both in order: a c d e
//! ```
//!
//! If the delta adds no new values, the codes of the main part serve for all rows. Otherwise a dictionary of all values
//! is built when a plan asks for it, and shared by all versions until new values arrive; scans that start from then on
//! emit its codes for both parts. Strings of a delta without codes are looked up; if one is new, or if there are too
//! many, the version has no codes.

use std::sync::Arc;

use godwit_common::Result;
use godwit_encoding::OrderedDictionary;
use godwit_expression::{DOMAIN_VALUES_MAX, TextDomain};
use godwit_vector::{Flat, PhysicalType, Vector};

use crate::delta::{DeltaChunk, UnitedCodes, has_codes, with_dictionary};
use crate::version::TableVersion;

/// Maximum number of delta rows whose strings are looked up to find out whether they are new: this takes some
/// milliseconds, once per version.
const STRING_ROWS_MAX: usize = 16_384;

/// Dictionaries with more values in total aren't united: that takes ten milliseconds per million.
const UNITED_VALUES_MAX: usize = 1 << 21;

/// The values of a text column of a version, and how the codes of both parts map to them.
pub(crate) struct TextCodes {
    pub domain: Arc<TextDomain>,
    /// `None`: the delta has no codes, and those of the main part are the domain's.
    united: Option<Arc<UnitedCodes>>,
}

impl TextCodes {
    /// Codes of the main part as strings of the domain; `None` if they are the same there.
    pub fn of_main(&self, codes: &Vector) -> Option<Vector> {
        let translation = self.united.as_ref()?.united.codes.as_ref()?;
        Some(self.translated(codes, Some(translation)))
    }

    /// Codes of the delta as strings of the domain.
    pub fn of_delta(&self, codes: &Vector) -> Vector {
        self.translated(codes, self.united.as_ref().map(|united| &united.united.added_codes[..]))
    }

    fn translated(&self, codes: &Vector, translation: Option<&[u32]>) -> Vector {
        let Some(translation) = translation else { return with_dictionary(codes, self.domain.dictionary()) };
        // Codes of NULL needn't be valid.
        let code = |&code: &u32| translation.get(code as usize).copied().unwrap_or(0);
        let translated: Vec<u32> = codes.to_flat().values::<u32>().iter().map(code).collect();
        let translated = Vector::flat(Flat::U32(translated.into()), None).with_validity(codes.validity().cloned());
        with_dictionary(&translated, self.domain.dictionary())
    }
}

impl TableVersion {
    /// The domain of a text column, if its codes cover all of its values.
    pub(crate) fn text_codes(&self, column: usize) -> Result<Option<Arc<TextDomain>>> {
        let Some(known) = self.known_codes(column) else { return Ok(None) };
        if known.get().is_none() {
            let found = self.find_codes(column)?.map(Arc::new);
            known.get_or_init(|| found);
        }
        Ok(self.codes(column).map(|codes| codes.domain.clone()))
    }

    /// The result of [`text_codes`](Self::text_codes), if it has been called.
    pub(crate) fn codes(&self, column: usize) -> Option<&Arc<TextCodes>> {
        self.known_codes(column)?.get()?.as_ref()
    }

    fn find_codes(&self, column: usize) -> Result<Option<TextCodes>> {
        let Some(main) = self.main_dictionary(column)? else { return Ok(None) };
        let has_strings = |chunk: &&DeltaChunk| !has_codes(chunk.chunk.column(column).vector);
        let strings: Vec<&DeltaChunk> = self.delta().chunks().iter().filter(has_strings).collect();
        if strings.iter().map(|chunk| chunk.chunk.len()).sum::<usize>() > STRING_ROWS_MAX {
            return Ok(None);
        }
        let codes = match self.delta().dictionary(column) {
            Some(delta) if main.len() + delta.len() > UNITED_VALUES_MAX => return Ok(None),
            Some(_) => {
                let Some(united) = self.delta().united(column, &main, self.memory()) else { return Ok(None) };
                let domain = TextDomain::of_dictionary(united.united.dictionary.shared().clone());
                TextCodes { domain: Arc::new(domain), united: Some(united) }
            }
            None => TextCodes { domain: Arc::new(TextDomain::of_dictionary(main.shared().clone())), united: None },
        };
        let are_known = strings.iter().all(|chunk| codes.domain.has_all(&chunk.chunk.dense(column)));
        Ok(are_known.then_some(codes))
    }

    /// The domain of a text column, if its values are few and known.
    pub(crate) fn text_domain(&self, column: usize) -> Result<Option<Arc<TextDomain>>> {
        if let Some(codes) = self.text_codes(column)? {
            return Ok(Some(codes));
        }
        let Some(main) = self.main_dictionary(column)? else { return Ok(None) };
        if main.len() > DOMAIN_VALUES_MAX || self.delta_rows() > STRING_ROWS_MAX {
            return Ok(None);
        }
        let chunks = self.delta().chunks().iter().map(|chunk| chunk.chunk.dense(column));
        let delta: Vec<Vector> = chunks.map(|stored| self.delta().strings(column, &stored)).collect();
        let flats: Vec<_> = delta.iter().map(Vector::to_flat).collect();
        let added = delta.iter().zip(&flats).flat_map(|(strings, flat)| {
            flat.strings().iter().enumerate().filter(|(row, _)| strings.is_valid(*row)).map(|(_, string)| string)
        });
        let values = main.shared().values();
        Ok(TextDomain::new(values.strings().iter().chain(added)).map(Arc::new))
    }

    /// The values of the main part of a text column, if it only has codes. Without rows there are no values.
    fn main_dictionary(&self, column: usize) -> Result<Option<OrderedDictionary>> {
        let is_text = self.row_type().get(column).is_some_and(|ty| ty.physical == PhysicalType::Str);
        if !is_text || self.rows() == 0 || !self.main().has_only_codes(column) {
            return Ok(None);
        }
        match &self.main().columns[column].dictionary {
            Some(dictionary) => dictionary.load(self.memory()).map(Some),
            None => Ok(Some(OrderedDictionary::from_sorted([]))),
        }
    }
}
