//! Bytes to graphs. Nothing is believed: counts are checked against the bytes that are left, ids against their
//! tables, programs and the graph by their checkers, and the result is encoded again to see that the bytes were
//! canonical.

use std::sync::Arc;

use super::{GraphWireError, MAGIC, VERSION, encode_unsealed, tags};
use crate::check::{Checked, check};
use crate::graph::assemble::{Draft, DraftKind, DraftNode, DraftSource, ValueRef, assemble};
use crate::graph::{Dim, DimId, GraphParam, GraphParamId, MAX_AXES, ParamSource, ProgramGraph};
use crate::ir::{ExtentOp, Program};
use crate::wire::{self, HASH, Reader, WireError};

type Wire<T> = Result<T, GraphWireError>;

/// The graph that the bytes are the encoding of, checked.
///
/// # Errors
/// If the bytes are not exactly what [`super::encode`] gives for some graph.
pub fn decode(bytes: &[u8]) -> Result<ProgramGraph, GraphWireError> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(GraphWireError::Magic)?;
    let version =
        rest.first_chunk().ok_or(WireError::Truncated { offset: bytes.len(), what: "the version" })?;
    let found = u32::from_le_bytes(*version);
    if found != VERSION {
        return Err(GraphWireError::Version { found, reads: VERSION });
    }
    let start = MAGIC.len() + version.len();
    let Some((body, hash)) = bytes.split_last_chunk::<HASH>().filter(|(body, _)| body.len() >= start) else {
        return Err(WireError::Truncated { offset: bytes.len(), what: "the content hash" }.into());
    };
    if blake3::hash(body).as_bytes() != hash {
        return Err(GraphWireError::Checksum { len: body.len() });
    }
    let mut reader = Decoder { reader: Reader::new(body, start), draft: Draft::default(), computed: 0 };
    reader.read()?;
    let at = reader.reader.at();
    if at < body.len() {
        return Err(GraphWireError::Trailing { offset: at, count: body.len() - at });
    }
    let graph = assemble(reader.draft).map_err(GraphWireError::Wrong)?;
    let canonical = encode_unsealed(&graph);
    if canonical != body {
        let same = canonical.iter().zip(body).take_while(|(a, b)| a == b).count();
        return Err(GraphWireError::NotCanonical { offset: same });
    }
    Ok(graph)
}

struct Decoder<'a> {
    reader: Reader<'a>,
    draft: Draft,
    /// Outputs of the nodes so far.
    computed: usize,
}

