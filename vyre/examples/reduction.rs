//! The sum of a million numbers: each workgroup sums 1,024 of them in shared memory, and the program runs again
//! on its own output until one is left. The program is also `examples/reduction.vyre`.
//!
//! `cargo run -p vyre --example reduction`
use vyre::prelude::*;

/// Sums of 1,024 elements each.
pub fn program() -> Result<Checked<Program>, BuildError> {
    Kernel::build("reduction", |k| {
        let x = k.read_only::<f32>("x");
        let groups = x.len().extent().ceil_div(1024);
        let sums = k.write_only::<f32>("sums", groups);
        let tile = k.shared::<f32>("tile", 256);
        k.workgroups([256], [groups], |group| {
            let lane = group.local_index;
            let first = group.id[0] * 1024;
            let sum = k.var("sum", 0.0);
            k.for_step(first + lane, (first + 1024).min(x.len()), 256, |i| {
                sum.set(sum.get() + x.load(i));
            });
            tile.store(lane, sum.get());
            k.barrier(MemoryOrdering::Workgroup);
            k.for_(0, 8, |level| {
                let stride = 128u32 >> level;
                k.if_(lane.lt(stride), || {
                    tile.store(lane, tile.load(lane) + tile.load(lane + stride));
                });
                k.barrier(MemoryOrdering::Workgroup);
            });
            k.if_(lane.eq(0), || sums.store(group.id[0], tile.load(0)));
        });
    })
}

/// The sum of `x`, by a backend.
pub fn sum(gpu: &dyn VyreBackend, x: &[f32]) -> Result<f32, vyre::Error> {
    let program = program()?;
    let mut bytes = to_bytes(x);
    while bytes.len() > 4 {
        let mut outputs = gpu.dispatch(&program, &[bytes], &DispatchConfig::default())?;
        bytes = outputs.pop().unwrap_or_default();
    }
    Ok(from_bytes(&bytes)?.first().copied().unwrap_or(0.0))
}

/// Sums a million numbers.
pub fn main() -> Result<(), vyre::Error> {
    // Small integers: every partial sum is exact, whatever the order.
    let x: Vec<f32> = (0..1_000_000u32).map(|i| (i % 16) as f32).collect();
    let total = sum(&*vyre::backend()?, &x)?;
    // 62,500 runs of 0 + 1 + … + 15 = 120.
    assert_eq!(total, 7_500_000.0);
    println!("the sum of {} numbers is {total}", x.len());
    Ok(())
}
