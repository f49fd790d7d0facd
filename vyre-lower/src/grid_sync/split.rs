//! Cuts a program at its grid barriers into parts, one kernel each, and makes the schedule that runs them.
//!
//! Nodes are numbered in text order, so a part is a range of nodes: consecutive nodes of one region, with all
//! that they hold. What holds a grid barrier is in no part: a barrier is a boundary between parts, a counted
//! loop is unrolled by the host, and a branch is taken by the host if it knows the condition; otherwise the
//! part before it saves the condition, and the parts inside test it.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{ExprId, Node, NodeId, Program, RegionId};
use vyre_spec::{DataType, MemoryOrdering};

use super::host::{HostExpr, HostKnown};
use super::schedule::Step;
use crate::error::LowerError;

/// What one kernel computes.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The region of its nodes.
    pub(crate) region: RegionId,
    /// Its outermost nodes, in order.
    pub(crate) nodes: Vec<NodeId>,
    /// The range of nodes that it has, those inside its outermost ones included.
    pub(super) range: (u32, u32),
    /// The branches that must have been taken, and which way, outermost first.
    pub(super) guards: Vec<(NodeId, bool)>,
    /// The branch whose condition it saves at its end.
    pub(crate) saves: Option<NodeId>,
    /// The jumps that end here; the part then has no node.
    pub(super) resets: Option<Reset>,
    /// Whether it stands in an unrolled loop.
    pub(super) in_loop: bool,
}

/// The end of an unrolled loop's jumps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reset {
    /// The loop's number.
    pub(super) number: u32,
    /// Whether its `break` ends here as well as its `continue`.
    pub(super) breaks: bool,
}

impl Part {
    /// A part without nodes.
    fn empty(region: RegionId) -> Self {
        let (nodes, guards) = (Vec::new(), Vec::new());
        Self { region, nodes, range: (0, 0), guards, saves: None, resets: None, in_loop: false }
    }

    /// The nodes that it has, in text order.
    pub(crate) fn all_nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (self.range.0..self.range.1).map(NodeId::new)
    }

    /// Whether the part has a node.
    pub(crate) fn has(&self, node: NodeId) -> bool {
        (self.range.0..self.range.1).contains(&node.raw())
    }
}

/// The parts and how they are run.
pub(super) struct Cut {
    pub(super) parts: Vec<Part>,
    pub(super) steps: Vec<Step>,
    /// The types of the unrolled loops' variables, by the loops' numbers.
    pub(super) vars: Vec<DataType>,
}

/// What the regions of a program hold.
pub(crate) struct Shape {
    /// The node after the last one that each node holds.
    ends: Vec<u32>,
    /// How many grid barriers there are before each node, and in all.
    barriers: Vec<u32>,
    /// The number of each counted loop that holds a grid barrier.
    pub(super) loops: Vec<Option<u32>>,
    /// The innermost loop around the nodes of each region.
    pub(super) around: Vec<Option<NodeId>>,
}

fn is_barrier(node: &Node) -> bool {
    matches!(node, Node::Barrier { ordering: MemoryOrdering::GridSync })
}

impl Shape {
    pub(super) fn of(program: &Program, facts: &Facts) -> Self {
        let count = program.nodes().len();
        let mut ends: Vec<u32> = (1..=count as u32).collect();
        // What a node holds has higher numbers.
        for (i, node) in program.nodes().iter().enumerate().rev() {
            for last in node.regions().filter_map(|region| program.region(region).last()) {
                ends[i] = ends[i].max(ends[last.index()]);
            }
        }
        let mut barriers = vec![0];
        let mut seen = 0;
        for node in program.nodes() {
            seen += u32::from(is_barrier(node));
            barriers.push(seen);
        }
        let mut around = vec![None; program.regions().len()];
        for i in 0..program.regions().len() {
            // A region comes after the one that its holder stands in.
            if let Some((holder, _)) = facts.parent(RegionId::new(i as u32)) {
                let is_loop = matches!(program.node(holder), Node::For { .. } | Node::While { .. });
                around[i] = if is_loop { Some(holder) } else { around[facts.region_of(holder).index()] };
            }
        }
        let mut shape = Self { ends, barriers, loops: vec![None; count], around };
        let mut next = 0;
        for (i, node) in (0..).zip(program.nodes()) {
            if matches!(node, Node::For { .. }) && shape.barriers_in(NodeId::new(i)) > 0 {
                shape.loops[i as usize] = Some(next);
                next += 1;
            }
        }
        shape
    }

