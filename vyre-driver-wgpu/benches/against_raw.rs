//! `cargo bench -p vyre-driver-wgpu`: the table of `vyre-wgpu bench`, on the adapter that
//! `VYRE_ADAPTER_INDEX` and `VYRE_ALLOW_SOFTWARE` select; with `-- KIND`, its rows of that kind.

mod rows;

use std::process::{Command, ExitCode};
use std::time::Duration;

use vyre_driver::BackendError;
use vyre_driver_wgpu::WgpuBackend;

/// Makes this a child process of the warm start's row; its side follows.
const CHILD: &str = "--first-result";

fn main() -> ExitCode {
    // `cargo test --benches` passes `--test`; timing there would only cost time.
    if std::env::args().any(|arg| arg == "--test") {
        return ExitCode::SUCCESS;
    }
    let mut arguments = std::env::args().skip_while(|arg| arg != CHILD);
    if let Some(side) = arguments.nth(1).and_then(|name| rows::Side::named(&name)) {
        return exit(side.first_result());
    }
    let only =
        match std::env::args().skip(1).find(|arg| !arg.starts_with('-')).map(|name| rows::Kind::named(&name))
        {
            Some(Err(expected)) => {
                eprintln!("error: the kind of rows is {expected}");
                return ExitCode::FAILURE;
            }
            kind => kind.and_then(Result::ok),
        };
    let child = |side: rows::Side| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([CHILD, side.name()]);
        Ok(command)
    };
    let effort = rows::Effort { per_row: Duration::from_secs(3), max_pairs: 2_000, matmul_rows: 512 };
    let result = WgpuBackend::acquire().and_then(|backend| {
        rows::run(&backend, effort, only, &child, &mut |row| {
            println!(
                "{:<60} {:>8.3} (asked {:.2}) {:>12.3?} against {:>12.3?}, {} pairs{}{}{}",
                row.name,
                row.ratio(),
                row.asked,
                row.vyre,
                row.raw,
                row.pairs,
                row.rate(),
                row.prediction(),
                if row.correct { "" } else { "  WRONG RESULT" }
            );
        })
    });
    match result {
        Ok(rows) if rows.iter().all(|row| row.correct) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => exit(Err(error)),
    }
}

fn exit(result: Result<(), BackendError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error[{}]: {error}\nhelp: {}", error.code(), error.help());
            ExitCode::FAILURE
        }
    }
}
