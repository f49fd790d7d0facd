//! A matrix product in tiles of 16 × 16 that each workgroup holds in shared memory, checked against the CPU.
//! The program is also `examples/matmul.vyre`.
//!
//! `cargo run -p vyre --example matmul`
use vyre::prelude::*;

/// c = a b, for row-major matrices.
pub fn program() -> Result<Checked<Program>, BuildError> {
    Kernel::build("matmul", |kernel| {
        let (m, n) = (kernel.param::<u32>("m"), kernel.param::<u32>("n"));
        let k = kernel.param::<u32>("k");
        let a = kernel.read_only::<f32>("a").with_len(m.extent() * k);
        let b = kernel.read_only::<f32>("b").with_len(k.extent() * n);
        let c = kernel.write_only::<f32>("c", m.extent() * n);
        let tile_a = kernel.shared::<f32>("tile_a", 256);
        let tile_b = kernel.shared::<f32>("tile_b", 256);
        let count = [n.extent().ceil_div(16), m.extent().ceil_div(16)];
        kernel.workgroups([16, 16], count, |group| {
            let ([x, y, _], here) = (group.local_id, group.local_index);
            let [column, row, _] = group.global_id;
            let sum = kernel.var("sum", 0.0);
            kernel.for_step(0, k, 16, |start| {
                // Outside the matrices, 0.
                let (ka, kb) = (start + x, start + y);
                kernel.if_else(
                    row.lt(m) & ka.lt(k),
                    || tile_a.store(here, a.load(row * k + ka)),
                    || tile_a.store(here, 0.0),
                );
                kernel.if_else(
                    kb.lt(k) & column.lt(n),
                    || tile_b.store(here, b.load(kb * n + column)),
                    || tile_b.store(here, 0.0),
                );
                kernel.barrier(MemoryOrdering::Workgroup);
                kernel.for_(0, 16, |j| {
                    sum.set(sum.get() + tile_a.load(y * 16 + j) * tile_b.load(j * 16 + x));
                });
                kernel.barrier(MemoryOrdering::Workgroup);
            });
            kernel.if_(row.lt(m) & column.lt(n), || c.store(row * n + column, sum.get()));
        });
    })
}

/// The m × n product of the m × k matrix `a` and the k × n matrix `b`, by a backend.
pub fn product(
    gpu: &dyn VyreBackend,
    [m, n, k]: [u32; 3],
    a: &[f32],
    b: &[f32],
) -> Result<Vec<f32>, vyre::Error> {
    let config = DispatchConfig::default().param("m", m).param("n", n).param("k", k);
    let program = program()?;
    let outputs = gpu.dispatch(&program, &[to_bytes(a), to_bytes(b)], &config)?;
    Ok(from_bytes(&outputs[0])?)
}

/// Multiplies two small matrices.
pub fn main() -> Result<(), vyre::Error> {
    let (m, n, k) = (100, 70, 130);
    // Small integers: every sum is exact.
    let matrix = |len: u32, step: u32| (0..len).map(|i| (i * step % 7) as f32 - 3.0).collect::<Vec<_>>();
    let (a, b) = (matrix(m * k, 3), matrix(k * n, 5));
    let c = product(&*vyre::backend()?, [m, n, k], &a, &b)?;

    let (m, n, k) = (m as usize, n as usize, k as usize);
    for (i, row) in a.chunks(k).enumerate() {
        for j in 0..n {
            let want: f32 = row.iter().enumerate().map(|(l, x)| x * b[l * n + j]).sum();
            assert_eq!(c[i * n + j], want);
        }
    }
    println!("matmul: {m} × {k} by {k} × {n}, each element as on the CPU");
    Ok(())
}
