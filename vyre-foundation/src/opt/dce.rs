//! Dead code: what nothing observes is not run, and what cannot run is removed.
//!
//! Observed are stores to buffers and shared arrays, atomics, tile ops, barriers, traps, and `while` loops
//! that may not end, which are all but those that count a variable up to a constant. From there, what they read is live:
//! expressions, the loads, variable reads and
//! subgroup ops whose results they use, every write to a variable or private array that is read, and the
//! blocks around all of it. A `break` or `continue` is live if its loop is, and a `return` if it keeps something live
//! from running: what stands after it, or with it in a loop.
//!
//! * A branch on a constant becomes the block that it takes; a counted loop of constant bounds with no trip
//!   goes; of a `while` whose condition is `false` the head stays, once.
//! * An access at a constant index that its array never has goes, and reads as 0.
//! * What is not live goes, with variables that are no longer declared.

use std::collections::VecDeque;

use vyre_spec::Value;
use vyre_spec::ops::BinaryOp;

use crate::check::Checked;
use crate::check::tree::{Enclosing, Tree, ids};
use crate::ir::{Arena, Count, Expr, ExprId, Extent, Node, NodeId, Place, Program, RegionId};

use super::Outcome;
use super::rewrite::{Rewriter, keep};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    let tree = Tree::of(program);
    let fates = fates(program);
    let live = live(program, &tree, &fates);
    if live.iter().all(|live| *live) && fates.iter().all(|fate| *fate == Fate::Stays) {
        return Ok(None);
    }
    let mut rewriter = Rewriter::new(program, Arena::with_declarations_of(program), keep);
    rewriter.changed = true;
    for (id, node) in ids(program) {
        if let (Fate::Gone, Node::Load { place, .. } | Node::Atomic { place, .. }) = (fates[id.index()], node)
        {
            let (_, ty) = program.place(*place);
            let zero = rewriter.new.make(Expr::Literal(Value::zero(ty)), ty);
            rewriter.replace_result(id, zero);
        }
    }
    let mut ended = vec![false; program.regions().len()];
    // Each frame is a region, the position of its next node, and the region that its nodes go to.
    let mut stack = vec![(program.body(), 0usize, program.body())];
    while let Some((region, position, into)) = stack.pop() {
        let Some(&id) = program.region(region).get(position) else { continue };
        if ended[into.index()] {
            // A block that a constant branch became has left the region.
            continue;
        }
        stack.push((region, position + 1, into));
        match fates[id.index()] {
            Fate::Gone => {}
            Fate::Becomes(block) => stack.push((block, 0, into)),
            Fate::Stays if live[id.index()] => {
                let node = rewriter.set_node(id);
                rewriter.new.arena.place_node(into, id);
                ended[into.index()] = matches!(node, Node::Break | Node::Continue | Node::Return);
                let children = program.node(id).regions().rev();
                stack.extend(children.map(|child| (child, 0, child)));
            }
            Fate::Stays => {}
        }
    }
    rewriter.finish()
}

/// What constants make of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Stays,
    Becomes(RegionId),
    Gone,
}

/// What constants make of each node. A `while` whose head always returns is its head.
fn fates(program: &Program) -> Vec<Fate> {
    let mut fates: Vec<Fate> = program.nodes().iter().map(|node| fate(program, node)).collect();
    let mut ends = vec![false; program.regions().len()];
    // Regions are numbered after those that hold them.
    for (i, nodes) in program.regions().iter().enumerate().rev() {
        for &id in nodes {
            let (fate, node) = (&mut fates[id.index()], program.node(id));
            match *node {
                Node::While { head, .. } if ends[head.index()] => *fate = Fate::Becomes(head),
                _ => {}
            }
            ends[i] |= match *fate {
                Fate::Becomes(block) => ends[block.index()],
                Fate::Gone => false,
                Fate::Stays => matches!(node, Node::Break | Node::Continue | Node::Return),
            };
        }
    }
    fates
}

