//! Declarations and the launch.

use vyre_spec::{Access, Axis, BuiltIn, DataType, Value};

use super::super::values::{random_bytes, small_value};
use super::memory::{Accumulator, Mode, Moded, Own};
use super::{Generator, Launches};
use crate::ir::{
    Array, Buffer, BufferId, Count, Expr, ExprId, Extent, ExtentId, Launch, Param, ParamId, Place,
};

/// Sizes of domains and workgroups that are worth a try.
const POINTS: [u32; 14] = [0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 100, 129];
const GROUP_SIZES: [[u32; 3]; 12] = [
    [1, 1, 1],
    [2, 1, 1],
    [8, 1, 1],
    [31, 1, 1],
    [32, 1, 1],
    [33, 1, 1],
    [64, 1, 1],
    [4, 4, 1],
    [3, 2, 5],
    [8, 2, 3],
    [32, 2, 1],
    [1, 8, 2],
];

impl Generator<'_> {
    pub(super) fn declare(&mut self) {
        for ty in DataType::ALL {
            if self.chance(1, 2) {
                let value = self.value(ty);
                let param = self.param(value);
                let value = self.arena.expr(Expr::Param(param));
                self.offer(ty, value, true);
            }
        }
        let domain = match self.config.launches {
            Launches::Domains => true,
            Launches::Workgroups => false,
            Launches::Both => self.rng.bool(),
        };
        if domain {
            self.domain()
        } else {
            self.workgroups()
        }
        self.buffers();
        if self.lanes.is_some() {
            self.shared();
        }
        for _ in 0..self.rng.u32(0..2) {
            let (name, element, len) = (self.name("own"), self.any_type(), self.rng.u32(1..6));
            let id = self.arena.private(Array { name, element, len });
            self.privates.push((Place::Private(id), element));
        }
    }

    fn param(&mut self, value: Value) -> ParamId {
        let (name, specialize) = (self.name("p"), self.chance(1, 8));
        self.params = std::mem::take(&mut self.params).with(name.clone(), value);
        self.arena.param(Param { name, ty: value.ty(), specialize })
    }

    fn built_in(&mut self, built_in: BuiltIn, uniform: bool) -> ExprId {
        let value = self.arena.expr(Expr::BuiltIn(built_in));
        self.offer(DataType::U32, value, uniform);
        value
    }

    fn domain(&mut self) {
        let axes = self.rng.u8(1..=3);
        let mut left = self.config.max_invocations.max(1);
        let mut sizes = [1u32; 3];
        for size in sizes.iter_mut().take(usize::from(axes)) {
            let fits: Vec<u32> = POINTS.into_iter().filter(|&n| n <= left).collect();
            *size = self.pick(&fits).unwrap_or(1);
            // No points at all is worth a case, but not many.
            if *size == 0 && self.chance(3, 4) {
                *size = 1;
            }
            left /= (*size).max(1);
        }
        let mut extent = [self.arena.extent(Extent::Literal(1)); 3];
        for (i, extent) in extent.iter_mut().enumerate().take(usize::from(axes)) {
            *extent = self.extent(u64::from(sizes[i]), 2);
        }
        self.arena.set_launch(Launch::Domain { extent, axes });
        self.total = sizes.iter().map(|&n| u64::from(n)).product();
        let mut own = None;
        for axis in Axis::ALL.into_iter().take(usize::from(axes)).rev() {
            let point = self.built_in(BuiltIn::Point(axis), false);
            let extent = self.built_in(BuiltIn::Extent(axis), true);
            own = Some(self.onto(own, extent, point));
        }
        self.own_index = own;
    }

    /// `rest × extent + id`.
    fn onto(&mut self, rest: Option<ExprId>, extent: ExprId, id: ExprId) -> ExprId {
        match rest {
            None => id,
            Some(rest) => {
                let rows = self.mul(rest, extent);
                self.add(rows, id)
            }
        }
    }

    fn workgroups(&mut self) {
        let most = self.config.max_invocations.max(1);
        let lanes = |s: &[u32; 3]| s.iter().product::<u32>();
        let whole = |s: &[u32; 3]| self.config.subgroup_size.is_none_or(|n| s[0].is_multiple_of(n.max(1)));
        let fits: Vec<[u32; 3]> = GROUP_SIZES.into_iter().filter(|s| lanes(s) <= most && whole(s)).collect();
        let fallback = [self.config.subgroup_size.unwrap_or(1).max(1), 1, 1];
        let size = self.pick(&fits).unwrap_or(fallback);
        let lanes = lanes(&size);
        let mut left = (most / lanes).max(1);
        let mut counts = [1u32; 3];
        for count in &mut counts {
            *count = self.rng.u32(1..=left.min(4));
            left /= *count;
        }
        if self.chance(1, 30) {
            counts[self.rng.usize(0..3)] = 0;
        }
        let count = counts.map(|n| self.extent(u64::from(n), 2));
        self.arena.set_launch(Launch::Workgroups { size, count });
        self.total = counts.iter().map(|&n| u64::from(n)).product::<u64>() * u64::from(lanes);
        self.lanes = Some(lanes);
        let mut group = None;
        for axis in Axis::ALL.into_iter().rev() {
            self.built_in(BuiltIn::GlobalId(axis), false);
            self.built_in(BuiltIn::LocalId(axis), false);
            // A grid barrier stands where all workgroups go the same way.
            let id = self.built_in(BuiltIn::WorkgroupId(axis), !self.config.grid_barriers);
            let count = self.built_in(BuiltIn::WorkgroupCount(axis), true);
            group = Some(self.onto(group, count, id));
        }
        let local = self.built_in(BuiltIn::LocalIndex, false);
        if self.config.subgroup_size.is_some() {
            self.built_in(BuiltIn::SubgroupLane, false);
            self.built_in(BuiltIn::SubgroupId, false);
            self.built_in(BuiltIn::SubgroupSize, true);
        }
        let size = self.literal_u32(lanes);
        self.own_index = Some(self.onto(group, size, local));
        self.local_index = Some(local);
        self.flow.barriers = true;
    }

    /// Host arithmetic that comes to `n`.
    fn extent(&mut self, n: u64, depth: u32) -> ExtentId {
        let simple = depth == 0 || self.chance(1, 3);
        let choice = if simple { self.rng.u32(0..3) } else { self.rng.u32(1..9) };
        let less = self.rng.u64(0..=n.min(5));
        let some = self.rng.u64(1..5);
        let pair = |g: &mut Self, make: fn(ExtentId, ExtentId) -> Extent, a: u64, b: u64| {
            let (a, b) = (g.extent(a, depth.saturating_sub(1)), g.extent(b, depth.saturating_sub(1)));
            g.arena.extent(make(a, b))
        };
        match choice {
            1 if n <= u64::from(u32::MAX) => {
                let ty = self.int_type();
                let value = Value::from_bits(ty, n);
                if value.bits() != n || (ty.is_signed_int() && n >= 1 << 31) {
                    return self.arena.extent(Extent::Literal(n));
                }
                let param = self.param(value);
                self.arena.extent(Extent::Param(param))
            }
            2 if n <= 300 && self.has_room() => {
                let id = self.input(n);
                self.arena.extent(Extent::Length(id))
            }
            3 => pair(self, Extent::Add, n - less, less),
            4 => pair(self, Extent::Sub, n + some, some),
            5 if n.is_multiple_of(some) => pair(self, Extent::Mul, n / some, some),
            6 => pair(self, Extent::CeilDiv, (n * some).saturating_sub(less.min(some - 1)), some),
            7 => pair(self, Extent::Min, n, n + less),
            8 => pair(self, Extent::Max, n - less, n),
            _ => self.arena.extent(Extent::Literal(n)),
        }
    }

    /// Whether the program may have another buffer beside one that it writes.
    fn has_room(&self) -> bool {
        self.arena.program().buffers().len() + 1 < self.config.max_buffers.max(1) as usize
    }

    /// An input of `len` elements of any type, with as many as its bytes hold.
    fn input(&mut self, len: u64) -> BufferId {
        let element = self.any_type();
        let access = if self.chance(1, 5) { Access::Uniform } else { Access::ReadOnly };
        let subnormals = self.config.subnormals;
        let bytes = random_bytes(element, len, &mut self.rng, |rng| {
            super::super::random_value(element, subnormals, rng)
        });
        let id = self.buffer("x", element, access, Count::Bytes, Some(bytes));
        self.readable.push((Place::Buffer(id), element, len));
        id
    }

    fn buffer(
        &mut self,
        prefix: &str,
        element: DataType,
        access: Access,
        count: Count,
        bytes: Option<Vec<u8>>,
    ) -> BufferId {
        let name = self.name(prefix);
        self.inputs.extend(bytes);
        let id = self.arena.buffer(Buffer { name, element, access, count, coherent: false });
        let length = self.arena.expr(Expr::Length(id));
        self.offer(DataType::U32, length, true);
        id
    }

    fn buffers(&mut self) {
        while self.has_room() && self.chance(2, 3) {
            match self.rng.u32(0..6) {
                0 | 1 => {
                    let len = self.rng.u64(0..40);
                    self.input(len);
                }
                2 => self.accumulator(),
                3 if self.lanes.is_some() => self.segments(),
                _ => self.own(),
            }
        }
        self.own();
    }

    /// Random elements of which no invocation stores another's.
    fn own(&mut self) {
        let (element, zone) = (self.any_type(), self.rng.u32(1..4));
        let exact = self.total * u64::from(zone);
        let access = if self.rng.bool() { Access::ReadWrite } else { Access::WriteOnly };
        // A buffer that is too short drops stores.
        let len = if self.chance(1, 6) { self.rng.u64(0..=exact) } else { exact };
        let count = if access == Access::WriteOnly || self.rng.bool() {
            Count::Extent(self.extent(len, 1))
        } else {
            Count::Bytes
        };
        let subnormals = self.config.subnormals;
        let bytes = (access == Access::ReadWrite).then(|| {
            random_bytes(element, len, &mut self.rng, |rng| {
                super::super::random_value(element, subnormals, rng)
            })
        });
        let id = self.buffer("out", element, access, count, bytes);
        self.owns.push(Own {
            place: Place::Buffer(id),
            element,
            zone,
            len: exact,
            loads: access == Access::ReadWrite,
        });
    }

    /// A buffer on which one commuting atomic works.
    fn accumulator(&mut self) {
        let Some((op, element)) = self.commuting_atomic(true) else { return };
        let len = self.rng.u64(1..8);
        let bytes = random_bytes(element, len, &mut self.rng, |rng| {
            if element.is_float() {
                small_value(element, rng)
            } else {
                super::super::random_value(element, false, rng)
            }
        });
        let id = self.buffer("sum", element, Access::ReadWrite, Count::Bytes, Some(bytes));
        self.accumulators.push(Accumulator { place: Place::Buffer(id), element, op, len });
    }

    /// A buffer with a segment for each workgroup.
    fn segments(&mut self) {
        let (element, zone) = (self.any_type(), self.rng.u32(1..3));
        let len = self.total * u64::from(zone);
        let subnormals = self.config.subnormals;
        let bytes = random_bytes(element, len, &mut self.rng, |rng| {
            super::super::random_value(element, subnormals, rng)
        });
        let id = self.buffer("seg", element, Access::ReadWrite, Count::Bytes, Some(bytes));
        self.moded.push(Moded { place: Place::Buffer(id), element, zone, mode: Mode::Unset });
    }

    fn shared(&mut self) {
        let lanes = self.lanes.unwrap_or(1);
        for _ in 0..self.rng.u32(0..3) {
            let (name, element, zone) = (self.name("tile"), self.any_type(), self.rng.u32(1..3));
            let id = self.arena.shared(Array { name, element, len: lanes * zone });
            self.moded.push(Moded { place: Place::Shared(id), element, zone, mode: Mode::Unset });
        }
    }
}
