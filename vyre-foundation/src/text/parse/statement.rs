//! Statements.

use std::borrow::Cow;

use vyre_spec::ops::{AtomicOp, CollectiveOp, SubgroupOp};
use vyre_spec::{FenceScope, MemoryOrdering, Value};

use super::body::{Block, Kind, NEXT};
use super::scope::Declared;
use super::{Failed, Parse, Parser};
use crate::diag::Code;
use crate::ir::{Expr, ExprId, Node, Place, VarId, Variable};
use crate::text::infer::default_step;
use crate::text::lex::Tok;
use crate::text::suggest::closest;
use crate::text::{Span, TextError};

/// The words that begin a statement, besides atomic and subgroup ops.
const STATEMENTS: [&str; 23] = [
    "let",
    "load",
    "store",
    "var",
    "declare",
    "get",
    "set",
    "if",
    "for",
    "while",
    "break",
    "continue",
    "return",
    "barrier",
    "fence",
    "trap",
    "tile_fill",
    "tile_load",
    "tile_store",
    "tile_multiply_add",
    "tile_add",
    "tile_subtract",
    "tile_scale",
];

impl<'a> Parser<'a> {
    /// Reads a statement, or the header of one with a block.
    pub(super) fn statement(&mut self, blocks: &mut Vec<Block>) {
        match self.word() {
            Some("if") => {
                self.if_statement(blocks);
            }
            Some("while") => self.while_statement(blocks),
            Some("for") => self.for_statement(blocks),
            _ => {
                if self.simple().and_then(|()| self.expect_symbol(";")).is_err() {
                    self.skip_statement(&NEXT);
                }
            }
        }
    }

    /// Reads a statement without a block, up to its `;`.
    fn simple(&mut self) -> Parse<()> {
        let start = self.span();
        let Some(word) = self.word() else { return self.expected("a statement".to_owned()) };
        if let Some(node) = self.giving()? {
            self.node(node, start.to(self.last_span()));
            return Ok(());
        }
        let node = match word {
            "let" => return self.let_statement(start),
            "store" => {
                self.bump();
                let (place, index) = self.element()?;
                self.expect_symbol("=")?;
                let (value, _) = self.expression()?;
                Node::Store { place, index, value }
            }
            "var" => return self.var_statement(start),
            "declare" => {
                self.bump();
                let var = self.variable()?;
                self.expect_symbol("=")?;
                Node::Declare { var, init: self.expression()?.0 }
            }
            "set" => {
                self.bump();
                let var = self.variable()?;
                self.expect_symbol("=")?;
                Node::Set { var, value: self.expression()?.0 }
            }
            "break" => self.leaf(Node::Break),
            "continue" => self.leaf(Node::Continue),
            "return" => self.leaf(Node::Return),
            "barrier" => {
                self.bump();
                Node::Barrier { ordering: self.ordering()? }
            }
            "fence" => {
                self.bump();
                let ordering = self.ordering()?;
                self.expect_symbol(",")?;
                Node::Fence { ordering, scope: self.scope()? }
            }
            "trap" => {
                self.bump();
                let code = self.small_integer()?;
                self.expect_symbol(",")?;
                Node::Trap { code, address: self.expression()?.0 }
            }
            _ if word.starts_with("tile_") && STATEMENTS.contains(&word) => {
                self.bump();
                let (tile, action) = self.tile_action(word)?;
                Node::Tile { tile, action }
            }
            _ => return self.no_statement(word, start),
        };
        self.node(node, start.to(self.last_span()));
        Ok(())
    }

    fn leaf(&mut self, node: Node) -> Node {
        self.bump();
        node
    }

    fn no_statement(&mut self, word: &str, span: Span) -> Parse<()> {
        let mut error = TextError::new(Code::Syntax, span, format!("`{word}` begins no statement"));
        error.help = match self.token(1).0 {
            Tok::Symbol("=") => Some(format!("write `let {word} = …;`, or `set {word} = …;` for a variable")),
            Tok::Symbol("[") => Some(format!("write `store {word}[…] = …;`")),
            _ => closest(word, STATEMENTS.into_iter()).map(|near| format!("did you mean `{near}`?")),
        };
        self.fail(error)
    }

    /// Reads a node that gives a result, if the next word begins one. That an op has the operands it takes is
    /// for the checker to say.
    fn giving(&mut self) -> Parse<Option<Node>> {
        let Some(word) = self.word() else { return Ok(None) };
        if let Some(op) = AtomicOp::from_name(word) {
            self.bump();
            let (place, index) = self.element()?;
            self.expect_symbol(",")?;
            let (first, _) = self.expression()?;
            let second = self.second()?;
            let (expected, value) = second.map_or((None, first), |value| (Some(first), value));
            return Ok(Some(Node::Atomic { op, place, index, value, expected }));
        }
        if let Some(op) = SubgroupOp::from_name(word) {
            self.bump();
            let (value, _) = self.expression()?;
            let lane = self.second()?;
            return Ok(Some(Node::Subgroup { op, value, lane }));
        }
        if let Some(op) = CollectiveOp::from_name(word) {
            self.bump();
            let (value, _) = self.expression()?;
            let rank = self.second()?;
            return Ok(Some(Node::Collective { op, value, rank }));
        }
        match word {
            "load" => {
                self.bump();
                let (place, index) = self.element()?;
                Ok(Some(Node::Load { place, index }))
            }
            "get" => {
                self.bump();
                Ok(Some(Node::Get { var: self.variable()? }))
            }
            _ => Ok(None),
        }
    }

