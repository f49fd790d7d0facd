//! Puts handlers into the queue's kernel, each where a trap marks its place.
//!
//! A marker's code is [`MARK`] plus the opcode, its address the number of the task. What a handler's own traps record
//! goes to variables of the kernel, its parameters come from others, its buffers for added tasks and for running again are
//! private arrays, and its own private arrays are zeroed each time it runs.

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::{
    Arena, Array, Buffer, BufferId, Count, Expr, ExprId, Node, NodeId, ParamId, Place, PrivateId, Program,
    RegionId, VarId, Variable,
};
use vyre_spec::{Access, BuiltIn, Value};

use super::QueueError;
use super::handler::{Handler, Role, SharedBuffer, Source};

/// The code of the first handler's marker.
pub(super) const MARK: u32 = 0xF17E_0000;

/// Names of the kernel's variables and arrays that handlers use.
pub(super) mod names {
    pub(in crate::queue) const TRAPPED: &str = "queue_trapped";
    pub(in crate::queue) const CODE: &str = "queue_code";
    pub(in crate::queue) const ADDRESS: &str = "queue_address";
    pub(in crate::queue) const SPAWN: &str = "queue_spawn";
    pub(in crate::queue) const REQUEUE: &str = "queue_requeue";

    /// The variable of an argument, as a value of a type.
    pub(in crate::queue) fn argument(n: u32, ty: vyre_spec::DataType) -> String {
        format!("queue_argument{n}_{}", ty.name())
    }
}

/// Elements of a private array that are zeroed one by one; longer ones by a loop.
const UNROLLED: u32 = 32;

/// The kernel with its handlers in place.
pub(super) fn splice(
    kernel: &Program,
    handlers: &[Handler],
    shared: &[SharedBuffer],
) -> Result<Checked<Program>, QueueError> {
    let mut splicer = Splicer { kernel, arena: Arena::with_declarations_of(kernel), shared: Vec::new() };
    for SharedBuffer { name, element, written } in shared {
        let access = if *written { Access::ReadWrite } else { Access::ReadOnly };
        let (name, element, coherent) = (name.clone(), *element, *written);
        let id = splicer.arena.buffer(Buffer { name, element, access, count: Count::Bytes, coherent });
        splicer.shared.push(id);
    }
    // Everything in its old order, so that ids stay what they are.
    for &expr in kernel.exprs() {
        splicer.arena.expr(expr);
    }
    for &node in kernel.nodes() {
        splicer.arena.node(node);
    }
    for _ in 1..kernel.regions().len() {
        splicer.arena.region();
    }
    for (i, nodes) in (0..).map(RegionId::new).zip(kernel.regions()) {
        for &id in nodes {
            let marked = match *kernel.node(id) {
                Node::Trap { code, address } => {
                    code.checked_sub(MARK).map(|opcode| (opcode as usize, address))
                }
                _ => None,
            };
            match marked.and_then(|(opcode, address)| Some((opcode, handlers.get(opcode)?, address))) {
                Some((opcode, handler, task)) => splicer.inline(i, opcode, handler, task)?,
                None => splicer.arena.place_node(i, id),
            }
        }
    }
    let (program, _) = splicer.arena.finish().map_err(|error| internal(error.to_string()))?;
    check(program).map_err(|found| internal(found.first().map_or_else(String::new, ToString::to_string)))
}

fn internal(message: String) -> QueueError {
    QueueError::Kernel { message }
}

struct Splicer<'k> {
    kernel: &'k Program,
    arena: Arena,
    /// The buffers that tasks share.
    shared: Vec<BufferId>,
}

