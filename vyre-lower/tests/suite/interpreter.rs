//! An interpreter of kernel descriptors that is as strict as a device is undefined: it panics where a
//! descriptor relies on what the device does not promise.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{Launch, Program};
use vyre_foundation::launch::{Params, ResolvedLaunch, resolve};
use vyre_lower::grid_sync::ScheduleTooLong;
use vyre_lower::kernel::{Binding, BlockId, Grid, InstId, KernelDescriptor, Op, Place, Role};
use vyre_lower::{Lowered, lower_all};
use vyre_spec::ops::{AtomicOp, CastOp, SubgroupOp};
use vyre_spec::{Capability, CapabilitySet, CompileOptions, DataType, DeviceProfile, Value};

use crate::device_ops::{binary, cast};

/// What memory holds that nobody wrote.
const GARBAGE: u64 = 0xDEAD_BEEF_DEAD_BEEF;
const GARBAGE_BYTE: u8 = 0xA5;

/// The profile that tests lower for.
pub(crate) fn profile() -> DeviceProfile {
    DeviceProfile { subgroup_size: Some(4), ..DeviceProfile::reference() }
}

/// A device without 64-bit types.
pub(crate) fn without_wide(profile: DeviceProfile) -> DeviceProfile {
    let wide = [Capability::Int64, Capability::AtomicInt64, Capability::F64];
    let kept = profile.capabilities.iter().filter(|c| !wide.contains(c));
    DeviceProfile { capabilities: kept.fold(CapabilitySet::EMPTY, CapabilitySet::with), ..profile }
}

/// What a run left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The words of each buffer, in declaration order; those that are not bound stay as they were.
    pub(crate) buffers: Vec<Vec<u32>>,
    /// The trap record, if the kernel has one.
    pub(crate) trap: Option<[u32; 4]>,
    /// The most loop iterations that one subgroup ran, all its loops together, lanes in lockstep.
    pub(crate) trips: u64,
}

/// Lowers a program and runs it over these buffers, one per declaration.
pub(crate) fn run(program: &Checked<Program>, params: &Params, buffers: &[Vec<u32>]) -> Outcome {
    run_with(program, params, buffers, &profile(), &CompileOptions::default())
}

/// Lowers a program for a profile and runs it.
pub(crate) fn run_with(
    program: &Checked<Program>,
    params: &Params,
    buffers: &[Vec<u32>],
    profile: &DeviceProfile,
    options: &CompileOptions,
) -> Outcome {
    let options = windowed(options, profile, buffers.iter().map(|words| 4 * words.len()));
    execute_all(&lower_all(program, profile, &options).unwrap(), program, params, buffers, profile)
}

/// The options for buffers of these lengths in bytes: with windows, where the profile's bindings are too small.
pub(crate) fn windowed(
    options: &CompileOptions,
    profile: &DeviceProfile,
    lens: impl Iterator<Item = usize>,
) -> CompileOptions {
    let windows = lens.map(|len| profile.windows(len as u64) as u32).collect();
    CompileOptions { windows, ..options.clone() }
}

/// The bytes of a buffer that a binding has.
fn bound(binding: &Binding, len: usize) -> Range<usize> {
    match binding.window {
        None => 0..len,
        Some(window) => {
            let end = (window.start() + window.bytes).min(len as u64);
            assert!(window.start() < end, "a window beyond the buffer");
            window.start() as usize..end as usize
        }
    }
}

/// Runs a kernel over buffers of words.
pub(crate) fn execute(
    kernel: &KernelDescriptor,
    program: &Checked<Program>,
    params: &Params,
    buffers: &[Vec<u32>],
    profile: &DeviceProfile,
) -> Outcome {
    of_words(execute_bytes(kernel, program, params, &to_bytes(buffers), profile))
}

/// Runs the kernels of a program over buffers of words, as their schedule says.
pub(crate) fn execute_all(
    lowered: &Lowered,
    program: &Checked<Program>,
    params: &Params,
    buffers: &[Vec<u32>],
    profile: &DeviceProfile,
) -> Outcome {
    of_words(execute_all_bytes(lowered, program, params, &to_bytes(buffers), profile))
}

fn to_bytes(buffers: &[Vec<u32>]) -> Vec<Vec<u8>> {
    buffers.iter().map(|words| words.iter().flat_map(|w| w.to_le_bytes()).collect()).collect()
}

fn to_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

