//! The instructions that carry values from part to part.
//!
//! How an invocation left the flow is one word: 0 if it did not, [`RETURNED`], or a number for the `break` and
//! one for the `continue` of each unrolled loop. A part is run by the invocations that have not left and took its
//! branches; a `return` or jump notes how it leaves, keeps what the part changed, and ends the invocation's
//! part.

use vyre_foundation::check::Uniformity;
use vyre_foundation::ir::{self, Node, NodeId, SharedId, VarId};
use vyre_spec::DataType;
use vyre_spec::ops::BinaryOp;

use super::live::Crossing;
use super::split::{Part, Reset};
use crate::analysis::first_write::written_first;
use crate::error::LowerError;
use crate::kernel::{BlockId, InstId, LaunchField, Op, Place, Proof};
use crate::legalize::{device_type, from_launch_word, halves, join};
use crate::lower::Lowering;
use crate::writer::{SCRATCH_BINDING, Writer};

/// The invocation has returned.
const RETURNED: u32 = 1;

/// The invocation has left a trip of an unrolled loop: by `break`, or by `continue`.
fn left(number: u32, by_break: bool) -> u32 {
    2 + 2 * number + u32::from(!by_break)
}

/// The addresses of the two words of element `index` of a shared array whose words begin at `start`.
fn pair(w: &mut Writer, start: InstId, index: InstId) -> [InstId; 2] {
    let offset = w.raw_lit(BinaryOp::Mul, index, 2u32);
    let low = w.raw(BinaryOp::Add, start, offset);
    [low, w.raw_lit(BinaryOp::Add, low, 1u32)]
}

/// Loads a word of scratch memory.
pub(crate) fn load_bits(w: &mut Writer, index: InstId) -> InstId {
    w.value(Op::Load { place: Place::Binding(SCRATCH_BINDING), index, proof: SIZED }, DataType::U32)
}

/// Stores a word of scratch memory.
pub(crate) fn store_bits(w: &mut Writer, index: InstId, value: InstId) {
    w.effect(Op::Store { place: Place::Binding(SCRATCH_BINDING), index, value, proof: SIZED });
}

const SIZED: Proof = Proof::Proven("scratch memory is sized for the launch");

/// The words of scratch memory that a value of this type takes, as the device computes it: one, or two with the low
/// half first.
pub(super) fn words(ty: DataType) -> u32 {
    if is_wide(ty) { 2 } else { 1 }
}

fn is_wide(ty: DataType) -> bool {
    device_type(ty).size() == 8
}

impl Lowering<'_, '_> {
    /// How many invocations the launch has. The host makes no launch whose scratch words pass 2^32.
    fn invocations(&mut self) -> InstId {
        let groups = self.shape.workgroups(&mut self.w);
        let size = self.shape.invocations();
        self.w.in_prelude(|w| w.raw_lit(BinaryOp::Mul, groups, size))
    }

    /// The address of a word of this invocation.
    fn own_word(&mut self, word: u32) -> InstId {
        let linear = self.shape.linear_invocation(&mut self.w);
        if word == 0 {
            return linear;
        }
        let invocations = self.invocations();
        self.w.in_prelude(|w| {
            let row = w.raw_lit(BinaryOp::Mul, invocations, word);
            w.raw(BinaryOp::Add, row, linear)
        })
    }

    /// The addresses of the words of an element of a private array in scratch memory: of the low half and, if the
    /// elements have 64 bits, of the high one.
    pub(crate) fn own_element(&mut self, first: u32, index: InstId, wide: bool) -> (InstId, Option<InstId>) {
        let start = self.own_word(first);
        let invocations = self.invocations();
        let index = if wide { self.w.raw_lit(BinaryOp::Mul, index, 2u32) } else { index };
        let offset = self.w.raw(BinaryOp::Mul, index, invocations);
        let low = self.w.raw(BinaryOp::Add, start, offset);
        (low, wide.then(|| self.w.raw(BinaryOp::Add, low, invocations)))
    }

    fn read_bits(&mut self, word: u32) -> InstId {
        let index = self.own_word(word);
        self.scratch = true;
        load_bits(&mut self.w, index)
    }

    fn read_word(&mut self, word: u32, ty: DataType) -> InstId {
        let bits = self.read_bits(word);
        if is_wide(ty) {
            let high = self.read_bits(word + 1);
            return join(&mut self.w, device_type(ty), bits, high);
        }
        match ty {
            DataType::Bool => self.w.raw_lit(BinaryOp::Ne, bits, 0u32),
            ty => self.w.bitcast(device_type(ty), bits),
        }
    }

    fn write_bits(&mut self, word: u32, bits: InstId) {
        let index = self.own_word(word);
        self.scratch = true;
        store_bits(&mut self.w, index, bits);
    }

