//! The way from a checked program to a verified descriptor.

use vyre_foundation::check::{Checked, Facts};
use vyre_foundation::ir::{self, Array, Expr, ExprId, Launch, Node, Program, VarId};
use vyre_spec::ops::{AtomicOp, BinaryOp, TernaryOp};
use vyre_spec::{Capability, CapabilitySet, CompileOptions, DataType, DeviceProfile, Value};

use crate::analysis::align::trailing_zeros;
use crate::analysis::loops::{self, Plan};
use crate::analysis::range::{Ranges, Verdict};
use crate::bindings::{Bindings, halves_in_tiles};
use crate::error::{LowerError, within};
use crate::grid_sync::live::Crossing;
use crate::grid_sync::split::Part;
use crate::grid_sync::{Schedule, Split};
use crate::kernel::{
    InstId, KernelDescriptor, LaunchData, LaunchField, LocalId, Note, Op, Place, Proof, Role, VerifiedKernel,
    verify,
};
use crate::launch::{Shape, indirect};
use crate::legalize;
use crate::merge::merge;
use crate::pairs;
use crate::place::Placement;
use crate::returns;
use crate::tile;
use crate::trap::TripCounter;
use crate::types;
use crate::vectorise::{self, Vectorised};
use crate::windows;
use crate::writer::{COUNTS_BINDING, Refusal, SCRATCH_BINDING, TRAP_BINDING, Writer};

/// The kernels of a program, and the order in which they run.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The kernels: one, unless the program has grid barriers. All have the same workgroup size and grid.
    pub kernels: Vec<VerifiedKernel>,
    /// How to run them.
    pub schedule: Schedule,
}

impl Lowered {
    /// The kernel of a program that becomes one.
    ///
    /// # Errors
    /// [`LowerError::SeveralKernels`].
    pub fn single(mut self) -> Result<VerifiedKernel, LowerError> {
        match (self.kernels.pop(), self.schedule.is_trivial()) {
            (Some(kernel), true) => Ok(kernel),
            (last, _) => {
                Err(LowerError::SeveralKernels { kernels: self.kernels.len() + usize::from(last.is_some()) })
            }
        }
    }
}

/// Lowers a program for a device to one kernel, as [`lower_all`] does.
///
/// # Errors
/// As [`lower_all`], or if the program becomes several kernels.
pub fn lower(
    program: &Checked<Program>,
    profile: &DeviceProfile,
    options: &CompileOptions,
) -> Result<VerifiedKernel, LowerError> {
    lower_all(program, profile, options)?.single()
}

/// Lowers a program for a device. A program with grid barriers becomes several kernels.
///
/// The result computes what the program means, guards and all, with ops that the device has. `options` are
/// those of [`CompileOptions`]: lowering itself does not optimise.
///
/// # Errors
/// If the program needs what the device lacks or passes one of its limits.
pub fn lower_all(
    program: &Checked<Program>,
    profile: &DeviceProfile,
    options: &CompileOptions,
) -> Result<Lowered, LowerError> {
    let shape = Shape::new(program, profile, options)?;
    check_limits(program, profile, &shape)?;
    types::check(program, profile)?;
    tile::check(program, profile)?;
    let inits = inits(program);
    let split = Split::new(program, program.facts(), &inits)?;
    if indirect(program, options) && !split.schedule.is_trivial() {
        return Err(LowerError::GridSyncIndirect);
    }
    let mut ranges = Ranges::new(program, program.facts(), inits.clone(), profile.subgroup_size);
    // A contract cannot speak of counts that the host does not know.
    ranges.on_contract = options.launch_contract && !indirect(program, options);
    let mut kernels = Vec::with_capacity(split.parts.len());
    for number in 0..split.parts.len() {
        let mut lowering =
            Lowering::new((program, profile, options), shape, &inits, &split, number, &mut ranges);
        lowering.vectorise();
        lowering.plan_loops()?;
        lowering.body()?;
        kernels.push(lowering.finish(profile, options, number)?);
    }
    Ok(Lowered { kernels, schedule: split.schedule })
}

