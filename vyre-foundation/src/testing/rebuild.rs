//! A program with some of it left out or replaced.

use std::collections::{BTreeMap, BTreeSet};

use vyre_spec::Value;

use crate::check::{Checked, check};
use crate::ir::{
    Arena, Buffer, Count, Expr, ExprId, ExtentId, Node, NodeId, Place, PrivateId, Program, RegionId, SharedId,
};

/// What is to change.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits {
    /// Nodes to leave out, with all that they hold; their results become zero.
    pub(super) drop: BTreeSet<NodeId>,
    /// Constructs to replace by the nodes of one of their regions. A loop's variable becomes its start.
    pub(super) inline: BTreeMap<NodeId, RegionId>,
    /// Expressions to replace by a constant.
    pub(super) constants: BTreeMap<ExprId, Value>,
    /// Expressions to replace by an earlier one.
    pub(super) aliases: BTreeMap<ExprId, ExprId>,
}

/// A checked program with the edits made, and without variables and arrays that nothing uses; `None` if the
/// checker refuses it.
pub(super) fn rebuild(program: &Checked<Program>, edits: &Edits) -> Option<Checked<Program>> {
    let kept = kept_nodes(program, edits);
    let mut arena = Arena::with_declarations_of(program);
    // The arena numbers nodes as they are made.
    let mut nodes: Vec<Option<NodeId>> = vec![None; program.nodes().len()];
    let stays = |id: &NodeId| kept[id.index()] && !edits.inline.contains_key(id);
    let order = (0..program.nodes().len() as u32).map(NodeId::new).filter(stays);
    for (new, id) in (0..).zip(order) {
        nodes[id.index()] = Some(NodeId::new(new));
    }
    let exprs = exprs(program, edits, &nodes, &mut arena);
    let mut regions: Vec<Option<RegionId>> = vec![None; program.regions().len()];
    if let Some(root) = regions.first_mut() {
        *root = Some(RegionId::new(0));
    }
    for (i, node) in program.nodes().iter().enumerate() {
        if nodes[i].is_none() {
            continue;
        }
        for region in node.regions() {
            regions[region.index()] = Some(arena.region());
        }
        let node = node.map_operands(|e| exprs[e.index()]);
        arena.node(node.map_regions(|r| regions[r.index()].unwrap_or(r)));
    }
    for (i, new) in regions.iter().enumerate() {
        let Some(new) = *new else { continue };
        let mut stack: Vec<NodeId> = program.region(RegionId::new(i as u32)).iter().rev().copied().collect();
        while let Some(id) = stack.pop() {
            if let Some(&region) = edits.inline.get(&id).filter(|_| kept[id.index()]) {
                stack.extend(program.region(region).iter().rev());
            } else if let Some(node) = nodes[id.index()] {
                arena.place_node(new, node);
            }
        }
    }
    let (program, _) = arena.finish().ok()?;
    check(without_unused(&program)?).ok()
}

/// Which nodes remain: not dropped, and in no dropped region.
fn kept_nodes(program: &Program, edits: &Edits) -> Vec<bool> {
    let mut kept = vec![false; program.nodes().len()];
    let mut stack = vec![program.body()];
    while let Some(region) = stack.pop() {
        for &id in program.region(region) {
            if edits.drop.contains(&id) {
                continue;
            }
            kept[id.index()] = true;
            match edits.inline.get(&id) {
                Some(&region) => stack.push(region),
                None => stack.extend(program.node(id).regions()),
            }
        }
    }
    kept
}

/// The new ids of all expressions; those that nothing uses vanish in the normal form.
fn exprs(
    program: &Checked<Program>,
    edits: &Edits,
    nodes: &[Option<NodeId>],
    arena: &mut Arena,
) -> Vec<ExprId> {
    let mut map: Vec<ExprId> = Vec::with_capacity(program.exprs().len());
    for (i, expr) in program.exprs().iter().enumerate() {
        let id = ExprId::new(i as u32);
        let zero = Expr::Literal(Value::zero(program.facts().type_of(id)));
        let new = match (edits.constants.get(&id), edits.aliases.get(&id)) {
            (Some(&value), _) => arena.expr(Expr::Literal(value)),
            (None, Some(&alias)) if alias < id => map[alias.index()],
            _ => match *expr {
                Expr::Result(node) => arena.expr(nodes[node.index()].map_or(zero, Expr::Result)),
                Expr::LoopVar(node) => match (nodes[node.index()], *program.node(node)) {
                    (Some(node), _) => arena.expr(Expr::LoopVar(node)),
                    (None, Node::For { start, .. }) if start < id => map[start.index()],
                    _ => arena.expr(zero),
                },
                expr => arena.expr(expr.map_operands(|e| map[e.index()])),
            },
        };
        map.push(new);
    }
    map
}

/// The program without shared and private arrays that no node addresses; normal form itself leaves out
/// variables that no node names.
fn without_unused(program: &Program) -> Option<Program> {
    let mut arena = Arena::new(program.name());
    let mut extents = Vec::new();
    for extent in program.extents() {
        let mapped = extent.map_operands(|x| extents.get(x.index()).copied().unwrap_or(x));
        extents.push(arena.extent(mapped));
    }
    let extent = |x: ExtentId| extents.get(x.index()).copied().unwrap_or(x);
    for param in program.params() {
        arena.param(param.clone());
    }
    for buffer in program.buffers() {
        let count = match buffer.count {
            Count::Bytes => Count::Bytes,
            Count::Extent(x) => Count::Extent(extent(x)),
        };
        arena.buffer(Buffer { count, ..buffer.clone() });
    }
    arena.set_launch(program.launch().map_extents(extent));
    let places: BTreeSet<Place> = program.nodes().iter().filter_map(Node::place).collect();
    let mut shared = BTreeMap::new();
    for (i, array) in (0..).map(SharedId::new).zip(program.shared()) {
        if places.contains(&Place::Shared(i)) {
            shared.insert(i, arena.shared(array.clone()));
        }
    }
    let mut privates = BTreeMap::new();
    for (i, array) in (0..).map(PrivateId::new).zip(program.privates()) {
        if places.contains(&Place::Private(i)) {
            privates.insert(i, arena.private(array.clone()));
        }
    }
    for tile in program.tiles() {
        arena.tile(tile.clone());
    }
    for var in program.vars() {
        arena.var(var.clone());
    }
    let place = |place: Place| match place {
        Place::Shared(id) => shared.get(&id).copied().map(Place::Shared),
        Place::Private(id) => privates.get(&id).copied().map(Place::Private),
        buffer @ Place::Buffer(_) => Some(buffer),
    };
    let mut exprs = Vec::with_capacity(program.exprs().len());
    for expr in program.exprs() {
        let mapped = expr.map_operands(|e| exprs.get(e.index()).copied().unwrap_or(e));
        exprs.push(arena.expr(mapped));
    }
    for _ in 1..program.regions().len() {
        arena.region();
    }
    for node in program.nodes() {
        let mut node = node.map_operands(|e| exprs.get(e.index()).copied().unwrap_or(e));
        if let Some(p) = node.place_mut() {
            *p = place(*p)?;
        }
        arena.node(node);
    }
    for (i, nodes) in program.regions().iter().enumerate() {
        for &node in nodes {
            arena.place_node(RegionId::new(i as u32), node);
        }
    }
    arena.finish().ok().map(|(program, _)| program)
}
