//! The verifier: what an emitter may rely on.
//!
//! * *Tables.* Ids are in range. Block 0 is the body and every other block belongs to one instruction, so
//!   blocks form a tree; each instruction stands at most once.
//! * *Dominance.* A value is used after its instruction, in the same block or one inside it. The body and
//!   the continuing block of a loop do not see each other's values.
//! * *Flow.* Break and continue stand in a loop's body, nothing follows them or a return in a block, and a
//!   continuing block has no break, continue or return of its own loop. Values that stand in branches do
//!   not leave them: locals do that, and a local is set on some path before it is read.
//! * *Types.* Operands and results follow the op tables; conditions are bool, indices u32. Elements in
//!   memory and launch data are never bool, float constants are finite.
//! * *Access.* What is stored or used atomically is writable; atomics meet atomic elements; a trap record
//!   and launch data have their shapes.
//! * *Vectors.* Whole vectors are loaded and stored in arrays of vectors, with a proof and never a guard;
//!   only parts read what was loaded.
//! * *Windows.* The windows of a buffer are bindings one after the other, and an index into one is masked to it.
//! * *Guards.* A guarded load's index is a select between the index and a constant element that every
//!   array has; a guarded store or atomic stands under an `if`. An integer's divisor is a constant that is
//!   right for every dividend, a select with one, or a count of workgroups; a shift's amount is a constant
//!   below 32 or masked to it.
//! * *Ops.* None is left that devices lack or get wrong: see [`ops`].

mod ops;
mod types;
mod windows;

use std::ops::Deref;

use super::{BlockId, InstId, KernelDescriptor, Op};

/// A descriptor that the verifier accepted: what emitters take.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedKernel(KernelDescriptor);

impl Deref for VerifiedKernel {
    type Target = KernelDescriptor;
    fn deref(&self) -> &KernelDescriptor {
        &self.0
    }
}

/// How a descriptor breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}` breaks an invariant of descriptors at {}: {rule}", at.map_or("its tables".to_owned(), |id| format!("%{}", id.0)))]
pub struct VerifyError {
    /// The kernel's name.
    pub kernel: String,
    /// The instruction, if one is to blame.
    pub at: Option<InstId>,
    /// What should have held.
    pub rule: &'static str,
}

/// A broken rule, before the kernel's name is added.
type Broken = (Option<InstId>, &'static str);

/// Fails with the rule unless it holds.
fn ensure(holds: bool, at: InstId, rule: &'static str) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err((Some(at), rule)) }
}

/// Checks a descriptor.
///
/// # Errors
/// The first broken invariant, in the order of the body.
pub fn verify(kernel: KernelDescriptor) -> Result<VerifiedKernel, VerifyError> {
    match types::declarations(&kernel).and_then(|()| Walk::new(&kernel).run()) {
        Ok(()) => Ok(VerifiedKernel(kernel)),
        Err((at, rule)) => Err(VerifyError { kernel: kernel.name, at, rule }),
    }
}

/// What a block is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Body,
    Branch,
    LoopBody,
    Continuing,
}

/// A block that the walk is in.
struct Frame {
    block: BlockId,
    next: usize,
    kind: Kind,
    /// The values that the block made, to be forgotten at its end.
    made: Vec<InstId>,
    /// The block that is walked after this one: the other branch, or the end of the trip.
    after: Option<(BlockId, Kind)>,
}

/// A walk over the body in order.
struct Walk<'a> {
    kernel: &'a KernelDescriptor,
    /// Whether the instruction's value can be used here.
    visible: Vec<bool>,
    placed: Vec<bool>,
    entered: Vec<bool>,
    set: Vec<bool>,
    frames: Vec<Frame>,
}

impl<'a> Walk<'a> {
    fn new(kernel: &'a KernelDescriptor) -> Self {
        Self {
            kernel,
            visible: vec![false; kernel.insts.len()],
            placed: vec![false; kernel.insts.len()],
            entered: vec![false; kernel.blocks.len()],
            set: vec![false; kernel.locals.len()],
            frames: Vec::new(),
        }
    }

