//! The `vyre-wgpu` command; `vyre-wgpu --help` says what it does.
//!
//! `demo`, `info`, `--help` and `--version` build with no feature; everything that reads or writes files is
//! behind the feature `cli`. Whatever goes wrong is printed to standard error, with what to do about it,
//! and the status is 1.
#![deny(unsafe_code)]

mod args;
#[cfg(feature = "cli")]
mod artifact;
#[cfg(feature = "cli")]
mod bench;
#[cfg(feature = "cli")]
mod check;
#[cfg(feature = "cli")]
mod compile;
mod demo;
#[cfg(feature = "cli")]
mod drawing;
#[cfg(feature = "cli")]
mod emit;
mod error;
#[cfg(feature = "cli")]
mod files;
mod info;
#[cfg(feature = "cli")]
mod inputs;
#[cfg(feature = "cli")]
mod inspect;
#[cfg(feature = "cli")]
mod load;
#[cfg(feature = "cli")]
#[path = "../../../benches/rows/mod.rs"]
mod rows;
#[cfg(feature = "cli")]
mod run;
#[cfg(feature = "cli")]
mod trace;
#[cfg(feature = "cli")]
mod verify;

use std::io::{self, Write};
use std::process::ExitCode;

use args::Command;
use error::CliError;

fn main() -> ExitCode {
    let done = args::parse(lexopt::Parser::from_env()).and_then(execute);
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed there is nobody to tell.
            let _ = report(&error, &mut io::stderr().lock());
            ExitCode::FAILURE
        }
    }
}

fn execute(command: Command) -> Result<(), CliError> {
    match command {
        Command::Help => print(include_str!("help.txt")),
        Command::Version => print(concat!("vyre-wgpu ", env!("CARGO_PKG_VERSION"), "\n")),
        Command::Demo => print(&demo::run()?),
        Command::Info { json } => info::run(json),
        #[cfg(feature = "cli")]
        Command::Check(arguments) => check::run(&arguments),
        #[cfg(feature = "cli")]
        Command::Emit(arguments) => emit::run(&arguments),
        #[cfg(feature = "cli")]
        Command::Run(arguments) => trace::with(arguments.trace.as_deref(), || run::run(&arguments)),
        #[cfg(feature = "cli")]
        Command::Compile(arguments) => compile::run(&arguments),
        #[cfg(feature = "cli")]
        Command::Inspect(arguments) => inspect::run(&arguments),
        #[cfg(feature = "cli")]
        Command::Bench(arguments) => trace::with(arguments.trace.as_deref(), || bench::run(&arguments)),
    }
}

/// Writes to standard output; `println!` would panic where nobody reads it.
fn print(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(CliError::Output)
}

fn report(error: &CliError, out: &mut impl Write) -> io::Result<()> {
    // Findings about a text are rendered with their place and their advice.
    #[cfg(feature = "cli")]
    if let CliError::Findings { rendered, .. } = error {
        write!(out, "{rendered}")?;
    }
    writeln!(out, "error: {error}")?;
    match error.help() {
        Some(help) => writeln!(out, "help: {help}"),
        None => Ok(()),
    }
}
