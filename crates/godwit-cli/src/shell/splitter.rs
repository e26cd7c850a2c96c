//! Splits text into statements as lines arrive, so that each runs before the next one is read.
//!
//! A statement ends at a semicolon outside quotes and comments; a line that begins with a dot where a statement could
//! begin is a dot command. Lexing follows the engine's: '' and "" quotes, E'' with backslashes, $tag$ quotes, `--` and
//! nested `/* */` comments.

/// A piece of a script that runs by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub kind: ItemKind,
    /// Line of the script at which `text` starts, from 1.
    pub line: u32,
    /// Characters before `text` in that line.
    pub column: u32,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    Statement,
    DotCommand,
}

/// Lexical state of the splitter.
#[derive(Debug, Default, PartialEq, Eq)]
enum LexState {
    #[default]
    Plain,
    /// Inside '…' or "…".
    Quoted(char),
    /// Inside E'…'; true after a backslash.
    EscapeQuoted(bool),
    /// Inside $tag$…$tag$; holds the whole delimiter.
    DollarQuoted(String),
    /// Inside this many levels of /*…*/.
    BlockComment(u32),
}

#[derive(Debug, Default)]
pub struct Splitter {
    /// Text since the last semicolon.
    pending: String,
    /// Where `pending` starts.
    pending_line: u32,
    pending_column: u32,
    /// Whether `pending` has more than white space and comments.
    has_text: bool,
    place: LexState,
    lines: u32,
}

impl Splitter {
    /// Takes the next line, with or without its line break, and returns the items that it completes.
    pub fn push_line(&mut self, line: &str) -> Vec<Item> {
        self.lines += 1;
        // Some editors put a byte order mark at the start of a file.
        let line = if self.lines == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        if !self.has_text && self.place == LexState::Plain {
            self.pending.clear();
            (self.pending_line, self.pending_column) = (self.lines, 0);
            if line.trim_start().starts_with('.') {
                let text = line.trim().to_owned();
                return vec![Item { kind: ItemKind::DotCommand, line: self.lines, column: 0, text }];
            }
        }
        let mut items = Vec::new();
        let (mut at, mut column) = (0, 0);
        while let Some(character) = line[at..].chars().next() {
            let bytes = self.token_bytes(&line[at..], character);
            self.pending.push_str(&line[at..at + bytes]);
            column += line[at..at + bytes].chars().count() as u32;
            at += bytes;
            if character == ';' && self.place == LexState::Plain {
                items.extend(self.take_statement());
                (self.pending_line, self.pending_column) = (self.lines, column);
            }
        }
        if !line.ends_with('\n') {
            self.pending.push('\n');
        }
        items
    }

    /// Returns the rest at the end of the text: a statement without a semicolon.
    pub fn finish(mut self) -> Option<Item> {
        self.take_statement()
    }

    /// Returns true if nothing but white space and comments is pending.
    pub fn is_blank(&self) -> bool {
        !self.has_text && self.place == LexState::Plain
    }

    /// Returns true if the text ends inside quotes.
    pub fn is_in_quotes(&self) -> bool {
        matches!(self.place, LexState::Quoted(_) | LexState::EscapeQuoted(_) | LexState::DollarQuoted(_))
    }

    fn take_statement(&mut self) -> Option<Item> {
        let text = std::mem::take(&mut self.pending);
        let has_text = std::mem::take(&mut self.has_text) || matches!(self.place, LexState::BlockComment(_));
        let (line, column) = (self.pending_line, self.pending_column);
        has_text.then_some(Item { kind: ItemKind::Statement, line, column, text })
    }

    /// Returns the length in bytes of the token at the start of `rest`, and updates `place`.
    fn token_bytes(&mut self, rest: &str, first: char) -> usize {
        match &mut self.place {
            LexState::Quoted(quote) if first == *quote => self.place = LexState::Plain,
            LexState::EscapeQuoted(escaped @ true) => *escaped = false,
            LexState::EscapeQuoted(escaped) if first == '\\' => *escaped = true,
            LexState::EscapeQuoted(_) if first == '\'' => self.place = LexState::Plain,
            LexState::DollarQuoted(delimiter) if rest.starts_with(delimiter.as_str()) => {
                let bytes = delimiter.len();
                self.place = LexState::Plain;
                return bytes;
            }
            LexState::BlockComment(levels) if rest.starts_with("/*") => {
                *levels += 1;
                return 2;
            }
            LexState::BlockComment(levels) if rest.starts_with("*/") => {
                *levels -= 1;
                if *levels == 0 {
                    self.place = LexState::Plain;
                }
                return 2;
            }
            LexState::Quoted(_) | LexState::EscapeQuoted(_) | LexState::DollarQuoted(_) | LexState::BlockComment(_) => {
            }
            LexState::Plain => return self.plain_token_bytes(rest, first),
        }
        first.len_utf8()
    }

