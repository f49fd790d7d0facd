//! Cases with a name and an outcome.

use std::error::Error;
use std::fmt::Debug;

use super::{Failure, Report};

/// How a case went.
pub(super) type Outcome = Result<(), Box<dyn Error>>;

/// Collects the failures of named cases.
pub(super) fn report(cases: impl IntoIterator<Item = (&'static str, Outcome)>) -> Report {
    let mut report = Report::default();
    for (name, outcome) in cases {
        report.programs += 1;
        if let Err(error) = outcome {
            report.failures.push(Failure { case: name.into(), message: error.to_string() });
        }
    }
    report
}

pub(super) fn same<T: PartialEq + Debug>(what: &str, got: T, want: T) -> Outcome {
    if got == want { Ok(()) } else { Err(format!("{what}: {got:?} in place of {want:?}").into()) }
}

pub(super) fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|word| word.to_le_bytes()).collect()
}
