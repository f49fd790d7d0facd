//! Tile ops, which a subgroup carries out as one.

use std::sync::atomic::Ordering::Relaxed;

use vyre_spec::{DataType, TileLayout, TileType};

use super::code::{IntType, Reg, Space};
use super::exec::{Around, Machine, Thread};
use super::group::Intervals;
use super::observe::{Access, Kind, Observer, Spot};
use super::team::Team;
use crate::ir::{NodeId, Program};

/// A tile in the memory of a subgroup, row by row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    offset: usize,
    ty: TileType,
}

impl Held {
    /// The tiles of a program.
    pub(super) fn of(program: &Program) -> Vec<Self> {
        let mut offset = 0;
        let mut place = |ty: TileType| {
            let held = Self { offset, ty };
            offset += held.len();
            held
        };
        program.tiles().iter().map(|tile| place(tile.ty)).collect()
    }

    /// The number of elements.
    pub(super) fn len(self) -> usize {
        self.ty.elements() as usize
    }

    fn at(self, row: usize, column: usize) -> usize {
        self.offset + row * self.ty.columns as usize + column
    }
}

/// Where a tile lies in an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    pub(super) space: Space,
    pub(super) array: u32,
    pub(super) index: (IntType, Reg),
    pub(super) stride: (IntType, Reg),
    pub(super) layout: TileLayout,
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Fill(Reg),
    Load(Memory),
    Store(Memory),
    MultiplyAdd(Held, Held, Held),
    Add(Held, Held),
    Subtract(Held, Held),
    Scale(Held, Reg),
}

/// A tile op.
#[derive(Clone, Copy, Debug)]
pub(super) struct TileStep {
    pub(super) tile: Held,
    pub(super) step: Step,
}

impl Machine<'_> {
    /// Carries out a tile op for each subgroup of the team. Lanes that are elsewhere, which the checker rules out,
    /// are told of.
    pub(super) fn tile<O: Observer>(
        &self,
        pc: usize,
        step: u32,
        team: &Team,
        around: &mut Around<'_>,
        thread: &mut Thread<O>,
    ) {
        let (code, node) = (self.code, self.code.site(pc as u32));
        let step = code.tiles[step as usize];
        let size = self.subgroup_size;
        for first in (0..team.span.width).step_by(size) {
            let members = first..team.span.width.min(first + size);
            let here = |lane: &usize| team.active.contains(*lane);
            let Some(leader) = members.clone().find(here) else { continue };
            let invocation = team.linear + leader as u64;
            if O::ON {
                let arrived = members.clone().filter(here).count();
                if arrived < members.len() {
                    thread.observer.divergent(node, invocation, arrived, members.len());
                }
            }
            // Its operands are the same for all lanes.
            let operands = step.registers().map(|reg| around.bank.column(reg, team.span)[leader]);
            let tiles = around.bank.tiles_mut(team.span);
            let mut subgroup = TileGroup {
                machine: self,
                tiles: &mut tiles[first / size * code.tile_words..][..code.tile_words],
                shared: around.shared,
                node,
                invocation,
                group: around.group,
                intervals: around.intervals,
            };
            subgroup.run(step, operands, &mut thread.observer);
        }
    }
}

impl TileStep {
    /// The registers that it reads; where there are fewer than two, any.
    fn registers(self) -> [Reg; 2] {
        match self.step {
            Step::Fill(reg) | Step::Scale(_, reg) => [reg; 2],
            Step::Load(memory) | Step::Store(memory) => [memory.index.1, memory.stride.1],
            Step::MultiplyAdd(..) | Step::Add(..) | Step::Subtract(..) => [0; 2],
        }
    }
}

/// The subgroup that carries an op out.
struct TileGroup<'a, 'm> {
    machine: &'a Machine<'m>,
    tiles: &'a mut [u64],
    shared: &'a mut [u64],
    node: NodeId,
    invocation: u64,
    group: u64,
    intervals: Intervals,
}

