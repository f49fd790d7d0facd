//! Random programs for as long as it is asked to: the device against the reference machine, each program in every
//! form that it has. `cargo xtask fuzz` builds and runs it; built, it needs neither cargo nor the sources.
//!
//! ```sh
//! cargo run -p vyre-driver-wgpu --example fuzz -- --minutes 10 --jobs 4 --log fuzz.log
//! ```
//!
//! The programs run in child processes, so that a driver which crashes or hangs costs one program, which the log
//! names by its seed and shows as text. A wrong result is shrunk first. The status is 1 if anything was found.

mod graphs;
mod supervisor;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
Usage: fuzz [--graphs] [--minutes N] [--seed FIRST] [--count N] [--jobs J] [--log FILE]

  --graphs      whole graphs of 20 to 200 programs, unfused and fused, in place of single programs
  --minutes N   stop after so many minutes; without it, after --count
  --seed FIRST  the first seed (0)
  --count N     as many seeds, at most
  --jobs J      child processes (1)
  --log FILE    keep everything that is found, and the totals
";

/// What to run.
struct Plan {
    graphs: bool,
    minutes: Option<f64>,
    first: u64,
    count: Option<u64>,
    jobs: usize,
    log: Option<PathBuf>,
}

/// How long one program may take before its process is ended: shrinking a failure takes thousands of runs.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args == ["--worker"] {
        return worker::run();
    }
    let done = plan(&args).and_then(|plan| supervisor::run(&plan));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("fuzz: {error}");
            ExitCode::FAILURE
        }
    }
}

fn plan(args: &[String]) -> supervisor::Outcome<Plan> {
    let (flags, args): (Vec<&String>, Vec<&String>) = args.iter().partition(|arg| *arg == "--graphs");
    let graphs = !flags.is_empty();
    let mut plan = Plan { graphs, minutes: None, first: 0, count: None, jobs: 1, log: None };
    for pair in args.chunks(2) {
        let [name, value] = pair else { return Err(USAGE.into()) };
        match name.as_str() {
            "--minutes" => plan.minutes = Some(value.parse()?),
            "--seed" => plan.first = value.parse()?,
            "--count" => plan.count = Some(value.parse()?),
            "--jobs" => plan.jobs = value.parse()?,
            "--log" => plan.log = Some(value.into()),
            _ => return Err(USAGE.into()),
        }
    }
    if plan.minutes.is_none() && plan.count.is_none() {
        return Err(USAGE.into());
    }
    Ok(plan)
}
