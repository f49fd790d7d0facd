//! What the compiler makes of a program, written to files; and the environment that asks for it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use vyre_driver::{BackendError, DispatchConfig, Feature, VyreBackend};
use vyre_driver_wgpu::{Choice, WgpuBackend};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::text::{parse, print};

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn doubled() -> Checked<Program> {
    Kernel::build("doubled", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i) * 2_u32 + 0_u32));
    })
    .unwrap()
}

/// A directory of its own that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("vyre-dumps-{}-{name}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Each file's text by its name.
fn files(dir: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap()))
        .collect()
}

fn run(backend: &WgpuBackend, config: &DispatchConfig) {
    let outputs = backend.dispatch(&doubled(), &[words(0..50)], config).unwrap();
    assert_eq!(outputs, [words((0..50).map(|i| 2 * i))]);
}

#[test]
fn every_stage_is_written_once_per_program_and_options() {
    let scratch = Scratch::new("stages");
    let (phases, descriptors) = (scratch.0.join("phases"), scratch.0.join("kdesc"));
    let open = || WgpuBackend::builder().dump_phases(&phases).dump_descriptors(&descriptors).open().unwrap();
    let backend = open();
    run(&backend, &DispatchConfig::default());
    let found = files(&phases);
    let ending = |name: &String| name.split_once('.').unwrap().1.to_owned();
    let endings: Vec<_> = found.keys().map(ending).collect();
    let mut expected = vec!["1-program.vyre", "2-optimized.vyre", "3-kernel.kdesc", "4-module.wgsl"];
    if backend.device_profile().api == "vulkan" {
        expected.push("5-module.spirv.txt");
    }
    assert_eq!(endings, expected);
    assert!(found.keys().all(|name| name.starts_with("doubled-")), "{:?}", found.keys());
    let text = |ending: &str| found.iter().find(|(name, _)| name.ends_with(ending)).unwrap().1;
    // The program is the program, the optimised one means the same, and the rest is of this kernel.
    assert_eq!(*text("1-program.vyre"), print(&doubled()));
    assert_eq!(parse(text("1-program.vyre")).unwrap().0.id(), doubled().id());
    parse(text("2-optimized.vyre")).unwrap();
    assert!(text("4-module.wgsl").contains("@compute"));
    assert_eq!(files(&descriptors).into_values().collect::<Vec<_>>(), [text("3-kernel.kdesc").clone()]);

    // The same again changes nothing; other options have files of their own, without the optimiser one less.
    run(&open(), &DispatchConfig::default());
    assert_eq!(files(&phases), found);
    run(&backend, &DispatchConfig { unoptimized: true, ..DispatchConfig::default() });
    assert_eq!(files(&phases).len(), 2 * found.len() - 1);
    assert_eq!(files(&descriptors).len(), 2);
    assert_eq!(backend.stats().dump_failure, None);
}

#[test]
fn only_failed_compilations_are_captured() {
    let scratch = Scratch::new("failures");
    let dir = scratch.0.join("failed");
    let backend = WgpuBackend::builder().capture_failures(&dir).open().unwrap();
    run(&backend, &DispatchConfig::default());
    assert_eq!(files(&dir).len(), 0);
    let huge = DispatchConfig { workgroup: Some([1 << 30, 1, 1]), ..DispatchConfig::default() };
    let error = backend.dispatch(&doubled(), &[words(0..50)], &huge).unwrap_err();
    let found = files(&dir);
    let (name, text) = found.first_key_value().unwrap();
    assert!(name.starts_with("doubled-") && name.ends_with(".failed.txt"), "{name}");
    assert!(text.contains(error.code()) && text.contains(&error.to_string()), "{text}");
    assert!(text.contains(&print(&doubled())), "{text}");
    // A lost device is no failure of the compiler.
    backend.force_device_lost().unwrap();
    let other = DispatchConfig { unoptimized: true, ..DispatchConfig::default() };
    assert!(backend.dispatch(&doubled(), &[words(0..50)], &other).is_err());
    assert_eq!(files(&dir).len(), 1);
}

#[test]
fn a_dump_that_cannot_be_written_is_told_and_fails_nothing() {
    let scratch = Scratch::new("gone");
    let dir = scratch.0.join("kdesc");
    let backend = WgpuBackend::builder().dump_descriptors(&dir).open().unwrap();
    fs::remove_dir(&dir).unwrap();
    run(&backend, &DispatchConfig::default());
    let failure = backend.stats().dump_failure.unwrap();
    assert!(failure.contains("doubled-"), "{failure}");
    // One that cannot be made is refused at once.
    let file = scratch.0.join("file");
    fs::write(&file, b"").unwrap();
    let error = WgpuBackend::builder().dump_phases(file.join("below")).open().unwrap_err();
    assert!(
        matches!(&error, BackendError::Environment { name, .. } if name == "VYRE_DUMP_PHASES"),
        "{error}"
    );
}

