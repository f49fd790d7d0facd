//! Loads, stores, atomics and subgroup ops of a team.

use std::sync::atomic::Ordering::Relaxed;

use vyre_spec::DataType;

use super::bank::Bank;
use super::code::{Addressed, Array, IntType, Reg, Space, Subgroup};
use super::exec::{Around, Machine, Thread};
use super::mask::Mask;
use super::observe::{Access, Kind, Observer, Spot};
use super::team::Team;
use crate::ir::NodeId;

/// Loads for each active lane; out of bounds, 0.
#[inline]
fn gather(
    dst: &mut [u64],
    (active, whole): (&Mask, bool),
    (indices, int, len): (&[u64], IntType, u64),
    element: impl Fn(usize, usize) -> u64,
) {
    if whole {
        for (lane, (dst, &index)) in dst.iter_mut().zip(indices).enumerate() {
            *dst = int.position(index, len).map_or(0, |position| element(lane, position));
        }
    } else {
        active.for_each(|lane| {
            dst[lane] = int.position(indices[lane], len).map_or(0, |position| element(lane, position));
        });
    }
}

/// Stores for each active lane, in order; out of bounds, nothing.
#[inline]
fn scatter(
    values: &[u64],
    (active, whole): (&Mask, bool),
    (indices, int, len): (&[u64], IntType, u64),
    mut store: impl FnMut(usize, usize, u64),
) {
    if whole {
        for (lane, (&value, &index)) in values.iter().zip(indices).enumerate() {
            if let Some(position) = int.position(index, len) {
                store(lane, position, value);
            }
        }
    } else {
        active.for_each(|lane| {
            if let Some(position) = int.position(indices[lane], len) {
                store(lane, position, values[lane]);
            }
        });
    }
}

