//! What crosses from part to part, and where in scratch memory it is.
//!
//! * The result of a node that another part reads, a variable that several parts use, the condition of a branch
//!   around grid barriers, and how an invocation left the flow: a word of each invocation, two for 64 bits.
//! * A private array that several parts use, or one part in several trips of an unrolled loop: its elements are
//!   words of each invocation, and every access goes there.
//! * A shared array of that kind: words of each workgroup. A kernel loads it at its beginning, unless it writes
//!   every element before it reads any, and stores it at its end if it changed it.
//!
//! Word `i` of the invocations lies together: its address is `i` × invocations + the linear invocation.
//! Expressions cross by what they read: each part evaluates its own.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{Expr, ExprId, Node, NodeId, Place, Program, VarId};
use vyre_spec::DataType;

use super::schedule::Scratch;
use super::split::{Part, Shape};
use crate::error::LowerError;

/// Where what crosses is kept.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// How an invocation left the flow, if any does: see [`super::scratch`].
    pub(crate) exit: Option<u32>,
    /// The word of each node's result, and of each branch's condition.
    pub(super) nodes: Vec<Option<u32>>,
    /// The word of each variable.
    pub(crate) vars: Vec<Option<u32>>,
    /// The first word of each private array.
    pub(crate) privates: Vec<Option<u32>>,
    /// The first word of each shared array among its workgroup's.
    pub(crate) shared: Vec<Option<u32>>,
    /// How much there is.
    pub(crate) scratch: Scratch,
}

/// What one part reads of others, and leaves for them.
#[derive(Debug, Default)]
pub(crate) struct Crossing {
    /// Nodes of other parts whose results it reads, and their types.
    pub(super) results: Vec<(NodeId, DataType)>,
    /// Unrolled loops whose variables it reads, and their types.
    pub(super) loops: Vec<(NodeId, DataType)>,
    /// Variables that it uses and another part declared.
    pub(super) restores: Vec<VarId>,
    /// Variables that it changes and a later part uses.
    pub(super) keeps: Vec<VarId>,
    /// Shared arrays that it changes and a later part uses.
    pub(crate) stores: Vec<u32>,
}

/// Who uses something.
#[derive(Clone, Copy, Default)]
struct Users {
    /// The last part that uses it.
    part: Option<usize>,
    several: bool,
}

impl Users {
    /// Whether some part may use it after this one: parts are numbered in text order.
    fn after(&self, number: usize, part: &Part) -> bool {
        self.several && (part.in_loop || self.part.is_some_and(|last| last > number))
    }

    fn add(&mut self, part: usize, again: bool) {
        self.several |= again || self.part.is_some_and(|other| other != part);
        self.part = Some(part);
    }
}

/// Finds what crosses, and lays it out.
pub(super) fn layout(
    program: &Program,
    facts: &Facts,
    shape: &Shape,
    parts: &[Part],
) -> Result<(Layout, Vec<Crossing>), LowerError> {
    let mut layout = Layout {
        nodes: vec![None; program.nodes().len()],
        vars: vec![None; program.vars().len()],
        privates: vec![None; program.privates().len()],
        shared: vec![None; program.shared().len()],
        ..Layout::default()
    };
    let mut words = Words::default();
    if leaves_early(program, facts, shape, parts) {
        layout.exit = Some(words.take(1)?);
        layout.scratch.zero = true;
    }
    let mut vars = vec![Users::default(); program.vars().len()];
    let mut privates = vec![Users::default(); program.privates().len()];
    let mut shared = vec![Users::default(); program.shared().len()];
    let mut crossings: Vec<Crossing> = Vec::with_capacity(parts.len());
    let mut reads = Reads { seen: vec![u32::MAX; program.exprs().len()], stack: Vec::new() };
    for (number, part) in parts.iter().enumerate() {
        let mut crossing = Crossing::default();
        for id in part.all_nodes() {
            let node = program.node(id);
            reads.stack.extend(node.operands());
            if let Some(var) = node.var() {
                vars[var.index()].add(number, false);
            }
            match node.place() {
                Some(Place::Private(array)) => privates[array.index()].add(number, part.in_loop),
                Some(Place::Shared(array)) => shared[array.index()].add(number, part.in_loop),
                _ => {}
            }
        }
        if let Some(branch) = part.saves {
            reads.stack.extend(program.node(branch).operands());
            if layout.nodes[branch.index()].is_none() {
                layout.nodes[branch.index()] = Some(words.take(1)?);
            }
        }
        reads.collect(program, facts, part, number as u32, &mut crossing);
        for (node, ty) in &crossing.results {
            if layout.nodes[node.index()].is_none() {
                layout.nodes[node.index()] = Some(words.values(*ty, 1)?);
            }
        }
        crossings.push(crossing);
    }
    for (i, _) in vars.iter().enumerate().filter(|(_, users)| users.several) {
        layout.vars[i] = Some(words.values(program.vars()[i].ty, 1)?);
    }
    for (i, _) in privates.iter().enumerate().filter(|(_, users)| users.several) {
        let array = &program.privates()[i];
        layout.privates[i] = Some(words.values(array.element, array.len)?);
        layout.scratch.zero = true;
    }
    let mut group = Words::default();
    for (i, _) in shared.iter().enumerate().filter(|(_, users)| users.several) {
        let array = &program.shared()[i];
        layout.shared[i] = Some(group.values(array.element, array.len)?);
        layout.scratch.zero = true;
    }
    layout.scratch.invocation_words = words.0;
    layout.scratch.workgroup_words = group.0;
    for (number, (part, crossing)) in parts.iter().zip(&mut crossings).enumerate() {
        changes(program, part, &layout, crossing);
        crossing.keeps.retain(|var| vars[var.index()].after(number, part));
        crossing.stores.retain(|&array| shared[array as usize].after(number, part));
    }
    Ok((layout, crossings))
}

