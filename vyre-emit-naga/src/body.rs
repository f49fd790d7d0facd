//! Instructions: values become SSA expressions, effects become statements.
//!
//! naga evaluates an expression at the `Emit` statement that covers it, except for literals, variables and
//! arguments, which are covered by none. `Body` appends expressions, keeps the range that is still to be
//! covered, and closes it before each statement, so that loads and stores keep their order.

use naga::{
    BuiltIn, Expression, Function, FunctionArgument, Handle, Literal, LocalVariable, Module, Scalar,
    ScalarKind, Span, Statement, Type, UnaryOperator,
};
use vyre_lower::kernel::{BlockId, Inst, InstId, KernelDescriptor, Op, Place};
use vyre_spec::ops::CastOp;
use vyre_spec::{Axis, DataType, Value};

use crate::bindings::Globals;
use crate::ops::{self, Native, NativeCast};
use crate::{EmitError, types};

/// The longest chain of expressions that are left without a name. naga's text writers recurse into unnamed
/// operands, so this bounds their stack at any depth of a program's expressions.
const MAX_UNNAMED_DEPTH: u16 = 32;

/// A value: its expression, and how deep a chain of unnamed expressions ends there.
#[derive(Clone, Copy)]
struct Bound {
    expression: Handle<Expression>,
    depth: u16,
}

/// The function being built.
pub(crate) struct Body<'m> {
    pub(crate) module: &'m mut Module,
    pub(crate) descriptor: &'m KernelDescriptor,
    globals: &'m Globals,
    function: Function,
    /// The statements of the block being emitted.
    pub(crate) block: naga::Block,
    /// Where the expressions that no `Emit` covers yet begin.
    pending: usize,
    values: Vec<Option<Bound>>,
    /// Expressions of globals, locals, privates and built-in arguments: each is made once.
    binding_pointers: Vec<Handle<Expression>>,
    shared_pointers: Vec<Handle<Expression>>,
    private_pointers: Vec<Handle<Expression>>,
    local_pointers: Vec<Handle<Expression>>,
    /// Of each tile; `None` of a shape that naga has not.
    tile_pointers: Vec<Option<Handle<Expression>>>,
    launch_pointer: Option<Handle<Expression>>,
    arguments: Vec<(BuiltIn, Handle<Expression>)>,
}

impl<'m> Body<'m> {
    pub(crate) fn new(
        module: &'m mut Module,
        descriptor: &'m KernelDescriptor,
        globals: &'m Globals,
    ) -> Self {
        let mut body = Self {
            module,
            descriptor,
            globals,
            function: Function::default(),
            block: naga::Block::new(),
            pending: 0,
            values: vec![None; descriptor.insts.len()],
            binding_pointers: Vec::new(),
            shared_pointers: Vec::new(),
            private_pointers: Vec::new(),
            local_pointers: Vec::new(),
            tile_pointers: Vec::new(),
            launch_pointer: None,
            arguments: Vec::new(),
        };
        body.declare();
        body
    }

