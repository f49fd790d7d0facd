//! Cases with a name and an outcome.

use std::fmt::Debug;

use vyre_foundation::build::BuildError;

use super::{Failure, Report};
use crate::BackendError;
use crate::optimizer::DispatchError;

/// How a case went.
pub(super) type Outcome = Result<(), Problem>;

/// Collects the failures of named cases, of which none may be refused.
pub(super) fn report(cases: impl IntoIterator<Item = (&'static str, Outcome)>) -> Report {
    let mut report = Report::default();
    for (name, outcome) in cases {
        run(&mut report, name, |_| outcome.map_err(|problem| Problem::Wrong(problem.message())));
    }
    report
}

/// Runs a case and records how it went.
pub(super) fn run(report: &mut Report, name: &str, check: impl FnOnce(&mut Case) -> Result<(), Problem>) {
    let mut case = Case::default();
    let outcome = check(&mut case);
    report.compared += case.compared;
    report.programs += 1;
    let mut fail = |message| report.failures.push(Failure { case: name.to_owned(), message });
    match outcome {
        Ok(()) => {}
        Err(Problem::Backend(error @ BackendError::Unsupported { .. })) => report.failed(name, &error),
        Err(problem) => fail(problem.message()),
    }
}

/// What a case has compared so far.
#[derive(Debug, Default)]
pub(super) struct Case {
    compared: u64,
}

/// Why a case ended.
#[derive(Debug)]
pub(super) enum Problem {
    Backend(BackendError),
    Wrong(String),
}

impl Problem {
    fn message(self) -> String {
        match self {
            Self::Backend(error) => format!("{error} ({}): {}", error.code(), error.help()),
            Self::Wrong(message) => message,
        }
    }
}

impl From<BackendError> for Problem {
    fn from(error: BackendError) -> Self {
        Self::Backend(error)
    }
}

impl From<BuildError> for Problem {
    fn from(error: BuildError) -> Self {
        Self::Wrong(format!("the suite's own program is wrong: {error}"))
    }
}

impl From<DispatchError> for Problem {
    fn from(error: DispatchError) -> Self {
        Self::Wrong(format!("{error} ({}): {}", error.code(), error.help()))
    }
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self::Wrong(message)
    }
}

impl From<&str> for Problem {
    fn from(message: &str) -> Self {
        Self::Wrong(message.to_owned())
    }
}

impl Case {
    /// Compares a value with the one worked out.
    pub(super) fn equal<T: Debug + PartialEq + ?Sized>(
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
    pub(super) fn refused<T: Debug>(
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

/// As [`Case::equal`], where nobody counts.
pub(super) fn same<T: PartialEq + Debug>(what: &str, got: T, want: T) -> Outcome {
    Case::default().equal(what, &got, &want)
}

/// Words as the bytes of a `u32` buffer.
pub(super) fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|word| word.to_le_bytes()).collect()
}
