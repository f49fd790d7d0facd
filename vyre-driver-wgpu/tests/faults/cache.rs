//! Every call with a cache on disk that cannot be read, that is damaged, and that cannot be written.

use std::fs;
use std::path::{Path, PathBuf};

use vyre_driver::DispatchConfig;
use vyre_driver_wgpu::{DiskCacheStats, Fault, Site, WgpuBackend, wgpu};

use crate::calls::{self, Kind};
use crate::kit::Kit;

/// What is wrong with the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    Unreadable,
    Damaged,
    Full,
}

const WRONG: [Wrong; 4] = [Wrong::Nothing, Wrong::Unreadable, Wrong::Damaged, Wrong::Full];
/// More kernels than any call compiles.
const MANY: usize = 8;

/// A directory that is removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// What was counted in between: hits, misses, rejected, read errors, writes and write errors.
fn counted(before: &DiskCacheStats, after: &DiskCacheStats) -> [u64; 6] {
    let of = |s: &DiskCacheStats| [s.hits, s.misses, s.rejected, s.read_errors, s.writes, s.write_errors];
    let (before, after) = (of(before), of(after));
    std::array::from_fn(|i| after[i] - before[i])
}

#[test]
fn no_call_minds_a_cache_that_is_damaged_unreadable_or_full() {
    let scratch = Scratch(std::env::temp_dir().join(format!("vyre-faults-{}", std::process::id())));
    fs::create_dir(&scratch.0).unwrap();
    let dir = &scratch.0.join("cache");
    let open = || WgpuBackend::builder().cache_dir(dir).open().unwrap();
    let (writer, b) = (open(), &open());
    if !b.device_queue().0.features().contains(wgpu::Features::PIPELINE_CACHE) {
        return;
    }
    let config = DispatchConfig::default();
    let disk = || b.stats().disk.unwrap();
    // What every kit compiles.
    Kit::new(b, 3, 3).free(b);
    // A program of its own for each case, which is in no cache yet.
    let mut factor = 1000;
    for &(name, kind, call) in calls::all() {
        let mut compiled = 0;
        for wrong in WRONG {
            factor += 1;
            let made = |b| {
                let mut kit = Kit::new(b, factor, 3);
                if name.contains("invalidate") {
                    // It asks for the key alone; somebody else has the entry.
                    b.compile(&kit.program).unwrap();
                }
                call(b, &mut kit, &config).unwrap_or_else(|trouble| panic!("{name}: {trouble:?}"));
                kit.free(b);
            };
            made(&writer);
            match wrong {
                Wrong::Nothing => {}
                Wrong::Unreadable => (0..MANY).for_each(|_| b.arm_fault(Site::CacheRead, 0, Fault::Io)),
                Wrong::Damaged => entries(dir).iter().for_each(|entry| {
                    let mut bytes = fs::read(entry).unwrap();
                    *bytes.last_mut().unwrap() ^= 0x10;
                    fs::write(entry, bytes).unwrap();
                }),
                Wrong::Full => {
                    entries(dir).iter().for_each(|entry| fs::remove_file(entry).unwrap());
                    (0..MANY).for_each(|_| b.arm_fault(Site::CacheWrite, 0, Fault::Io));
                }
            }
            let before = disk();
            made(b);
            let struck = (MANY - b.disarm_faults() % (MANY + 1)) as u64;
            let now = counted(&before, &disk());
            if wrong == Wrong::Nothing {
                compiled = now[0];
                // An invalidation has removed the entry that the other backend has made.
                assert_eq!(now[2..], [0, 0, now[1], 0], "{name}");
                assert!(now[1] == 0 || name.contains("invalidate"), "{name}: {now:?}");
                let compiles = matches!(kind, Kind::Runs | Kind::Compiles) || name.contains("invalidate");
                assert_eq!(compiled + now[1] > 0, compiles, "{name}: {now:?}");
                compiled += now[1];
                continue;
            }
            let n = compiled;
            let removed = name == "WgpuBackend::invalidate_impacted_disk_cache";
            let want = match wrong {
                Wrong::Nothing => unreachable!(),
                Wrong::Unreadable => [0, n, 0, n, n, 0],
                Wrong::Damaged if removed => [0, n, 0, 0, n, 0],
                Wrong::Damaged => [0, n, n, 0, n, 0],
                Wrong::Full => [0, n, 0, 0, 0, n],
            };
            assert_eq!(now, want, "{name}, {wrong:?}");
            if wrong != Wrong::Damaged {
                assert_eq!(struck, n, "{name}, {wrong:?}");
            }
        }
    }
}
