//! Tokens.

use godwit_common::Span;

use crate::keyword::Keyword;

/// A token; its text is the script's text at its span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// An unquoted word, and the keyword that it is, if any.
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
    /// A number directly followed by letters or digits.
    BadNumber,
    /// `$1`, `$name`.
    Parameter,
    /// Punctuation or an operator.
    Symbol(Symbol),
    /// The end of the statement: a consumed semicolon, or the end of the script.
    End,
}

impl TokenKind {
    /// True for a string in any kind of quotes.
    pub(crate) fn is_string(self) -> bool {
        matches!(self, Self::String | Self::EscapeString | Self::UnicodeString | Self::DollarString)
    }

    /// True for a quoted name.
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
            /// All symbols, longer ones before their prefixes.
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
    "+" Plus "%" Percent "#>>" HashLongArrow "#>" HashArrow "#-" HashMinus "#" Hash "?" Question "," Comma "." Dot ";" Semicolon
    "(" LeftParen ")" RightParen "[" LeftBracket "]" RightBracket "{" LeftBrace "}" RightBrace
}

impl Symbol {
    /// Returns the longest symbol at the beginning of `text`.
    pub(crate) fn starting(text: &str) -> Option<(&'static str, Symbol)> {
        Self::ALL.iter().find(|(symbol, _)| text.starts_with(symbol)).copied()
    }

    /// Returns its text.
    pub(crate) fn text(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}
