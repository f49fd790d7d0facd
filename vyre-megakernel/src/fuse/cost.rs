//! The cost model: bytes that a kernel moves, what it computes, and its launch, by the extents that are known.
//!
//! An array counts once however often its elements are read, since caches serve the rest, and no more than what is read of
//! it. Dimensions that only a run settles count as [`TYPICAL`]. The three are added up as bytes: a launch and an operation
//! are worth what the device moves in their time. A kernel of few invocations, or of workgroups whose shared memory leaves
//! no room for others, keeps the device less busy, so what it moves and computes counts for more.

use vyre_foundation::ir::{Expr, ExprId, Node, Place};
use vyre_spec::{DeviceProfile, ErrorBound};

use super::context::Context;
use super::form::Form;
use super::kernel::Kernel;
use super::plan::Cost;
use super::quantity::{Atom, Op, Quantity};

/// What a dimension counts as that is not known.
const TYPICAL: u64 = 1 << 16;
/// Trips of a loop of which nothing is known.
const TRIPS: u64 = 8;

/// What the parts of a cost are worth on a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth {
    /// Bytes for a launch.
    launch: u64,
    /// Operations for a byte.
    operations: u64,
    /// Invocations that keep the device busy.
    invocations: u64,
    /// Bytes of shared memory of which two workgroups fit side by side.
    shared: u64,
}

impl Worth {
    pub(crate) fn of(profile: &DeviceProfile) -> Self {
        // A launch takes a GPU a few microseconds, in which it moves some megabytes; it computes an order of magnitude
        // faster than it moves bytes, once it has some ten thousands of invocations. A processor's threads start at
        // once and have no such surplus.
        let (launch, operations, invocations) =
            if profile.is_software { (1 << 16, 2, 1 << 10) } else { (1 << 22, 16, 1 << 16) };
        Self { launch, operations, invocations, shared: u64::from(profile.max_shared_bytes / 2) }
    }

    /// What a kernel costs, and what that is worth in bytes.
    pub(crate) fn of_kernel(self, cx: &mut Context, kernel: &Kernel) -> (Cost, u64) {
        let cost = cost(cx, kernel);
        let work = cost.bytes.saturating_add(cost.operations / self.operations);
        let idle = (self.invocations / invocations(cx, kernel).max(1)).max(1);
        let work = work.saturating_mul(idle);
        let work = if shared_bytes(kernel) > self.shared { work.saturating_add(work / 4) } else { work };
        (cost, work.saturating_add(cost.launches.saturating_mul(self.launch)))
    }
}

/// Bytes of shared memory of a workgroup.
pub(crate) fn shared_bytes(kernel: &Kernel) -> u64 {
    let arrays = kernel.program.shared().iter();
    arrays.map(|array| u64::from(array.len) * u64::from(array.element.size().max(4))).sum()
}

/// About how many invocations a kernel has.
fn invocations(cx: &Context, kernel: &Kernel) -> u64 {
    let extents = kernel.extent(cx);
    let points = extents.map_or(TYPICAL, |extents| product(extents.iter().map(|q| estimate(cx, q))));
    let size = kernel.program.launch().workgroup_size().unwrap_or([1; 3]);
    points.saturating_mul(product(size.into_iter().map(u64::from)))
}

