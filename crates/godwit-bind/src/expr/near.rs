//! Hints at similar names.

use godwit_common::Error;

/// Returns the known name most similar to an unknown one, if at most a third of its letters differ.
pub(crate) fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let name = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let known = known.into_iter().map(|known| (distance(known), known));
    let (distance, near) = known.min_by_key(|&(distance, _)| distance)?;
    (distance * 3 <= near.chars().count()).then_some(near)
}

/// Adds the most similar known name to an error as a hint, if there is one.
pub(super) fn with_nearest<'n>(error: Error, name: &str, known: impl IntoIterator<Item = &'n str>) -> Error {
    match nearest(name, known) {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error,
    }
}
