//! Keywords of the grammar, and where they can be names.
//!
//! Any word can be quoted, which makes it a name. Unquoted, a [`Reserved`](Class::Reserved) word is never a name,
//! except as a label after AS or a dot; a [`Join`](Class::Join) word may name a function, as `left` does; a
//! [`Clause`](Class::Clause) word is a name wherever one is expected, but can't be an alias without AS, because there
//! it begins the next clause; all others are names anywhere. The reserved words are those of PostgreSQL that DuckDB
//! rejects, too.

use std::sync::OnceLock;

/// Where a word can be a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Reserved,
    Join,
    Clause,
    Free,
}

macro_rules! keywords {
    ($($class:ident { $($word:ident)* })*) => {
        /// A word of the grammar.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Keyword {
            $($($word,)*)*
        }

        impl Keyword {
            const ALL: &'static [(&'static str, Keyword)] = &[$($((stringify!($word), Keyword::$word),)*)*];

            pub(crate) fn class(self) -> Class {
                match self {
                    $($(Keyword::$word)|* => Class::$class,)*
                }
            }

            /// Returns the word in upper case.
            pub(crate) fn text(self) -> String {
                Self::ALL[self as usize].0.chars().enumerate().fold(String::new(), |mut text, (at, character)| {
                    if at > 0 && character.is_ascii_uppercase() {
                        text.push('_');
                    }
                    text.push(character.to_ascii_uppercase());
                    text
                })
            }
        }
    };
}

// A capital letter inside a word stands for an underscore before it: `CurrentDate` is CURRENT_DATE.
keywords! {
    Reserved {
        All And Any Array As Asc Asymmetric Both Case Cast Check Collate Column Constraint Create Default Desc Distinct
        Do Else End Except False Fetch For Foreign From Group Having In Intersect Into Lateral Leading Limit Not Null
        Offset On Only Or Order Placing Primary Qualify References Returning Select Some Symmetric Table Then To
        Trailing True Union Unique Using Variadic When Where Window With
    }
    Join {
        Cross Full Ilike Inner Is Isnull Join Left Like Natural Notnull Outer Right Similar Tablesample
    }
    Clause {
        Anti Asof Escape Filter Glob Over Pivot Positional Semi Uescape Unpivot Within
    }
    Free {
        Abort Action Add Alter Always Analyze At Attach Begin Between By Bernoulli Cache Call Cascade Characteristics
        Checkpoint Columns Comment Commit Committed Compression Conflict Copy Cube CurrentCatalog CurrentDate
        CurrentRole CurrentSchema CurrentTime CurrentTimestamp CurrentUser Current Cycle Data Database Databases
        Deallocate Deferrable Delete Delta Describe Detach Drop Encoding Enum Error Exclude Execute Exists Explain
        Export Extract First Following Force Function Generated Global Groups Grouping Identity If Ignore Import
        Include Increment Index Insert Install Interval Isolation Json Key Lambda Last Level Load Local Localtime
        Localtimestamp Locked Macro Map Matched Materialized Maxvalue Merge Minvalue Name Next No Nothing Nowait Nulls
        Object Of Operator Ordinality Others Overlay Owned Partition Percent Position Pragma Preceding Precision Prepare Range Read
        Recursive Release Rename Repeatable Replace Reset Respect Restart Restrict Rollback Rollup Row Rows Sample
        Savepoint Scalar Schema Schemas Sequence Serializable Session SessionUser Set Sets Share Show Skip Source Start
        Stdin Stdout Stored Struct Substring Summarize Tables Target Temp Temporary Ties Time Timestamp Trace Transaction Trim
        Truncate TryCast Type Unbounded Uncommitted Unknown Unlogged Unsigned Update Use Vacuum Value Values Varying Verbose
        Variable View Virtual Without Work Write Zone
    }
}

/// Lists the words of the grammar in lower case, with the categories that PostgreSQL has for where they can be names.
pub fn keywords() -> Vec<(String, &'static str)> {
    let category = |keyword: Keyword| match keyword.class() {
        Class::Reserved => "reserved",
        Class::Join => "type_function",
        Class::Clause => "column_name",
        Class::Free => "unreserved",
    };
    let mut words: Vec<_> =
        Keyword::ALL.iter().map(|(_, keyword)| (keyword.text().to_lowercase(), category(*keyword))).collect();
    words.sort_unstable();
    words
}

impl Keyword {
    /// Returns the keyword for a word in any case.
    pub(crate) fn of(word: &str) -> Option<Keyword> {
        if word.len() > LENGTH_MAX {
            return None;
        }
        let mut lower = [0; LENGTH_MAX];
        let lower = &mut lower[..word.len()];
        lower.copy_from_slice(word.as_bytes());
        lower.make_ascii_lowercase();
        let lower = std::str::from_utf8(lower).ok()?;
        let table = SORTED.get_or_init(sorted);
        let at = table.binary_search_by(|(known, _)| known.as_str().cmp(lower)).ok()?;
        Some(table[at].1)
    }

    /// True if it can name a column, a table or another object without quotes.
    pub(crate) fn is_name(self) -> bool {
        matches!(self.class(), Class::Clause | Class::Free)
    }

    /// True if it can name a function without quotes.
    pub(crate) fn is_function_name(self) -> bool {
        self.class() != Class::Reserved
    }

    /// True if it can be an alias without AS.
    pub(crate) fn is_bare_alias(self) -> bool {
        self.class() == Class::Free
    }
}

/// True if a word is not a keyword that needs quotes to name a column or a table.
pub fn is_name(word: &str) -> bool {
    Keyword::of(word).is_none_or(Keyword::is_name)
}

/// Maximum length of a keyword.
const LENGTH_MAX: usize = 20;

/// The keywords in lower case, sorted.
static SORTED: OnceLock<Vec<(String, Keyword)>> = OnceLock::new();

fn sorted() -> Vec<(String, Keyword)> {
    let mut words: Vec<_> = Keyword::ALL.iter().map(|&(_, word)| (word.text().to_lowercase(), word)).collect();
    words.sort_by(|a, b| a.0.cmp(&b.0));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keywords_are_found_in_any_case() {
        for &(_, keyword) in Keyword::ALL {
            assert_eq!(Keyword::of(&keyword.text()), Some(keyword));
            assert_eq!(Keyword::of(&keyword.text().to_lowercase()), Some(keyword));
        }
        assert_eq!(Keyword::of("CURRENT_DATE"), Some(Keyword::CurrentDate));
        assert_eq!(Keyword::of("lineitem"), None);
        assert_eq!(Keyword::of("ſelect"), None);
    }
}
