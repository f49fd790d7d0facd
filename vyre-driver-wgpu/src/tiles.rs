//! Whether the adapter's matrix engines compute right products: some drivers advertise cooperative matrices that
//! do not. The probe multiplies two matrices in each way that the driver names, on the device that was opened: to open
//! another takes longer than all the rest. If a product is wrong, that device is given up. It runs once per adapter and
//! process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use vyre_spec::{DataType, Quirks, TileProduct, f16};
use wgpu::{AdapterInfo, CooperativeScalarType, Features};

use crate::acquire::Candidate;
use crate::core::{Core, Lasting};
use crate::generation::Generation;
use crate::profile::profile_of;
use crate::raw;

/// What the adapter's cooperative matrices are worth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tiles {
    /// The products that were right in every element.
    pub(crate) right: Vec<TileProduct>,
    /// What was wrong with the first other one that the driver names.
    pub(crate) wrong: Option<String>,
}

/// What an adapter needs for programs with tiles.
pub(crate) const FEATURES: Features =
    Features::EXPERIMENTAL_COOPERATIVE_MATRIX.union(Features::SHADER_F16).union(Features::SUBGROUP);
/// The shader's invocations: a subgroup of every adapter that has the feature.
const INVOCATIONS: u32 = 32;

/// Row-major matrices: the two factors one after the other, and the product.
fn shader(product: TileProduct) -> String {
    let TileProduct { rows: side, factor, sum, .. } = product;
    let second = side * side;
    format!(
        "enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read> factors: array<{factor}>;
@group(0) @binding(1) var<storage, read_write> product: array<{sum}>;
@compute @workgroup_size(32) fn main(@builtin(workgroup_id) group: vec3<u32>) {{
    if group.x == 0u {{
        let a = coopLoadT<coop_mat{side}x{side}<{factor}, A>>(&factors[0], {side}u);
        let b = coopLoadT<coop_mat{side}x{side}<{factor}, B>>(&factors[{second}], {side}u);
        let c = coopLoadT<coop_mat{side}x{side}<{sum}, C>>(&product[0], {side}u);
        coopStoreT(coopMultiplyAdd(a, b, c), &product[0], {side}u);
    }}
}}"
    )
}

static KNOWN: Mutex<Option<HashMap<String, Tiles>>> = Mutex::new(None);

fn key(info: &AdapterInfo, index: usize) -> String {
    format!("{:?}", (index, info.backend, &info.name, info.device, &info.driver, &info.driver_info))
}

/// What the probe finds, from memory if the adapter was probed before.
pub(crate) fn probe(candidate: &Candidate, generation: &Arc<Generation>) -> Tiles {
    let key = key(&candidate.adapter.get_info(), candidate.report.index);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().entry(key).or_insert_with(|| run(candidate, generation)).clone()
}

/// What the probe found; nothing if the adapter was not probed.
pub(crate) fn found(info: &AdapterInfo, index: usize) -> Tiles {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().and_then(|known| known.get(&key(info, index))).cloned().unwrap_or_default()
}

/// Opens a device with what its matrix engines are worth. `probe` says that, and whether the device is lost; what it
/// found before in this process is `known`.
pub(crate) fn opened<D, E>(
    known: Tiles,
    mut open: impl FnMut(Features) -> Result<D, E>,
    probe: impl FnOnce(&D) -> (Tiles, bool),
) -> Result<(D, Tiles), E> {
    let worth = |tiles: &Tiles| if tiles.right.is_empty() { Features::empty() } else { FEATURES };
    if known.wrong.is_some() {
        return Ok((open(worth(&known))?, known));
    }
    let device = open(FEATURES)?;
    let (tiles, is_lost) = probe(&device);
    if tiles.wrong.is_none() && !is_lost {
        return Ok((device, tiles));
    }
    // A device that a wrong product may have harmed is not kept.
    Ok((open(worth(&tiles))?, tiles))
}

/// The products that the driver names and programs can have: of square tiles.
fn named(candidate: &Candidate) -> Vec<TileProduct> {
    let element = |ty| match ty {
        CooperativeScalarType::F16 => Some(DataType::F16),
        CooperativeScalarType::F32 => Some(DataType::F32),
        _ => None,
    };
    let properties = candidate.adapter.cooperative_matrix_properties();
    let mut products: Vec<_> = properties
        .into_iter()
        .filter_map(|p| {
            let (rows, columns, depth) = (p.m_size, p.n_size, p.k_size);
            let (factor, sum) = (element(p.ab_type)?, element(p.cr_type)?);
            let square = rows == columns && columns == depth && matches!(rows, 8 | 16);
            square.then_some(TileProduct { rows, columns, depth, factor, sum })
        })
        .collect();
    products.sort_unstable();
    products.dedup();
    products
}

