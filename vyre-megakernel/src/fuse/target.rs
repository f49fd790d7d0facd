//! A fused program under construction.

use std::collections::{BTreeMap, HashMap};

use vyre_foundation::check;
use vyre_foundation::graph::{DimId, GraphNodeId, GraphValueId, ParamSource};
use vyre_foundation::ir::{
    Arena, Array, Buffer, BufferId, Count, Expr, ExprId, Extent, ExtentId, Launch, Node, NodeId, Param,
    ParamId, Place, RegionId,
};
use vyre_foundation::opt::PASSES;
use vyre_spec::ops::BinaryOp;
use vyre_spec::{Access, BuiltIn, DataType, Value};

use super::context::Context;
use super::form::{Component, Form, Leaves, Term};
use super::kernel::{Bound, Kernel, Role};
use super::plan::Use;
use super::quantity::{Atom, Quantity};
use super::reject::RejectReason;
use super::splice::{Plain, Splice, declare};

/// Statements of a fused program, at most: more take long to compile, and spill registers.
const MOST_NODES: u64 = 1024;
const MOST_EXPRESSIONS: u64 = 4096;

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
        let compares = matches!(
            op,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
        );
        let ty = if compares { DataType::Bool } else { self.type_of(a) };
        self.make(Expr::Binary(op, a, b), ty)
    }

    /// Runs what is put into the region that this gives where one `u32` is below another.
    pub(crate) fn where_below(&mut self, at: RegionId, index: ExprId, limit: ExprId) -> RegionId {
        let condition = self.binary(BinaryOp::Lt, index, limit);
        let (then, otherwise) = (self.arena.region(), self.arena.region());
        self.arena.push(at, Node::If { condition, then, otherwise });
        then
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

    /// A buffer from which a value is loaded.
    pub(crate) fn read(&mut self, value: GraphValueId, name: &str) -> BufferId {
        if let Some(&buffer) = self.reads.get(&value) {
            return buffer;
        }
        let one = Use { input: Some(value), output: None };
        let buffer = self.buffer(one, value, name, Access::ReadOnly);
        self.reads.insert(value, buffer);
        buffer
    }

    /// A buffer to which a value is stored.
    pub(crate) fn write(&mut self, value: GraphValueId, name: &str) -> BufferId {
        if let Some(&buffer) = self.writes.get(&value) {
            return buffer;
        }
        let one = Use { input: None, output: Some(value) };
        let buffer = self.buffer(one, value, name, Access::WriteOnly);
        self.writes.insert(value, buffer);
        buffer
    }

    /// A buffer that is changed in place.
    pub(crate) fn change(&mut self, one: Use, name: &str) -> Result<BufferId, RejectReason> {
        let (Some(input), Some(output)) = (one.input, one.output) else { return Err(RejectReason::Extent) };
        if self.reads.contains_key(&input) {
            return Err(RejectReason::InPlace(input));
        }
        let buffer = self.buffer(one, input, name, Access::ReadWrite);
        self.reads.insert(input, buffer);
        self.writes.insert(output, buffer);
        Ok(buffer)
    }

    /// The buffer that a value is loaded from.
    pub(crate) fn place_read(&self, value: GraphValueId) -> Option<BufferId> {
        self.reads.get(&value).copied()
    }

    /// The buffer that a value is stored to.
    pub(crate) fn place_written(&self, value: GraphValueId) -> Option<BufferId> {
        self.writes.get(&value).copied()
    }

    /// Whether the buffer that has the value is changed in place.
    pub(crate) fn is_changed(&self, value: GraphValueId) -> bool {
        let buffer = self.reads.get(&value).and_then(|buffer| self.uses.get(buffer.index()));
        buffer.is_some_and(|one| one.output.is_some())
    }

    /// The number of a value's elements.
    pub(crate) fn length(&mut self, value: GraphValueId) -> Result<ExprId, RejectReason> {
        let known = self.cx.value(value).clone();
        if let Some(&buffer) = self.reads.get(&value).or_else(|| self.writes.get(&value)) {
            return Ok(self.make(Expr::Length(buffer), DataType::U32));
        }
        if known.length.as_literal().is_some() || self.lengths.contains_key(&known.length) {
            return self.quantity(&known.length);
        }
        let param = self.dim_param(known.elements);
        Ok(self.make(Expr::Param(param), DataType::U32))
    }

    /// An expression, or a simpler one that has its value: a quotient or remainder of digits is some of them.
    pub(crate) fn simplified(&mut self, expr: Expr, ty: DataType) -> ExprId {
        if let Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) = expr {
            let by = self.form(b).and_then(Form::as_constant);
            let by = by.filter(|_| ty == DataType::U32);
            if let Some((high, low)) = by.and_then(|by| self.parts(a, &by)) {
                if let Ok(simple) = self.sum(if op == BinaryOp::Div { &high } else { &low }) {
                    return simple;
                }
            }
        }
        self.make(expr, ty)
    }

    fn buffer(&mut self, one: Use, value: GraphValueId, name: &str, access: Access) -> BufferId {
        let known = self.cx.value(value).clone();
        let is_first = !self.lengths.contains_key(&known.length);
        let count = if is_first && access.is_input() && known.length.as_literal().is_none() {
            // The bytes that are bound say it, which are checked against the value's shape.
            Count::Bytes
        } else {
            match self.extent(&known.length) {
                Ok(extent) => Count::Extent(extent),
                Err(_) => {
                    let param = self.dim_param(known.elements);
                    Count::Extent(self.arena.extent(Extent::Param(param)))
                }
            }
        };
        let name = self.fresh(name);
        let buffer =
            self.arena.buffer(Buffer { name, element: known.element, access, count, coherent: false });
        self.uses.push(one);
        self.leaves.lengths.push(known.length.clone());
        self.lengths.entry(known.length).or_insert(buffer);
        buffer
    }

    /// An array of workgroups.
    pub(crate) fn shared(&mut self, name: &str, element: DataType, len: u32) -> Place {
        let name = self.fresh(name);
        Place::Shared(self.arena.shared(Array { name, element, len }))
    }

    /// A parameter of this source, or the constant that it is.
    pub(crate) fn param(&mut self, source: ParamSource, param: &Param) -> ExprId {
        if let Some(value) = self.cx.constant(source, param.ty) {
            return self.literal(value);
        }
        let id = self.declare(source, &param.name, param.ty, param.specialize);
        self.make(Expr::Param(id), param.ty)
    }

    fn declare(&mut self, source: ParamSource, name: &str, ty: DataType, specialize: bool) -> ParamId {
        if let Some(&known) = self.known_params.get(&(source, ty, specialize)) {
            return known;
        }
        let name = self.fresh(name);
        self.params.push(source);
        let quantity = self.cx.param(source, ty);
        self.leaves.params.push(quantity);
        let param = self.arena.param(Param { name, ty, specialize });
        self.known_params.insert((source, ty, specialize), param);
        param
    }

    /// A `u32` parameter that is a dimension.
    fn dim_param(&mut self, dim: DimId) -> ParamId {
        let name = self.cx.dim_name(dim);
        self.declare(ParamSource::Dim(dim), &name, DataType::U32, false)
    }

    /// A quantity as an extent of the host.
    pub(crate) fn extent(&mut self, quantity: &Quantity) -> Result<ExtentId, RejectReason> {
        if let Some(n) = quantity.as_literal() {
            return Ok(self.arena.extent(Extent::Literal(n)));
        }
        if let Some(&buffer) = self.lengths.get(quantity) {
            return Ok(self.arena.extent(Extent::Length(buffer)));
        }
        if let Some(dim) = self.cx.dim_of(quantity) {
            let param = self.dim_param(dim);
            return Ok(self.arena.extent(Extent::Param(param)));
        }
        let mut product = self.arena.extent(Extent::Literal(quantity.factor()));
        for &atom in quantity.atoms() {
            let Some(&Atom::Symbol(dim)) = self.cx.quantities.get(atom) else {
                return Err(RejectReason::Extent);
            };
            let param = self.dim_param(dim);
            let factor = self.arena.extent(Extent::Param(param));
            product = self.arena.extent(Extent::Mul(product, factor));
        }
        Ok(product)
    }

    /// A quantity that is below 2^32 as an expression.
    pub(crate) fn quantity(&mut self, quantity: &Quantity) -> Result<ExprId, RejectReason> {
        if let Some(n) = quantity.as_literal() {
            let n = u32::try_from(n).map_err(|_| RejectReason::Extent)?;
            return Ok(self.number(n));
        }
        if let Some(&buffer) = self.lengths.get(quantity) {
            return Ok(self.make(Expr::Length(buffer), DataType::U32));
        }
        if let Some(dim) = self.cx.dim_of(quantity) {
            let param = self.dim_param(dim);
            return Ok(self.make(Expr::Param(param), DataType::U32));
        }
        let factor = u32::try_from(quantity.factor()).map_err(|_| RejectReason::Extent)?;
        let mut product = self.number(factor);
        for &atom in quantity.atoms() {
            let Some(&Atom::Symbol(dim)) = self.cx.quantities.get(atom) else {
                return Err(RejectReason::Extent);
            };
            let param = self.dim_param(dim);
            let param = self.make(Expr::Param(param), DataType::U32);
            product = if self.form(product).and_then(Form::as_constant).is_some_and(|one| one.is_one()) {
                param
            } else {
                self.binary(BinaryOp::Mul, product, param)
            };
        }
        Ok(product)
    }

    /// Sets the launch of a kernel, with its extents.
    pub(crate) fn launch(&mut self, kernel: &Kernel) -> Result<(), RejectReason> {
        let extents = kernel.extent(self.cx);
        self.leaves.extents = extents.clone();
        self.leaves.size = kernel.program.launch().workgroup_size();
        let launch = match (kernel.program.launch(), &extents) {
            (Launch::Domain { axes, .. }, Some(extents)) => {
                Launch::Domain { extent: self.extents(extents)?, axes }
            }
            (Launch::Workgroups { size, .. }, Some(extents)) => {
                Launch::Workgroups { size, count: self.extents(extents)? }
            }
            (Launch::Indirect { size, counts }, _) => {
                let value = kernel.values(counts).input.ok_or(RejectReason::Extent)?;
                let counts = self.reads.get(&value).copied().ok_or(RejectReason::Extent)?;
                Launch::Indirect { size, counts }
            }
            _ => return Err(RejectReason::Extent),
        };
        self.arena.set_launch(launch);
        Ok(())
    }

    fn extents(&mut self, extents: &[Quantity; 3]) -> Result<[ExtentId; 3], RejectReason> {
        let [x, y, z] = extents;
        Ok([self.extent(x)?, self.extent(y)?, self.extent(z)?])
    }

    /// A quotient and remainder by a quantity of what is below 2^32; simple where the form shows what they are.
    pub(crate) fn quotient(&mut self, a: ExprId, by: &Quantity) -> Result<ExprId, RejectReason> {
        if by.is_one() {
            return Ok(a);
        }
        if let Some((high, _)) = self.parts(a, by) {
            return self.sum(&high);
        }
        let by = self.quantity(by)?;
        Ok(self.binary(BinaryOp::Div, a, by))
    }

    /// The remainder.
    pub(crate) fn remainder(&mut self, a: ExprId, by: &Quantity) -> Result<ExprId, RejectReason> {
        if by.is_one() {
            return Ok(self.number(0));
        }
        if let Some((_, low)) = self.parts(a, by) {
            return self.sum(&low);
        }
        let by = self.quantity(by)?;
        Ok(self.binary(BinaryOp::Rem, a, by))
    }

    /// The digits of a sum above and below a place: `a` is `by` × the first + the second, which is below `by`.
    fn parts(&self, a: ExprId, by: &Quantity) -> Option<(Form, Form)> {
        let (digits, total) = self.form(a)?.digits(&self.leaves)?;
        // Without wrapping: all digits together count up to some value's length.
        if !self.cx.is_length(&total?) {
            return None;
        }
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let mut place = Quantity::one();
        for (component, stride) in digits {
            if high.is_empty() && place != *by {
                place = place.times(&self.leaves.bound(component)?)?;
                low.push((component, stride));
            } else {
                high.push((component, stride.divided_by(by)?));
            }
        }
        (place == *by).then_some((Form(high), Form(low)))
    }

    /// The digit of an index that has terms of these strides; `None` if it is not told apart from others.
    pub(crate) fn digit(
        &mut self,
        index: ExprId,
        terms: &[Term],
        stride: &Quantity,
    ) -> Result<Option<ExprId>, RejectReason> {
        let form = self.form(index).cloned().unwrap_or_default();
        let strides: Vec<&Quantity> = terms.iter().map(|(_, stride)| stride).collect();
        let own: Vec<Term> = form.0.into_iter().filter(|(_, stride)| strides.contains(&stride)).collect();
        if own.len() != terms.len() {
            return Ok(None);
        }
        let divided = |(component, of): &Term| Some((*component, of.divided_by(stride)?));
        match own.iter().map(divided).collect::<Option<Vec<Term>>>() {
            Some(digit) => self.sum(&Form(digit)).map(Some),
            None => Ok(None),
        }
    }

    /// The expression that a form is of.
    pub(crate) fn sum(&mut self, form: &Form) -> Result<ExprId, RejectReason> {
        let mut sum = None;
        for (component, stride) in &form.0 {
            let value = match *component {
                Component::One => self.number(1),
                Component::BuiltIn(built_in) => self.built_in(built_in),
                Component::Expr(id) => id,
            };
            let term = if stride.is_one() {
                value
            } else {
                let stride = self.quantity(stride)?;
                self.binary(BinaryOp::Mul, value, stride)
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.binary(BinaryOp::Add, sum, term),
            });
        }
        Ok(sum.unwrap_or_else(|| self.number(0)))
    }

    /// Whether an index is sure to be below a length.
    pub(crate) fn is_below(&self, index: ExprId, length: &Quantity) -> bool {
        let Some(form) = self.form(index) else { return false };
        if let (Some(n), Some(limit)) = (form.as_constant().and_then(|n| n.as_literal()), length.as_literal())
        {
            return n < limit;
        }
        let Some((_, Some(total))) = form.digits(&self.leaves) else { return false };
        total == *length && self.cx.is_length(length) && !form.0.is_empty()
    }

    /// The kernel, checked, without what it does not need.
    pub(crate) fn finish(
        self,
        counts: Option<[DimId; 3]>,
        extents: Option<[DimId; 3]>,
        nodes: Vec<GraphNodeId>,
    ) -> Result<Kernel, RejectReason> {
        let refused = |why: String| RejectReason::Refused(why);
        let Self { cx, arena, uses, params, .. } = self;
        let (program, _) = arena.finish().map_err(|error| refused(error.to_string()))?;
        let sizes = [
            ("the number of statements", program.nodes().len() as u64, MOST_NODES),
            ("the number of expressions", program.exprs().len() as u64, MOST_EXPRESSIONS),
        ];
        for (what, value, limit) in sizes {
            if value > limit {
                return Err(RejectReason::Limit { what, value, limit });
            }
        }
        let mut program = check::check(program)
            .map_err(|found| refused(found.first().map_or_else(String::new, ToString::to_string)))?;
        for pass in PASSES.iter().filter(|pass| matches!(pass.name, "cse" | "dce")) {
            program = pass.run(&program);
        }
        without_unused(cx, Kernel::new(program, Bound { uses, params, extents, counts, nodes }))
    }
}

