//! `cargo bench -p vyre-emit-naga`: what compiling costs, by stage and by the number of statements. Names of programs
//! and numbers after `--` select rows.
//!
//! Three programs: straight code over buffers, structured code (branches, loops, variables, shared memory), and
//! one expression of that depth. Each is compiled on a thread with a stack of 2 MiB for a device as lavapipe is,
//! with a launch contract, as the backend does. Times are the least of several runs; "per statement" is to stay
//! the same as N grows, and 1,000 statements are to be checked, optimised, lowered and emitted within 5 ms.
//! naga's validation is part of emission and shown apart; its SPIR-V writer comes on top.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark that fails ends")]

use std::time::{Duration, Instant};

use vyre_emit_naga::{SpirvOptions, emit, to_spirv};
use vyre_foundation::build::Kernel;
use vyre_foundation::check::check;
use vyre_foundation::ir::Program;
use vyre_foundation::opt::optimize;
use vyre_lower::lower;
use vyre_spec::{Capability, CompileOptions, DeviceProfile, MemoryOrdering, Quirks};

/// Loads, arithmetic and stores, one after the other.
fn straight(n: u32) -> Program {
    let program = Kernel::build("straight", |k| {
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y");
        k.domain([y.len()], |[i]| {
            for c in 0..n / 3 {
                let a = x.load(i + c);
                let b = y.load(i * 2 + c);
                y.store(i ^ c, a * b + a);
            }
        });
    });
    (*program.unwrap()).clone()
}

/// Nine statements at a time: variables, a branch, a loop, shared memory and barriers.
fn structured(n: u32) -> Program {
    let program = Kernel::build("structured", |k| {
        let x = k.read_only::<u32>("x");
        let y = k.read_write::<u32>("y");
        let tile = k.shared::<u32>("tile", 64);
        k.workgroups([64], [x.len().extent().ceil_div(64)], |group| {
            let me = group.local_index;
            let sum = k.var("sum", me);
            for c in 0..n / 9 {
                tile.store(me, sum.get() + c);
                k.barrier(MemoryOrdering::Workgroup);
                let other = tile.load((me + c) % 64);
                k.if_(other.gt(c), || sum.set(other * x.load(me / (other + c))));
                k.for_(0u32, other, |j| y.store(j + c, j << other));
            }
            y.store(group.global_id[0], sum.get());
        });
    });
    (*program.unwrap()).clone()
}

/// One expression of `n` ops, each the operand of the next, that no law shortens.
fn deep(n: u32) -> Program {
    let program = Kernel::build("deep", |k| {
        let y = k.read_write::<u32>("y");
        k.domain([y.len()], |[i]| {
            let value = (0..n).fold(y.load(i), |v, c| match c % 3 {
                0 => v / i,
                1 => v ^ i,
                _ => v + c,
            });
            y.store(i, value);
        });
    });
    (*program.unwrap()).clone()
}

/// A device as Mesa's lavapipe is: immediates, a limit of loop iterations, split multiply-adds.
fn profile() -> DeviceProfile {
    let mut profile = DeviceProfile { max_immediate_bytes: 128, ..DeviceProfile::reference() };
    profile.capabilities = profile.capabilities.with(Capability::Immediates);
    profile.quirks = Quirks {
        max_loop_iterations: Some(65_535),
        folds_floats: true,
        splits_fma: true,
        ..Quirks::default()
    };
    profile
}

/// The stages, in order.
const STAGES: [&str; 6] = ["check", "optimise", "lower", "emit", "validate", "SPIR-V"];

fn stages(program: Program, profile: &DeviceProfile) -> [Duration; 6] {
    let options = CompileOptions { launch_contract: true, ..CompileOptions::default() };
    let mut marks = vec![Instant::now()];
    let checked = check(program).unwrap_or_else(|findings| panic!("{findings:?}"));
    marks.push(Instant::now());
    let optimised = optimize(&checked);
    marks.push(Instant::now());
    let kernel = lower(&optimised, profile, &options).unwrap();
    marks.push(Instant::now());
    let emitted = emit(&kernel).unwrap();
    marks.push(Instant::now());
    to_spirv(&emitted, &SpirvOptions::default()).unwrap();
    marks.push(Instant::now());
    // Validation is the last thing that `emit` does; again, alone, it tells its share.
    let capabilities = naga::valid::Capabilities::all();
    naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities)
        .validate(&emitted.module)
        .unwrap();
    let validate = marks[5].elapsed();
    let took = |i: usize| marks[i + 1] - marks[i];
    [took(0), took(1), took(2), took(3).saturating_sub(validate), validate, took(4)]
}

fn row(name: &str, n: u32, make: fn(u32) -> Program) {
    let profile = profile();
    let program = make(n);
    let runs = (100_000 / n).clamp(3, 50);
    let mut least = [Duration::MAX; 6];
    for _ in 0..runs {
        let times = stages(program.clone(), &profile);
        least = std::array::from_fn(|i| least[i].min(times[i]));
    }
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let asked: Duration = least[..5].iter().sum();
    let mut line = format!("{name:<11} {n:>7}");
    for time in least {
        line += &format!(" {:>9.3}", ms(time));
    }
    println!("{line} {:>9.3} {:>9.3}", ms(asked), asked.as_secs_f64() * 1e6 / f64::from(n));
}

fn main() {
    // `cargo test --benches` passes `--test`; timing there would only cost time.
    if std::env::args().any(|arg| arg == "--test") {
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let selected = move |name: &str, n: u32| {
        let named = |of: &dyn Fn(&String) -> bool, this: &str| {
            !wanted.iter().any(of) || wanted.iter().any(|w| w == this)
        };
        named(&|w| w.parse::<u32>().is_err(), name) && named(&|w| w.parse::<u32>().is_ok(), &n.to_string())
    };
    let heads: String = STAGES.iter().map(|stage| format!(" {stage:>9}")).collect();
    println!("milliseconds; the sum is of all but SPIR-V, the last column its microseconds per statement");
    println!("{:<11} {:>7}{heads} {:>9} {:>9}", "program", "N", "sum", "µs each");
    let work = move || {
        for (name, make) in
            [("straight", straight as fn(u32) -> Program), ("structured", structured), ("deep", deep)]
        {
            for n in [100, 1_000, 10_000, 100_000] {
                if selected(name, n) {
                    row(name, n, make);
                }
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}
