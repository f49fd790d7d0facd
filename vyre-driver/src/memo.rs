//! Memos of what a dispatch would otherwise work out each time: checks and specialised programs.

use std::borrow::Borrow;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError, RwLock};

use vyre_foundation::check::{self, Checked};
use vyre_foundation::ir::{Arena, ArenaError, Expr, Extent, Launch, Program, RegionId};
use vyre_foundation::launch::Params;
use vyre_foundation::opt;
use vyre_spec::Value;

use crate::{BackendError, LaunchOptions};

/// Programs kept; past this the memo starts anew, which costs a check per program and nothing else.
const CAPACITY: usize = 1024;

/// A proof, found by the program that it is of.
struct Proof(Checked<Program>);

impl Borrow<Program> for Proof {
    fn borrow(&self) -> &Program {
        &self.0
    }
}

impl Hash for Proof {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Program::hash(&self.0, state);
    }
}

impl PartialEq for Proof {
    fn eq(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }
}

impl Eq for Proof {}

/// A hash that is quick on the small fields of a program. The memo holds few programs, and compares what it
/// finds, so that a collision costs a comparison.
#[derive(Default)]
struct Quick(u64);

impl Quick {
    fn mix(&mut self, word: u64) {
        // The multiplier is 2^64 divided by the golden ratio, made odd.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        // The table takes its index from the low bits, and the product's high ones are the better mixed.
        self.0.rotate_left(32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.mix(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.mix(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.mix(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.mix(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }

    fn write_isize(&mut self, n: isize) {
        self.mix(n as u64);
    }
}

/// What the memo of checked programs has done and holds, for the whole process. Every request is a hit or a
/// miss, and `insertions - evictions` entries are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ValidationCacheSnapshot {
    /// Programs whose proof was there.
    pub hits: u64,
    /// Programs that were checked.
    pub misses: u64,
    /// Proofs put in.
    pub insertions: u64,
    /// Proofs that had to go.
    pub evictions: u64,
    /// Proofs now.
    pub entries: u64,
}

#[derive(Default)]
struct Proofs {
    table: HashSet<Proof, BuildHasherDefault<Quick>>,
    insertions: u64,
    evictions: u64,
}

// The lock guards no invariant across a check, so a poisoned one is still good.
static PROOFS: LazyLock<RwLock<Proofs>> = LazyLock::new(RwLock::default);
static HITS: AtomicU64 = AtomicU64::new(0);
static MISSES: AtomicU64 = AtomicU64::new(0);

/// The proof of a program, from the memo if an equal one was checked before.
///
/// # Errors
/// [`BackendError::InvalidProgram`] with every finding.
pub fn checked(program: &Program) -> Result<Checked<Program>, BackendError> {
    if let Some(found) = PROOFS.read().unwrap_or_else(PoisonError::into_inner).table.get(program) {
        HITS.fetch_add(1, Ordering::Relaxed);
        return Ok(found.0.clone());
    }
    MISSES.fetch_add(1, Ordering::Relaxed);
    let proof = check::check(program.clone())?;
    let mut proofs = PROOFS.write().unwrap_or_else(PoisonError::into_inner);
    // Of two threads that checked it, both use the first.
    if let Some(found) = proofs.table.get(program) {
        return Ok(found.0.clone());
    }
    if proofs.table.len() >= CAPACITY {
        proofs.evictions += proofs.table.len() as u64;
        proofs.table.clear();
    }
    proofs.insertions += 1;
    proofs.table.insert(Proof(proof.clone()));
    Ok(proof)
}

/// The counters of the memo behind [`checked`] at this moment.
pub fn validation_cache_snapshot() -> ValidationCacheSnapshot {
    let proofs = PROOFS.read().unwrap_or_else(PoisonError::into_inner);
    ValidationCacheSnapshot {
        hits: HITS.load(Ordering::Relaxed),
        misses: MISSES.load(Ordering::Relaxed),
        insertions: proofs.insertions,
        evictions: proofs.evictions,
        entries: proofs.table.len() as u64,
    }
}

/// Prepared programs kept that nobody else holds; they are searched one by one. Those of living pipelines are
/// kept as well, since the values that they were specialised for are known here alone.
const PREPARED: usize = 32;

/// A program as it is compiled for some launches.
struct Prepared {
    program: Checked<Program>,
    /// What became of those of its `specialize` parameters that it uses.
    values: Vec<Value>,
    /// What replaced the author's workgroup size.
    workgroup: Option<[u32; 3]>,
    result: Checked<Program>,
}

static PREPARED_PROGRAMS: Mutex<VecDeque<Prepared>> = Mutex::new(VecDeque::new());

/// The program as it is compiled for a launch: with the author's workgroup size replaced if that is asked
/// for, and with its `specialize` parameters substituted, so that their values reach the optimiser and the
/// pipeline's cache key; the program itself if there is neither.
///
/// # Errors
/// [`BackendError::Launch`] for parameters that are not the program's, or [`BackendError::Config`] for a workgroup size
/// that it cannot have.
pub fn prepared(
    program: &Checked<Program>,
    launch: &LaunchOptions,
) -> Result<Checked<Program>, BackendError> {
    let workgroup = launch.workgroup;
    if workgroup.is_none() && program.params().iter().all(|param| !param.specialize) {
        return Ok(program.clone());
    }
    let values = substituted(program, &launch.params)?;
    let known = |entry: &&Prepared| {
        entry.program.same(program) && entry.values == values && entry.workgroup == workgroup
    };
    if let Some(entry) = PREPARED_PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).iter().find(known) {
        return Ok(entry.result.clone());
    }
    let result = match workgroup {
        Some(size) => opt::specialize(&resized(program, size)?, &launch.params)?,
        None => opt::specialize(program, &launch.params)?,
    };
    remember(Prepared { program: program.clone(), values, workgroup, result: result.clone() });
    Ok(result)
}

fn remember(new: Prepared) {
    let mut memo = PREPARED_PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut idle = 0;
    memo.retain(|old| {
        idle += usize::from(!old.result.is_shared());
        let again = old.result.same(&new.result)
            && old.program.same(&new.program)
            && (&old.values, old.workgroup) == (&new.values, new.workgroup);
        !again && (old.result.is_shared() || idle < PREPARED)
    });
    memo.push_front(new);
}

/// A program compiled for a launch may come back as an equal one, which the backend has compiled before: its
/// pipeline is then good for the same values.
pub(crate) fn compiled_as(
    program: &Checked<Program>,
    launch: &LaunchOptions,
    prepared: &Checked<Program>,
    compiled: &Checked<Program>,
) -> Result<(), BackendError> {
    let is_itself = prepared.same(program) || prepared.same(compiled);
    if is_itself || program.params().iter().all(|param| !param.specialize) {
        return Ok(());
    }
    let values = substituted(program, &launch.params)?;
    let workgroup = launch.workgroup;
    remember(Prepared { program: program.clone(), values, workgroup, result: compiled.clone() });
    Ok(())
}

/// Refuses parameters other than those that a prepared program was specialised for.
pub(crate) fn same_specialization(program: &Checked<Program>, params: &Params) -> Result<(), BackendError> {
    if program.params().iter().all(|param| !param.specialize) || !substituted(program, params)?.is_empty() {
        return Ok(());
    }
    // A living pipeline holds its program, so that its entries are there: without one, nothing was substituted.
    let memo = PREPARED_PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let made_of = || memo.iter().filter(|entry| entry.result.same(program));
    for entry in made_of() {
        // Several values may come to the same program; several programs may as well, and each must agree.
        let values = substituted(&entry.program, params)?;
        if !made_of().any(|other| other.program.same(&entry.program) && other.values == values) {
            let why = "the pipeline was compiled for other values of the parameters that it specialises";
            return Err(BackendError::Config { field: "params", why: why.to_owned() });
        }
    }
    Ok(())
}

/// The values of the `specialize` parameters that the program uses, in declaration order.
fn substituted(program: &Program, params: &Params) -> Result<Vec<Value>, BackendError> {
    let mut used = vec![false; program.params().len()];
    let in_exprs = program.exprs().iter().filter_map(|expr| match expr {
        Expr::Param(id) => Some(*id),
        _ => None,
    });
    let in_extents = program.extents().iter().filter_map(|extent| match extent {
        Extent::Param(id) => Some(*id),
        _ => None,
    });
    for id in in_exprs.chain(in_extents) {
        if let Some(used) = used.get_mut(id.index()) {
            *used = program.param(id).specialize;
        }
    }
    let values = params.in_order(program)?.into_iter().zip(used);
    Ok(values.filter_map(|(value, used)| used.then_some(value)).collect())
}

/// The program with another workgroup size, which it does not notice.
fn resized(program: &Checked<Program>, size: [u32; 3]) -> Result<Checked<Program>, BackendError> {
    let launch = match program.launch() {
        Launch::Domain { .. } => return Ok(program.clone()),
        Launch::Workgroups { count, .. } => Launch::Workgroups { size, count },
        Launch::Indirect { counts, .. } => Launch::Indirect { size, counts },
    };
    let mut arena = Arena::with_declarations_of(program);
    // Everything in its old order, so that the ids stay what they are.
    for &expr in program.exprs() {
        arena.expr(expr);
    }
    for &node in program.nodes() {
        arena.node(node);
    }
    for _ in 1..program.regions().len() {
        arena.region();
    }
    for (i, nodes) in program.regions().iter().enumerate() {
        nodes.iter().for_each(|&node| arena.place_node(RegionId::new(i as u32), node));
    }
    arena.set_launch(launch);
    let failed = |error: ArenaError| BackendError::Driver {
        doing: "changing the workgroup size of a program",
        message: error.to_string(),
    };
    // The program itself is right, so what is wrong now is wrong with the size.
    check::check(arena.finish().map_err(failed)?.0).map_err(|diagnostics| {
        let why = diagnostics.first().map_or_else(String::new, ToString::to_string);
        BackendError::Config { field: "workgroup", why }
    })
}
