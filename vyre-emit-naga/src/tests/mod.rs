//! Hand-made descriptors, and the checks that every emitted module must pass.

mod kernels;
mod limits;
mod literals;
mod lowered;
mod ops;
mod random;
mod spirv;
mod tiles;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use vyre_foundation::ir::BufferId;
use vyre_lower::kernel::{
    ArrayDecl, Binding, BlockId, Contract, GridRule, Inst, InstId, KernelDescriptor, LaunchData, LaunchField,
    LocalId, Op, Place, Proof, Role,
};
use vyre_spec::ops::{BinaryOp, CastOp};
use vyre_spec::{Access, Axis, CapabilitySet, DataType, Element, Value};

use crate::module::emit_unverified;
use crate::{Emitted, SpirvOptions, to_hlsl, to_msl, to_spirv, to_wgsl};

pub(crate) const PROOF: Proof = Proof::Proven("made by a test");

/// Builds a descriptor block by block.
pub(crate) struct Kernel {
    pub(crate) d: KernelDescriptor,
    block: BlockId,
}

impl Kernel {
    pub(crate) fn new(name: &str) -> Self {
        let d = KernelDescriptor {
            name: name.to_owned(),
            workgroup_size: [64, 1, 1],
            grid: GridRule { points: false, run: 1, folded: false },
            bindings: Vec::new(),
            launch: LaunchData { fields: Vec::new(), immediates: true },
            shared: Vec::new(),
            privates: Vec::new(),
            tiles: Vec::new(),
            locals: Vec::new(),
            insts: Vec::new(),
            blocks: vec![Vec::new()],
            unguarded: BTreeMap::new(),
            contract: Contract::default(),
            needs: CapabilitySet::EMPTY,
            notes: Vec::new(),
            strict_float: true,
        };
        Self { d, block: BlockId(0) }
    }

    pub(crate) fn inst(&mut self, op: Op, ty: impl Into<Option<DataType>>) -> InstId {
        let id = InstId(self.d.insts.len() as u32);
        self.d.insts.push(Inst { op, ty: ty.into() });
        self.d.blocks[self.block.index()].push(id);
        id
    }

    /// Fills a new block.
    pub(crate) fn block(&mut self, fill: impl FnOnce(&mut Self)) -> BlockId {
        let new = BlockId(self.d.blocks.len() as u32);
        self.d.blocks.push(Vec::new());
        let outer = std::mem::replace(&mut self.block, new);
        fill(self);
        self.block = outer;
        new
    }

    pub(crate) fn buffer(&mut self, element: DataType, access: Access, atomic: bool) -> Place {
        let number = self.d.bindings.len() as u32;
        let role = Role::Buffer(BufferId::new(number));
        let name = format!("buffer{}", ["A", "B", "C"][number as usize]);
        self.d.bindings.push(Binding {
            name,
            role,
            element,
            access,
            atomic,
            coherent: false,
            vector: 1,
            window: None,
        });
        Place::Binding(number)
    }

    pub(crate) fn shared(&mut self, element: DataType, len: u32, atomic: bool) -> Place {
        self.d.shared.push(ArrayDecl { name: "tile".into(), element, len, atomic, zero: false, vector: 1 });
        Place::Shared(self.d.shared.len() as u32 - 1)
    }

    pub(crate) fn private(&mut self, element: DataType, len: u32) -> Place {
        self.d.privates.push(ArrayDecl {
            name: "stack".into(),
            element,
            len,
            atomic: false,
            zero: true,
            vector: 1,
        });
        Place::Private(self.d.privates.len() as u32 - 1)
    }

    pub(crate) fn local(&mut self, ty: DataType) -> LocalId {
        self.d.locals.push(ty);
        LocalId(self.d.locals.len() as u32 - 1)
    }

    pub(crate) fn launch(&mut self, field: LaunchField, ty: DataType) -> InstId {
        self.d.launch.fields.push(field);
        self.inst(Op::Launch(self.d.launch.fields.len() as u32 - 1), ty)
    }

    pub(crate) fn constant<T: Element>(&mut self, x: T) -> InstId {
        self.inst(Op::Constant(Value::new(x)), T::TYPE)
    }

    pub(crate) fn load(&mut self, place: Place, index: InstId, ty: DataType) -> InstId {
        self.inst(Op::Load { place, index, proof: PROOF }, ty)
    }

    pub(crate) fn store(&mut self, place: Place, index: InstId, value: InstId) {
        self.inst(Op::Store { place, index, value, proof: PROOF }, None);
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, a: InstId, b: InstId, ty: DataType) -> InstId {
        self.inst(Op::Binary(op, a, b), ty)
    }

    pub(crate) fn cast(&mut self, op: CastOp, a: InstId, ty: DataType) -> InstId {
        self.inst(Op::Cast(op, a), ty)
    }

    /// The id over the whole launch along x.
    pub(crate) fn global_x(&mut self) -> InstId {
        let group = self.inst(Op::WorkgroupId(Axis::X), DataType::U32);
        let size = self.constant(64u32);
        let local = self.inst(Op::LocalId(Axis::X), DataType::U32);
        let first = self.binary(BinaryOp::Mul, group, size, DataType::U32);
        self.binary(BinaryOp::Add, first, local, DataType::U32)
    }
}

/// Emits a descriptor that must be accepted. It need not pass the verifier: these try each native op
/// without the guards that lowering puts around it.
pub(crate) fn emitted(kernel: &Kernel) -> Emitted {
    emit_unverified(&kernel.d).unwrap_or_else(|error| panic!("{error}"))
}

/// Writes every form; the SPIR-V passes `spirv-val`, the WGSL parses and validates.
pub(crate) fn check_all_forms(kernel: &Kernel) -> Emitted {
    let emitted = emitted(kernel);
    check_forms(&emitted);
    emitted
}

/// As [`check_all_forms`].
pub(crate) fn check_forms(emitted: &Emitted) {
    for names in [false, true] {
        spirv_val(&to_spirv(emitted, &SpirvOptions { names, ..SpirvOptions::default() }).unwrap());
    }
    let wgsl = to_wgsl(emitted).unwrap();
    let module =
        naga::front::wgsl::parse_str(&wgsl).unwrap_or_else(|e| panic!("{}\n{wgsl}", e.emit_to_string(&wgsl)));
    naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all())
        .subgroup_stages(naga::valid::ShaderStages::COMPUTE)
        .subgroup_operations(naga::valid::SubgroupOperationSet::all())
        .validate(&module)
        .unwrap_or_else(|e| panic!("{}\n{wgsl}", e.emit_to_string(&wgsl)));
    to_msl(emitted).unwrap();
    to_hlsl(emitted).unwrap();
}

/// Runs `spirv-val` of SPIRV-Tools for Vulkan 1.1; without the tool it says so and checks nothing.
pub(crate) fn spirv_val(words: &[u32]) {
    let spawned = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.1", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        println!("skipped: spirv-val (package spirv-tools) is not installed");
        return;
    };
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "spirv-val: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compares text with `src/tests/snapshots/NAME`; with `UPDATE_EXPECT=1` it rewrites the file instead.
pub(crate) fn snapshot(name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/snapshots").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(wanted == text, "{name} differs; UPDATE_EXPECT=1 rewrites it. Now it is:\n{text}");
}

/// Runs `f` on a thread with a stack of 2 MiB, Rust's default for threads.
pub(crate) fn on_small_stack(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(f).unwrap();
    thread.join().unwrap();
}
