//! What the sanitizer found.

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{NodeId, Place, Program};

/// Something that an execution did and its author hardly meant. What it means is defined all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The node where it happened.
    pub node: NodeId,
    /// The linear index of the first invocation that it happened in.
    pub invocation: u64,
    /// What happened, the first time.
    pub finding: Finding,
    /// How often it happened at this place.
    pub times: u64,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// An access outside an array: a load or atomic gave 0, a store was dropped.
    OutOfBounds {
        /// The array.
        place: Place,
        /// The index.
        index: i128,
        /// The array's elements.
        length: u64,
    },
    /// Two invocations accessed an element, at least one wrote it, not both atomically, and no barrier for
    /// that kind of memory stood between them.
    Race {
        /// The array.
        place: Place,
        /// The element.
        element: u64,
        /// The node of the earlier access.
        other: NodeId,
        /// The invocation of the earlier access.
        other_invocation: u64,
    },
    /// A load of a shared element that no invocation of the workgroup had written: it gave 0. An atomic
    /// counts as a write, so accumulating from zero is no finding.
    Unwritten {
        /// The array.
        place: Place,
        /// The element.
        element: u64,
    },
    /// Only some invocations of a workgroup or subgroup met at a barrier or subgroup op.
    Divergent {
        /// How many were there.
        arrived: usize,
        /// How many had to be.
        of: usize,
    },
    /// The budget of instructions was spent; the execution ended here.
    StepBudget {
        /// The budget.
        budget: u64,
    },
}

impl Finding {
    /// The kind, as the first key of the order of reports.
    pub(super) fn rank(&self) -> u8 {
        match self {
            Self::OutOfBounds { .. } => 0,
            Self::Race { .. } => 1,
            Self::Unwritten { .. } => 2,
            Self::Divergent { .. } => 3,
            Self::StepBudget { .. } => 4,
        }
    }

    /// The second node of the finding.
    pub(super) fn other(&self) -> Option<NodeId> {
        match *self {
            Self::Race { other, .. } => Some(other),
            _ => None,
        }
    }
}

impl Report {
    /// The report as a diagnostic about `program`, which is the one that ran.
    pub fn diagnostic(&self, program: &Program) -> Diagnostic {
        let site = Site::Node(self.node);
        let name = |place: Place| program.place(place).0;
        let (code, message, help) = match self.finding {
            Finding::OutOfBounds { place, index, length } => (
                Code::OutOfBounds,
                format!("index {index} is outside `{}`, which has {length} elements", name(place)),
                "test the index against the length, or launch fewer invocations",
            ),
            Finding::Race { place, element, other_invocation, .. } => (
                Code::RaceSeen,
                format!(
                    "invocations {} and {other_invocation} race on element {element} of `{}`",
                    self.invocation,
                    name(place)
                ),
                "put a barrier between the accesses, make them atomic, or give each invocation its own element",
            ),
            Finding::Unwritten { place, element } => (
                Code::UnwrittenShared,
                format!("element {element} of `{}` is loaded before anything wrote it", name(place)),
                "it reads as 0; store the initial value, then a barrier",
            ),
            Finding::Divergent { arrived, of } => (
                Code::DivergenceSeen,
                format!("{arrived} of {of} invocations met here"),
                "move it out of the divergent branch or loop",
            ),
            Finding::StepBudget { budget } => (
                Code::StepBudget,
                format!("the budget of {budget} instructions was spent"),
                "look for a loop without end, or raise the budget",
            ),
        };
        let times = match self.times {
            0 | 1 => String::new(),
            n => format!(" ({n} times)"),
        };
        let message = format!("{message} (invocation {}){times}", self.invocation);
        let mut diagnostic = Diagnostic::new(code, site, message).with_help(help);
        if let Finding::Race { other, .. } = self.finding {
            if other != self.node {
                diagnostic = diagnostic.with_related(Site::Node(other), "the other access");
            }
        }
        diagnostic
    }
}
