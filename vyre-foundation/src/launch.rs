//! What a launch's host arithmetic comes to: element counts, points and workgroups.

use vyre_spec::{DataType, Value};

use crate::check::Checked;
use crate::ir::{Buffer, BufferId, Count, Extent, ExtentId, ExtentOp, Launch, Program};

/// The values of a dispatch's parameters, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Params(Vec<(String, Value)>);

impl Params {
    /// No parameter.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a parameter's value; a later value of the same name replaces it.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Value) -> Self {
        let name = name.into();
        self.0.retain(|(other, _)| *other != name);
        self.0.push((name, value));
        self
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<Value> {
        self.0.iter().find(|(other, _)| other == name).map(|&(_, value)| value)
    }

    /// The names that have a value.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The values in the program's declaration order.
    ///
    /// # Errors
    /// If one is missing, has another type, or is not the program's.
    pub fn in_order(&self, program: &Program) -> Result<Vec<Value>, LaunchError> {
        if let Some((name, _)) =
            self.0.iter().find(|(name, _)| program.params().iter().all(|p| p.name != *name))
        {
            let known = program.params().iter().map(|p| p.name.clone()).collect();
            return Err(LaunchError::UnknownParam { name: name.clone(), known });
        }
        let value = |p: &crate::ir::Param| match self.get(&p.name) {
            None => Err(LaunchError::MissingParam { name: p.name.clone(), ty: p.ty }),
            Some(v) if v.ty() != p.ty => {
                Err(LaunchError::ParamType { name: p.name.clone(), needs: p.ty, got: v.ty() })
            }
            Some(v) => Ok(v),
        };
        program.params().iter().map(value).collect()
    }
}

impl<N: Into<String>> FromIterator<(N, Value)> for Params {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(iter: I) -> Self {
        iter.into_iter().fold(Self::new(), |params, (name, value)| params.with(name, value))
    }
}

/// Why a launch cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A parameter has no value.
    #[error("parameter `{name}` has no value: pass one of type {ty}")]
    MissingParam {
        /// Its name.
        name: String,
        /// Its type.
        ty: DataType,
    },
    /// A parameter has a value of another type.
    #[error("parameter `{name}` has type {needs}, but got a value of type {got}")]
    ParamType {
        /// Its name.
        name: String,
        /// Its declared type.
        needs: DataType,
        /// The value's type.
        got: DataType,
    },
    /// A value was passed for a parameter that the program does not have.
    #[error("the program has no parameter `{name}`; it has: {}", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    UnknownParam {
        /// The name.
        name: String,
        /// The program's parameters.
        known: Vec<String>,
    },
    /// The number of inputs is wrong.
    #[error("the program takes {needs} input{} ({names}), but got {got}", if *needs == 1 { "" } else { "s" })]
    InputCount {
        /// How many the program takes.
        needs: usize,
        /// Their buffers' names, in order.
        names: String,
        /// How many were passed.
        got: usize,
    },
    /// A buffer's bytes are no whole number of elements.
    #[error(
        "buffer `{buffer}` got {got} bytes, which is no whole number of {element} elements of {size} bytes"
    )]
    PartialElement {
        /// Its name.
        buffer: String,
        /// The bytes bound.
        got: u64,
        /// Its element type.
        element: DataType,
        /// The element's size in bytes.
        size: u32,
    },
    /// A buffer has other than the declared number of elements.
    #[error("buffer `{buffer}` needs {needs} elements ({needs_bytes} bytes), but got {got_bytes} bytes")]
    BufferLength {
        /// Its name.
        buffer: String,
        /// The elements it needs.
        needs: u64,
        /// The same in bytes.
        needs_bytes: u64,
        /// The bytes bound.
        got_bytes: u64,
    },
    /// Host arithmetic overflowed, went below zero, or divided by zero.
    #[error("the extent of {what} cannot be computed: {operation}")]
    Arithmetic {
        /// What the extent is of.
        what: String,
        /// The operation with its operands.
        operation: String,
    },
    /// A buffer is too short for the workgroup counts that it should have.
    #[error("buffer `{buffer}` has the launch's workgroup counts, three elements, but only {got} are bound")]
    NoCounts {
        /// Its name.
        buffer: String,
        /// Its elements.
        got: u64,
    },
    /// A count is too large for 32-bit ids.
    #[error("{what} is {value}, above the limit of {limit}: split the work into several dispatches")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its value.
        value: u64,
        /// The limit.
        limit: u64,
    },
}

