//! The cache of compiled kernels on disk, through the backend, in one process and in several.
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use vyre_driver::{DispatchConfig, VyreBackend};
use vyre_driver_wgpu::{DiskCacheStats, Fault, Site, WgpuBackend, wgpu};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// `target[i] = source[i] × factor + i`.
fn scaled(factor: u32) -> Checked<Program> {
    Kernel::build("scaled", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i) * factor + i));
    })
    .unwrap()
}

fn run(backend: &WgpuBackend, factor: u32) {
    let outputs = backend.dispatch(&scaled(factor), &[words(0..100)], &DispatchConfig::default()).unwrap();
    assert_eq!(outputs, [words((0..100).map(|i| i * factor + i))]);
}

/// A directory of its own that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("vyre-disk-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        fs::create_dir(&dir).unwrap();
        Self(dir)
    }

    /// The cache in it, which the backend makes.
    fn cache(&self) -> PathBuf {
        self.0.join("cache")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn open(dir: &Path) -> WgpuBackend {
    WgpuBackend::builder().cache_dir(dir).open().unwrap()
}

fn stats(backend: &WgpuBackend) -> DiskCacheStats {
    backend.stats().disk.unwrap()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}

/// Whether the opened device has a cache to keep at all: it must be on Vulkan and offer it.
fn keeps(backend: &WgpuBackend) -> bool {
    backend.device_queue().0.features().contains(wgpu::Features::PIPELINE_CACHE)
}

#[test]
fn a_second_backend_finds_what_the_first_compiled() {
    let scratch = Scratch::new();
    let first = open(&scratch.cache());
    if !keeps(&first) {
        return;
    }
    run(&first, 3);
    run(&first, 4);
    assert_eq!((stats(&first).hits, stats(&first).misses, stats(&first).writes), (0, 2, 2));
    let second = open(&scratch.cache());
    // One literal apart is another entry.
    for factor in [3, 4, 5] {
        run(&second, factor);
    }
    assert_eq!((stats(&second).hits, stats(&second).misses, stats(&second).writes), (2, 1, 1));
    // Memory comes first.
    run(&second, 3);
    assert_eq!(stats(&second).hits, 2);
    assert_eq!(entries(&scratch.cache()).len(), 3);
    // After a loss the kernels come from the disk again.
    second.force_device_lost().unwrap();
    second.try_recover().unwrap();
    run(&second, 5);
    assert_eq!((stats(&second).hits, stats(&second).misses), (3, 1));
}

#[test]
fn other_options_are_other_entries() {
    let scratch = Scratch::new();
    let backend = open(&scratch.cache());
    if !keeps(&backend) {
        return;
    }
    let program = scaled(3);
    let configs = [
        DispatchConfig::default(),
        DispatchConfig { unoptimized: true, ..DispatchConfig::default() },
        DispatchConfig { workgroup: Some([32, 1, 1]), ..DispatchConfig::default() },
    ];
    for config in configs {
        backend.dispatch(&program, &[words(0..9)], &config).unwrap();
    }
    assert_eq!((stats(&backend).hits, stats(&backend).misses), (0, 3));
}

#[test]
fn a_damaged_unreadable_or_full_cache_costs_time_only() {
    let scratch = Scratch::new();
    let first = open(&scratch.cache());
    if !keeps(&first) {
        return;
    }
    run(&first, 3);
    let entry = entries(&scratch.cache()).remove(0);
    let whole = fs::read(&entry).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for damage in [&flipped[..], &whole[..whole.len() / 2], b"", &[0xFF; 5000]] {
        fs::write(&entry, damage).unwrap();
        let backend = open(&scratch.cache());
        run(&backend, 3);
        let seen = stats(&backend);
        assert_eq!((seen.hits, seen.misses, seen.rejected, seen.writes), (0, 1, 1, 1));
        // It is mended: with what the driver makes now, which need not be the same bytes.
        let other = open(&scratch.cache());
        run(&other, 3);
        let seen = stats(&other);
        assert_eq!((seen.hits, seen.misses, seen.rejected, seen.writes), (1, 0, 0, 0));
    }
    let backend = open(&scratch.cache());
    backend.arm_fault(Site::CacheRead, 0, Fault::Io);
    run(&backend, 3);
    assert_eq!((stats(&backend).misses, stats(&backend).read_errors), (1, 1));
    backend.arm_fault(Site::CacheWrite, 0, Fault::Io);
    run(&backend, 9);
    assert_eq!(stats(&backend).write_errors, 1);
    // The directory goes away.
    fs::remove_dir_all(scratch.cache()).unwrap();
    run(&backend, 10);
    assert_eq!((stats(&backend).misses, stats(&backend).write_errors), (3, 2));
}

#[cfg(unix)]
#[test]
fn a_directory_that_others_can_write_is_ignored_and_said_so() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    fs::create_dir(scratch.cache()).unwrap();
    fs::set_permissions(scratch.cache(), fs::Permissions::from_mode(0o777)).unwrap();
    let backend = open(&scratch.cache());
    run(&backend, 3);
    let seen = stats(&backend);
    assert!(seen.refused.as_ref().unwrap().contains("by others"), "{seen:?}");
    assert_eq!((seen.hits, seen.misses), (0, 0));
    assert_eq!(entries(&scratch.cache()), Vec::<PathBuf>::new());
}

