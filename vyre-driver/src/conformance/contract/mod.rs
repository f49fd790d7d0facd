//! The contract: every method of the backend trait, with values worked out here on the host.

mod commands;
mod configuration;
mod handles;
mod host;
mod kernels;
mod resident;
mod sequences;
mod views;

use std::fmt::Debug;

use super::{Failure, Report};
use crate::{BackendError, VyreBackend};

/// Checks every method of the trait but `shutdown`, for which [`shutdown`] takes a backend of its own.
pub fn contract(backend: &dyn VyreBackend) -> Report {
    let parts: &[&[(&str, Check)]] = &[
        host::CHECKS,
        configuration::CHECKS,
        resident::CHECKS,
        sequences::CHECKS,
        commands::CHECKS,
        handles::CHECKS,
        views::CHECKS,
    ];
    let mut report = Report::default();
    for (name, check) in parts.iter().copied().flatten() {
        run(&mut report, name, |case| check(backend, case));
    }
    report
}

/// Shuts the backend down and checks that every use of it is then refused as such.
pub fn shutdown(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    run(&mut report, "shutdown", |case| handles::shutdown(backend, case));
    report
}

type Check = fn(&dyn VyreBackend, &mut Case) -> Result<(), Problem>;

fn run(report: &mut Report, name: &str, check: impl FnOnce(&mut Case) -> Result<(), Problem>) {
    let mut case = Case::default();
    let outcome = check(&mut case);
    report.compared += case.compared;
    report.programs += 1;
    let mut fail = |message| report.failures.push(Failure { case: name.to_owned(), message });
    match outcome {
        Ok(()) => {}
        Err(Problem::Wrong(message)) => fail(message),
        Err(Problem::Backend(error @ BackendError::Unsupported { .. })) => report.failed(name, &error),
        Err(Problem::Backend(error)) => fail(format!("{error} ({}): {}", error.code(), error.help())),
    }
}

/// What a check has compared so far.
#[derive(Debug, Default)]
struct Case {
    compared: u64,
}

/// Why a check ended.
enum Problem {
    Backend(BackendError),
    Wrong(String),
}

impl From<BackendError> for Problem {
    fn from(error: BackendError) -> Self {
        Self::Backend(error)
    }
}

impl From<vyre_foundation::build::BuildError> for Problem {
    fn from(error: vyre_foundation::build::BuildError) -> Self {
        Self::Wrong(format!("the suite's own program is wrong: {error}"))
    }
}

impl Case {
    /// Compares a value with the one worked out.
    fn equal<T: Debug + PartialEq + ?Sized>(
        &mut self,
        what: impl Debug,
        got: &T,
        want: &T,
    ) -> Result<(), Problem> {
        self.compared += 1;
        if got == want {
            return Ok(());
        }
        Err(Problem::Wrong(format!("{what:?}: {got:?} instead of {want:?}")))
    }

    /// Wants a refusal that `right` accepts.
    fn refused<T: Debug>(
        &mut self,
        what: impl Debug,
        got: Result<T, BackendError>,
        right: impl FnOnce(&BackendError) -> bool,
    ) -> Result<(), Problem> {
        self.compared += 1;
        match got {
            Err(error) if right(&error) => Ok(()),
            Err(error) => Err(Problem::Wrong(format!("{what:?}: another refusal: {error:?}"))),
            Ok(value) => Err(Problem::Wrong(format!("{what:?}: no refusal, but {value:?}"))),
        }
    }
}

/// Words as the bytes of a `u32` buffer.
fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
