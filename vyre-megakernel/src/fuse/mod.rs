//! Fusion: from a graph of programs to few kernels and little memory.
//!
//! [`plan`] makes pairs of kernels one where that is legal and, by the `cost` model, pays; [`unfused`] runs one kernel for
//! each node. Both give a [`Plan`]: kernels in order, and where values live. Two plans of a graph compute the same, to the
//! last bit: fusion moves values from memory to registers or shared memory, and computes some of them again, but changes
//! no operation.
//!
//! Each way of making one kernel of two is a file, which says when it is legal: `inline`, `merge`, `epilogue`, `rows`. They share
//! how a body is copied (`splice`) and what indices mean (`form`), which rests on equal lengths being known to be equal
//! (`quantity`).

mod budget;
mod context;
mod cost;
mod cover;
mod epilogue;
mod evaluate;
mod form;
mod inline;
mod kernel;
mod merge;
mod place;
mod plan;
mod prune;
mod quantity;
mod reject;
mod rows;
mod search;
mod splice;
mod target;
#[cfg(test)]
mod tests;

pub use budget::{Facts, SearchBudget};
pub use evaluate::{Evaluated, evaluate};
pub use plan::{Cost, Fusion, Group, Placement, Plan, Rejection, Run, Slot, SlotId, Step, Use};
pub use reject::RejectReason;
pub use search::{PlanError, plan};

use vyre_foundation::graph::ProgramGraph;

/// A plan of one kernel for each node.
pub fn unfused(graph: &ProgramGraph) -> Plan {
    let kernels = graph.node_ids().map(|id| kernel::Kernel::of_node(graph, id)).collect();
    place::place(graph, kernels)
}
