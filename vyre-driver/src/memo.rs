//! Memos of what a dispatch would otherwise work out each time: checks and specialised programs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use vyre_foundation::check::{self, Checked};
use vyre_foundation::ir::{Arena, ArenaError, Expr, Extent, Launch, Program, RegionId};
use vyre_foundation::launch::Params;
use vyre_foundation::opt;
use vyre_spec::Value;

use crate::{BackendError, LaunchOptions};

/// Programs kept; past this the memo starts anew, which costs a check per program and nothing else.
const CAPACITY: usize = 1024;

/// The proof of a program, from the memo if an equal one was checked before.
///
/// # Errors
/// [`BackendError::InvalidProgram`] with every finding.
pub fn checked(program: &Program) -> Result<Checked<Program>, BackendError> {
    static MEMO: Mutex<Option<HashMap<Program, Checked<Program>>>> = Mutex::new(None);
    // The lock guards no invariant across the check, so a poisoned one is still good.
    if let Some(found) =
        MEMO.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|m| m.get(program))
    {
        return Ok(found.clone());
    }
    let proof = check::check(program.clone())?;
    let mut memo = MEMO.lock().unwrap_or_else(PoisonError::into_inner);
    let memo = memo.get_or_insert_with(HashMap::new);
    if memo.len() >= CAPACITY {
        memo.clear();
    }
    memo.insert(program.clone(), proof.clone());
    Ok(proof)
}

/// Prepared programs kept; they are searched one by one.
const PREPARED: usize = 32;

/// A program as it is compiled for some launches.
struct Prepared {
    program: Checked<Program>,
    /// What became of its `specialize` parameters.
    values: Vec<Value>,
    /// What replaced the author's workgroup size.
    workgroup: Option<[u32; 3]>,
    result: Checked<Program>,
}

static PREPARED_PROGRAMS: Mutex<VecDeque<Prepared>> = Mutex::new(VecDeque::new());

/// The program as it is compiled for a launch: with the author's workgroup size replaced if that is asked
/// for, and with its `specialize` parameters substituted, so that their values reach the optimiser and the
/// pipeline's cache key; the program itself if there is neither.
pub(crate) fn prepared(
    program: &Checked<Program>,
    launch: &LaunchOptions,
) -> Result<Checked<Program>, BackendError> {
    let workgroup = launch.workgroup;
    if workgroup.is_none() && program.params().iter().all(|param| !param.specialize) {
        return Ok(program.clone());
    }
    let values = specialized_values(program, &launch.params)?;
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
    let mut memo = PREPARED_PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    memo.truncate(PREPARED - 1);
    memo.push_front(Prepared { program: program.clone(), values, workgroup, result: result.clone() });
    Ok(result)
}

/// Refuses parameters other than those that a prepared program was specialised for.
pub(crate) fn same_specialization(program: &Checked<Program>, params: &Params) -> Result<(), BackendError> {
    let of = |x: &Expr| matches!(x, Expr::Param(id) if program.param(*id).specialize);
    let of_extent = |x: &Extent| matches!(x, Extent::Param(id) if program.param(*id).specialize);
    if program.params().iter().all(|param| !param.specialize)
        || program.exprs().iter().any(of)
        || program.extents().iter().any(of_extent)
    {
        return Ok(());
    }
    let values = specialized_values(program, params)?;
    let memo = PREPARED_PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let why = match memo.iter().find(|entry| entry.result.same(program)) {
        Some(entry) if entry.values == values => return Ok(()),
        Some(_) => "the pipeline was compiled for other values of the parameters that it specialises",
        None => "the values that the pipeline was specialised for are forgotten: compile it again",
    };
    Err(BackendError::Config { field: "params", why: why.to_owned() })
}

/// The values of the `specialize` parameters, in declaration order.
fn specialized_values(program: &Program, params: &Params) -> Result<Vec<Value>, BackendError> {
    let values = params.in_order(program)?.into_iter().zip(program.params());
    Ok(values.filter(|(_, param)| param.specialize).map(|(value, _)| value).collect())
}

/// The program with another workgroup size, which it does not notice.
fn resized(program: &Checked<Program>, size: [u32; 3]) -> Result<Checked<Program>, BackendError> {
    let Launch::Workgroups { count, .. } = program.launch() else { return Ok(program.clone()) };
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
    arena.set_launch(Launch::Workgroups { size, count });
    let failed = |error: ArenaError| BackendError::Driver {
        doing: "changing the workgroup size of a program",
        message: error.to_string(),
    };
    Ok(check::check(arena.finish().map_err(failed)?.0)?)
}
