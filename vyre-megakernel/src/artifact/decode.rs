//! Artifacts from bytes of any origin.
//!
//! Ids are checked where they are read, what the plan comes to by [`check::plan`], and at last the artifact is
//! encoded again: there is one byte form of each. Lists grow as their entries are read, so no count allocates more
//! than the bytes that follow it.

use std::sync::Arc;

use vyre_driver::codec::{CodecError, Reader};
use vyre_foundation::check::{self as checker, Checked};
use vyre_foundation::graph::{
    DimId, GraphNodeId, GraphParamId, GraphValueId, ParamSource, ProgramGraph, wire as graph_wire,
};
use vyre_foundation::ir::Program;
use vyre_foundation::wire;
use vyre_spec::{CompileOptions, DataType, Value};

use super::encode::{COPY, DIM, LITERAL, NO_VALUE, PARAM, RUN};
use super::{Artifact, ArtifactError, ArtifactId, CONTEXT, DIGEST, MAGIC, Rejected, VERSION, check};
use crate::ProfileDigest;
use crate::fuse::{Cost, Facts, Fusion, Group, Placement, Plan, Run, Slot, SlotId, Step, Use};

impl Artifact {
    /// Reads an artifact's bytes and checks its graph, programs and plan again, so that bytes of any origin may be
    /// read. Time and memory are linear in their number.
    ///
    /// # Errors
    /// Bytes that [`compile`](super::compile) did not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ArtifactError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(ArtifactError::TooLarge { bytes: bytes.len(), most: Self::MAX_BYTES });
        }
        let mut reader = Reader::new(bytes);
        if reader.array().ok() != Some(MAGIC) {
            return Err(ArtifactError::NotAnArtifact);
        }
        match reader.u32()? {
            VERSION => {}
            got => return Err(ArtifactError::Version { got, known: VERSION }),
        }
        let content = bytes.len().checked_sub(DIGEST).filter(|&len| len >= reader.at());
        let cut = ArtifactError::Truncated { at: bytes.len(), needs: DIGEST as u64 };
        let (content, digest) = bytes.split_at(content.ok_or(cut)?);
        let id = ArtifactId(blake3::derive_key(CONTEXT, content));
        if id.0 != digest {
            return Err(ArtifactError::Damaged);
        }
        let profile = ProfileDigest(reader.array()?);
        let options = options(&mut reader)?;
        let facts = facts(&mut reader)?;
        let encoded = reader.string()?;
        let at = reader.at() - encoded.len();
        let graph = graph_wire::decode(encoded).map_err(|source| ArtifactError::Graph { at, source })?;
        let plan = Tables { graph: &graph }.plan(&mut reader)?;
        let rejected = list(&mut reader, |reader| {
            let [producer, consumer] = [reader.u32()?, reader.u32()?].map(GraphNodeId::new);
            Ok::<_, CodecError>(Rejected { producer, consumer, reason: text(reader)? })
        })?;
        if reader.rest.len() != DIGEST {
            return Err(CodecError::Malformed { at: reader.at(), what: "bytes that mean nothing" }.into());
        }
        check::plan(&graph, &plan)?;
        check::rejected(&graph, &rejected)?;
        let artifact =
            Self { graph: Arc::new(graph), options, facts, profile, plan, rejected, bytes: Vec::new(), id }
                .encoded();
        match artifact.bytes.iter().zip(bytes).position(|(own, given)| own != given) {
            None if artifact.bytes.len() == bytes.len() => Ok(artifact),
            at => {
                let at = at.unwrap_or_else(|| artifact.bytes.len().min(bytes.len()));
                Err(ArtifactError::Malformed { at, what: "another form than compiling writes" })
            }
        }
    }
}

fn list<T, E: From<CodecError>>(
    reader: &mut Reader<'_>,
    mut item: impl FnMut(&mut Reader<'_>) -> Result<T, E>,
) -> Result<Vec<T>, E> {
    let mut items = Vec::new();
    for _ in 0..reader.u32()? {
        items.push(item(reader)?);
    }
    Ok(items)
}

fn text(reader: &mut Reader<'_>) -> Result<String, CodecError> {
    let at = reader.at();
    let bytes = reader.string()?.to_vec();
    String::from_utf8(bytes).map_err(|_| CodecError::Malformed { at, what: "a text that is not UTF-8" })
}

fn scalar(reader: &mut Reader<'_>) -> Result<Value, CodecError> {
    let at = reader.at();
    let [tag] = reader.array()?;
    let Some(ty) = DataType::from_tag(tag) else {
        return Err(CodecError::Malformed { at, what: "an unknown type" });
    };
    let bits = reader.u64()?;
    let value = Value::from_bits(ty, bits);
    if value.bits() == bits {
        Ok(value)
    } else {
        Err(CodecError::Malformed { at, what: "bits beyond its type" })
    }
}

fn options(reader: &mut Reader<'_>) -> Result<CompileOptions, CodecError> {
    let optimize = reader.flag()?;
    let ulp_budget = reader.u32()?;
    let sized = reader.flag()?;
    let size = [reader.u32()?, reader.u32()?, reader.u32()?];
    let workgroup_size = sized.then_some(size);
    Ok(CompileOptions { optimize, workgroup_size, ulp_budget, ..CompileOptions::default() })
}

fn facts(reader: &mut Reader<'_>) -> Result<Facts, CodecError> {
    let dims = list(reader, |reader| Ok::<_, CodecError>((text(reader)?, reader.u64()?)))?;
    let params = list(reader, |reader| Ok::<_, CodecError>((text(reader)?, scalar(reader)?)))?;
    Ok(Facts { dims, params })
}

fn program(reader: &mut Reader<'_>, index: usize) -> Result<Checked<Program>, ArtifactError> {
    let encoded = reader.string()?;
    let at = reader.at() - encoded.len();
    let program = wire::decode(encoded).map_err(|source| ArtifactError::Wire { index, at, source })?;
    checker::check(program).map_err(|diagnostics| ArtifactError::Program { index, diagnostics })
}

/// The tables that a plan's ids refer to.
struct Tables<'g> {
    graph: &'g ProgramGraph,
}

