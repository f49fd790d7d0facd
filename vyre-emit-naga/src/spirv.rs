//! SPIR-V: naga's writer with its checks off, and `NoContraction` on every float arithmetic result.
//!
//! naga's IR cannot ask for `NoContraction`, and without it drivers reassociate and contract float
//! arithmetic. The decorations are added to the finished words. Numbers of instructions are those of the
//! SPIR-V specification, section "Instructions".

use naga::back::spv::{self, WriterFlags, ZeroInitializeWorkgroupMemoryMode};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};

use crate::stack::with_stack;
use crate::{Emitted, WriteError};

/// No bounds checks: lowering wrote those that are needed.
pub(crate) const UNCHECKED: BoundsCheckPolicies = BoundsCheckPolicies {
    index: BoundsCheckPolicy::Unchecked,
    buffer: BoundsCheckPolicy::Unchecked,
    image_load: BoundsCheckPolicy::Unchecked,
    binding_array: BoundsCheckPolicy::Unchecked,
};

/// What SPIR-V to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpirvOptions {
    /// The SPIR-V version, major and minor; subgroup ops need 1.3.
    pub version: (u8, u8),
    /// Whether names are kept, for debuggers.
    pub names: bool,
}

impl Default for SpirvOptions {
    /// Version 1.3, that of Vulkan 1.1, without names.
    fn default() -> Self {
        Self { version: (1, 3), names: false }
    }
}

/// Writes a module as SPIR-V words.
///
/// No bounds checks, no zeroing of shared memory, no loop bounds and no division checks are added: lowering
/// did what the semantics ask for. Where [`Emitted::strict_float`] is set, every result of float arithmetic
/// carries `NoContraction`.
///
/// # Errors
///
/// [`WriteError::Spirv`] if naga's writer lacks something that the module uses.
pub fn to_spirv(emitted: &Emitted, options: &SpirvOptions) -> Result<Vec<u32>, WriteError> {
    let mut flags = WriterFlags::empty();
    flags.set(WriterFlags::DEBUG, options.names);
    let writer = spv::Options {
        lang_version: options.version,
        flags,
        bounds_check_policies: UNCHECKED,
        zero_initialize_workgroup_memory: ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: emitted.entry_point.clone(),
    };
    let words = with_stack(emitted.nesting, || {
        spv::write_vec(&emitted.module, &emitted.info, &writer, Some(&pipeline))
    })??;
    Ok(if emitted.strict_float { without_contraction(&words) } else { words })
}

const HEADER_WORDS: usize = 5;
const OP_EXT_INST_IMPORT: u32 = 11;
const OP_EXT_INST: u32 = 12;
const OP_DECORATE: u32 = 71;
const DECORATION_NO_CONTRACTION: u32 = 42;
/// `Fma` of the extended set GLSL.std.450.
const GLSL_FMA: u32 = 50;

/// Whether an instruction is float arithmetic: `OpFNegate`, `OpFAdd`, `OpFSub`, `OpFMul`, `OpFDiv`,
/// `OpFRem`, `OpFMod`, and the products of vectors and matrices up to `OpDot`.
const fn is_float_arithmetic(op: u32) -> bool {
    matches!(op, 127 | 129 | 131 | 133 | 136 | 140 | 141 | 142..=148)
}

/// Whether an instruction comes before the types: capabilities, extensions, the memory model, entry points
/// and modes, debug information, and annotations.
const fn precedes_types(op: u32) -> bool {
    matches!(op, 2..=7 | 10 | 11 | 14..=17 | 71..=75 | 330..=332 | 5632 | 5633)
}

/// Each instruction: its first word's index, its op and its words.
fn instructions(words: &[u32]) -> impl Iterator<Item = (usize, u32, &[u32])> {
    let mut at = HEADER_WORDS;
    std::iter::from_fn(move || {
        let first = *words.get(at)?;
        let start = at;
        // A length of 0 would never end; naga writes none.
        at += ((first >> 16) as usize).max(1);
        Some((start, first & 0xFFFF, words.get(start..at)?))
    })
}

/// The same module, each float arithmetic result decorated with `NoContraction`.
fn without_contraction(words: &[u32]) -> Vec<u32> {
    let mut glsl = None;
    let mut first_type = words.len();
    let mut results = Vec::new();
    for (at, op, operands) in instructions(words) {
        if !precedes_types(op) {
            first_type = first_type.min(at);
        }
        match (op, operands) {
            // Result id, then the name, in little-endian words; naga imports no other set with this start.
            (OP_EXT_INST_IMPORT, [_, id, name, ..]) if *name == u32::from_le_bytes(*b"GLSL") => {
                glsl = Some(*id)
            }
            // Result type, result id, set, instruction.
            (OP_EXT_INST, [_, _, id, set, GLSL_FMA, ..]) if Some(*set) == glsl => results.push(*id),
            (op, [_, _, id, ..]) if is_float_arithmetic(op) => results.push(*id),
            _ => {}
        }
    }
    let (before, after) = words.split_at(first_type);
    let mut out = Vec::with_capacity(words.len() + 3 * results.len());
    out.extend_from_slice(before);
    for id in results {
        out.extend([3 << 16 | OP_DECORATE, id, DECORATION_NO_CONTRACTION]);
    }
    out.extend_from_slice(after);
    out
}