/// The initial value of each variable that is never set.
fn inits(program: &Program) -> Vec<Option<ExprId>> {
    let mut inits = vec![None; program.vars().len()];
    for node in program.nodes() {
        if let Node::Declare { var, init } = *node {
            inits[var.index()] = Some(init);
        }
    }
    for node in program.nodes() {
        if let Node::Set { var, .. } = *node {
            inits[var.index()] = None;
        }
    }
    inits
}

/// The state of lowering one part of a program.
pub(crate) struct Lowering<'a, 'r> {
    pub(crate) program: &'a Program,
    pub(crate) facts: &'a Facts,
    pub(crate) profile: &'a DeviceProfile,
    pub(crate) split: &'a Split,
    pub(crate) part: &'a Part,
    pub(crate) crossing: &'a Crossing,
    /// Whether the part uses each shared array.
    pub(crate) shared_used: Vec<bool>,
    /// Whether the kernel uses scratch memory.
    pub(crate) scratch: bool,
    pub(crate) w: Writer,
    pub(crate) shape: Shape,
    pub(crate) ranges: &'r mut Ranges<'a>,
    pub(crate) bindings: Bindings,
    pub(crate) placement: Placement,
    /// The form with several points for each invocation, until it is written.
    pub(crate) vectorised: Option<Vectorised>,
    /// Why invocations compute single points, and which accesses meet single elements.
    pub(crate) notes: Vec<Note>,
    /// What stands for the x coordinate of the point, where an invocation has several.
    pub(crate) point: Option<InstId>,
    /// The value of each expression, once placed.
    pub(crate) values: Vec<Option<InstId>>,
    /// The value of each node's result or loop variable, once written.
    pub(crate) results: Vec<Option<InstId>>,
    /// Whether some expression reads the node.
    pub(crate) read: Vec<bool>,
    /// The initial value of each variable that is never set: it needs no local.
    pub(crate) inits: Vec<Option<ExprId>>,
    /// The local of each other variable.
    pub(crate) locals: Vec<Option<LocalId>>,
    /// Whether the kernel records traps.
    pub(crate) traps: bool,
    /// Of each expression, how many of its lowest bits are zero; empty where no tile asks.
    pub(crate) zeros: Vec<u32>,
    /// How loop iterations are counted, where they must be.
    pub(crate) counter: Option<TripCounter>,
    /// What one iteration of each loop counts.
    pub(crate) trip_weights: Vec<Option<u32>>,
}

impl<'a, 'r> Lowering<'a, 'r> {
    fn new(
        (program, profile, options): (&'a Checked<Program>, &'a DeviceProfile, &CompileOptions),
        shape: Shape,
        inits: &[Option<ExprId>],
        split: &'a Split,
        number: usize,
        ranges: &'r mut Ranges<'a>,
    ) -> Self {
        let facts = program.facts();
        let program: &'a Program = program;
        let part = &split.parts[number];
        let mut shared_used = vec![false; program.shared().len()];
        for place in part.all_nodes().filter_map(|id| program.node(id).place()) {
            if let ir::Place::Shared(array) = place {
                shared_used[array.index()] = true;
            }
        }
        // A variable that crosses is a local of each part that uses it.
        let crosses = |var: usize| split.layout.vars[var].is_some();
        let inits = (0..).zip(inits).map(|(var, init)| init.filter(|_| !crosses(var))).collect();
        let mut read = vec![false; program.nodes().len()];
        for node in program.exprs().iter().filter_map(Expr::node) {
            read[node.index()] = true;
        }
        let mut w = Writer::new(profile, shape.size, indirect(program, options));
        w.orders_wide = profile.quirks.clobbers_wide && orders_wide(program, facts);
        w.spoils = profile.quirks.clobbers_wide && has_doubles(program, facts);
        Self {
            facts,
            profile,
            split,
            part,
            crossing: &split.crossings[number],
            shared_used,
            scratch: false,
            w,
            shape,
            ranges,
            bindings: Bindings::new(program, facts, profile),
            placement: Placement::new(program, facts, part),
            vectorised: None,
            notes: Vec::new(),
            point: None,
            values: vec![None; program.exprs().len()],
            results: vec![None; program.nodes().len()],
            read,
            inits,
            locals: vec![None; program.vars().len()],
            traps: false,
            zeros: if facts.has_tiles() { trailing_zeros(program) } else { Vec::new() },
            counter: None,
            trip_weights: Vec::new(),
            program,
        }
    }