impl Tables<'_> {
    fn plan(&self, reader: &mut Reader<'_>) -> Result<Plan, ArtifactError> {
        let mut index = 0;
        let programs = list(reader, |reader| {
            index += 1;
            program(reader, index - 1)
        })?;
        let steps = list(reader, |reader| self.step(reader))?;
        let slots = list(reader, |reader| {
            Ok::<_, CodecError>(Slot { values: list(reader, |reader| self.value(reader))? })
        })?;
        let places = list(reader, place)?;
        let groups = list(reader, |reader| {
            let nodes = list(reader, |reader| self.node(reader))?;
            let how = list(reader, |reader| {
                let at = reader.at();
                let [tag] = reader.array()?;
                Fusion::from_tag(tag).ok_or(CodecError::Malformed { at, what: "an unknown way of fusing" })
            })?;
            let (bytes, operations, launches) = (reader.u64()?, reader.u64()?, reader.u64()?);
            Ok::<_, CodecError>(Group { nodes, how, cost: Cost { bytes, operations, launches } })
        })?;
        Ok(Plan { programs, steps, slots, places, groups, rejected: Vec::new() })
    }

    fn step(&self, reader: &mut Reader<'_>) -> Result<Step, CodecError> {
        let at = reader.at();
        match reader.array()? {
            [RUN] => Ok(Step::Run(self.run(reader)?)),
            [COPY] => Ok(Step::Copy { from: self.value(reader)?, to: self.value(reader)? }),
            [_] => Err(CodecError::Malformed { at, what: "an unknown step" }),
        }
    }

    fn run(&self, reader: &mut Reader<'_>) -> Result<Run, CodecError> {
        let program = reader.u32()?;
        let buffers = list(reader, |reader| {
            Ok::<_, CodecError>(Use { input: self.optional(reader)?, output: self.optional(reader)? })
        })?;
        let params = list(reader, |reader| {
            let at = reader.at();
            match reader.array()? {
                [LITERAL] => Ok(ParamSource::Literal(scalar(reader)?)),
                [PARAM] => {
                    let known = self.graph.params().len();
                    Ok(ParamSource::Param(GraphParamId::new(id(reader, known, "an unknown parameter")?)))
                }
                [DIM] => Ok(ParamSource::Dim(self.dim(reader)?)),
                [_] => Err(CodecError::Malformed { at, what: "an unknown source of a parameter" }),
            }
        })?;
        let counts = match reader.flag()? {
            true => Some([self.dim(reader)?, self.dim(reader)?, self.dim(reader)?]),
            false => None,
        };
        let nodes = list(reader, |reader| self.node(reader))?;
        Ok(Run { program, buffers, params, counts, nodes })
    }

    fn value(&self, reader: &mut Reader<'_>) -> Result<GraphValueId, CodecError> {
        Ok(GraphValueId::new(id(reader, self.graph.values().len(), "an unknown value")?))
    }

    fn optional(&self, reader: &mut Reader<'_>) -> Result<Option<GraphValueId>, CodecError> {
        let mut ahead = reader.clone();
        if ahead.u32()? == NO_VALUE {
            *reader = ahead;
            return Ok(None);
        }
        self.value(reader).map(Some)
    }

    fn node(&self, reader: &mut Reader<'_>) -> Result<GraphNodeId, CodecError> {
        Ok(GraphNodeId::new(id(reader, self.graph.nodes().len(), "an unknown node")?))
    }

    fn dim(&self, reader: &mut Reader<'_>) -> Result<DimId, CodecError> {
        Ok(DimId::new(id(reader, self.graph.dims().len(), "an unknown dimension")?))
    }
}

/// A number below `known`.
fn id(reader: &mut Reader<'_>, known: usize, what: &'static str) -> Result<u32, CodecError> {
    let at = reader.at();
    let id = reader.u32()?;
    if (id as usize) < known { Ok(id) } else { Err(CodecError::Malformed { at, what }) }
}

fn place(reader: &mut Reader<'_>) -> Result<Placement, CodecError> {
    let at = reader.at();
    let [tag] = reader.array()?;
    let slot = reader.u32()?;
    Ok(match (tag, slot) {
        (0, 0) => Placement::Fused,
        (1, 0) => Placement::Input,
        (2, 0) => Placement::Constant,
        (3, 0) => Placement::Retained,
        (4, 0) => Placement::Output,
        (5, slot) => Placement::Slot(SlotId::new(slot)),
        _ => return Err(CodecError::Malformed { at, what: "an unknown place" }),
    })
}
