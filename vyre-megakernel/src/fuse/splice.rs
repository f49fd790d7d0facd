//! Copies a kernel's body into a program under construction, with other things in the place of its loads and stores.

use vyre_foundation::check::Checked;
use vyre_foundation::graph::GraphValueId;
use vyre_foundation::ir::{
    Array, BufferId, Expr, ExprId, Node, NodeId, Param, Place, Program, RegionId, VarId, Variable,
};
use vyre_spec::BuiltIn;

use super::kernel::{Kernel, Role};
use super::quantity::Quantity;
use super::reject::RejectReason;
use super::target::Target;

/// What becomes of a kernel's accesses to buffers.
pub(crate) trait Accesses {
    /// The value of a load; `None` for a load of the buffer that has the value.
    fn load(
        &mut self,
        _target: &mut Target<'_>,
        _at: RegionId,
        _buffer: BufferId,
        _index: ExprId,
    ) -> Result<Option<ExprId>, RejectReason> {
        Ok(None)
    }

    /// Whether the store is done with; if not, it becomes a store to the buffer that gets the value.
    fn store(
        &mut self,
        _target: &mut Target<'_>,
        _at: RegionId,
        _buffer: BufferId,
        _index: ExprId,
        _value: ExprId,
    ) -> Result<bool, RejectReason> {
        Ok(false)
    }
}

/// Accesses that stay as they are.
pub(crate) struct Plain;

impl Accesses for Plain {}

/// Declares the buffers of a kernel, but for inputs and outputs of which `without` says that they are not memory. Outputs come
/// after all inputs, so that their lengths can be said as those of inputs.
pub(crate) fn declare(
    target: &mut Target<'_>,
    kernels: &[&Kernel],
    without_input: impl Fn(usize, GraphValueId) -> bool,
    without_output: impl Fn(usize, GraphValueId) -> bool,
) -> Result<(), RejectReason> {
    for kernel in kernels {
        if kernel.program.buffers().iter().any(|buffer| buffer.coherent) {
            return Err(RejectReason::Tied("coherent buffers"));
        }
    }
    for in_place in [true, false] {
        for (k, kernel) in kernels.iter().enumerate() {
            for buffer in kernel.program.buffer_ids() {
                let (role, one) = (kernel.role(buffer), kernel.values(buffer));
                let name = &kernel.program.buffer(buffer).name;
                match (role, one.input) {
                    (Role::InPlace, _) if in_place => {
                        target.change(one, name)?;
                    }
                    (Role::Read | Role::Split, Some(value)) if !in_place && !without_input(k, value) => {
                        if target.is_changed(value) {
                            return Err(RejectReason::InPlace(value));
                        }
                        target.read(value, name);
                    }
                    _ => {}
                }
            }
        }
    }
    for (k, kernel) in kernels.iter().enumerate() {
        for buffer in kernel.program.buffer_ids() {
            let (role, one) = (kernel.role(buffer), kernel.values(buffer));
            if let (Role::Write | Role::Split, Some(value)) = (role, one.output) {
                if !without_output(k, value) {
                    target.write(value, &kernel.program.buffer(buffer).name);
                }
            }
        }
    }
    Ok(())
}

/// A copy of a kernel's body.
pub(crate) struct Splice<'k> {
    kernel: &'k Kernel,
    program: &'k Checked<Program>,
    params: Vec<ExprId>,
    shared: Vec<Place>,
    privates: Vec<Place>,
    vars: Vec<VarId>,
    built_ins: Vec<(BuiltIn, ExprId)>,
    /// The extents of the kernel's own domain, if it runs in another launch, whose values it must not read.
    extents: Option<[Quantity; 3]>,
    nodes: Vec<Option<NodeId>>,
    /// What stands for a node's result.
    results: Vec<Option<ExprId>>,
    exprs: Vec<Option<ExprId>>,
}

enum Task {
    Copy(RegionId, RegionId),
    /// The condition of a `while`, whose head has been copied.
    Condition(NodeId, NodeId, [RegionId; 2]),
}