fn of_words(outcome: ByteOutcome) -> Outcome {
    let buffers = outcome.buffers.iter().map(|bytes| to_words(bytes)).collect();
    Outcome { buffers, trap: outcome.trap, trips: outcome.trips }
}

/// What a run over bytes left behind.
pub(crate) struct ByteOutcome {
    pub(crate) buffers: Vec<Vec<u8>>,
    pub(crate) trap: Option<[u32; 4]>,
    pub(crate) trips: u64,
}

/// Runs a kernel.
pub(crate) fn execute_bytes(
    kernel: &KernelDescriptor,
    program: &Checked<Program>,
    params: &Params,
    buffers: &[Vec<u8>],
    profile: &DeviceProfile,
) -> ByteOutcome {
    let (launch, grid) = resolved(kernel, program, params, buffers, profile);
    let mut outcome = ByteOutcome { buffers: buffers.to_vec(), trap: None, trips: 0 };
    one_kernel(kernel, &launch, &grid, &[], &mut [], &mut outcome, profile);
    outcome
}

fn resolved(
    kernel: &KernelDescriptor,
    program: &Checked<Program>,
    params: &Params,
    buffers: &[Vec<u8>],
    profile: &DeviceProfile,
) -> (ResolvedLaunch, Grid) {
    let bound: Vec<_> = buffers.iter().map(|bytes| Some(bytes.len() as u64)).collect();
    let counts = match program.launch() {
        Launch::Indirect { counts, .. } => {
            to_words(&buffers[counts.index()]).get(..3).map(|n| n.try_into().unwrap())
        }
        _ => None,
    };
    let launch = resolve(program, params, &bound, counts).unwrap();
    assert!(kernel.contract.holds(&launch), "the launch breaks the contract");
    let grid = kernel.grid(&launch, profile.max_workgroups_per_axis).unwrap();
    assert!(!grid.needs_folding);
    (launch, grid)
}

/// Runs the kernels of a program, as their schedule says.
pub(crate) fn execute_all_bytes(
    lowered: &Lowered,
    program: &Checked<Program>,
    params: &Params,
    buffers: &[Vec<u8>],
    profile: &DeviceProfile,
) -> ByteOutcome {
    let (launch, grid) = resolved(&lowered.kernels[0], program, params, buffers, profile);
    let memory = lowered.schedule.scratch();
    let words = memory.words(grid.workgroups, lowered.kernels[0].workgroup_size);
    let mut scratch = vec![if memory.zero { 0 } else { GARBAGE_BYTE }; 4 * words as usize];
    let mut outcome = ByteOutcome { buffers: buffers.to_vec(), trap: None, trips: 0 };
    let run = |kernel: usize, vars: &[Value]| -> Result<(), ScheduleTooLong> {
        one_kernel(&lowered.kernels[kernel], &launch, &grid, vars, &mut scratch, &mut outcome, profile);
        Ok(())
    };
    lowered.schedule.run(&launch, grid.workgroups, run).unwrap();
    outcome
}

fn one_kernel(
    kernel: &KernelDescriptor,
    launch: &ResolvedLaunch,
    grid: &Grid,
    vars: &[Value],
    scratch: &mut [u8],
    outcome: &mut ByteOutcome,
    profile: &DeviceProfile,
) {
    let mut machine = Machine {
        kernel,
        launch: kernel.launch.encode_trip(launch, grid, vars),
        memory: Vec::new(),
        shared: Vec::new(),
        group: [0; 3],
        lanes: profile.subgroup_size.unwrap() as usize,
        trips: 0,
        writers: HashMap::new(),
    };
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let launch_data = bytes(&machine.launch);
    for binding in &kernel.bindings {
        let mut bytes = match binding.role {
            Role::Buffer(id) => {
                let whole = &outcome.buffers[id.index()];
                let range = bound(binding, whole.len());
                assert!(range.len() as u64 <= profile.max_storage_binding_bytes, "a binding above the limit");
                whole[range].to_vec()
            }
            Role::LaunchData => launch_data.clone(),
            Role::Counts => bytes(&grid.workgroups),
            Role::Scratch => scratch.to_vec(),
            Role::Trap => bytes(&outcome.trap.unwrap_or_default()),
        };
        // Bindings are whole multiples of 16 bytes, and at least that.
        while bytes.is_empty() || bytes.len() % 16 != 0 {
            bytes.push(GARBAGE_BYTE);
        }
        machine.memory.push(bytes);
    }
    for z in 0..grid.dispatch[2] {
        for y in 0..grid.dispatch[1] {
            for x in 0..grid.dispatch[0] {
                machine.group = [x, y, z];
                machine.workgroup();
            }
        }
    }
    outcome.trips = outcome.trips.max(machine.trips);
    for (binding, bytes) in kernel.bindings.iter().zip(machine.memory) {
        match binding.role {
            Role::Buffer(id) => {
                let range = bound(binding, outcome.buffers[id.index()].len());
                let len = range.len();
                let padding = &bytes[len..];
                assert!(
                    padding.iter().all(|&b| b == GARBAGE_BYTE),
                    "the padding of {} changed",
                    binding.name
                );
                outcome.buffers[id.index()][range].copy_from_slice(&bytes[..len]);
            }
            Role::LaunchData => assert_eq!(bytes[..launch_data.len()], launch_data),
            Role::Counts => assert_eq!(to_words(&bytes)[..3], grid.workgroups),
            Role::Scratch => {
                let len = scratch.len();
                scratch.copy_from_slice(&bytes[..len]);
            }
            Role::Trap => outcome.trap = Some(to_words(&bytes)[..4].try_into().unwrap()),
        }
    }
}