impl Machine<'_> {
    pub(super) fn load<O: Observer>(
        &self,
        pc: usize,
        spot: Addressed,
        dst: Reg,
        team: &Team,
        around: &mut Around<'_>,
        thread: &mut Thread<O>,
    ) {
        self.observe(pc, spot, Kind::Load, team, around, thread);
        let array = self.array(spot);
        let lanes = (&team.active, team.whole());
        let words = self.code.private_words;
        let ((dst, others), private) = around.bank.parts(dst, team.span);
        let at = (others.column(spot.index), spot.int, array.len);
        let offset = array.offset;
        match spot.space {
            Space::Buffer => {
                let cells = self.buffers.cells(offset);
                gather(dst, lanes, at, |_, position| cells[position].load(Relaxed));
            }
            Space::Shared => {
                let shared = &around.shared[offset..];
                gather(dst, lanes, at, |_, position| shared[position]);
            }
            Space::Private => {
                gather(dst, lanes, at, |lane, position| private[lane * words + offset + position]);
            }
        }
        if array.element == DataType::Bool {
            // Any non-zero word of a buffer is `true`.
            dst.iter_mut().for_each(|bits| *bits = u64::from(*bits != 0));
        }
    }

    pub(super) fn store<O: Observer>(
        &self,
        pc: usize,
        spot: Addressed,
        value: Reg,
        team: &Team,
        around: &mut Around<'_>,
        thread: &mut Thread<O>,
    ) {
        self.observe(pc, spot, Kind::Store, team, around, thread);
        let array = self.array(spot);
        let lanes = (&team.active, team.whole());
        let words = self.code.private_words;
        let (registers, private) = around.bank.reading(team.span);
        let at = (registers.column(spot.index), spot.int, array.len);
        let (values, offset) = (registers.column(value), array.offset);
        match spot.space {
            Space::Buffer => {
                let cells = self.buffers.cells(offset);
                scatter(values, lanes, at, |_, position, value| cells[position].store(value, Relaxed));
            }
            Space::Shared => {
                let shared = &mut around.shared[offset..];
                scatter(values, lanes, at, |_, position, value| shared[position] = value);
            }
            Space::Private => scatter(values, lanes, at, |lane, position, value| {
                private[lane * words + offset + position] = value;
            }),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "an instruction, a team, and what is around it")]
    pub(super) fn atomic<O: Observer>(
        &self,
        pc: usize,
        spot: Addressed,
        dst: Reg,
        modify: u32,
        team: &Team,
        around: &mut Around<'_>,
        thread: &mut Thread<O>,
    ) {
        self.observe(pc, spot, Kind::Atomic, team, around, thread);
        let array = self.array(spot);
        let modify = &self.code.modifies[modify as usize];
        let words = self.code.private_words;
        let ((dst, others), private) = around.bank.parts(dst, team.span);
        let (indices, values) = (others.column(spot.index), others.column(modify.value));
        let expected = modify.expected.map(|reg| others.column(reg));
        team.active.for_each(|lane| {
            let new = |old: u64| match expected {
                Some(expected) if expected[lane] != old => old,
                _ => (modify.f)(old, values[lane]),
            };
            let Some(position) = spot.int.position(indices[lane], array.len) else {
                dst[lane] = 0;
                return;
            };
            let word = match spot.space {
                Space::Buffer => {
                    dst[lane] = self.buffers.modify(array.offset, position, new);
                    return;
                }
                Space::Shared => &mut around.shared[array.offset + position],
                Space::Private => &mut private[lane * words + array.offset + position],
            };
            dst[lane] = std::mem::replace(word, new(*word));
        });
    }

    /// Carries out a subgroup op for each subgroup of the team. Lanes that are elsewhere, which the checker
    /// rules out, take part with zero.
    pub(super) fn subgroup<O: Observer>(
        &self,
        site: NodeId,
        op: &Subgroup,
        team: &Team,
        bank: &mut Bank,
        thread: &mut Thread<O>,
    ) {
        let (dst, others) = bank.apart(op.dst, team.span);
        let (operands, lane_operands) = (others.column(op.value), op.lane.map(|reg| others.column(reg)));
        let (mut values, mut lanes) = (Vec::new(), Vec::new());
        for first in (0..team.span.width).step_by(self.subgroup_size) {
            let members = first..team.span.width.min(first + self.subgroup_size);
            let here = |lane: &usize| team.active.contains(*lane);
            let Some(leader) = members.clone().find(here) else { continue };
            if O::ON {
                let arrived = members.clone().filter(here).count();
                if arrived < members.len() {
                    let invocation = team.linear + leader as u64;
                    thread.observer.divergent(site, invocation, arrived, members.len());
                }
            }
            let at = |column: &[u64], lane: usize| if here(&lane) { column[lane] } else { 0 };
            values.clear();
            values.extend(members.clone().map(|lane| at(operands, lane)));
            lanes.clear();
            lanes.extend(
                lane_operands
                    .into_iter()
                    .flat_map(|column| members.clone().map(move |lane| at(column, lane) as u32)),
            );
            let results = op.op.eval(op.ty, &values, &lanes).unwrap_or_default();
            for lane in members.clone().filter(here) {
                dst[lane] = results.get(lane - first).copied().unwrap_or(0);
            }
        }
    }

    #[inline]
    fn array(&self, spot: Addressed) -> &Array {
        &self.code.arrays[spot.array as usize]
    }

    /// Tells the observer of an access by every active lane, before it happens.
    #[inline]
    fn observe<O: Observer>(
        &self,
        pc: usize,
        spot: Addressed,
        kind: Kind,
        team: &Team,
        around: &Around<'_>,
        thread: &mut Thread<O>,
    ) {
        if !O::ON {
            return;
        }
        let array = self.array(spot);
        let node = self.code.site(pc as u32);
        let indices = around.bank.column(spot.index, team.span);
        team.active.for_each(|lane| {
            let index = indices[lane];
            let element = spot.int.position(index, array.len);
            let access = Access {
                node,
                kind,
                invocation: team.linear + lane as u64,
                group: around.group,
                intervals: around.intervals,
            };
            thread.observer.access(&Spot { array, int: spot.int, index, element }, access);
        });
    }
}