/// Counts words.
#[derive(Default)]
struct Words(u32);

impl Words {
    /// Takes the words of so many values of a type.
    fn values(&mut self, ty: DataType, count: u32) -> Result<u32, LowerError> {
        let words = count.checked_mul(super::scratch::words(ty));
        self.take(words.ok_or(LowerError::GridSyncScratch)?)
    }

    fn take(&mut self, count: u32) -> Result<u32, LowerError> {
        let first = self.0;
        self.0 = first.checked_add(count).ok_or(LowerError::GridSyncScratch)?;
        Ok(first)
    }
}

/// Whether some invocation may leave a part by a `return`, or by a jump of an unrolled loop, so that later parts
/// must know.
fn leaves_early(program: &Program, facts: &Facts, shape: &Shape, parts: &[Part]) -> bool {
    let last = parts.len().saturating_sub(1);
    parts.iter().enumerate().any(|(number, part)| {
        let is_last = number == last && !part.in_loop;
        part.all_nodes().any(|id| match program.node(id) {
            Node::Return => !is_last,
            Node::Break | Node::Continue => shape.jump_target(facts, id).is_some(),
            _ => false,
        })
    })
}

/// The variables that a part takes over, and what it changes.
fn changes(program: &Program, part: &Part, layout: &Layout, crossing: &mut Crossing) {
    let (mut used, mut declared, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    for id in part.all_nodes() {
        match *program.node(id) {
            Node::Declare { var, .. } => {
                declared.push(var);
                changed.push(var);
            }
            Node::Set { var, .. } => {
                used.push(var);
                changed.push(var);
            }
            Node::Get { var } => used.push(var),
            Node::Store { place: Place::Shared(array), .. }
            | Node::Atomic { place: Place::Shared(array), .. } => crossing.stores.push(array.raw()),
            _ => {}
        }
    }
    for list in [&mut used, &mut declared, &mut changed] {
        list.sort_unstable();
        list.dedup();
    }
    let crosses = |var: &VarId| layout.vars[var.index()].is_some();
    crossing.restores =
        used.into_iter().filter(|var| crosses(var) && declared.binary_search(var).is_err()).collect();
    crossing.keeps = changed.into_iter().filter(crosses).collect();
    crossing.stores.sort_unstable();
    crossing.stores.dedup();
}

/// Finds what the expressions of a part read of other parts.
struct Reads {
    /// The part that saw each expression last.
    seen: Vec<u32>,
    stack: Vec<ExprId>,
}

impl Reads {
    fn collect(
        &mut self,
        program: &Program,
        facts: &Facts,
        part: &Part,
        number: u32,
        crossing: &mut Crossing,
    ) {
        while let Some(id) = self.stack.pop() {
            let seen = &mut self.seen[id.index()];
            if *seen == number {
                continue;
            }
            *seen = number;
            match *program.expr(id) {
                Expr::Result(node) if !part.has(node) => crossing.results.push((node, facts.type_of(id))),
                Expr::LoopVar(node) if !part.has(node) => crossing.loops.push((node, facts.type_of(id))),
                ref expr => self.stack.extend(expr.operands()),
            }
        }
        crossing.results.sort_unstable();
        crossing.loops.sort_unstable();
    }
}