impl<'k> Splice<'k> {
    pub(crate) fn new(target: &mut Target<'_>, kernel: &'k Kernel) -> Self {
        let program = &kernel.program;
        let params = program.params().iter().zip(&kernel.params);
        let params = params.map(|(param, &source): (&Param, _)| target.param(source, param)).collect();
        let shared =
            program.shared().iter().map(|a: &Array| target.shared(&a.name, a.element, a.len)).collect();
        let mut privates = Vec::with_capacity(program.privates().len());
        for array in program.privates() {
            let name = target.fresh(&array.name);
            privates.push(Place::Private(target.arena.private(Array { name, ..array.clone() })));
        }
        let mut vars = Vec::with_capacity(program.vars().len());
        for var in program.vars() {
            let name = target.fresh(&var.name);
            vars.push(target.arena.var(Variable { name, ty: var.ty }));
        }
        Self {
            kernel,
            program,
            params,
            shared,
            privates,
            vars,
            built_ins: Vec::new(),
            extents: None,
            nodes: vec![None; program.nodes().len()],
            results: vec![None; program.nodes().len()],
            exprs: vec![None; program.exprs().len()],
        }
    }

    /// Says that the body runs in another launch than its own, which is over a domain of these extents.
    pub(crate) fn elsewhere(&mut self, extents: &[Quantity; 3]) {
        self.extents = Some(extents.clone());
    }

    /// Makes an expression stand for a value of the launch.
    pub(crate) fn with(&mut self, built_in: BuiltIn, value: ExprId) {
        self.built_ins.push((built_in, value));
    }

    /// Copies the whole body to the end of a region.
    pub(crate) fn copy(
        &mut self,
        target: &mut Target<'_>,
        into: RegionId,
        accesses: &mut impl Accesses,
    ) -> Result<(), RejectReason> {
        let mut tasks = vec![Task::Copy(self.program.body(), into)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Copy(old, new) => {
                    for &id in self.program.region(old) {
                        self.node(target, id, new, accesses, &mut tasks)?;
                    }
                }
                Task::Condition(old, new, [head, body]) => {
                    if let Node::While { condition, .. } = *self.program.node(old) {
                        let condition = self.expr(target, condition)?;
                        target.arena.replace_node(new, Node::While { head, condition, body });
                    }
                }
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        target: &mut Target<'_>,
        id: NodeId,
        into: RegionId,
        accesses: &mut impl Accesses,
        tasks: &mut Vec<Task>,
    ) -> Result<(), RejectReason> {
        let old = *self.program.node(id);
        if let Node::While { head, condition: _, body } = old {
            let regions = [target.arena.region(), target.arena.region()];
            let placeholder = target.literal(vyre_spec::Value::new(false));
            let [new_head, new_body] = regions;
            let node = Node::While { head: new_head, condition: placeholder, body: new_body };
            let new = target.arena.push(into, node);
            self.set_node(id, new);
            // The last is done first.
            tasks.push(Task::Copy(body, new_body));
            tasks.push(Task::Condition(id, new, regions));
            tasks.push(Task::Copy(head, new_head));
            return Ok(());
        }
        let mut operands = Vec::with_capacity(3);
        for operand in old.operands() {
            operands.push(self.expr(target, operand)?);
        }
        let mut operands = operands.into_iter();
        let node = old.map_operands(|old| operands.next().unwrap_or(old));
        let node = match node {
            Node::Load { place: Place::Buffer(buffer), index } => {
                if let Some(value) = accesses.load(target, into, buffer, index)? {
                    if let Some(slot) = self.results.get_mut(id.index()) {
                        *slot = Some(value);
                    }
                    return Ok(());
                }
                Node::Load { place: self.loaded(target, buffer)?, index }
            }
            Node::Store { place: Place::Buffer(buffer), index, value } => {
                if accesses.store(target, into, buffer, index, value)? {
                    return Ok(());
                }
                Node::Store { place: self.stored(target, buffer)?, index, value }
            }
            Node::Atomic { op, place: Place::Buffer(buffer), index, value, expected } => {
                Node::Atomic { op, place: self.stored(target, buffer)?, index, value, expected }
            }
            Node::Tile { .. } => return Err(RejectReason::Tied("tile ops")),
            Node::Collective { .. } => return Err(RejectReason::Tied("a collective")),
            mut node => {
                match node.place_mut() {
                    Some(place @ &mut Place::Shared(array)) => {
                        *place = self.shared.get(array.index()).copied().unwrap_or(*place);
                    }
                    Some(place @ &mut Place::Private(array)) => {
                        *place = self.privates.get(array.index()).copied().unwrap_or(*place);
                    }
                    _ => {}
                }
                if let Some(var) = node.var_mut() {
                    *var = self.vars.get(var.index()).copied().unwrap_or(*var);
                }
                node
            }
        };
        let mut children = Vec::new();
        let node = node.map_regions(|region| {
            let copy = target.arena.region();
            children.push(Task::Copy(region, copy));
            copy
        });
        tasks.extend(children.into_iter().rev());
        let new = target.arena.push(into, node);
        self.set_node(id, new);
        if let Node::For { end, .. } = node {
            target.bound_loop(new, end);
        }
        Ok(())
    }

    fn set_node(&mut self, old: NodeId, new: NodeId) {
        if let Some(slot) = self.nodes.get_mut(old.index()) {
            *slot = Some(new);
        }
    }

    fn loaded(&self, target: &Target<'_>, buffer: BufferId) -> Result<Place, RejectReason> {
        let value = self.kernel.values(buffer).input;
        let place = value.and_then(|value| target.place_read(value));
        place.map(Place::Buffer).ok_or(RejectReason::Tied("a load of what it stores"))
    }

    fn stored(&self, target: &Target<'_>, buffer: BufferId) -> Result<Place, RejectReason> {
        let value = self.kernel.values(buffer).output;
        let place = value.and_then(|value| target.place_written(value));
        place.map(Place::Buffer).ok_or(RejectReason::Tied("a store to what is no memory"))
    }

    /// The expression in the target.
    pub(crate) fn expr(&mut self, target: &mut Target<'_>, root: ExprId) -> Result<ExprId, RejectReason> {
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            if self.copied(id).is_some() {
                stack.pop();
                continue;
            }
            let expr = *self.program.expr(id);
            let depth = stack.len();
            stack.extend(expr.operands().filter(|&operand| self.copied(operand).is_none()));
            if stack.len() > depth {
                continue;
            }
            stack.pop();
            let new = self.leaf(target, id, expr)?;
            if let Some(slot) = self.exprs.get_mut(id.index()) {
                *slot = Some(new);
            }
        }
        Ok(self.copied(root).unwrap_or(root))
    }

