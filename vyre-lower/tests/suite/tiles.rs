//! Tiles: what is refused, and what is proved.

use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::Program;
use vyre_foundation::launch::Params;
use vyre_foundation::text::parse;
use vyre_lower::kernel::{Op, Place, Proof, TileOp, VerifiedKernel};
use vyre_lower::{LowerError, lower};
use vyre_spec::{Capability, CapabilitySet, CompileOptions, DataType, DeviceProfile, Value};

use crate::interpreter::run;

fn program(declarations: &str, body: &str) -> Checked<Program> {
    let text = format!(
        "program tiles {{
            param n: u32;
            buffer x: readonly f16[];
            buffer y: readwrite f32[];
            shared s: f16[640];
            tile left: a f16[16, 16];
            tile right: b f16[16, 16];
            tile sum: accumulator f32[16, 16];
            {declarations}
            launch workgroups(n) size(32) {{ {body} }}
        }}"
    );
    check(parse(&text).unwrap_or_else(|e| panic!("{}", e[0])).0).unwrap_or_else(|e| panic!("{e:#?}"))
}

fn lowered(program: &Checked<Program>, profile: &DeviceProfile) -> Result<VerifiedKernel, LowerError> {
    let options = CompileOptions { launch_contract: true, ..CompileOptions::default() };
    lower(program, profile, &options)
}

fn refused(body: &str) -> LowerError {
    lowered(&program("", body), &DeviceProfile::reference()).unwrap_err()
}

/// The proofs of the tile accesses.
fn proofs(body: &str) -> Vec<Proof> {
    let kernel = lowered(&program("", body), &DeviceProfile::reference()).unwrap_or_else(|e| panic!("{e}"));
    let memory = kernel.insts.iter().filter_map(|inst| match inst.op {
        Op::Tile { op: TileOp::Load(m) | TileOp::Store(m), .. } => Some(m.proof),
        _ => None,
    });
    memory.collect()
}

#[test]
fn a_device_without_tiles_refuses_them_by_name() {
    let program = program("", "tile_multiply_add sum, left, right, sum; tile_store sum, y[0], 16;");
    let refusal = |profile: DeviceProfile| match lowered(&program, &profile) {
        Err(LowerError::Unsupported { op, ty, device, missing }) => {
            assert_eq!(device, profile.name);
            (op, ty, missing)
        }
        other => panic!("{other:?}"),
    };
    let all = DeviceProfile::reference();
    let without = |wanted: Capability| {
        let kept = all.capabilities.iter().filter(|&c| c != wanted);
        let capabilities = kept.fold(CapabilitySet::EMPTY, CapabilitySet::with);
        DeviceProfile { capabilities, ..all.clone() }
    };
    let (op, ty, missing) = refusal(without(Capability::Tiles));
    assert!(op.contains("tile_multiply_add") && op.contains("accumulator f32[16, 16]"), "{op}");
    assert_eq!((ty, missing), (Some(DataType::F32), Some(Capability::Tiles)));
    // A device that has tiles of these types, but not this product.
    let mut others = all.clone();
    others.tiles.retain(|p| (p.factor, p.sum) != (DataType::F16, DataType::F32));
    let (op, ty, missing) = refusal(others);
    assert!(op.contains("a f16[16, 16] and b f16[16, 16]"), "{op}");
    assert_eq!((ty, missing), (Some(DataType::F16), Some(Capability::Tiles)));
    assert!(lowered(&program, &all).is_ok());
}

