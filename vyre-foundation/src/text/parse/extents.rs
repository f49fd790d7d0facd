//! The language of extents: host arithmetic on params and lengths.

use super::engine::{Infix, Language, Start, expression};
use super::scope::Declared;
use super::{Failed, Parse, Parser};
use crate::diag::Code;
use crate::ir::ExtentOp;
use crate::ir::{Extent, ExtentId};
use crate::text::lex::Tok;
use crate::text::suggest::closest;
use crate::text::{Span, TextError};

/// The language of extents.
pub(super) struct Extents;

impl Language for Extents {
    type Value = ExtentId;
    type Prefix = ();
    type Infix = ExtentOp;
    type Callee = ExtentOp;

    fn prefix(_: &str) -> Option<((), u8)> {
        None
    }

    fn infix(symbol: &str) -> Option<Infix<ExtentOp>> {
        let op = ExtentOp::from_symbol(symbol)?;
        Some(Infix { op, precedence: op.precedence, chains: true })
    }

    fn operand(p: &mut Parser<'_>) -> Parse<Start<ExtentId, ExtentOp>> {
        p.extent_operand()
    }

    fn apply_prefix(_: &mut Parser<'_>, (): (), a: ExtentId, _: Span) -> Parse<ExtentId> {
        Ok(a)
    }

    fn apply_infix(p: &mut Parser<'_>, op: ExtentOp, a: ExtentId, b: ExtentId, _: Span) -> Parse<ExtentId> {
        Ok(p.arena.extent((op.make)(a, b)))
    }

    fn call(p: &mut Parser<'_>, op: ExtentOp, args: &[ExtentId], _: Span) -> Parse<ExtentId> {
        match *args {
            [a, b] => Ok(p.arena.extent((op.make)(a, b))),
            _ => Err(Failed),
        }
    }
}

impl Parser<'_> {
    /// Reads an extent.
    pub(super) fn extent(&mut self) -> Parse<ExtentId> {
        expression::<Extents>(self).map(|(id, _)| id)
    }

    fn extent_operand(&mut self) -> Parse<Start<ExtentId, ExtentOp>> {
        let span = self.span();
        if let Tok::Number(_) = self.peek() {
            let value = self.integer()?;
            return Ok(Start::Value(self.arena.extent(Extent::Literal(value))));
        }
        let quoted = matches!(self.peek(), Tok::Quoted(_));
        let (name, _) = self.name("an extent: an integer, a param or `len(buffer)`")?;
        if self.is_symbol(0, "(") && !quoted {
            self.bump();
            if let Some(op) = ExtentOp::from_name(&name) {
                return Ok(Start::Open { callee: op, closer: ")", arity: 2 });
            }
            if name == "len" {
                let (buffer, at) = self.name("a buffer's name")?;
                self.expect_symbol(")")?;
                let Some(Declared::Buffer(id)) = self.names.declared(&buffer) else {
                    return self.unknown(&buffer, at, "buffer", |what| matches!(what, Declared::Buffer(_)));
                };
                return Ok(Start::Value(self.arena.extent(Extent::Length(id))));
            }
            let message = format!("there is no extent function `{name}`");
            let mut error = TextError::new(Code::UnknownName, span, message);
            let near = closest(&name, ExtentOp::names().chain(["len"]));
            error.help = near.map(|near| format!("did you mean `{near}`?"));
            return self.fail(error);
        }
        match self.names.declared(&name) {
            Some(Declared::Param(id)) => Ok(Start::Value(self.arena.extent(Extent::Param(id)))),
            Some(Declared::Extent(id)) => Ok(Start::Value(id)),
            Some(Declared::Buffer(_)) => {
                let error = TextError::new(Code::Syntax, span, format!("`{name}` is a buffer, not a number"));
                self.fail(error.with_help(format!("write `len({name})` for its number of elements")))
            }
            _ => self.unknown(&name, span, "param or extent", |what| {
                matches!(what, Declared::Param(_) | Declared::Extent(_))
            }),
        }
    }
}
