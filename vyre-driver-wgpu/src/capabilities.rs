//! What the opened device has and lacks, and why: every `supports_` method is a view of this.

use vyre_driver::{AdapterCaps, Feature, VyreBackend};
use vyre_foundation::check::{Checked, check};
use vyre_foundation::ir::{Arena, Buffer, Count, Expr, Extent, Launch, Node, Place, Program, RegionId};
use vyre_spec::ops::CastOp;
use vyre_spec::{Access, Axis, BuiltIn, Capability, CompileOptions, DataType, DeviceProfile};
use wgpu::{AdapterInfo, Features};

use crate::backend::WgpuBackend;
use crate::compile;
use crate::tiles;

/// A line of [`WgpuBackend::capability_report`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CapabilityLine {
    /// A feature's stable name, or `cast_to_` and a type.
    pub name: String,
    /// Whether the device has it.
    pub supported: bool,
    /// Where it has not: the missing feature of wgpu or naga, or the limit.
    pub reason: Option<String>,
}

impl CapabilityLine {
    fn new(name: String, missing: Option<String>) -> Self {
        Self { name, supported: missing.is_none(), reason: missing }
    }
}

impl WgpuBackend {
    /// Every feature and every cast target, in a fixed order: whether the opened device has it and, where not,
    /// what of wgpu or naga is missing.
    pub fn capability_report(&self) -> Vec<CapabilityLine> {
        let features =
            Feature::ALL.into_iter().map(|f| CapabilityLine::new(f.name().to_owned(), self.missing(f)));
        let casts = DataType::ALL
            .into_iter()
            .map(|ty| CapabilityLine::new(format!("cast_to_{ty}"), self.missing_type(ty)));
        features.chain(casts).collect()
    }

    /// What an optimiser wants to know of the opened device: of the features that are on, not of those that the
    /// adapter has.
    pub fn adapter_caps(&self) -> AdapterCaps {
        AdapterCaps::of(self.profile())
    }
}

/// Why the device lacks a feature; `None` if it has it.
pub(crate) fn missing(
    feature: Feature,
    on: Features,
    (info, index): (&AdapterInfo, usize),
    profile: &DeviceProfile,
) -> Option<String> {
    let lacks = |capability, features: Features| {
        let lacks = !profile.capabilities.contains(capability);
        lacks.then(|| format!("{} lacks {}", profile.name, names(features - on)))
    };
    match feature {
        Feature::Subgroup if on.contains(Features::SUBGROUP) => {
            let varies = !profile.capabilities.contains(Capability::Subgroup);
            let (least, most) = (info.subgroup_min_size, info.subgroup_max_size);
            varies.then(|| {
                format!("the width of a subgroup varies from {least} to {most} lanes, and wgpu 30 cannot fix it")
            })
        }
        Feature::Subgroup => lacks(Capability::Subgroup, Features::SUBGROUP),
        Feature::F16 => lacks(Capability::F16, Features::SHADER_F16),
        Feature::Timestamps => lacks(
            Capability::Timestamps,
            Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS,
        ),
        Feature::Bf16 => Some("naga 30 has no bfloat16 type; it is computed through f32".to_owned()),
        Feature::TensorCores => match tiles::found(info, index).wrong {
            _ if profile.capabilities.contains(Capability::Tiles) => None,
            Some(why) => Some(format!("the cooperative matrices of {} fail: {why}", info.name)),
            None if on.contains(tiles::FEATURES) => {
                Some(format!("{} has no cooperative matrices of 8 or 16 rows of floats", info.name))
            }
            None => lacks(Capability::Tiles, tiles::FEATURES),
        },
        Feature::AsyncCompute => {
            Some("wgpu 30 gives one queue per device, on which copies and compute run in order".to_owned())
        }
        Feature::PersistentThreads => Some(
            "neither wgpu nor the APIs below it promise forward progress between invocations, so that a \
             kernel that polls may hang; task graphs run in passes that need none: see `vyre_megakernel::queue`"
                .to_owned(),
        ),
        Feature::Collectives => Some("wgpu 30 has no memory or signals shared between devices".to_owned()),
        Feature::Distributed => Some("a wgpu device is one adapter, and a program runs on one".to_owned()),
        Feature::GridSync => Some(
            "naga 30 has no grid barrier, and wgpu does not promise that all workgroups of a dispatch run at \
             once"
                .to_owned(),
        ),
        other => other.missing_in(profile),
    }
}

/// The names of features as wgpu spells them in Rust.
fn names(features: Features) -> String {
    let mut names: Vec<_> = features.iter_names().map(|(name, _)| format!("wgpu's feature {name}")).collect();
    names.sort_unstable();
    if names.is_empty() { "what wgpu needs for it".to_owned() } else { names.join(" and ") }
}

/// Why a cast to `ty` cannot be lowered for the device; `None` if it can. Lowering itself is asked.
pub(crate) fn missing_type(ty: DataType, profile: &DeviceProfile) -> Option<String> {
    match cast_to(ty) {
        Ok(program) => {
            compile::descriptor(&program, profile, &CompileOptions::default()).err().map(|e| e.to_string())
        }
        Err(why) => Some(why),
    }
}

/// A program that casts to `ty`: from u32, or from f32 where that is u32.
fn cast_to(ty: DataType) -> Result<Checked<Program>, String> {
    let from = if ty == DataType::U32 { DataType::F32 } else { DataType::U32 };
    let op = CastOp::ALL.iter().copied().find(|op| op.allows(from, ty));
    let op = op.ok_or_else(|| format!("no cast goes from {from} to {ty}"))?;
    let mut arena = Arena::new("cast");
    let x = arena.buffer(Buffer {
        name: "x".to_owned(),
        element: from,
        access: Access::ReadOnly,
        count: Count::Bytes,
        coherent: false,
    });
    let count = arena.extent(Extent::Length(x));
    let one = arena.extent(Extent::Literal(1));
    let out = arena.buffer(Buffer {
        name: "out".to_owned(),
        element: ty,
        access: Access::WriteOnly,
        count: Count::Extent(count),
        coherent: false,
    });
    arena.set_launch(Launch::Domain { extent: [count, one, one], axes: 1 });
    let root = RegionId::new(0);
    let index = arena.expr(Expr::BuiltIn(BuiltIn::Point(Axis::X)));
    let loaded = arena.push(root, Node::Load { place: Place::Buffer(x), index });
    let loaded = arena.expr(Expr::Result(loaded));
    let value = arena.expr(Expr::Cast(op, ty, loaded));
    arena.push(root, Node::Store { place: Place::Buffer(out), index, value });
    let (program, _) = arena.finish().map_err(|error| error.to_string())?;
    check(program).map_err(|found| found.first().map_or_else(String::new, ToString::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_cast_to_every_type() {
        for ty in DataType::ALL {
            cast_to(ty).unwrap();
        }
    }

    #[test]
    fn wgpu_features_are_named_as_rust_spells_them() {
        assert_eq!(names(Features::SHADER_F16), "wgpu's feature SHADER_F16");
        let two = names(Features::TIMESTAMP_QUERY | Features::TIMESTAMP_QUERY_INSIDE_ENCODERS);
        assert_eq!(two, "wgpu's feature TIMESTAMP_QUERY and wgpu's feature TIMESTAMP_QUERY_INSIDE_ENCODERS");
    }
}