struct Machine<'k> {
    kernel: &'k KernelDescriptor,
    launch: Vec<u32>,
    memory: Vec<Vec<u8>>,
    shared: Vec<Vec<u64>>,
    group: [u32; 3],
    lanes: usize,
    trips: u64,
    /// Of a domain, whose invocations are unordered, which one stored each element or word, and no other may.
    writers: HashMap<(u32, usize), ([u32; 3], u32)>,
}

/// A block that an invocation is in.
struct Frame {
    block: BlockId,
    next: usize,
    /// The loop, if this is one of its blocks.
    within: Option<Within>,
}

/// A trip of a loop.
#[derive(Clone, Copy)]
struct Within {
    body: BlockId,
    continuing: BlockId,
    /// Tells the loop and the trips of those around it.
    path: u64,
    trip: u64,
}

impl Within {
    /// This trip, for loops inside.
    fn place(self) -> u64 {
        mix(self.path, self.trip)
    }
}

/// A hash of two numbers.
fn mix(a: u64, b: u64) -> u64 {
    let mut x = (a ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 29;
    x.wrapping_mul(0x94D0_49BB_1331_11EB) ^ a.rotate_left(17)
}

struct Invocation {
    local: [u32; 3],
    index: u32,
    values: Vec<Option<Value>>,
    vectors: HashMap<InstId, Vec<Value>>,
    locals: Vec<Option<Value>>,
    privates: Vec<Vec<u64>>,
    frames: Vec<Frame>,
    /// The barrier or subgroup op that it waits at.
    waits: Option<InstId>,
    /// The trips that it made: in lockstep, lanes make those with the same place together.
    trips: Vec<u64>,
}

impl Machine<'_> {
    fn workgroup(&mut self) {
        let kernel = self.kernel;
        self.shared = kernel.shared.iter().map(|a| vec![GARBAGE; a.len as usize]).collect();
        let [sx, sy, sz] = kernel.workgroup_size;
        let mut team: Vec<Invocation> = (0..sx * sy * sz)
            .map(|index| Invocation {
                local: [index % sx, index / sx % sy, index / sx / sy],
                index,
                values: vec![None; kernel.insts.len()],
                vectors: HashMap::new(),
                locals: vec![None; kernel.locals.len()],
                privates: kernel
                    .privates
                    .iter()
                    .map(|a| vec![if a.zero { 0 } else { GARBAGE }; a.len as usize])
                    .collect(),
                frames: vec![Frame { block: BlockId(0), next: 0, within: None }],
                waits: None,
                trips: Vec::new(),
            })
            .collect();
        loop {
            for invocation in &mut team {
                self.advance(invocation);
            }
            if team.iter().all(|i| i.waits.is_none()) {
                break;
            }
            self.meet(&mut team);
        }
        for lanes in team.chunks(self.lanes) {
            let places: HashSet<u64> = lanes.iter().flat_map(|l| l.trips.iter().copied()).collect();
            self.trips = self.trips.max(places.len() as u64);
        }
    }

    /// Everyone has ended or waits: lets subgroups with a common op go on, else the workgroup.
    fn meet(&mut self, team: &mut [Invocation]) {
        let mut met = false;
        for lanes in team.chunks_mut(self.lanes) {
            let Some(id) = lanes[0].waits else { continue };
            let Op::Subgroup { op, value, lane } = self.kernel.insts[id.index()].op else { continue };
            assert!(lanes.iter().all(|l| l.waits == Some(id)), "a subgroup op in divergent flow");
            let ty = self.kernel.insts[id.index()].ty.unwrap();
            let values: Vec<_> = lanes.iter().map(|l| l.get(value).bits()).collect();
            let operands: Vec<_> =
                lanes.iter().filter_map(|l| lane.map(|lane| l.get(lane).bits() as u32)).collect();
            assert!(operands.iter().all(|&l| (l as usize) < self.lanes), "a shuffle from no lane");
            assert!(op != SubgroupOp::ShuffleXor, "an op that lowering should not leave");
            let results = op.eval(ty, &values, &operands).unwrap();
            for (lane, bits) in lanes.iter_mut().zip(results) {
                lane.values[id.index()] = Some(Value::from_bits(ty, bits));
                lane.waits = None;
            }
            met = true;
        }
        if met {
            return;
        }
        let barrier = team[0].waits;
        assert!(team.iter().all(|i| i.waits == barrier), "a barrier in divergent flow");
        for invocation in team {
            invocation.waits = None;
        }
    }

    /// Runs an invocation until it ends or waits.
    fn advance(&mut self, inv: &mut Invocation) {
        while inv.waits.is_none() {
            let Some(frame) = inv.frames.last_mut() else { return };
            let Some(&id) = self.kernel.blocks[frame.block.index()].get(frame.next) else {
                let frame = inv.frames.pop().unwrap();
                match frame.within {
                    Some(within) if frame.block == within.body => inv.enter(within.continuing, within),
                    Some(within) => inv.enter(within.body, Within { trip: within.trip + 1, ..within }),
                    None => {}
                }
                continue;
            };
            frame.next += 1;
            self.step(inv, id);
        }
    }

    fn step(&mut self, inv: &mut Invocation, id: InstId) {
        let inst = self.kernel.insts[id.index()];
        let ty = inst.ty.unwrap_or(DataType::U32);
        let word = |n: u32| Value::from_bits(ty, u64::from(n));
        let value = match inst.op {
            Op::Constant(value) => value,
            Op::Launch(position) => {
                assert_ne!(ty, DataType::Bool);
                word(self.launch[position as usize])
            }
            Op::WorkgroupId(axis) => word(self.group[axis.index()]),
            Op::LocalId(axis) => word(inv.local[axis.index()]),
            Op::LocalIndex => word(inv.index),
            Op::SubgroupLane => word(inv.index % self.lanes as u32),
            Op::SubgroupId => word(inv.index / self.lanes as u32),
            Op::SubgroupSize => word(self.lanes as u32),
            Op::Unary(op, a) => op.eval(inv.get(a)).unwrap(),
            Op::Binary(op, a, b) => binary(op, inv.get(a), inv.get(b)),
            Op::Ternary(op, a, b, c) => op.eval(inv.get(a), inv.get(b), inv.get(c)).unwrap(),
            Op::Cast(op, a) => cast(op, inv.get(a), ty),
            Op::Load { place, index, .. } => {
                let index = inv.get(index).get::<u32>().unwrap() as usize;
                Value::from_bits(ty, self.load(inv, place, index, ty))
            }
            Op::Store { place, index, value, .. } => {
                let (value, index) = (inv.get(value), inv.get(index).get::<u32>().unwrap() as usize);
                self.writes(inv, place, index);
                self.store(inv, place, index, value);
                return;
            }
            Op::Atomic { op, place, index, value, expected, .. } => {
                let (operand, expected) = (inv.get(value), expected.map(|e| inv.get(e)));
                let index = inv.get(index).get::<u32>().unwrap() as usize;
                let old = Value::from_bits(ty, self.load(inv, place, index, ty));
                if op != AtomicOp::CompareExchange || Some(old) == expected {
                    let new = op.kernel(ty).unwrap()(old.bits(), operand.bits());
                    self.store(inv, place, index, Value::from_bits(ty, new));
                }
                old
            }
            Op::LoadVector { place, index, .. } => {
                let (first, width) = self.vector(inv, place, index);
                let parts =
                    (first..first + width).map(|at| Value::from_bits(ty, self.load(inv, place, at, ty)));
                inv.vectors.insert(id, parts.collect());
                return;
            }
            Op::Part { vector, part } => inv.vectors[&vector][part as usize],
            Op::StoreVector { place, index, values, width, .. } => {
                let (first, all) = self.vector(inv, place, index);
                assert_eq!(all, width as usize);
                for (at, &value) in (first..first + all).zip(&values) {
                    let value = inv.get(value);
                    self.writes(inv, place, at);
                    self.store(inv, place, at, value);
                }
                return;
            }
            Op::UnpackHalf { word, part } => {
                let bits = inv.get(word).bits() >> (16 * part) & 0xFFFF;
                cast(CastOp::Convert, Value::from_bits(DataType::F16, bits), DataType::F32)
            }
            Op::PackHalves(a, b) => {
                let half = |x| cast(CastOp::Convert, inv.get(x), DataType::F16).bits() as u32;
                Value::new(half(b) << 16 | half(a))
            }
            Op::Get(local) => inv.locals[local.index()].expect("a local is set before it is read"),
            Op::Set(local, value) => {
                inv.locals[local.index()] = Some(inv.get(value));
                return;
            }
            Op::If { condition, then, otherwise } => {
                let block = if inv.get(condition).get::<bool>().unwrap() { then } else { otherwise };
                inv.frames.push(Frame { block, next: 0, within: None });
                return;
            }
            Op::Loop { body, continuing } => {
                let around = inv.frames.iter().rev().find_map(|frame| frame.within);
                let path = mix(around.map_or(0, Within::place), u64::from(id.0));
                inv.enter(body, Within { body, continuing, path, trip: 0 });
                return;
            }
            Op::Break => {
                while inv.frames.pop().expect("a loop").within.is_none() {}
                return;
            }
            Op::Continue => {
                let within = loop {
                    if let Some(within) = inv.frames.pop().expect("a loop").within {
                        break within;
                    }
                };
                inv.enter(within.continuing, within);
                return;
            }
            Op::Return => {
                inv.frames.clear();
                return;
            }
            Op::Fence { .. } => return,
            Op::Tile { .. } => panic!("tiles are run on devices alone"),
            Op::Barrier { .. } | Op::Subgroup { .. } => {
                inv.waits = Some(id);
                return;
            }
        };
        assert_eq!(Some(value.ty()), inst.ty);
        inv.values[id.index()] = Some(value);
    }

    /// An invocation stores an element, and not by an atomic.
    fn writes(&mut self, inv: &Invocation, place: Place, index: usize) {
        let Place::Binding(n) = place else { return };
        let binding = &self.kernel.bindings[n as usize];
        if self.kernel.grid.points && !binding.atomic && matches!(binding.role, Role::Buffer(_)) {
            let me = (self.group, inv.index);
            let writer = *self.writers.entry((n, index)).or_insert(me);
            assert_eq!(writer, me, "two invocations store element {index} of {}", binding.name);
        }
    }

    /// The first element of a vector, and how many it has.
    fn vector(&self, inv: &Invocation, place: Place, index: InstId) -> (usize, usize) {
        let width = match place {
            Place::Binding(n) => self.kernel.bindings[n as usize].vector,
            Place::Shared(n) => self.kernel.shared[n as usize].vector,
            Place::Private(_) => 1,
        };
        assert!(matches!(width, 2 | 4), "a vector in an array of none");
        (width as usize * inv.get(index).get::<u32>().unwrap() as usize, width as usize)
    }

    fn load(&self, inv: &Invocation, place: Place, index: usize, ty: DataType) -> u64 {
        match place {
            Place::Binding(n) => {
                let size = ty.size() as usize;
                let bytes = &self.memory[n as usize][index * size..(index + 1) * size];
                Value::from_le_bytes(ty, bytes).bits()
            }
            Place::Shared(n) => self.shared[n as usize][index],
            Place::Private(n) => inv.privates[n as usize][index],
        }
    }

    fn store(&mut self, inv: &mut Invocation, place: Place, index: usize, value: Value) {
        match place {
            Place::Binding(n) => {
                let size = value.ty().size() as usize;
                let bytes = &mut self.memory[n as usize][index * size..(index + 1) * size];
                bytes.copy_from_slice(&value.bits().to_le_bytes()[..size]);
            }
            Place::Shared(n) => self.shared[n as usize][index] = value.bits(),
            Place::Private(n) => inv.privates[n as usize][index] = value.bits(),
        }
    }
}

impl Invocation {
    /// Goes to a block of a loop.
    fn enter(&mut self, block: BlockId, within: Within) {
        if block == within.body {
            self.trips.push(within.place());
        }
        self.frames.push(Frame { block, next: 0, within: Some(within) });
    }

    fn get(&self, id: InstId) -> Value {
        self.values[id.index()].expect("a value is written before it is read")
    }
}
