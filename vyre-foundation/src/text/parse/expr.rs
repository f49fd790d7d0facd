//! The language of expressions: operands, calls, and what is short for a load or a get.

use vyre_spec::ops::{AtomicOp, BinaryOp, BinaryRule, CastOp, CollectiveOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Axis, BuiltIn, DataType, Value};

use super::engine::{Infix, Language, Start, expression};
use super::scope::{Declared, Found};
use super::{Failed, Parse, Parser};
use crate::diag::Code;
use crate::ir::{Expr, ExprId, Node, NodeId, Place};
use crate::text::lex::Tok;
use crate::text::literal::{self, BadNumber};
use crate::text::suggest::closest;
use crate::text::{Span, TextError};

/// The language of expressions.
pub(super) struct Exprs;

/// What an opening bracket belongs to.
#[derive(Clone, Copy)]
pub(super) enum Callee {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Ternary(TernaryOp),
    Cast(CastOp, DataType),
    /// `p[i]`: a load just before the statement.
    Element(Place),
}

/// A binary op, or its spelling for bools alone.
#[derive(Clone, Copy)]
pub(super) enum Between {
    Any(BinaryOp),
    Bools(BinaryOp),
}

/// Spellings that are read but never printed: the operands must be bools, and the op is that of the
/// second symbol, binding as given.
const BOOL_SPELLINGS: [(&str, &str, u8); 2] = [("&&", "&", 4), ("||", "|", 3)];

fn op_of_symbol(symbol: &str) -> Option<(BinaryOp, u8)> {
    BinaryOp::ALL.iter().find_map(|&op| op.symbol().filter(|(s, _)| *s == symbol).map(|(_, p)| (op, p)))
}

impl Language for Exprs {
    type Value = ExprId;
    type Prefix = UnaryOp;
    type Infix = Between;
    type Callee = Callee;

    fn prefix(symbol: &str) -> Option<(UnaryOp, u8)> {
        UnaryOp::ALL.iter().find_map(|&op| op.symbol().filter(|(s, _)| *s == symbol).map(|(_, p)| (op, p)))
    }

    fn infix(symbol: &str) -> Option<Infix<Between>> {
        if let Some((op, precedence)) = op_of_symbol(symbol) {
            let chains = !matches!(op.rule(), BinaryRule::Compare(_));
            return Some(Infix { op: Between::Any(op), precedence, chains });
        }
        let &(_, plain, precedence) = BOOL_SPELLINGS.iter().find(|(spelling, ..)| *spelling == symbol)?;
        let (op, _) = op_of_symbol(plain)?;
        Some(Infix { op: Between::Bools(op), precedence, chains: true })
    }

    fn operand(p: &mut Parser<'_>) -> Parse<Start<ExprId, Callee>> {
        p.operand()
    }

    fn apply_prefix(p: &mut Parser<'_>, op: UnaryOp, a: ExprId, span: Span) -> Parse<ExprId> {
        Ok(p.expr(Expr::Unary(op, a), span))
    }

    fn apply_infix(p: &mut Parser<'_>, op: Between, a: ExprId, b: ExprId, span: Span) -> Parse<ExprId> {
        let op = match op {
            Between::Any(op) => op,
            Between::Bools(op) => {
                for side in [a, b] {
                    let ty = p.types.of(p.arena.program(), side);
                    if let Some(ty) = ty.filter(|&ty| ty != DataType::Bool) {
                        let symbol = op.symbol().map_or("", |(symbol, _)| symbol);
                        let message = format!("this operator takes bools, but an operand is a {ty}");
                        let error = TextError::new(Code::OperandType, span, message);
                        return p.fail(error.with_help(format!("write `{symbol}` for the bits of integers")));
                    }
                }
                op
            }
        };
        Ok(p.expr(Expr::Binary(op, a, b), span))
    }

