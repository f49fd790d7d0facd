//! A domain as rows, one for each workgroup of a kernel before it.

use vyre_foundation::ir::{ExprId, Node, RegionId};
use vyre_spec::{Axis, BuiltIn};

use crate::fuse::context::Context;
use crate::fuse::kernel::Kernel;
use crate::fuse::quantity::{Atom, Op, Quantity};
use crate::fuse::reject::RejectReason;
use crate::fuse::splice::{Accesses, Splice};
use crate::fuse::target::Target;

/// How a domain is rows of workgroups.
pub(super) struct Rows {
    /// The axis of which each workgroup has one point, or as many in a row as the quantity says.
    axis: Axis,
    /// Points of a row.
    points: Quantity,
    /// Whether the row lies along the axis itself.
    along: bool,
    /// Whether the last row may end early.
    partial: bool,
}

impl Rows {
    /// The rows of a domain of these extents that workgroups of this size and number can take.
    pub(super) fn of(
        cx: &Context,
        groups: &[Quantity; 3],
        extents: &[Quantity; 3],
        size: [u32; 3],
    ) -> Option<Self> {
        let [count, y, z] = groups;
        if !y.is_one() || !z.is_one() {
            return None;
        }
        let outermost = Axis::ALL.into_iter().zip(extents).rev().find(|(_, extent)| !extent.is_one());
        let (axis, extent) = outermost?;
        let inner = extents.get(..axis.index())?.iter().try_fold(Quantity::one(), |a, b| a.times(b))?;
        if extent == count {
            return Some(Self { axis, points: inner, along: false, partial: false });
        }
        if axis != Axis::X {
            return None;
        }
        // Mostly workgroups have an invocation for each point; numbers may divide by chance.
        let part: u64 = size.into_iter().map(u64::from).product();
        if count.as_literal().is_some_and(|n| n > 1) && is_rounded(cx, count, extent, part) {
            let points = Quantity::literal(part);
            return Some(Self { axis, points, along: true, partial: true });
        }
        if let Some(points) = extent.divided_by(count) {
            return Some(Self { axis, points, along: true, partial: false });
        }
        let points = Quantity::literal(part);
        is_rounded(cx, count, extent, part).then_some(Self { axis, points, along: true, partial: true })
    }

    /// Copies a kernel over the domain to the end of the body, each workgroup doing its row.
    pub(super) fn copy<A: Accesses>(
        &self,
        target: &mut Target<'_>,
        kernel: &Kernel,
        size: [u32; 3],
        extents: &[Quantity; 3],
        pass: &mut A,
    ) -> Result<(), RejectReason> {
        let body = RegionId::new(0);
        let invocation = target.built_in(BuiltIn::LocalIndex);
        let group = target.built_in(BuiltIn::WorkgroupId(Axis::X));
        let zero = target.number(0);
        let invocations = size.into_iter().fold(1, u32::saturating_mul);
        let (mut into, column) = if self.points.as_literal() == Some(u64::from(invocations)) {
            (body, invocation)
        } else if self.points.is_one() {
            (target.where_equal(body, invocation, zero), zero)
        } else {
            let each = target.arena.region();
            let end = target.quantity(&self.points)?;
            let step = target.number(invocations);
            let node = target.arena.push(body, Node::For { start: invocation, end, step, body: each });
            (each, target.bound_loop(node, end))
        };
        if self.partial {
            let point = self.along(target, group, column)?;
            let extent = extents.first().ok_or(RejectReason::Extent)?;
            let extent = target.quantity(extent)?;
            into = target.where_below(into, point, extent);
        }
        let mut splice = Splice::new(target, kernel);
        splice.elsewhere(extents);
        for (axis, extent) in Axis::ALL.into_iter().zip(extents) {
            let value = if axis > self.axis {
                zero
            } else if axis == self.axis {
                if self.along { self.along(target, group, column)? } else { group }
            } else {
                let inner = extents.get(..axis.index()).unwrap_or_default();
                let stride = inner.iter().try_fold(Quantity::one(), |a, b| a.times(b));
                let high = target.quotient(column, &stride.ok_or(RejectReason::Extent)?)?;
                let is_last = axis.index() + 1 == self.axis.index();
                if is_last { high } else { target.remainder(high, extent)? }
            };
            splice.with(BuiltIn::Point(axis), value);
        }
        splice.copy(target, into, pass)
    }

    fn along(&self, target: &mut Target<'_>, group: ExprId, column: ExprId) -> Result<ExprId, RejectReason> {
        let points = target.quantity(&self.points)?;
        let start = target.times(group, points);
        Ok(target.plus(start, column))
    }
}

/// Whether there are as many workgroups as a length takes of parts of a power of two. Whatever the length is, the product of
/// the two is no more than 2^32, so no index of theirs wraps.
pub(super) fn is_rounded(cx: &Context, count: &Quantity, length: &Quantity, part: u64) -> bool {
    let fits = match (count.as_literal(), length.as_literal(), count.atoms()) {
        (Some(count), Some(length), _) => length.div_ceil(part.max(1)) == count,
        (None, _, &[atom]) if count.factor() == 1 => {
            let rounded = Atom::Op(Op::CeilDiv, length.clone(), Quantity::literal(part));
            cx.quantities.get(atom) == Some(&rounded)
        }
        _ => false,
    };
    fits && part.is_power_of_two() && cx.is_length(length)
}
