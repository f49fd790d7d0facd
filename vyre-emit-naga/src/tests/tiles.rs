//! Tiles: modules that naga's validator passes, and what they are in SPIR-V. `spirv-val` does not know cooperative
//! matrices, so these are not given to it.

use vyre_foundation::build::Kernel;
use vyre_foundation::check::Checked;
use vyre_foundation::ir::Program;
use vyre_lower::kernel::VerifiedKernel;
use vyre_lower::lower;
use vyre_spec::{CompileOptions, DeviceProfile, MemoryOrdering, TileLayout, TileRole, class, f16};

use crate::{Emitted, SpirvOptions, WriteError, emit, to_hlsl, to_msl, to_spirv, to_wgsl};

fn lowered(program: &Checked<Program>) -> VerifiedKernel {
    lower(program, &DeviceProfile::reference(), &CompileOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn emitted(program: &Checked<Program>) -> Emitted {
    emit(&lowered(program)).unwrap_or_else(|e| panic!("{e}"))
}

/// A product through shared memory, with every tile op.
fn every_op<S: class::Tile>(zero: S, half: S) -> Checked<Program> {
    Kernel::build("every_op", |k| {
        let (a, b) = (k.read_only::<f16>("a").with_len(512), k.read_only::<f16>("b").with_len(256));
        let c = k.read_write::<S>("c").with_len(512);
        let shared = k.shared::<f16>("block", 256);
        let left = k.tile::<f16>("left", TileRole::A, 16, 16);
        let right = k.tile::<f16>("right", TileRole::B, 16, 16);
        let [sum, old] = ["sum", "old"].map(|name| k.tile::<S>(name, TileRole::Accumulator, 16, 16));
        k.workgroups([64], [1], |g| {
            for i in 0..4u32 {
                shared.store(g.local_index + 64 * i, a.load(g.local_index + 64 * i));
            }
            k.barrier(MemoryOrdering::Workgroup);
            sum.fill(zero);
            k.for_(0u32, 3u32, |_| {
                left.load(shared, 0, 16);
                right.load_as(b, 0, 16, TileLayout::ColumnMajor);
                sum.multiply_add(left, right, sum);
            });
            old.load(c, (g.subgroup_id & 1) * 256, 16);
            sum.scale(sum, half);
            sum.add(sum, old);
            sum.subtract(sum, old);
            sum.store(c, (g.subgroup_id & 1) * 256, 16);
        });
    })
    .unwrap()
}

#[test]
fn every_tile_op_becomes_a_valid_module() {
    for program in [every_op(0.0f32, 0.5f32), every_op(f16::ZERO, f16::from_f32(0.5))] {
        let emitted = emitted(&program);
        let wgsl = to_wgsl(&emitted).unwrap();
        let module = naga::front::wgsl::parse_str(&wgsl)
            .unwrap_or_else(|e| panic!("{}\n{wgsl}", e.emit_to_string(&wgsl)));
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all())
            .subgroup_stages(naga::valid::ShaderStages::COMPUTE)
            .subgroup_operations(naga::valid::SubgroupOperationSet::all())
            .validate(&module)
            .unwrap_or_else(|e| panic!("{}\n{wgsl}", e.emit_to_string(&wgsl)));
        assert!(wgsl.contains("coopMultiplyAdd") && wgsl.contains("array<vec4<f16>"), "{wgsl}");
        to_msl(&emitted).unwrap();
        assert!(matches!(to_hlsl(&emitted), Err(WriteError::HlslTiles)));
    }
}

/// How often an instruction is in a module.
fn count(words: &[u32], op: u32) -> usize {
    let mut at = 5;
    let mut found = 0;
    while let Some(&first) = words.get(at) {
        found += usize::from(first & 0xFFFF == op);
        at += (first >> 16) as usize;
    }
    found
}

#[test]
fn spirv_has_one_instruction_for_each_tile_op() {
    let words = to_spirv(&emitted(&every_op(0.0f32, 0.5f32)), &SpirvOptions::default()).unwrap();
    // OpCooperativeMatrixLoadKHR, StoreKHR and MulAddKHR, OpMatrixTimesScalar.
    assert_eq!([4457, 4458, 4459, 143].map(|op| count(&words, op)), [3, 1, 1, 1]);
}
