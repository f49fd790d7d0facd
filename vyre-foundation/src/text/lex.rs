//! Tokens. Symbols are those of the op tables and the punctuation of the grammar.

use vyre_spec::ops::{BinaryOp, UnaryOp};

use super::{Span, TextError};
use crate::diag::Code;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tok<'a> {
    /// A word.
    Word(&'a str),
    /// A name in backquotes, without them and with its escapes resolved.
    Quoted(String),
    /// A number with its suffix, as written.
    Number(&'a str),
    /// A symbol.
    Symbol(&'static str),
    /// What is no token; an error was recorded.
    Strange,
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Clone, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) tok: Tok<'a>,
    pub(crate) span: Span,
}

/// Punctuation, and spellings that other languages have, which the parser answers with advice.
const PUNCTUATION: [&str; 14] = ["(", ")", "[", "]", "{", "}", ",", ";", ":", "..", ".", "=", "&&", "||"];

/// Every symbol, longer ones first.
fn symbols() -> Vec<&'static str> {
    let binary = BinaryOp::ALL.iter().filter_map(|op| op.symbol());
    let unary = UnaryOp::ALL.iter().filter_map(|op| op.symbol());
    let mut all: Vec<_> = binary.chain(unary).map(|(symbol, _)| symbol).chain(PUNCTUATION).collect();
    all.sort_by_key(|symbol| (std::cmp::Reverse(symbol.len()), *symbol));
    all.dedup();
    all
}

/// Splits a text into tokens; the last is [`Tok::End`]. The text has at most 2^32 - 1 bytes.
pub(crate) fn lex<'a>(text: &'a str, errors: &mut Vec<TextError>) -> Vec<Token<'a>> {
    let mut lexer = Lexer { text, at: 0, symbols: symbols(), errors };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        tokens.push(token);
    }
    let end = text.len() as u32;
    tokens.push(Token { tok: Tok::End, span: Span::new(end, end) });
    tokens
}

struct Lexer<'a, 'e> {
    text: &'a str,
    at: usize,
    symbols: Vec<&'static str>,
    errors: &'e mut Vec<TextError>,
}

impl<'a> Lexer<'a, '_> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Takes the longest prefix of characters for which `f` holds, after `skip` bytes.
    fn take(&mut self, skip: usize, f: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let tail = rest.get(skip..).unwrap_or("");
        let len = skip + tail.find(|c| !f(c)).unwrap_or(tail.len());
        self.at += len;
        rest.get(..len).unwrap_or("")
    }

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            // A byte order mark is no text of its own.
            self.take(0, |c| c.is_whitespace() || c == '\u{feff}');
            if self.rest().starts_with("//") {
                self.take(0, |c| c != '\n');
                continue;
            }
            let start = self.at;
            let first = self.rest().chars().next()?;
            let tok = if first.is_ascii_alphabetic() || first == '_' {
                Tok::Word(self.take(0, is_word))
            } else if first.is_ascii_digit() {
                Tok::Number(self.number())
            } else if first == '`' {
                self.quoted()
            } else {
                self.symbol()
            };
            return Some(Token { tok, span: Span::new(start as u32, self.at as u32) });
        }
    }

    fn number(&mut self) -> &'a str {
        let rest = self.rest();
        let start = self.at;
        if rest.starts_with("0x") || rest.starts_with("0b") {
            return self.take(2, is_word);
        }
        let digit = |c: char| c.is_ascii_digit() || c == '_';
        self.take(0, digit);
        let mut after = self.rest().chars();
        // `0..n` is a range: a fraction needs a digit after its point.
        if after.next() == Some('.') && after.next().is_some_and(|c| c.is_ascii_digit()) {
            self.take(1, digit);
        }
        let exponent = self.rest().as_bytes();
        let sign = usize::from(matches!(exponent.get(1), Some(b'+' | b'-')));
        if matches!(exponent.first(), Some(b'e' | b'E'))
            && exponent.get(1 + sign).is_some_and(u8::is_ascii_digit)
        {
            self.take(1 + sign, digit);
        }
        self.take(0, is_word);
        self.text.get(start..self.at).unwrap_or("")
    }

    /// A name in backquotes: printable ASCII, anything else as `\u{hex}`.
    fn quoted(&mut self) -> Tok<'a> {
        let start = self.at;
        let body = self.take(1, |c| c != '`' && c != '\n');
        if !self.rest().starts_with('`') {
            self.error(start, "this name in backquotes has no end on its line", "close it with a backquote");
            return Tok::Strange;
        }
        self.at += 1;
        let mut pieces = body.get(1..).unwrap_or("").split('\\');
        let mut name = pieces.next().unwrap_or("").to_owned();
        for piece in pieces {
            let escape = piece.strip_prefix("u{").and_then(|tail| tail.split_once('}'));
            let decoded = escape.and_then(|(hex, tail)| {
                Some((u32::from_str_radix(hex, 16).ok().and_then(char::from_u32)?, tail))
            });
            let Some((c, tail)) = decoded else {
                self.error(start, "this name has a wrong escape", "write a character as `\\u{hex}`");
                return Tok::Strange;
            };
            name.push(c);
            name.push_str(tail);
        }
        Tok::Quoted(name)
    }

    fn symbol(&mut self) -> Tok<'a> {
        let start = self.at;
        let rest = self.rest();
        if let Some(&symbol) = self.symbols.iter().find(|symbol| rest.starts_with(**symbol)) {
            self.at += symbol.len();
            return Tok::Symbol(symbol);
        }
        // One error for a run of strange characters, with the letters and digits among them.
        let first = rest.chars().next().unwrap_or_default();
        self.take(first.len_utf8(), |c| c.is_alphanumeric() || (!c.is_whitespace() && !c.is_ascii()));
        let help = match first {
            c if c.is_alphabetic() => "names are ASCII letters, digits and `_`",
            '#' | '/' => "comments start with `//`",
            _ => "remove it",
        };
        self.error(start, "this is no part of the language", help);
        Tok::Strange
    }

    fn error(&mut self, start: usize, message: &str, help: &str) {
        if self.errors.len() >= super::MOST_ERRORS {
            return;
        }
        let span = Span::new(start as u32, self.at as u32);
        self.errors.push(TextError::new(Code::Syntax, span, message).with_help(help));
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toks(text: &str) -> Vec<String> {
        let mut errors = Vec::new();
        let tokens = lex(text, &mut errors);
        assert_eq!(errors, []);
        tokens.iter().map(|t| text[t.span.range()].to_owned()).collect()
    }

    #[test]
    fn numbers_end_where_they_should() {
        assert_eq!(toks("0..n"), ["0", "..", "n", ""]);
        assert_eq!(toks("1.5e-3f32..2"), ["1.5e-3f32", "..", "2", ""]);
        assert_eq!(toks("a-1e-45"), ["a", "-", "1e-45", ""]);
        assert_eq!(toks("0xFFu32+1_000"), ["0xFFu32", "+", "1_000", ""]);
    }

    #[test]
    fn the_longest_symbol_wins_and_comments_vanish() {
        assert_eq!(toks("a<<b<=c // <\n.x"), ["a", "<<", "b", "<=", "c", ".", "x", ""]);
    }

    #[test]
    fn quoted_names_resolve_their_escapes() {
        let mut errors = Vec::new();
        let tokens = lex("`a b\\u{60}\\u{e9}`", &mut errors);
        assert_eq!(tokens[0].tok, Tok::Quoted("a b`é".into()));
        lex("`open", &mut errors);
        lex("`\\q`", &mut errors);
        assert_eq!(errors.len(), 2);
    }
}
