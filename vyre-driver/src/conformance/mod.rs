//! The backend suite: what every backend must pass, op by op and by random programs.
//!
//! A backend's own tests call its entry points with an opened backend; each returns what
//! it ran and every failure, so that one fault does not hide the others.

mod case;
mod cases;
mod contract;
mod covered;
mod faults;
mod floats;
mod forms;
mod impact;
mod lanes;
mod operands;
mod ops;
mod optimizer;
mod programs;
mod speculation;
mod tiles;

pub use cases::{CASES, Case};
pub use contract::{contract, shutdown};
pub use covered::{Covered, Row, covered};
pub use faults::{narrow_stores, subgroup_sizes, wide_functions};
pub use floats::floats;
pub use forms::Form;
pub use impact::{RuleGraph, impact};
pub use lanes::{atomics, subgroups};
pub use ops::{Depth, ops, ops_named};
pub use optimizer::optimizer;
pub use programs::{program, programs, random_case, show, shrink_crash};
pub use speculation::speculation;
pub use tiles::tiles;

use std::fmt;

use vyre_foundation::check::{self, Checked};
use vyre_foundation::diag::Diagnostic;
use vyre_foundation::ir::{Arena, ArenaError, Program};

use crate::BackendError;

/// What a part of the suite ran and found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Values compared.
    pub compared: u64,
    /// Programs run.
    pub programs: u64,
    /// Programs that the backend refused with [`BackendError::Unsupported`], with its words.
    pub refused: Vec<String>,
    /// What was wrong.
    pub failures: Vec<Failure>,
}

/// One wrong value or error.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The case, such as `u32 add(1, 2), literal operands`.
    pub case: String,
    /// What came instead of what.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.case, self.message)
    }
}

impl Report {
    /// Adds another part's findings.
    pub fn merge(&mut self, other: Self) {
        self.compared += other.compared;
        self.programs += other.programs;
        self.refused.extend(other.refused);
        self.failures.extend(other.failures);
    }

    /// Records a program that did not give outputs.
    fn failed(&mut self, case: &str, error: &BackendError) {
        if let BackendError::Unsupported { .. } = error {
            self.refused.push(format!("{case}: {error}"));
        } else {
            self.failures.push(Failure { case: case.into(), message: format!("{error} ({})", error.code()) });
        }
    }
}

/// A suite program, finished and checked; a failure here is a fault of the suite or of the checker.
fn finished(arena: Arena) -> Result<Checked<Program>, SuiteError> {
    let (program, _) = arena.finish()?;
    Ok(check::check(program)?)
}

/// Why a suite program could not be made.
#[derive(Clone, Debug, thiserror::Error)]
enum SuiteError {
    #[error(transparent)]
    Arena(#[from] ArenaError),
    #[error("the checker refuses a suite program: {}", .0.first().map_or_else(String::new, ToString::to_string))]
    Check(Vec<Diagnostic>),
}

impl From<Vec<Diagnostic>> for SuiteError {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self::Check(diagnostics)
    }
}