impl TileGroup<'_, '_> {
    /// Carries out an op with the values of its registers.
    fn run<O: Observer>(&mut self, step: TileStep, operands: [u64; 2], observer: &mut O) {
        let tile = step.tile;
        let [value, _] = operands;
        match step.step {
            Step::Fill(_) => self.tiles[tile.offset..][..tile.len()].fill(value),
            Step::Load(memory) => self.memory(tile, memory, Kind::Load, operands, observer),
            Step::Store(memory) => self.memory(tile, memory, Kind::Store, operands, observer),
            Step::MultiplyAdd(a, b, c) => self.multiply_add(tile, a, b, c),
            Step::Add(a, b) => self.each(tile, |t, i| t.number(a, i) + t.number(b, i)),
            Step::Subtract(a, b) => self.each(tile, |t, i| t.number(a, i) - t.number(b, i)),
            Step::Scale(a, _) => {
                let factor = to_f64(tile.ty.element, value);
                self.each(tile, |t, i| t.number(a, i) * factor);
            }
        }
    }

    /// An element of a tile by its position.
    fn number(&self, tile: Held, i: usize) -> f64 {
        to_f64(tile.ty.element, self.tiles[tile.offset + i])
    }

    /// Makes each element what `f` gives for its position. Sums and products of two floats of at most 24 bits in
    /// `f64`, rounded once more, are rounded right: 53 bits are more than twice 24 and two.
    fn each(&mut self, tile: Held, f: impl Fn(&Self, usize) -> f64) {
        for i in 0..tile.len() {
            self.tiles[tile.offset + i] = from_f64(tile.ty.element, f(self, i));
        }
    }

    fn multiply_add(&mut self, tile: Held, a: Held, b: Held, c: Held) {
        let mut sums = Vec::with_capacity(tile.len());
        for row in 0..tile.ty.rows as usize {
            for column in 0..tile.ty.columns as usize {
                let at = |t: Held, row, column| to_f64(t.ty.element, self.tiles[t.at(row, column)]);
                let sum = (0..a.ty.columns as usize)
                    .fold(at(c, row, column), |sum, k| sum + at(a, row, k) * at(b, k, column));
                sums.push(from_f64(tile.ty.element, sum));
            }
        }
        self.tiles[tile.offset..][..tile.len()].copy_from_slice(&sums);
    }

    fn memory<O: Observer>(
        &mut self,
        tile: Held,
        memory: Memory,
        kind: Kind,
        [index, stride]: [u64; 2],
        observer: &mut O,
    ) {
        let (first, stride) = (memory.index.0.number(index), memory.stride.0.number(stride));
        let array = &self.machine.code.arrays[memory.array as usize];
        let (lines, neighbours) = tile.ty.lines(memory.layout);
        for line in 0..lines as usize {
            for i in 0..neighbours as usize {
                // Neither product nor sum can overflow: numbers are of 64 bits, lines of at most 64 elements.
                let index = first + stride * line as i128 + i as i128;
                let element = usize::try_from(index).ok().filter(|&e| (e as u64) < array.len);
                if O::ON {
                    let int = IntType::of(DataType::I64);
                    let index = index.clamp(i64::MIN.into(), i64::MAX.into()) as u64;
                    let spot = Spot { array, int, index, element };
                    let Self { node, invocation, group, intervals, .. } = *self;
                    observer.access(&spot, Access { node, kind, invocation, group, intervals });
                }
                let (row, column) = match memory.layout {
                    TileLayout::RowMajor => (line, i),
                    TileLayout::ColumnMajor => (i, line),
                };
                let held = &mut self.tiles[tile.at(row, column)];
                match (element, memory.space, kind) {
                    (None, _, Kind::Load) => *held = 0,
                    (Some(e), Space::Buffer, Kind::Load) => {
                        *held = self.machine.buffers.cells(array.offset)[e].load(Relaxed);
                    }
                    (Some(e), Space::Buffer, _) => {
                        self.machine.buffers.cells(array.offset)[e].store(*held, Relaxed);
                    }
                    (Some(e), _, Kind::Load) => *held = self.shared[array.offset + e],
                    (Some(e), _, _) => self.shared[array.offset + e] = *held,
                    (None, _, _) => {}
                }
            }
        }
    }
}

fn to_f64(ty: DataType, bits: u64) -> f64 {
    ty.float_format().map_or(0.0, |format| format.to_f64(bits))
}

fn from_f64(ty: DataType, x: f64) -> u64 {
    ty.float_format().map_or(0, |format| format.from_f64(x))
}
