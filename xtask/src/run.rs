//! The tasks that run cargo: `demo`, `test`, `fuzz` and `check-features`.

use std::{fs, path::Path, process::Command};

use crate::{
    error::Error,
    software::{self, Environment, Software},
    workspace::{Workspace, features},
};

/// What `cargo xtask demo` runs after the demo itself, as arguments of `vyre-wgpu`. `{dir}` is where [`write_inputs`]
/// puts its files, and where the outputs go.
const JOBS: &[&str] = &[
    "run examples/byte_histogram.vyre --in data=LICENSE-APACHE --pad --param bytes=@LICENSE-APACHE \
     --in histogram={dir}/zeros.u32 --out histogram={dir}/histogram.npy --verify",
    "run examples/saxpy.vyre --param a=2.5 --in x={dir}/x.f32 --in y={dir}/y.f32 --out y={dir}/saxpy.npy --verify",
    "run examples/reduction.vyre --in x={dir}/x.f32 --out sums={dir}/sums.npy --verify",
    "run examples/matmul.vyre --param m=128 --param n=128 --param k=128 --in a={dir}/x.f32 --in b={dir}/y.f32 \
     --out c={dir}/product.npy --verify",
];

/// With `cli` for the demo too, which does not need it: one build of the dependencies instead of two.
const COMMAND: [&str; 7] = ["-p", "vyre-driver-wgpu", "--features", "cli", "--bin", "vyre-wgpu", "--"];

pub(crate) fn demo(workspace: &Workspace, software: Software) -> Result<(), Error> {
    let environment = software::prepare(&workspace.root, software)?;
    let root = &workspace.root;
    let demo = [&["run", "--release"], &COMMAND[..], &["demo"]].concat();
    find_device(cargo(root, &demo, &environment), software, "demo")?;
    let dir = root.join("target/xtask/demo");
    write_inputs(&dir)?;
    for job in JOBS {
        let job = job.replace("{dir}", "target/xtask/demo");
        let job: Vec<&str> = job.split_whitespace().collect();
        let run = [&["run", "--release"], &COMMAND[..], &job].concat();
        cargo(root, &run, &environment)?;
    }
    println!("the demo and {} job(s) ran, each verified; their outputs are in {}", JOBS.len(), dir.display());
    Ok(())
}

/// Raw little-endian elements: two 128 by 128 matrices of f32, and 256 zeros of u32.
fn write_inputs(dir: &Path) -> Result<(), Error> {
    fs::create_dir_all(dir).map_err(Error::io(dir))?;
    let matrix =
        |step: u16| (0..128 * 128).flat_map(|i| (f32::from(i % step) / 8.0 - 9.0).to_le_bytes()).collect();
    for (name, bytes) in [("x.f32", matrix(251)), ("y.f32", matrix(127)), ("zeros.u32", vec![0; 1024])] {
        let path = dir.join(name);
        fs::write(&path, bytes).map_err(Error::io(&path))?;
    }
    Ok(())
}

pub(crate) fn test(workspace: &Workspace, software: Software) -> Result<(), Error> {
    let environment = software::prepare(&workspace.root, software)?;
    if software == Software::Refused {
        // The tests would each fail for want of a device: say so once.
        let demo = [&["run"], &COMMAND[..], &["demo"]].concat();
        find_device(cargo(&workspace.root, &demo, &environment), software, "test")?;
    }
    cargo(&workspace.root, &["test", "--workspace", "--all-features"], &environment)
}

/// Builds the fuzzer, which is an example of the backend, and runs it with the options that it knows itself. Its log is
/// named after the first seed.
pub(crate) fn fuzz(workspace: &Workspace, software: Software, options: &[&str]) -> Result<(), Error> {
    let environment = software::prepare(&workspace.root, software)?;
    let first = options.iter().position(|&option| option == "--seed").and_then(|i| options.get(i + 1));
    let log = format!("target/xtask/fuzz/seeds-from-{}.log", first.unwrap_or(&"0"));
    let run = ["run", "-p", "vyre-driver-wgpu", "--example", "fuzz", "--"];
    cargo(&workspace.root, &[&run[..], options, &["--log", &log]].concat(), &environment)
}

/// Each member by itself: as it comes, without features, with each alone and with all.
pub(crate) fn check_features(workspace: &Workspace) -> Result<(), Error> {
    for member in &workspace.members {
        let check = ["check", "--quiet", "-p", &member.name];
        let mut sets = vec![vec![]];
        let features = features(member);
        if !features.is_empty() {
            sets.push(vec!["--no-default-features"]);
            sets.extend(features.iter().map(|f| vec!["--no-default-features", "--features", f]));
            sets.push(vec!["--all-features"]);
        }
        for set in sets {
            cargo(&workspace.root, &[&check[..], &set].concat(), &Vec::new())?;
        }
    }
    Ok(())
}

/// Turns the demo's own failure (status 1) into the remedy that this task knows.
fn find_device(demo: Result<(), Error>, software: Software, task: &'static str) -> Result<(), Error> {
    match demo {
        Err(Error::Command { code: Some(1), .. }) if software == Software::Refused => {
            Err(Error::NoDevice { task })
        }
        other => other,
    }
}

fn cargo(root: &Path, args: &[&str], environment: &Environment) -> Result<(), Error> {
    let mut command = cargo_command(root);
    status(command.args(args).envs(environment.iter().map(|(name, value)| (name, value))))
}

/// What cargo's child prints, with cargo's own messages left on the terminal.
pub(crate) fn cargo_output(root: &Path, args: &[String]) -> Result<String, Error> {
    let mut command = cargo_command(root);
    let output =
        command.args(args).stderr(std::process::Stdio::inherit()).output().map_err(Error::io("cargo"))?;
    if !output.status.success() {
        return Err(Error::Command { command: shown(&command), code: output.status.code() });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The cargo that runs this task.
fn cargo_command(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs `command` on this terminal, after showing it.
pub(crate) fn status(command: &mut Command) -> Result<(), Error> {
    println!("$ {}", shown(command));
    let status = command.status().map_err(Error::io(command.get_program()))?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::Command { command: shown(command), code: status.code() })
    }
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_demos_own_failure_means_no_device() {
        let failed = |code| Err(Error::Command { command: String::new(), code: Some(code) });
        assert!(matches!(
            find_device(failed(1), Software::Refused, "test"),
            Err(Error::NoDevice { task: "test" })
        ));
        assert!(matches!(find_device(failed(101), Software::Refused, "test"), Err(Error::Command { .. })));
        assert!(matches!(find_device(failed(1), Software::Permitted, "test"), Err(Error::Command { .. })));
    }
}
