//! The Vyre side's programs: the same work as the raw shaders, with nothing specialised by hand but what
//! the program says itself.

use vyre_driver::BackendError;
use vyre_foundation::build::{BuildError, Kernel, Val};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::MemoryOrdering;

pub(super) fn built(result: Result<Checked<Program>, BuildError>) -> Result<Checked<Program>, BackendError> {
    result.map_err(|e| BackendError::InvalidProgram { diagnostics: e.diagnostics().cloned().collect() })
}

/// `target[i] = source[i] + 1`.
pub(crate) fn tiny() -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("tiny", |k| {
        let source = k.read_only::<u32>("source");
        let target = k.write_only::<u32>("target", source.len());
        k.domain([source.len()], |[i]| target.store(i, source.load(i) + 1));
    }))
}

/// `y[i] = a x[i] + y[i]`.
pub(crate) fn saxpy() -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("saxpy", |k| {
        let a = k.param::<f32>("a");
        let x = k.read_only::<f32>("x");
        let y = k.read_write::<f32>("y").with_len(x.len());
        k.domain([y.len()], |[i]| y.store(i, a * x.load(i) + y.load(i)));
    }))
}

/// One sum per workgroup of 256, by a tree in shared memory.
pub(crate) fn reduction() -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("reduction", |k| {
        let source = k.read_only::<u32>("source");
        let groups = source.len().extent().ceil_div(256);
        let sums = k.write_only::<u32>("sums", groups);
        let tile = k.shared::<u32>("tile", 256);
        k.workgroups([256], [groups], |group| {
            let lane = group.local_index;
            tile.store(lane, source.load(group.global_id[0]));
            k.barrier(MemoryOrdering::Workgroup);
            k.for_(0, 8, |halving| {
                let width = 128u32 >> halving;
                k.if_(lane.lt(width), || {
                    tile.store(lane, tile.load(lane) + tile.load(lane + width));
                });
                k.barrier(MemoryOrdering::Workgroup);
            });
            k.if_(lane.eq(0), || sums.store(group.id[0], tile.load(0u32)));
        });
    }))
}

/// `c = a b` for square row-major matrices of `n` rows, a multiple of 16, in 16 × 16 tiles.
pub(crate) fn matmul(n: u32) -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("matmul", |k| {
        let elements = u64::from(n) * u64::from(n);
        let a = k.read_only::<f32>("a").with_len(elements);
        let b = k.read_only::<f32>("b").with_len(elements);
        let c = k.write_only::<f32>("c", elements);
        let (tile_a, tile_b) = (k.shared::<f32>("tile_a", 256), k.shared::<f32>("tile_b", 256));
        let tiles = u64::from(n / 16);
        k.workgroups([16, 16], [tiles, tiles], |group| {
            let [x, y, _] = group.local_id;
            let [column, row, _] = group.global_id;
            let at = y * 16 + x;
            let sum = k.var("sum", 0.0f32);
            k.for_step(0u32, n, 16, |step| {
                tile_a.store(at, a.load(row * n + step + x));
                tile_b.store(at, b.load((step + y) * n + column));
                k.barrier(MemoryOrdering::Workgroup);
                k.for_(0u32, 16, |i| {
                    sum.set(sum.get() + tile_a.load(y * 16 + i) * tile_b.load(i * 16 + x));
                });
                k.barrier(MemoryOrdering::Workgroup);
            });
            c.store(row * n + column, sum.get());
        });
    }))
}

/// `y[i]` is `x[i]` after `x[i]` was added to it 4,096 times, each time by a fused multiply-add.
pub(crate) fn fused_loop() -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("fused_loop", |k| {
        let by = k.read_only::<f32>("by").with_len(1);
        let x = k.read_only::<f32>("x");
        let y = k.write_only::<f32>("y", x.len());
        k.domain([x.len()], |[i]| {
            let (by, start) = (by.load(0u32), x.load(i));
            let sum = k.var("sum", start);
            k.for_(0u32, 4_096, |_| sum.set(sum.get().fma(by, start)));
            y.store(i, sum.get());
        });
    }))
}

/// Elements of a block of `c` along each axis, and how many steps of the sum are in shared memory at a time.
pub(crate) const BLOCK: u32 = 128;
const DEPTH: u32 = 16;

