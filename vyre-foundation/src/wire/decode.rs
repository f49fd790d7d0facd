//! Bytes to programs. Nothing is believed: counts are checked against the bytes that are left, ids against
//! their tables, and the result is encoded again to see that the bytes were canonical.

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, CollectiveOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{
    Access, BuiltIn, DataType, FenceScope, MemoryOrdering, TileLayout, TileRole, TileType, Value,
};

use super::{HASH, MAGIC, VERSION, WireError, encode_unsealed, tags};
use crate::ir::ExtentOp;
use crate::ir::{
    Arena, Array, Buffer, BufferId, Count, Expr, ExprId, Extent, ExtentId, Launch, Node, NodeId, Param,
    ParamId, Place, PrivateId, Program, RegionId, SharedId, Tile, TileAction, TileId, VarId, Variable,
};

type Wire<T> = Result<T, WireError>;

/// The program that the bytes are the encoding of. It may still be wrong: [`crate::check::check`] decides.
///
/// # Errors
/// If the bytes are not exactly what [`super::encode`] gives for some program.
pub fn decode(bytes: &[u8]) -> Result<Program, WireError> {
    start(bytes)?;
    let Some((body, hash)) = bytes.split_last_chunk::<HASH>().filter(|(body, _)| body.len() >= START) else {
        return Err(WireError::Truncated { offset: bytes.len(), what: "the content hash" });
    };
    if blake3::hash(body).as_bytes() != hash {
        return Err(WireError::Checksum { len: body.len() });
    }
    decode_unsealed(body)
}

/// The program of bytes without their content hash, as [`encode_unsealed`] gives them.
pub(crate) fn decode_unsealed(body: &[u8]) -> Result<Program, WireError> {
    start(body)?;
    let program = Reader::new(body, START).program()?;
    let canonical = encode_unsealed(&program);
    if canonical != body {
        let same = canonical.iter().zip(body).take_while(|(a, b)| a == b).count();
        return Err(WireError::NotCanonical { offset: same });
    }
    Ok(program)
}

/// Bytes of magic and version.
const START: usize = MAGIC.len() + size_of::<u32>();

/// Checks magic and version.
fn start(bytes: &[u8]) -> Result<(), WireError> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(WireError::Magic)?;
    let version =
        rest.first_chunk().ok_or(WireError::Truncated { offset: bytes.len(), what: "the version" })?;
    let found = u32::from_le_bytes(*version);
    if found != VERSION {
        return Err(WireError::Version { found, reads: VERSION });
    }
    Ok(())
}

/// The sizes of the tables read so far.
#[derive(Default)]
struct Counts {
    params: usize,
    buffers: usize,
    shared: usize,
    privates: usize,
    tiles: usize,
    vars: usize,
}

/// Bytes that are read, and what is known of the program in them.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    counts: Counts,
    /// Nodes that expressions read, to be checked when all nodes are known.
    node_refs: Vec<(usize, NodeId)>,
}