    /// How many grid barriers a node holds or is.
    fn barriers_in(&self, node: NodeId) -> u32 {
        self.barriers[self.ends[node.index()] as usize] - self.barriers[node.index()]
    }

    /// The unrolled loop that a `break` or `continue` belongs to, by number.
    pub(super) fn jump_target(&self, facts: &Facts, jump: NodeId) -> Option<u32> {
        let around = self.around[facts.region_of(jump).index()]?;
        self.loops[around.index()]
    }
}

/// A region that is being cut.
struct Frame {
    region: RegionId,
    position: usize,
    run: Vec<NodeId>,
    then: Then,
}

/// What comes after a region.
enum Then {
    /// Nothing: it is the body.
    End,
    /// The other branch of an `if`; the step that decides, if the host does.
    Otherwise { node: NodeId, region: RegionId, decides: Option<usize> },
    /// What follows the `if`; the step that leaves its first branch, if the host decides.
    Join { jump: Option<usize> },
    /// Another trip of a loop, whose step this is.
    Trip { head: usize, number: u32, jumps: bool },
}

/// Cuts a program.
pub(super) fn cut(
    program: &Program,
    facts: &Facts,
    inits: &[Option<ExprId>],
    shape: &Shape,
) -> Result<Cut, LowerError> {
    let known = HostKnown::new(program, facts, inits, &shape.loops);
    let mut cutter = Cutter {
        program,
        shape,
        out: Cut { parts: Vec::new(), steps: Vec::new(), vars: vec![DataType::U32; shape.loops.len()] },
        guards: Vec::new(),
        depth: 0,
    };
    cutter.out.vars.truncate(shape.loops.iter().flatten().count());
    let jumps = jumps(program, facts, shape);
    let mut stack = vec![Frame { region: program.body(), position: 0, run: Vec::new(), then: Then::End }];
    while let Some(frame) = stack.last_mut() {
        let Some(&id) = program.region(frame.region).get(frame.position) else {
            if let Some(frame) = stack.pop() {
                cutter.flush(frame.region, frame.run, None);
                stack.extend(cutter.leave(frame.then));
            }
            continue;
        };
        frame.position += 1;
        if shape.barriers_in(id) == 0 {
            frame.run.push(id);
            continue;
        }
        let run = std::mem::take(&mut frame.run);
        let region = frame.region;
        match *program.node(id) {
            Node::If { condition, then, otherwise } => {
                let decides = match known.expr(condition) {
                    Some(condition) => {
                        cutter.flush(region, run, None);
                        cutter.out.steps.push(Step::Unless { condition, target: 0 });
                        Some(cutter.out.steps.len() - 1)
                    }
                    None => {
                        cutter.flush(region, run, Some(id));
                        cutter.guards.push((id, true));
                        None
                    }
                };
                let then_what = Then::Otherwise { node: id, region: otherwise, decides };
                stack.push(Frame { region: then, position: 0, run: Vec::new(), then: then_what });
            }
            Node::For { start, end, step, body } => {
                cutter.flush(region, run, None);
                let bound = |what: &'static str, x: ExprId| -> Result<HostExpr, LowerError> {
                    known.expr(x).ok_or_else(|| LowerError::GridSyncTripCount {
                        barrier: cutter.first_barrier(id),
                        node: id,
                        reason: match what {
                            "start" => "the host does not know its start at launch",
                            "end" => "the host does not know its end at launch",
                            _ => "the host does not know its step at launch",
                        },
                    })
                };
                let (start, end, step) = (bound("start", start)?, bound("end", end)?, bound("step", step)?);
                let number = shape.loops[id.index()].unwrap_or(0);
                cutter.out.vars[number as usize] = facts.type_of(operand_of(program, id));
                cutter.out.steps.push(Step::Loop { var: number, start, end, step, after: 0 });
                let head = cutter.out.steps.len() - 1;
                cutter.depth += 1;
                let jumps = jumps[number as usize];
                if jumps {
                    cutter.reset(Reset { number, breaks: false });
                }
                let trip = Then::Trip { head, number, jumps };
                stack.push(Frame { region: body, position: 0, run: Vec::new(), then: trip });
            }
            Node::While { .. } => {
                return Err(LowerError::GridSyncTripCount {
                    barrier: cutter.first_barrier(id),
                    node: id,
                    reason: "a `while` has no trip count",
                });
            }
            _ => cutter.flush(region, run, None),
        }
    }
    if cutter.out.parts.is_empty() {
        cutter.push(Part::empty(program.body()));
    }
    if let [only] = cutter.out.parts.as_mut_slice() {
        // Nothing is left that would test what it saves.
        only.saves = None;
    }
    Ok(cutter.out)
}