fn fate(program: &Program, node: &Node) -> Fate {
    let constant = |id: ExprId| match *program.expr(id) {
        Expr::Literal(value) => Some(value),
        _ => None,
    };
    match *node {
        Node::If { condition, then, otherwise } => match constant(condition) {
            Some(value) if value == Value::new(true) => Fate::Becomes(then),
            Some(_) => Fate::Becomes(otherwise),
            None => Fate::Stays,
        },
        Node::While { head, condition, .. } if constant(condition) == Some(Value::new(false)) => {
            Fate::Becomes(head)
        }
        Node::For { start, end, step, .. } => {
            let number = |id: ExprId| constant(id).and_then(Value::as_int);
            let no_trip = matches!((number(start), number(end)), (Some(a), Some(b)) if a >= b);
            let no_step = number(step).is_some_and(|step| step <= 0);
            if no_trip || no_step { Fate::Gone } else { Fate::Stays }
        }
        Node::Load { place, index }
        | Node::Store { place, index, .. }
        | Node::Atomic { place, index, .. } => {
            let is_outside = |index: i128| index < 0 || len(program, place).is_some_and(|len| index >= len);
            if constant(index).and_then(Value::as_int).is_some_and(is_outside) {
                Fate::Gone
            } else {
                Fate::Stays
            }
        }
        _ => Fate::Stays,
    }
}

/// How many elements an array has in every launch; `None` if that depends on the launch.
fn len(program: &Program, place: Place) -> Option<i128> {
    match place {
        Place::Shared(id) => Some(program.shared_array(id).len.into()),
        Place::Private(id) => Some(program.private_array(id).len.into()),
        Place::Buffer(id) => match program.buffer(id).count {
            Count::Extent(count) => match *program.extent(count) {
                Extent::Literal(len) => Some(len.into()),
                _ => None,
            },
            Count::Bytes => None,
        },
    }
}

enum Task {
    Node(NodeId),
    Expr(ExprId),
}

/// Which nodes are live.
fn live(program: &Program, tree: &Tree, fates: &[Fate]) -> Vec<bool> {
    let reachable = reachable(program, tree, fates);
    let in_reach = |id: NodeId| reachable[tree.node_regions[id.index()].index()];
    // Who becomes live together with a variable, a private array or a loop.
    let mut var_writes = vec![Vec::new(); program.vars().len()];
    let mut private_writes = vec![Vec::new(); program.privates().len()];
    let mut jumps = vec![Vec::new(); program.nodes().len()];
    let mut returns = Returns::new(program, tree);
    let (mut tasks, mut whiles) = (Vec::new(), Vec::new());
    for (id, node) in ids(program).filter(|&(id, _)| in_reach(id) && fates[id.index()] != Fate::Gone) {
        match *node {
            Node::Declare { var, .. } | Node::Set { var, .. } => var_writes[var.index()].push(id),
            Node::Store { place: Place::Private(array), .. } => private_writes[array.index()].push(id),
            Node::Break | Node::Continue => {
                if let Enclosing::Body(holder) = tree.loops[tree.node_regions[id.index()].index()] {
                    jumps[holder.index()].push(id);
                }
            }
            Node::Return => returns.in_order.push_back(id),
            Node::Store { .. }
            | Node::Atomic { .. }
            | Node::Barrier { .. }
            | Node::Fence { .. }
            | Node::Tile { .. }
            | Node::Trap { .. } => tasks.push(Task::Node(id)),
            Node::While { .. } => whiles.push(id),
            Node::Load { .. }
            | Node::Get { .. }
            | Node::If { .. }
            | Node::For { .. }
            | Node::Subgroup { .. }
            | Node::Collective { .. } => {}
        }
    }
    tasks.extend(whiles.into_iter().filter(|&id| !ends(program, tree, id, &var_writes)).map(Task::Node));
    let mut live = vec![false; program.nodes().len()];
    let mut exprs = vec![false; program.exprs().len()];
    while let Some(task) = tasks.pop() {
        match task {
            Task::Expr(id) => {
                if !std::mem::replace(&mut exprs[id.index()], true) {
                    let expr = program.expr(id);
                    tasks.extend(expr.operands().map(Task::Expr));
                    tasks.extend(expr.node().map(Task::Node));
                }
            }
            Task::Node(id) => {
                if std::mem::replace(&mut live[id.index()], true) {
                    continue;
                }
                let node = program.node(id);
                if fates[id.index()] == Fate::Stays {
                    tasks.extend(node.operands().map(Task::Expr));
                }
                tasks.extend(jumps[id.index()].drain(..).map(Task::Node));
                tasks.extend(returns.before(id).map(Task::Node));
                let parent = tree.parents[tree.node_regions[id.index()].index()];
                tasks.extend(parent.map(|(holder, _)| Task::Node(holder)));
                match *node {
                    Node::Get { var } | Node::Declare { var, .. } | Node::Set { var, .. } => {
                        tasks.extend(var_writes[var.index()].drain(..).map(Task::Node));
                    }
                    Node::Load { place: Place::Private(array), .. } => {
                        tasks.extend(private_writes[array.index()].drain(..).map(Task::Node));
                    }
                    _ => {}
                }
            }
        }
    }
    live
}

