//! `cargo bench -p vyre-foundation --bench machine`: how many simple ops of a program the reference machine
//! executes in a second, on one core and on all.
//!
//! An op is an expression, a load, a store, an atomic, or a read or write of a variable, as often as an
//! invocation executes it; what controls loops and branches is not counted.

use std::time::{Duration, Instant};

use vyre_foundation::build::{BuildError, Kernel};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{MachineError, MachineOptions, run};
use vyre_spec::{MemoryOrdering, f16};

/// A program, what it runs on, and the ops that it executes.
struct Row {
    name: &'static str,
    program: Checked<Program>,
    inputs: Vec<Vec<u8>>,
    ops: u64,
}

const POINTS: u64 = 1 << 20;

fn rows() -> Result<Vec<Row>, BuildError> {
    let zeros = |bytes: u64| vec![0u8; bytes as usize];
    let row = |name, program, inputs, ops| Row { name, program, inputs, ops };
    Ok(vec![
        row(
            "saxpy, f32",
            Kernel::build("saxpy", |k| {
                let x = k.read_only::<f32>("x");
                let y = k.read_write::<f32>("y");
                k.domain([y.len().extent()], |[i]| y.store(i, x.load(i) * 1.5f32 + y.load(i)));
            })?,
            vec![zeros(4 * POINTS); 2],
            5 * POINTS,
        ),
        row(
            "hash loop, u32",
            Kernel::build("hash", |k| {
                let out = k.write_only::<u32>("out", 1 << 14);
                k.domain([1 << 14], |[i]| {
                    let v = k.var("v", i);
                    k.for_(0u32, 1000u32, |n| v.set((v.get() * 1_664_525u32 + n) ^ (n >> 3u32)));
                    out.store(i, v.get());
                });
            })?,
            vec![],
            6 * 1000 * (1 << 14),
        ),
        row(
            "hash loop, u64",
            Kernel::build("hash", |k| {
                let out = k.write_only::<u64>("out", 1 << 14);
                k.domain([1 << 14], |[i]| {
                    let v = k.var("v", i.convert::<u64>());
                    k.for_(0u64, 1000u64, |n| {
                        v.set((v.get() * 6_364_136_223_846_793_005u64 + n) ^ (n >> 3u32));
                    });
                    out.store(i, v.get());
                });
            })?,
            vec![],
            6 * 1000 * (1 << 14),
        ),
        row(
            "polynomial loop, f16",
            Kernel::build("poly", |k| {
                let out = k.write_only::<f16>("out", 1 << 12);
                k.domain([1 << 12], |[i]| {
                    let v = k.var("v", i.convert::<f16>());
                    k.for_(0u32, 1000u32, |_| {
                        v.set(v.get() * f16::from_f32(0.5) + f16::from_f32(0.25));
                    });
                    out.store(i, v.get());
                });
            })?,
            vec![],
            4 * 1000 * (1 << 12),
        ),
        row(
            "reduction through shared memory, u32",
            Kernel::build("reduce", |k| {
                let x = k.read_only::<u32>("x");
                let out = k.write_only::<u32>("out", x.len().extent().ceil_div(256));
                let tile = k.shared::<u32>("tile", 256);
                k.workgroups([256], [x.len().extent().ceil_div(256)], |g| {
                    tile.store(g.local_index, x.load(g.global_id[0]));
                    k.barrier(MemoryOrdering::Workgroup);
                    let stride = k.var("stride", 128u32);
                    k.while_(
                        || stride.get().gt(0u32),
                        || {
                            let s = stride.get();
                            k.if_(g.local_index.lt(s), || {
                                let sum = tile.load(g.local_index) + tile.load(g.local_index + s);
                                tile.store(g.local_index, sum);
                            });
                            k.barrier(MemoryOrdering::Workgroup);
                            stride.set(s >> 1u32);
                        },
                    );
                    k.if_(g.local_index.eq(0u32), || out.store(g.id[0], tile.load(0u32)));
                });
            })?,
            vec![zeros(4 * POINTS)],
            // Load and store; eight trips of test, compare, get, shift and set, one more test; the tree.
            (POINTS / 256) * (256 * (3 + 8 * 6 + 2) + 255 * 5 + 2),
        ),
        row(
            "matmul inner loop, f32",
            Kernel::build("matmul", |k| {
                let a = k.read_only::<f32>("a");
                let b = k.read_only::<f32>("b");
                let c = k.write_only::<f32>("c", 256 * 256);
                k.domain([256, 256], |[x, y]| {
                    let sum = k.var("sum", 0.0f32);
                    k.for_(0u32, 256u32, |i| {
                        sum.set(sum.get() + a.load(y * 256u32 + i) * b.load(i * 256u32 + x));
                    });
                    c.store(y * 256u32 + x, sum.get());
                });
            })?,
            vec![zeros(4 * 256 * 256); 2],
            // Two loads, add, multiply, get, set, and three ops for the indices (y × 256 is outside).
            9 * 256 * 256 * 256,
        ),
        row(
            "collatz, u32, divergent",
            Kernel::build("collatz", |k| {
                let out = k.write_only::<u32>("out", 1 << 16);
                k.domain([1 << 16], |[i]| {
                    let (v, n) = (k.var("v", i + 1u32), k.var("n", 0u32));
                    k.while_(
                        || v.get().gt(1u32),
                        || {
                            let x = v.get();
                            k.if_else((x & 1u32).eq(0u32), || v.set(x >> 1u32), || v.set(x * 3u32 + 1u32));
                            n.set(n.get() + 1u32);
                        },
                    );
                    out.store(i, n.get());
                });
            })?,
            vec![],
            collatz_ops(1 << 16),
        ),
    ])
}

/// Ops of the program of that name: nine or ten a trip, two for the last test, and four around the loop.
fn collatz_ops(points: u64) -> u64 {
    let steps = |start: u64| {
        let (mut x, mut ops) = (start, 0);
        while x > 1 {
            ops += if x % 2 == 0 { 10 } else { 11 };
            x = if x % 2 == 0 { x / 2 } else { 3 * x + 1 };
        }
        ops + 2 + 4
    };
    (1..=points).map(steps).sum()
}

/// The shortest of some runs.
fn time(row: &Row, options: &MachineOptions) -> Result<Duration, MachineError> {
    let inputs: Vec<&[u8]> = row.inputs.iter().map(Vec::as_slice).collect();
    let mut best = Duration::MAX;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(600) {
        let start = Instant::now();
        run(&row.program, &Params::new(), &inputs, options)?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo test --benches` passes `--test`; timing there would only cost time.
    if std::env::args().any(|arg| arg == "--test") {
        return Ok(());
    }
    let cores = std::thread::available_parallelism()?;
    println!("million ops a second {:>33} {:>13} {:>10}", "one core", format!("{cores} cores"), "sanitized");
    for row in rows()? {
        let one = MachineOptions { threads: 1, ..MachineOptions::default() };
        let sanitized = MachineOptions { sanitize: true, ..MachineOptions::default() };
        let rate = |options| time(&row, options).map(|time| row.ops as f64 / time.as_secs_f64() / 1e6);
        let (one, all, sanitized) = (rate(&one)?, rate(&MachineOptions::default())?, rate(&sanitized)?);
        println!("{:<40} {one:>13.0} {all:>13.0} {sanitized:>10.0}", row.name);
    }
    Ok(())
}
