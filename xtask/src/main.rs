//! Repository tasks: `cargo xtask <task>`. The list is [`USAGE`].
#![forbid(unsafe_code)]

mod cli_doc;
mod counts;
mod error;
mod generated;
mod graph;
mod ownership;
mod readmes;
mod registry;
mod run;
#[cfg(test)]
mod scan;
mod software;
#[cfg(test)]
mod tidy;
mod workspace;

use std::process::ExitCode;

use error::Error;
use generated::Mode;
use software::Software;
use workspace::Workspace;

const USAGE: &str = "\
Usage: cargo xtask <task>

  check-ownership          compare CRATE_OWNERSHIP.toml with every Cargo.toml
  graph --write|--check    docs/CRATE_GRAPH.md and docs/OWNERSHIP.md
  readmes --write|--check  the generated section of every crate's README
  counts --write|--check   the numbers of tests in TESTING.md
  check-features           `cargo check` of each crate with each feature it declares
  demo [--software]        run the demo and the example jobs on the GPU
  test [--software]        run the whole test suite
  fuzz --minutes N [--graphs] [--seed S] [--jobs J] [--software]
                           random programs, or graphs of them, on the GPU against the reference machine; keeps a log
                           in target/xtask/fuzz

--software permits a software Vulkan driver, and installs Mesa's through apt when no usable driver is found.
--software=swiftshader uses SwiftShader, a second software driver, unpacked from a Debian package.
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match task(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn task(args: &[&str]) -> Result<(), Error> {
    match args {
        ["check-ownership"] => {
            ownership::run(&Workspace::load(None)?)?;
            println!("CRATE_OWNERSHIP.toml and the Cargo.toml files agree");
            Ok(())
        }
        ["graph", mode @ ("--write" | "--check")] => graph::run(&Workspace::load(None)?, Mode::of(mode)),
        ["readmes", mode @ ("--write" | "--check")] => readmes::run(&Workspace::load(None)?, Mode::of(mode)),
        ["counts", mode @ ("--write" | "--check")] => counts::run(&Workspace::load(None)?, Mode::of(mode)),
        ["check-features"] => run::check_features(&Workspace::load(None)?),
        [task @ ("demo" | "test"), flags @ ..] => {
            let software = Software::of(flags).ok_or_else(|| Error::Usage { args: args.join(" ") })?;
            let workspace = Workspace::load(None)?;
            if *task == "demo" { run::demo(&workspace, software) } else { run::test(&workspace, software) }
        }
        ["fuzz", options @ ..] => {
            let (flags, options): (Vec<&str>, Vec<&str>) =
                options.iter().partition(|option| option.starts_with("--software"));
            let software = Software::of(&flags).ok_or_else(|| Error::Usage { args: args.join(" ") })?;
            run::fuzz(&Workspace::load(None)?, software, &options)
        }
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(Error::Usage { args: args.join(" ") }),
    }
}
