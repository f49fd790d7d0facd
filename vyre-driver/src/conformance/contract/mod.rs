//! The contract: every method of the backend trait, with values worked out here on the host.

mod commands;
mod configuration;
mod handles;
mod host;
mod kernels;
mod large;
mod resident;
mod sequences;
mod views;

use super::Report;
use super::case::{Case, Problem, run, words as bytes};
use crate::VyreBackend;

/// Checks every method of the trait but `shutdown`, for which [`shutdown`] takes a backend of its own.
pub fn contract(backend: &dyn VyreBackend) -> Report {
    let parts: &[&[(&str, Check)]] = &[
        host::CHECKS,
        configuration::CHECKS,
        resident::CHECKS,
        sequences::CHECKS,
        commands::CHECKS,
        large::CHECKS,
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
