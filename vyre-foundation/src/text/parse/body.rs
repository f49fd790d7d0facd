//! Blocks, on a stack of their own.

use super::Parser;
use crate::diag::Code;
use crate::ir::{Expr, ExprId, Node, NodeId, RegionId};
use crate::text::lex::Tok;
use crate::text::{Span, TextError};
use vyre_spec::Value;

/// The words that begin a statement and occur nowhere else: where reading goes on after an error.
pub(super) const NEXT: [&str; 12] =
    ["let", "store", "var", "set", "if", "for", "while", "break", "continue", "return", "barrier", "trap"];

/// A block that is being read.
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Its opening brace.
    pub(super) open: Span,
    /// The region to go on with when it ends.
    pub(super) outer: RegionId,
}

pub(super) enum Kind {
    /// The launch's body.
    Body,
    /// An `if`'s first block; an `else` may follow.
    Then { otherwise: RegionId },
    /// An `else` block. Without braces (`else if`) it ends with the statement in it.
    Else { braces: bool },
    /// A loop's body; with `head`, the scope of a `while`'s head ends with it.
    Loop { head: bool },
    /// A `while`'s head; its condition and body follow.
    Head { node: NodeId, start: Span, head: RegionId, body: RegionId },
}

impl Parser<'_> {
    /// Reads the launch's body, after its brace, and the rest of the text.
    pub(super) fn body(&mut self) {
        self.region = self.arena.program().body();
        let mut blocks = Vec::new();
        self.open_block(&mut blocks, Kind::Body, self.region);
        while let Some(block) = blocks.last() {
            match self.peek() {
                Tok::End => {
                    let error =
                        TextError::new(Code::Syntax, self.span(), "expected `}`, found the end of the text");
                    let error = error.with_related(block.open, "to close this");
                    self.error(error);
                    return;
                }
                Tok::Symbol("}") => {
                    self.bump();
                    self.close_block(&mut blocks);
                }
                _ => {
                    let before = self.at;
                    self.statement(&mut blocks);
                    if self.at == before {
                        self.bump();
                    }
                }
            }
        }
        // The program's brace, then nothing.
        if self.expect_symbol("}").is_ok() && *self.peek() != Tok::End {
            let _ = self.expected::<()>("the end of the text".to_owned());
        }
    }

    /// Begins a block, after its brace.
    pub(super) fn open_block(&mut self, blocks: &mut Vec<Block>, kind: Kind, region: RegionId) {
        blocks.push(Block { kind, open: self.last_span(), outer: self.region });
        self.region = region;
        self.names.open();
    }

    /// Ends the innermost block, after its brace.
    fn close_block(&mut self, blocks: &mut Vec<Block>) {
        let Some(Block { kind, outer, .. }) = blocks.pop() else { return };
        if let Kind::Head { node, start, head, body } = kind {
            // The head's scope and region last through the condition.
            let condition = self.header_expression();
            self.region = outer;
            self.while_body(blocks, node, start, head, condition, body);
            return;
        }
        self.names.close();
        self.region = outer;
        match kind {
            Kind::Then { otherwise } if self.eat_word("else") => {
                if self.is_word(0, "if") {
                    self.open_block(blocks, Kind::Else { braces: false }, otherwise);
                    if !self.if_statement(blocks) {
                        self.end_if(blocks);
                    }
                } else if self.expect_symbol("{").is_ok() {
                    self.open_block(blocks, Kind::Else { braces: true }, otherwise);
                } else {
                    self.skip_statement(&NEXT);
                    self.end_if(blocks);
                }
            }
            Kind::Then { .. } | Kind::Else { .. } => self.end_if(blocks),
            Kind::Loop { head: true } => self.names.close(),
            _ => {}
        }
    }

    /// After the last block of an `if`: ends the `else` blocks that it alone makes up.
    fn end_if(&mut self, blocks: &mut Vec<Block>) {
        while let Some(Block { kind: Kind::Else { braces: false }, outer, .. }) = blocks.last() {
            self.region = *outer;
            self.names.close();
            blocks.pop();
        }
    }

    /// An expression of a header. After an error, goes on at the block if there is one, with a stand-in:
    /// the text is refused anyway, but the block's own errors are wanted.
    pub(super) fn header_expression(&mut self) -> Option<(ExprId, Span)> {
        match self.expression() {
            Ok(found) => Some(found),
            Err(_) => self.skip_to_block().then(|| (self.stand_in(), self.span())),
        }
    }

    pub(super) fn stand_in(&mut self) -> ExprId {
        let span = self.span();
        self.expr(Expr::Literal(Value::new(false)), span)
    }

    /// The brace of a block after a header; if there is none, skips the statement.
    pub(super) fn block_brace(&mut self) -> bool {
        if self.expect_symbol("{").is_ok() {
            return true;
        }
        if self.skip_to_block() {
            self.bump();
            return true;
        }
        self.skip_statement(&NEXT);
        false
    }

    /// Reads `if condition {`, from the `if` on; false if there is no block.
    pub(super) fn if_statement(&mut self, blocks: &mut Vec<Block>) -> bool {
        let start = self.span();
        self.bump();
        let Some((condition, span)) = self.header_expression() else {
            self.skip_statement(&NEXT);
            return false;
        };
        let (then, otherwise) = (self.arena.region(), self.arena.region());
        self.node(Node::If { condition, then, otherwise }, start.to(span));
        let braced = self.block_brace();
        if braced {
            self.open_block(blocks, Kind::Then { otherwise }, then);
        }
        braced
    }

    /// Reads `while condition {` or `while {`, from the `while` on.
    pub(super) fn while_statement(&mut self, blocks: &mut Vec<Block>) {
        let start = self.span();
        self.bump();
        let (head, body) = (self.arena.region(), self.arena.region());
        // The condition is not known yet; `while_body` puts it in.
        let condition = ExprId::new(0);
        let node = self.node(Node::While { head, condition, body }, start);
        if self.eat_symbol("{") {
            self.open_block(blocks, Kind::Head { node, start, head, body }, head);
            return;
        }
        let outer = std::mem::replace(&mut self.region, head);
        self.names.open();
        let condition = self.header_expression();
        self.region = outer;
        self.while_body(blocks, node, start, head, condition, body);
    }

    /// The rest of a `while` after its condition; the head's scope is open.
    fn while_body(
        &mut self,
        blocks: &mut Vec<Block>,
        node: NodeId,
        start: Span,
        head: RegionId,
        condition: Option<(ExprId, Span)>,
        body: RegionId,
    ) {
        let Some((condition, span)) = condition else {
            self.names.close();
            self.skip_statement(&NEXT);
            return;
        };
        self.arena.replace_node(node, Node::While { head, condition, body });
        if let Some(place) = self.map.nodes.get_mut(node.index()) {
            *place = start.to(span);
        }
        if self.block_brace() {
            self.open_block(blocks, Kind::Loop { head: true }, body);
        } else {
            self.names.close();
        }
    }
}
