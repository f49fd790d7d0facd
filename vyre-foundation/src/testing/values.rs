//! Values that break things.

use fastrand::Rng;
use vyre_spec::{DataType, Value};

/// The values of a type where ops change their behaviour: zeros, ones, extremes, powers of two and their
/// neighbours; of floats, also signed zeros, infinities, NaN, ties, and numbers beyond the integers' range.
pub fn edge_values(ty: DataType) -> Vec<Value> {
    let value = |bits: u64| Value::from_bits(ty, bits);
    if ty == DataType::Bool {
        return vec![value(0), value(1)];
    }
    if ty.is_int() {
        let width = 8 * ty.size();
        let top = 1u64 << (width - 1);
        let small = [0, 1, 2, 3, 7, 31, 32, 33, 64, 255, 768, 769];
        let negative = [1u64, 2, 3, 7, 32, 33, 768, 769].map(u64::wrapping_neg);
        let large = [top, top - 1, top + 1, top | 1 << (width / 2), 1 << (width / 2)];
        return small.into_iter().chain(negative).chain(large).map(value).collect();
    }
    let Some(format) = ty.float_format() else { return Vec::new() };
    let magnitudes = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        0.1,
        1.0 / 3.0,
        0.499_999_97,
        255.5,
        16_777_216.0,
        16_777_217.0,
        2_147_483_520.0,
        2_147_483_648.0,
        4_294_967_040.0,
        4_294_967_296.0,
        9_223_372_036_854_775_808.0,
        18_446_744_073_709_551_616.0,
        1e8,
        1e20,
        1e-20,
    ];
    let bits = [format.infinity(), format.infinity() - 1, format.least_normal(), format.one() + 1];
    let magnitudes = magnitudes.into_iter().map(|x| format.from_f64(x)).chain(bits);
    // Small magnitudes may be subnormal in a narrow format.
    let magnitudes = magnitudes.filter(|&bits| !format.is_subnormal(bits));
    let both = magnitudes.flat_map(|bits| [bits, bits | format.sign()]).chain([format.quiet_nan()]);
    both.map(value).collect()
}

/// A value of a type: an edge, a small number, or any bits.
pub fn random_value(ty: DataType, subnormals: bool, rng: &mut Rng) -> Value {
    let value = match rng.u8(0..8) {
        0..4 => {
            let edges = edge_values(ty);
            edges[rng.usize(0..edges.len())]
        }
        4 | 5 => small_value(ty, rng),
        _ => match ty.float_format() {
            Some(format) => {
                // Exponents around 1, so that sums and products stay finite for a while.
                let near = 10.min(format.bias() / 2);
                let exponent = (format.bias() + rng.i32(-near..near)) as u64;
                let fraction = rng.u64(..) & (format.least_normal() - 1);
                let sign = if rng.bool() { format.sign() } else { 0 };
                Value::from_bits(ty, exponent << format.fraction_bits | fraction | sign)
            }
            None => Value::from_bits(ty, rng.u64(..)),
        },
    };
    let Some(format) = ty.float_format() else { return value };
    if subnormals && rng.u8(0..8) == 0 {
        let sign = if rng.bool() { format.sign() } else { 0 };
        return Value::from_bits(ty, rng.u64(1..format.least_normal()) | sign);
    }
    // Any NaN payload but the canonical one is unspecified anyway.
    if value.is_nan() { Value::from_bits(ty, format.quiet_nan()) } else { value }
}

/// A small whole number, such that a few hundred of them add up without rounding.
pub(super) fn small_value(ty: DataType, rng: &mut Rng) -> Value {
    let n = rng.u64(0..5);
    if ty.is_float() { Value::from_f64(ty, n as f64) } else { Value::from_bits(ty, n) }
}

/// The bytes of `count` elements.
pub(super) fn random_bytes(
    ty: DataType,
    count: u64,
    rng: &mut Rng,
    mut value: impl FnMut(&mut Rng) -> Value,
) -> Vec<u8> {
    let size = ty.size() as usize;
    (0..count).flat_map(|_| value(rng).bits().to_le_bytes().into_iter().take(size)).collect()
}
