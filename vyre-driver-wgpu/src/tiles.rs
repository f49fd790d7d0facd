//! Whether the adapter's matrix engines compute a right product: some drivers advertise cooperative matrices that
//! do not. The probe multiplies two 16 × 16 matrices on a device that is opened for it alone, since the feature is
//! experimental in wgpu. It runs once per adapter and process, when first asked for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use vyre_spec::Quirks;
use wgpu::{AdapterInfo, Features};

use crate::acquire;
use crate::core::{Core, Lasting};
use crate::generation::{Generation, MemoryLimits};
use crate::profile::profile_of;
use crate::raw;
use crate::seam::Seam;

/// What the adapter's cooperative matrices are worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tiles {
    /// The adapter has no cooperative matrices of 16-bit floats.
    Absent,
    /// The product was right in every element.
    Right,
    /// The product could not be had, or was wrong.
    Broken(String),
}

/// Rows and columns.
const SIDE: usize = 16;
/// The shader's invocations: a subgroup of every adapter that has the feature.
const INVOCATIONS: u32 = 32;

/// Row-major matrices: the two factors one after the other, and the product.
const SHADER: &str = "enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read> factors: array<f16>;
@group(0) @binding(1) var<storage, read_write> product: array<f32>;
@compute @workgroup_size(32) fn main(@builtin(workgroup_id) group: vec3<u32>) {
    if group.x == 0u {
        let a = coopLoadT<coop_mat16x16<f16, A>>(&factors[0], 16u);
        let b = coopLoadT<coop_mat16x16<f16, B>>(&factors[256], 16u);
        let c = coopLoadT<coop_mat16x16<f32, C>>(&product[0], 16u);
        coopStoreT(coopMultiplyAdd(a, b, c), &product[0], 16u);
    }
}";

/// What the probe finds, from memory if the adapter was probed before.
pub(crate) fn probe(info: &AdapterInfo, index: usize) -> Tiles {
    static KNOWN: Mutex<Option<HashMap<String, Tiles>>> = Mutex::new(None);
    let key =
        format!("{:?}", (index, info.backend, &info.name, info.device, &info.driver, &info.driver_info));
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().entry(key).or_insert_with(|| run(info, index)).clone()
}

fn run(info: &AdapterInfo, index: usize) -> Tiles {
    let features = Features::EXPERIMENTAL_COOPERATIVE_MATRIX | Features::SHADER_F16 | Features::SUBGROUP;
    let candidate = match acquire::again(info, index) {
        Ok(candidate) if candidate.adapter.features().contains(features) => candidate,
        Ok(_) => return Tiles::Absent,
        Err(error) => return Tiles::Broken(error.to_string()),
    };
    let product =
        Generation::open_with(&candidate, features, MemoryLimits::default(), Arc::new(Seam::default()))
            .map_err(|error| error.to_string())
            .and_then(|generation| {
                let profile = profile_of(&generation, Quirks::default());
                let core = Arc::new(Core::new(Lasting::new(), generation, profile));
                raw::dispatch(&core, SHADER, &factors(), 4 * SIDE * SIDE, INVOCATIONS)
                    .map_err(|error| error.to_string())
            });
    match product {
        Ok(bytes) => judge(&bytes),
        Err(why) => Tiles::Broken(why),
    }
}

/// The factors' elements: small integers, so that every sum of products is exact in either precision.
fn element(factor: usize, row: usize, column: usize) -> i32 {
    let mixed = if factor == 0 { 3 * row + 5 * column } else { 2 * row + 7 * column + row * column };
    (mixed % 9) as i32 - 4
}

/// Both factors as 16-bit floats.
fn factors() -> Vec<u8> {
    let places = (0..2).flat_map(|f| (0..SIDE * SIDE).map(move |at| (f, at / SIDE, at % SIDE)));
    places.flat_map(|(f, row, column)| half(element(f, row, column)).to_le_bytes()).collect()
}

/// The bits of a small integer as a 16-bit float.
fn half(value: i32) -> u16 {
    let magnitude = value.unsigned_abs() as u16;
    let sign = u16::from(value < 0) << 15;
    match magnitude.checked_ilog2() {
        None => sign,
        // The exponent's bias is 15; ten bits of fraction follow it.
        Some(exponent) => {
            let fraction = (magnitude << (10 - exponent)) & 0x3FF;
            sign | (exponent as u16 + 15) << 10 | fraction
        }
    }
}

fn judge(product: &[u8]) -> Tiles {
    for (at, word) in product.chunks_exact(4).enumerate() {
        let (row, column) = (at / SIDE, at % SIDE);
        let want: i32 = (0..SIDE).map(|k| element(0, row, k) * element(1, k, column)).sum();
        let got = word.try_into().map_or(f32::NAN, f32::from_le_bytes);
        if got != want as f32 {
            return Tiles::Broken(format!("element {row}, {column} of a product is {got}, not {want}"));
        }
    }
    if product.len() == 4 * SIDE * SIDE { Tiles::Right } else { Tiles::Broken("it gave no product".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_integers_are_right_as_16_bit_floats() {
        // From the format's definition: sign, 5 bits of exponent with bias 15, 10 bits of fraction.
        let bits = [(0, 0), (1, 0x3C00), (2, 0x4000), (3, 0x4200), (4, 0x4400), (-1, 0xBC00), (-3, 0xC200)];
        for (value, bits) in bits {
            assert_eq!(half(value), bits, "{value}");
        }
    }

    #[test]
    fn a_wrong_element_and_a_short_product_are_noticed() {
        let product = |row: usize, column: usize| -> f32 {
            (0..SIDE).map(|k| (element(0, row, k) * element(1, k, column)) as f32).sum()
        };
        let right: Vec<u8> =
            (0..SIDE * SIDE).flat_map(|at| product(at / SIDE, at % SIDE).to_le_bytes()).collect();
        assert_eq!(judge(&right), Tiles::Right);
        let mut wrong = right.clone();
        wrong[4 * (3 * SIDE + 2) + 3] ^= 0x80;
        assert!(matches!(judge(&wrong), Tiles::Broken(why) if why.contains("element 3, 2")));
        assert!(matches!(judge(&right[..64]), Tiles::Broken(_)));
    }

    #[test]
    fn the_opened_adapter_is_probed_once_and_says_what_it_has() {
        let backend = crate::WgpuBackend::acquire().unwrap();
        let index = backend.chosen().0.index;
        let found = probe(backend.adapter_info(), index);
        println!("{}: {found:?}", backend.adapter_info().name);
        assert_eq!(probe(backend.adapter_info(), index), found);
    }
}
