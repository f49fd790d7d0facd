//! Texts with graphs: the programs, each read by a parser of its own, then the graph's declarations, then the names in
//! those, and at last the checkers.

mod declarations;
mod resolve;

use std::collections::HashMap;

use super::{Parser, bounded, located};
use crate::check::{Checked, check};
use crate::diag::{Code, Site};
use crate::graph::assemble::assemble;
use crate::graph::{Dim, GraphSite, ProgramGraph};
use crate::ir::Program;
use crate::text::lex::{Tok, Token, lex};
use crate::text::{GraphMap, SourceMap, Span, TextError};
use declarations::Declarations;

/// Reads a graph from its text, with its programs, and checks both.
///
/// A text that has one program and no graph is the graph of that program:
/// [`ProgramGraph::from_program`].
///
/// # Errors
/// Everything that is wrong with the text, in order of place, at most a hundred findings.
pub fn parse_graph(text: &str) -> Result<(ProgramGraph, GraphMap), Vec<TextError>> {
    bounded(text)?;
    let mut errors = Vec::new();
    let tokens = lex(text, &mut errors);
    let mut file = File { programs: Programs::default(), graph: None, errors };
    file.pieces(tokens);
    let read = file.finish();
    read.map_err(|errors| located(errors, text))
}

/// The programs of a text.
#[derive(Default)]
struct Programs {
    all: Vec<(Checked<Program>, SourceMap)>,
    /// Positions by name.
    named: HashMap<String, Vec<u32>>,
    /// Whether one was refused, so that its name means nothing.
    refused: bool,
}

struct File<'a> {
    programs: Programs,
    graph: Option<Vec<Token<'a>>>,
    errors: Vec<TextError>,
}

impl<'a> File<'a> {
    /// Takes the text apart at the words that begin a program or graph outside of braces.
    fn pieces(&mut self, tokens: Vec<Token<'a>>) {
        let mut piece: Vec<Token<'a>> = Vec::new();
        let mut depth = 0u32;
        for token in tokens {
            // The second word of a piece is a name.
            let begins = matches!(token.tok, Tok::Word("program" | "graph")) && depth == 0 && piece.len() > 1;
            if begins || token.tok == Tok::End {
                self.piece(std::mem::take(&mut piece), token.span.start);
                depth = 0;
            }
            match token.tok {
                Tok::Symbol("{") => depth += 1,
                Tok::Symbol("}") => depth = depth.saturating_sub(1),
                Tok::End => return,
                _ => {}
            }
            piece.push(token);
        }
    }

    /// Reads a program, or keeps a graph until the programs are known. `end` is where the next piece begins.
    fn piece(&mut self, mut piece: Vec<Token<'a>>, end: u32) {
        let Some(first) = piece.first() else { return };
        let (begins, span) = (first.tok.clone(), first.span);
        piece.push(Token { tok: Tok::End, span: Span::new(end, end) });
        match begins {
            Tok::Word("program") => self.program(piece),
            Tok::Word("graph") if self.graph.is_some() => {
                let error = TextError::new(Code::Syntax, span, "a text has one graph, and here is another");
                self.errors.push(error.with_help("put it into a text of its own"));
            }
            Tok::Word("graph") => self.graph = Some(piece),
            // The lexer has said so.
            Tok::Strange => {}
            _ => {
                let error = TextError::new(Code::Syntax, span, "expected `program` or `graph`");
                self.errors.push(error.with_help("a text has programs and a graph of them"));
            }
        }
    }

    fn program(&mut self, piece: Vec<Token<'a>>) {
        let mut parser = Parser::new(piece, Vec::new());
        let Some((program, map)) = parser.program() else {
            self.errors.append(&mut parser.errors);
            self.programs.refused = true;
            return;
        };
        let name = program.name().to_owned();
        match check(program) {
            Ok(program) => {
                let position = self.programs.all.len() as u32;
                self.programs.named.entry(name).or_default().push(position);
                self.programs.all.push((program, map));
            }
            Err(findings) => {
                self.programs.refused = true;
                self.errors
                    .extend(findings.into_iter().map(|d| TextError::of(d, |site: Site| map.span(site))));
            }
        }
    }

    fn finish(mut self) -> Result<(ProgramGraph, GraphMap), Vec<TextError>> {
        let Some(tokens) = self.graph.take() else { return self.single() };
        let mut declarations = Declarations::new(tokens);
        declarations.read();
        if !self.programs.refused && declarations.sound() {
            declarations.resolve(&self.programs);
        }
        let Declarations { parser, draft, mut map, .. } = declarations;
        self.errors.extend(parser.errors);
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        let graph = match assemble(draft) {
            Ok(graph) => graph,
            Err(found) => {
                let place = |site: GraphSite| map.span(site);
                return Err(found.into_iter().map(|d| TextError::of(d, place)).collect());
            }
        };
        self.programs.rearrange(&graph, &mut map);
        Ok((graph, map))
    }

    /// The graph of the one program.
    fn single(self) -> Result<(ProgramGraph, GraphMap), Vec<TextError>> {
        let mut errors = self.errors;
        match self.programs.all.into_iter().next() {
            Some((program, map)) if errors.is_empty() && self.programs.named.len() == 1 => {
                let span = map.span(Site::Program);
                let graph = ProgramGraph::from_program(&program);
                let map = GraphMap { graph: span, programs: vec![map], ..GraphMap::default() };
                return Ok((graph, map));
            }
            _ if errors.is_empty() => {
                let error = TextError::new(Code::Syntax, Span::default(), "the text has no graph");
                errors.push(
                    error.with_help("add `graph name { … }`; only one program alone is a graph by itself"),
                );
            }
            _ => {}
        }
        Err(errors)
    }
}

impl Programs {
    /// Puts the places of symbols and programs in the order of the graph's tables.
    fn rearrange(self, graph: &ProgramGraph, map: &mut GraphMap) {
        let mut by_id: HashMap<_, _> =
            self.all.into_iter().map(|(program, map)| (program.id(), map)).collect();
        map.programs = graph.programs().iter().map(|p| by_id.remove(&p.id()).unwrap_or_default()).collect();
        let symbols = std::mem::take(&mut map.symbols);
        let place = |dim: &Dim| match dim {
            Dim::Symbol(name) => symbols.get(name).copied().unwrap_or_default(),
            _ => Span::default(),
        };
        map.dims = graph.dims().iter().map(place).collect();
    }
}