#[test]
fn the_directory_stays_within_its_limit() {
    let scratch = Scratch::new();
    let first = open(&scratch.cache());
    if !keeps(&first) {
        return;
    }
    run(&first, 3);
    let one = fs::metadata(entries(&scratch.cache()).remove(0)).unwrap().len();
    let limit = 4 * one + one / 2;
    let backend = WgpuBackend::builder().cache_dir(scratch.cache()).cache_limit(limit).open().unwrap();
    for factor in 10..20 {
        run(&backend, factor);
        let total: u64 = entries(&scratch.cache()).iter().map(|e| fs::metadata(e).unwrap().len()).sum();
        assert!(total <= limit, "{total} above {limit}");
    }
    let seen = stats(&backend);
    assert_eq!(seen.writes, 10);
    assert!(seen.evictions > 0);
}

#[test]
fn entries_of_impacted_rules_go() {
    let scratch = Scratch::new();
    let backend = open(&scratch.cache());
    if !keeps(&backend) {
        return;
    }
    let config = DispatchConfig::default();
    (1..=4).for_each(|factor| run(&backend, factor));
    let keys: Vec<String> = (1..=4)
        .map(|factor| backend.pipeline_cache_key(&scaled(factor), &config).unwrap())
        .map(|key| key.iter().map(|byte| format!("{byte:02X}")).collect())
        .collect();
    // Rule 0 reaches rule 1, rule 2 stands alone; the last program follows no rule.
    let mut adjacency = [0; 9];
    adjacency[1] = 1;
    let none = [0; 9];
    let invalidate = |keys: &[String]| {
        backend.invalidate_impacted_disk_cache(
            &[1, 0, 0],
            &adjacency,
            &none,
            &none,
            3,
            9,
            &[0, 1, 2, 9],
            keys,
        )
    };
    assert!(invalidate(&keys[..3]).is_err());
    assert_eq!(entries(&scratch.cache()).len(), 4);
    invalidate(&keys).unwrap();
    assert_eq!((entries(&scratch.cache()).len(), stats(&backend).invalidations), (2, 2));
    let other = open(&scratch.cache());
    (1..=4).for_each(|factor| run(&other, factor));
    assert_eq!((stats(&other).hits, stats(&other).misses), (2, 2));
}

const ROLE: &str = "VYRE_TEST_CACHE_WORKER";

/// Not a test of its own: what the processes of the next test run.
#[test]
fn worker() {
    let Some(dir) = std::env::var_os(ROLE) else { return };
    let seed = std::process::id();
    for round in 0..6 {
        let limit = if (seed + round).is_multiple_of(3) { 3000 } else { 1 << 20 };
        let backend = WgpuBackend::builder().cache_dir(&dir).cache_limit(limit).open().unwrap();
        for step in 0..12 {
            run(&backend, 1 + (seed + round * 5 + step * 7) % 16);
        }
        let seen = stats(&backend);
        assert_eq!(seen.hits + seen.misses, backend.stats().pipelines.misses);
        assert_eq!((seen.rejected, seen.read_errors), (0, 0), "{seen:?}");
        // A vandal, who can do what we can.
        for entry in fs::read_dir(&dir).unwrap().flatten().take(2) {
            if round % 2 == 1 && step_of(&entry.path()).is_multiple_of(4) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A number that depends on the name.
fn step_of(path: &Path) -> usize {
    path.to_string_lossy().bytes().map(usize::from).sum()
}

#[test]
fn several_processes_share_one_directory() {
    let scratch = Scratch::new();
    if !keeps(&open(&scratch.cache())) {
        return;
    }
    let workers: Vec<_> = (0..6)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "worker", "--nocapture"])
                .env(ROLE, scratch.cache())
                .output_in_background()
        })
        .collect();
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    }
    // Whatever is left is whole, and nothing is left over.
    let backend = open(&scratch.cache());
    for factor in 1..=16 {
        run(&backend, factor);
    }
    let seen = stats(&backend);
    assert_eq!((seen.hits + seen.misses, seen.rejected, seen.read_errors), (16, 0, 0));
    assert!(entries(&scratch.cache()).iter().all(|entry| entry.extension().unwrap() == "vyreblob"));
}

const FULL: &str = "VYRE_TEST_CACHE_FULL";

/// Not a test of its own: what the process of the next test runs.
#[test]
fn worker_without_room() {
    let Some(dir) = std::env::var_os(FULL).map(PathBuf::from) else { return };
    let backend = open(&dir);
    (3..6).for_each(|factor| run(&backend, factor));
    let seen = stats(&backend);
    assert_eq!((seen.misses, seen.writes, seen.write_errors, seen.hits), (3, 0, 3, 0));
    assert_eq!(entries(&dir), Vec::<PathBuf>::new());
}

/// The system lets a process write no more than empty files: what a full disk does, without filling one.
#[cfg(unix)]
#[test]
fn a_disk_that_takes_no_bytes_leaves_no_part_of_an_entry() {
    let scratch = Scratch::new();
    let backend = open(&scratch.cache());
    if !keeps(&backend) {
        return;
    }
    // Its code is in files that have no name.
    if backend.device_profile().name.contains("SwiftShader") {
        eprintln!("SwiftShader does not work without room for files: not shown here");
        return;
    }
    drop(backend);
    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "worker_without_room", "--nocapture"])
        .env(FULL, scratch.cache())
        .output_in_background()
        .wait_with_output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    // With room again, it is used as if nothing had been.
    let backend = open(&scratch.cache());
    run(&backend, 3);
    assert_eq!((stats(&backend).misses, stats(&backend).writes), (1, 1));
}

trait Background {
    fn output_in_background(&mut self) -> std::process::Child;
}

impl Background for Command {
    fn output_in_background(&mut self) -> std::process::Child {
        use std::process::Stdio;
        self.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}
