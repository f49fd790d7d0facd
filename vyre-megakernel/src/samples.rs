//! Graphs for benchmarks, tests and first steps: a chain of elementwise programs, softmax and layer normalisation.

use vyre_foundation::build::{BuildError, Kernel, Val};
use vyre_foundation::check::Checked;
use vyre_foundation::graph::{GraphBuilder, GraphError, ProgramGraph};
use vyre_foundation::ir::Program;
use vyre_spec::MemoryOrdering;

/// Invocations of a workgroup, which takes one row.
const GROUP: u32 = 256;

/// Why a sample could not be built; it always can.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A program is wrong.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// The graph is wrong.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// `steps` elementwise programs over `n` `f32`, each reading what the one before computed: input `x`, output `y`.
///
/// # Errors
/// None in practice.
pub fn chain(steps: u32) -> Result<ProgramGraph, SampleError> {
    let g = GraphBuilder::new("chain");
    let n = g.dim("n");
    let mut value = g.input::<f32>("x", [n]);
    for step in 0..steps {
        value = g.call(&link(step)?, [value])?;
    }
    g.output("y", value);
    Ok(g.finish()?)
}

/// One program of [`chain`].
///
/// # Errors
/// None in practice.
pub fn link(step: u32) -> Result<Checked<Program>, SampleError> {
    let program = Kernel::build(format!("link_{step}"), |k| {
        let x = k.read_only::<f32>("x");
        let y = k.write_only::<f32>("y", x.len());
        k.domain([x.len()], |[i]| y.store(i, linked(step, x.load(i))));
    });
    Ok(program?)
}

/// The program that does at once what [`chain`] does.
///
/// # Errors
/// None in practice.
pub fn fused_chain(steps: u32) -> Result<Checked<Program>, SampleError> {
    let program = Kernel::build("fused_chain", |k| {
        let x = k.read_only::<f32>("x");
        let y = k.write_only::<f32>("y", x.len());
        k.domain([x.len()], |[i]| y.store(i, (0..steps).fold(x.load(i), |x, step| linked(step, x))));
    });
    Ok(program?)
}

