//! What follows from the values and parameters that a node is given: the shapes of its outputs, what its inputs
//! must have, and over what it runs.

use std::borrow::Cow;

use vyre_spec::DataType;

use super::dims::DimTable;
use super::{Dim, DimId, GraphDiagnostic, GraphSite, ParamSource};
use crate::diag::{Code, Diagnostic};
use crate::ir::{BufferId, Count, Extent, ExtentId, ExtentOp, Program};

/// What is known of a value when a node reads it.
#[derive(Clone, Debug)]
pub(super) struct Known<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) element: DataType,
    pub(super) shape: Vec<DimId>,
    pub(super) elements: DimId,
}

/// What follows for a node.
#[derive(Debug)]
pub(super) struct Derived {
    /// The shape of each output.
    pub(super) shapes: Vec<Vec<DimId>>,
    /// Buffers that declare a count and are given a value, with the value's position among the inputs, its
    /// elements and the count.
    pub(super) needs: Vec<Need>,
    /// Points or workgroups; `None` if a buffer has the counts.
    pub(super) extents: Option<[DimId; 3]>,
}

/// A buffer's declared count, where a value is bound to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) buffer: BufferId,
    pub(super) input: usize,
    pub(super) has: DimId,
    pub(super) needs: DimId,
}

/// Why nothing follows: an extent reads a parameter whose constant is negative.
#[derive(Debug)]
pub(super) struct Negative(pub(super) String);

/// Works out a node, whose inputs and parameters fit its program in number and type.
pub(super) fn derive(
    dims: &mut DimTable,
    program: &Program,
    inputs: &[Known<'_>],
    params: &[ParamSource],
    counts: Option<[DimId; 3]>,
) -> Result<Derived, Negative> {
    let mut counter = Counter::new(program, params);
    let mut bound = inputs.iter();
    for (id, buffer) in program.buffer_ids().zip(program.buffers()) {
        if buffer.access.is_input() {
            counter.lengths[id.index()] = bound.next().map(|known| known.elements);
        }
    }
    let (mut shapes, mut needs) = (Vec::new(), Vec::new());
    let mut position = 0;
    for (id, buffer) in program.buffer_ids().zip(program.buffers()) {
        let input = buffer.access.is_input().then_some(position);
        position += usize::from(input.is_some());
        match (input.and_then(|at| Some((at, inputs.get(at)?))), buffer.count) {
            (Some((input, known)), count) => {
                if let Count::Extent(extent) = count {
                    let needs_elements = counter.extent(dims, extent)?;
                    needs.push(Need { buffer: id, input, has: known.elements, needs: needs_elements });
                }
                if buffer.access.is_output() {
                    shapes.push(known.shape.clone());
                }
            }
            (None, Count::Extent(extent)) => {
                // A count that is just the length of a buffer keeps the shape of what is bound to that.
                let alike = match *program.extent(extent) {
                    Extent::Length(like) => {
                        let before = program.inputs().position(|input| input == like);
                        before.and_then(|at| inputs.get(at)).map(|known| known.shape.clone())
                    }
                    _ => None,
                };
                shapes.push(match alike {
                    Some(shape) => shape,
                    None => vec![counter.extent(dims, extent)?],
                });
            }
            (None, Count::Bytes) => shapes.push(Vec::new()),
        }
    }
    let extents = match (counts, program.launch().extents()) {
        (Some(counts), _) => Some(counts),
        (None, Some([x, y, z])) => {
            let x = counter.extent(dims, x)?;
            let y = counter.extent(dims, y)?;
            Some([x, y, counter.extent(dims, z)?])
        }
        (None, None) => None,
    };
    Ok(Derived { shapes, needs, extents })
}

/// The evaluation of a program's extents as dimensions.
pub(super) struct Counter<'a> {
    program: &'a Program,
    params: &'a [ParamSource],
    /// Elements of each buffer, where they are known.
    pub(super) lengths: Vec<Option<DimId>>,
    /// Dimensions of the extents that were needed.
    found: Vec<Option<DimId>>,
}

impl<'a> Counter<'a> {
    pub(super) fn new(program: &'a Program, params: &'a [ParamSource]) -> Self {
        let (buffers, extents) = (program.buffers().len(), program.extents().len());
        Self { program, params, lengths: vec![None; buffers], found: vec![None; extents] }
    }

    /// The dimension that an extent is. The lengths of buffers without a declared count are known.
    pub(super) fn extent(&mut self, dims: &mut DimTable, root: ExtentId) -> Result<DimId, Negative> {
        // Counts have no cycle: the checker sees to it.
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            if self.found[id.index()].is_some() {
                stack.pop();
                continue;
            }
            let extent = *self.program.extent(id);
            let dim = match extent {
                Extent::Literal(n) => dims.literal(n),
                Extent::Param(param) => match self.params.get(param.index()) {
                    Some(ParamSource::Literal(value)) => match value.as_int().map(u64::try_from) {
                        Some(Ok(n)) => dims.literal(n),
                        _ => return Err(Negative(self.program.param(param).name.clone())),
                    },
                    Some(&ParamSource::Param(id)) => dims.intern(Dim::Param(id)),
                    Some(&ParamSource::Dim(id)) => id,
                    None => dims.literal(0),
                },
                Extent::Length(buffer) => {
                    match (self.lengths[buffer.index()], self.program.buffer(buffer).count) {
                        (Some(known), _) => known,
                        (None, Count::Extent(count)) => match self.found[count.index()] {
                            Some(known) => known,
                            None => {
                                stack.push(count);
                                continue;
                            }
                        },
                        (None, Count::Bytes) => dims.literal(0),
                    }
                }
                _ => {
                    let Some((op, a, b)) = ExtentOp::of(extent) else { break };
                    match (self.found[a.index()], self.found[b.index()]) {
                        (Some(a), Some(b)) => dims.combine(op, a, b),
                        (known, _) => {
                            stack.push(if known.is_none() { a } else { b });
                            continue;
                        }
                    }
                }
            };
            self.found[id.index()] = Some(dim);
            stack.pop();
        }
        Ok(self.found[root.index()].unwrap_or_else(|| dims.literal(0)))
    }
}

impl Negative {
    pub(super) fn finding(self, site: GraphSite) -> GraphDiagnostic {
        let message = format!("an extent reads parameter `{}`, whose constant is negative", self.0);
        Diagnostic::new(Code::GraphShape, site, message).with_help("give a number that is not negative")
    }
}