    /// Declares every variable, and the arguments that some instruction reads.
    fn declare(&mut self) {
        let globals = self.globals;
        let pointer = |function: &mut Function, global: &Handle<_>| {
            function.expressions.append(Expression::GlobalVariable(*global), Span::UNDEFINED)
        };
        self.binding_pointers = globals.bindings.iter().map(|g| pointer(&mut self.function, g)).collect();
        self.shared_pointers = globals.shared.iter().map(|g| pointer(&mut self.function, g)).collect();
        self.launch_pointer = globals.launch.as_ref().map(|g| pointer(&mut self.function, g));
        for (index, &ty) in self.descriptor.locals.iter().enumerate() {
            let ty = types::value(self.module, ty);
            let local = self.local(format!("local_{index}"), ty, None);
            self.local_pointers.push(local);
        }
        for array in &self.descriptor.privates {
            let ty = types::array(self.module, array.element, array.atomic, Some(array.len));
            let zero = Expression::ZeroValue(ty);
            let init = array.zero.then(|| self.function.expressions.append(zero, Span::UNDEFINED));
            let local = self.local(array.name.clone(), ty, init);
            self.private_pointers.push(local);
        }
        for (index, &tile) in self.descriptor.tiles.iter().enumerate() {
            let pointer = types::tile(self.module, tile).map(|ty| {
                let zero = self.function.expressions.append(Expression::ZeroValue(ty), Span::UNDEFINED);
                self.local(format!("tile_{index}"), ty, Some(zero))
            });
            self.tile_pointers.push(pointer);
        }
        for inst in &self.descriptor.insts {
            let (builtin, name) = match inst.op {
                Op::WorkgroupId(_) => (BuiltIn::WorkGroupId, "workgroup_id"),
                Op::LocalId(_) => (BuiltIn::LocalInvocationId, "local_id"),
                Op::LocalIndex => (BuiltIn::LocalInvocationIndex, "local_index"),
                Op::SubgroupLane => (BuiltIn::SubgroupInvocationId, "subgroup_lane"),
                Op::SubgroupId => (BuiltIn::SubgroupId, "subgroup_id"),
                Op::SubgroupSize => (BuiltIn::SubgroupSize, "subgroup_size"),
                _ => continue,
            };
            if self.arguments.iter().all(|(known, _)| *known != builtin) {
                self.argument(builtin, name);
            }
        }
        self.pending = self.function.expressions.len();
    }

    fn argument(&mut self, builtin: BuiltIn, name: &str) {
        let vector = matches!(builtin, BuiltIn::WorkGroupId | BuiltIn::LocalInvocationId);
        let ty =
            if vector { types::id_vector(self.module) } else { types::value(self.module, DataType::U32) };
        let index = self.arguments.len() as u32;
        self.function.arguments.push(FunctionArgument {
            name: Some(name.to_owned()),
            ty,
            binding: Some(naga::Binding::BuiltIn(builtin)),
        });
        let expression =
            self.function.expressions.append(Expression::FunctionArgument(index), Span::UNDEFINED);
        self.arguments.push((builtin, expression));
    }

    fn local(
        &mut self,
        name: String,
        ty: Handle<Type>,
        init: Option<Handle<Expression>>,
    ) -> Handle<Expression> {
        let variable = self
            .function
            .local_variables
            .append(LocalVariable { name: Some(name), ty, init }, Span::UNDEFINED);
        self.function.expressions.append(Expression::LocalVariable(variable), Span::UNDEFINED)
    }

    /// The finished function with its outermost block.
    pub(crate) fn finish(mut self, block: naga::Block) -> Function {
        self.function.body = block;
        self.function
    }

    /// Covers the pending expressions with an `Emit`.
    pub(crate) fn flush(&mut self) {
        if self.function.expressions.len() > self.pending {
            let range = self.function.expressions.range_from(self.pending);
            self.push(Statement::Emit(range));
        }
        self.pending = self.function.expressions.len();
    }

    /// Appends an expression that an `Emit` covers.
    pub(crate) fn append(&mut self, expression: Expression) -> Handle<Expression> {
        self.function.expressions.append(expression, Span::UNDEFINED)
    }

    /// Appends an expression that no `Emit` may cover: a literal, or a statement's result.
    pub(crate) fn append_bare(&mut self, expression: Expression) -> Handle<Expression> {
        self.flush();
        let handle = self.append(expression);
        self.pending = self.function.expressions.len();
        handle
    }

    /// Gives an expression a name, which text writers declare it by.
    fn name(&mut self, expression: Handle<Expression>) {
        let name = format!("v{}", self.function.named_expressions.len());
        self.function.named_expressions.insert(expression, name);
    }

    pub(crate) fn missing(&self, what: &'static str, index: u32) -> EmitError {
        EmitError::Missing { kernel: self.descriptor.name.clone(), what, index }
    }

    pub(crate) fn incomplete(&self, block: BlockId, what: &'static str) -> EmitError {
        EmitError::Incomplete { kernel: self.descriptor.name.clone(), block, what }
    }

