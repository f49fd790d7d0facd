//! The child: reads seeds, one a line, and answers each with a few lines and `end`.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use vyre_driver::VyreBackend;
use vyre_driver::conformance::{self, Form};
use vyre_driver_wgpu::WgpuBackend;

use crate::graphs;

pub(crate) fn run() -> ExitCode {
    let backend = match WgpuBackend::acquire() {
        Ok(backend) => backend,
        Err(error) => {
            eprintln!("error: {error}\nhelp: {}", error.help());
            return ExitCode::FAILURE;
        }
    };
    match serve(&backend) {
        Ok(()) => ExitCode::SUCCESS,
        // The parent is gone.
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve(backend: &WgpuBackend) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let profile = backend.profile();
    writeln!(out, "{}, {}, {}\nend", profile.name, profile.driver, profile.api)?;
    out.flush()?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        // `show SEED` asks for the program alone, of a seed at which another child crashed; `graph SEED` for a graph.
        let (show, seed) = match line.strip_prefix("show ") {
            Some(seed) => (true, seed),
            None => (false, line.as_str()),
        };
        let (graph, seed) = match seed.strip_prefix("graph ") {
            Some(seed) => (true, seed),
            None => (false, seed),
        };
        let Ok(seed) = seed.parse::<u64>() else { continue };
        if graph && show {
            match graphs::show(backend, seed) {
                Ok(shown) => writeln!(out, "{shown}")?,
                Err(error) => writeln!(out, "{error}")?,
            }
        } else if graph {
            let report = graphs::run(backend, seed);
            writeln!(out, "ran {} {} {}", report.runs, report.compared, report.refused)?;
            for failure in &report.failures {
                writeln!(out, "wrong {failure}")?;
            }
        } else if show {
            let case = conformance::random_case(backend, seed);
            writeln!(out, "{}", conformance::show(&case))?;
        } else {
            let report = conformance::program(backend, seed, &Form::ALL);
            writeln!(out, "ran {} {} {}", report.programs, report.compared, report.refused.len())?;
            for failure in &report.failures {
                writeln!(out, "wrong {failure}")?;
            }
        }
        writeln!(out, "end")?;
        out.flush()?;
    }
    Ok(())
}
