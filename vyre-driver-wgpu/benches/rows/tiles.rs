//! The tile product: 16-bit floats to f32 on the matrix engine, by Vyre and by hand.

use vyre_driver::BackendError;
use vyre_foundation::build::{Kernel, ReadOnly, Shared, Val};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::{MemoryOrdering, TileRole, f16};

use super::kernels::built;
use super::raw::tiles::{BLOCK, DEPTH, PAD, SIDE, tile_matmul as by_hand};
use super::{Bench, Resident, Row, words};

/// Vectors of four that each invocation moves of either factor.
const MOVES: u32 = BLOCK * DEPTH / 4 / 128;

/// What an invocation takes of a step's factor: vectors of four elements, `apart` elements from one another.
fn load<'k>(from: ReadOnly<'k, f16>, first: Val<'k, u32>, apart: u32) -> Vec<Val<'k, f16>> {
    let elements = (0..MOVES).flat_map(|i| (0..4).map(move |j| i * apart + j));
    elements.map(|at| from.load(first + at)).collect()
}

/// Puts into shared memory what an invocation took.
fn store<'k>(to: Shared<'k, f16>, first: Val<'k, u32>, apart: u32, values: Vec<Val<'k, f16>>) {
    for (i, value) in (0u32..).zip(values) {
        to.store(first + (i / 4 * apart + i % 4), value);
    }
}

/// `c = a b` for square row-major matrices of `n` rows, a multiple of 128: of f16, and c of f32.
///
/// A workgroup of four subgroups computes a block of 128 × 128, each subgroup 4 × 4 tiles of it. While the tiles of
/// one step of the sum are multiplied from shared memory, those of the next are on their way from the buffers.
pub(crate) fn tile_matmul(n: u32) -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("tile_matmul", |k| {
        let elements = u64::from(n) * u64::from(n);
        let a = k.read_only::<f16>("a").with_len(elements);
        let b = k.read_only::<f16>("b").with_len(elements);
        let c = k.write_only::<f32>("c", elements);
        let (row_a, row_b) = (DEPTH + PAD, BLOCK + PAD);
        let part_a = k.shared::<f16>("part_a", BLOCK * row_a);
        let part_b = k.shared::<f16>("part_b", DEPTH * row_b);
        let lefts: Vec<_> = (0..4).map(|_| k.tile::<f16>("left", TileRole::A, SIDE, SIDE)).collect();
        let rights: Vec<_> = (0..4).map(|_| k.tile::<f16>("right", TileRole::B, SIDE, SIDE)).collect();
        let sums: Vec<_> = (0..16).map(|_| k.tile::<f32>("sum", TileRole::Accumulator, SIDE, SIDE)).collect();
        let blocks = u64::from(n / BLOCK);
        k.workgroups([128, 1], [blocks, blocks], |group| {
            let lane = group.local_index;
            // There is no block beyond the last one; so every access is proved in bounds.
            let [first_column, first_row] =
                [group.id[0], group.id[1]].map(|block| block.min(n / BLOCK - 1) * BLOCK);
            // Of each row of `a` eight neighbouring invocations take a vector each, of `b` thirty-two.
            let (in_a, at_a) = (lane >> 3, (lane & 7) * 4);
            let (in_b, at_b) = (lane >> 5, (lane & 31) * 4);
            let source_a = (first_row + in_a) * n + at_a;
            let source_b = in_b * n + first_column + at_b;
            let (to_a, to_b) = (in_a * row_a + at_a, in_b * row_b + at_b);
            let keep = |of_a, of_b| {
                store(part_a, to_a, 16 * row_a, of_a);
                store(part_b, to_b, 4 * row_b, of_b);
            };
            let (right_half, lower_half) = ((group.subgroup_id & 1) * 64, (group.subgroup_id >> 1) * 64);
            let multiply = || {
                for step in (0..DEPTH).step_by(SIDE as usize) {
                    for (i, left) in (0u32..).zip(&lefts) {
                        left.load(part_a, lower_half * row_a + (i * SIDE * row_a + step), row_a);
                    }
                    for (j, right) in (0u32..).zip(&rights) {
                        right.load(part_b, right_half + (step * row_b + j * SIDE), row_b);
                    }
                    for (i, sum) in sums.iter().enumerate() {
                        sum.multiply_add(lefts[i / 4], rights[i % 4], *sum);
                    }
                }
            };
            keep(load(a, source_a, 16 * n), load(b, source_b, 4 * n));
            k.barrier(MemoryOrdering::Workgroup);
            k.for_step(DEPTH, n, DEPTH, |step| {
                let of_a = load(a, source_a + step, 16 * n);
                let of_b = load(b, source_b + step * n, 4 * n);
                multiply();
                k.barrier(MemoryOrdering::Workgroup);
                keep(of_a, of_b);
                k.barrier(MemoryOrdering::Workgroup);
            });
            multiply();
            let first = (first_row + lower_half) * n + first_column + right_half;
            for (i, sum) in (0u32..).zip(&sums) {
                sum.store(c, first + (i / 4 * SIDE * n + i % 4 * SIDE), n);
            }
        });
    }))
}