/// A launch with its host arithmetic done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedLaunch {
    /// The parameters' values, in declaration order.
    pub params: Vec<Value>,
    /// Elements of each buffer, in declaration order.
    pub lengths: Vec<u64>,
    /// Points of the domain, or workgroups, per axis; 0 if a buffer has the counts.
    pub extent: [u64; 3],
}

impl ResolvedLaunch {
    /// Bytes of a buffer.
    pub fn byte_len(&self, program: &Program, buffer: BufferId) -> u64 {
        let elements = self.lengths.get(buffer.index()).copied().unwrap_or(0);
        elements * u64::from(program.buffer(buffer).element.size())
    }
}

/// The bytes that a dispatch with these inputs binds to each buffer, for [`resolve`].
///
/// # Errors
/// If there are more or fewer inputs than `ReadOnly`, `Uniform` and `ReadWrite` buffers.
pub fn bind_inputs(program: &Program, inputs: &[&[u8]]) -> Result<Vec<Option<u64>>, LaunchError> {
    let (needs, got) = (program.inputs().count(), inputs.len());
    if needs != got {
        let names: Vec<&str> = program.inputs().map(|id| program.buffer(id).name.as_str()).collect();
        return Err(LaunchError::InputCount { needs, names: names.join(", "), got });
    }
    let mut inputs = inputs.iter();
    let bytes = |is_input: bool| is_input.then(|| inputs.next().map_or(0, |bytes| bytes.len() as u64));
    Ok(program.buffers().iter().map(|buffer| buffer.access.is_input()).map(bytes).collect())
}

/// Computes a launch.
///
/// `bound` has the bytes bound to each buffer in declaration order, `None` where the dispatch allocates it
/// (its count is then an extent). `counts` replaces the workgroup counts of a workgroup launch.
///
/// # Errors
/// If lengths do not fit the declarations, arithmetic fails, or a count is above 2^32 − 1.
pub fn resolve(
    program: &Checked<Program>,
    params: &Params,
    bound: &[Option<u64>],
    counts: Option<[u32; 3]>,
) -> Result<ResolvedLaunch, LaunchError> {
    let params = params.in_order(program)?;
    let mut lengths: Vec<Option<u64>> = vec![None; program.buffers().len()];
    for (i, buffer) in program.buffers().iter().enumerate() {
        let Some(bytes) = bound.get(i).copied().flatten() else { continue };
        let size = buffer.element.size();
        if bytes % u64::from(size) != 0 {
            return Err(LaunchError::PartialElement {
                buffer: buffer.name.clone(),
                got: bytes,
                element: buffer.element,
                size,
            });
        }
        if buffer.count == Count::Bytes {
            lengths[i] = Some(bytes / u64::from(size));
        }
    }
    // Counts may refer to other buffers' lengths, in any order but without a cycle (the checker sees to it),
    // so each pass over the buffers settles at least one until all are.
    let mut values: Vec<Option<u64>> = vec![None; program.extents().len()];
    for _ in 0..=program.buffers().len() {
        evaluate(program, &params, &lengths, &mut values)?;
        let mut settled = false;
        for (i, buffer) in program.buffers().iter().enumerate() {
            if let (None, Count::Extent(x)) = (lengths[i], buffer.count) {
                lengths[i] = values.get(x.index()).copied().flatten();
                settled |= lengths[i].is_some();
            }
        }
        if !settled {
            break;
        }
    }
    let mut known = Vec::with_capacity(lengths.len());
    for (i, buffer) in program.buffers().iter().enumerate() {
        let size = u64::from(buffer.element.size());
        let Some(elements) = lengths[i] else {
            return Err(LaunchError::BufferLength {
                buffer: buffer.name.clone(),
                needs: 0,
                needs_bytes: 0,
                got_bytes: 0,
            });
        };
        let needs_bytes = elements.checked_mul(size).ok_or_else(|| LaunchError::Arithmetic {
            what: format!("buffer `{}`", buffer.name),
            operation: format!("{elements} × {size} bytes overflows"),
        })?;
        if let Some(got_bytes) = bound.get(i).copied().flatten() {
            if got_bytes != needs_bytes {
                return Err(LaunchError::BufferLength {
                    buffer: buffer.name.clone(),
                    needs: elements,
                    needs_bytes,
                    got_bytes,
                });
            }
        }
        in_u32(|| format!("the length of buffer `{}`", buffer.name), elements)?;
        known.push(elements);
    }
    let at = |x: ExtentId| values.get(x.index()).copied().flatten().unwrap_or(0);
    if let Launch::Indirect { counts: buffer, .. } = program.launch() {
        let got = known.get(buffer.index()).copied().unwrap_or(0);
        if got < 3 {
            return Err(LaunchError::NoCounts { buffer: program.buffer(buffer).name.clone(), got });
        }
    }
    let extent = match (program.launch(), counts) {
        (Launch::Workgroups { .. } | Launch::Indirect { .. }, Some(counts)) => counts.map(u64::from),
        (launch, _) => launch.extents().map_or([0; 3], |extents| extents.map(at)),
    };
    for (axis, &value) in vyre_spec::Axis::ALL.iter().zip(&extent) {
        in_u32(|| format!("the launch's {} axis", axis.name()), value)?;
    }
    Ok(ResolvedLaunch { params, lengths: known, extent })
}

