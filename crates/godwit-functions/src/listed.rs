//! The functions of the registry with what documents them, for listings of functions.

use godwit_plan::Volatility;
use godwit_scalar::Forms;

use crate::documented::Documented;
use crate::{aggregate, clock, lambda, rows, window};

/// What a function computes its value from, or what it is instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListedKind {
    /// One row.
    Scalar,
    /// The rows of a group.
    Aggregate,
    /// The rows of a window.
    Window,
    /// It is a table.
    Table,
    /// An expression over other functions.
    Macro,
}

impl ListedKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Aggregate => "aggregate",
            Self::Window => "window",
            Self::Table => "table",
            Self::Macro => "macro",
        }
    }
}

/// A function.
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its names; the first is the one that is documented.
    pub names: Vec<&'static str>,
    /// What it computes its value from.
    pub kind: ListedKind,
    /// Its subject: a section of the documentation.
    pub category: &'static str,
    /// The ways to call it, under its first name.
    pub signatures: Vec<String>,
    /// Its result, in a sentence without a subject.
    pub description: &'static str,
    /// What may follow SELECT, and the result as text: of several rows, with commas between them.
    pub examples: Vec<(&'static str, &'static str)>,
    /// How often a call has to be evaluated, if it has a value.
    pub volatility: Option<Volatility>,
    /// True if a NULL argument always gives NULL, false if it may give something else; `None` if that depends on the
    /// types of the arguments, or isn't known.
    pub strict: Option<bool>,
}

impl Listed {
    /// Lists a function that gives the same result for the same arguments.
    pub(crate) fn of<F>(
        function: &Documented<F>,
        kind: ListedKind,
        category: &'static str,
        signatures: Vec<String>,
    ) -> Self {
        Self {
            names: function.names.to_vec(),
            kind,
            category,
            signatures,
            description: function.description,
            examples: vec![function.example],
            volatility: Some(Volatility::Immutable),
            strict: None,
        }
    }

    /// Lists a table function.
    pub fn table(names: &[&'static str], arguments: &str, description: &'static str) -> Self {
        Self {
            names: names.to_vec(),
            kind: ListedKind::Table,
            category: "Tables",
            signatures: vec![format!("{}({arguments})", names[0])],
            description,
            examples: Vec::new(),
            volatility: None,
            strict: None,
        }
    }

    /// Returns the ways to call it under one of its names.
    pub fn signatures_of(&self, name: &str) -> Vec<String> {
        let renamed = |signature: &String| match signature.strip_prefix(self.names[0]) {
            Some(rest) => format!("{name}{rest}"),
            None => signature.clone(),
        };
        self.signatures.iter().map(renamed).collect()
    }
}

/// Whether all forms of a function give NULL for NULL; `None` if some are chosen by the types of the arguments.
fn is_strict(forms: &[Forms]) -> Option<bool> {
    let strict = |form: &Forms| match form {
        Forms::Typed(form) => Some(form.strict),
        Forms::Chosen { .. } => None,
    };
    let all = forms.iter().map(strict).collect::<Option<Vec<bool>>>()?;
    Some(all.into_iter().all(|strict| strict))
}

/// Returns all functions that have values.
pub fn listed_functions() -> Vec<Listed> {
    let kernels = godwit_scalar::functions().iter().map(|function| Listed {
        names: function.names.to_vec(),
        kind: ListedKind::Scalar,
        category: function.category.title(),
        signatures: function.signatures(function.name()),
        description: function.description,
        examples: function.examples.clone(),
        volatility: Some(function.volatility),
        strict: is_strict(&function.forms),
    });
    let others = [lambda::listed().collect(), clock::listed().collect(), rows::listed().collect::<Vec<_>>()];
    kernels.chain(others.into_iter().flatten()).chain(aggregate::listed()).chain(window::listed()).collect()
}