    /// A second operand, if there is one.
    fn second(&mut self) -> Parse<Option<ExprId>> {
        if self.eat_symbol(",") { Ok(Some(self.expression()?.0)) } else { Ok(None) }
    }

    fn let_statement(&mut self, start: Span) -> Parse<()> {
        self.bump();
        let (name, at) = self.new_name("a name")?;
        let value = self.expect_symbol("=").and_then(|()| self.let_value(start));
        let failed = value.is_err();
        // A name whose definition failed is known, so that its uses are no further errors.
        self.names.bind(name, value.ok(), at);
        if failed { Err(Failed) } else { Ok(()) }
    }

    fn let_value(&mut self, whole: Span) -> Parse<ExprId> {
        let start = self.span();
        match self.giving()? {
            Some(node) => {
                let end = self.last_span();
                let node = self.node(node, whole.to(end));
                Ok(self.expr(Expr::Result(node), start.to(end)))
            }
            None => Ok(self.expression()?.0),
        }
    }

    fn var_statement(&mut self, start: Span) -> Parse<()> {
        self.bump();
        let (name, at) = self.new_name("a name")?;
        self.expect_symbol(":")?;
        let ty = self.data_type()?;
        let declared = start.to(self.last_span());
        let init = self.expect_symbol("=").and_then(|()| self.expression());
        let var = self.arena.var(Variable { name: name.to_string(), ty });
        self.map.vars.push(declared);
        self.declare(name, Declared::Var(var), at);
        let (init, _) = init?;
        self.node(Node::Declare { var, init }, start.to(self.last_span()));
        Ok(())
    }

    /// `array[index]`.
    pub(super) fn element(&mut self) -> Parse<(Place, ExprId)> {
        let (name, span) = self.name("an array's name")?;
        let place = self.place_of(&name, span)?;
        self.expect_symbol("[")?;
        let (index, _) = self.expression()?;
        self.expect_symbol("]")?;
        Ok((place, index))
    }

    fn variable(&mut self) -> Parse<VarId> {
        let (name, span) = self.name("a variable's name")?;
        match self.names.declared(&name) {
            Some(Declared::Var(var)) => Ok(var),
            _ => self.unknown(&name, span, "variable", |what| matches!(what, Declared::Var(_))),
        }
    }

    fn ordering(&mut self) -> Parse<MemoryOrdering> {
        let find = |word: &str| MemoryOrdering::ALL.into_iter().find(|ordering| ordering.name() == word);
        let Some(ordering) = self.word().and_then(find) else {
            let names = MemoryOrdering::ALL.map(MemoryOrdering::name);
            return self.expected(format!("what is ordered: {}", names.join(", ")));
        };
        self.bump();
        Ok(ordering)
    }

    fn scope(&mut self) -> Parse<FenceScope> {
        let find = |word: &str| FenceScope::ALL.into_iter().find(|scope| scope.name() == word);
        let Some(scope) = self.word().and_then(find) else {
            let names = FenceScope::ALL.map(FenceScope::name);
            return self.expected(format!("among whom the fence orders: {}", names.join(", ")));
        };
        self.bump();
        Ok(scope)
    }

    /// Reads `for name in a..b step c {`, from the `for` on.
    fn for_statement(&mut self, blocks: &mut Vec<Block>) {
        let start = self.span();
        self.bump();
        let mut name: Option<(Cow<'a, str>, Span)> = None;
        let header = self.for_header(&mut name);
        if header.is_err() && !self.skip_to_block() {
            self.skip_statement(&NEXT);
            return;
        }
        let [first, end, step] = header.unwrap_or_else(|_| [self.stand_in(); 3]);
        let body = self.arena.region();
        let node = self.node(Node::For { start: first, end, step, body }, start.to(self.last_span()));
        if !self.block_brace() {
            return;
        }
        self.open_block(blocks, Kind::Loop { head: false }, body);
        if let Some((name, span)) = name {
            let value = self.expr(Expr::LoopVar(node), span);
            self.names.bind(name, Some(value), span);
        }
    }

    fn for_header(&mut self, name: &mut Option<(Cow<'a, str>, Span)>) -> Parse<[ExprId; 3]> {
        *name = Some(self.new_name("the loop variable's name")?);
        self.expect_word("in")?;
        let (start, span) = self.expression()?;
        self.expect_symbol("..")?;
        let (end, _) = self.expression()?;
        let step = if self.eat_word("step") {
            self.expression()?.0
        } else {
            let one: Value = default_step(&mut self.types, self.arena.program(), start);
            self.expr(Expr::Literal(one), span)
        };
        Ok([start, end, step])
    }
}
