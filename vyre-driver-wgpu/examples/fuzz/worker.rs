//! The child: reads seeds, one a line, and answers each with a few lines and `end`.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use vyre_driver::VyreBackend;
use vyre_driver::conformance::{self, Form};
use vyre_driver_wgpu::WgpuBackend;

use crate::graphs;

/// Said of a candidate that did not crash.
pub(crate) const SURVIVED: &str = "survived";

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
        // `SEED` and `graph SEED` are run. `show …` asks for the case alone, at which another child crashed, and `shrink SEED
        // ANSWERS` for a smaller program, where the answers say which of the first candidates crashed other children.
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().ok();
        match *words.as_slice() {
            ["show", "graph", seed] => {
                let Some(seed) = number(seed) else { continue };
                match graphs::show(backend, seed) {
                    Ok(shown) => writeln!(out, "{shown}")?,
                    Err(error) => writeln!(out, "{error}")?,
                }
            }
            ["show", seed] => {
                let Some(seed) = number(seed) else { continue };
                writeln!(out, "{}", conformance::show(&conformance::random_case(backend, seed)))?;
            }
            ["shrink", seed, answers] => {
                let Some(seed) = number(seed) else { continue };
                let answers: Vec<bool> = answers.bytes().map(|answer| answer == b'1').collect();
                let case = conformance::shrink_crash(backend, seed, &answers, &mut || {
                    // A parent that is gone is noticed at the end.
                    let _ = writeln!(out, "{SURVIVED}").and_then(|()| out.flush());
                });
                writeln!(out, "{}", conformance::show(&case))?;
            }
            ["graph", seed] => {
                let Some(seed) = number(seed) else { continue };
                let report = graphs::run(backend, seed);
                writeln!(out, "ran {} {} {}", report.runs, report.compared, report.refused)?;
                for failure in &report.failures {
                    writeln!(out, "wrong {failure}")?;
                }
            }
            [seed] => {
                let Some(seed) = number(seed) else { continue };
                let report = conformance::program(backend, seed, &Form::ALL);
                writeln!(out, "ran {} {} {}", report.programs, report.compared, report.refused.len())?;
                for failure in &report.failures {
                    writeln!(out, "wrong {failure}")?;
                }
            }
            _ => continue,
        }
        writeln!(out, "end")?;
        out.flush()?;
    }
    Ok(())
}