    /// Decides whether an invocation computes several points.
    fn vectorise(&mut self) {
        if !matches!(self.program.launch(), Launch::Domain { .. }) {
            return;
        }
        let fits = |points: u32| {
            let points = u64::from(points);
            self.loop_plan(points).is_none_or(|plan| plan == Plan::Free)
        };
        let proof = |node| self.proof(self.ranges.verdict(node));
        match vectorise::plan(self.program, self.facts, proof, fits) {
            Ok(form) => {
                self.shape.rule.run = form.points;
                self.notes = form.notes(|id| self.bindings.number(id));
                for buffer in form.owned() {
                    self.bindings.own(buffer);
                }
                self.vectorised = Some(form);
            }
            Err(why) => self.notes = vec![Note { place: None, why }],
        }
    }

    /// What the driver's limit of loop iterations asks for, if it has one and each invocation runs the body for
    /// so many points.
    fn loop_plan(&self, points: u64) -> Option<Plan> {
        let limit = self.profile.quirks.max_loop_iterations?;
        let retries = |node: &Node| match *node {
            Node::Atomic { op: AtomicOp::Add, place, .. } => {
                let storage = self.bindings.storage(self.program, place, None);
                storage.logical.is_float() && storage.element != storage.logical
            }
            _ => false,
        };
        let before = self.zeroing_trips();
        let lanes = self.profile.subgroup_size;
        let part = (self.program, self.part);
        Some(loops::plan(part, self.facts, self.ranges, (limit, points), before, lanes, retries))
    }

    /// Decides what to do about the driver's limit of loop iterations, if it has one.
    fn plan_loops(&mut self) -> Result<(), LowerError> {
        let Some(limit) = self.profile.quirks.max_loop_iterations else { return Ok(()) };
        match self.loop_plan(u64::from(self.shape.rule.run)) {
            None | Some(Plan::Free) => {}
            Some(Plan::Count { weights, share }) => {
                let local = self.w.local(DataType::U32);
                self.counter = Some(TripCounter { local, share, shape: self.shape });
                self.trip_weights = weights;
                self.traps = true;
            }
            Some(Plan::Refuse { node, trips }) => {
                let device = self.profile.name.clone();
                return Err(LowerError::LoopLimit { node, trips, limit, device });
            }
        }
        Ok(())
    }

    /// The value of a placed expression. Placement puts each before its uses; should it not, the verifier
    /// finds the id that names nothing.
    pub(crate) fn value(&self, expr: ExprId) -> InstId {
        self.values.get(expr.index()).copied().flatten().unwrap_or(InstId(u32::MAX))
    }

    /// Writes the expressions, in order.
    pub(crate) fn place(&mut self, exprs: Vec<ExprId>) {
        for id in exprs {
            let value = self.expr(id);
            self.values[id.index()] = Some(value);
        }
    }

