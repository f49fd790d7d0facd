//! Programs to bytes.

use vyre_spec::{BuiltIn, Value};

use super::{MAGIC, VERSION, tags};
use crate::ir::ExtentOp;
use crate::ir::{
    Array, Count, Expr, ExprId, Extent, ExtentId, Launch, Node, Place, Program, RegionId, TileAction,
};

/// The program's canonical bytes.
pub fn encode(program: &Program) -> Vec<u8> {
    let mut bytes = encode_unsealed(program);
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

/// The bytes that the content hash is of.
pub(crate) fn encode_unsealed(program: &Program) -> Vec<u8> {
    let mut out = Writer { bytes: Vec::new() };
    out.bytes.extend_from_slice(&MAGIC);
    out.bytes.extend_from_slice(&VERSION.to_le_bytes());
    out.declarations(program);
    out.count(program.exprs().len());
    for (id, expr) in (0..).zip(program.exprs()) {
        out.expr(ExprId::new(id), *expr);
    }
    out.body(program);
    out.bytes
}

/// Bytes that are written.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// A number in LEB128: seven bits a byte, lowest first, the top bit set in all but the last.
    pub(crate) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    pub(crate) fn id(&mut self, raw: u32) {
        self.number(raw.into());
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.blob(text.as_bytes());
    }

    /// Bytes after their number.
    pub(crate) fn blob(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// A constant: its type and bits.
    pub(crate) fn value(&mut self, value: Value) {
        self.byte(value.ty().tag());
        self.number(value.bits());
    }

    fn declarations(&mut self, program: &Program) {
        self.string(program.name());
        self.count(program.params().len());
        for param in program.params() {
            self.string(&param.name);
            self.byte(param.ty.tag());
            self.byte(param.specialize.into());
        }
        self.count(program.buffers().len());
        for buffer in program.buffers() {
            self.string(&buffer.name);
            self.byte(buffer.element.tag());
            self.byte(buffer.access as u8 | if buffer.coherent { tags::COHERENT } else { 0 });
            self.number(match buffer.count {
                Count::Bytes => 0,
                Count::Extent(x) => u64::from(x.raw()) + 1,
            });
        }
        self.arrays(program.shared());
        self.arrays(program.privates());
        self.count(program.tiles().len());
        for tile in program.tiles() {
            self.string(&tile.name);
            self.byte(tile.ty.role as u8);
            self.byte(tile.ty.element.tag());
            self.id(tile.ty.rows);
            self.id(tile.ty.columns);
        }
        self.count(program.vars().len());
        for var in program.vars() {
            self.string(&var.name);
            self.byte(var.ty.tag());
        }
        self.count(program.extents().len());
        for (id, extent) in (0..).zip(program.extents()) {
            self.extent(ExtentId::new(id), *extent);
        }
        match program.launch() {
            Launch::Domain { extent, axes } => {
                self.byte(tags::launch::DOMAIN);
                self.byte(axes);
                extent.into_iter().for_each(|x| self.id(x.raw()));
            }
            Launch::Workgroups { size, count } => {
                self.byte(tags::launch::WORKGROUPS);
                size.into_iter().for_each(|n| self.id(n));
                count.into_iter().for_each(|x| self.id(x.raw()));
            }
            Launch::Indirect { size, counts } => {
                self.byte(tags::launch::INDIRECT);
                size.into_iter().for_each(|n| self.id(n));
                self.id(counts.raw());
            }
        }
    }

    fn arrays(&mut self, arrays: &[Array]) {
        self.count(arrays.len());
        for array in arrays {
            self.string(&array.name);
            self.byte(array.element.tag());
            self.id(array.len);
        }
    }

    fn extent(&mut self, id: ExtentId, extent: Extent) {
        match (extent, ExtentOp::of(extent)) {
            (Extent::Literal(n), _) => {
                self.byte(tags::extent::LITERAL);
                self.number(n);
            }
            (Extent::Param(param), _) => {
                self.byte(tags::extent::PARAM);
                self.id(param.raw());
            }
            (Extent::Length(buffer), _) => {
                self.byte(tags::extent::LENGTH);
                self.id(buffer.raw());
            }
            (_, Some((op, a, b))) => {
                self.byte(op.tag);
                self.back(id.raw(), a.raw());
                self.back(id.raw(), b.raw());
            }
            // Every extent with operands has a row.
            (_, None) => {}
        }
    }

    /// An operand, as how far it lies before its user.
    pub(crate) fn back(&mut self, user: u32, operand: u32) {
        self.id(user.wrapping_sub(operand));
    }

    fn expr(&mut self, id: ExprId, expr: Expr) {
        match expr {
            Expr::Literal(value) => {
                self.byte(tags::expr::LITERAL);
                self.value(value);
            }
            Expr::Param(param) => {
                self.byte(tags::expr::PARAM);
                self.id(param.raw());
            }
            Expr::BuiltIn(b) => {
                self.byte(tags::expr::BUILT_IN);
                self.byte(BuiltIn::ALL.iter().position(|x| *x == b).unwrap_or_default() as u8);
            }
            Expr::Length(buffer) => {
                self.byte(tags::expr::LENGTH);
                self.id(buffer.raw());
            }
            Expr::Result(node) => {
                self.byte(tags::expr::RESULT);
                self.id(node.raw());
            }
            Expr::LoopVar(node) => {
                self.byte(tags::expr::LOOP_VAR);
                self.id(node.raw());
            }
            Expr::Unary(op, _) => {
                self.byte(tags::expr::UNARY);
                self.byte(op.tag());
            }
            Expr::Binary(op, ..) => {
                self.byte(tags::expr::BINARY);
                self.byte(op.tag());
            }
            Expr::Ternary(op, ..) => {
                self.byte(tags::expr::TERNARY);
                self.byte(op.tag());
            }
            Expr::Cast(op, ty, _) => {
                self.byte(tags::expr::CAST);
                self.byte(op.tag());
                self.byte(ty.tag());
            }
        }
        for operand in expr.operands() {
            self.back(id.raw(), operand.raw());
        }
    }

    /// The regions, each node's inside of it.
    fn body(&mut self, program: &Program) {
        let mut stack: Vec<(RegionId, usize)> = vec![(program.body(), 0)];
        while let Some((region, position)) = stack.pop() {
            let Some(&id) = program.region(region).get(position) else {
                self.byte(tags::node::END);
                continue;
            };
            stack.push((region, position + 1));
            let node = program.node(id);
            self.node(node);
            stack.extend(node.regions().rev().map(|child| (child, 0)));
        }
    }

    fn node(&mut self, node: &Node) {
        match *node {
            Node::Load { place, .. } => {
                self.byte(tags::node::LOAD);
                self.place(place);
            }
            Node::Store { place, .. } => {
                self.byte(tags::node::STORE);
                self.place(place);
            }
            Node::Atomic { op, place, expected, .. } => {
                self.byte(tags::node::ATOMIC);
                self.byte(op.tag());
                self.byte(expected.is_some().into());
                self.place(place);
            }
            Node::Declare { var, .. } => {
                self.byte(tags::node::DECLARE);
                self.id(var.raw());
            }
            Node::Get { var } => {
                self.byte(tags::node::GET);
                self.id(var.raw());
            }
            Node::Set { var, .. } => {
                self.byte(tags::node::SET);
                self.id(var.raw());
            }
            Node::If { .. } => self.byte(tags::node::IF),
            Node::For { .. } => self.byte(tags::node::FOR),
            Node::While { .. } => self.byte(tags::node::WHILE),
            Node::Break => self.byte(tags::node::BREAK),
            Node::Continue => self.byte(tags::node::CONTINUE),
            Node::Return => self.byte(tags::node::RETURN),
            Node::Barrier { ordering } => {
                self.byte(tags::node::BARRIER);
                self.byte(ordering as u8);
            }
            Node::Subgroup { op, lane, .. } => {
                self.byte(tags::node::SUBGROUP);
                self.byte(op.tag());
                self.byte(lane.is_some().into());
            }
            Node::Fence { ordering, scope } => {
                self.byte(tags::node::FENCE);
                self.byte(ordering as u8);
                self.byte(scope as u8);
            }
            Node::Collective { op, rank, .. } => {
                self.byte(tags::node::COLLECTIVE);
                self.byte(op.tag());
                self.byte(rank.is_some().into());
            }
            Node::Trap { code, .. } => {
                self.byte(tags::node::TRAP);
                self.id(code);
            }
            Node::Tile { tile, action } => {
                self.byte(tags::node::TILE);
                self.id(tile.raw());
                self.tile_action(action);
            }
        }
        for operand in node.operands() {
            self.id(operand.raw());
        }
    }

    fn tile_action(&mut self, action: TileAction) {
        self.byte(match action {
            TileAction::Fill { .. } => tags::tile::FILL,
            TileAction::Load { .. } => tags::tile::LOAD,
            TileAction::Store { .. } => tags::tile::STORE,
            TileAction::MultiplyAdd { .. } => tags::tile::MULTIPLY_ADD,
            TileAction::Add { .. } => tags::tile::ADD,
            TileAction::Subtract { .. } => tags::tile::SUBTRACT,
            TileAction::Scale { .. } => tags::tile::SCALE,
        });
        if let TileAction::Load { place, layout, .. } | TileAction::Store { place, layout, .. } = action {
            self.place(place);
            self.byte(layout as u8);
        }
        for tile in action.tiles().into_iter().flatten() {
            self.id(tile.raw());
        }
    }

    fn place(&mut self, place: Place) {
        let (tag, id) = match place {
            Place::Buffer(id) => (tags::place::BUFFER, id.raw()),
            Place::Shared(id) => (tags::place::SHARED, id.raw()),
            Place::Private(id) => (tags::place::PRIVATE, id.raw()),
        };
        self.byte(tag);
        self.id(id);
    }
}
