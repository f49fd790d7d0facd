//! Runs the device work queue's trials on a GPU: a random graph of many tiny tasks, whose values show that each ran
//! once and saw what the tasks before it had stored, and adversarial graphs, of which the checker accepts those that
//! can run and no others.
//!
//! `cargo run --release -p vyre-driver-wgpu --example work_queue -- --tasks 1000000 --seed 1`

use std::process::ExitCode;
use std::time::Instant;

use vyre_driver::VyreBackend;
use vyre_driver_wgpu::WgpuBackend;
use vyre_megakernel::queue::trial::{Trial, adversaries, mix};
use vyre_megakernel::queue::{QueueCompiler, QueueLayout, QueueOptions};

/// What the command line asks for.
struct Arguments {
    tasks: u32,
    seed: u64,
    window: u32,
    lanes: u32,
    graphs: u64,
    repeat: u32,
    invocations: Option<u32>,
    patience: Option<u32>,
}

fn arguments() -> Result<Arguments, String> {
    let mut found = Arguments {
        tasks: 1_000_000,
        seed: 1,
        window: 10_000,
        lanes: 2,
        graphs: 100_000,
        repeat: 3,
        invocations: None,
        patience: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
        let number = value.parse::<u64>().map_err(|_| format!("`{value}` is no number"))?;
        let small = u32::try_from(number).map_err(|_| format!("`{value}` is too large"))?;
        match word.as_str() {
            "--tasks" => found.tasks = small,
            "--seed" => found.seed = number,
            "--window" => found.window = small,
            "--lanes" => found.lanes = small,
            "--graphs" => found.graphs = number,
            "--repeat" => found.repeat = small,
            "--invocations" => found.invocations = Some(small),
            "--patience" => found.patience = Some(small),
            _ => {
                return Err(format!(
                    "`{word}` is no option: there are --tasks, --seed, --window, --lanes, --graphs, --repeat, \
                     --invocations and --patience"
                ));
            }
        }
    }
    Ok(found)
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let asked = arguments()?;
    let backend = WgpuBackend::acquire()?;
    println!("device: {}", backend.profile().name);
    let mut compiler = QueueCompiler::new(QueueLayout { lanes: asked.lanes, ..QueueLayout::default() });
    let mix = compiler.handler(&mix()?)?;
    let queue = compiler.compile(&backend)?;
    let mut options = QueueOptions { timed: true, invocations: asked.invocations, ..QueueOptions::default() };
    if let Some(patience) = asked.patience {
        options.patience = patience;
    }

    for round in 0..u64::from(asked.repeat) {
        let seed = asked.seed + round;
        let trial = Trial::random(mix, asked.tasks, seed, asked.window, asked.lanes);
        let levels = trial.levels().1.len();
        let start = Instant::now();
        let report = trial.run(&queue, &backend, &options)?;
        let device = report.device_time.map_or("unknown".to_owned(), |time| format!("{time:.3?}"));
        println!(
            "seed {seed}: {} tasks on {levels} levels, each once and every value right: {} passes in {} submissions, \
             device time {device}, {:.3?} with checking and transfers",
            report.done(),
            report.passes,
            report.submissions,
            start.elapsed(),
        );
    }

    let start = Instant::now();
    let seeds = asked.seed..asked.seed + asked.graphs;
    let found = adversaries(&queue, &backend, mix, seeds, &options)?;
    println!(
        "{} adversarial graphs: {} accepted and run ({} tasks), none wrongly; refused for {:?}; {:.3?}",
        asked.graphs,
        found.accepted,
        found.tasks,
        found.refused,
        start.elapsed(),
    );
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