    fn run(mut self) -> Result<(), Broken> {
        self.enter(BlockId(0), Kind::Body, None).map_err(|rule| (None, rule))?;
        while let Some(frame) = self.frames.last_mut() {
            let block = self.kernel.blocks.get(frame.block.index()).map_or(&[][..], Vec::as_slice);
            let Some(&id) = block.get(frame.next) else {
                for id in std::mem::take(&mut frame.made) {
                    self.visible[id.index()] = false;
                }
                let after = frame.after;
                self.frames.pop();
                if let Some((block, kind)) = after {
                    self.enter(block, kind, None).map_err(|rule| (None, rule))?;
                }
                continue;
            };
            frame.next += 1;
            let is_last = frame.next == block.len();
            self.inst(id, is_last)?;
        }
        Ok(())
    }

    fn enter(
        &mut self,
        block: BlockId,
        kind: Kind,
        after: Option<(BlockId, Kind)>,
    ) -> Result<(), &'static str> {
        match self.entered.get_mut(block.index()) {
            None => Err("every block is in the table, the body as block 0"),
            Some(true) => Err("a block belongs to one instruction"),
            Some(entered) => {
                *entered = true;
                self.frames.push(Frame { block, next: 0, kind, made: Vec::new(), after });
                Ok(())
            }
        }
    }

    fn inst(&mut self, id: InstId, is_last: bool) -> Result<(), Broken> {
        let Some(inst) = self.kernel.insts.get(id.index()) else {
            return Err((Some(id), "every instruction is in the table"));
        };
        ensure(!self.placed[id.index()], id, "an instruction stands at one place")?;
        self.placed[id.index()] = true;
        for operand in inst.op.operands() {
            let visible = self.visible.get(operand.index()).copied().unwrap_or(false);
            ensure(visible, id, "operands are values that dominate the instruction")?;
        }
        types::check(self.kernel, id)?;
        ops::check(self.kernel, id)?;
        self.guarded(id)?;
        match inst.op {
            Op::Get(local) => {
                let set = self.set.get(local.index()).copied().unwrap_or(false);
                ensure(set, id, "a local is in the table and set before it is read")?;
            }
            Op::Set(local, _) => match self.set.get_mut(local.index()) {
                Some(set) => *set = true,
                None => return Err((Some(id), "a local is in the table")),
            },
            _ => {}
        }
        if let Op::Break | Op::Continue | Op::Return = inst.op {
            ensure(is_last, id, "nothing follows a break, continue or return in its block")?;
            let around = self.frames.iter().rev().map(|frame| frame.kind);
            let innermost = around.clone().find(|kind| matches!(kind, Kind::LoopBody | Kind::Continuing));
            if inst.op == Op::Return {
                let continuing = around.clone().any(|kind| kind == Kind::Continuing);
                ensure(!continuing, id, "a continuing block does not return")?;
            } else {
                ensure(innermost == Some(Kind::LoopBody), id, "break and continue stand in a loop's body")?;
            }
        }
        if inst.ty.is_some() {
            self.visible[id.index()] = true;
            if let Some(frame) = self.frames.last_mut() {
                frame.made.push(id);
            }
        }
        let (first, kind, after) = match inst.op {
            Op::If { then, otherwise, .. } => (then, Kind::Branch, (otherwise, Kind::Branch)),
            Op::Loop { body, continuing } => (body, Kind::LoopBody, (continuing, Kind::Continuing)),
            _ => return Ok(()),
        };
        self.enter(first, kind, Some(after)).map_err(|rule| (Some(id), rule))
    }

    /// Whether a guarded access has its guard.
    fn guarded(&self, id: InstId) -> Result<(), Broken> {
        let under_if = self.frames.iter().any(|frame| frame.kind == Kind::Branch);
        ops::guard(self.kernel, id, under_if)
    }
}