/// What one program of a chain computes.
fn linked(step: u32, x: Val<'_, f32>) -> Val<'_, f32> {
    let scale = 1.0 + step as f32 / 16.0;
    match step % 4 {
        0 => x * scale + 0.5,
        1 => (x - scale) * x,
        2 => x.abs() + scale,
        _ => x.min(64.0) * 0.25 - scale,
    }
}

/// The softmax of each of `rows` rows of `columns` `f32`, as four programs: input `x`, output `y`.
///
/// # Errors
/// None in practice.
pub fn softmax() -> Result<ProgramGraph, SampleError> {
    let largest = reduction("row_max", f32::NEG_INFINITY, |_, x| x, |a, b| a.max(b), |_, x| x)?;
    let total = reduction("row_sum", 0.0, |_, x| x, |a, b| a + b, |_, x| x)?;
    let exponentials = by_row("exponentials", |x, largest| (x - largest).exp())?;
    let quotients = by_row("quotients", |x, sum| x / sum)?;
    let g = GraphBuilder::new("softmax");
    let (rows, columns) = (g.dim("rows"), g.dim("columns"));
    let x = g.input::<f32>("x", [rows, columns]);
    let m = g.call(&largest, (rows, columns, x))?;
    let e = g.call(&exponentials, (rows, columns, x, m))?;
    let s = g.call(&total, (rows, columns, e))?;
    g.output("y", g.call(&quotients, (rows, columns, e, s))?);
    Ok(g.finish()?)
}

/// Layer normalisation of each of `rows` rows of `columns` `f32`, as four programs: inputs `x`, and `gamma` and `beta` of
/// `columns` each; output `y`.
///
/// # Errors
/// None in practice.
pub fn layer_norm() -> Result<ProgramGraph, SampleError> {
    let mean = reduction("row_mean", 0.0, |_, x| x, |a, b| a + b, |n, x| x / n.convert::<f32>())?;
    let spread = reduction("row_variance", 0.0, |_, x| x * x, |a, b| a + b, |n, x| x / n.convert::<f32>())?;
    let center = by_row("center", |x, mean| x - mean)?;
    let scale = Kernel::build("scale", |k| {
        let (rows, columns) = (k.param::<u32>("rows"), k.param::<u32>("columns"));
        let (x, variance) = (k.read_only::<f32>("x"), k.read_only::<f32>("variance"));
        let (gamma, beta) = (k.read_only::<f32>("gamma"), k.read_only::<f32>("beta"));
        let y = k.write_only::<f32>("y", x.len());
        k.domain([columns, rows], |[column, row]| {
            let at = row * columns + column;
            let factor = (variance.load(row) + 1e-5).inverse_sqrt();
            y.store(at, x.load(at) * factor * gamma.load(column) + beta.load(column));
        });
    })?;
    let g = GraphBuilder::new("layer_norm");
    let (rows, columns) = (g.dim("rows"), g.dim("columns"));
    let x = g.input::<f32>("x", [rows, columns]);
    let (gamma, beta) = (g.input::<f32>("gamma", [columns]), g.input::<f32>("beta", [columns]));
    let m = g.call(&mean, (rows, columns, x))?;
    let d = g.call(&center, (rows, columns, x, m))?;
    let v = g.call(&spread, (rows, columns, d))?;
    g.output("y", g.call(&scale, (rows, columns, d, v, gamma, beta))?);
    Ok(g.finish()?)
}

/// One number of each row: what `of` makes of its elements, combined, and finished with the number of columns.
fn reduction(
    name: &str,
    zero: f32,
    of: impl for<'k> Fn(Val<'k, u32>, Val<'k, f32>) -> Val<'k, f32>,
    combine: impl for<'k> Fn(Val<'k, f32>, Val<'k, f32>) -> Val<'k, f32>,
    finish: impl for<'k> Fn(Val<'k, u32>, Val<'k, f32>) -> Val<'k, f32>,
) -> Result<Checked<Program>, BuildError> {
    Kernel::build(name, |k| {
        let (rows, columns) = (k.param::<u32>("rows"), k.param::<u32>("columns"));
        let x = k.read_only::<f32>("x");
        let result = k.write_only::<f32>("result", rows);
        let tile = k.shared::<f32>("tile", GROUP);
        k.workgroups([GROUP], [rows], |group| {
            let (row, lane) = (group.id[0], group.local_index);
            let part = k.var("part", zero);
            k.for_step(lane, columns, GROUP, |column| {
                part.set(combine(part.get(), of(columns, x.load(row * columns + column))));
            });
            tile.store(lane, part.get());
            k.barrier(MemoryOrdering::Workgroup);
            k.for_(0, GROUP.ilog2(), |level| {
                let stride = k.lit(GROUP / 2) >> level;
                k.if_(lane.lt(stride), || {
                    tile.store(lane, combine(tile.load(lane), tile.load(lane + stride)))
                });
                k.barrier(MemoryOrdering::Workgroup);
            });
            k.if_(lane.eq(0), || result.store(row, finish(columns, tile.load(0))));
        });
    })
}

/// An elementwise program over rows, of which each has one more number.
fn by_row(
    name: &str,
    of: impl for<'k> Fn(Val<'k, f32>, Val<'k, f32>) -> Val<'k, f32>,
) -> Result<Checked<Program>, BuildError> {
    Kernel::build(name, |k| {
        let (rows, columns) = (k.param::<u32>("rows"), k.param::<u32>("columns"));
        let (x, of_row) = (k.read_only::<f32>("x"), k.read_only::<f32>("of_row"));
        let y = k.write_only::<f32>("y", x.len());
        k.domain([columns, rows], |[column, row]| {
            let at = row * columns + column;
            y.store(at, of(x.load(at), of_row.load(row)));
        });
    })
}