impl Bench<'_> {
    /// The product of random matrices, checked against double precision in some rows.
    pub(super) fn tile_matmul(&self) -> Result<Row, BackendError> {
        let n = 4_096u32;
        let size = (n * n) as usize;
        let random = |skip: usize| -> Vec<f16> {
            let all = words(size + skip);
            all[skip..].iter().map(|w| f16::from_f32((w & 0x7FF) as f32 / 1024.0 - 1.0)).collect()
        };
        let (a, b) = (random(0), random(1));
        let bytes = |x: &[f16]| -> Vec<u8> { x.iter().flat_map(|x| x.to_le_bytes()).collect() };
        let (bytes_a, bytes_b) = (bytes(&a), bytes(&b));
        let out_bytes = 4 * size as u64;
        let program = tile_matmul(n)?;
        let ours = Resident::new(self, &program, Params::new(), &[&bytes_a, &bytes_b], &[out_bytes])?;
        let blocks = n / BLOCK;
        let sizes = [bytes_a.len() as u64, bytes_b.len() as u64, out_bytes];
        let job = self.job(&by_hand(n), &sizes, [blocks, blocks, 1], out_bytes);
        job.upload(0, &bytes_a);
        job.upload(1, &bytes_b);
        let mut out = Vec::new();
        job.run_and_read(&mut out);
        ours.run(&ours.list(1))?;
        let result = ours.read(2)?;
        let errors = [&result, &out].map(|product| error(n as usize, &a, &b, bytemuck::cast_slice(product)));
        let correct = errors.iter().all(|&error| error <= 1e-5);
        let name = "tile matmul 4096³, f16 to f32, resident";
        let row = self.time_products(name, 1.02, correct, &ours, &job)?;
        let error = errors.into_iter().fold(0.0, f64::max);
        Ok(Row { operations: Some(2.0 * f64::from(n).powi(3)), error: Some(error), ..row })
    }
}

/// The relative error of some rows of a product in the Frobenius norm, against double precision.
fn error(n: usize, a: &[f16], b: &[f16], product: &[f32]) -> f64 {
    let b: Vec<f64> = b.iter().map(|x| f64::from(x.to_f32())).collect();
    let (mut wrong, mut all) = (0.0, 0.0);
    for row in (0..n).step_by(n / 16) {
        let row = row + row / (n / 16) * 7 % 128;
        let mut sums = vec![0.0f64; n];
        for k in 0..n {
            let x = f64::from(a[row * n + k].to_f32());
            for (sum, y) in sums.iter_mut().zip(&b[k * n..]) {
                *sum += x * y;
            }
        }
        for (want, &got) in sums.iter().zip(&product[row * n..]) {
            wrong += (want - f64::from(got)).powi(2);
            all += want * want;
        }
    }
    (wrong / all).sqrt()
}
