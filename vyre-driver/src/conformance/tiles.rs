//! Tile products, each against arithmetic done here; on a device without tiles, their refusal.

use vyre_foundation::build::{BuildError, Kernel};
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_spec::{DataType, TileProduct, TileRole, Value, class, f16};

use super::{Failure, Report};
use crate::{BackendError, DispatchConfig, VyreBackend};

/// Tiles along each side of the matrices.
const TILES: u32 = 3;

/// Products of every kind that the profile names: small integers exactly, random numbers within the error of the
/// sum's type, with a scaled and added epilogue; and sizes that are no whole number of tiles, which are refused or as
/// the reference machine has them. Without tiles, that the refusal names op and feature.
pub fn tiles(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    let profile = backend.profile();
    if profile.tiles.is_empty() {
        let some =
            TileProduct { rows: 16, columns: 16, depth: 16, factor: DataType::F16, sum: DataType::F32 };
        refusal(backend, some, &mut report);
        return report;
    }
    for &product in &profile.tiles {
        for random in [false, true] {
            multiply(backend, product, random, &mut report);
        }
        tail(backend, product, &mut report);
    }
    report
}

/// `c = (a b) / 2 + c` for matrices of [`TILES`] × [`TILES`] tiles, a workgroup of one subgroup for each.
fn program<F: class::Tile, S: class::Tile>(
    product: TileProduct,
    lanes: u32,
    half: S,
    zero: S,
) -> Result<Checked<Program>, BuildError> {
    Kernel::build("tile_product", |k| {
        let TileProduct { rows, columns, depth, .. } = product;
        let groups = k.param::<u32>("groups");
        let (width_a, width_b) = (TILES * depth, TILES * columns);
        let a = k.read_only::<F>("a");
        let b = k.read_only::<F>("b");
        let c = k.read_write::<S>("c");
        let left = k.tile::<F>("left", TileRole::A, rows, depth);
        let right = k.tile::<F>("right", TileRole::B, depth, columns);
        let [sum, old] = ["sum", "old"].map(|name| k.tile::<S>(name, TileRole::Accumulator, rows, columns));
        k.workgroups([lanes], [k.extent(groups)], |g| {
            let (row, column) = (g.id[0] / TILES, g.id[0] % TILES);
            sum.fill(zero);
            k.for_(0u32, TILES, |step| {
                left.load(a, row * (rows * width_a) + step * depth, width_a);
                right.load(b, step * (depth * width_b) + column * columns, width_b);
                sum.multiply_add(left, right, sum);
            });
            let place = row * (rows * width_b) + column * columns;
            old.load(c, place, width_b);
            sum.scale(sum, half);
            sum.add(sum, old);
            sum.store(c, place, width_b);
        });
    })
}

fn built(product: TileProduct, lanes: u32) -> Result<Checked<Program>, BuildError> {
    let half = f16::from_f32(0.5);
    match (product.factor, product.sum) {
        (DataType::F16, DataType::F16) => program::<f16, f16>(product, lanes, half, f16::ZERO),
        (DataType::F16, _) => program::<f16, f32>(product, lanes, 0.5, 0.0),
        (_, DataType::F16) => program::<f32, f16>(product, lanes, half, f16::ZERO),
        _ => program::<f32, f32>(product, lanes, 0.5, 0.0),
    }
}

/// Numbers as elements.
fn bytes(ty: DataType, numbers: &[f64]) -> Vec<u8> {
    let size = ty.size() as usize;
    let element = |&x: &f64| Value::from_f64(ty, x).bits().to_le_bytes().into_iter().take(size);
    numbers.iter().flat_map(element).collect()
}

fn numbers(ty: DataType, bytes: &[u8]) -> Vec<f64> {
    let element = |bytes: &[u8]| Value::from_le_bytes(ty, bytes).as_f64().unwrap_or(f64::NAN);
    bytes.chunks_exact(ty.size() as usize).map(element).collect()
}

/// A reproducible sequence: small integers, or numbers from −1 to 1 that f16 has.
fn sequence(seed: u32, count: u32, random: bool) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let bits = state >> 21;
        if random { f64::from(bits) / 1024.0 - 1.0 } else { f64::from(bits % 5) - 2.0 }
    };
    (0..count).map(next).collect()
}

