//! Random programs that the checker accepts, that end, that have no races, and whose result no order of
//! invocations can change.
//!
//! * Buffers are inputs, or *own*: each invocation stores and loads its own elements, and some that are out
//!   of bounds. Or they are *accumulators*: only one atomic op that commutes is applied, anywhere.
//! * Shared arrays, and buffers with a segment for each workgroup, change their *mode* at barriers: own
//!   elements, loads anywhere, or one commuting atomic anywhere.
//! * Loops make few trips. A loop, branch or return is uniform where a barrier or subgroup op needs it.

mod control;
mod expr;
pub(super) mod graphs;
mod grid;
mod index;
mod indirect;
mod launch;
mod memory;

use std::collections::BTreeMap;

use fastrand::Rng;
use vyre_spec::{DataType, TypeSet, Value};

use self::memory::{Accumulator, Moded, Own};
use super::GeneratedCase;
use super::ops::Recipes;
use crate::check::check;
use crate::diag::Diagnostic;
use crate::ir::{Arena, ExprId, Launch, NodeId, Place, RegionId, VarId};
use crate::launch::Params;
use crate::machine::MachineOptions;

/// The kinds of launch that programs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launches {
    /// Domains.
    Domains,
    /// Workgroups.
    Workgroups,
    /// Both.
    Both,
}

/// What programs are generated.
#[derive(Clone, Debug)]
pub struct GenConfig {
    /// The kinds of launch.
    pub launches: Launches,
    /// Invocations of a launch, at most.
    pub max_invocations: u32,
    /// About how many nodes a program has.
    pub nodes: u32,
    /// How deep an expression nests.
    pub depth: u32,
    /// Trips of all the loops around a node, at most.
    pub max_trips: u32,
    /// Leave out ops whose row allows a device to be off, and keep NaN payloads from becoming visible, so
    /// that each device must give the same bits (NaN payloads aside).
    pub exact: bool,
    /// Let float ops meet subnormals, which devices may flush.
    pub subnormals: bool,
    /// Rarely, programs trap.
    pub traps: bool,
    /// Lanes of a subgroup; without it, programs have no subgroup ops.
    pub subgroup_size: Option<u32>,
    /// Storage buffers of a program, at most; at least 1.
    pub max_buffers: u32,
    /// Programs of workgroups have grid barriers, in branches and loops that the whole launch shares.
    pub grid_barriers: bool,
    /// The types that programs have; bool and u32 always are.
    pub types: TypeSet,
    /// The elements that atomics meet, of those types.
    pub atomics: TypeSet,
    /// Programs of workgroups find their workgroup counts in a buffer.
    pub indirect: bool,
}

impl Default for GenConfig {
    fn default() -> Self {
        Self {
            launches: Launches::Both,
            max_invocations: 200,
            nodes: 40,
            depth: 4,
            max_trips: 40,
            exact: true,
            subnormals: false,
            traps: false,
            subgroup_size: None,
            max_buffers: 6,
            grid_barriers: false,
            types: TypeSet::ANY,
            atomics: TypeSet::ANY,
            indirect: false,
        }
    }
}

impl GenConfig {
    /// The types that programs have.
    pub(super) fn types(&self) -> Vec<DataType> {
        let always = [DataType::Bool, DataType::U32];
        DataType::ALL.into_iter().filter(|ty| self.types.contains(*ty) || always.contains(ty)).collect()
    }

    fn lanes(&self) -> u32 {
        self.subgroup_size.unwrap_or(32)
    }
}

/// How many programs are drawn, at most, until one meets the wishes that only a run can tell.
const ATTEMPTS: u64 = 200;

/// A program, its parameters and inputs. The same for the same seed and configuration.
pub fn generate(seed: u64, config: &GenConfig) -> GeneratedCase {
    for attempt in 0..ATTEMPTS {
        let mut small = config.clone();
        if attempt > ATTEMPTS / 2 {
            (small.nodes, small.depth) = (1, 1);
        }
        let Ok(case) = attempt_case(seed, attempt, &small) else { continue };
        let options = MachineOptions {
            watch_subnormals: true,
            subgroup_size: config.lanes(),
            ..MachineOptions::default()
        };
        match case.run(&options) {
            Ok(outcome) if config.subnormals || !outcome.subnormals => return case,
            _ => {}
        }
    }
    // Not reached for any configuration in use; a program of nothing meets every wish.
    let program = crate::build::Kernel::build("empty", |k| k.domain([1], |[_]| {}));
    match program {
        Ok(program) => GeneratedCase {
            seed,
            program,
            params: Params::new(),
            inputs: Vec::new(),
            subgroup_size: config.lanes(),
        },
        Err(_) => generate(seed.wrapping_add(1), config),
    }
}