impl Splicer<'_> {
    fn var(&self, name: &str) -> Result<VarId, QueueError> {
        let at = self.kernel.vars().iter().position(|var| var.name == name);
        at.map(|at| VarId::new(at as u32)).ok_or_else(|| internal(format!("it has no variable `{name}`")))
    }

    fn private(&self, name: &str) -> Result<PrivateId, QueueError> {
        let at = self.kernel.privates().iter().position(|array| array.name == name);
        at.map(|at| PrivateId::new(at as u32)).ok_or_else(|| internal(format!("it has no array `{name}`")))
    }

    fn word(&mut self, word: u32) -> ExprId {
        self.arena.expr(Expr::Literal(Value::new(word)))
    }

    fn get(&mut self, region: RegionId, var: VarId) -> ExprId {
        let node = self.arena.push(region, Node::Get { var });
        self.arena.expr(Expr::Result(node))
    }

    fn inline(
        &mut self,
        region: RegionId,
        opcode: usize,
        handler: &Handler,
        task: ExprId,
    ) -> Result<(), QueueError> {
        let program = &handler.program;
        let params = self.params(region, handler, task)?;
        let vars: Vec<VarId> = program
            .vars()
            .iter()
            .map(|var| {
                let name = format!("queue_h{opcode}_{}", var.name);
                self.arena.var(Variable { name, ty: var.ty })
            })
            .collect();
        let mut privates = Vec::new();
        for array in program.privates() {
            let id = self
                .arena
                .private(Array { name: format!("queue_h{opcode}_{}", array.name), ..array.clone() });
            self.zero(region, id, array);
            privates.push(id);
        }
        let mut places = Vec::new();
        for &role in &handler.buffers {
            places.push(match role {
                Role::Shared(at) => {
                    let id = self.shared.get(at).copied();
                    Place::Buffer(id.ok_or_else(|| internal("a shared buffer is missing".to_owned()))?)
                }
                Role::Spawn => Place::Private(self.private(names::SPAWN)?),
                Role::Requeue => Place::Private(self.private(names::REQUEUE)?),
            });
        }
        // Nodes are numbered on from here in the handler's order.
        let first = self.arena.program().nodes().len() as u32;
        let renumbered = |id: NodeId| NodeId::new(first + id.raw());
        let mut exprs: Vec<ExprId> = Vec::with_capacity(program.exprs().len());
        for &expr in program.exprs() {
            let new = match expr {
                Expr::Param(id) => params.get(id.index()).copied().unwrap_or(task),
                Expr::BuiltIn(BuiltIn::Point(_)) => self.word(0),
                Expr::BuiltIn(_) => self.word(1),
                Expr::Length(id) => match places.get(id.index()) {
                    Some(&Place::Buffer(id)) => self.arena.expr(Expr::Length(id)),
                    Some(&Place::Private(id)) => {
                        let length = self.kernel.private_array(id).len;
                        self.word(length)
                    }
                    _ => self.word(0),
                },
                Expr::Result(node) => self.arena.expr(Expr::Result(renumbered(node))),
                Expr::LoopVar(node) => self.arena.expr(Expr::LoopVar(renumbered(node))),
                expr => self.arena.expr(expr.map_operands(|e| exprs.get(e.index()).copied().unwrap_or(e))),
            };
            exprs.push(new);
        }
        let regions: Vec<RegionId> = (1..program.regions().len()).map(|_| self.arena.region()).collect();
        let region_of = |id: RegionId| match id.index().checked_sub(1) {
            None => region,
            Some(at) => regions.get(at).copied().unwrap_or(region),
        };
        let address_of_fault = self.var(names::ADDRESS)?;
        for &node in program.nodes() {
            let mut node =
                node.map_operands(|e| exprs.get(e.index()).copied().unwrap_or(e)).map_regions(region_of);
            if let Some(place) = node.place_mut() {
                match *place {
                    Place::Buffer(id) => *place = places.get(id.index()).copied().unwrap_or(*place),
                    Place::Private(id) => {
                        *place = privates.get(id.index()).copied().map_or(*place, Place::Private);
                    }
                    Place::Shared(_) => {}
                }
            }
            if let Some(var) = node.var_mut() {
                *var = vars.get(var.index()).copied().unwrap_or(*var);
            }
            if let Node::Trap { address, .. } = node {
                // Holds the trap's number; what it does is made where it stands.
                node = Node::Set { var: address_of_fault, value: address };
            }
            self.arena.node(node);
        }
        for (i, nodes) in (0..).map(RegionId::new).zip(program.regions()) {
            let into = region_of(i);
            for &id in nodes {
                match *program.node(id) {
                    Node::Trap { code, address } => {
                        let address = exprs.get(address.index()).copied().unwrap_or(task);
                        self.trap(into, code, address, renumbered(id))?;
                    }
                    _ => self.arena.place_node(into, renumbered(id)),
                }
            }
        }
        Ok(())
    }

    /// What each parameter is, read before the handler.
    fn params(
        &mut self,
        region: RegionId,
        handler: &Handler,
        task: ExprId,
    ) -> Result<Vec<ExprId>, QueueError> {
        let mut params = Vec::new();
        for (i, param) in handler.program.params().iter().enumerate() {
            params.push(match handler.source(ParamId::new(i as u32)) {
                Source::Task => task,
                Source::Argument(n) => {
                    let var = self.var(&names::argument(n, param.ty))?;
                    self.get(region, var)
                }
            });
        }
        Ok(params)
    }

    fn zero(&mut self, region: RegionId, id: PrivateId, array: &Array) {
        let zero = self.arena.expr(Expr::Literal(Value::zero(array.element)));
        let place = Place::Private(id);
        if array.len <= UNROLLED {
            for i in 0..array.len {
                let index = self.word(i);
                self.arena.push(region, Node::Store { place, index, value: zero });
            }
            return;
        }
        let body = self.arena.region();
        let (start, end, step) = (self.word(0), self.word(array.len), self.word(1));
        let each = self.arena.push(region, Node::For { start, end, step, body });
        let index = self.arena.expr(Expr::LoopVar(each));
        self.arena.push(body, Node::Store { place, index, value: zero });
    }

    /// Notes a handler's fault, if it is the task's first. `own` is the node that stands for the trap.
    fn trap(&mut self, region: RegionId, code: u32, address: ExprId, own: NodeId) -> Result<(), QueueError> {
        let trapped = self.var(names::TRAPPED)?;
        let condition = self.get(region, trapped);
        let (then, otherwise) = (self.arena.region(), self.arena.region());
        let yes = self.arena.expr(Expr::Literal(Value::new(true)));
        let code = self.word(code);
        for (name, value) in [(names::TRAPPED, yes), (names::CODE, code), (names::ADDRESS, address)] {
            let var = self.var(name)?;
            self.arena.push(otherwise, Node::Set { var, value });
        }
        self.arena.replace_node(own, Node::If { condition, then, otherwise });
        self.arena.place_node(region, own);
        Ok(())
    }
}