    /// The expression of an instruction's value.
    pub(crate) fn value(&self, id: InstId) -> Result<Handle<Expression>, EmitError> {
        self.bound(id).map(|bound| bound.expression)
    }

    fn bound(&self, id: InstId) -> Result<Bound, EmitError> {
        let value = self.values.get(id.index()).copied().flatten();
        value.ok_or_else(|| EmitError::Undefined { kernel: self.descriptor.name.clone(), value: id })
    }

    /// Records the expression of an instruction's value, which writers evaluate where it stands.
    pub(crate) fn bind(&mut self, id: InstId, expression: Handle<Expression>) {
        self.bind_at(id, expression, 0);
    }

    fn bind_at(&mut self, id: InstId, expression: Handle<Expression>, depth: u16) {
        if let Some(value) = self.values.get_mut(id.index()) {
            *value = Some(Bound { expression, depth });
        }
    }

    /// Appends a pure expression over `operands` and records it, named if the chain has become long.
    fn pure(&mut self, id: InstId, operands: &[Bound], expression: Expression) {
        let handle = self.append(expression);
        let mut depth = 1 + operands.iter().map(|o| o.depth).max().unwrap_or(0);
        if depth > MAX_UNNAMED_DEPTH {
            self.name(handle);
            depth = 0;
        }
        self.bind_at(id, handle, depth);
    }

