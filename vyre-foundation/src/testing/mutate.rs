//! Damage: programs, text and bytes that are nearly right.

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, CollectiveOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, BuiltIn, DataType, FenceScope, MemoryOrdering, TileRole, TileType};

use super::{Rng, random_value};
use crate::ir::{
    Arena, Array, Buffer, BufferId, Count, Expr, ExprId, Extent, ExtentId, Launch, Node, NodeId, Param,
    ParamId, Place, PrivateId, Program, RegionId, SharedId, Tile, TileId, VarId, Variable,
};

/// Bytes with some flipped, left out, doubled, or set to extremes.
pub fn bytes(original: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(0..bytes.len().max(1));
        match rng.u8(0..6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), rng.u8(..)),
            _ if bytes.is_empty() => {}
            2 => bytes[at] ^= 1 << rng.u8(0..8),
            3 => bytes[at] = [0, 1, 0x7F, 0x80, 0xFF][rng.usize(0..5)],
            4 => drop(bytes.remove(at)),
            _ => {
                let end = (at + rng.usize(1..9)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                let to = rng.usize(0..bytes.len());
                bytes.splice(to..to, copy);
            }
        }
    }
    bytes
}

/// Text with some of its words and symbols left out, doubled, swapped or replaced.
pub fn text(original: &str, rng: &mut Rng) -> String {
    let mut tokens = tokens(original);
    let spare = ["0", "-1", "4294967296", "u32", "f32", "(", ")", "{", "}", ";", "let", "é", "\"", "//", "x"];
    for _ in 0..rng.usize(1..4) {
        if tokens.is_empty() {
            break;
        }
        let (at, other) = (rng.usize(0..tokens.len()), rng.usize(0..tokens.len()));
        match rng.u8(0..6) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[other]),
            2 => tokens.swap(at, other),
            3 => tokens[at] = tokens[other],
            4 => tokens[at] = spare[rng.usize(0..spare.len())],
            _ => tokens.truncate(at),
        }
    }
    tokens.concat()
}

/// Runs of letters and digits, and every other character by itself.
fn tokens(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length =
            if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// An arena that is `program` but for a few random changes: ids that name something else or nothing, other
/// types, ops, literals and declarations, nodes at the wrong place, twice or missing.
pub fn program(original: &Program, rng: &mut Rng) -> Arena {
    // The more there is, the less likely each change, so that most programs stay nearly right.
    let rate = 3 * (original.exprs().len() + original.nodes().len()) as u32 + 8;
    let changes = rng.u32(1..4);
    let mut mutator = Mutator { rng, changes, rate, source: original, extents: Vec::new() };
    let mut arena = Arena::new(original.name());
    mutator.declarations(&mut arena);
    mutator.body(&mut arena);
    arena
}

struct Mutator<'a> {
    rng: &'a mut Rng,
    /// Changes that may still be made.
    changes: u32,
    /// One decision in half of these makes one.
    rate: u32,
    source: &'a Program,
    /// The arena's ids of the extents.
    extents: Vec<ExtentId>,
}