/// The returns that are not known to be live.
struct Returns {
    /// As the text has them.
    in_order: VecDeque<NodeId>,
    /// Of each node, the last one that can run after it has: the last of the outermost loop around it, or itself.
    last: Vec<NodeId>,
}

impl Returns {
    fn new(program: &Program, tree: &Tree) -> Self {
        let mut last: Vec<NodeId> = ids(program).map(|(id, _)| id).collect();
        // Nodes are numbered in text order.
        let mut end = None;
        for (id, node) in ids(program) {
            if end.is_none_or(|end| id >= end) {
                end = match *node {
                    Node::For { body, .. } | Node::While { body, .. } => Some(tree.end(body)),
                    _ => None,
                };
            }
            if let Some(end) = end {
                last[id.index()] = NodeId::new(end.raw().saturating_sub(1).max(id.raw()));
            }
        }
        Self { in_order: VecDeque::new(), last }
    }

    /// Takes those that can keep a node from running.
    fn before(&mut self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let last = self.last[node.index()];
        let count = self.in_order.iter().take_while(|&&id| id <= last).count();
        self.in_order.drain(..count)
    }
}

/// Whether a `while` surely ends: it goes on only while a variable is below a constant, and each trip begins with adding 1
/// to that variable, which nothing else in the loop writes.
fn ends(program: &Program, tree: &Tree, id: NodeId, var_writes: &[Vec<NodeId>]) -> bool {
    let Node::While { head, condition, body } = *program.node(id) else { return false };
    let Some(&first) = program.region(body).first() else { return false };
    let Node::Set { var, value } = *program.node(first) else { return false };
    let reads_it = |expr: ExprId| {
        matches!(*program.expr(expr), Expr::Result(get) if program.region(head).contains(&get)
            && matches!(*program.node(get), Node::Get { var: read } if read == var))
    };
    let counts = match *program.expr(value) {
        Expr::Binary(BinaryOp::Add, a, b) => {
            reads_it(a) && matches!(*program.expr(b), Expr::Literal(one) if one.as_int() == Some(1))
        }
        _ => false,
    };
    let mut parts = vec![condition];
    let mut bounded = false;
    while let Some(part) = parts.pop() {
        match *program.expr(part) {
            // More parts than a condition that people write has are not looked at.
            Expr::Binary(BinaryOp::BitAnd, a, b) if parts.len() < 16 => parts.extend([a, b]),
            Expr::Binary(BinaryOp::Lt, a, b) => {
                bounded |=
                    reads_it(a) && matches!(*program.expr(b), Expr::Literal(end) if end.as_int().is_some());
            }
            _ => {}
        }
    }
    let inside = |mut node: NodeId| loop {
        match tree.parents[tree.node_regions[node.index()].index()] {
            Some((holder, _)) if holder == id => return true,
            Some((holder, _)) => node = holder,
            None => return false,
        }
    };
    counts && bounded && var_writes[var.index()].iter().all(|&write| write == first || !inside(write))
}

/// For each region, whether constants let it run.
fn reachable(program: &Program, tree: &Tree, fates: &[Fate]) -> Vec<bool> {
    let mut reachable = vec![true; program.regions().len()];
    // Regions are numbered after those that hold them.
    for i in 0..reachable.len() {
        let Some((holder, _)) = tree.parents[i] else { continue };
        let around = tree.node_regions[holder.index()];
        let runs = match fates[holder.index()] {
            Fate::Stays => true,
            Fate::Becomes(block) => block.index() == i,
            Fate::Gone => false,
        };
        reachable[i] = runs && reachable[around.index()];
    }
    reachable
}
