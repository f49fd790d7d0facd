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
    let float = |x: f32| Value::new(x);
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
        1e8,
        1e20,
        1e-20,
        f32::EPSILON,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::INFINITY,
    ];
    let both = magnitudes.into_iter().flat_map(|x| [x, -x]).chain([f32::NAN]);
    both.map(float).map(|v| Value::from_bits(ty, v.bits())).collect()
}

/// A value of a type: an edge, a small number, or any bits.
pub fn random_value(ty: DataType, subnormals: bool, rng: &mut Rng) -> Value {
    let value = match rng.u8(0..8) {
        0..4 => {
            let edges = edge_values(ty);
            edges[rng.usize(0..edges.len())]
        }
        4 | 5 => small_value(ty, rng),
        _ if ty.is_float() => {
            // Exponents around 1, so that sums and products stay finite for a while.
            let bits = u64::from(rng.u32(0..1 << 23)) | u64::from(rng.u32(117..140)) << 23;
            Value::from_bits(ty, bits | u64::from(rng.bool()) << 31)
        }
        _ => Value::from_bits(ty, rng.u64(..)),
    };
    if subnormals && ty.is_float() && rng.u8(0..8) == 0 {
        return Value::from_bits(ty, u64::from(rng.u32(1..1 << 23)) | u64::from(rng.bool()) << 31);
    }
    // Any NaN payload but the canonical one is unspecified anyway.
    if value.is_nan() { Value::from_bits(ty, Value::new(f32::NAN).bits()) } else { value }
}

/// A small whole number, such that a few hundred of them add up without rounding.
pub(super) fn small_value(ty: DataType, rng: &mut Rng) -> Value {
    let n = rng.u64(0..5);
    if ty.is_float() { Value::from_bits(ty, Value::new(n as f32).bits()) } else { Value::from_bits(ty, n) }
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
