//! Kernels without `return`, for drivers whose compilers fail on one that is not at the end.
//!
//! A return sets a flag and, in a loop, leaves it; the loops around that one are left as well, and what follows
//! outside of loops runs only where the flag is not set. A branch that always returns needs no flag: what follows
//! it becomes part of the other branch.

use vyre_spec::DataType;

use crate::kernel::{Block, BlockId, InstId, LocalId, Op};
use crate::writer::Writer;

/// Blocks that stand inside each other because of this pass, at most: emitters take only so many. What would need more
/// keeps its returns.
const DEEPEST: u32 = 64;

/// Takes the returns out of an unfinished body.
pub(crate) fn remove(w: &mut Writer) {
    let returns = returning(w);
    if returns.first() == Some(&true) {
        Removal { w, returns, flag: None }.run();
    }
}

/// The blocks that a branch or loop runs.
fn held(op: Op) -> Option<[BlockId; 2]> {
    match op {
        Op::If { then, otherwise, .. } => Some([then, otherwise]),
        Op::Loop { body, continuing } => Some([body, continuing]),
        _ => None,
    }
}

/// Of each block, whether it or a block inside it returns.
fn returning(w: &Writer) -> Vec<bool> {
    let mut returns = vec![false; w.blocks.len()];
    if !w.insts.iter().any(|inst| inst.op == Op::Return) {
        return returns;
    }
    let mut order = vec![BlockId(0)];
    let mut next = 0;
    while let Some(&block) = order.get(next) {
        next += 1;
        let inner = w.blocks[block.index()].iter().filter_map(|id| held(w.insts[id.index()].op));
        order.extend(inner.flatten());
    }
    // Blocks stand after those that hold them.
    for &block in order.iter().rev() {
        returns[block.index()] = w.blocks[block.index()].iter().any(|id| {
            let op = w.insts[id.index()].op;
            op == Op::Return || held(op).is_some_and(|held| held.iter().any(|b| returns[b.index()]))
        });
    }
    returns
}

struct Removal<'w> {
    w: &'w mut Writer,
    returns: Vec<bool>,
    flag: Option<LocalId>,
}

/// A block whose returns are to go.
struct Open {
    block: BlockId,
    in_loop: bool,
    /// Whether nothing runs after it.
    is_last: bool,
    /// How many blocks stand around it because of this pass.
    depth: u32,
}

impl Removal<'_> {
    fn run(&mut self) {
        let mut open = vec![Open { block: BlockId(0), in_loop: false, is_last: true, depth: 0 }];
        while let Some(Open { block, in_loop, is_last, depth }) = open.pop() {
            let insts = self.w.reopen(Some(block));
            for (position, &id) in insts.iter().enumerate() {
                let op = self.w.insts[id.index()].op;
                if op == Op::Return {
                    self.leave(in_loop, is_last);
                    continue;
                }
                self.w.keep(id);
                let Some(inner) = held(op).filter(|held| held.iter().any(|&b| self.does_return(b))) else {
                    continue;
                };
                let rest = &insts[position + 1..];
                let is_loop = matches!(op, Op::Loop { .. });
                if !in_loop && depth >= DEEPEST && !rest.is_empty() {
                    // It keeps its returns.
                    continue;
                }
                for block in inner.into_iter().filter(|&b| self.does_return(b)) {
                    let is_last = is_last && rest.is_empty() && !is_loop;
                    open.push(Open { block, in_loop: in_loop || is_loop, is_last, depth });
                }
                if in_loop && is_loop {
                    let flag = self.flag();
                    let left = self.w.get(flag);
                    self.w.when(left, |w| w.effect(Op::Break));
                } else if !in_loop && !rest.is_empty() {
                    let block = self.follow(op, is_last, rest.to_vec());
                    open.push(Open { block, in_loop, is_last, depth: depth + 1 });
                    break;
                }
            }
        }
        if let Some(flag) = self.flag {
            // In front of everything else.
            let insts = self.w.reopen(Some(BlockId(0)));
            let no = self.w.lit(false);
            self.w.set(flag, no);
            insts.into_iter().for_each(|id| self.w.keep(id));
        }
    }

    fn does_return(&self, block: BlockId) -> bool {
        self.returns.get(block.index()).copied().unwrap_or(false)
    }

    fn flag(&mut self) -> LocalId {
        match self.flag {
            Some(flag) => flag,
            None => *self.flag.insert(self.w.local(DataType::Bool)),
        }
    }

    /// What stands for a return.
    fn leave(&mut self, in_loop: bool, is_last: bool) {
        if is_last {
            return;
        }
        let (flag, yes) = (self.flag(), self.w.lit(true));
        self.w.set(flag, yes);
        if in_loop {
            self.w.effect(Op::Break);
        }
    }

    /// Puts what follows a branch or loop where only those get that have not returned; gives the block.
    fn follow(&mut self, op: Op, is_last: bool, rest: Block) -> BlockId {
        if let Some((leaving, other)) = self.leaving(op) {
            if is_last {
                // Nothing asks.
                self.w.blocks[leaving.index()].pop();
            }
            return self.fill(other, rest);
        }
        let flag = self.flag();
        let left = self.w.get(flag);
        let (then, otherwise) = (self.w.block(), self.w.block());
        self.w.effect(Op::If { condition: left, then, otherwise });
        self.fill(otherwise, rest)
    }

    /// The block of a branch that returns at its end alone, and the other one, which does not return.
    fn leaving(&self, op: Op) -> Option<(BlockId, BlockId)> {
        let Op::If { then, otherwise, .. } = op else { return None };
        let (leaving, other) = match [then, otherwise].map(|block| self.does_return(block)) {
            [true, false] => (then, otherwise),
            [false, true] => (otherwise, then),
            _ => return None,
        };
        let (last, before) = self.w.blocks[leaving.index()].split_last()?;
        let at_end = self.w.insts[last.index()].op == Op::Return;
        (at_end && !before.iter().any(|&id| self.returns_in(id))).then_some((leaving, other))
    }

    fn fill(&mut self, block: BlockId, rest: Block) -> BlockId {
        // New blocks are asked for as the others are.
        self.returns.resize(self.w.blocks.len(), false);
        self.returns[block.index()] = rest.iter().any(|id| self.returns_in(*id));
        self.w.blocks[block.index()].extend(rest);
        block
    }

    fn returns_in(&self, id: InstId) -> bool {
        let op = self.w.insts[id.index()].op;
        op == Op::Return || held(op).is_some_and(|held| held.iter().any(|&b| self.does_return(b)))
    }
}