/// One draw.
///
/// # Errors
/// If the checker refuses it, which is a fault of the generator.
pub(super) fn attempt_case(
    seed: u64,
    attempt: u64,
    config: &GenConfig,
) -> Result<GeneratedCase, Vec<Diagnostic>> {
    let rng = Rng::with_seed(seed ^ attempt.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut generator = Generator::new(format!("random_{seed}"), config, rng);
    generator.program();
    let Generator { arena, params, mut inputs, mut rng, .. } = generator;
    let finished = arena.finish().map_err(|e| {
        vec![Diagnostic::new(crate::diag::Code::Structure, crate::diag::Site::Program, e.to_string())]
    })?;
    let mut program = check(finished.0)?;
    if config.grid_barriers && matches!(program.launch(), Launch::Workgroups { .. }) {
        program = grid::with_barriers(&program, &mut rng)?;
    }
    if config.indirect {
        program = indirect::with_counts(program, &params, &mut inputs)?;
    }
    Ok(GeneratedCase { seed, program, params, inputs, subgroup_size: config.lanes() })
}

/// Values in scope, by type.
type Pool = BTreeMap<DataType, Vec<ExprId>>;

/// A program under generation.
struct Generator<'c> {
    config: &'c GenConfig,
    rng: Rng,
    arena: Arena,
    params: Params,
    /// The inputs of the buffers declared so far.
    inputs: Vec<Vec<u8>>,
    recipes: Recipes,
    /// Values in scope, and those of them that a workgroup shares.
    pool: Pool,
    uniform: Pool,
    vars: Vec<(VarId, DataType)>,
    /// The invocation's index in the launch, and in its workgroup.
    own_index: Option<ExprId>,
    local_index: Option<ExprId>,
    /// Invocations of the launch, and of a workgroup in a workgroup launch.
    total: u64,
    lanes: Option<u32>,
    readable: Vec<(Place, DataType, u64)>,
    owns: Vec<Own>,
    accumulators: Vec<Accumulator>,
    moded: Vec<Moded>,
    privates: Vec<(Place, DataType)>,
    region: RegionId,
    /// Nodes that may still be made.
    left: i64,
    /// Trips that the loops here may still multiply.
    trips: u32,
    flow: Flow,
    /// Some invocations may have returned, so the others never all meet again.
    returned_apart: bool,
    names: u32,
}

/// What is known of the control flow at a place.
#[derive(Clone, Copy)]
struct Flow {
    /// The invocations of a workgroup share it.
    uniform: bool,
    /// Barriers and subgroup ops may stand here.
    barriers: bool,
    /// The innermost loop, if any: whether its trips may diverge.
    divergent_loop: Option<bool>,
    /// Some loop around has barriers, so a divergent return may not stand here.
    barrier_loop: bool,
    /// Regions around.
    depth: u32,
}

impl<'c> Generator<'c> {
    fn new(name: String, config: &'c GenConfig, rng: Rng) -> Self {
        Self {
            config,
            rng,
            arena: Arena::new(name),
            params: Params::new(),
            inputs: Vec::new(),
            recipes: Recipes::new(config.exact, &config.types()),
            pool: Pool::new(),
            uniform: Pool::new(),
            vars: Vec::new(),
            own_index: None,
            local_index: None,
            total: 0,
            lanes: None,
            readable: Vec::new(),
            owns: Vec::new(),
            accumulators: Vec::new(),
            moded: Vec::new(),
            privates: Vec::new(),
            region: RegionId::new(0),
            left: i64::from(config.nodes),
            trips: config.max_trips.max(1),
            flow: Flow {
                uniform: true,
                barriers: false,
                divergent_loop: None,
                barrier_loop: false,
                depth: 0,
            },
            returned_apart: false,
            names: 0,
        }
    }

    fn program(&mut self) {
        self.declare();
        self.block();
        // What was computed becomes visible at the end.
        for i in 0..self.owns.len() {
            if self.chance(2, 3) {
                self.store_own(i);
            }
        }
        if self.arena.program().nodes().is_empty() {
            self.store_own(0);
        }
    }

    /// True in `a` of `b` cases.
    fn chance(&mut self, a: u32, b: u32) -> bool {
        self.rng.u32(0..b) < a
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> Option<T> {
        (!items.is_empty()).then(|| items[self.rng.usize(0..items.len())])
    }

    fn any_type(&mut self) -> DataType {
        let types = self.config.types();
        types[self.rng.usize(0..types.len())]
    }

    fn int_type(&mut self) -> DataType {
        let ints: Vec<DataType> = self.config.types().into_iter().filter(|ty| ty.is_int()).collect();
        self.pick(&ints).unwrap_or(DataType::U32)
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn value(&mut self, ty: DataType) -> Value {
        super::random_value(ty, self.config.subnormals, &mut self.rng)
    }

    fn push(&mut self, node: crate::ir::Node) -> NodeId {
        self.left -= 1;
        self.arena.push(self.region, node)
    }

    /// Puts a value in scope.
    fn offer(&mut self, ty: DataType, value: ExprId, uniform: bool) {
        self.pool.entry(ty).or_default().push(value);
        if uniform {
            self.uniform.entry(ty).or_default().push(value);
        }
    }
}
