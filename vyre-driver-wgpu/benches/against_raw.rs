//! `cargo bench -p vyre-driver-wgpu`: the table of `vyre-wgpu bench`, on the adapter that
//! `VYRE_ADAPTER_INDEX` and `VYRE_ALLOW_SOFTWARE` select.

mod rows;

use std::process::ExitCode;
use std::time::Duration;

use vyre_driver_wgpu::WgpuBackend;

fn main() -> ExitCode {
    // `cargo test --benches` passes `--test`; timing there would only cost time.
    if std::env::args().any(|arg| arg == "--test") {
        return ExitCode::SUCCESS;
    }
    let effort = rows::Effort { per_row: Duration::from_secs(3), max_pairs: 2_000, matmul_rows: 512 };
    let result = WgpuBackend::acquire().and_then(|backend| {
        rows::run(&backend, effort, &mut |row| {
            println!(
                "{:<60} {:>8.3} (asked {:.2}) {:>12.3?} against {:>12.3?}, {} pairs{}",
                row.name,
                row.ratio(),
                row.asked,
                row.vyre,
                row.raw,
                row.pairs,
                if row.correct { "" } else { "  WRONG RESULT" }
            );
        })
    });
    match result {
        Ok(rows) if rows.iter().all(|row| row.correct) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error[{}]: {error}\nhelp: {}", error.code(), error.help());
            ExitCode::FAILURE
        }
    }
}