#[test]
fn what_cannot_be_proved_in_bounds_or_aligned_is_refused() {
    let tail = refused("tile_load left, s[400], 16;");
    // 400 + 15 × 16 + 15 is 655, and s has 640 elements.
    assert!(
        matches!(tail, LowerError::TileBounds { op: "tile_load", ref array, .. } if array == "s"),
        "{tail}"
    );
    let loose = refused("tile_load left, s[n], 16;");
    assert!(matches!(loose, LowerError::TileBounds { .. } | LowerError::TileAlignment { .. }), "{loose}");
    let odd = refused("tile_load left, s[4], 16;");
    assert!(matches!(odd, LowerError::TileAlignment { elements: 8, .. }), "{odd}");
    let stride = refused("tile_load left, s[8], 20;");
    assert!(matches!(stride, LowerError::TileAlignment { elements: 8, .. }), "{stride}");
    // A row of 16 floats is aligned to four of them.
    let words = refused("tile_store sum, y[workgroup_id.x * 256 + 2], 16;");
    assert!(matches!(words, LowerError::TileAlignment { elements: 4, .. }), "{words}");
    let value = refused("tile_fill sum, 1.0;");
    assert!(matches!(value, LowerError::Unsupported { missing: None, .. }), "{value}");
}

#[test]
fn ranges_and_contracts_prove_accesses() {
    // 384 + 15 × 16 + 15 is 639.
    let fixed = proofs("tile_load left, s[384], 16; tile_load right, s[0], 40, column_major;");
    assert!(matches!(fixed[..], [Proof::Proven(_), Proof::Proven(_)]), "{fixed:?}");
    let launch =
        proofs("tile_load left, x[workgroup_id.x * 256], 16; tile_store sum, y[workgroup_id.x * 256], 16;");
    assert!(matches!(launch[..], [Proof::Contract(_), Proof::Contract(_)]), "{launch:?}");
    let text = "tile_load left, x[workgroup_id.x * 256], 16;";
    let plain = lower(&program("", text), &DeviceProfile::reference(), &CompileOptions::default());
    assert!(matches!(plain, Err(LowerError::TileBounds { .. })), "a launch of another size has no guards");
}

#[test]
fn halves_that_tiles_read_are_vectors_in_memory() {
    let body = "store s[local_index] = x[local_index]; barrier workgroup; tile_load left, s[0], 16;";
    let kernel = lowered(&program("", body), &DeviceProfile::reference()).unwrap();
    let shared = &kernel.shared[0];
    assert_eq!((shared.element, shared.vector, shared.len), (DataType::F16, 4, 640));
    // So are buffers that are only loaded: their vectors go on to such an array as they are.
    assert_eq!((kernel.bindings[0].element, kernel.bindings[0].vector), (DataType::F16, 4));
    assert!(kernel.needs.contains(Capability::Tiles) && kernel.needs.contains(Capability::F16));
    assert!(kernel.to_string().contains("load tile 0, `s`[%"), "{}", kernel.to_string());
}

#[test]
fn what_tiles_read_is_zeroed_by_whole_vectors() {
    // In six rounds of 32 invocations, the last for two vectors; and in a loop of 20.
    let arrays = "shared partial: f16[648]; shared long: f16[2560];";
    let body = "if n > 9 { tile_load left, partial[0], 16; tile_load right, long[0], 16; }
        barrier workgroup;
        for i in 0..21 { let at = min(local_index * 21 + i, 647); store y[at] = convert<f32>(partial[at]); }
        for i in 0..80 { let at = local_index * 80 + i; store y[648 + at] = convert<f32>(long[at]); }";
    let program = program(arrays, body);
    let kernel = lowered(&program, &DeviceProfile::reference()).unwrap();
    let stores = |vectors: bool| {
        let of_shared = kernel.insts.iter().filter(|inst| match inst.op {
            Op::Store { place: Place::Shared(_), .. } => !vectors,
            Op::StoreVector { place: Place::Shared(_), .. } => vectors,
            _ => false,
        });
        of_shared.count()
    };
    assert_eq!((stores(true), stores(false)), (7, 0));
    let buffers = [vec![0; 8], vec![1; 648 + 2_560]];
    let after = run(&program, &Params::new().with("n", Value::new(1u32)), &buffers);
    assert_eq!(after.buffers[1], vec![0; 648 + 2_560]);
}