/// The start of a counted loop, whose type is its variable's.
fn operand_of(program: &Program, node: NodeId) -> ExprId {
    program.node(node).operands().next().unwrap_or(ExprId::new(0))
}

/// Which unrolled loops some `break` or `continue` belongs to.
fn jumps(program: &Program, facts: &Facts, shape: &Shape) -> Vec<bool> {
    let mut jumps = vec![false; shape.loops.iter().flatten().count()];
    for (i, node) in (0..).zip(program.nodes()) {
        if matches!(node, Node::Break | Node::Continue) {
            if let Some(number) = shape.jump_target(facts, NodeId::new(i)) {
                jumps[number as usize] = true;
            }
        }
    }
    jumps
}

struct Cutter<'a> {
    program: &'a Program,
    shape: &'a Shape,
    out: Cut,
    guards: Vec<(NodeId, bool)>,
    /// Unrolled loops around.
    depth: u32,
}

impl Cutter<'_> {
    fn push(&mut self, part: Part) {
        self.out.steps.push(Step::Run { kernel: self.out.parts.len() as u32 });
        self.out.parts.push(part);
    }

    /// Makes a part of nodes in a row, if there is anything to do.
    fn flush(&mut self, region: RegionId, nodes: Vec<NodeId>, saves: Option<NodeId>) {
        let range = match (nodes.first(), nodes.last()) {
            (Some(first), Some(last)) => (first.raw(), self.shape.ends[last.index()]),
            _ if saves.is_none() => return,
            _ => (0, 0),
        };
        let (guards, in_loop) = (self.guards.clone(), self.depth > 0);
        self.push(Part { region, nodes, range, guards, saves, resets: None, in_loop });
    }

    /// Makes a part in which the jumps of a loop end.
    fn reset(&mut self, reset: Reset) {
        self.push(Part { resets: Some(reset), ..Part::empty(self.program.body()) });
    }

    /// Ends a region; gives the next one, if it is the other branch.
    fn leave(&mut self, then: Then) -> Option<Frame> {
        let here = self.out.steps.len();
        match then {
            Then::End => None,
            Then::Otherwise { node, region, decides } => {
                let jump = match decides {
                    Some(decides) => {
                        self.out.steps.push(Step::Jump { target: 0 });
                        self.aim(decides, here + 1);
                        Some(here)
                    }
                    None => {
                        self.guards.pop();
                        self.guards.push((node, false));
                        None
                    }
                };
                Some(Frame { region, position: 0, run: Vec::new(), then: Then::Join { jump } })
            }
            Then::Join { jump: Some(jump) } => {
                self.aim(jump, here);
                None
            }
            Then::Join { jump: None } => {
                self.guards.pop();
                None
            }
            Then::Trip { head, number, jumps } => {
                self.out.steps.push(Step::Next { body: head + 1 });
                self.aim(head, here + 1);
                if jumps {
                    self.reset(Reset { number, breaks: true });
                }
                self.depth -= 1;
                None
            }
        }
    }

    fn aim(&mut self, step: usize, to: usize) {
        let step = self.out.steps.get_mut(step);
        if let Some(Step::Loop { after: target, .. } | Step::Unless { target, .. } | Step::Jump { target }) =
            step
        {
            *target = to;
        }
    }

    /// The first grid barrier that a node holds.
    fn first_barrier(&self, node: NodeId) -> NodeId {
        let mut inside = node.raw()..self.shape.ends[node.index()];
        inside.find(|&i| is_barrier(self.program.node(NodeId::new(i)))).map_or(node, NodeId::new)
    }
}