fn dispatch(
    backend: &dyn VyreBackend,
    product: TileProduct,
    [a, b, c]: [&[f64]; 3],
    groups: u32,
) -> Result<Vec<f64>, BackendError> {
    let lanes = backend.profile().subgroup_size.unwrap_or(32);
    let program = built(product, lanes)
        .map_err(|e| BackendError::InvalidProgram { diagnostics: e.diagnostics().cloned().collect() })?;
    let inputs = [bytes(product.factor, a), bytes(product.factor, b), bytes(product.sum, c)];
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let params = Params::new().with("groups", Value::new(groups));
    let config = DispatchConfig { params, ..DispatchConfig::default() };
    let outputs = backend.dispatch_checked(&program, &inputs, &config)?;
    Ok(numbers(product.sum, outputs.first().map_or(&[], Vec::as_slice)))
}

fn multiply(backend: &dyn VyreBackend, product: TileProduct, random: bool, report: &mut Report) {
    let TileProduct { rows, columns, depth, .. } = product;
    let case = format!("tiles {product}, {}", if random { "random" } else { "small integers" });
    let (m, n, k) = (TILES * rows, TILES * columns, TILES * depth);
    let (a, b, c) = (sequence(1, m * k, random), sequence(2, k * n, random), sequence(3, m * n, random));
    report.programs += 1;
    let got = match dispatch(backend, product, [&a, &b, &c], TILES * TILES) {
        Ok(got) => got,
        Err(error) => return report.failed(&case, &error),
    };
    let bits = product.sum.float_format().map_or(0, |format| format.fraction_bits);
    let [n, k] = [n, k].map(|side| side as usize);
    for (at, (&got, &old)) in got.iter().zip(&c).enumerate() {
        let (row, column) = (at / n, at % n);
        let terms = (0..k).map(|i| a.get(row * k + i).zip(b.get(i * n + column)).map_or(0.0, |(a, b)| a * b));
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        let want = sum / 2.0 + old;
        // Each of k additions may err by a unit in the last place of the sum of magnitudes (engines truncate).
        let bound =
            if random { (k as f64 + 4.0) * (size + old.abs()) * 0.5f64.powi(bits as i32) } else { 0.0 };
        report.compared += 1;
        let close = (got - want).abs() <= bound;
        if !close {
            let message = format!("element {row}, {column} is {got}, not {want} within {bound}");
            report.failures.push(Failure { case, message });
            return;
        }
    }
    if got.len() != c.len() {
        report.failures.push(Failure { case, message: format!("{} elements", got.len()) });
    }
}

/// One workgroup more than there are tiles: nothing guards its elements.
fn tail(backend: &dyn VyreBackend, product: TileProduct, report: &mut Report) {
    let TileProduct { rows, columns, depth, .. } = product;
    let case = format!("tiles {product}, a tail");
    let (m, n, k) = (TILES * rows, TILES * columns, TILES * depth);
    let (a, b, c) = (sequence(1, m * k, false), sequence(2, k * n, false), sequence(3, m * n, false));
    report.programs += 1;
    let whole = dispatch(backend, product, [&a, &b, &c], TILES * TILES);
    match (dispatch(backend, product, [&a, &b, &c], TILES * TILES + 1), whole) {
        // What lies outside reads as zero, and is dropped.
        (Ok(got), Ok(want)) if got == want => report.compared += got.len() as u64,
        (Err(BackendError::Unsupported { .. }), _) => report.compared += 1,
        (Ok(_), _) => report.failures.push(Failure { case, message: "other elements were changed".into() }),
        (Err(error), _) => report.failures.push(Failure { case, message: error.to_string() }),
    }
}

fn refusal(backend: &dyn VyreBackend, product: TileProduct, report: &mut Report) {
    let case = format!("tiles {product}, on a device without");
    let zeros = vec![0.0; (TILES * TILES * 256) as usize];
    report.programs += 1;
    match dispatch(backend, product, [&zeros, &zeros, &zeros], TILES * TILES) {
        Err(BackendError::Unsupported { what, .. }) => {
            report.compared += 1;
            // A device without subgroups of a fixed width lacks those first.
            if !(what.contains("tile_") && what.contains("`tiles`") || what.contains("subgroup")) {
                report.failures.push(Failure { case, message: what });
            }
        }
        Ok(_) => report.failures.push(Failure { case, message: "it gave outputs".into() }),
        Err(error) => report.failures.push(Failure { case, message: error.to_string() }),
    }
}
