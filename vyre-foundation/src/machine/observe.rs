//! What the machine tells a sanitizer.

use super::code::{Array, IntType};
use super::group::Intervals;
use crate::ir::NodeId;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Load,
    Store,
    Atomic,
}

/// The element that an instruction addresses.
pub(super) struct Spot<'a> {
    pub(super) array: &'a Array,
    pub(super) int: IntType,
    /// The index's bits.
    pub(super) index: u64,
    /// The element, if the index is in bounds.
    pub(super) element: Option<usize>,
}

/// Who accesses an element, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) node: NodeId,
    pub(super) kind: Kind,
    pub(super) invocation: u64,
    pub(super) group: u64,
    pub(super) intervals: Intervals,
}

/// Watches an execution.
pub(super) trait Observer {
    /// Whether it watches at all; if not, nothing is collected for it.
    const ON: bool;

    /// A workgroup ends.
    fn end(&mut self, group: u64);

    /// An element is about to be accessed.
    fn access(&mut self, spot: &Spot<'_>, access: Access);

    /// Only some lanes of a workgroup or subgroup meet at a barrier or subgroup op.
    fn divergent(&mut self, node: NodeId, invocation: u64, arrived: usize, of: usize);
}

/// Watches nothing.
pub(super) struct Blind;

impl Observer for Blind {
    const ON: bool = false;
    fn end(&mut self, _: u64) {}
    fn access(&mut self, _: &Spot<'_>, _: Access) {}
    fn divergent(&mut self, _: NodeId, _: u64, _: usize, _: usize) {}
}