fn in_u32(what: impl Fn() -> String, value: u64) -> Result<(), LaunchError> {
    let limit = u64::from(u32::MAX);
    if value > limit { Err(LaunchError::TooLarge { what: what(), value, limit }) } else { Ok(()) }
}

/// Evaluates the extents whose operands are known.
fn evaluate(
    program: &Program,
    params: &[Value],
    lengths: &[Option<u64>],
    values: &mut [Option<u64>],
) -> Result<(), LaunchError> {
    for (i, extent) in program.extents().iter().enumerate() {
        if values[i].is_some() {
            continue;
        }
        let fail = |operation: String| LaunchError::Arithmetic {
            what: reader(program, ExtentId::new(i as u32)),
            operation,
        };
        let operands = extent.operands().map(|pair| pair.map(|x| values.get(x.index()).copied().flatten()));
        values[i] = match (*extent, operands) {
            (Extent::Literal(n), _) => Some(n),
            (Extent::Param(id), _) => match params.get(id.index()) {
                Some(v) if v.as_int().is_some_and(|n| n < 0) => {
                    return Err(fail(format!("parameter `{}` is negative", program.param(id).name)));
                }
                value => value.map(|v| v.bits()),
            },
            (Extent::Length(id), _) => lengths.get(id.index()).copied().flatten(),
            (_, Some([Some(a), Some(b)])) => {
                let Some((op, ..)) = ExtentOp::of(*extent) else { continue };
                let outside = || fail(format!("{a} {} {b} is outside 0 to 2^64 - 1", op.text));
                Some((op.eval)(a, b).ok_or_else(outside)?)
            }
            _ => None,
        };
    }
    Ok(())
}

/// What an extent is computed for: the first buffer or axis whose count it goes into.
fn reader(program: &Program, extent: ExtentId) -> String {
    let mut goes_into = vec![false; program.extents().len()];
    for (i, other) in program.extents().iter().enumerate() {
        // Operands come before users.
        let through = other.operands().into_iter().flatten().any(|x| goes_into[x.index()]);
        goes_into[i] = i == extent.index() || through;
    }
    let reads = |buffer: &&Buffer| matches!(buffer.count, Count::Extent(x) if goes_into[x.index()]);
    if let Some(buffer) = program.buffers().iter().find(reads) {
        return format!("buffer `{}`", buffer.name);
    }
    let extents = program.launch().extents().into_iter().flatten();
    let mut axes = vyre_spec::Axis::ALL.iter().zip(extents);
    let axis = axes.find(|(_, x)| goes_into[x.index()]).map_or("x", |(axis, _)| axis.name());
    format!("the launch's {axis} axis")
}
