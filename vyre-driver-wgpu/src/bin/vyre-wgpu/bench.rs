//! `bench`: Vyre against the same work on raw wgpu, on this machine.

use std::process::Command;
use std::time::Duration;

use serde_json::json;
use vyre_driver::VyreBackend;
use vyre_driver_wgpu::WgpuBackend;

use crate::args::Bench;
use crate::error::CliError;
use crate::rows::{self, Effort, Row, Side};

pub(crate) fn run(arguments: &Bench) -> Result<(), CliError> {
    if let Some(side) = arguments.first_result {
        return Ok(side.first_result()?);
    }
    let backend = WgpuBackend::acquire()?;
    let profile = backend.profile().clone();
    if !arguments.json {
        crate::print(&format!("{} ({}, {})\n", profile.name, profile.api, profile.driver))?;
        crate::print("ratio = median time of Vyre / median time of raw wgpu; the two run in turn\n\n")?;
        crate::print(&format!(
            "{:<58} {:>6} {:>6} {:>11} {:>11} {:>6}\n",
            "", "ratio", "asked", "vyre", "raw", "pairs"
        ))?;
    }
    let effort = Effort {
        per_row: Duration::from_secs(arguments.seconds),
        max_pairs: 2_000,
        // A software device would take minutes for what a GPU does in a blink.
        matmul_rows: if profile.is_software { 256 } else { 2_048 },
    };
    let mut printed = Ok(());
    let child = |side: Side| {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["bench", "--first-result", side.name()]);
        Ok(command)
    };
    let rows = rows::run(&backend, effort, arguments.only, &child, &mut |row| {
        if !arguments.json && printed.is_ok() {
            printed = crate::print(&line(row));
        }
    })?;
    printed?;
    if arguments.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({ "row": row.name, "ratio": row.ratio(), "asked": row.asked,
                        "predicted": row.predicted, "correct": row.correct,
                        "vyre_seconds": row.vyre.as_secs_f64(), "raw_seconds": row.raw.as_secs_f64(),
                        "pairs": row.pairs, "teraflops": row.teraflops(), "error": row.error })
            })
            .collect();
        let device = json!({ "name": profile.name, "api": profile.api, "driver": profile.driver });
        crate::print(&format!("{:#}\n", json!({ "device": device, "rows": rows })))?;
    }
    match rows.iter().find(|row| !row.correct) {
        Some(row) => Err(CliError::WrongBench { row: row.name }),
        None => Ok(()),
    }
}

fn line(row: &Row) -> String {
    let asks = row.asked.is_finite();
    let mark = match (row.correct, row.ratio() <= row.asked) {
        (false, _) => "  WRONG RESULT",
        (true, false) => "  above what is asked",
        (true, true) if asks => "  as asked",
        (true, true) => "",
    };
    let asked = if asks { format!("{:.2}", row.asked) } else { "-".to_owned() };
    format!(
        "{:<58} {:>6.3} {asked:>6} {:>11} {:>11} {:>6}{mark}{}{}\n",
        row.name,
        row.ratio(),
        micros(row.vyre),
        micros(row.raw),
        row.pairs,
        row.rate(),
        row.prediction()
    )
}

fn micros(time: Duration) -> String {
    format!("{:.1} µs", time.as_secs_f64() * 1e6)
}