    /// Emits an instruction that is not control flow.
    pub(crate) fn inst(&mut self, block: BlockId, id: InstId, inst: &Inst) -> Result<(), EmitError> {
        let result = |body: &Self| inst.ty.ok_or_else(|| body.incomplete(block, "a result type"));
        match inst.op {
            Op::Constant(value) => {
                let expression = self.constant(value);
                self.bind(id, expression);
            }
            Op::Launch(word) => {
                let ty = result(self)?;
                let expression = self.launch_word(word, ty)?;
                self.bind(id, expression);
            }
            Op::WorkgroupId(axis) => self.builtin(id, BuiltIn::WorkGroupId, Some(axis))?,
            Op::LocalId(axis) => self.builtin(id, BuiltIn::LocalInvocationId, Some(axis))?,
            Op::LocalIndex => self.builtin(id, BuiltIn::LocalInvocationIndex, None)?,
            Op::SubgroupLane => self.builtin(id, BuiltIn::SubgroupInvocationId, None)?,
            Op::SubgroupId => self.builtin(id, BuiltIn::SubgroupId, None)?,
            Op::SubgroupSize => self.builtin(id, BuiltIn::SubgroupSize, None)?,
            Op::Unary(op, a) => {
                let operands = [self.bound(a)?];
                self.op(id, op.name(), ops::unary(op), self.type_of(a), &operands)?;
            }
            Op::Binary(op, a, b) => {
                let operands = [self.bound(a)?, self.bound(b)?];
                self.op(id, op.name(), ops::binary(op), self.type_of(a), &operands)?;
            }
            Op::Ternary(op, a, b, c) => {
                let operands = [self.bound(a)?, self.bound(b)?, self.bound(c)?];
                self.op(id, op.name(), ops::ternary(op), self.type_of(b), &operands)?;
            }
            Op::Cast(op, a) => {
                let ty = result(self)?;
                self.cast(id, op, a, ty)?;
            }
            Op::Load { place, index, .. } => {
                let pointer = self.element(place, index)?;
                let expression = self.append(Expression::Load { pointer });
                let expression = self.widened(place, expression)?;
                self.bind(id, expression);
            }
            Op::Store { place, index, value, .. } => {
                let value = self.value(value)?;
                let value = self.narrowed(place, value)?;
                let pointer = self.element(place, index)?;
                self.store(pointer, value);
            }
            Op::LoadVector { place, index, .. } => {
                let index = self.value(index)?;
                let base = self.array(place)?;
                let pointer = self.append(Expression::Access { base, index });
                let expression = self.append(Expression::Load { pointer });
                self.bind(id, expression);
            }
            Op::Part { vector, part } => {
                let base = self.value(vector)?;
                let expression = self.append(Expression::AccessIndex { base, index: part });
                let expression = match self.descriptor.insts.get(vector.index()).map(|inst| inst.op) {
                    Some(Op::LoadVector { place, .. }) => self.widened(place, expression)?,
                    _ => expression,
                };
                self.bind(id, expression);
            }
            Op::StoreVector { place, index, values, width, .. } => {
                let value = match self.whole(place, values)? {
                    Some(vector) => self.value(vector)?,
                    None => {
                        let mut components = Vec::with_capacity(values.len());
                        for &value in values.iter().take(width as usize) {
                            let value = self.value(value)?;
                            components.push(self.narrowed(place, value)?);
                        }
                        let element = self.element_type(place)?;
                        let ty = types::vector(self.module, element, width);
                        self.append(Expression::Compose { ty, components })
                    }
                };
                let index = self.value(index)?;
                let base = self.array(place)?;
                let pointer = self.append(Expression::Access { base, index });
                self.store(pointer, value);
            }
            Op::UnpackHalf { word, part } => {
                let operand = self.bound(word)?;
                let (fun, arg) = (naga::MathFunction::Unpack2x16float, operand.expression);
                let halves = self.append(Expression::Math { fun, arg, arg1: None, arg2: None, arg3: None });
                self.pure(id, &[operand], Expression::AccessIndex { base: halves, index: part });
            }
            Op::PackHalves(a, b) => {
                let operands = [self.bound(a)?, self.bound(b)?];
                let ty = types::vector(self.module, DataType::F32, 2);
                let components = operands.iter().map(|operand| operand.expression).collect();
                let arg = self.append(Expression::Compose { ty, components });
                let fun = naga::MathFunction::Pack2x16float;
                let packed = Expression::Math { fun, arg, arg1: None, arg2: None, arg3: None };
                self.pure(id, &operands, packed);
            }
            Op::Get(local) => {
                let pointer = self.local_pointer(local.0)?;
                let expression = self.append(Expression::Load { pointer });
                self.bind(id, expression);
            }
            Op::Set(local, value) => {
                let value = self.value(value)?;
                let pointer = self.local_pointer(local.0)?;
                self.store(pointer, value);
            }
            Op::Atomic { op, place, index, value, expected, .. } => {
                let value = self.value(value)?;
                let pointer = self.element(place, index)?;
                let element = self.element_type(place)?;
                let expected = expected.map(|e| self.value(e)).transpose()?;
                self.atomic(block, id, op, element, pointer, value, expected)?;
            }
            Op::Barrier { storage, workgroup } | Op::Fence { storage, workgroup } => {
                let mut flags = naga::Barrier::empty();
                flags.set(naga::Barrier::STORAGE, storage);
                flags.set(naga::Barrier::WORK_GROUP, workgroup || !storage);
                self.flush();
                let waits = matches!(inst.op, Op::Barrier { .. });
                self.push(if waits {
                    Statement::ControlBarrier(flags)
                } else {
                    Statement::MemoryBarrier(flags)
                });
            }
            Op::Subgroup { op, value, lane } => {
                let ty = result(self)?;
                let value = self.value(value)?;
                let lane = lane.map(|l| self.value(l)).transpose()?;
                self.subgroup(block, id, op, ty, value, lane)?;
            }
            Op::Tile { tile, op } => self.tile(tile, op)?,
            // The walk over blocks took these.
            Op::If { .. } | Op::Loop { .. } | Op::Break | Op::Continue | Op::Return => {}
        }
        Ok(())
    }

    fn type_of(&self, id: InstId) -> Option<DataType> {
        self.descriptor.insts.get(id.index()).and_then(|inst| inst.ty)
    }