    pub(crate) fn expr(&mut self, id: ExprId) -> InstId {
        match *self.program.expr(id) {
            Expr::Literal(value) => legalize::literal(&mut self.w, value),
            Expr::Param(param) => {
                let (field, ty) = (LaunchField::Param(param), self.program.param(param).ty);
                if ty.size() < 8 {
                    return self.launch_value(field, ty);
                }
                let [low, high] =
                    [field, LaunchField::ParamHigh(param)].map(|field| self.w.launch(field, DataType::U32));
                self.w.in_prelude(|w| legalize::join(w, ty, low, high))
            }
            ref expr @ Expr::BuiltIn(built_in) => match self.own_point(expr) {
                Some(point) => point,
                None => self.shape.built_in(&mut self.w, built_in),
            },
            Expr::Length(buffer) => match self.ranges.count(buffer) {
                Some(n) => self.w.constant(Value::from_bits(DataType::U32, n as u64)),
                None => self.w.launch(LaunchField::Length(buffer), DataType::U32),
            },
            Expr::Result(node) | Expr::LoopVar(node) => {
                self.results.get(node.index()).copied().flatten().unwrap_or(InstId(u32::MAX))
            }
            Expr::Unary(op, a) => {
                let (ty, a) = (self.facts.type_of(a), self.value(a));
                legalize::unary(&mut self.w, op, ty, a)
            }
            Expr::Binary(op, a, b) => {
                let proof = self.operand_proof(op, a, b);
                let (ty, a, b) = (self.facts.type_of(a), self.value(a), self.value(b));
                self.w.unguarded = proof.map(|proof| (b, proof));
                let value = legalize::binary(&mut self.w, op, ty, a, b);
                self.w.unguarded = None;
                value
            }
            Expr::Ternary(op, a, b, c) => {
                let (ty, operands) = (self.facts.type_of(c), [a, b, c].map(|e| self.value(e)));
                legalize::ternary(&mut self.w, op, ty, operands)
            }
            Expr::Cast(op, to, a) => {
                let (from, a) = (self.facts.type_of(a), self.value(a));
                legalize::cast(&mut self.w, op, from, to, a)
            }
        }
    }

