//! Plans: the kernels of a graph, what is bound to them, and where values live.

use std::fmt;

use vyre_foundation::check::Checked;
use vyre_foundation::graph::{DimId, GraphNodeId, GraphValueId, ParamSource};
use vyre_foundation::ir::Program;

use super::reject::RejectReason;

/// How a graph is run.
///
/// The steps run one after the other. Each value that a step reads is bound, or written by a step before it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The distinct programs.
    pub programs: Vec<Checked<Program>>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// Memory of intermediate values.
    pub slots: Vec<Slot>,
    /// Where each value of the graph lives, parallel to its values.
    pub places: Vec<Placement>,
    /// Which nodes became one kernel, for every kernel of more than one node.
    pub groups: Vec<Group>,
    /// The pairs of nodes that were considered and not made one kernel.
    pub rejected: Vec<Rejection>,
}

impl Plan {
    /// How many kernels a run launches.
    pub fn kernels(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Run(_))).count()
    }
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A kernel runs.
    Run(Run),
    /// The bytes of a value are copied to where the other one lives, which a kernel then changes in place: the value
    /// itself is needed later.
    Copy {
        /// The value.
        from: GraphValueId,
        /// What it becomes.
        to: GraphValueId,
    },
}

/// A run of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The program's position among the plan's.
    pub program: u32,
    /// The values of each buffer of the program, in declaration order.
    pub buffers: Vec<Use>,
    /// The source of each parameter of the program, in declaration order.
    pub params: Vec<ParamSource>,
    /// Replaces the workgroup counts of the program.
    pub counts: Option<[DimId; 3]>,
    /// The nodes of the graph whose work it does, all or a part.
    pub nodes: Vec<GraphNodeId>,
}

/// The value of a `ReadOnly`, `Uniform` or `WriteOnly` buffer, or the two of a `ReadWrite` one. When a step runs that has two,
/// the memory of the output has the input's bytes: both live there, or a [`Step::Copy`] came before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Use {
    /// The value that the program finds.
    pub input: Option<GraphValueId>,
    /// The value that it leaves.
    pub output: Option<GraphValueId>,
}

/// Where a value of the graph lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Nowhere: kernels compute it where they need it, or nobody reads it.
    Fused,
    /// In the buffer that the caller binds.
    Input,
    /// In a buffer of the session's, uploaded once.
    Constant,
    /// In a buffer that stays from run to run.
    Retained,
    /// In a buffer of its own that a run gives back, or that becomes a retained value.
    Output,
    /// In memory that it shares with values that are not needed at the same time.
    Slot(SlotId),
}

/// A slot of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(u32);

impl SlotId {
    /// The slot with this position.
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The position.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Memory that intermediate values share, one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The values, in the order in which they live there. It has room for the longest of them.
    pub values: Vec<GraphValueId>,
}

/// What a kernel costs, by the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Bytes that are read and written.
    pub bytes: u64,
    /// Arithmetic, in simple operations of one invocation.
    pub operations: u64,
    /// Kernels that are launched.
    pub launches: u64,
}

/// Nodes that became one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The nodes, in the order of the graph.
    pub nodes: Vec<GraphNodeId>,
    /// How they were put together, the latest last.
    pub how: Vec<Fusion>,
    /// What the kernel costs.
    pub cost: Cost,
}

/// A way of making one kernel of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fusion {
    /// The consumer computes the producer's elements where it would load them.
    Inlined,
    /// Both run at the same point, one after the other.
    Merged,
    /// Both run in the same workgroups, one after the other.
    Workgroups,
    /// The consumer runs where the producer stores.
    Epilogue,
}

impl Fusion {
    /// Every one, at the position of its tag in artifacts.
    const ALL: [Self; 4] = [Self::Inlined, Self::Merged, Self::Workgroups, Self::Epilogue];

    /// The tag in artifacts.
    pub(crate) const fn tag(self) -> u8 {
        self as u8
    }

    /// The one with this tag.
    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.get(usize::from(tag)).copied()
    }
}

impl fmt::Display for Fusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inlined => "inlined",
            Self::Merged => "merged at a point",
            Self::Workgroups => "merged in a workgroup",
            Self::Epilogue => "epilogue",
        })
    }
}

/// Two nodes that were considered and not made one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The node that computes a value.
    pub producer: GraphNodeId,
    /// The node that reads it, or that might have run beside it.
    pub consumer: GraphNodeId,
    /// Why not.
    pub reason: RejectReason,
}
