//! Expressions and extents, on a stack of pieces.

use std::borrow::Cow;

use vyre_spec::DataType;
use vyre_spec::ops::BinaryRule;

use super::Printer;
use crate::ir::{Expr, ExprId, NodeId};
use crate::text::literal;

/// The strength that a prefix operator asks of its operand: no operator, and no sign.
const ATOM: u8 = u8::MAX;

enum Piece {
    /// An expression that must bind at least so tightly, or stand in parentheses.
    Expr(ExprId, u8),
    Text(Cow<'static, str>),
    /// The end of an expression that began at the offset.
    End(ExprId, u32),
}

impl Printer<'_> {
    /// Writes an expression by its name, or whole.
    pub(super) fn expr(&mut self, root: ExprId) {
        self.pieces(vec![Piece::Expr(root, 0)]);
    }

    /// Writes an expression whole, although it has a name.
    pub(super) fn definition(&mut self, root: ExprId) {
        let mut pieces = vec![Piece::End(root, self.at())];
        self.expand(root, &mut pieces);
        self.pieces(pieces);
    }

    fn pieces(&mut self, mut pieces: Vec<Piece>) {
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Text(text) => self.push(&text),
                Piece::End(id, start) => {
                    let span = self.from(start);
                    self.map.first_expr(id, span);
                }
                Piece::Expr(id, least) => match self.expr_names[id.index()] {
                    Some(number) => self.push(&format!("v{number}")),
                    None => {
                        // An expression's place is what is inside of its parentheses.
                        if self.strength(id) < least {
                            self.push("(");
                            pieces.push(Piece::Text(Cow::Borrowed(")")));
                        }
                        pieces.push(Piece::End(id, self.at()));
                        self.expand(id, &mut pieces);
                    }
                },
            }
        }
    }

    /// Pushes an expression's pieces, the first on top, or writes a leaf.
    fn expand(&mut self, id: ExprId, pieces: &mut Vec<Piece>) {
        let text = |s: &'static str| Piece::Text(Cow::Borrowed(s));
        let program = self.program;
        match *program.expr(id) {
            Expr::Literal(value) => literal::write(&mut self.out, value),
            Expr::Param(id) => self.name(&program.param(id).name),
            Expr::BuiltIn(b) => self.push(&b.to_string()),
            Expr::Length(id) => {
                self.push("len(");
                self.name(&program.buffer(id).name);
                self.push(")");
            }
            Expr::Result(node) => self.node_name(node, 'v', "result"),
            Expr::LoopVar(node) => self.node_name(node, 'k', "loop_var"),
            Expr::Unary(op, a) => match op.symbol() {
                Some((symbol, _)) => {
                    pieces.push(Piece::Expr(a, ATOM));
                    self.push(symbol);
                }
                None => self.call(op.name(), "", &[a], pieces),
            },
            Expr::Binary(op, a, b) => match op.symbol() {
                Some((symbol, precedence)) => {
                    // Comparisons do not chain; the others group to the left.
                    let left = precedence + u8::from(matches!(op.rule(), BinaryRule::Compare(_)));
                    pieces.push(Piece::Expr(b, precedence + 1));
                    pieces.push(text(" "));
                    pieces.push(text(symbol));
                    pieces.push(text(" "));
                    pieces.push(Piece::Expr(a, left));
                }
                None => self.call(op.name(), "", &[a, b], pieces),
            },
            Expr::Ternary(op, a, b, c) => self.call(op.name(), "", &[a, b, c], pieces),
            Expr::Cast(op, ty, a) => self.call(op.name(), ty.name(), &[a], pieces),
        }
    }

    fn call(&mut self, name: &str, ty: &str, args: &[ExprId], pieces: &mut Vec<Piece>) {
        self.push(name);
        if !ty.is_empty() {
            self.push("<");
            self.push(ty);
            self.push(">");
        }
        self.push("(");
        pieces.push(Piece::Text(Cow::Borrowed(")")));
        for (i, &arg) in args.iter().enumerate().rev() {
            pieces.push(Piece::Expr(arg, 0));
            if i > 0 {
                pieces.push(Piece::Text(Cow::Borrowed(", ")));
            }
        }
    }

    /// How tightly an expression's text binds.
    fn strength(&self, id: ExprId) -> u8 {
        let symbol = match *self.program.expr(id) {
            Expr::Unary(op, _) => op.symbol(),
            Expr::Binary(op, ..) => op.symbol(),
            // A minus before a number is the number's sign, not an operator.
            Expr::Literal(value) if value.ty() != DataType::Bool => return ATOM - 1,
            _ => None,
        };
        symbol.map_or(ATOM, |(_, precedence)| precedence)
    }

    /// A node's result or loop variable: by name where that is in scope, else by the node's number.
    fn node_name(&mut self, node: NodeId, prefix: char, escape: &str) {
        match self.node_names[node.index()] {
            Some(number) if self.visible[node.index()] && self.gives(node, prefix) => {
                self.push(&format!("{prefix}{number}"));
            }
            _ => {
                self.numbered = true;
                self.push(&format!("{escape}({})", node.raw()));
            }
        }
    }

    /// Whether a node's name stands for a result (`v`), or for a loop variable (`k`).
    fn gives(&self, node: NodeId, prefix: char) -> bool {
        self.program.node(node).has_result() == (prefix == 'v')
    }
}
