//! Tokens.

use godwit_common::Span;

use crate::keyword::Keyword;

/// A token; what it says is the script's text at its span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word without quotes, and which keyword it is.
    Word(Option<Keyword>),
    /// `"name"`.
    QuotedName,
    /// `U&"name"`.
    UnicodeName,
    /// `'text'`, `N'text'`.
    String,
    /// `E'text\n'`.
    EscapeString,
    /// `U&'text'`.
    UnicodeString,
    /// `$$text$$`.
    DollarString,
    /// `X'00ff'`.
    Blob,
    /// `B'0101'`.
    Bits,
    /// A number.
    Number,
    /// What begins as a number and goes on as a word.
    BadNumber,
    /// `$1`, `$name`.
    Parameter,
    /// Punctuation or an operator.
    Symbol(Symbol),
    /// The end of the statement: a semicolon that was taken, or the end of the script.
    End,
}

impl TokenKind {
    /// True for a text in any quotes.
    pub(crate) fn is_string(self) -> bool {
        matches!(self, Self::String | Self::EscapeString | Self::UnicodeString | Self::DollarString)
    }

    /// True for a name in quotes.
    pub(crate) fn is_quoted_name(self) -> bool {
        matches!(self, Self::QuotedName | Self::UnicodeName)
    }
}

macro_rules! symbols {
    ($($text:literal $name:ident)*) => {
        /// Punctuation and operators.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Symbol {
            $($name,)*
        }

        impl Symbol {
            /// Longer ones first, as far as they begin alike.
            const ALL: &'static [(&'static str, Symbol)] = &[$(($text, Symbol::$name),)*];
        }
    };
}

symbols! {
    "!~~*" NotILike "!~~" NotLike "!~*" NotMatchesInsensitive "!~" NotMatches "!=" NotEqual
    "~~~" Glob "~~*" ILike "~~" Like "~*" MatchesInsensitive "~" Tilde
    "->>" LongArrow "->" Arrow "-" Minus
    "||/" CubeRoot "||" Concat "|/" SquareRoot "|" Pipe
    "::" DoubleColon ":=" ColonEqual ":" Colon
    "=>" FatArrow "==" DoubleEqual "=" Equal
    "<=>" CosineDistance "<->" Distance "<=" LessOrEqual "<>" NotEqualClassic "<<" ShiftLeft "<@" ContainedBy "<" Less
    ">=" GreaterOrEqual ">>" ShiftRight ">" Greater
    "**" DoubleStar "*" Star "//" DoubleSlash "/" Slash
    "^@" StartsWith "^" Caret "@>" Contains "@" At "&&" DoubleAmpersand "&" Ampersand
    "+" Plus "%" Percent "#" Hash "?" Question "," Comma "." Dot ";" Semicolon
    "(" LeftParen ")" RightParen "[" LeftBracket "]" RightBracket "{" LeftBrace "}" RightBrace
}

impl Symbol {
    /// The longest symbol that `text` begins with.
    pub(crate) fn starting(text: &str) -> Option<(&'static str, Symbol)> {
        Self::ALL.iter().find(|(symbol, _)| text.starts_with(symbol)).copied()
    }

    /// How it is written.
    pub(crate) fn text(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}