    /// Why the second operand of a division or shift needs no guard, if it needs none.
    fn operand_proof(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Option<Proof> {
        let ty = self.facts.type_of(a);
        let verdict = match op {
            // A constant tells by itself.
            _ if !ty.is_int() || matches!(self.program.expr(b), Expr::Literal(_)) => return None,
            BinaryOp::Div | BinaryOp::Rem => self.ranges.divisor(b),
            BinaryOp::Shl | BinaryOp::Shr | BinaryOp::RotateLeft | BinaryOp::RotateRight => {
                self.ranges.amount(b, 8 * ty.size())
            }
            _ => return None,
        };
        match self.proof(verdict) {
            Proof::Guarded(_) => None,
            proof => Some(proof),
        }
    }

    /// The proof of a verdict; conditions prove only where the launch is held to them.
    pub(crate) fn proof(&self, verdict: Verdict) -> Proof {
        match verdict {
            Verdict::Proven(reason) => Proof::Proven(reason),
            Verdict::Contract(conditions) if self.ranges.on_contract => Proof::Contract(conditions),
            Verdict::Contract(_) => Proof::Guarded("only some launches are in bounds"),
            Verdict::Guarded(reason) => Proof::Guarded(reason),
        }
    }

    /// The local of a variable that is set.
    pub(crate) fn local(&mut self, var: VarId) -> LocalId {
        if let Some(local) = self.locals[var.index()] {
            return local;
        }
        let local = self.w.local(legalize::device_type(self.program.var(var).ty));
        self.locals[var.index()] = Some(local);
        local
    }

    /// Whether a value or element of the kernel has such a type.
    fn uses(&self, is: impl Fn(DataType) -> bool) -> bool {
        let arrays = self.bindings.shared.iter().chain(&self.bindings.privates).map(|a| a.element);
        let values = self.w.insts.iter().filter_map(|inst| inst.ty);
        let bound = self.bindings.bindings.iter().map(|b| b.element);
        arrays.chain(values).chain(bound).chain(self.w.locals.iter().copied()).any(is)
    }

    fn finish(
        mut self,
        profile: &DeviceProfile,
        options: &CompileOptions,
        number: usize,
    ) -> Result<VerifiedKernel, LowerError> {
        if self.w.spoils || !profile.capabilities.contains(Capability::Int64) {
            pairs::narrow(&mut self.w, &mut self.bindings);
        } else if profile.quirks.clobbers_wide {
            pairs::spare(&mut self.w);
        }
        if let Some(Refusal { op, ty, missing }) = self.w.refused {
            let device = profile.name.clone();
            return Err(LowerError::Unsupported { op: op.to_owned(), ty: Some(ty), device, missing });
        }
        merge(&mut self.w, &mut self.bindings);
        if profile.quirks.fails_on_returns {
            returns::remove(&mut self.w);
        }
        let fields = self.w.finish();
        let immediates = !fields.is_empty()
            && profile.capabilities.contains(Capability::Immediates)
            && fields.len() as u64 * 4 <= u64::from(profile.max_immediate_bytes);
        let data = !fields.is_empty() && !immediates;
        self.bindings.close(data, self.w.reads_counts, self.scratch, self.traps);
        let number_of = |role| self.bindings.bindings.iter().position(|b| b.role == role).unwrap_or(0) as u32;
        let (scratch, trap) = (number_of(Role::Scratch), number_of(Role::Trap));
        let counts = number_of(Role::Counts);
        let storage = self.bindings.bindings.iter().filter(|b| b.role != Role::LaunchData);
        within(
            profile,
            "the number of storage bindings",
            storage.count() as u64,
            profile.max_storage_bindings,
        )?;
        for inst in &mut self.w.insts {
            if let Op::Load { place, .. } | Op::Store { place, .. } | Op::Atomic { place, .. } = &mut inst.op
            {
                match *place {
                    Place::Binding(TRAP_BINDING) => *place = Place::Binding(trap),
                    Place::Binding(COUNTS_BINDING) => *place = Place::Binding(counts),
                    Place::Binding(SCRATCH_BINDING) => *place = Place::Binding(scratch),
                    _ => {}
                }
            }
        }
        let float_atomics = self.bindings.bindings.iter().any(|b| b.atomic && b.element == DataType::F32);
        let wide = |ty: DataType| matches!(ty, DataType::U64 | DataType::I64);
        let wide_atomics = self.bindings.bindings.iter().any(|b| b.atomic && wide(b.element))
            || self.bindings.shared.iter().any(|a| a.atomic && wide(a.element));
        let needs = CapabilitySet::EMPTY
            .with_if(Capability::Subgroup, self.facts.has_subgroup())
            .with_if(Capability::Tiles, self.facts.has_tiles())
            .with_if(Capability::F16, self.uses(|ty| ty == DataType::F16))
            .with_if(Capability::Fence, self.w.insts.iter().any(|inst| matches!(inst.op, Op::Fence { .. })))
            .with_if(Capability::CoherentStorage, self.bindings.bindings.iter().any(|b| b.coherent))
            .with_if(Capability::AtomicFloat32, float_atomics)
            .with_if(Capability::Int64, self.uses(|ty| matches!(ty, DataType::U64 | DataType::I64)))
            .with_if(Capability::F64, self.uses(|ty| ty == DataType::F64))
            .with_if(Capability::AtomicInt64, wide_atomics)
            .with_if(Capability::Immediates, immediates);
        let descriptor = KernelDescriptor {
            name: match self.split.parts.len() {
                1 => self.program.name().to_owned(),
                _ => format!("{}_{number}", self.program.name()),
            },
            workgroup_size: self.shape.size,
            grid: self.shape.rule,
            bindings: self.bindings.bindings,
            launch: LaunchData { fields, immediates },
            shared: self.bindings.shared,
            privates: self.bindings.privates,
            tiles: self.program.tiles().iter().map(|tile| tile.ty).collect(),
            locals: self.w.locals,
            insts: self.w.insts,
            blocks: self.w.blocks,
            unguarded: self.w.proofs,
            contract: self.ranges.contract(),
            needs,
            notes: self.notes,
            strict_float: options.ulp_budget == 0,
        };
        let whole = verify(descriptor)?;
        match windows::counts(&whole, options, profile)? {
            None => Ok(whole),
            Some(counts) => Ok(verify(windows::split(&whole, &counts, profile.window_bytes()))?),
        }
    }
}

/// Bytes of private arrays that a kernel may have for each invocation. No API tells a device's own limit, and
/// past it drivers fail late or not at all: they zero arrays element by element, in time that grows with
/// the square of their length, and keep them on stacks of fixed size.
const MAX_PRIVATE_BYTES: u32 = 64 << 10;

fn check_limits(
    program: &Checked<Program>,
    profile: &DeviceProfile,
    shape: &Shape,
) -> Result<(), LowerError> {
    // Sub-word elements take whole words.
    let size = |array: &Array| u64::from(array.len) * u64::from(array.element.size().max(4));
    let halves = halves_in_tiles(program, program.facts());
    let shared = (0..).map(|i| ir::Place::Shared(ir::SharedId::new(i))).zip(program.shared());
    let shared = shared.map(|(place, array)| {
        if halves.contains(&place) { u64::from(array.len.next_multiple_of(4)) * 2 } else { size(array) }
    });
    let bytes = shared.sum();
    within(profile, "the size of shared memory in bytes", bytes, profile.max_shared_bytes)?;
    let bytes = program.privates().iter().map(size).sum();
    within(profile, "the size of an invocation's private arrays in bytes", bytes, MAX_PRIVATE_BYTES)?;
    let fences = program.nodes().iter().any(|node| matches!(node, Node::Fence { .. }));
    if fences && !profile.capabilities.contains(Capability::Fence) {
        let (op, device) = ("a fence".to_owned(), profile.name.clone());
        return Err(LowerError::Unsupported { op, ty: None, device, missing: Some(Capability::Fence) });
    }
    if program.buffers().iter().any(|buffer| buffer.coherent) {
        let device = profile.name.clone();
        if !profile.capabilities.contains(Capability::CoherentStorage) {
            let (op, missing) = ("a coherent buffer".to_owned(), Some(Capability::CoherentStorage));
            return Err(LowerError::Unsupported { op, ty: None, device, missing });
        }
        // Modules with tiles have another memory model, whose coherence is a matter of each access.
        if program.facts().has_tiles() {
            let op = "a coherent buffer in a program with tiles".to_owned();
            return Err(LowerError::Unsupported { op, ty: None, device, missing: None });
        }
    }
    if program.facts().has_subgroup() {
        let device = profile.name.clone();
        let lanes = profile.subgroup_size.filter(|_| profile.capabilities.contains(Capability::Subgroup));
        let Some(subgroup) = lanes else {
            let missing = Some(Capability::Subgroup);
            return Err(LowerError::Unsupported {
                op: "a subgroup op".to_owned(),
                ty: None,
                device,
                missing,
            });
        };
        // Devices fill subgroups along x, and only then in the order of the linear index.
        let invocations = u64::from(shape.size[0]);
        if invocations % u64::from(subgroup.max(1)) != 0 {
            return Err(LowerError::PartialSubgroup { invocations, subgroup, device });
        }
    }
    Ok(())
}

/// Whether the program has 64-bit floats.
fn has_doubles(program: &Program, facts: &Facts) -> bool {
    let is_double = |ty| ty == DataType::F64;
    program.buffers().iter().any(|b| is_double(b.element))
        || (0..program.exprs().len() as u32).any(|id| is_double(facts.type_of(ExprId::new(id))))
}

/// Whether the program compares 64-bit integers, or chooses between them by their order.
fn orders_wide(program: &Program, facts: &Facts) -> bool {
    let wide = |id: ExprId| facts.type_of(id).is_int() && facts.type_of(id).size() == 8;
    program.exprs().iter().any(|expr| match *expr {
        Expr::Binary(op, a, _) => {
            use BinaryOp::{Eq, Ge, Gt, Le, Lt, Max, Min, Ne};
            matches!(op, Eq | Ge | Gt | Le | Lt | Max | Min | Ne) && wide(a)
        }
        Expr::Ternary(TernaryOp::Clamp, a, ..) => wide(a),
        _ => false,
    })
}
