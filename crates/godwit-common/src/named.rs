//! Alternatives with names.

/// A set of alternatives that users choose among by name.
pub trait Named: Copy + PartialEq + 'static {
    /// Each alternative with its name, as it is set; in the order of declaration.
    const NAMES: &'static [(&'static str, Self)];

    /// The name, as it is set.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, one)| *one == self).expect("each alternative has a name").0
    }

    /// The alternative of this name, in any case.
    fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, one)| one)
    }
}
