//! Edge operands of each type.

use vyre_spec::{DataType, Value};

/// Values at which ops go wrong. Subnormals are left out: their flushing is the one licence of a device.
pub(super) fn edges(ty: DataType) -> Vec<Value> {
    match ty {
        DataType::Bool => [false, true].map(Value::new).to_vec(),
        DataType::U32 => [
            0u32,
            1,
            2,
            3,
            31,
            32,
            33,
            255,
            768,
            0xFFFF,
            0x1_0000,
            0x7FFF_FFFF,
            0x8000_0000,
            u32::MAX - 1,
            u32::MAX,
        ]
        .map(Value::new)
        .to_vec(),
        DataType::I32 => [
            0i32,
            1,
            -1,
            2,
            -2,
            31,
            32,
            33,
            768,
            -768,
            -769,
            0xFFFF,
            i32::MAX - 1,
            i32::MAX,
            i32::MIN + 1,
            i32::MIN,
        ]
        .map(Value::new)
        .to_vec(),
        DataType::F32 => [
            0.0f32,
            -0.0,
            0.5,
            -0.5,
            1.0,
            -1.0,
            1.5,
            2.5,
            -2.5,
            3.141_592_5,
            1e-20,
            255.999,
            8_388_607.5,
            16_777_217.0,
            1e8,
            -1e8,
            2_147_483_520.0,
            2_147_483_648.0,
            -2_147_483_904.0,
            4_294_967_296.0,
            1e20,
            -1e20,
            f32::MAX,
            f32::MIN,
            f32::MIN_POSITIVE,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ]
        .map(Value::new)
        .to_vec(),
        _ if ty.is_int() => integers(ty),
        _ => floats(ty),
    }
}

/// Small numbers, powers of two and their neighbours, and both ends of the range.
fn integers(ty: DataType) -> Vec<Value> {
    let width = ty.width();
    let numbers = [0i128, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100, 255, 768, 769, 0xFFFF, 0x1_0000];
    let powers = [width / 2, width - 1, width].map(|n| 1i128 << n);
    let all = numbers.into_iter().chain(powers.into_iter().flat_map(|p| [p - 1, p, p + 1]));
    let (low, high) = if ty.is_signed_int() {
        (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
    } else {
        (0, (1 << width) - 1)
    };
    let mut values: Vec<i128> = all.flat_map(|x| [x, -x]).filter(|x| (low..=high).contains(x)).collect();
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(|x| Value::from_bits(ty, x as u64)).collect()
}

/// Numbers at which rounding, ranges of integers and exponents change, in the type's own precision.
fn floats(ty: DataType) -> Vec<Value> {
    let Some(format) = ty.float_format() else { return Vec::new() };
    let numbers = [
        0.0,
        0.5,
        1.0,
        1.5,
        2.5,
        3.140_625,
        0.1,
        1.0 / 3.0,
        1e-20,
        255.999,
        2047.0,
        8_388_607.5,
        16_777_217.0,
        1e8,
        2_147_483_520.0,
        2_147_483_648.0,
        4_294_967_296.0,
        9_223_372_036_854_775_808.0,
        18_446_744_073_709_551_616.0,
        1e20,
    ]
    .map(|x| format.from_f64(x));
    // The greatest number, the least normal one, the neighbours of one, and infinity.
    let bits =
        [format.infinity() - 1, format.least_normal(), format.one() + 1, format.one() - 1, format.infinity()];
    let mut all: Vec<u64> = numbers.into_iter().chain(bits).filter(|&b| !format.is_subnormal(b)).collect();
    all.sort_unstable();
    all.dedup();
    let mut values: Vec<Value> =
        all.into_iter().flat_map(|b| [b, b | format.sign()]).map(|b| Value::from_bits(ty, b)).collect();
    values.push(Value::from_bits(ty, format.quiet_nan()));
    values
}

/// The operands in memory form.
pub(super) fn bytes(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|v| v.bits().to_le_bytes().into_iter().take(v.ty().size() as usize)).collect()
}
