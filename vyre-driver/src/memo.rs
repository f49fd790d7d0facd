//! The one memo of checked programs, for methods that take an unchecked one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use vyre_foundation::check::{self, Checked};
use vyre_foundation::ir::Program;

use crate::BackendError;

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