/// What a kernel costs.
fn cost(cx: &mut Context, kernel: &Kernel) -> Cost {
    let (forms, _) = kernel.forms(cx);
    let program = &kernel.program;
    let invocations = invocations(cx, kernel);
    // How often each region runs. Regions are numbered after those that hold them.
    let mut runs = vec![invocations; program.regions().len()];
    for i in 1..runs.len() {
        let region = vyre_foundation::ir::RegionId::new(i as u32);
        let Some((holder, _)) = program.facts().parent(region) else { continue };
        let around = runs.get(program.facts().region_of(holder).index()).copied().unwrap_or(0);
        let trips = match *program.node(holder) {
            Node::For { start, end, step, .. } => trips(cx, &forms, [start, end, step]),
            Node::While { .. } => TRIPS,
            _ => 1,
        };
        if let Some(runs) = runs.get_mut(i) {
            *runs = around.saturating_mul(trips);
        }
    }
    let runs_of = |region: vyre_foundation::ir::RegionId| runs.get(region.index()).copied().unwrap_or(0);
    let mut operations = 0u64;
    for (i, expr) in program.exprs().iter().enumerate() {
        let home = program.facts().home(ExprId::new(i as u32));
        operations = operations.saturating_add(weight(expr).saturating_mul(runs_of(home)));
    }
    let (mut loads, mut stores) = (vec![0u64; kernel.uses.len()], vec![0u64; kernel.uses.len()]);
    for (i, node) in (0..).map(vyre_foundation::ir::NodeId::new).zip(program.nodes()) {
        let times = runs_of(program.facts().region_of(i));
        let Some(Place::Buffer(buffer)) = node.place() else { continue };
        let is_load = matches!(node, Node::Load { .. } | Node::Atomic { .. });
        let is_store = matches!(node, Node::Store { .. } | Node::Atomic { .. });
        for (is_one, counts) in [(is_load, &mut loads), (is_store, &mut stores)] {
            if let Some(count) = counts.get_mut(buffer.index()).filter(|_| is_one) {
                *count = count.saturating_add(times);
            }
        }
    }
    let mut bytes = 0u64;
    for (i, buffer) in program.buffer_ids().zip(program.buffers()) {
        let one = kernel.values(i);
        let Some(value) = one.input.or(one.output) else { continue };
        let length = cx.value(value).length.clone();
        let length = estimate(cx, &length);
        let at = |counts: &[u64]| counts.get(i.index()).copied().unwrap_or(0).min(length);
        let elements = at(&loads).saturating_add(at(&stores));
        bytes = bytes.saturating_add(elements.saturating_mul(u64::from(buffer.element.size())));
    }
    Cost { bytes, operations, launches: 1 }
}

fn product(factors: impl Iterator<Item = u64>) -> u64 {
    factors.fold(1, u64::saturating_mul)
}

/// Simple operations that an expression is worth.
fn weight(expr: &Expr) -> u64 {
    let by = |bound: ErrorBound| if bound == ErrorBound::Exact { 1 } else { 8 };
    match *expr {
        Expr::Unary(op, _) => by(op.bound()),
        Expr::Binary(op, ..) => by(op.bound()),
        Expr::Ternary(op, ..) => by(op.bound()),
        Expr::Cast(..) => 1,
        _ => 0,
    }
}

/// How often a counted loop runs its body.
fn trips(cx: &Context, forms: &[Option<Form>], [start, end, step]: [ExprId; 3]) -> u64 {
    let constant = |id: ExprId| {
        let form = forms.get(id.index()).and_then(Option::as_ref)?;
        form.as_constant().map(|quantity| estimate(cx, &quantity))
    };
    let (Some(end), Some(step)) = (constant(end), constant(step)) else { return TRIPS };
    end.saturating_sub(constant(start).unwrap_or(0)).div_ceil(step.max(1))
}

/// About how much a quantity is.
pub(crate) fn estimate(cx: &Context, quantity: &Quantity) -> u64 {
    let atoms = quantity.atoms().iter().map(|&atom| match cx.quantities.get(atom) {
        Some(Atom::Op(op, a, b)) => {
            // What they are made of is known without going deeper: products of symbols.
            let flat =
                |q: &Quantity| q.factor().saturating_mul(TYPICAL.saturating_pow(q.atoms().len() as u32));
            let (a, b) = (flat(a), flat(b));
            match op {
                Op::Add => a.saturating_add(b),
                Op::Sub => a.saturating_sub(b),
                Op::CeilDiv => a.div_ceil(b.max(1)),
                Op::Min => a.min(b),
                Op::Max => a.max(b),
            }
        }
        _ => TYPICAL,
    });
    quantity.factor().saturating_mul(product(atoms))
}