/// `c = a b` for square row-major matrices of `n` rows, a multiple of 128. A workgroup computes a block of
/// 128 × 128 elements, each of its invocations 8 × 8 of them, by fused multiply-adds. While one part of the
/// sum is added up from shared memory, the next one is on its way from the buffers.
pub(crate) fn blocked_matmul(n: u32) -> Result<Checked<Program>, BackendError> {
    built(Kernel::build("blocked_matmul", |k| {
        let elements = u64::from(n) * u64::from(n);
        let a = k.read_only::<f32>("a").with_len(elements);
        let b = k.read_only::<f32>("b").with_len(elements);
        let c = k.write_only::<f32>("c", elements);
        let part = DEPTH * BLOCK;
        // Both hold two parts; that of `a` is transposed, so that neighbours are of one step.
        let (tile_a, tile_b) = (k.shared::<f32>("tile_a", 2 * part), k.shared::<f32>("tile_b", 2 * part));
        let blocks = u64::from(n / BLOCK);
        k.workgroups([256, 1], [blocks, blocks], |group| {
            let lane = group.local_index;
            // There is no block beyond the last one; so no access needs a guard.
            let [first_column, first_row] =
                [group.id[0], group.id[1]].map(|block| block.min(n / BLOCK - 1) * BLOCK);
            let (row_a, step_a) = (lane & (BLOCK - 1), (lane >> 7) * (DEPTH / 2));
            let (step_b, column_b) = (lane >> 5, (lane & 31) * 4);
            let source_a = (first_row + row_a) * n + step_a;
            let source_b = step_b * n + first_column + column_b;
            let load = loading(|step| {
                let of_a: Vec<_> = (0..DEPTH / 2).map(|i| a.load(source_a + step + i)).collect();
                let rows = (0..DEPTH / 8).flat_map(|row| (0..4).map(move |i| 8 * row * n + i));
                let of_b: Vec<_> = rows.map(|at| b.load(source_b + step * n + at)).collect();
                (of_a, of_b)
            });
            let keep = keeping(|first, (of_a, of_b)| {
                for (i, value) in (0..).zip(of_a) {
                    tile_a.store(first + (step_a + i) * BLOCK + row_a, value);
                }
                for (i, value) in (0u32..).zip(of_b) {
                    tile_b.store(first + (step_b + i / 4 * 8) * BLOCK + column_b + i % 4, value);
                }
            });
            let (x, y) = ((lane & 15) * 4, (lane >> 4) * 4);
            // The rows, or columns, of an invocation: four, and four more half a block further.
            let eight = || (0..8u32).map(|i| i / 4 * (BLOCK / 2) + i % 4);
            let sums: Vec<Vec<_>> =
                eight().map(|_| eight().map(|_| k.var("sum", 0.0f32)).collect()).collect();
            keep(k.lit(0u32), load(k.lit(0u32)));
            k.barrier(MemoryOrdering::Workgroup);
            k.for_step(0u32, n, DEPTH, |step| {
                // The last time, the last part once more.
                let next = load((step + DEPTH).min(n - DEPTH));
                let first = (step & DEPTH) * BLOCK;
                for i in 0..DEPTH {
                    let rows: Vec<_> = eight().map(|at| tile_a.load(first + y + i * BLOCK + at)).collect();
                    let columns: Vec<_> = eight().map(|at| tile_b.load(first + x + i * BLOCK + at)).collect();
                    for (row, sums) in rows.iter().zip(&sums) {
                        for (column, sum) in columns.iter().zip(sums) {
                            sum.set(row.fma(*column, sum.get()));
                        }
                    }
                }
                keep(part - first, next);
                k.barrier(MemoryOrdering::Workgroup);
            });
            for (row, sums) in eight().zip(&sums) {
                for (column, sum) in eight().zip(sums) {
                    c.store((first_row + y + row) * n + first_column + x + column, sum.get());
                }
            }
        });
    }))
}

/// What an invocation has taken of `a` and `b`.
type Loaded<'k> = (Vec<Val<'k, f32>>, Vec<Val<'k, f32>>);

/// Both say nothing but the types of closures, whose lifetimes Rust cannot see by itself.
fn loading<'k>(load: impl Fn(Val<'k, u32>) -> Loaded<'k>) -> impl Fn(Val<'k, u32>) -> Loaded<'k> {
    load
}

fn keeping<'k>(keep: impl Fn(Val<'k, u32>, Loaded<'k>)) -> impl Fn(Val<'k, u32>, Loaded<'k>) {
    keep
}
