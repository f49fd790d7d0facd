//! Faults that people met in other systems, each as small programs whose results are worked out on the host, without
//! the evaluations of the op tables. `docs/testing/cases.md` lists them by number.

mod arithmetic;
mod exits;
mod flow;

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::text;
use vyre_spec::{Comparison, DataType};

use super::{Failure, Report};
use crate::{BackendError, DispatchConfig, VyreBackend};

/// A case: its number, and what runs it on a backend.
pub type Case = (&'static str, fn(&dyn VyreBackend) -> Report);

/// Every case with its number.
pub const CASES: &[Case] = &[
    ("C01", arithmetic::remainders),
    ("C02", arithmetic::ends_of_ranges),
    ("C03", arithmetic::floats_to_integers),
    ("C04", arithmetic::transcendentals),
    ("C05", arithmetic::constants),
    ("C06", super::subgroup_sizes),
    ("C07", super::narrow_stores),
    ("C08", exits::breaks_and_continues),
    ("C09", flow::locals_of_loops),
    ("C10", flow::long_loops),
    ("C13", flow::shared_memory_is_zero),
    ("C14", flow::workgroups_keep_apart),
];

/// A program from text.
fn program(text: &str) -> Result<Checked<Program>, String> {
    let (program, _) = text::parse(text).map_err(|errors| format!("{errors:?}"))?;
    check(program).map_err(|findings| format!("{findings:?}"))
}

/// Runs a program, folded and not, and compares each output with the one worked out.
fn run(
    backend: &dyn VyreBackend,
    label: &str,
    text: &str,
    inputs: &[Vec<u8>],
    want: &[(DataType, Vec<u8>)],
    report: &mut Report,
) {
    for unoptimized in [true, false] {
        let label = format!("{label}, {}", if unoptimized { "as written" } else { "optimised" });
        report.programs += 1;
        match outputs(backend, text, inputs, unoptimized) {
            Err(Wrong::Suite(message)) => report.failures.push(Failure { case: label, message }),
            Err(Wrong::Backend(error)) => report.failed(&label, &error),
            Ok(got) => {
                for (i, ((ty, want), got)) in want.iter().zip(&got).enumerate() {
                    report.compared += want.len() as u64 / u64::from(ty.size());
                    if let Err(mismatch) = Comparison::EXACT.outputs(*ty, want, got) {
                        let message = format!("output {i}: {mismatch:?}");
                        report.failures.push(Failure { case: label.clone(), message });
                    }
                }
                if got.len() != want.len() {
                    let message = format!("{} outputs of {}", got.len(), want.len());
                    report.failures.push(Failure { case: label, message });
                }
            }
        }
    }
}

/// Why a program gave nothing.
enum Wrong {
    /// The program is not one.
    Suite(String),
    Backend(BackendError),
}

fn outputs(
    backend: &dyn VyreBackend,
    text: &str,
    inputs: &[Vec<u8>],
    unoptimized: bool,
) -> Result<Vec<Vec<u8>>, Wrong> {
    let program = program(text).map_err(Wrong::Suite)?;
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let config = DispatchConfig { unoptimized, ..DispatchConfig::default() };
    backend.dispatch_checked(&program, &inputs, &config).map_err(Wrong::Backend)
}

/// The low bytes of numbers, as elements of a type.
fn elements(ty: DataType, numbers: impl IntoIterator<Item = i128>) -> Vec<u8> {
    let size = ty.size() as usize;
    numbers.into_iter().flat_map(|n| n.to_le_bytes().into_iter().take(size)).collect()
}

/// The least and the greatest number of a signed type.
fn range(ty: DataType) -> [i128; 2] {
    let top = 1i128 << (ty.width() - 1);
    [-top, top - 1]
}