fn run(candidate: &Candidate, generation: &Arc<Generation>) -> Tiles {
    let mut tiles = Tiles::default();
    if !generation.has(FEATURES) {
        return tiles;
    }
    let profile = profile_of(generation, Quirks::default());
    let core = Arc::new(Core::new(Lasting::new(), Arc::clone(generation), profile));
    for product in named(candidate) {
        let size = (product.rows * product.columns * product.sum.size()) as usize;
        let judged = raw::dispatch(&core, &shader(product), &factors(product), size, INVOCATIONS)
            .map_err(|error| error.to_string())
            .and_then(|bytes| judge(product, &bytes));
        match judged {
            Ok(()) => tiles.right.push(product),
            Err(why) => {
                tiles.wrong.get_or_insert(format!("{product}: {why}"));
            }
        }
    }
    tiles
}

/// The factors' elements: small integers, so that every sum of products is exact in either precision.
fn element(factor: usize, row: usize, column: usize) -> i32 {
    let mixed = if factor == 0 { 3 * row + 5 * column } else { 2 * row + 7 * column + row * column };
    (mixed % 9) as i32 - 4
}

/// Both factors.
fn factors(product: TileProduct) -> Vec<u8> {
    let side = product.rows as usize;
    let places = (0..2).flat_map(|f| (0..side * side).map(move |at| (f, at / side, at % side)));
    let numbers = places.map(|(f, row, column)| element(f, row, column) as f32);
    match product.factor {
        DataType::F16 => numbers.flat_map(|x| f16::from_f32(x).to_le_bytes()).collect(),
        _ => numbers.flat_map(f32::to_le_bytes).collect(),
    }
}

fn judge(product: TileProduct, bytes: &[u8]) -> Result<(), String> {
    let side = product.rows as usize;
    let got: Vec<f32> = match product.sum {
        DataType::F16 => bytes.chunks_exact(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        _ => bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
    };
    for (at, &got) in got.iter().enumerate() {
        let (row, column) = (at / side, at % side);
        let want: i32 = (0..side).map(|k| element(0, row, k) * element(1, k, column)).sum();
        if got != want as f32 {
            return Err(format!("element {row}, {column} of a product is {got}, not {want}"));
        }
    }
    if got.len() == side * side { Ok(()) } else { Err("it gave no product".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRODUCT: TileProduct =
        TileProduct { rows: 16, columns: 16, depth: 16, factor: DataType::F16, sum: DataType::F32 };

    #[test]
    fn a_wrong_element_and_a_short_product_are_noticed() {
        let product = |row: usize, column: usize| -> f32 {
            (0..16).map(|k| (element(0, row, k) * element(1, k, column)) as f32).sum()
        };
        let right: Vec<u8> = (0..256).flat_map(|at| product(at / 16, at % 16).to_le_bytes()).collect();
        assert_eq!(judge(PRODUCT, &right), Ok(()));
        let mut wrong = right.clone();
        wrong[4 * (3 * 16 + 2) + 3] ^= 0x80;
        assert!(judge(PRODUCT, &wrong).is_err_and(|why| why.contains("element 3, 2")));
        assert!(judge(PRODUCT, &right[..64]).is_err());
        let half = TileProduct { sum: DataType::F16, ..PRODUCT };
        let right: Vec<u8> =
            (0..256).flat_map(|at| f16::from_f32(product(at / 16, at % 16)).to_le_bytes()).collect();
        assert_eq!(judge(half, &right), Ok(()));
        assert_eq!(factors(PRODUCT).len(), 2 * 256 * 2);
    }

    #[test]
    fn a_device_is_opened_twice_only_when_a_product_is_found_wrong() {
        let wrong =
            |right: &[TileProduct]| Tiles { right: right.to_vec(), wrong: Some("it is 0".to_owned()) };
        let right = Tiles { right: vec![PRODUCT], wrong: None };
        // What is known, what a probe would find and whether it loses the device, and with what devices are opened.
        let cases = [
            (Tiles::default(), Some((right.clone(), false)), vec![FEATURES]),
            (Tiles::default(), Some((right.clone(), true)), vec![FEATURES, FEATURES]),
            (Tiles::default(), Some((wrong(&[]), false)), vec![FEATURES, Features::empty()]),
            (Tiles::default(), Some((wrong(&[PRODUCT]), true)), vec![FEATURES, FEATURES]),
            (right.clone(), Some((right, false)), vec![FEATURES]),
            (wrong(&[]), None, vec![Features::empty()]),
            (wrong(&[PRODUCT]), None, vec![FEATURES]),
        ];
        for (known, found, want) in cases {
            let mut devices = Vec::new();
            let expected = found.as_ref().map_or_else(|| known.clone(), |(tiles, _)| tiles.clone());
            let open = |features| {
                devices.push(features);
                Ok::<_, ()>(features)
            };
            let (device, tiles) = opened(known, open, |_| found.unwrap()).unwrap();
            assert_eq!((Some(&device), &tiles), (want.last(), &expected));
            assert_eq!(devices, want);
        }
    }

    #[test]
    fn the_profile_has_what_the_probe_found_right() {
        let backend = crate::WgpuBackend::acquire().unwrap();
        let found = found(backend.adapter_info(), backend.chosen().0.index);
        println!("{}: {found:?}", backend.adapter_info().name);
        assert_eq!(vyre_driver::VyreBackend::profile(&backend).tiles, found.right);
    }
}