/// The kernel without the inputs that dead code would have read.
fn without_unused(cx: &mut Context, kernel: Kernel) -> Result<Kernel, RejectReason> {
    let counts = match kernel.program.launch() {
        Launch::Indirect { counts, .. } => Some(counts),
        _ => None,
    };
    let is_unused = |buffer: BufferId| {
        let is_loaded = kernel.program.facts().usage(Place::Buffer(buffer)).loaded;
        kernel.role(buffer) == Role::Read && !is_loaded && counts != Some(buffer)
    };
    let unused: Vec<GraphValueId> = kernel
        .program
        .buffer_ids()
        .filter(|&buffer| is_unused(buffer))
        .filter_map(|b| kernel.values(b).input)
        .collect();
    if unused.is_empty() {
        return Ok(kernel);
    }
    let mut target = Target::new(cx, kernel.program.name());
    declare(&mut target, &[&kernel], |_, value| unused.contains(&value), |_, _| false)?;
    target.launch(&kernel)?;
    Splice::new(&mut target, &kernel).copy(&mut target, RegionId::new(0), &mut Plain)?;
    let Target { arena, uses, params, .. } = target;
    let refused = |why: String| RejectReason::Refused(why);
    let (program, _) = arena.finish().map_err(|error| refused(error.to_string()))?;
    let program = check::check(program)
        .map_err(|found| refused(found.first().map_or_else(String::new, ToString::to_string)))?;
    let Kernel { extents, counts, nodes, .. } = kernel;
    Ok(Kernel::new(program, Bound { uses, params, extents, counts, nodes }))
}
