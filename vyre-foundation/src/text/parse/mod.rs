//! The parser: tokens in, a program and its places out. Expressions and blocks are kept on stacks of their
//! own, so that any nesting fits the thread's.

mod body;
mod engine;
mod expr;
mod extents;
pub(super) mod graph;
mod header;
mod scope;
mod statement;
mod tile;

use std::borrow::Cow;

use super::infer::Types;
use super::lex::{Tok, Token, lex};
use super::{MOST_ERRORS, SourceMap, Span, TextError};
use crate::diag::{Code, Site};
use crate::ir::{Arena, ArenaError, Expr, ExprId, Node, NodeId, Program, RegionId};
use scope::Names;

/// An error was recorded; the caller goes on at the next statement.
struct Failed;

type Parse<T> = Result<T, Failed>;

/// Reads a program from its text.
///
/// The program may still be wrong: [`crate::check::check`] decides. Its names are resolved and its parts
/// stand in the [`SourceMap`].
///
/// # Errors
/// Everything that is wrong with the text, in order of place, at most a hundred findings.
pub fn parse(text: &str) -> Result<(Program, SourceMap), Vec<TextError>> {
    bounded(text)?;
    let mut errors = Vec::new();
    let tokens = lex(text, &mut errors);
    let mut parser = Parser::new(tokens, errors);
    let finished = parser.program();
    let errors = parser.errors;
    match finished {
        Some(done) if errors.is_empty() => return Ok(done),
        _ => {}
    }
    Err(located(errors, text))
}

/// Refuses a text whose places do not fit a [`Span`].
fn bounded(text: &str) -> Result<(), Vec<TextError>> {
    if u32::try_from(text.len()).is_ok() {
        return Ok(());
    }
    let error = TextError::new(Code::Limit, Span::default(), "the text has more than 2^32 - 1 bytes");
    Err(vec![TextError { line: 1, column: 1, ..error }])
}

/// The first errors in order of place, each with its line and column.
fn located(mut errors: Vec<TextError>, text: &str) -> Vec<TextError> {
    errors.sort_by_key(|error| error.span);
    errors.truncate(MOST_ERRORS);
    for error in &mut errors {
        error.locate(text);
    }
    errors
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    errors: Vec<TextError>,
    arena: Arena,
    names: Names<'a>,
    types: Types,
    /// Places by the arena's ids.
    map: SourceMap,
    /// The region that statements go to.
    region: RegionId,
    /// References to nodes by number, to be checked at the end.
    numbered: Vec<(NodeId, Span)>,
}

impl<'a> Parser<'a> {
    fn new(tokens: Vec<Token<'a>>, errors: Vec<TextError>) -> Self {
        Self {
            tokens,
            at: 0,
            errors,
            arena: Arena::new(""),
            names: Names::default(),
            types: Types::default(),
            map: SourceMap::default(),
            region: RegionId::new(0),
            numbered: Vec::new(),
        }
    }

    // Tokens.

    fn token(&self, ahead: usize) -> (&Tok<'a>, Span) {
        let index = (self.at + ahead).min(self.tokens.len().saturating_sub(1));
        self.tokens.get(index).map_or((&Tok::End, Span::default()), |token| (&token.tok, token.span))
    }

