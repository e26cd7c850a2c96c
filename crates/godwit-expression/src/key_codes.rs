//! Text keys of a join as codes of the build side's values.
//!
//! ```text
//! build:  a vector of the build column's dictionary   ─▶  its codes
//! probe:  a vector of the same dictionary             ─▶  its codes
//!         a vector of another one                     ─▶  the translation of its codes: one array, made once
//!         strings                                     ─▶  searched
//! ```
//!
//! A string of the probe side that doesn't occur in the build side's column gets the code after all of its codes, which
//! no row of the build side has.

use std::sync::Arc;

use arrow_buffer::ScalarBuffer;
use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_vector::{ColumnType, Data, Dictionary, Vector};
use parking_lot::Mutex;

use crate::expression::Kernel;
use crate::{Compression, Expression, TextDomain, range};

/// Number of dictionaries whose translation is remembered: the probe side's, and one for rows not yet in a row group.
const TRANSLATIONS_MAX: usize = 2;

/// The codes of one pair of keys.
pub struct KeyCodes {
    domain: Arc<TextDomain>,
    compression: Compression,
    memory: BufferManager,
    /// Translations of the most recently met dictionaries.
    translations: Mutex<Vec<Translation>>,
}

/// The codes of a dictionary, translated to those of the build side.
#[derive(Clone)]
struct Translation {
    /// The dictionary's identity.
    dictionary: u64,
    codes: Arc<[u32]>,
    _memory: Arc<Reservation>,
}

impl KeyCodes {
    /// Creates codes for a key whose values on the build side are `domain`. `memory` accounts for the translation.
    pub fn new(domain: Arc<TextDomain>, memory: &BufferManager) -> Arc<Self> {
        let compression = Compression::of_key_domain(domain.clone());
        Arc::new(Self { domain, compression, memory: memory.clone(), translations: Mutex::default() })
    }

    /// Turns the build side's keys into codes, and back.
    pub fn compression(&self) -> &Compression {
        &self.compression
    }

    /// Returns the codes of the probe side's keys.
    pub fn of_probe(self: &Arc<Self>, key: &Expression) -> Expression {
        let range = Some(range::new(0, self.unknown() as i128));
        let output = ColumnType { range, ..self.compression.compressed_type(key.output().nullable) };
        Expression::strict(EncodeProbe(self.clone()), vec![key.clone()], output)
    }

    fn unknown(&self) -> u32 {
        self.domain.len() as u32
    }

    /// Replaces missing codes, the largest number, by the code for all other strings.
    fn known_or_not(&self, mut places: Vec<u32>) -> Vec<u32> {
        places.iter_mut().for_each(|place| *place = (*place).min(self.unknown()));
        places
    }

    fn translation(&self, dictionary: &Dictionary) -> Result<Translation> {
        let mut known = self.translations.lock();
        if let Some(known) = known.iter().find(|known| known.dictionary == dictionary.id()) {
            return Ok(known.clone());
        }
        let memory = self.memory.reserve(dictionary.len() * size_of::<u32>(), MemoryTag::HashTable)?;
        let codes = self.known_or_not(self.domain.places_of_entries(dictionary)).into();
        let made = Translation { dictionary: dictionary.id(), codes, _memory: Arc::new(memory) };
        if known.len() == TRANSLATIONS_MAX {
            known.remove(0);
        }
        known.push(made.clone());
        Ok(made)
    }
}

struct EncodeProbe(Arc<KeyCodes>);

impl Kernel for EncodeProbe {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let (keys, vector) = (&*self.0, &arguments[0]);
        let codes: ScalarBuffer<u32> = match vector.data() {
            Data::Dictionary(_, dictionary) if dictionary.is_empty() => vec![keys.unknown(); rows].into(),
            Data::Dictionary(codes, dictionary) if dictionary.id() == keys.domain.dictionary().id() => codes.clone(),
            Data::Dictionary(codes, dictionary) => {
                let translation = keys.translation(dictionary)?;
                codes.iter().map(|&code| translation.codes[code as usize]).collect::<Vec<u32>>().into()
            }
            Data::Flat(flat) => keys.known_or_not(keys.domain.places(flat.strings())).into(),
            Data::Constant(flat) => vec![keys.known_or_not(keys.domain.places(flat.strings()))[0]; rows].into(),
        };
        Ok(keys.compression.narrowed(codes, vector))
    }

    fn can_fail(&self) -> bool {
        // There may be no memory for the translation.
        true
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;
    use godwit_memory::BufferConfig;
    use godwit_vector::kernels::cast::convert;
    use godwit_vector::{Bitmap, Chunk, Flat, PhysicalType, StrColumn};
    use proptest::prelude::*;

    use super::*;

    fn ordered(texts: &[String]) -> Arc<Dictionary> {
        let mut texts = texts.to_vec();
        texts.sort();
        texts.dedup();
        Arc::new(Dictionary::new(Flat::Str(StrColumn::from_strings(texts)), true))
    }

    /// Texts as codes of a dictionary that contains them all.
    fn coded(texts: &[String], dictionary: &Arc<Dictionary>, validity: Option<Bitmap>) -> Vector {
        let code = |text: &String| dictionary.values().strings().iter().position(|known| known == text.as_bytes());
        let codes: Vec<u32> = texts.iter().map(|text| code(text).unwrap() as u32).collect();
        Vector::dictionary(codes.into(), dictionary.clone(), validity)
    }

    proptest! {
        #[test]
        fn codes_are_equal_where_texts_are(
            build in prop::collection::vec("[a-c]{0,3}|long[a-b]{12,16}", 1..300),
            probe in prop::collection::vec(("[a-c]{0,3}|long[a-b]{12,16}", any::<bool>()), 1..50),
        ) {
            let texts: Vec<String> = probe.iter().map(|(text, _)| text.clone()).collect();
            let is_valid = |row: usize| probe[row].1;
            let validity = || Some(Bitmap::from_fn(probe.len(), is_valid));
            let domain = TextDomain::of_dictionary(ordered(&build));
            let all: Vec<String> = build.iter().chain(&texts).cloned().collect();
            let memory = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
            let keys = KeyCodes::new(Arc::new(domain), &memory);
            let ty = ColumnType::new(DataType::Utf8View, true).unwrap();
            let column = Expression::column(0, ty);
            let evaluate = |expression: &Expression, vector: Vector| {
                let rows = vector.len();
                let codes = expression.evaluate(&Chunk::new(vec![vector], rows)).unwrap();
                assert_eq!(codes.physical(), expression.output().physical);
                let wide = convert(&codes, PhysicalType::U32).to_flat().values::<u32>().to_vec();
                (0..rows).map(|row| codes.is_valid(row).then_some(wide[row])).collect::<Vec<_>>()
            };
            let build_codes = evaluate(&keys.compression().compress(&column), coded(&build, keys.domain.dictionary(), None));
            let forms = [
                Vector::flat(Flat::Str(StrColumn::from_strings(&texts)), validity()),
                coded(&texts, &ordered(&texts), validity()),
                coded(&texts, &ordered(&all), validity()),
            ];
            for form in forms {
                let probe_codes = evaluate(&keys.of_probe(&column), form);
                for (row, text) in texts.iter().enumerate() {
                    prop_assert_eq!(probe_codes[row].is_some(), is_valid(row));
                    for (at, built) in build.iter().enumerate() {
                        prop_assert_eq!(probe_codes[row] == build_codes[at], is_valid(row) && built == text);
                    }
                }
            }
            prop_assert!(memory.used_bytes() > 0);
            drop(keys);
            prop_assert_eq!(memory.used_bytes(), 0);
        }
    }
}