    fn copied(&self, id: ExprId) -> Option<ExprId> {
        self.exprs.get(id.index()).copied().flatten()
    }

    /// An expression whose operands have been copied.
    fn leaf(&self, target: &mut Target<'_>, id: ExprId, expr: Expr) -> Result<ExprId, RejectReason> {
        let ty = self.program.facts().type_of(id);
        let new = |node: NodeId| self.nodes.get(node.index()).copied().flatten().unwrap_or(node);
        let expr = match expr {
            Expr::Param(param) => {
                return Ok(self.params.get(param.index()).copied().unwrap_or(id));
            }
            Expr::Length(buffer) => {
                let one = self.kernel.values(buffer);
                let value = one.input.or(one.output).ok_or(RejectReason::Extent)?;
                return target.length(value);
            }
            Expr::BuiltIn(built_in) => {
                if let Some(&(_, value)) = self.built_ins.iter().find(|(known, _)| *known == built_in) {
                    return Ok(value);
                }
                match (&self.extents, built_in) {
                    (None, _) => expr,
                    (Some(extents), BuiltIn::Extent(axis)) => {
                        let extent = extents.get(axis.index()).ok_or(RejectReason::Extent)?;
                        return target.quantity(extent);
                    }
                    _ => return Err(RejectReason::Extent),
                }
            }
            Expr::Result(node) => match self.results.get(node.index()).copied().flatten() {
                Some(value) => return Ok(value),
                None => Expr::Result(new(node)),
            },
            Expr::LoopVar(node) => Expr::LoopVar(new(node)),
            expr => expr.map_operands(|operand| self.copied(operand).unwrap_or(operand)),
        };
        Ok(target.simplified(expr, ty))
    }
}
