//! Inputs, constants and retained values.

use vyre_spec::{DataType, Value};

use super::Declarations;
use crate::diag::Code;
use crate::graph::assemble::{DraftKind, DraftSource, ValueRef};
use crate::ir::Expr;
use crate::text::lex::Tok;
use crate::text::parse::Parse;
use crate::text::{Span, TextError};

impl Declarations<'_> {
    /// `input name: type[dimensions]`, and the same of constants and retained values.
    pub(super) fn source(&mut self, word: &str, start: Span) -> Parse<()> {
        let (name, _) = self.parser.new_name("a name")?;
        self.parser.expect_symbol(":")?;
        let element = self.parser.data_type()?;
        self.parser.expect_symbol("[")?;
        let shape = self.dims_until("]")?;
        let position = self.draft.sources.len();
        self.map.values.push(start.to(self.parser.last_span()));
        let kind = match word {
            "constant" => DraftKind::Constant(self.constant(element)?.into()),
            "retained" => {
                if self.parser.eat_word("becomes") {
                    let (next, at) = self.parser.name("a value's name")?;
                    self.updates.push((position, next, at));
                }
                DraftKind::Retained { next: None }
            }
            _ => DraftKind::Input,
        };
        // Of two values of one name the first is meant; assembling finds the second.
        self.values.entry(name.to_string()).or_insert(ValueRef::Source(position as u32));
        self.draft.sources.push(DraftSource { name: name.into_owned(), element, shape, kind });
        Ok(())
    }

    /// `= { elements }` or `= bytes { bytes }`.
    fn constant(&mut self, element: DataType) -> Parse<Vec<u8>> {
        self.parser.expect_symbol("=")?;
        let raw = self.parser.eat_word("bytes");
        self.parser.expect_symbol("{")?;
        let bytes = self.elements(element, raw);
        if bytes.is_err() {
            // The brace is not the graph's.
            while !matches!(self.parser.peek(), Tok::End | Tok::Symbol("}" | ";")) {
                self.parser.bump();
            }
            self.parser.eat_symbol("}");
        }
        bytes
    }

    fn elements(&mut self, element: DataType, raw: bool) -> Parse<Vec<u8>> {
        let wanted = if raw { DataType::U32 } else { element };
        let size = if raw { 1 } else { element.size() as usize };
        let mut bytes = Vec::new();
        let mut first = true;
        while !self.parser.eat_symbol("}") {
            if !std::mem::take(&mut first) {
                self.parser.expect_symbol(",")?;
            }
            let span = self.parser.span();
            let value = self.literal()?;
            if value.ty() != wanted || (raw && value.bits() > 0xFF) {
                let message = match raw {
                    true => "this is no byte".to_owned(),
                    false => format!("an element is a {}, but the constant is of {element}", value.ty()),
                };
                let help =
                    if raw { "write 0 to 255" } else { "write elements with their type, such as `7u8`" };
                let error = TextError::new(Code::BadLiteral, span.to(self.parser.last_span()), message);
                return self.parser.fail(error.with_help(help));
            }
            bytes.extend(value.bits().to_le_bytes().into_iter().take(size));
        }
        Ok(bytes)
    }

    pub(super) fn literal(&mut self) -> Parse<Value> {
        let span = self.parser.span();
        let (id, whole) = self.parser.expression()?;
        match self.parser.arena.program().exprs().get(id.index()) {
            Some(&Expr::Literal(value)) => Ok(value),
            _ => {
                let error = TextError::new(Code::BadLiteral, span.to(whole), "this is no constant");
                self.parser.fail(error.with_help("write a literal: arithmetic belongs into a program"))
            }
        }
    }
}
