//! The command line.

#[cfg(feature = "cli")]
mod files;

use lexopt::Arg;
use lexopt::prelude::*;

use crate::error::CliError;

/// What is asked.
pub(crate) enum Command {
    Help,
    Version,
    Demo,
    Info {
        json: bool,
    },
    #[cfg(feature = "cli")]
    Check(Check),
    #[cfg(feature = "cli")]
    Emit(Emit),
    #[cfg(feature = "cli")]
    Run(Run),
    #[cfg(feature = "cli")]
    Compile(Compile),
    #[cfg(feature = "cli")]
    Inspect(Inspect),
    #[cfg(feature = "cli")]
    Bench(Bench),
}

/// Reads the arguments.
pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Command, CliError> {
    let command = match parser.next()? {
        None => return Err(CliError::MissingArgument { command: "vyre-wgpu", what: "a command" }),
        Some(Short('h') | Long("help")) => return end(parser, Command::Help),
        Some(Short('V') | Long("version")) => return end(parser, Command::Version),
        Some(Value(name)) => name.string()?,
        Some(other) => return Err(other.unexpected().into()),
    };
    match command.as_str() {
        "help" => end(parser, Command::Help),
        "demo" => end(parser, Command::Demo),
        "info" => {
            let mut json = false;
            while let Some(argument) = parser.next()? {
                match argument {
                    Long("json") => json = true,
                    other => return common(other),
                }
            }
            Ok(Command::Info { json })
        }
        #[cfg(feature = "cli")]
        "check" => files::check(parser),
        #[cfg(feature = "cli")]
        "emit" => files::emit(parser),
        #[cfg(feature = "cli")]
        "run" => files::run(parser),
        #[cfg(feature = "cli")]
        "compile" => files::compile(parser),
        #[cfg(feature = "cli")]
        "inspect" => files::inspect(parser),
        #[cfg(feature = "cli")]
        "bench" => files::bench(parser),
        #[cfg(not(feature = "cli"))]
        "bench" | "check" | "compile" | "emit" | "inspect" | "run" => {
            Err(CliError::NeedsFeature { what: command })
        }
        _ => Err(CliError::UnknownCommand { name: command }),
    }
}

/// The command, if no argument follows.
fn end(mut parser: lexopt::Parser, command: Command) -> Result<Command, CliError> {
    match parser.next()? {
        None => Ok(command),
        Some(other) => common(other),
    }
}

/// What every command understands.
fn common(argument: Arg<'_>) -> Result<Command, CliError> {
    match argument {
        Short('h') | Long("help") => Ok(Command::Help),
        other => Err(other.unexpected().into()),
    }
}

#[cfg(feature = "cli")]
pub(crate) use files::{Bench, Check, Compile, Emit, Form, Inputs, Inspect, Run, View};
