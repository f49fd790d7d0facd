//! `check`: what is wrong with a program, as written and as run.

use vyre_foundation::machine::{self, MachineOptions, Schedule};

use crate::args::Check;
use crate::error::CliError;
use crate::{inputs, load};

pub(crate) fn run(arguments: &Check) -> Result<(), CliError> {
    if load::is_graph(&arguments.file)? {
        return graph(arguments);
    }
    let loaded = load::load(&arguments.file)?;
    let program = &loaded.program;
    if !arguments.run {
        return crate::print(&format!(
            "{}: `{}` is sound; it has {} and {}\n",
            arguments.file.display(),
            program.name(),
            count(program.buffers().len(), "buffer"),
            count(program.params().len(), "parameter")
        ));
    }
    let buffers = inputs::buffers(program, &arguments.inputs)?;
    let buffers: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
    let params = inputs::params(program, &arguments.inputs)?;
    let options = MachineOptions {
        sanitize: true,
        schedule: arguments.seed.map_or(Schedule::InOrder, Schedule::Seeded),
        ..MachineOptions::default()
    };
    let outcome = machine::run(program, &params, &buffers, &options)?;
    if !outcome.reports.is_empty() {
        let found: Vec<_> = outcome.reports.iter().map(|report| report.diagnostic(program)).collect();
        return Err(loaded.findings(&found));
    }
    if let Some(trap) = outcome.trap {
        return Err(CliError::Trap { code: trap.code, invocation: trap.invocation, address: trap.address });
    }
    crate::print(&format!(
        "{}: `{}` is sound, and ran on the reference machine without findings\n",
        arguments.file.display(),
        program.name()
    ))
}

/// Graphs are checked as written; `compile` and `run` are for the rest.
fn graph(arguments: &Check) -> Result<(), CliError> {
    if arguments.run {
        return Err(CliError::Without { option: "--run", needs: "the text of a program" });
    }
    let graph = load::graph(&arguments.file)?;
    crate::print(&format!(
        "{}: the graph `{}` is sound; it has {} of {}\n",
        arguments.file.display(),
        graph.name(),
        count(graph.nodes().len(), "node"),
        count(graph.programs().len(), "program")
    ))
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