    /// A pure op; `ty` is the type of its operands, which decides between bitwise and logical forms.
    fn op(
        &mut self,
        id: InstId,
        name: &'static str,
        native: Native,
        ty: Option<DataType>,
        operands: &[Bound],
    ) -> Result<(), EmitError> {
        let refused = || EmitError::NotNative { kernel: self.descriptor.name.clone(), op: name };
        let logical = ty == Some(DataType::Bool);
        let unary = |op: UnaryOperator, a: &Bound| Expression::Unary { op, expr: a.expression };
        let binary =
            |op, a: &Bound, b: &Bound| Expression::Binary { op, left: a.expression, right: b.expression };
        let expression = match (native, operands) {
            (Native::Unary(op), [a]) => unary(op, a),
            (Native::Not(int, bool), [a]) => unary(if logical { bool } else { int }, a),
            (Native::Binary(op), [a, b]) => binary(op, a, b),
            (Native::Bits(int, bool), [a, b]) => binary(if logical { bool } else { int }, a, b),
            (Native::Select, [condition, accept, reject]) => Expression::Select {
                condition: condition.expression,
                accept: accept.expression,
                reject: reject.expression,
            },
            (Native::Math(fun), [arg, rest @ ..]) => Expression::Math {
                fun,
                arg: arg.expression,
                arg1: rest.first().map(|b| b.expression),
                arg2: rest.get(1).map(|c| c.expression),
                arg3: None,
            },
            _ => return Err(refused()),
        };
        self.pure(id, operands, expression);
        Ok(())
    }

    /// A constant.
    fn constant(&mut self, value: Value) -> Handle<Expression> {
        let bits = value.bits();
        let literal = match types::scalar(value.ty()) {
            Scalar { kind: ScalarKind::Bool, .. } => Literal::Bool(bits != 0),
            Scalar::U64 => Literal::U64(bits),
            Scalar::I64 => Literal::I64(bits as i64),
            Scalar::F64 => Literal::F64(f64::from_bits(bits)),
            Scalar::I32 => Literal::I32(bits as i32),
            Scalar::F32 => Literal::F32(f32::from_bits(bits as u32)),
            _ => Literal::U32(bits as u32),
        };
        self.append_bare(Expression::Literal(literal))
    }

    /// A cast.
    fn cast(&mut self, id: InstId, op: CastOp, a: InstId, ty: DataType) -> Result<(), EmitError> {
        let (kind, width) = types::kind(ty);
        let mut operand = self.bound(a)?;
        let convert = match ops::cast(op) {
            NativeCast::Convert => Some(width),
            NativeCast::Bitcast => {
                operand = self.not_constant(a, operand, ty);
                None
            }
        };
        self.pure(id, &[operand], Expression::As { expr: operand.expression, kind, convert });
        Ok(())
    }

    /// The operand of a bitcast to `ty`. WGSL refuses the cast of a constant's bits to an infinity or NaN,
    /// which is how these are written: such a constant gets a name, and is then no constant expression.
    fn not_constant(&mut self, a: InstId, operand: Bound, ty: DataType) -> Bound {
        let Some(Inst { op: Op::Constant(value), .. }) = self.descriptor.insts.get(a.index()) else {
            return operand;
        };
        if Value::from_bits(ty, value.bits()).is_finite() {
            return operand;
        }
        let (kind, width) = types::kind(value.ty());
        let itself = Expression::As { expr: operand.expression, kind, convert: Some(width) };
        let expression = self.append(itself);
        self.name(expression);
        Bound { expression, depth: 0 }
    }

    /// A word of launch data, as a value of type `ty`.
    fn launch_word(&mut self, word: u32, ty: DataType) -> Result<Handle<Expression>, EmitError> {
        let known = (word as usize) < self.descriptor.launch.fields.len();
        let base = self.launch_pointer.filter(|_| known).ok_or_else(|| self.missing("launch word", word))?;
        let pointer = self.append(Expression::AccessIndex { base, index: word });
        let loaded = self.append(Expression::Load { pointer });
        let (kind, width) = types::kind(ty);
        Ok(match ty {
            DataType::U32 => loaded,
            DataType::Bool => self.append(Expression::As { expr: loaded, kind, convert: Some(width) }),
            _ => self.append(Expression::As { expr: loaded, kind, convert: None }),
        })
    }

