//! Nodes and their arguments.

use super::{Declarations, RawArg, RawNode};
use crate::diag::Code;
use crate::graph::DimId;
use crate::graph::assemble::ValueRef;
use crate::text::lex::Tok;
use crate::text::parse::Parse;
use crate::text::{Span, TextError};

impl<'a> Declarations<'a> {
    /// `node name: results = program(arguments) counts(dimensions)`.
    pub(super) fn node(&mut self, start: Span) -> Parse<()> {
        let (name, _) = self.parser.new_name("a name")?;
        self.parser.expect_symbol(":")?;
        let mut results = Vec::new();
        let mut found = self.parser.name("a result's or program's name")?;
        if self.parser.is_symbol(0, ",") || self.parser.is_symbol(0, "=") {
            loop {
                let (name, at) = found;
                self.computed.push(at);
                results.push(name.into_owned());
                if !self.parser.eat_symbol(",") {
                    break;
                }
                found = self.parser.new_name("a result's name")?;
            }
            self.parser.expect_symbol("=")?;
            found = self.parser.name("a program's name")?;
        }
        let (program, mut at) = found;
        let number = match self.parser.eat_symbol(".") {
            true => Some(self.parser.integer()?),
            false => None,
        };
        at = at.to(self.parser.last_span());
        self.parser.expect_symbol("(")?;
        let mut args = Vec::new();
        while !self.parser.eat_symbol(")") {
            if !args.is_empty() {
                self.parser.expect_symbol(",")?;
            }
            let span = self.parser.span();
            let arg = self.arg()?;
            args.push((arg, span.to(self.parser.last_span())));
        }
        let mut counts = None;
        if self.parser.eat_word("counts") {
            let span = self.parser.span();
            self.parser.expect_symbol("(")?;
            let dims = self.dims_until(")")?;
            counts = match <[DimId; 3]>::try_from(dims) {
                Ok(counts) => Some(counts),
                Err(dims) => {
                    let message = format!("a launch has three counts, but here are {}", dims.len());
                    let error = TextError::new(Code::Syntax, span.to(self.parser.last_span()), message);
                    return self.parser.fail(error.with_help("write 1 for axes that are not used"));
                }
            };
        }
        for result in &results {
            self.values.entry(result.clone()).or_insert(ValueRef::Computed(self.counted));
            self.counted += 1;
        }
        self.map.nodes.push(start.to(self.parser.last_span()));
        self.nodes.push(RawNode {
            name: name.into_owned(),
            results,
            program: (program, number, at),
            args,
            counts,
        });
        Ok(())
    }

    fn arg(&mut self) -> Parse<RawArg<'a>> {
        if self.parser.is_word(0, "dim") && self.parser.is_symbol(1, "(") {
            self.parser.bump();
            self.parser.bump();
            let dim = self.dim()?;
            self.parser.expect_symbol(")")?;
            return Ok(RawArg::Dim(dim));
        }
        let ends = self.parser.is_symbol(1, ",") || self.parser.is_symbol(1, ")");
        match self.parser.peek() {
            Tok::Word(word) if ends && !matches!(*word, "true" | "false") => {
                self.parser.name("an argument").map(|(name, _)| RawArg::Name(name))
            }
            Tok::Quoted(_) => self.parser.name("an argument").map(|(name, _)| RawArg::Name(name)),
            _ => self.literal().map(RawArg::Literal),
        }
    }
}