    fn plain_token_bytes(&mut self, rest: &str, first: char) -> usize {
        if rest.starts_with("--") {
            return rest.find('\n').unwrap_or(rest.len());
        }
        if rest.starts_with("/*") {
            self.place = LexState::BlockComment(1);
            return 2;
        }
        self.has_text |= !first.is_whitespace() && first != ';';
        match first {
            '\'' if self.is_behind_e() => self.place = LexState::EscapeQuoted(false),
            '\'' | '"' => self.place = LexState::Quoted(first),
            '$' if !self.pending.ends_with(is_word) => {
                if let Some(delimiter) = dollar_delimiter(rest) {
                    self.place = LexState::DollarQuoted(delimiter.to_owned());
                    return delimiter.len();
                }
            }
            _ => {}
        }
        first.len_utf8()
    }

    /// Returns true if the word E has just been read.
    fn is_behind_e(&self) -> bool {
        self.pending.strip_suffix(['e', 'E']).is_some_and(|before| !before.ends_with(is_word))
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '$'
}

/// Returns the `$tag$` at the start of the text.
pub(super) fn dollar_delimiter(text: &str) -> Option<&str> {
    let tag_bytes = text[1..].find(|character: char| !(character.is_alphanumeric() || character == '_'))?;
    text[1 + tag_bytes..].starts_with('$').then(|| &text[..tag_bytes + 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(u32, String)> {
        let mut splitter = Splitter::default();
        let mut items: Vec<Item> = text.split_inclusive('\n').flat_map(|line| splitter.push_line(line)).collect();
        items.extend(splitter.finish());
        items.into_iter().map(|item| (item.line, item.text.trim().to_owned())).collect()
    }

    fn texts(text: &str) -> Vec<String> {
        split(text).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn semicolons_in_quotes_and_comments_end_nothing() {
        assert_eq!(texts("SELECT ';'; SELECT \";\"\n;"), ["SELECT ';';", "SELECT \";\"\n;"]);
        assert_eq!(texts("SELECT 'it''s;' -- no; end\n, 2;"), ["SELECT 'it''s;' -- no; end\n, 2;"]);
        assert_eq!(texts("SELECT /* a; 'b\n; */ 1;SELECT 2"), ["SELECT /* a; 'b\n; */ 1;", "SELECT 2"]);
        assert_eq!(texts("SELECT $$;$$; SELECT $a$ ; $$ $a$;"), ["SELECT $$;$$;", "SELECT $a$ ; $$ $a$;"]);
        assert_eq!(texts("SELECT a$b$ ; SELECT $1;"), ["SELECT a$b$ ;", "SELECT $1;"]);
        assert_eq!(texts("SELECT '\n;\n.tables\n';"), ["SELECT '\n;\n.tables\n';"]);
        assert_eq!(texts(r"SELECT E'it\'s; \\'; SELECT e';'"), [r"SELECT E'it\'s; \\';", "SELECT e';'"]);
        assert_eq!(texts(r"SELECT 'a\'; SELECT nice'\';"), [r"SELECT 'a\';", r"SELECT nice'\';"]);
        assert_eq!(texts("SELECT /* /* ; */ ; */ 1; SELECT 2;"), ["SELECT /* /* ; */ ; */ 1;", "SELECT 2;"]);
    }

    #[test]
    fn empty_statements_and_lone_comments_are_dropped() {
        assert_eq!(texts(";;\n -- only; this\n/* and; this */\n ; "), Vec::<String>::new());
        assert_eq!(texts("/* never closed; "), ["/* never closed;"]);
    }

    #[test]
    fn dot_commands_stand_where_statements_start() {
        assert_eq!(
            split(".timer on\n\nSELECT 1\n.5;\n  .quit"),
            [(1, ".timer on".into()), (3, "SELECT 1\n.5;".into()), (5, ".quit".into())]
        );
    }

    #[test]
    fn statements_keep_their_line_and_column() {
        let mut splitter = Splitter::default();
        assert_eq!(splitter.push_line("\n"), []);
        let items = splitter.push_line("SELECT 1; SELECT é; SELECT\n");
        assert_eq!(items[0].text, "SELECT 1;");
        assert_eq!((items[1].line, items[1].column, items[1].text.as_str()), (2, 9, " SELECT é;"));
        assert!(!splitter.is_blank());
        let items = splitter.push_line("3;\n");
        assert_eq!((items[0].line, items[0].column, items[0].text.as_str()), (2, 19, " SELECT\n3;"));
        assert!(splitter.is_blank());
    }

    #[test]
    fn a_line_of_many_statements_takes_linear_time() {
        let started = std::time::Instant::now();
        let line = "SELECT 1; ".repeat(200_000);
        assert_eq!(Splitter::default().push_line(&line).len(), 200_000);
        assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    }

    #[test]
    fn a_byte_order_mark_isnt_part_of_the_script() {
        assert_eq!(texts("\u{feff}SELECT 1;\n"), ["SELECT 1;"]);
        assert_eq!(split("\u{feff}.quit\n"), [(1, ".quit".into())]);
    }
}