#[test]
fn timestamps_can_be_switched_off() {
    use vyre_spec::Capability;
    let with = WgpuBackend::builder().timestamps(true).open().unwrap();
    let without = WgpuBackend::builder().timestamps(false).open().unwrap();
    assert!(!without.device_profile().capabilities.contains(Capability::Timestamps));
    run(&without, &DispatchConfig::default());
    // Everything else is the same.
    let mut profile = with.device_profile();
    profile.capabilities = without.device_profile().capabilities;
    assert_eq!(profile, without.device_profile());
}

const INDEX: &str = "VYRE_ADAPTER_INDEX";
const ROLE: &str = "VYRE_TEST_ENVIRONMENT";

/// Not a test of its own: what the next test runs with another environment.
#[test]
fn worker() {
    match std::env::var(ROLE).as_deref() {
        Ok("run") => run(&WgpuBackend::acquire().unwrap(), &DispatchConfig::default()),
        Ok("pinned") => {
            let backend = WgpuBackend::acquire().unwrap();
            let (report, choice) = backend.chosen();
            assert_eq!((report.index.to_string(), choice), (std::env::var(INDEX).unwrap(), Choice::Pinned));
            run(&backend, &DispatchConfig::default());
        }
        Ok("absent") => {
            let error = WgpuBackend::acquire().unwrap_err();
            let BackendError::NoDevice { probed, remedy } = &error else { panic!("{error}") };
            // Every adapter, and the one that there is not.
            assert_eq!(probed.len(), WgpuBackend::adapters().unwrap().len() + 1);
            assert!(probed.iter().any(|line| line.contains("999")), "{probed:?}");
            assert!(remedy.contains(INDEX), "{remedy}");
        }
        Ok("without a clock") => {
            let backend = WgpuBackend::acquire().unwrap();
            assert!(backend.missing(Feature::Timestamps).is_some());
            let config = DispatchConfig::default();
            let timed = backend.dispatch_borrowed_timed(&doubled(), &[&words([1])], &config).unwrap();
            assert_eq!((timed.timing.device, timed.outputs), (None, vec![words([2])]));
        }
        Ok("refused") => {
            let error = WgpuBackend::acquire().unwrap_err();
            assert!(matches!(error, BackendError::Environment { .. }), "{error}");
        }
        _ => {}
    }
}

#[test]
fn the_environment_asks_for_the_same() {
    let scratch = Scratch::new("environment");
    let worker = |role: &str, variables: &[(&str, &Path)]| {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "worker", "--nocapture"])
            .env(ROLE, role)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let dir = |name: &str| scratch.0.join(name);
    let file = dir("file");
    fs::write(&file, b"").unwrap();
    worker(
        "run",
        &[
            ("VYRE_DUMP_KDESC", &dir("a")),
            ("VYRE_DUMP_PHASES", &dir("b")),
            ("VYRE_CAPTURE_FAILED_DESCRIPTOR", &dir("c")),
            ("VYRE_CACHE_DIR", &dir("d")),
            ("VYRE_WGPU_TIMESTAMPS", Path::new("0")),
        ],
    );
    worker("without a clock", &[("VYRE_WGPU_TIMESTAMPS", Path::new("0"))]);
    let usable = WgpuBackend::adapters().unwrap().into_iter().filter(|report| report.refusal.is_none());
    for index in usable.map(|report| report.index.to_string()) {
        worker("pinned", &[(INDEX, Path::new(&index))]);
    }
    worker("absent", &[(INDEX, Path::new("999"))]);
    // The probe of the device is a program as well, but not one of the caller's.
    assert_eq!(files(&dir("a")).len(), 1);
    assert!(files(&dir("b")).len() >= 4);
    assert_eq!(files(&dir("c")).len(), 0);
    assert!(dir("d").is_dir());
    let wrong = [
        ("VYRE_WGPU_TIMESTAMPS", Path::new("yes")),
        ("VYRE_ALLOW_SOFTWARE", Path::new("maybe")),
        ("VYRE_ADAPTER_INDEX", Path::new("-1")),
        ("VYRE_CACHE_DIR", &file),
        ("VYRE_DUMP_KDESC", &file),
        ("VYRE_DUMP_PHASES", &file),
        ("VYRE_CAPTURE_FAILED_DESCRIPTOR", &file),
    ];
    for variable in wrong {
        worker("refused", &[variable]);
    }
}