impl Mutator<'_> {
    /// Whether to change this one.
    fn change(&mut self) -> bool {
        let change = self.changes > 0 && self.rng.u32(0..self.rate) < 2;
        self.changes -= u32::from(change);
        change
    }

    fn id(&mut self, right: u32, count: usize) -> u32 {
        if !self.change() {
            return right;
        }
        match self.rng.u8(0..16) {
            0 => u32::MAX,
            1 => count as u32,
            2 => right.wrapping_add(1),
            3 => right.wrapping_sub(1),
            _ => self.rng.u32(0..count.max(1) as u32),
        }
    }

    fn ty(&mut self, right: DataType) -> DataType {
        if self.change() { DataType::ALL[self.rng.usize(0..DataType::ALL.len())] } else { right }
    }

    fn one_of<T: Copy>(&mut self, right: T, all: &[T]) -> T {
        if self.change() { all[self.rng.usize(0..all.len())] } else { right }
    }

    fn number(&mut self, right: u32) -> u32 {
        if self.change() { [0, 1, 2, 65_536, 1 << 31, u32::MAX][self.rng.usize(0..6)] } else { right }
    }

    fn name(&mut self, right: &str) -> String {
        if self.change() {
            ["", "let", "a b", "x1", "é", "u32"][self.rng.usize(0..6)].into()
        } else {
            right.into()
        }
    }

    fn extent(&mut self, right: ExtentId) -> ExtentId {
        let right = self.extents.get(right.index()).copied().unwrap_or(right);
        ExtentId::new(self.id(right.raw(), self.extents.len()))
    }

    fn declarations(&mut self, arena: &mut Arena) {
        for extent in self.source.extents() {
            let mut extent = extent.map_operands(|x| self.extent(x));
            match &mut extent {
                Extent::Literal(n) if self.change() => *n = [0, 1, u64::MAX, 1 << 32][self.rng.usize(0..4)],
                Extent::Param(id) => *id = ParamId::new(self.id(id.raw(), self.source.params().len())),
                Extent::Length(id) => *id = BufferId::new(self.id(id.raw(), self.source.buffers().len())),
                _ => {}
            }
            let extent = arena.extent(extent);
            self.extents.push(extent);
        }
        for param in self.source.params() {
            let (name, ty) = (self.name(&param.name), self.ty(param.ty));
            arena.param(Param { name, ty, specialize: param.specialize ^ self.change() });
        }
        for buffer in self.source.buffers() {
            let (name, element) = (self.name(&buffer.name), self.ty(buffer.element));
            let access = self.one_of(buffer.access, &Access::ALL);
            let count = match buffer.count {
                Count::Extent(x) if !self.change() => Count::Extent(self.extent(x)),
                _ if self.change() => Count::Extent(self.extent(ExtentId::new(0))),
                _ => Count::Bytes,
            };
            arena.buffer(Buffer { name, element, access, count, coherent: buffer.coherent ^ self.change() });
        }
        for array in self.source.shared() {
            let array = self.array(array);
            arena.shared(array);
        }
        for array in self.source.privates() {
            let array = self.array(array);
            arena.private(array);
        }
        for tile in self.source.tiles() {
            let ty = TileType {
                role: self.one_of(tile.ty.role, TileRole::ALL),
                element: self.ty(tile.ty.element),
                rows: self.number(tile.ty.rows),
                columns: self.number(tile.ty.columns),
            };
            let name = self.name(&tile.name);
            arena.tile(Tile { name, ty });
        }
        for var in self.source.vars() {
            let (name, ty) = (self.name(&var.name), self.ty(var.ty));
            arena.var(Variable { name, ty });
        }
        let extents = self.source.launch().extents().unwrap_or([ExtentId::new(0); 3]).map(|x| self.extent(x));
        let launch = match self.source.launch() {
            Launch::Workgroups { size, .. } if !self.change() => {
                Launch::Workgroups { size: size.map(|n| self.number(n)), count: extents }
            }
            Launch::Domain { axes, .. } if !self.change() => {
                Launch::Domain { extent: extents, axes: if self.change() { self.rng.u8(0..6) } else { axes } }
            }
            Launch::Indirect { size, counts } if !self.change() => {
                let counts = BufferId::new(self.id(counts.raw(), self.source.buffers().len()));
                Launch::Indirect { size: size.map(|n| self.number(n)), counts }
            }
            Launch::Workgroups { size, .. } if self.change() => {
                Launch::Indirect { size, counts: BufferId::new(self.id(0, self.source.buffers().len())) }
            }
            Launch::Workgroups { .. } | Launch::Indirect { .. } => {
                Launch::Domain { extent: extents, axes: 3 }
            }
            Launch::Domain { .. } => Launch::Workgroups { size: [1; 3], count: extents },
        };
        arena.set_launch(launch);
    }

    fn array(&mut self, array: &Array) -> Array {
        Array { name: self.name(&array.name), element: self.ty(array.element), len: self.number(array.len) }
    }

    fn body(&mut self, arena: &mut Arena) {
        let mut exprs: Vec<ExprId> = Vec::new();
        for expr in self.source.exprs() {
            let expr = self.expr(*expr, &exprs);
            exprs.push(arena.expr(expr));
        }
        for _ in 1..self.source.regions().len() {
            arena.region();
        }
        for node in self.source.nodes() {
            let node = node.map_operands(|e| self.operand(e, &exprs));
            let count = self.source.regions().len();
            let node = node.map_regions(|r| RegionId::new(self.id(r.raw(), count)));
            let node = self.node(node);
            arena.node(node);
        }
        let count = self.source.nodes().len();
        for (region, nodes) in (0..).map(RegionId::new).zip(self.source.regions()) {
            for &node in nodes {
                if self.change() {
                    // Left out, or made twice.
                    if self.rng.u8(0..4) == 0 {
                        arena.place_node(region, node);
                        arena.place_node(region, node);
                    }
                    continue;
                }
                arena.place_node(region, NodeId::new(self.id(node.raw(), count)));
            }
            if self.change() {
                let leaf = [Node::Break, Node::Continue, Node::Return][self.rng.usize(0..3)];
                arena.push(region, leaf);
            }
        }
    }

    fn operand(&mut self, right: ExprId, exprs: &[ExprId]) -> ExprId {
        let right = exprs.get(right.index()).copied().unwrap_or(right);
        ExprId::new(self.id(right.raw(), exprs.len()))
    }

    fn expr(&mut self, expr: Expr, exprs: &[ExprId]) -> Expr {
        let nodes = self.source.nodes().len();
        match expr.map_operands(|e| self.operand(e, exprs)) {
            Expr::Literal(value) => {
                let ty = self.ty(value.ty());
                let changed = ty != value.ty() || self.change();
                Expr::Literal(if changed { random_value(ty, true, self.rng) } else { value })
            }
            Expr::Param(id) => Expr::Param(ParamId::new(self.id(id.raw(), self.source.params().len()))),
            Expr::BuiltIn(built_in) => Expr::BuiltIn(self.one_of(built_in, &BuiltIn::ALL)),
            Expr::Length(id) => Expr::Length(BufferId::new(self.id(id.raw(), self.source.buffers().len()))),
            Expr::Result(node) if self.change() => Expr::LoopVar(node),
            Expr::Result(node) => Expr::Result(NodeId::new(self.id(node.raw(), nodes))),
            Expr::LoopVar(node) if self.change() => Expr::Result(node),
            Expr::LoopVar(node) => Expr::LoopVar(NodeId::new(self.id(node.raw(), nodes))),
            Expr::Unary(op, a) => Expr::Unary(self.one_of(op, UnaryOp::ALL), a),
            Expr::Binary(op, a, b) => Expr::Binary(self.one_of(op, BinaryOp::ALL), a, b),
            Expr::Ternary(op, a, b, c) => Expr::Ternary(self.one_of(op, TernaryOp::ALL), a, b, c),
            Expr::Cast(op, ty, a) => Expr::Cast(self.one_of(op, CastOp::ALL), self.ty(ty), a),
        }
    }

    fn place(&mut self, place: Place) -> Place {
        let (buffers, shared) = (self.source.buffers().len(), self.source.shared().len());
        let place = match place {
            place if !self.change() => place,
            Place::Shared(id) => Place::Buffer(BufferId::new(id.raw())),
            Place::Buffer(id) if self.rng.bool() => Place::Private(PrivateId::new(id.raw())),
            Place::Buffer(id) => Place::Shared(SharedId::new(id.raw())),
            Place::Private(id) => Place::Shared(SharedId::new(id.raw())),
        };
        match place {
            Place::Buffer(id) => Place::Buffer(BufferId::new(self.id(id.raw(), buffers))),
            Place::Shared(id) => Place::Shared(SharedId::new(self.id(id.raw(), shared))),
            Place::Private(id) => {
                Place::Private(PrivateId::new(self.id(id.raw(), self.source.privates().len())))
            }
        }
    }

    fn node(&mut self, node: Node) -> Node {
        let vars = self.source.vars().len();
        let var = |m: &mut Self, var: VarId| VarId::new(m.id(var.raw(), vars));
        match node {
            Node::Load { place, index } => Node::Load { place: self.place(place), index },
            Node::Store { place, index, value } if self.change() => {
                Node::Atomic { op: AtomicOp::ALL[0], place, index, value, expected: None }
            }
            Node::Store { place, index, value } => Node::Store { place: self.place(place), index, value },
            Node::Atomic { op, place, index, value, expected } => Node::Atomic {
                op: self.one_of(op, AtomicOp::ALL),
                place: self.place(place),
                index,
                value,
                expected: if self.change() { expected.xor(Some(value)) } else { expected },
            },
            Node::Declare { var: v, init } => Node::Declare { var: var(self, v), init },
            Node::Get { var: v } => Node::Get { var: var(self, v) },
            Node::Set { var: v, value } if self.change() => Node::Declare { var: v, init: value },
            Node::Set { var: v, value } => Node::Set { var: var(self, v), value },
            Node::If { condition, then, .. } if self.change() => {
                Node::While { head: then, condition, body: then }
            }
            Node::Barrier { ordering } => {
                Node::Barrier { ordering: self.one_of(ordering, &MemoryOrdering::ALL) }
            }
            Node::Fence { ordering, scope } => {
                let ordering = self.one_of(ordering, &MemoryOrdering::ALL);
                Node::Fence { ordering, scope: self.one_of(scope, &FenceScope::ALL) }
            }
            Node::Collective { op, value, rank } => Node::Collective {
                op: self.one_of(op, CollectiveOp::ALL),
                value,
                rank: if self.change() { rank.xor(Some(value)) } else { rank },
            },
            Node::Subgroup { op, value, lane } => Node::Subgroup {
                op: self.one_of(op, SubgroupOp::ALL),
                value,
                lane: if self.change() { lane.xor(Some(value)) } else { lane },
            },
            Node::Trap { code, address } => Node::Trap { code: self.number(code), address },
            Node::Tile { tile, action } => {
                let tiles = self.source.tiles().len();
                let mut action = action.map_tiles(|tile| TileId::new(self.id(tile.raw(), tiles)));
                if let Some(place) = action.place_mut() {
                    *place = self.place(*place);
                }
                Node::Tile { tile: TileId::new(self.id(tile.raw(), tiles)), action }
            }
            other => other,
        }
    }
}
