//! The Vyre side's programs: the same work as the raw shaders, with nothing specialised by hand but what
//! the program says itself.

use vyre_driver::BackendError;
use vyre_foundation::build::{BuildError, Kernel};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_spec::MemoryOrdering;

fn built(result: Result<Checked<Program>, BuildError>) -> Result<Checked<Program>, BackendError> {
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
