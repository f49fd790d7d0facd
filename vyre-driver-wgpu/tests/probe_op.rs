//! `probe_op` and `probe_op_many` against the table's own semantics.
#![cfg(feature = "parity-testing")]
#![allow(clippy::unwrap_used, reason = "a failure here fails the test")]

use vyre_driver::BackendError;
use vyre_driver_wgpu::{UnOp, WgpuBackend};
use vyre_spec::{Comparison, DataType, Value};

const EDGES: [f32; 22] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.0,
    0.1,
    1e-3,
    7.25,
    -7.75,
    80.0,
    -80.0,
    1e10,
    -1e10,
    16_777_217.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

#[test]
fn every_f32_op_of_the_table_is_within_its_bound() {
    let backend = WgpuBackend::acquire().unwrap();
    let mut probed = 0;
    for &op in UnOp::ALL.iter().filter(|op| op.rule().operands().contains(DataType::F32)) {
        let many = backend.probe_op_many(op, &EDGES).unwrap();
        assert_eq!(many.len(), EDGES.len());
        for (&x, got) in EDGES.iter().zip(many) {
            let want = op.eval(Value::new(x)).unwrap();
            let got = match want.get::<bool>() {
                Some(_) => Value::new(got == 1.0),
                None => Value::new(got),
            };
            assert!(
                Comparison { bound: op.bound(), operand: x.into() }.accepts(want, got),
                "{op:?} {x}: {want:?}, {got:?}"
            );
        }
        // One value alone gives the same as among others, as raw bytes.
        let alone = backend.probe_op(op, &2.5_f32.to_le_bytes()).unwrap();
        let among = backend.probe_op_many(op, &EDGES).unwrap()[7];
        let predicate = op.rule().result(DataType::F32) == Some(DataType::Bool);
        let among = if predicate { (among as u32).to_le_bytes() } else { among.to_le_bytes() };
        assert_eq!(alone, among, "{op:?}");
        probed += 1;
    }
    assert!(probed >= 15, "{probed} ops");
}

#[test]
fn what_cannot_be_probed_is_refused() {
    let backend = WgpuBackend::acquire().unwrap();
    assert_eq!(backend.probe_op_many(UnOp::Floor, &[]).unwrap(), []);
    for input in [&[][..], &[0; 3], &[0; 8]] {
        let error = backend.probe_op(UnOp::Floor, input).unwrap_err();
        assert!(matches!(error, BackendError::Config { field: "input", .. }), "{error}");
    }
    let error = backend.probe_op_many(UnOp::CountOnes, &[1.0]).unwrap_err();
    assert!(error.to_string().contains("`count_ones` takes no f32"), "{error}");
    // Zeros that nobody touches take no memory.
    let limit = backend.device_profile().max_storage_binding_bytes / 4;
    let Ok(too_many) = usize::try_from(limit + 1) else { return };
    let error = backend.probe_op_many(UnOp::Floor, &vec![0.0; too_many]).unwrap_err();
    assert_eq!(
        error,
        BackendError::Limit { what: "the number of probed values".to_owned(), value: limit + 1, limit }
    );
}