impl Decoder<'_> {
    fn read(&mut self) -> Wire<()> {
        self.draft.name = self.reader.string()?;
        for _ in 0..self.reader.count("params")? {
            let (name, ty) = (self.reader.string()?, self.reader.data_type()?);
            self.draft.params.push(GraphParam { name, ty });
        }
        let mut dims = Vec::new();
        for id in 0..self.reader.count("dimensions")? {
            let dim = self.read_dim(&dims)?;
            self.draft.dims.push(dim);
            dims.push(DimId::new(id));
        }
        for index in 0..self.reader.count("programs")? {
            let program = self.program(index)?;
            self.draft.programs.push(program);
        }
        // What retained values become is computed later.
        let mut updates = Vec::new();
        for _ in 0..self.reader.count("values")? {
            self.source(&mut updates)?;
        }
        for _ in 0..self.reader.count("nodes")? {
            self.node()?;
        }
        let values = self.draft.sources.len() + self.computed;
        for (offset, source, value) in updates {
            if value as usize >= values {
                return Err(WireError::Dangling { offset, what: "value", index: value, count: values }.into());
            }
            let next = Some(self.value_ref(value));
            if let Some(source) = self.draft.sources.get_mut(source) {
                source.kind = DraftKind::Retained { next };
            }
        }
        for _ in 0..self.reader.count("outputs")? {
            let name = self.reader.string()?;
            let value = self.reader.id("value", values)?;
            let value = self.value_ref(value);
            self.draft.outputs.push((name, value));
        }
        Ok(())
    }

    fn value_ref(&self, value: u32) -> ValueRef {
        // There are fewer sources than bytes, whose number a u32 need not hold, but ids are u32.
        match (value as usize).checked_sub(self.draft.sources.len()) {
            None => ValueRef::Source(value),
            Some(computed) => ValueRef::Computed(computed as u32),
        }
    }

    fn dim(&mut self) -> Wire<DimId> {
        Ok(DimId::new(self.reader.id("dimension", self.draft.dims.len())?))
    }

    fn read_dim(&mut self, dims: &[DimId]) -> Wire<Dim> {
        let offset = self.reader.at();
        Ok(match self.reader.byte("a dimension")? {
            tags::LITERAL => Dim::Literal(self.reader.number("a dimension")?),
            tags::SYMBOL => Dim::Symbol(self.reader.string()?),
            tags::PARAM => Dim::Param(GraphParamId::new(self.reader.id("param", self.draft.params.len())?)),
            tag => {
                let op = ExtentOp::from_tag(tag).ok_or(WireError::Tag { offset, what: "dimension", tag })?;
                let a = self.reader.back("dimension", dims)?;
                Dim::of(op, a, self.reader.back("dimension", dims)?)
            }
        })
    }

    fn program(&mut self, index: u32) -> Wire<Checked<Program>> {
        let bytes = self.reader.blob("a program's length", "a program")?;
        let offset = self.reader.at() - bytes.len();
        let program = wire::decode_unsealed(bytes).map_err(|source| GraphWireError::Program {
            index,
            offset,
            source,
        })?;
        let name = program.name().to_owned();
        check(program).map_err(|findings| GraphWireError::WrongProgram { index, name, findings })
    }

    fn source(&mut self, updates: &mut Vec<(usize, usize, u32)>) -> Wire<()> {
        let (name, element) = (self.reader.string()?, self.reader.data_type()?);
        let offset = self.reader.at();
        let axes = self.reader.small("a shape's axes")?;
        if axes as usize > MAX_AXES {
            return Err(WireError::Number { offset, what: "a shape's axes" }.into());
        }
        let shape = (0..axes).map(|_| self.dim()).collect::<Wire<_>>()?;
        let offset = self.reader.at();
        let kind = match self.reader.byte("a value")? {
            tags::CONSTANT => {
                DraftKind::Constant(Arc::from(self.reader.blob("a constant's length", "a constant")?))
            }
            tags::INPUT => DraftKind::Input,
            tags::RETAINED => {
                let offset = self.reader.at();
                let next = self.reader.number("a value")?;
                if let Some(value) = next.checked_sub(1) {
                    let value =
                        u32::try_from(value).map_err(|_| WireError::Number { offset, what: "a value" })?;
                    updates.push((offset, self.draft.sources.len(), value));
                }
                DraftKind::Retained { next: None }
            }
            tag => return Err(WireError::Tag { offset, what: "value", tag }.into()),
        };
        self.draft.sources.push(DraftSource { name, element, shape, kind });
        Ok(())
    }

    fn node(&mut self) -> Wire<()> {
        let name = self.reader.string()?;
        let number = self.reader.id("program", self.draft.programs.len())?;
        let Some(program) = self.draft.programs.get(number as usize).cloned() else { return Ok(()) };
        let values = self.draft.sources.len() + self.computed;
        let mut node = DraftNode {
            name,
            program: number,
            inputs: Vec::new(),
            outputs: Vec::new(),
            params: Vec::new(),
            counts: None,
        };
        for _ in program.inputs() {
            let value = self.reader.id("value", values)?;
            node.inputs.push(self.value_ref(value));
        }
        for _ in program.outputs() {
            node.outputs.push(self.reader.string()?);
        }
        for _ in program.params() {
            let offset = self.reader.at();
            node.params.push(match self.reader.byte("a parameter")? {
                tags::OF_LITERAL => ParamSource::Literal(self.reader.value()?),
                tags::OF_PARAM => {
                    ParamSource::Param(GraphParamId::new(self.reader.id("param", self.draft.params.len())?))
                }
                tags::OF_DIM => ParamSource::Dim(self.dim()?),
                tag => return Err(WireError::Tag { offset, what: "parameter", tag }.into()),
            });
        }
        if self.reader.flag("counts flag")? {
            node.counts = Some([self.dim()?, self.dim()?, self.dim()?]);
        }
        self.computed += node.outputs.len();
        self.draft.nodes.push(node);
        Ok(())
    }
}
