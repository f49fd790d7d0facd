//! Memos of what a dispatch would otherwise work out each time: checks and specialised programs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use vyre_foundation::check::{self, Checked};
use vyre_foundation::ir::Program;
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

/// Specialised programs kept; they are searched one by one.
const SPECIALIZED: usize = 32;

struct Specialized {
    program: Checked<Program>,
    values: Vec<Value>,
    result: Checked<Program>,
}

/// The program as it is compiled for a launch: with the author's workgroup size replaced if that is asked
/// for, and with its `specialize` parameters substituted, so that their values reach the optimiser and the
/// pipeline's cache key; the program itself if there is neither.
pub(crate) fn prepared(
    program: &Checked<Program>,
    launch: &LaunchOptions,
) -> Result<Checked<Program>, BackendError> {
    specialized(program, &launch.params)
}

fn specialized(program: &Checked<Program>, params: &Params) -> Result<Checked<Program>, BackendError> {
    static MEMO: Mutex<VecDeque<Specialized>> = Mutex::new(VecDeque::new());
    if program.params().iter().all(|param| !param.specialize) {
        return Ok(program.clone());
    }
    let values: Vec<_> = params.in_order(program)?;
    let values: Vec<_> = values
        .into_iter()
        .zip(program.params())
        .filter(|(_, p)| p.specialize)
        .map(|(value, _)| value)
        .collect();
    let known = |entry: &&Specialized| entry.program.same(program) && entry.values == values;
    if let Some(entry) = MEMO.lock().unwrap_or_else(PoisonError::into_inner).iter().find(known) {
        return Ok(entry.result.clone());
    }
    let result = opt::specialize(program, params)?;
    let mut memo = MEMO.lock().unwrap_or_else(PoisonError::into_inner);
    memo.truncate(SPECIALIZED - 1);
    memo.push_front(Specialized { program: program.clone(), values, result: result.clone() });
    Ok(result)
}
