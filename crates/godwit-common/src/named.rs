//! Alternatives with names.

/// A set of alternatives from which users choose by name.
pub trait Named: Copy + PartialEq + 'static {
    /// Each alternative with the name that users set, in the order of declaration.
    const NAMES: &'static [(&'static str, Self)];

    /// The name that users set.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, one)| *one == self).expect("each alternative has a name").0
    }

    /// Returns the alternative of this name, ignoring case.
    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, one)| one)
    }
}
