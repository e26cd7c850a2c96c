//! The description of a function.

use std::sync::Arc;

use godwit_plan::{ArgumentType, NoFunction, Volatility};
use godwit_types::SqlType;

use crate::kernel::Kernel;

/// The subject of a function: a section of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// Texts.
    Text,
    /// Patterns in texts: LIKE, GLOB, regular expressions.
    Pattern,
    /// BLOBs, encodings, digests.
    Binary,
    /// Numbers.
    Number,
    /// Dates, times, intervals.
    Time,
    /// Lists and arrays.
    List,
    /// Structs and maps.
    Struct,
    /// JSON.
    Json,
    /// All types.
    Value,
}

impl Category {
    /// All of them, in the order of the documentation.
    pub const ALL: [Category; 9] = [
        Self::Text,
        Self::Pattern,
        Self::Binary,
        Self::Number,
        Self::Time,
        Self::List,
        Self::Struct,
        Self::Json,
        Self::Value,
    ];

    /// The heading of the section.
    pub fn title(self) -> &'static str {
        match self {
            Self::Text => "Text",
            Self::Pattern => "Patterns",
            Self::Binary => "Bytes and digests",
            Self::Number => "Numbers",
            Self::Time => "Dates and times",
            Self::List => "Lists",
            Self::Struct => "Structs and maps",
            Self::Json => "JSON",
            Self::Value => "Any type",
        }
    }
}

/// A function, with all of its forms.
pub struct Function {
    /// Its names, in lower case; the first is the one that is documented.
    pub names: &'static [&'static str],
    /// Its subject.
    pub category: Category,
    /// Its result, in a sentence without a subject: "The text in upper case".
    pub description: &'static str,
    /// Calls, and their results as text.
    pub examples: Vec<(&'static str, &'static str)>,
    /// How often a call has to be evaluated.
    pub volatility: Volatility,
    /// The ways to call it.
    pub forms: Vec<Forms>,
}

/// Ways to call a function.
pub enum Forms {
    /// With arguments of certain types.
    Typed(Form),
    /// With whatever the function accepts, given the types and constants of the arguments.
    Chosen {
        /// The call for the documentation, such as `greatest(value, …)`.
        signature: &'static str,
        /// Returns the form for such arguments; `None` if it doesn't take them.
        choose: Chooser,
    },
}

/// Chooses a form for arguments; `None` if there is none.
pub type Chooser = fn(&[ArgumentType<'_>]) -> Option<Result<Form, NoFunction>>;

/// One way to call a function.
#[derive(Clone)]
pub struct Form {
    /// The types to which arguments are cast.
    pub arguments: Vec<SqlType>,
    /// True if the last argument may be repeated.
    pub repeats: bool,
    /// Type of the result.
    pub result: SqlType,
    /// True if a NULL argument gives NULL.
    pub strict: bool,
    /// True if some arguments make it fail.
    pub may_fail: bool,
    /// True if some arguments that aren't NULL give NULL.
    pub may_be_null: bool,
    /// Computes the result.
    pub kernel: Arc<dyn Kernel>,
}

impl Form {
    /// Creates a form that gives NULL for NULL without computing it.
    pub(crate) fn strict(
        arguments: Vec<SqlType>,
        result: SqlType,
        may_fail: bool,
        may_be_null: bool,
        kernel: Arc<dyn Kernel>,
    ) -> Self {
        Self { arguments, repeats: false, result, strict: true, may_fail, may_be_null, kernel }
    }

    /// Uses the same kernel for other types with the same representation in vectors, such as BLOB instead of VARCHAR.
    pub(crate) fn with_types(self, arguments: impl Into<Vec<SqlType>>, result: SqlType) -> Self {
        Self { arguments: arguments.into(), result, ..self }
    }

    /// Returns the types for this number of arguments; `None` if the form takes another number.
    pub(crate) fn types_of(&self, arguments: usize) -> Option<impl Iterator<Item = &SqlType>> {
        let fits = match self.repeats {
            true => arguments >= self.arguments.len(),
            false => arguments == self.arguments.len(),
        };
        let last = self.arguments.last().into_iter().cycle();
        fits.then(|| self.arguments.iter().chain(last).take(arguments))
    }
}

/// Creates a function that gives the same result for the same arguments.
pub(crate) fn function(category: Category, names: &'static [&'static str], description: &'static str) -> Function {
    let volatility = Volatility::Immutable;
    Function { names, category, description, examples: Vec::new(), volatility, forms: Vec::new() }
}

impl Function {
    /// The documented name.
    pub fn name(&self) -> &'static str {
        self.names[0]
    }

    /// Adds an example: a call, and its result as text; NULL is `NULL`.
    pub(crate) fn example(mut self, call: &'static str, value: &'static str) -> Self {
        self.examples.push((call, value));
        self
    }

    /// Adds a form.
    pub(crate) fn form(mut self, form: Form) -> Self {
        self.forms.push(Forms::Typed(form));
        self
    }

    /// Adds forms that are made for the arguments of a call.
    pub(crate) fn chosen(mut self, signature: &'static str, choose: Chooser) -> Self {
        self.forms.push(Forms::Chosen { signature, choose });
        self
    }

    pub(crate) fn volatility(self, volatility: Volatility) -> Self {
        Self { volatility, ..self }
    }

    /// Returns the signatures of its forms under a name.
    pub fn signatures(&self, name: &str) -> Vec<String> {
        let signature = |forms: &Forms| match forms {
            Forms::Typed(form) => {
                let types: Vec<String> = form.arguments.iter().map(SqlType::to_string).collect();
                format!("{name}({}{})", types.join(", "), if form.repeats { ", …" } else { "" })
            }
            Forms::Chosen { signature, .. } => match signature.split_once('(') {
                Some((_, rest)) => format!("{name}({rest}"),
                None => (*signature).to_owned(),
            },
        };
        self.forms.iter().map(signature).collect()
    }
}
