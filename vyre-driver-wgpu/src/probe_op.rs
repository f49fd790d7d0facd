//! One op on many values: what parity tests against other implementations need.

use vyre_driver::{BackendError, DispatchConfig, VyreBackend};
use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::{Arena, Buffer, Count, Expr, Extent, Launch, Node, Place, Program, RegionId};
use vyre_spec::ops::UnaryOp;
use vyre_spec::{Access, Axis, BuiltIn, DataType};

use crate::backend::WgpuBackend;

impl WgpuBackend {
    /// Runs an f32 op on one value, given as its 4 bytes, and returns the bytes of the result: 4 of an f32, or of
    /// the word, 1 or 0, that a bool is in memory.
    ///
    /// # Errors
    /// [`BackendError::Config`] if `input` is not 4 bytes or the op takes no f32; else as dispatch.
    pub fn probe_op(&self, op: UnaryOp, input: &[u8]) -> Result<Vec<u8>, BackendError> {
        if input.len() != 4 {
            let why = format!("it has {} bytes, but one f32 has 4", input.len());
            return Err(BackendError::Config { field: "input", why });
        }
        self.probe(op, input)
    }

    /// Runs an f32 op on each value, in one dispatch. A predicate gives 1.0 and 0.0.
    ///
    /// # Errors
    /// [`BackendError::Config`] if the op takes no f32, and [`BackendError::Limit`] if there are more values
    /// than a storage binding of the device holds; else as dispatch.
    pub fn probe_op_many(&self, op: UnaryOp, inputs: &[f32]) -> Result<Vec<f32>, BackendError> {
        let most = self.profile().max_storage_binding_bytes / 4;
        if inputs.len() as u64 > most {
            let what = "the number of probed values".to_owned();
            return Err(BackendError::Limit { what, value: inputs.len() as u64, limit: most });
        }
        let outputs = self.probe(op, bytemuck::cast_slice(inputs))?;
        let predicate = result(op)? == DataType::Bool;
        let words = outputs.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_le_bytes));
        Ok(words.map(|word| if predicate { word as f32 } else { f32::from_bits(word) }).collect())
    }

    fn probe(&self, op: UnaryOp, bytes: &[u8]) -> Result<Vec<u8>, BackendError> {
        let outputs = self.dispatch_checked(&program(op)?, &[bytes], &DispatchConfig::default())?;
        Ok(outputs.into_iter().next().unwrap_or_default())
    }
}

/// The type that the op gives for an f32.
fn result(op: UnaryOp) -> Result<DataType, BackendError> {
    op.rule()
        .result(DataType::F32)
        .ok_or_else(|| BackendError::Config { field: "op", why: format!("`{}` takes no f32", op.name()) })
}

fn program(op: UnaryOp) -> Result<Checked<Program>, BackendError> {
    let element = result(op)?;
    let mut arena = Arena::new("probe");
    let x = Buffer {
        name: "x".to_owned(),
        element: DataType::F32,
        access: Access::ReadOnly,
        count: Count::Bytes,
        coherent: false,
    };
    let x = arena.buffer(x);
    let count = arena.extent(Extent::Length(x));
    let one = arena.extent(Extent::Literal(1));
    let out = arena.buffer(Buffer {
        name: "out".to_owned(),
        element,
        access: Access::WriteOnly,
        count: Count::Extent(count),
        coherent: false,
    });
    arena.set_launch(Launch::Domain { extent: [count, one, one], axes: 1 });
    let root = RegionId::new(0);
    let index = arena.expr(Expr::BuiltIn(BuiltIn::Point(Axis::X)));
    let loaded = arena.push(root, Node::Load { place: Place::Buffer(x), index });
    let loaded = arena.expr(Expr::Result(loaded));
    let value = arena.expr(Expr::Unary(op, loaded));
    arena.push(root, Node::Store { place: Place::Buffer(out), index, value });
    let built = |message: String| BackendError::Driver { doing: "building a probe", message };
    let (program, _) = arena.finish().map_err(|error| built(error.to_string()))?;
    Ok(check(program)?)
}
