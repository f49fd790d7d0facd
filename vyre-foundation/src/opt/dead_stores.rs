//! Dead stores: what is written and written again before anyone could read it.
//!
//! * A store is dead if the same element is stored again later in its region, and nothing between the two could read it
//!   or let another invocation do so: no load or atomic of the array, no barrier, no branch, loop or jump.
//!   Of one invocation's two stores to a buffer, another could only see the first by a race. Out of bounds, both stores
//!   are dropped, as the index is the same expression.
//! * A write of a variable is dead if the variable is written again before a read, in the same way.
//! * At the end of the program, what variables and private arrays hold is dead.
//!
//! A trap between does not matter: it makes the host return an error in place of outputs.

use crate::check::Checked;
use crate::ir::{Arena, ExprId, LookupMap, Node, NodeId, Place, Program, RegionId, VarId};

use super::Outcome;
use super::rewrite::{Rewriter, keep};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    let mut dead = vec![false; program.nodes().len()];
    let mut overwritten = Overwritten::new(program);
    for (i, nodes) in (0..).map(RegionId::new).zip(program.regions()) {
        overwritten.start(i == program.body());
        for &id in nodes.iter().rev() {
            dead[id.index()] = overwritten.is_dead(id, program.node(id));
        }
    }
    if !dead.contains(&true) {
        return Ok(None);
    }
    let mut rewriter = Rewriter::new(program, Arena::with_declarations_of(program), keep);
    rewriter.changed = true;
    for (i, nodes) in (0..).map(RegionId::new).zip(program.regions()) {
        for &id in nodes.iter().filter(|id| !dead[id.index()]) {
            rewriter.set_node(id);
            rewriter.new.arena.place_node(i, id);
        }
    }
    rewriter.finish()
}

/// What is written again, or never read again, after a point of a region, walking backwards.
///
/// Everything that is remembered bears the time of what it was remembered at, and holds while nothing later ended it; so
/// ending all of it costs nothing.
struct Overwritten {
    time: u32,
    /// When the memory that other invocations see, and all of it, was last looked at.
    seen_by_others: u32,
    seen: u32,
    /// When each array was last looked at.
    arrays: LookupMap<Place, u32>,
    stores: LookupMap<(Place, ExprId), u32>,
    vars: Vec<u32>,
    /// When each variable was last read.
    gets: Vec<u32>,
    /// Whether this is the end of the program, up to `seen`.
    end: Option<u32>,
}

impl Overwritten {
    fn new(program: &Program) -> Self {
        let vars = program.vars().len();
        Self {
            time: 1,
            seen_by_others: 0,
            seen: 0,
            arrays: LookupMap::default(),
            stores: LookupMap::default(),
            vars: vec![0; vars],
            gets: vec![0; vars],
            end: None,
        }
    }

    /// Begins at the end of a region.
    fn start(&mut self, of_program: bool) {
        self.time += 1;
        self.seen = self.time;
        self.end = of_program.then_some(self.time);
    }

    fn is_dead(&mut self, id: NodeId, node: &Node) -> bool {
        debug_assert!(id.index() < u32::MAX as usize, "times are counted per node");
        self.time += 1;
        match *node {
            Node::Store { place, index, .. } => {
                let private = matches!(place, Place::Private(_));
                let looked_at = self.arrays.get(&place).copied().unwrap_or(0).max(self.seen);
                let looked_at = if private { looked_at } else { looked_at.max(self.seen_by_others) };
                let again = self.stores.get(&(place, index)).is_some_and(|&time| time > looked_at);
                let unread = private && self.end == Some(looked_at);
                self.stores.insert((place, index), self.time);
                again || unread
            }
            Node::Set { var, .. } => self.is_dead_set(var),
            Node::Get { var } | Node::Declare { var, .. } => {
                self.gets[var.index()] = self.time;
                false
            }
            Node::Load { place, .. } => {
                self.arrays.insert(place, self.time);
                false
            }
            Node::Trap { .. } => false,
            Node::Atomic { .. } | Node::Barrier { .. } | Node::Subgroup { .. } => {
                self.seen_by_others = self.time;
                false
            }
            _ => {
                self.seen = self.time;
                false
            }
        }
    }

    fn is_dead_set(&mut self, var: VarId) -> bool {
        let read = self.gets[var.index()].max(self.seen);
        let again = self.vars[var.index()] > read;
        let unread = self.end == Some(read);
        self.vars[var.index()] = self.time;
        again || unread
    }
}