    fn peek(&self) -> &Tok<'a> {
        self.token(0).0
    }

    fn span(&self) -> Span {
        self.token(0).1
    }

    /// The place of the token before.
    fn last_span(&self) -> Span {
        self.at.checked_sub(1).and_then(|i| self.tokens.get(i)).map(|token| token.span).unwrap_or_default()
    }

    fn bump(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn is_symbol(&self, ahead: usize, symbol: &str) -> bool {
        matches!(self.token(ahead).0, Tok::Symbol(s) if *s == symbol)
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        matches!(self.token(ahead).0, Tok::Word(w) if *w == word)
    }

    fn eat_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(0, symbol);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(0, word);
        if found {
            self.bump();
        }
        found
    }

    fn expect_symbol(&mut self, symbol: &str) -> Parse<()> {
        if self.eat_symbol(symbol) { Ok(()) } else { self.expected(format!("`{symbol}`")) }
    }

    fn expect_word(&mut self, word: &str) -> Parse<()> {
        if self.eat_word(word) { Ok(()) } else { self.expected(format!("`{word}`")) }
    }

    /// The next token if it is a word, any.
    fn word(&self) -> Option<&'a str> {
        match self.peek() {
            Tok::Word(word) => Some(word),
            _ => None,
        }
    }

    /// A name that something already has: a word or a name in backquotes.
    fn name(&mut self, what: &str) -> Parse<(Cow<'a, str>, Span)> {
        let name = match self.peek() {
            Tok::Word(word) => Cow::Borrowed(*word),
            Tok::Quoted(name) => Cow::Owned(name.clone()),
            _ => return self.expected(what.to_owned()),
        };
        let span = self.span();
        self.bump();
        Ok((name, span))
    }

    // Errors.

    fn error(&mut self, error: TextError) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(error);
        } else {
            // Enough is enough: go to the end.
            self.at = self.tokens.len().saturating_sub(1);
        }
    }

    fn fail<T>(&mut self, error: TextError) -> Parse<T> {
        self.error(error);
        Err(Failed)
    }

    fn expected<T>(&mut self, what: String) -> Parse<T> {
        let (tok, span) = self.token(0);
        let found = match tok {
            Tok::Word(word) => format!("`{word}`"),
            Tok::Quoted(_) => "a name in backquotes".to_owned(),
            Tok::Number(number) => format!("`{number}`"),
            Tok::Symbol(symbol) => format!("`{symbol}`"),
            Tok::End => "the end of the text".to_owned(),
            // The lexer has said so.
            Tok::Strange => return Err(Failed),
        };
        let error = TextError::new(Code::Syntax, span, format!("expected {what}, found {found}"));
        self.fail(error.with_help("docs/LANGUAGE.md shows the form of each declaration and statement"))
    }

    /// Skips the rest of a statement: through its `;` or block, or up to the `}` that ends its block or a
    /// word that begins the next.
    fn skip_statement(&mut self, next: &[&str]) {
        let mut depth = 0u32;
        loop {
            match self.peek() {
                Tok::Word(word) if depth == 0 && next.contains(word) => return,
                Tok::End => return,
                Tok::Symbol(";") if depth == 0 => {
                    self.bump();
                    return;
                }
                Tok::Symbol("{") => depth += 1,
                Tok::Symbol("}") if depth == 0 => return,
                Tok::Symbol("}") => {
                    depth -= 1;
                    if depth == 0 {
                        self.bump();
                        return;
                    }
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// Skips the rest of a header; whether a block follows.
    fn skip_to_block(&mut self) -> bool {
        loop {
            match self.peek() {
                Tok::Symbol("{") => return true,
                Tok::End | Tok::Symbol(";" | "}") => return false,
                _ => self.bump(),
            }
        }
    }

    // The arena, with places.

    fn expr(&mut self, expr: Expr, span: Span) -> ExprId {
        let id = self.arena.expr(expr);
        if id.index() == self.map.exprs.len() {
            self.map.exprs.push(span);
        }
        id
    }

    fn node(&mut self, node: Node, span: Span) -> NodeId {
        let id = self.arena.push(self.region, node);
        self.map.nodes.push(span);
        id
    }

    // The whole.

    fn program(&mut self) -> Option<(Program, SourceMap)> {
        if self.header().is_ok() {
            self.body();
        }
        for (node, span) in std::mem::take(&mut self.numbered) {
            if node.index() >= self.arena.program().nodes().len() {
                let message = format!("there is no node {}", node.raw());
                self.error(TextError::new(Code::UnknownName, span, message));
            }
        }
        if !self.errors.is_empty() {
            return None;
        }
        let arena = std::mem::replace(&mut self.arena, Arena::new(""));
        match arena.finish() {
            Ok((program, renumbering)) => {
                let mut map = SourceMap::for_program(&program);
                for (i, &span) in (0..).zip(&self.map.nodes) {
                    if let Some(id) = renumbering.node(NodeId::new(i)) {
                        map.set_node(id, span);
                    }
                }
                for (i, &span) in (0..).zip(&self.map.exprs) {
                    if let Some(id) = renumbering.expr(ExprId::new(i)) {
                        map.first_expr(id, span);
                    }
                }
                for (i, &span) in (0..).zip(&self.map.vars) {
                    if let Some(id) = renumbering.var(crate::ir::VarId::new(i)) {
                        map.set_var(id, span);
                    }
                }
                let old = std::mem::take(&mut self.map);
                Some((program, SourceMap { nodes: map.nodes, exprs: map.exprs, vars: map.vars, ..old }))
            }
            Err(error) => {
                self.structure(&error);
                None
            }
        }
    }

    /// What the arena refuses although the grammar allows it.
    fn structure(&mut self, error: &ArenaError) {
        let span = self.map.span(Site::Program);
        self.error(TextError::new(Code::Structure, span, error.to_string()));
    }
}