impl<'a> Reader<'a> {
    /// Reads from a position on.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at, counts: Counts::default(), node_refs: Vec::new() }
    }

    /// The position of the next byte.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn program(mut self) -> Wire<Program> {
        let mut arena = Arena::new(self.string()?);
        self.declarations(&mut arena)?;
        let mut exprs: Vec<ExprId> = Vec::new();
        for _ in 0..self.count("expressions")? {
            let expr = self.expr(&exprs)?;
            exprs.push(arena.expr(expr));
        }
        self.body(&mut arena, &exprs)?;
        if self.at < self.bytes.len() {
            return Err(WireError::Trailing { offset: self.at, count: self.bytes.len() - self.at });
        }
        let nodes = arena.program().nodes().len();
        if let Some(&(offset, node)) = self.node_refs.iter().find(|(_, node)| node.index() >= nodes) {
            return Err(WireError::Dangling { offset, what: "node", index: node.raw(), count: nodes });
        }
        Ok(arena.finish()?.0)
    }

    // Primitives.

    pub(crate) fn byte(&mut self, what: &'static str) -> Wire<u8> {
        let byte = self.bytes.get(self.at).copied();
        let byte = byte.ok_or(WireError::Truncated { offset: self.at, what })?;
        self.at += 1;
        Ok(byte)
    }

    /// A number in the shortest LEB128.
    pub(crate) fn number(&mut self, what: &'static str) -> Wire<u64> {
        let offset = self.at;
        let mut value = 0u64;
        for shift in (0..).step_by(7) {
            let byte = self.byte(what)?;
            let bits = u64::from(byte & 0x7F);
            if shift > 63 || bits << shift >> shift != bits || (byte == 0 && shift > 0) {
                return Err(WireError::Number { offset, what });
            }
            value |= bits << shift;
            if byte < 0x80 {
                break;
            }
        }
        Ok(value)
    }

    pub(crate) fn small(&mut self, what: &'static str) -> Wire<u32> {
        let offset = self.at;
        let value = self.number(what)?;
        u32::try_from(value).map_err(|_| WireError::Number { offset, what })
    }

    /// The size of a table, each of whose entries takes at least two bytes.
    pub(crate) fn count(&mut self, what: &'static str) -> Wire<u32> {
        let offset = self.at;
        let count = self.small(what)?;
        let left = self.bytes.len() - self.at;
        if count as usize > left / 2 {
            return Err(WireError::Count { offset, what, count, left });
        }
        Ok(count)
    }

    pub(crate) fn string(&mut self) -> Wire<String> {
        let offset = self.at;
        let bytes = self.blob("a name's length", "a name")?;
        std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| WireError::Utf8 { offset })
    }

    /// Bytes after their number.
    pub(crate) fn blob(&mut self, length: &'static str, what: &'static str) -> Wire<&'a [u8]> {
        let offset = self.at;
        let len = self.small(length)? as usize;
        let start = self.at;
        let Some(bytes) = start.checked_add(len).and_then(|end| self.bytes.get(start..end)) else {
            return Err(WireError::Truncated { offset, what });
        };
        self.at = start + len;
        Ok(bytes)
    }

    /// A constant: its type and bits.
    pub(crate) fn value(&mut self) -> Wire<Value> {
        let ty = self.data_type()?;
        let offset = self.at;
        let bits = self.number("a constant")?;
        let value = Value::from_bits(ty, bits);
        match value.bits() == bits {
            true => Ok(value),
            false => Err(WireError::Number { offset, what: "a constant" }),
        }
    }

    pub(crate) fn tagged<T>(&mut self, what: &'static str, find: impl Fn(u8) -> Option<T>) -> Wire<T> {
        let offset = self.at;
        let tag = self.byte(what)?;
        find(tag).ok_or(WireError::Tag { offset, what, tag })
    }

    pub(crate) fn flag(&mut self, what: &'static str) -> Wire<bool> {
        self.tagged(what, |tag| match tag {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        })
    }

    pub(crate) fn data_type(&mut self) -> Wire<DataType> {
        self.tagged("element type", DataType::from_tag)
    }

    /// An id of a table of `count` entries.
    pub(crate) fn id(&mut self, what: &'static str, count: usize) -> Wire<u32> {
        let offset = self.at;
        let index = self.small(what)?;
        if index as usize >= count {
            return Err(WireError::Dangling { offset, what, index, count });
        }
        Ok(index)
    }

    pub(crate) fn pick<T: Copy>(&mut self, what: &'static str, table: &[T]) -> Wire<T> {
        let offset = self.at;
        let index = self.small(what)?;
        table.get(index as usize).copied().ok_or(WireError::Dangling {
            offset,
            what,
            index,
            count: table.len(),
        })
    }

    /// An operand, as how far it lies before its user, the next of the table.
    pub(crate) fn back<T: Copy>(&mut self, what: &'static str, table: &[T]) -> Wire<T> {
        let offset = self.at;
        let distance = self.small(what)?;
        let index = table.len().checked_sub(distance as usize);
        index.and_then(|index| table.get(index)).copied().ok_or(WireError::Dangling {
            offset,
            what,
            index: distance,
            count: table.len(),
        })
    }

    // Declarations.

    fn declarations(&mut self, arena: &mut Arena) -> Wire<()> {
        for _ in 0..self.count("params")? {
            let name = self.string()?;
            let ty = self.data_type()?;
            let specialize = self.flag("specialize flag")?;
            arena.param(Param { name, ty, specialize });
            self.counts.params += 1;
        }
        // Extents come after the buffers whose counts they are.
        let mut extents_of = Vec::new();
        for _ in 0..self.count("buffers")? {
            let name = self.string()?;
            let element = self.data_type()?;
            let (access, coherent) = self.tagged("access", |tag| {
                let access = Access::ALL.get(usize::from(tag & !tags::COHERENT)).copied()?;
                Some((access, tag & tags::COHERENT != 0))
            })?;
            let buffer = arena.buffer(Buffer { name, element, access, count: Count::Bytes, coherent });
            let offset = self.at;
            let count = self.number("buffer count")?;
            if let Some(extent) = count.checked_sub(1) {
                extents_of.push((offset, buffer, extent));
            }
            self.counts.buffers += 1;
        }
        for _ in 0..self.count("shared arrays")? {
            let array = self.array()?;
            arena.shared(array);
            self.counts.shared += 1;
        }
        for _ in 0..self.count("private arrays")? {
            let array = self.array()?;
            arena.private(array);
            self.counts.privates += 1;
        }
        for _ in 0..self.count("tiles")? {
            let tile = self.tile_declaration()?;
            arena.tile(tile);
            self.counts.tiles += 1;
        }
        for _ in 0..self.count("variables")? {
            let name = self.string()?;
            let ty = self.data_type()?;
            arena.var(Variable { name, ty });
            self.counts.vars += 1;
        }
        let mut extents: Vec<ExtentId> = Vec::new();
        for _ in 0..self.count("extents")? {
            let extent = self.extent(&extents)?;
            extents.push(arena.extent(extent));
        }
        for (offset, buffer, index) in extents_of {
            let found = usize::try_from(index).ok().and_then(|index| extents.get(index));
            let &extent = found.ok_or(WireError::Dangling {
                offset,
                what: "extent",
                index: u32::try_from(index).unwrap_or(u32::MAX),
                count: extents.len(),
            })?;
            arena.set_count(buffer, Count::Extent(extent));
        }
        let launch = self.launch(&extents)?;
        arena.set_launch(launch);
        Ok(())
    }

    fn array(&mut self) -> Wire<Array> {
        Ok(Array { name: self.string()?, element: self.data_type()?, len: self.small("an array's length")? })
    }

    fn tile_declaration(&mut self) -> Wire<Tile> {
        let name = self.string()?;
        let role = self.tagged("tile role", |tag| TileRole::ALL.get(usize::from(tag)).copied())?;
        let element = self.data_type()?;
        let (rows, columns) = (self.small("a tile's rows")?, self.small("a tile's columns")?);
        Ok(Tile { name, ty: TileType { role, element, rows, columns } })
    }

    fn extent(&mut self, extents: &[ExtentId]) -> Wire<Extent> {
        let offset = self.at;
        Ok(match self.byte("an extent")? {
            tags::extent::LITERAL => Extent::Literal(self.number("an extent")?),
            tags::extent::PARAM => Extent::Param(ParamId::new(self.id("param", self.counts.params)?)),
            tags::extent::LENGTH => Extent::Length(BufferId::new(self.id("buffer", self.counts.buffers)?)),
            tag => {
                let op = ExtentOp::from_tag(tag).ok_or(WireError::Tag { offset, what: "extent", tag })?;
                let a = self.back("extent", extents)?;
                (op.make)(a, self.back("extent", extents)?)
            }
        })
    }

    fn launch(&mut self, extents: &[ExtentId]) -> Wire<Launch> {
        let offset = self.at;
        match self.byte("the launch")? {
            tags::launch::DOMAIN => {
                let axes = self.byte("the launch")?;
                Ok(Launch::Domain { extent: self.three(|r| r.pick("extent", extents))?, axes })
            }
            tags::launch::WORKGROUPS => {
                let size = self.three(|r| r.small("a workgroup's size"))?;
                Ok(Launch::Workgroups { size, count: self.three(|r| r.pick("extent", extents))? })
            }
            tags::launch::INDIRECT => {
                let size = self.three(|r| r.small("a workgroup's size"))?;
                Ok(Launch::Indirect { size, counts: BufferId::new(self.id("buffer", self.counts.buffers)?) })
            }
            tag => Err(WireError::Tag { offset, what: "launch", tag }),
        }
    }

    pub(crate) fn three<T>(&mut self, mut f: impl FnMut(&mut Self) -> Wire<T>) -> Wire<[T; 3]> {
        Ok([f(self)?, f(self)?, f(self)?])
    }

    // Expressions.

    fn expr(&mut self, exprs: &[ExprId]) -> Wire<Expr> {
        const OPERAND: &str = "expression";
        let offset = self.at;
        Ok(match self.byte("an expression")? {
            tags::expr::LITERAL => Expr::Literal(self.value()?),
            tags::expr::PARAM => Expr::Param(ParamId::new(self.id("param", self.counts.params)?)),
            tags::expr::BUILT_IN => Expr::BuiltIn(
                self.tagged("built-in value", |tag| BuiltIn::ALL.get(usize::from(tag)).copied())?,
            ),
            tags::expr::LENGTH => Expr::Length(BufferId::new(self.id("buffer", self.counts.buffers)?)),
            tags::expr::RESULT => Expr::Result(self.node_ref()?),
            tags::expr::LOOP_VAR => Expr::LoopVar(self.node_ref()?),
            tags::expr::UNARY => {
                let op = self.tagged("unary op", UnaryOp::from_tag)?;
                Expr::Unary(op, self.back(OPERAND, exprs)?)
            }
            tags::expr::BINARY => {
                let op = self.tagged("binary op", BinaryOp::from_tag)?;
                let a = self.back(OPERAND, exprs)?;
                Expr::Binary(op, a, self.back(OPERAND, exprs)?)
            }
            tags::expr::TERNARY => {
                let op = self.tagged("ternary op", TernaryOp::from_tag)?;
                let [a, b, c] = self.three(|r| r.back(OPERAND, exprs))?;
                Expr::Ternary(op, a, b, c)
            }
            tags::expr::CAST => {
                let op = self.tagged("cast op", CastOp::from_tag)?;
                let ty = self.data_type()?;
                Expr::Cast(op, ty, self.back(OPERAND, exprs)?)
            }
            tag => return Err(WireError::Tag { offset, what: "expression", tag }),
        })
    }

    fn node_ref(&mut self) -> Wire<NodeId> {
        let offset = self.at;
        let node = NodeId::new(self.small("node")?);
        self.node_refs.push((offset, node));
        Ok(node)
    }

    // Nodes.

    fn body(&mut self, arena: &mut Arena, exprs: &[ExprId]) -> Wire<()> {
        let mut open = vec![arena.program().body()];
        while let Some(&region) = open.last() {
            let offset = self.at;
            let tag = self.byte("the body")?;
            if tag == tags::node::END {
                open.pop();
                continue;
            }
            let node = self.node(offset, tag, arena, exprs)?;
            arena.push(region, node);
            open.extend(node.regions().rev());
        }
        Ok(())
    }

    fn node(&mut self, offset: usize, tag: u8, arena: &mut Arena, exprs: &[ExprId]) -> Wire<Node> {
        let mut region = || -> RegionId { arena.region() };
        Ok(match tag {
            tags::node::LOAD => Node::Load { place: self.place()?, index: self.operand(exprs)? },
            tags::node::STORE => {
                let place = self.place()?;
                Node::Store { place, index: self.operand(exprs)?, value: self.operand(exprs)? }
            }
            tags::node::ATOMIC => {
                let op = self.tagged("atomic op", AtomicOp::from_tag)?;
                let expects = self.flag("expected-value flag")?;
                let place = self.place()?;
                let (index, value) = (self.operand(exprs)?, self.operand(exprs)?);
                Node::Atomic { op, place, index, value, expected: self.optional(expects, exprs)? }
            }
            tags::node::DECLARE => Node::Declare { var: self.var()?, init: self.operand(exprs)? },
            tags::node::GET => Node::Get { var: self.var()? },
            tags::node::SET => Node::Set { var: self.var()?, value: self.operand(exprs)? },
            tags::node::IF => {
                Node::If { condition: self.operand(exprs)?, then: region(), otherwise: region() }
            }
            tags::node::FOR => {
                let [start, end, step] = self.three(|r| r.operand(exprs))?;
                Node::For { start, end, step, body: region() }
            }
            tags::node::WHILE => {
                Node::While { condition: self.operand(exprs)?, head: region(), body: region() }
            }
            tags::node::BREAK => Node::Break,
            tags::node::CONTINUE => Node::Continue,
            tags::node::RETURN => Node::Return,
            tags::node::BARRIER => Node::Barrier { ordering: self.ordering()? },
            tags::node::FENCE => {
                let ordering = self.ordering()?;
                let scope =
                    self.tagged("fence scope", |tag| FenceScope::ALL.get(usize::from(tag)).copied())?;
                Node::Fence { ordering, scope }
            }
            tags::node::COLLECTIVE => {
                let op = self.tagged("collective op", CollectiveOp::from_tag)?;
                let names = self.flag("rank flag")?;
                let value = self.operand(exprs)?;
                Node::Collective { op, value, rank: self.optional(names, exprs)? }
            }
            tags::node::SUBGROUP => {
                let op = self.tagged("subgroup op", SubgroupOp::from_tag)?;
                let names = self.flag("lane flag")?;
                let value = self.operand(exprs)?;
                Node::Subgroup { op, value, lane: self.optional(names, exprs)? }
            }
            tags::node::TRAP => {
                Node::Trap { code: self.small("a trap's code")?, address: self.operand(exprs)? }
            }
            tags::node::TILE => Node::Tile { tile: self.tile()?, action: self.tile_action(exprs)? },
            tag => return Err(WireError::Tag { offset, what: "node", tag }),
        })
    }

    fn ordering(&mut self) -> Wire<MemoryOrdering> {
        self.tagged("memory ordering", |tag| MemoryOrdering::ALL.get(usize::from(tag)).copied())
    }

    fn tile_action(&mut self, exprs: &[ExprId]) -> Wire<TileAction> {
        let offset = self.at;
        Ok(match self.byte("a tile op")? {
            tags::tile::FILL => TileAction::Fill { value: self.operand(exprs)? },
            tags::tile::LOAD => {
                let (place, layout) = self.tile_place()?;
                TileAction::Load { place, index: self.operand(exprs)?, stride: self.operand(exprs)?, layout }
            }
            tags::tile::STORE => {
                let (place, layout) = self.tile_place()?;
                TileAction::Store { place, index: self.operand(exprs)?, stride: self.operand(exprs)?, layout }
            }
            tags::tile::MULTIPLY_ADD => {
                TileAction::MultiplyAdd { a: self.tile()?, b: self.tile()?, c: self.tile()? }
            }
            tags::tile::ADD => TileAction::Add { a: self.tile()?, b: self.tile()? },
            tags::tile::SUBTRACT => TileAction::Subtract { a: self.tile()?, b: self.tile()? },
            tags::tile::SCALE => TileAction::Scale { a: self.tile()?, factor: self.operand(exprs)? },
            tag => return Err(WireError::Tag { offset, what: "tile op", tag }),
        })
    }

    fn tile_place(&mut self) -> Wire<(Place, TileLayout)> {
        let place = self.place()?;
        Ok((place, self.tagged("tile layout", |tag| TileLayout::ALL.get(usize::from(tag)).copied())?))
    }

    fn tile(&mut self) -> Wire<TileId> {
        self.id("tile", self.counts.tiles).map(TileId::new)
    }

    fn operand(&mut self, exprs: &[ExprId]) -> Wire<ExprId> {
        self.pick("expression", exprs)
    }

    fn optional(&mut self, present: bool, exprs: &[ExprId]) -> Wire<Option<ExprId>> {
        if present { self.operand(exprs).map(Some) } else { Ok(None) }
    }

    fn var(&mut self) -> Wire<VarId> {
        self.id("variable", self.counts.vars).map(VarId::new)
    }

    fn place(&mut self) -> Wire<Place> {
        let offset = self.at;
        Ok(match self.byte("an array")? {
            tags::place::BUFFER => Place::Buffer(BufferId::new(self.id("buffer", self.counts.buffers)?)),
            tags::place::SHARED => Place::Shared(SharedId::new(self.id("shared array", self.counts.shared)?)),
            tags::place::PRIVATE => {
                Place::Private(PrivateId::new(self.id("private array", self.counts.privates)?))
            }
            tag => return Err(WireError::Tag { offset, what: "array", tag }),
        })
    }
}
