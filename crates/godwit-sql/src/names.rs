//! Near names for hints, and the name of the only schema.

/// What tables and views may be qualified with.
pub const SCHEMA: &str = "main";

/// Names whose similarity to the wanted one is below this are no help (Jaro-Winkler, from 0 to 1).
const SIMILARITY_MIN: f64 = 0.8;

/// The candidate most like `wanted`, if any is near enough to be what the user meant.
pub(crate) fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_near_names_are_suggested() {
        let tables = ["lineitem", "orders", "customer"];
        assert_eq!(nearest("linitem", tables), Some("lineitem"));
        assert_eq!(nearest("ORDER", tables), Some("orders"));
        assert_eq!(nearest("zzz", tables), None);
    }
}