    fn write_word(&mut self, word: u32, value: InstId) {
        if is_wide(self.w.ty(value)) {
            let [low, high] = halves(&mut self.w, value);
            self.write_bits(word, low);
            return self.write_bits(word + 1, high);
        }
        let bits = match self.w.ty(value) {
            DataType::Bool => {
                let (one, zero) = (self.w.lit(1u32), self.w.lit(0u32));
                self.w.select(value, one, zero)
            }
            _ => self.w.bitcast(DataType::U32, value),
        };
        self.write_bits(word, bits);
    }

    /// Enters the block of those invocations that run the part; gives the block to leave to, if they are not
    /// all. Then takes over what other parts left.
    pub(crate) fn begin_part(&mut self) -> Option<BlockId> {
        let (part, crossing): (&Part, &Crossing) = (self.part, self.crossing);
        let outer = self.w.current();
        let mut tests = Vec::new();
        if let Some(exit) = self.split.layout.exit {
            let how = self.read_word(exit, DataType::U32);
            if let Some(reset) = part.resets {
                self.end_jumps(exit, how, reset);
                return None;
            }
            tests.push(self.w.raw_lit(BinaryOp::Eq, how, 0u32));
        }
        for &(branch, taken) in &part.guards {
            let Some(word) = self.split.layout.nodes[branch.index()] else { continue };
            let went = self.read_word(word, DataType::U32);
            let op = if taken { BinaryOp::Ne } else { BinaryOp::Eq };
            tests.push(self.w.raw_lit(op, went, 0u32));
        }
        let condition = tests.into_iter().reduce(|all, test| self.w.raw(BinaryOp::BitAnd, all, test));
        if let Some(condition) = condition {
            let (then, otherwise) = (self.w.block(), self.w.block());
            self.w.effect(Op::If { condition, then, otherwise });
            self.w.enter(Some(then));
        }
        for &(node, ty) in &crossing.loops {
            if let Some(number) = self.split.shape.loops[node.index()] {
                let field = LaunchField::LoopVar(number);
                self.results[node.index()] = Some(if is_wide(ty) {
                    let [low, high] = [field, LaunchField::LoopVarHigh(number)]
                        .map(|field| self.w.launch(field, DataType::U32));
                    self.w.in_prelude(|w| join(w, device_type(ty), low, high))
                } else {
                    self.launch_value(field, ty)
                });
            }
        }
        for &(node, ty) in &crossing.results {
            if let Some(word) = self.split.layout.nodes[node.index()] {
                self.results[node.index()] = Some(self.read_word(word, ty));
            }
        }
        for &var in &crossing.restores {
            if let Some(word) = self.split.layout.vars[var.index()] {
                let value = self.read_word(word, self.program.var(var).ty);
                let local = self.local(var);
                self.w.set(local, value);
            }
        }
        condition.and(outer)
    }

    /// Ends the jumps of an unrolled loop.
    fn end_jumps(&mut self, exit: u32, how: InstId, reset: Reset) {
        let mut ends = self.w.raw_lit(BinaryOp::Eq, how, left(reset.number, false));
        if reset.breaks {
            let broke = self.w.raw_lit(BinaryOp::Eq, how, left(reset.number, true));
            ends = self.w.raw(BinaryOp::BitOr, ends, broke);
        }
        let zero = self.w.lit(0u32);
        let how = self.w.select(ends, zero, how);
        self.write_word(exit, how);
    }

    /// Keeps a node's result, if another part reads it.
    pub(crate) fn keep_result(&mut self, node: NodeId, result: Option<InstId>) {
        if let (Some(word), Some(value)) = (self.split.layout.nodes[node.index()], result) {
            self.write_word(word, value);
        }
    }

    /// Keeps what the part changed, at its end.
    pub(crate) fn end_part(&mut self) {
        let (part, crossing) = (self.part, self.crossing);
        let ends = part.nodes.last().map(|&last| *self.program.node(last));
        if let Some(Node::Return | Node::Break | Node::Continue) = ends {
            return;
        }
        if let Some(Node::If { condition, .. }) = part.saves.map(|branch| *self.program.node(branch)) {
            let exprs = self.placement.at_end(part.region);
            self.place(exprs);
            let value = self.value(condition);
            let word = part.saves.and_then(|branch| self.split.layout.nodes[branch.index()]);
            if let Some(word) = word {
                self.write_word(word, value);
            }
        }
        self.keep_variables(&crossing.keeps);
    }

    fn keep_variables(&mut self, vars: &[VarId]) {
        for &var in vars {
            // One that is not declared yet where a jump leaves the part is in no scope that goes on.
            if let (Some(word), Some(local)) = (self.split.layout.vars[var.index()], self.locals[var.index()])
            {
                let value = self.w.get(local);
                self.write_word(word, value);
            }
        }
    }

