//! Comments set by `COMMENT ON`. Statements ignore them; listings of objects show them.

/// The comments on an object and its columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comments {
    /// On the object itself.
    pub own: Option<String>,
    /// On columns of a table or view: name and text.
    pub columns: Vec<(String, String)>,
}

impl Comments {
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.own.is_none() && self.columns.is_empty()
    }

    /// The comment on a column.
    pub fn of_column(&self, column: &str) -> Option<&str> {
        let found = self.columns.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
        found.map(|(_, text)| text.as_str())
    }

    /// Sets the comment on a column; `None` removes it.
    pub fn set_column(&mut self, column: &str, text: Option<String>) {
        self.columns.retain(|(name, _)| !name.eq_ignore_ascii_case(column));
        self.columns.extend(text.map(|text| (column.to_owned(), text)));
    }
}
