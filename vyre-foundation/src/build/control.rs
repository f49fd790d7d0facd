//! Blocks, loops, barriers and traps.

use std::panic::Location;

use vyre_spec::{FenceScope, MemoryOrdering, class};

use super::{IntoVal, Kernel, Val};
use crate::ir::{Expr, Node, RegionId};

impl Kernel {
    /// Records a block into a region.
    pub(super) fn in_region<R>(&self, region: RegionId, body: impl FnOnce() -> R) -> R {
        let outer = self.region.replace(region);
        let result = body();
        self.region.set(outer);
        result
    }

    fn new_region(&self) -> RegionId {
        self.arena.borrow_mut().region()
    }

    /// Runs the block where the condition holds.
    #[track_caller]
    pub fn if_<'k>(&'k self, condition: impl IntoVal<'k, bool>, then: impl FnOnce()) {
        self.if_else(condition, then, || {});
    }

    /// Runs the first block where the condition holds, the second elsewhere.
    /// [`Val::select`] chooses between values without a block.
    #[track_caller]
    pub fn if_else<'k>(
        &'k self,
        condition: impl IntoVal<'k, bool>,
        then: impl FnOnce(),
        otherwise: impl FnOnce(),
    ) {
        let at = Location::caller();
        let condition = condition.expr(self, at);
        let (then_region, else_region) = (self.new_region(), self.new_region());
        self.push(Node::If { condition, then: then_region, otherwise: else_region }, at);
        self.in_region(then_region, then);
        self.in_region(else_region, otherwise);
    }

    /// Runs the block for `start`, `start + 1`, … below `end`; the bounds are evaluated once.
    #[track_caller]
    pub fn for_<'k, T: class::Int>(
        &'k self,
        start: impl IntoVal<'k, T>,
        end: impl IntoVal<'k, T>,
        body: impl FnOnce(Val<'k, T>),
    ) {
        self.for_step(start, end, T::from_bits64(1), body);
    }

    /// Runs the block for `start`, `start + step`, … below `end`; bounds and step are evaluated once, and a
    /// step of zero or less means no trip.
    #[track_caller]
    pub fn for_step<'k, T: class::Int>(
        &'k self,
        start: impl IntoVal<'k, T>,
        end: impl IntoVal<'k, T>,
        step: impl IntoVal<'k, T>,
        body: impl FnOnce(Val<'k, T>),
    ) {
        let at = Location::caller();
        let (start, end) = (start.expr(self, at), end.expr(self, at));
        let step = step.expr(self, at);
        let region = self.new_region();
        let node = self.push(Node::For { start, end, step, body: region }, at);
        let variable = self.expr(Expr::LoopVar(node), at);
        self.in_region(region, || body(variable));
    }

    /// Runs the block while the condition holds. Loads and variables are read in the first closure on each
    /// trip; what it reads is usable in the block.
    ///
    /// ```
    /// use vyre_foundation::build::Kernel;
    /// Kernel::build("collatz", |k| {
    ///     let x = k.read_write::<u32>("x");
    ///     k.domain([x.len()], |[i]| {
    ///         let (n, steps) = (k.var("n", x.load(i)), k.var("steps", 0u32));
    ///         k.while_(|| n.get().gt(1), || {
    ///             let v = n.get();
    ///             n.set((v & 1).eq(0).select(v >> 1, v * 3 + 1));
    ///             steps.set(steps.get() + 1);
    ///         });
    ///         x.store(i, steps.get());
    ///     });
    /// })?;
    /// # Ok::<(), vyre_foundation::build::BuildError>(())
    /// ```
    #[track_caller]
    pub fn while_<'k, C: IntoVal<'k, bool>>(&'k self, condition: impl FnOnce() -> C, body: impl FnOnce()) {
        let at = Location::caller();
        let (head, region) = (self.new_region(), self.new_region());
        let condition = self.in_region(head, condition).expr(self, at);
        self.push(Node::While { head, condition, body: region }, at);
        self.in_region(region, body);
    }

    /// Leaves the innermost loop.
    #[track_caller]
    pub fn break_(&self) {
        self.push(Node::Break, Location::caller());
    }

    /// Goes to the next trip of the innermost loop.
    #[track_caller]
    pub fn continue_(&self) {
        self.push(Node::Continue, Location::caller());
    }

    /// Ends the invocation.
    #[track_caller]
    pub fn return_(&self) {
        self.push(Node::Return, Location::caller());
    }

    /// The workgroup meets, and memory is ordered.
    #[track_caller]
    pub fn barrier(&self, ordering: MemoryOrdering) {
        self.push(Node::Barrier { ordering }, Location::caller());
    }

    /// Orders this invocation's accesses before against those after, as others see them; nobody waits.
    #[track_caller]
    pub fn fence(&self, ordering: MemoryOrdering, scope: FenceScope) {
        self.push(Node::Fence { ordering, scope }, Location::caller());
    }

    /// Records a fault: the dispatch then gives the host an error with the program's own `code` and
    /// `address` (such as an index) in place of outputs. The invocation goes on.
    #[track_caller]
    pub fn trap<'k>(&'k self, code: u32, address: impl IntoVal<'k, u32>) {
        let at = Location::caller();
        let address = address.expr(self, at);
        self.push(Node::Trap { code, address }, at);
    }
}