    /// A `return`, or a jump out of a trip of an unrolled loop. Gives whether the node is one; another jump is the
    /// part's own.
    pub(crate) fn leave_part(&mut self, id: NodeId) -> Result<bool, LowerError> {
        let number = self.split.shape.jump_target(self.facts, id);
        let how = match (self.program.node(id), number) {
            (Node::Return, _) => RETURNED,
            (Node::Break, Some(number)) => left(number, true),
            (Node::Continue, Some(number)) => left(number, false),
            _ => return Ok(false),
        };
        if how != RETURNED {
            self.keep_variables(&self.crossing.keeps);
        }
        if !self.crossing.stores.is_empty() {
            if self.facts.flow(id) > Uniformity::Workgroup {
                let arrays = &self.program.shared();
                let array = self.crossing.stores.first().and_then(|&array| arrays.get(array as usize));
                let array = array.map_or_else(String::new, |array| array.name.clone());
                return Err(LowerError::GridSyncApart { node: id, array });
            }
            if how != RETURNED {
                self.store_shared();
            }
        }
        if let Some(exit) = self.split.layout.exit {
            let how = self.w.lit(how);
            self.write_word(exit, how);
        }
        self.w.effect(Op::Return);
        Ok(true)
    }

    /// Whether the kernel begins with loading the array from scratch memory.
    fn loads_shared(&self, array: SharedId) -> bool {
        // A part that may be skipped stores the array all the same.
        let always = self.part.guards.is_empty() && self.split.layout.exit.is_none();
        self.split.layout.shared[array.index()].is_some()
            && self.uses_shared(array)
            && !(always && written_first(self.program, self.facts, self.part, array))
    }

    /// Whether a node of the part uses the array.
    pub(crate) fn uses_shared(&self, array: SharedId) -> bool {
        self.shared_used[array.index()]
    }

    /// The shared arrays that the kernel begins with loading.
    pub(crate) fn loaded_shared(&self) -> Vec<u32> {
        let all = (0..self.bindings.shared.len() as u32).map(SharedId::new);
        all.filter(|&array| self.loads_shared(array)).map(SharedId::raw).collect()
    }

    /// Stores the shared arrays that the part changed, each element by one invocation, when all are done.
    pub(crate) fn store_shared(&mut self) {
        let arrays = &self.crossing.stores;
        if arrays.is_empty() {
            return;
        }
        self.w.effect(Op::Barrier { storage: false, workgroup: true });
        for &array in arrays {
            let start = self.group_word(array);
            let element = self.bindings.shared[array as usize].element;
            self.each_element(array, |w, index, proof| {
                let value = w.value(Op::Load { place: Place::Shared(array), index, proof }, element);
                if is_wide(element) {
                    let [low, high] = halves(w, value);
                    let [at, next] = pair(w, start, index);
                    store_bits(w, at, low);
                    return store_bits(w, next, high);
                }
                let value = w.bitcast(DataType::U32, value);
                let index = w.raw(BinaryOp::Add, start, index);
                store_bits(w, index, value);
            });
        }
        self.scratch = true;
    }

    /// Loads a shared array from scratch memory, each element by one invocation.
    pub(crate) fn load_shared(&mut self, array: u32) {
        let start = self.group_word(array);
        let element = self.bindings.shared[array as usize].element;
        self.each_element(array, |w, index, proof| {
            let value = if is_wide(element) {
                let [low, high] = pair(w, start, index).map(|at| load_bits(w, at));
                join(w, element, low, high)
            } else {
                let address = w.raw(BinaryOp::Add, start, index);
                let value = load_bits(w, address);
                w.bitcast(element, value)
            };
            w.effect(Op::Store { place: Place::Shared(array), index, value, proof });
        });
        self.scratch = true;
    }

    /// The address of a shared array's first word of this workgroup.
    fn group_word(&mut self, array: u32) -> InstId {
        let words = self.split.layout.scratch;
        let invocations = self.invocations();
        let group = self.shape.linear_group(&mut self.w);
        let offset = self.split.layout.shared[array as usize].unwrap_or(0);
        self.w.in_prelude(|w| {
            let before = w.raw_lit(BinaryOp::Mul, invocations, words.invocation_words);
            let groups = w.raw_lit(BinaryOp::Mul, group, words.workgroup_words);
            let start = w.raw(BinaryOp::Add, before, groups);
            w.raw_lit(BinaryOp::Add, start, offset)
        })
    }

    /// The word of a place that is kept in scratch memory: the first of a private array.
    pub(crate) fn kept_private(&self, place: ir::Place) -> Option<u32> {
        match place {
            ir::Place::Private(id) => self.split.layout.privates[id.index()],
            _ => None,
        }
    }

    /// A word of launch data as a value of the program, of at most 32 bits.
    pub(crate) fn launch_value(&mut self, field: LaunchField, ty: DataType) -> InstId {
        let word = self.w.launch(field, DataType::U32);
        self.w.in_prelude(|w| from_launch_word(w, ty, word))
    }
}
