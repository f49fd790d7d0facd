//! A fused program under construction.
//!
//! It knows each expression's type and form. What is bound to it is in [`bound`], arithmetic on indices by their forms in
//! [`digits`], and the finished kernel in [`finish`].

mod bound;
mod digits;
mod finish;

use std::collections::{BTreeMap, HashMap};

use vyre_foundation::graph::{GraphValueId, ParamSource};
use vyre_foundation::ir::{Arena, BufferId, Expr, ExprId, Node, NodeId, ParamId, RegionId};
use vyre_spec::ops::BinaryOp;
use vyre_spec::{BuiltIn, DataType, Value};

use super::context::Context;
use super::form::{Form, Leaves};
use super::plan::Use;
use super::quantity::Quantity;

/// The program, the values of its buffers and the sources of its parameters.
pub(crate) struct Target<'c> {
    pub(crate) cx: &'c mut Context,
    pub(crate) arena: Arena,
    types: Vec<DataType>,
    forms: Vec<Option<Form>>,
    pub(crate) leaves: Leaves,
    uses: Vec<Use>,
    params: Vec<ParamSource>,
    /// Names that are taken, with the number of the last that was made of each.
    names: BTreeMap<String, u32>,
    /// Parameters by source, type and whether they are specialised.
    known_params: HashMap<(ParamSource, DataType, bool), ParamId>,
    /// The buffer that has each value at first, and the one that gets it.
    reads: BTreeMap<GraphValueId, BufferId>,
    writes: BTreeMap<GraphValueId, BufferId>,
    /// A buffer of each length.
    lengths: BTreeMap<Quantity, BufferId>,
}

impl<'c> Target<'c> {
    /// An empty program with a launch of this kind, over these extents of the graph.
    pub(crate) fn new(cx: &'c mut Context, name: &str) -> Self {
        Self {
            cx,
            arena: Arena::new(name),
            types: Vec::new(),
            forms: Vec::new(),
            leaves: Leaves::default(),
            uses: Vec::new(),
            params: Vec::new(),
            names: BTreeMap::new(),
            known_params: HashMap::new(),
            reads: BTreeMap::new(),
            writes: BTreeMap::new(),
            lengths: BTreeMap::new(),
        }
    }

    /// `name`, or with a number if it is taken.
    pub(crate) fn fresh(&mut self, name: &str) -> String {
        let Some(&last) = self.names.get(name) else {
            self.names.insert(name.to_owned(), 1);
            return name.to_owned();
        };
        let mut number = last;
        let free = loop {
            number += 1;
            let numbered = format!("{name}_{number}");
            if !self.names.contains_key(&numbered) {
                break numbered;
            }
        };
        self.names.insert(name.to_owned(), number);
        self.names.insert(free.clone(), 1);
        free
    }

    /// An expression, of this type.
    pub(crate) fn make(&mut self, expr: Expr, ty: DataType) -> ExprId {
        let id = self.arena.expr(expr);
        if id.index() == self.types.len() {
            self.types.push(ty);
            let forms = &self.forms;
            let form =
                self.leaves.form(self.cx, id, &expr, ty, |id| forms.get(id.index()).cloned().flatten());
            self.forms.push(form);
        }
        id
    }

    pub(crate) fn type_of(&self, id: ExprId) -> DataType {
        self.types.get(id.index()).copied().unwrap_or(DataType::U32)
    }

    /// The form of an expression, if it is a `u32`.
    pub(crate) fn form(&self, id: ExprId) -> Option<&Form> {
        self.forms.get(id.index()).and_then(Option::as_ref)
    }

    pub(crate) fn literal(&mut self, value: Value) -> ExprId {
        self.make(Expr::Literal(value), value.ty())
    }

    pub(crate) fn number(&mut self, n: u32) -> ExprId {
        self.literal(Value::new(n))
    }

    pub(crate) fn built_in(&mut self, built_in: BuiltIn) -> ExprId {
        self.make(Expr::BuiltIn(built_in), DataType::U32)
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let (first, second) = (self.type_of(a), self.type_of(b));
        // What the rule refuses, the checker does, too.
        let ty = op.rule().result(first, second).unwrap_or(first);
        self.make(Expr::Binary(op, a, b), ty)
    }

    /// Appends a node and gives its result.
    pub(crate) fn push_result(&mut self, at: RegionId, node: Node, ty: DataType) -> ExprId {
        let id: NodeId = self.arena.push(at, node);
        self.make(Expr::Result(id), ty)
    }

    /// Declares that the variable of a loop of `u32` stays below an expression.
    pub(crate) fn bound_loop(&mut self, node: NodeId, end: ExprId) -> ExprId {
        let ty = self.type_of(end);
        let variable = self.arena.expr(Expr::LoopVar(node));
        let bound = self.form(end).and_then(Form::as_constant);
        if let (Some(bound), DataType::U32) = (bound, ty) {
            self.leaves.bounds.insert(variable, bound);
        }
        self.make(Expr::LoopVar(node), ty)
    }
}
