//! Functions with what documents them: the entries of this crate's tables.

/// A function.
pub(crate) struct Documented<F> {
    /// Its names, in lower case; the first is the one that is documented.
    pub names: &'static [&'static str],
    /// How it is called, as its table sees it.
    pub form: F,
    /// Its result, in a sentence without a subject: "The sum of the numbers".
    pub description: &'static str,
    /// What may follow SELECT, and the result as text: of several rows, with commas between them.
    pub example: (&'static str, &'static str),
}

/// Creates a function, which still lacks its example.
pub(crate) const fn function<F>(names: &'static [&'static str], form: F, description: &'static str) -> Documented<F> {
    Documented { names, form, description, example: ("", "") }
}

impl<F: Copy> Documented<F> {
    /// Sets the example.
    pub(crate) const fn example(self, call: &'static str, value: &'static str) -> Self {
        Self { example: (call, value), ..self }
    }
}

/// Returns the function of a name.
pub(crate) fn find<F>(functions: &'static [Documented<F>], name: &str) -> Option<&'static Documented<F>> {
    functions.iter().find(|function| function.names.contains(&name))
}

/// Returns all names of functions.
pub(crate) fn names<F>(functions: &'static [Documented<F>]) -> impl Iterator<Item = &'static str> {
    functions.iter().flat_map(|function| function.names.iter().copied())
}
