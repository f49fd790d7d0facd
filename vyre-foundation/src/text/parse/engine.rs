//! Operator precedence on explicit stacks, shared by expressions and extents.

use super::{Failed, Parse, Parser};
use crate::diag::Code;
use crate::text::lex::Tok;
use crate::text::{Span, TextError};

/// What begins an operand.
pub(super) enum Start<V, C> {
    /// A whole operand.
    Value(V),
    /// A call or index whose opening bracket has been read.
    Open { callee: C, closer: &'static str, arity: usize },
}

/// How tightly an infix operator binds.
#[derive(Clone, Copy)]
pub(super) struct Infix<I> {
    pub(super) op: I,
    pub(super) precedence: u8,
    /// Whether it may follow another of its strength without parentheses.
    pub(super) chains: bool,
}

/// A language of operators.
pub(super) trait Language {
    type Value: Copy;
    type Prefix: Copy;
    type Infix: Copy;
    type Callee: Copy;

    fn prefix(symbol: &str) -> Option<(Self::Prefix, u8)>;
    fn infix(symbol: &str) -> Option<Infix<Self::Infix>>;
    /// Reads a literal, a name, or what opens a call. The next token is no parenthesis and no prefix
    /// operator, unless it is a sign before a number.
    fn operand(p: &mut Parser<'_>) -> Parse<Start<Self::Value, Self::Callee>>;
    fn apply_prefix(p: &mut Parser<'_>, op: Self::Prefix, a: Self::Value, span: Span) -> Parse<Self::Value>;
    fn apply_infix(
        p: &mut Parser<'_>,
        op: Self::Infix,
        a: Self::Value,
        b: Self::Value,
        span: Span,
    ) -> Parse<Self::Value>;
    fn call(p: &mut Parser<'_>, callee: Self::Callee, args: &[Self::Value], span: Span)
    -> Parse<Self::Value>;
}

enum Frame<L: Language + ?Sized> {
    Prefix(L::Prefix, u8, Span),
    Infix(Infix<L::Infix>),
    Group(Span),
    /// A call, with the position of its first argument among the operands.
    Open {
        callee: L::Callee,
        closer: &'static str,
        arity: usize,
        base: usize,
        span: Span,
    },
}

struct Engine<L: Language> {
    operands: Vec<(L::Value, Span)>,
    frames: Vec<Frame<L>>,
}

/// Reads an expression: up to the first token that cannot continue it.
pub(super) fn expression<L: Language>(p: &mut Parser<'_>) -> Parse<(L::Value, Span)> {
    let mut engine = Engine::<L> { operands: Vec::new(), frames: Vec::new() };
    loop {
        engine.operand(p)?;
        // After an operand: closers, then an infix operator, a comma, or the end.
        loop {
            let Tok::Symbol(symbol) = *p.peek() else { return engine.finish(p) };
            if let Some(infix) = L::infix(symbol) {
                engine.infix(p, infix)?;
                break;
            }
            match symbol {
                ")" | "]" if engine.has_open(symbol) => engine.close(p)?,
                "," if engine.in_call() => {
                    engine.reduce(p, 0)?;
                    p.bump();
                    break;
                }
                _ => return engine.finish(p),
            }
        }
    }
}

impl<L: Language> Engine<L> {
    /// Reads prefix operators and opening brackets, then an operand.
    fn operand(&mut self, p: &mut Parser<'_>) -> Parse<()> {
        loop {
            let span = p.span();
            if let Tok::Symbol(symbol) = *p.peek() {
                if symbol == "(" {
                    p.bump();
                    self.frames.push(Frame::Group(span));
                    continue;
                }
                if let (Some((op, precedence)), false) = (L::prefix(symbol), p.at_signed_number()) {
                    p.bump();
                    self.frames.push(Frame::Prefix(op, precedence, span));
                    continue;
                }
            }
            match L::operand(p)? {
                Start::Value(value) => {
                    self.operands.push((value, span.to(p.last_span())));
                    return Ok(());
                }
                Start::Open { callee, closer, arity } => {
                    let base = self.operands.len();
                    self.frames.push(Frame::Open { callee, closer, arity, base, span });
                }
            }
        }
    }

    fn infix(&mut self, p: &mut Parser<'_>, infix: Infix<L::Infix>) -> Parse<()> {
        self.reduce(p, infix.precedence + u8::from(!infix.chains))?;
        if let (Some(Frame::Infix(before)), false) = (self.frames.last(), infix.chains) {
            if before.precedence == infix.precedence {
                let error = TextError::new(Code::Syntax, p.span(), "comparisons do not chain");
                return p.fail(error.with_help("put one of them in parentheses"));
            }
        }
        p.bump();
        self.frames.push(Frame::Infix(infix));
        Ok(())
    }

    /// Applies operators down to the innermost bracket, as long as they bind at least so tightly.
    fn reduce(&mut self, p: &mut Parser<'_>, least: u8) -> Parse<()> {
        loop {
            match self.frames.last() {
                Some(&Frame::Prefix(op, precedence, start)) if precedence >= least => {
                    self.frames.pop();
                    let (a, span) = self.operands.pop().ok_or(Failed)?;
                    let span = start.to(span);
                    self.operands.push((L::apply_prefix(p, op, a, span)?, span));
                }
                Some(&Frame::Infix(Infix { op, precedence, .. })) if precedence >= least => {
                    self.frames.pop();
                    let (b, end) = self.operands.pop().ok_or(Failed)?;
                    let (a, start) = self.operands.pop().ok_or(Failed)?;
                    let span = start.to(end);
                    self.operands.push((L::apply_infix(p, op, a, b, span)?, span));
                }
                _ => return Ok(()),
            }
        }
    }

    /// Whether the innermost bracket is a call.
    fn in_call(&self) -> bool {
        matches!(self.bracket(), Some(Frame::Open { .. }))
    }

    /// Whether the innermost bracket closes so.
    fn has_open(&self, symbol: &str) -> bool {
        match self.bracket() {
            Some(Frame::Open { closer, .. }) => *closer == symbol,
            Some(_) => symbol == ")",
            None => false,
        }
    }

    /// The innermost bracket. Few operators lie above it: at most one of each strength, and a run of
    /// prefix operators is looked at once, when the operand after it ends.
    fn bracket(&self) -> Option<&Frame<L>> {
        self.frames.iter().rev().find(|frame| matches!(frame, Frame::Group(_) | Frame::Open { .. }))
    }

    fn close(&mut self, p: &mut Parser<'_>) -> Parse<()> {
        self.reduce(p, 0)?;
        p.bump();
        let end = p.last_span();
        match self.frames.pop() {
            Some(Frame::Open { callee, arity, base, span, .. }) => {
                let args: Vec<L::Value> = self.operands.drain(base..).map(|(value, _)| value).collect();
                let span = span.to(end);
                if args.len() != arity {
                    let message = format!("this takes {arity} operands, but has {}", args.len());
                    return p.fail(TextError::new(Code::Syntax, span, message));
                }
                self.operands.push((L::call(p, callee, &args, span)?, span));
            }
            Some(Frame::Group(span)) => {
                if let Some((_, inner)) = self.operands.last_mut() {
                    *inner = span.to(end);
                }
            }
            _ => return Err(Failed),
        }
        Ok(())
    }

    fn finish(mut self, p: &mut Parser<'_>) -> Parse<(L::Value, Span)> {
        self.reduce(p, 0)?;
        match self.frames.last() {
            Some(Frame::Group(open)) => Self::unclosed(p, ")", *open),
            Some(Frame::Open { closer, span, .. }) => Self::unclosed(p, closer, *span),
            _ => self.operands.pop().ok_or(Failed),
        }
    }

    fn unclosed(p: &mut Parser<'_>, closer: &str, open: Span) -> Parse<(L::Value, Span)> {
        if *p.peek() == Tok::Strange {
            return Err(Failed);
        }
        let error =
            TextError::new(Code::Syntax, p.span(), format!("expected an operator or `{closer}` here"));
        p.fail(error.with_related(open, "to close this"))
    }
}
