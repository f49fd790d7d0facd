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
    }
}

/// The operands in memory form.
pub(super) fn bytes(values: &[Value]) -> Vec<u8> {
    values.iter().flat_map(|v| (v.bits() as u32).to_le_bytes()).collect()
}