    fn builtin(&mut self, id: InstId, builtin: BuiltIn, axis: Option<Axis>) -> Result<(), EmitError> {
        let known = self.arguments.iter().find(|(known, _)| *known == builtin);
        let argument = known.map(|(_, e)| *e).ok_or_else(|| self.missing("built-in of instruction", id.0))?;
        let expression = match axis {
            Some(axis) => self.append(Expression::AccessIndex { base: argument, index: axis as u32 }),
            None => argument,
        };
        self.bind(id, expression);
        Ok(())
    }

    /// A pointer to a tile.
    pub(crate) fn tile_pointer(&self, tile: u32) -> Result<Handle<Expression>, EmitError> {
        let pointer = self.tile_pointers.get(tile as usize).copied().flatten();
        pointer.ok_or_else(|| self.missing("tile of a shape that naga has", tile))
    }

    fn local_pointer(&self, local: u32) -> Result<Handle<Expression>, EmitError> {
        self.local_pointers.get(local as usize).copied().ok_or_else(|| self.missing("local", local))
    }

    /// A pointer to an array.
    pub(crate) fn array(&self, place: Place) -> Result<Handle<Expression>, EmitError> {
        let (pointers, number, what) = match place {
            Place::Binding(number) => (&self.binding_pointers, number, "binding"),
            Place::Shared(number) => (&self.shared_pointers, number, "shared array"),
            Place::Private(number) => (&self.private_pointers, number, "private array"),
        };
        pointers.get(number as usize).copied().ok_or_else(|| self.missing(what, number))
    }

    /// Whether an array is one of vectors.
    pub(crate) fn in_vectors(&self, place: Place) -> bool {
        match place {
            Place::Binding(n) => self.descriptor.bindings.get(n as usize).is_some_and(|b| b.vector > 1),
            Place::Shared(n) => self.descriptor.shared.get(n as usize).is_some_and(|a| a.vector > 1),
            Place::Private(_) => false,
        }
    }

    /// A pointer to an element, also of a vector.
    fn element(&mut self, place: Place, index: InstId) -> Result<Handle<Expression>, EmitError> {
        let base = self.array(place)?;
        let index = self.value(index)?;
        let width = match place {
            Place::Binding(n) => self.descriptor.bindings.get(n as usize).map_or(1, |b| b.vector),
            Place::Shared(n) => self.descriptor.shared.get(n as usize).map_or(1, |a| a.vector),
            Place::Private(_) => 1,
        };
        if width <= 1 {
            return Ok(self.append(Expression::Access { base, index }));
        }
        let by = self.append_bare(Expression::Literal(Literal::U32(width.ilog2())));
        let rest = self.append_bare(Expression::Literal(Literal::U32(width - 1)));
        let which = |op, right| Expression::Binary { op, left: index, right };
        let vector = self.append(which(naga::BinaryOperator::ShiftRight, by));
        let part = self.append(which(naga::BinaryOperator::And, rest));
        let base = self.append(Expression::Access { base, index: vector });
        Ok(self.append(Expression::Access { base, index: part }))
    }

    pub(crate) fn element_type(&self, place: Place) -> Result<DataType, EmitError> {
        let d = self.descriptor;
        let (ty, number) = match place {
            Place::Binding(n) => (d.bindings.get(n as usize).map(|b| b.element), n),
            Place::Shared(n) => (d.shared.get(n as usize).map(|a| a.element), n),
            Place::Private(n) => (d.privates.get(n as usize).map(|a| a.element), n),
        };
        ty.ok_or_else(|| self.missing("array", number))
    }

    pub(crate) fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) {
        self.flush();
        self.push(Statement::Store { pointer, value });
    }

    /// Makes the member access to a struct result part of the next `Emit`.
    pub(crate) fn member(&mut self, base: Handle<Expression>, index: u32) -> Handle<Expression> {
        self.append(Expression::AccessIndex { base, index })
    }
}
