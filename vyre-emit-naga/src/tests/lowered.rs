//! File tests: each `programs/NAME.vyre` is lowered for two kinds of device and emitted, and its WGSL
//! compared with `snapshots/NAME.wgsl`. A new case is a new file.

use std::path::Path;

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::text;
use vyre_lower::lower;
use vyre_spec::{Capability, CompileOptions, DeviceProfile};

use super::{check_forms, snapshot};
use crate::{Emitted, emit, to_wgsl};

/// A device that takes launch data in a uniform buffer, and one that has immediates.
fn profiles() -> [DeviceProfile; 2] {
    let uniform = DeviceProfile { name: "uniform".into(), ..DeviceProfile::reference() };
    let mut immediates = DeviceProfile { max_immediate_bytes: 128, ..uniform.clone() };
    immediates.capabilities = immediates.capabilities.with(Capability::Immediates);
    [uniform, immediates]
}

fn emitted(program: &Checked<Program>, profile: &DeviceProfile, fold_grid: bool) -> Emitted {
    let options = CompileOptions { fold_grid, ..CompileOptions::default() };
    let kernel = lower(program, profile, &options).unwrap_or_else(|error| panic!("{error}"));
    emit(&kernel).unwrap_or_else(|error| panic!("{error}"))
}

fn load(path: &Path) -> Checked<Program> {
    let name = path.display().to_string();
    let source = std::fs::read_to_string(path).unwrap();
    let (program, _) = text::parse(&source).unwrap_or_else(|errors| {
        panic!("{}", errors.iter().map(|error| error.render(&name, &source)).collect::<String>())
    });
    check(program).unwrap_or_else(|findings| panic!("{name}: {findings:#?}"))
}

#[test]
fn programs_become_the_code_that_the_snapshots_show() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/programs");
    let mut files: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        let program = load(&file);
        for profile in profiles() {
            for fold_grid in [false, true] {
                check_forms(&emitted(&program, &profile, fold_grid));
            }
        }
        let name = file.file_stem().unwrap().to_str().unwrap();
        let [_, immediates] = profiles();
        snapshot(&format!("{name}.wgsl"), &to_wgsl(&emitted(&program, &immediates, false)).unwrap());
    }
}
