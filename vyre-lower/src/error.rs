//! Why a program cannot be lowered for a device.

use vyre_foundation::ir::NodeId;
use vyre_spec::{Capability, DataType, DeviceProfile};

use crate::kernel::VerifyError;

/// Why a program cannot be lowered for a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// The device cannot do something, and no rule builds it from what the device can do.
    #[error("{}{op} is not supported on {device}{}", ty.map_or(String::new(), |ty| format!("{ty} ")), missing.map_or(String::new(), |c| format!(": it lacks the feature `{}`", c.name())))]
    Unsupported {
        /// The op or construct.
        op: String,
        /// The type that it is wanted for, if that matters.
        ty: Option<DataType>,
        /// The device's name.
        device: String,
        /// The feature that the device lacks, if there is one.
        missing: Option<Capability>,
    },
    /// The program passes a limit of the device.
    #[error("{what} is {value}, above the limit of {limit} on {device}")]
    Limit {
        /// What is too large.
        what: String,
        /// Its value.
        value: u64,
        /// The device's limit.
        limit: u64,
        /// The device's name.
        device: String,
    },
    /// A workgroup size is zero on an axis.
    #[error("the workgroup size {size:?} has a zero")]
    EmptyWorkgroup {
        /// The size.
        size: [u32; 3],
    },
    /// A row of a workgroup is no whole number of subgroups, though the program uses subgroups.
    #[error(
        "a workgroup of {invocations} invocations along x is no whole number of subgroups of {subgroup} lanes on {device}"
    )]
    PartialSubgroup {
        /// Invocations of a workgroup along x.
        invocations: u64,
        /// Lanes of a subgroup.
        subgroup: u32,
        /// The device's name.
        device: String,
    },
    /// A program surely runs more loop iterations than the device's driver allows.
    #[error(
        "the loops of the program run at least {trips} iterations, but the driver of {device} ends all loops of an invocation together after {limit}"
    )]
    LoopLimit {
        /// The loop with which the limit is passed.
        node: NodeId,
        /// The iterations that the program surely runs, all loops together.
        trips: u64,
        /// The driver's limit.
        limit: u32,
        /// The device's name.
        device: String,
    },
    /// A grid barrier stands in a loop whose trips the host cannot count at launch.
    #[error(
        "the grid barrier at node {} is in the loop at node {}, which the host cannot unroll: {reason}",
        barrier.raw(),
        node.raw()
    )]
    GridSyncTripCount {
        /// The barrier.
        barrier: NodeId,
        /// The loop.
        node: NodeId,
        /// Why not.
        reason: &'static str,
    },
    /// Some invocations of a workgroup end, others go on to another kernel of the program, and a shared array
    /// would have to be carried there.
    #[error(
        "the shared array `{array}` is used after some invocations of its workgroup leave at node {}, in a program \
         with grid barriers",
        node.raw()
    )]
    GridSyncApart {
        /// Where they leave.
        node: NodeId,
        /// The array's name.
        array: String,
    },
    /// What lives across grid barriers takes more words than can be numbered.
    #[error("what lives across the grid barriers takes 2^32 words or more in each invocation or workgroup")]
    GridSyncScratch,
    /// A program with grid barriers has its workgroup counts in device memory, so the host cannot make room for
    /// what lives across the barriers.
    #[error("the workgroup counts of a program with grid barriers are in device memory")]
    GridSyncIndirect,
    /// A program with grid barriers becomes several kernels, but one was asked for.
    #[error("the program becomes {kernels} kernels, as it has grid barriers, but one was asked for")]
    SeveralKernels {
        /// How many it becomes.
        kernels: usize,
    },
    /// A tile may leave its array. Nothing guards a tile's elements on a device, so each access must be proved, by
    /// ranges or by the launch's contract.
    #[error("`{op}` at node {} may leave `{array}`: {reason}", node.raw())]
    TileBounds {
        /// The tile op.
        node: NodeId,
        /// Its name.
        op: &'static str,
        /// The array's name.
        array: String,
        /// What stands against a proof.
        reason: &'static str,
    },
    /// The first element, or the stride, of a tile in memory is not surely aligned.
    #[error(
        "the index or stride of `{op}` on `{array}` at node {} is not surely a multiple of {elements}",
        node.raw()
    )]
    TileAlignment {
        /// The tile op.
        node: NodeId,
        /// Its name.
        op: &'static str,
        /// The array's name.
        array: String,
        /// Elements that both must be multiples of.
        elements: u32,
    },
    /// Lowering broke an invariant of descriptors: a fault of this crate.
    #[error(transparent)]
    Verify(#[from] VerifyError),
}

impl LowerError {
    /// What to do.
    pub fn help(&self) -> String {
        match self {
            Self::Unsupported { missing: Some(c), .. } => {
                format!("use a device with the feature `{}`, or write the program without it", c.name())
            }
            Self::Unsupported { .. } => "write the program without it, or use another device".to_owned(),
            Self::Limit { what, limit, .. } => format!("reduce {what} to {limit} or less"),
            Self::EmptyWorkgroup { .. } => "give each axis at least 1".to_owned(),
            Self::PartialSubgroup { subgroup, .. } => {
                format!("make the workgroup's size along x a multiple of {subgroup}")
            }
            Self::LoopLimit { .. } => {
                "run fewer iterations in each invocation, over more invocations or several dispatches, or use \
                 another device"
                    .to_owned()
            }
            Self::GridSyncTripCount { .. } => "count the loop by literals, parameters, lengths and workgroup counts, \
                 or end its trips by a branch that all invocations of the launch share"
                .to_owned(),
            Self::GridSyncApart { .. } => "let every invocation of the workgroup come to the end of the branch or loop \
                 around, and make what each does conditional instead"
                .to_owned(),
            Self::GridSyncScratch => "use smaller private and shared arrays across grid barriers".to_owned(),
            Self::GridSyncIndirect => "read the counts back, and launch the program with them".to_owned(),
            Self::SeveralKernels { .. } => "lower it with `lower_all`".to_owned(),
            Self::TileBounds { .. } => "make the matrices whole numbers of tiles, and test sizes that vary by a \
                 branch around the tile op, or bind larger buffers"
                .to_owned(),
            Self::TileAlignment { elements, .. } => format!(
                "compute it from literals and ids, or multiply what varies by {elements}; make a parameter that it \
                 needs `specialize`"
            ),
            Self::Verify(_) => "this is a fault of vyre-lower: please report the program".to_owned(),
        }
    }
}

/// Refuses a value above a limit of the device.
pub(crate) fn within(profile: &DeviceProfile, what: &str, value: u64, limit: u32) -> Result<(), LowerError> {
    if value <= u64::from(limit) {
        return Ok(());
    }
    let device = profile.name.clone();
    Err(LowerError::Limit { what: what.to_owned(), value, limit: u64::from(limit), device })
}