    fn call(p: &mut Parser<'_>, callee: Callee, args: &[ExprId], span: Span) -> Parse<ExprId> {
        let expr = match (callee, args) {
            (Callee::Unary(op), &[a]) => Expr::Unary(op, a),
            (Callee::Binary(op), &[a, b]) => Expr::Binary(op, a, b),
            (Callee::Ternary(op), &[a, b, c]) => Expr::Ternary(op, a, b, c),
            (Callee::Cast(op, ty), &[a]) => Expr::Cast(op, ty, a),
            (Callee::Element(place), &[index]) => {
                let node = p.node(Node::Load { place, index }, span);
                Expr::Result(node)
            }
            _ => return Err(Failed),
        };
        Ok(p.expr(expr, span))
    }
}

impl Parser<'_> {
    /// Reads an expression.
    pub(super) fn expression(&mut self) -> Parse<(ExprId, Span)> {
        expression::<Exprs>(self)
    }

    fn literal(&mut self, value: Value, span: Span) -> Parse<Start<ExprId, Callee>> {
        Ok(Start::Value(self.expr(Expr::Literal(value), span)))
    }

    pub(super) fn bad_number<T>(&mut self, bad: BadNumber, span: Span) -> Parse<T> {
        let mut error = TextError::new(Code::BadLiteral, span, bad.message);
        error.help = bad.help;
        self.fail(error)
    }

    /// Whether a minus sign and a number come next: together they are a literal.
    pub(super) fn at_signed_number(&self) -> bool {
        let number = matches!(self.token(1).0, Tok::Number(_));
        self.is_symbol(0, "-") && (number || (self.is_word(1, "inf") && self.type_argument(2).is_some()))
    }

    /// The type of `<type>` at the token so far ahead.
    fn type_argument(&self, ahead: usize) -> Option<DataType> {
        match *self.token(ahead + 1).0 {
            Tok::Word(word) if self.is_symbol(ahead, "<") && self.is_symbol(ahead + 2, ">") => {
                DataType::from_name(word)
            }
            _ => None,
        }
    }

    fn operand(&mut self) -> Parse<Start<ExprId, Callee>> {
        let start = self.span();
        let negative = self.at_signed_number();
        let sign = usize::from(negative);
        match *self.token(sign).0 {
            Tok::Number(number) => {
                for _ in 0..=sign {
                    self.bump();
                }
                let span = start.to(self.last_span());
                match literal::parse(number, negative) {
                    Ok(value) => self.literal(value, span),
                    Err(bad) => self.bad_number(bad, span),
                }
            }
            Tok::Word(word) => {
                if negative {
                    self.bump();
                }
                self.word_operand(word, start, negative)
            }
            Tok::Quoted(ref name) => {
                let name = name.clone();
                self.bump();
                self.named(&name, start)
            }
            _ => self.expected("an expression".to_owned()),
        }
    }

    fn word_operand(&mut self, word: &str, span: Span, negative: bool) -> Parse<Start<ExprId, Callee>> {
        if let Some(ty) = self.type_argument(1) {
            return self.typed(word, ty, span, negative);
        }
        if self.is_symbol(1, "(") {
            return self.call(word, span);
        }
        self.bump();
        match word {
            "true" | "false" => return self.literal(Value::new(word == "true"), span),
            _ => {}
        }
        if BuiltIn::ALL.iter().any(|b| b.name().0 == word) {
            return self.built_in(word, span);
        }
        self.named(word, span)
    }

    /// `convert<f32>(…)`, `inf<f32>` and the like, from the word on.
    fn typed(
        &mut self,
        word: &str,
        ty: DataType,
        span: Span,
        negative: bool,
    ) -> Parse<Start<ExprId, Callee>> {
        for _ in 0..4 {
            self.bump();
        }
        let whole = span.to(self.last_span());
        if let Some(op) = CastOp::from_name(word) {
            self.expect_symbol("(")?;
            return Ok(Start::Open { callee: Callee::Cast(op, ty), closer: ")", arity: 1 });
        }
        let value = match word {
            "inf" => literal::infinity(ty, negative),
            "nan" => literal::nan(ty),
            "bits" => {
                self.expect_symbol("(")?;
                let bits = self.integer()?;
                self.expect_symbol(")")?;
                let value = Value::from_bits(ty, bits);
                if value.bits() != bits {
                    let error =
                        TextError::new(Code::BadLiteral, whole, format!("{bits:#x} does not fit {ty}"));
                    return self.fail(error);
                }
                Some(value)
            }
            _ => {
                let mut error = TextError::new(Code::UnknownName, span, format!("`{word}` takes no type"));
                let known = CastOp::ALL.iter().map(|op| op.name()).chain(["bits", "inf", "nan"]);
                error.help = closest(word, known).map(|name| format!("did you mean `{name}`?"));
                return self.fail(error);
            }
        };
        let span = span.to(self.last_span());
        match value {
            Some(value) => self.literal(value, span),
            None => {
                self.fail(TextError::new(Code::BadLiteral, whole, format!("there is no `{word}` in {ty}")))
            }
        }
    }

    /// An unsigned number without suffix.
    pub(super) fn integer(&mut self) -> Parse<u64> {
        let Tok::Number(number) = *self.peek() else { return self.expected("an integer".to_owned()) };
        let span = self.span();
        self.bump();
        match literal::parse_u64(number) {
            Ok(value) => Ok(value),
            Err(bad) => self.bad_number(bad, span),
        }
    }

    /// `name(`, from the name on.
    fn call(&mut self, word: &str, span: Span) -> Parse<Start<ExprId, Callee>> {
        self.bump();
        self.bump();
        let open = |callee, arity| Ok(Start::Open { callee, closer: ")", arity });
        if let Some(op) = UnaryOp::from_name(word) {
            return open(Callee::Unary(op), 1);
        }
        if let Some(op) = BinaryOp::from_name(word) {
            return open(Callee::Binary(op), 2);
        }
        if let Some(op) = TernaryOp::from_name(word) {
            return open(Callee::Ternary(op), 3);
        }
        match word {
            "len" => {
                let (name, at) = self.name("a buffer's name")?;
                self.expect_symbol(")")?;
                let Some(Declared::Buffer(id)) = self.names.declared(&name) else {
                    return self.unknown(&name, at, "buffer", |what| matches!(what, Declared::Buffer(_)));
                };
                let span = span.to(self.last_span());
                Ok(Start::Value(self.expr(Expr::Length(id), span)))
            }
            "result" | "loop_var" => {
                let at = self.span();
                let number = self.integer()?;
                self.expect_symbol(")")?;
                let Ok(number) = u32::try_from(number) else {
                    return self.fail(TextError::new(
                        Code::UnknownName,
                        at,
                        format!("there is no node {number}"),
                    ));
                };
                let node = NodeId::new(number);
                self.numbered.push((node, at));
                let expr = if word == "result" { Expr::Result(node) } else { Expr::LoopVar(node) };
                let span = span.to(self.last_span());
                Ok(Start::Value(self.expr(expr, span)))
            }
            _ => self.unknown_function(word, span),
        }
    }

    fn unknown_function<T>(&mut self, word: &str, span: Span) -> Parse<T> {
        let error = TextError::new(Code::UnknownName, span, format!("there is no function `{word}`"));
        let is_node = AtomicOp::from_name(word).is_some() || SubgroupOp::from_name(word).is_some();
        if is_node || CollectiveOp::from_name(word).is_some() {
            let help = format!("its value depends on when it runs: bind it by `let v = {word} …;`");
            return self.fail(error.with_help(help));
        }
        if let Some(ty) = DataType::from_name(word) {
            return self.fail(error.with_help(format!("write `convert<{ty}>(…)`")));
        }
        let names = UnaryOp::ALL
            .iter()
            .map(|op| op.name())
            .chain(BinaryOp::ALL.iter().map(|op| op.name()))
            .chain(TernaryOp::ALL.iter().map(|op| op.name()))
            .chain(CastOp::ALL.iter().map(|op| op.name()))
            .chain(["len"]);
        let help = closest(word, names).map(|name| format!("did you mean `{name}`?"));
        self.fail(TextError { help, ..error })
    }

    /// A built-in value, after its word.
    fn built_in(&mut self, word: &str, start: Span) -> Parse<Start<ExprId, Callee>> {
        let axis = if self.is_symbol(0, ".") {
            let axis = match *self.token(1).0 {
                Tok::Word(name) => Axis::ALL.into_iter().find(|axis| axis.name() == name),
                _ => None,
            };
            self.bump();
            if axis.is_none() {
                return self.expected("an axis: x, y or z".to_owned());
            }
            self.bump();
            axis
        } else {
            None
        };
        let span = start.to(self.last_span());
        match BuiltIn::ALL.into_iter().find(|b| b.name() == (word, axis)) {
            Some(found) => Ok(Start::Value(self.expr(Expr::BuiltIn(found), span))),
            None if axis.is_none() => {
                let error = TextError::new(Code::Syntax, span, format!("`{word}` has an axis"));
                self.fail(error.with_help(format!("write `{word}.x`")))
            }
            None => self.fail(TextError::new(Code::Syntax, span, format!("`{word}` has no axis"))),
        }
    }

    /// A name in an expression, after it.
    fn named(&mut self, name: &str, span: Span) -> Parse<Start<ExprId, Callee>> {
        if self.is_symbol(0, "[") {
            let place = self.place_of(name, span)?;
            self.bump();
            return Ok(Start::Open { callee: Callee::Element(place), closer: "]", arity: 1 });
        }
        let expr = match self.names.find(name) {
            Found::Local(Some(value)) => return Ok(Start::Value(value)),
            Found::Local(None) => return Err(Failed),
            Found::Declared(Declared::Param(id)) => Expr::Param(id),
            Found::Declared(Declared::Var(var)) => {
                let node = self.node(Node::Get { var }, span);
                Expr::Result(node)
            }
            Found::Declared(Declared::Extent(_)) => {
                let error =
                    TextError::new(Code::UnknownName, span, format!("`{name}` is an extent of the host"));
                return self.fail(error.with_help("the device knows params and `len(buffer)`"));
            }
            Found::Declared(_) => {
                let error = TextError::new(Code::Syntax, span, format!("`{name}` is an array, not a value"));
                return self.fail(error.with_help(format!("write `{name}[index]` for an element")));
            }
            Found::Ended(first) => {
                let error = TextError::new(Code::UnknownName, span, format!("`{name}` is out of scope here"))
                    .with_related(first, "its block has ended")
                    .with_help("move the `let` before the block, or carry the value in a variable");
                return self.fail(error);
            }
            Found::Unknown => {
                let is_value = |what| matches!(what, Declared::Param(_) | Declared::Var(_));
                let mut error = TextError::new(Code::UnknownName, span, format!("there is no `{name}`"));
                let near = self
                    .names
                    .suggest(name, true, is_value)
                    .or_else(|| closest(name, BuiltIn::ALL.iter().map(|b| b.name().0)).map(str::to_owned));
                error.help = Some(near.map_or_else(
                    || "declare it as a parameter or variable, or name a value with `let` before this".into(),
                    |near| format!("did you mean `{near}`?"),
                ));
                return self.fail(error);
            }
        };
        Ok(Start::Value(self.expr(expr, span)))
    }

    /// An array by its name.
    pub(super) fn place_of(&mut self, name: &str, span: Span) -> Parse<Place> {
        match self.names.declared(name) {
            Some(Declared::Buffer(id)) => Ok(Place::Buffer(id)),
            Some(Declared::Shared(id)) => Ok(Place::Shared(id)),
            Some(Declared::Private(id)) => Ok(Place::Private(id)),
            _ => {
                let is_array =
                    |what| matches!(what, Declared::Buffer(_) | Declared::Shared(_) | Declared::Private(_));
                self.unknown(name, span, "array", is_array)
            }
        }
    }

    /// A name that stands for no `kind`.
    pub(super) fn unknown<T>(
        &mut self,
        name: &str,
        span: Span,
        kind: &str,
        wanted: impl Fn(Declared) -> bool,
    ) -> Parse<T> {
        let mut error = TextError::new(Code::UnknownName, span, format!("there is no {kind} `{name}`"));
        error.help = Some(self.names.suggest(name, false, wanted).map_or_else(
            || "declare it in the program's head, before its use".into(),
            |near| format!("did you mean `{near}`?"),
        ));
        self.fail(error)
    }
}
