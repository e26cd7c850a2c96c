//! What there is to know of a function.

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
    /// What it gives, in a sentence without a subject: "The text in upper case".
    pub description: &'static str,
    /// Calls, and the texts of their values.
    pub examples: Vec<(&'static str, &'static str)>,
    /// How often a call has to be evaluated.
    pub volatility: Volatility,
    /// What it takes.
    pub forms: Vec<Forms>,
}

/// What a function takes.
pub enum Forms {
    /// Arguments of certain types.
    Typed(Form),
    /// Whatever the function makes of the types and constants of arguments.
    Chosen {
        /// How it is called, such as `greatest(value, …)`.
        signature: &'static str,
        /// The form for such arguments; `None` if it takes others.
        choose: Chooser,
    },
}

/// Chooses a form for arguments; `None` if there is none.
pub type Chooser = fn(&[ArgumentType<'_>]) -> Option<Result<Form, NoFunction>>;

/// One way to call a function.
#[derive(Clone)]
pub struct Form {
    /// The types that arguments are cast to.
    pub arguments: Vec<SqlType>,
    /// The last argument may come several times.
    pub repeats: bool,
    /// Type of the value.
    pub result: SqlType,
    /// NULL if an argument is NULL.
    pub strict: bool,
    /// Some arguments make it fail.
    pub may_fail: bool,
    /// Some arguments that aren't NULL give NULL.
    pub may_be_null: bool,
    /// What computes it.
    pub kernel: Arc<dyn Kernel>,
}

impl Form {
    /// A form that gives NULL for NULL, and isn't computed for it.
    pub(crate) fn strict(
        arguments: Vec<SqlType>,
        result: SqlType,
        may_fail: bool,
        may_be_null: bool,
        kernel: Arc<dyn Kernel>,
    ) -> Self {
        Self { arguments, repeats: false, result, strict: true, may_fail, may_be_null, kernel }
    }

    /// The same kernel for other types that lie in vectors in the same way, such as BLOB in place of VARCHAR.
    pub(crate) fn with_types(self, arguments: impl Into<Vec<SqlType>>, result: SqlType) -> Self {
        Self { arguments: arguments.into(), result, ..self }
    }

    /// The types of so many arguments; `None` if the form takes another number.
    pub(crate) fn types_of(&self, arguments: usize) -> Option<impl Iterator<Item = &SqlType>> {
        let fits = match self.repeats {
            true => arguments >= self.arguments.len(),
            false => arguments == self.arguments.len(),
        };
        let last = self.arguments.last().into_iter().cycle();
        fits.then(|| self.arguments.iter().chain(last).take(arguments))
    }
}

/// A function that gives the same for the same arguments.
pub(crate) fn function(category: Category, names: &'static [&'static str], description: &'static str) -> Function {
    let volatility = Volatility::Immutable;
    Function { names, category, description, examples: Vec::new(), volatility, forms: Vec::new() }
}

impl Function {
    /// The documented name.
    pub fn name(&self) -> &'static str {
        self.names[0]
    }

    /// With a call, and the text of its value; NULL is `NULL`.
    pub(crate) fn example(mut self, call: &'static str, value: &'static str) -> Self {
        self.examples.push((call, value));
        self
    }

    /// With a form.
    pub(crate) fn form(mut self, form: Form) -> Self {
        self.forms.push(Forms::Typed(form));
        self
    }

    /// With forms that are made for the arguments of a call.
    pub(crate) fn chosen(mut self, signature: &'static str, choose: Chooser) -> Self {
        self.forms.push(Forms::Chosen { signature, choose });
        self
    }

    pub(crate) fn volatility(self, volatility: Volatility) -> Self {
        Self { volatility, ..self }
    }

    /// How it is called under a name.
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
