//! An artifact's bytes. docs/ARTIFACTS.md describes them; a change of what is written here is a new version.

use vyre_driver::codec::Writer;
use vyre_foundation::graph::{DimId, GraphNodeId, GraphValueId, ParamSource, wire as graph_wire};
use vyre_foundation::wire;
use vyre_spec::Value;

use super::{Artifact, ArtifactId, CONTEXT, MAGIC, VERSION};
use crate::fuse::{Placement, Plan, Run, Step, Use};

/// Steps of a plan.
pub(super) const RUN: u8 = 0;
pub(super) const COPY: u8 = 1;
/// Sources of parameters.
pub(super) const LITERAL: u8 = 0;
pub(super) const PARAM: u8 = 1;
pub(super) const DIM: u8 = 2;
/// Stands for no value: graphs have fewer.
pub(super) const NO_VALUE: u32 = u32::MAX;

impl Artifact {
    /// The same with the bytes and the id of what it holds.
    pub(super) fn encoded(mut self) -> Self {
        let mut out = Writer(MAGIC.to_vec());
        out.u32(VERSION);
        out.0.extend(self.profile.0);
        let options = &self.options;
        out.u8(u8::from(options.optimize));
        out.u32(options.ulp_budget);
        out.u8(u8::from(options.workgroup_size.is_some()));
        options.workgroup_size.unwrap_or_default().into_iter().for_each(|axis| out.u32(axis));
        list(&mut out, &self.facts.dims, |out, (name, number)| {
            out.string(name.as_bytes());
            out.u64(*number);
        });
        list(&mut out, &self.facts.params, |out, (name, value)| {
            out.string(name.as_bytes());
            scalar(out, *value);
        });
        out.string(&graph_wire::encode(&self.graph));
        plan(&mut out, &self.plan);
        list(&mut out, &self.rejected, |out, rejected| {
            out.u32(rejected.producer.raw());
            out.u32(rejected.consumer.raw());
            out.string(rejected.reason.as_bytes());
        });
        self.id = ArtifactId(blake3::derive_key(CONTEXT, &out.0));
        out.0.extend(self.id.0);
        self.bytes = out.0;
        self
    }
}

fn list<T>(out: &mut Writer, items: &[T], item: impl Fn(&mut Writer, &T)) {
    out.u32(items.len() as u32);
    for one in items {
        item(out, one);
    }
}

fn scalar(out: &mut Writer, value: Value) {
    out.u8(value.ty().tag());
    out.u64(value.bits());
}

fn plan(out: &mut Writer, plan: &Plan) {
    list(out, &plan.programs, |out, program| out.string(&wire::encode(program)));
    list(out, &plan.steps, |out, step| match step {
        Step::Run(step) => {
            out.u8(RUN);
            run(out, step);
        }
        Step::Copy { from, to } => {
            out.u8(COPY);
            out.u32(from.raw());
            out.u32(to.raw());
        }
    });
    list(out, &plan.slots, |out, slot| list(out, &slot.values, |out, value| out.u32(value.raw())));
    list(out, &plan.places, |out, place| {
        let (tag, slot) = match place {
            Placement::Fused => (0, 0),
            Placement::Input => (1, 0),
            Placement::Constant => (2, 0),
            Placement::Retained => (3, 0),
            Placement::Output => (4, 0),
            Placement::Slot(slot) => (5, slot.index() as u32),
        };
        out.u8(tag);
        out.u32(slot);
    });
    list(out, &plan.groups, |out, group| {
        nodes(out, &group.nodes);
        list(out, &group.how, |out, how| out.u8(how.tag()));
        [group.cost.bytes, group.cost.operations, group.cost.launches].into_iter().for_each(|n| out.u64(n));
    });
}

fn run(out: &mut Writer, run: &Run) {
    out.u32(run.program);
    let value = |id: Option<GraphValueId>| id.map_or(NO_VALUE, GraphValueId::raw);
    list(out, &run.buffers, |out, &Use { input, output }| {
        out.u32(value(input));
        out.u32(value(output));
    });
    list(out, &run.params, |out, source| match *source {
        ParamSource::Literal(value) => {
            out.u8(LITERAL);
            scalar(out, value);
        }
        ParamSource::Param(id) => {
            out.u8(PARAM);
            out.u32(id.raw());
        }
        ParamSource::Dim(id) => {
            out.u8(DIM);
            out.u32(id.raw());
        }
    });
    out.u8(u8::from(run.counts.is_some()));
    run.counts.into_iter().flatten().map(DimId::raw).for_each(|dim| out.u32(dim));
    nodes(out, &run.nodes);
}

fn nodes(out: &mut Writer, ids: &[GraphNodeId]) {
    list(out, ids, |out, node| out.u32(node.raw()));
}
