//! The normal form: nodes, regions, variables, expressions and extents numbered as the text reads, nothing
//! unused. Equal programs become equal values.

use super::{
    ArenaError, Count, Expr, ExprId, Extent, ExtentId, Launch, Node, NodeId, Place, Program, RegionId, VarId,
    Variable,
};

/// Where the arena's nodes, expressions and variables went.
#[derive(Clone, Debug, Default)]
pub struct Renumbering {
    nodes: Vec<Option<NodeId>>,
    vars: Vec<Option<VarId>>,
    exprs: Vec<Option<ExprId>>,
}

impl Renumbering {
    /// The finished program's id of an arena node, unless it stood nowhere.
    pub fn node(&self, id: NodeId) -> Option<NodeId> {
        self.nodes.get(id.index()).copied().flatten()
    }

    /// The finished program's id of an arena variable, unless no node names it.
    pub fn var(&self, id: VarId) -> Option<VarId> {
        self.vars.get(id.index()).copied().flatten()
    }

    /// The finished program's id of an arena expression, unless it was unused.
    pub fn expr(&self, id: ExprId) -> Option<ExprId> {
        self.exprs.get(id.index()).copied().flatten()
    }
}

/// The program in normal form, whose tables `source` has in any order.
pub(super) fn normalize(source: Program) -> Result<(Program, Renumbering), ArenaError> {
    Normalizer::new(source)?.run()
}

/// That an id is one of a table's.
fn in_range(what: &'static str, index: u32, count: usize) -> Result<(), ArenaError> {
    if (index as usize) < count {
        return Ok(());
    }
    Err(ArenaError::Dangling { what, index, count: count as u32 })
}

/// Renumbers by a walk in text order.
struct Normalizer {
    source: Program,
    nodes: Vec<Option<NodeId>>,
    regions: Vec<Option<RegionId>>,
    vars: Vec<Option<VarId>>,
    exprs: Vec<Option<ExprId>>,
    extents: Vec<Option<ExtentId>>,
    out_vars: Vec<Variable>,
    out_nodes: Vec<Node>,
    out_regions: Vec<Vec<NodeId>>,
    out_exprs: Vec<Expr>,
    out_extents: Vec<Extent>,
}

impl Normalizer {
    fn new(source: Program) -> Result<Self, ArenaError> {
        let sizes = [
            ("buffer", source.buffers.len()),
            ("node", source.nodes.len()),
            ("region", source.regions.len()),
            ("expression", source.exprs.len()),
            ("extent", source.extents.len()),
        ];
        if let Some((what, _)) = sizes.into_iter().find(|&(_, len)| len > u32::MAX as usize) {
            return Err(ArenaError::TooMany(what));
        }
        Ok(Self {
            nodes: vec![None; source.nodes.len()],
            regions: vec![None; source.regions.len()],
            vars: vec![None; source.vars.len()],
            exprs: vec![None; source.exprs.len()],
            extents: vec![None; source.extents.len()],
            out_vars: Vec::new(),
            out_nodes: Vec::with_capacity(source.nodes.len()),
            out_regions: Vec::with_capacity(source.regions.len()),
            out_exprs: Vec::with_capacity(source.exprs.len()),
            out_extents: Vec::new(),
            source,
        })
    }

    fn run(mut self) -> Result<(Program, Renumbering), ArenaError> {
        for i in 0..self.source.buffers.len() {
            if let Count::Extent(x) = self.source.buffers[i].count {
                let x = self.extent(x)?;
                self.source.buffers[i].count = Count::Extent(x);
            }
        }
        let launch = self.source.launch;
        if let Launch::Indirect { counts, .. } = launch {
            in_range("buffer", counts.raw(), self.source.buffers.len())?;
        }
        let mut mapped = launch.extents().into_iter().flatten().map(|x| self.extent(x));
        let mapped: Vec<ExtentId> = mapped.by_ref().collect::<Result<_, _>>()?;
        let mut mapped = mapped.into_iter();
        self.source.launch = launch.map_extents(|x| mapped.next().unwrap_or(x));
        self.place_region(RegionId::new(0))?;
        self.number_vars();
        // Nodes are numbered; now that every `Result` can be mapped, number the expressions.
        self.number_exprs()?;
        let renumbering = Renumbering { nodes: self.nodes, vars: self.vars, exprs: self.exprs };
        let program = Program {
            vars: self.out_vars,
            nodes: self.out_nodes,
            regions: self.out_regions,
            exprs: self.out_exprs,
            extents: self.out_extents,
            ..self.source
        };
        Ok((program, renumbering))
    }

    /// Numbers regions and nodes in text order: a node before its regions, a region before the next node.
    fn place_region(&mut self, root: RegionId) -> Result<(), ArenaError> {
        // Each frame is a region (old id) and the position of its next node.
        let mut stack = vec![(root, 0usize)];
        self.open_region(root)?;
        while let Some((region, position)) = stack.pop() {
            let Some(&node) = self.source.regions[region.index()].get(position) else { continue };
            stack.push((region, position + 1));
            let table = self.source.nodes.len();
            let Some(slot) = self.nodes.get_mut(node.index()) else {
                return Err(ArenaError::Dangling { what: "node", index: node.raw(), count: table as u32 });
            };
            if slot.is_some() {
                return Err(ArenaError::Shared { what: "node", index: node.raw() });
            }
            let new = NodeId::new(self.out_nodes.len() as u32);
            *slot = Some(new);
            let body = self.source.nodes[node.index()];
            self.check_place(&body)?;
            self.out_nodes.push(body);
            if let Some(Some(home)) = self.regions.get(region.index()) {
                self.out_regions[home.index()].push(new);
            }
            for child in body.regions() {
                self.open_region(child)?;
            }
            stack.extend(body.regions().rev().map(|child| (child, 0)));
            let regions = &self.regions;
            self.out_nodes[new.index()] = body.map_regions(|r| regions[r.index()].unwrap_or(r));
        }
        Ok(())
    }

    fn open_region(&mut self, id: RegionId) -> Result<(), ArenaError> {
        let count = self.source.regions.len() as u32;
        let new = RegionId::new(self.out_regions.len() as u32);
        match self.regions.get_mut(id.index()) {
            None => Err(ArenaError::Dangling { what: "region", index: id.raw(), count }),
            Some(Some(_)) => Err(ArenaError::Shared { what: "region", index: id.raw() }),
            Some(slot) => {
                *slot = Some(new);
                self.out_regions.push(Vec::new());
                Ok(())
            }
        }
    }

    fn check_place(&self, node: &Node) -> Result<(), ArenaError> {
        match node.place() {
            Some(Place::Buffer(id)) => in_range("buffer", id.raw(), self.source.buffers.len())?,
            Some(Place::Shared(id)) => in_range("shared array", id.raw(), self.source.shared.len())?,
            Some(Place::Private(id)) => in_range("private array", id.raw(), self.source.privates.len())?,
            None => {}
        }
        if let Some(var) = node.var() {
            in_range("variable", var.raw(), self.source.vars.len())?;
        }
        if let Node::Tile { tile, action } = *node {
            for tile in action.tiles().into_iter().flatten().chain([tile]) {
                in_range("tile", tile.raw(), self.source.tiles.len())?;
            }
        }
        Ok(())
    }

    /// Numbers variables by the first node that names them, in text order; others are dropped.
    fn number_vars(&mut self) {
        for node in &mut self.out_nodes {
            if let Some(var) = node.var_mut() {
                let Some(slot) = self.vars.get_mut(var.index()) else { continue };
                *var = *slot.get_or_insert_with(|| {
                    self.out_vars.push(self.source.vars[var.index()].clone());
                    VarId::new(self.out_vars.len() as u32 - 1)
                });
            }
        }
    }

    /// Numbers expressions by first use in text order, operands before users.
    fn number_exprs(&mut self) -> Result<(), ArenaError> {
        let mut stack = Vec::new();
        for i in 0..self.out_nodes.len() {
            let node = self.out_nodes[i];
            for operand in node.operands() {
                self.expr(operand, &mut stack)?;
            }
            let exprs = &self.exprs;
            self.out_nodes[i] = node.map_operands(|e| exprs[e.index()].unwrap_or(e));
        }
        Ok(())
    }

    fn expr(&mut self, root: ExprId, stack: &mut Vec<ExprId>) -> Result<(), ArenaError> {
        let count = self.source.exprs.len() as u32;
        stack.push(root);
        while let Some(&id) = stack.last() {
            match self.exprs.get(id.index()) {
                None => return Err(ArenaError::Dangling { what: "expression", index: id.raw(), count }),
                Some(Some(_)) => {
                    stack.pop();
                    continue;
                }
                Some(None) => {}
            }
            let expr = self.source.exprs[id.index()];
            let depth = stack.len();
            for operand in expr.operands() {
                if operand.raw() >= id.raw() {
                    return Err(ArenaError::Order { what: "expression", index: id.raw() });
                }
                if self.exprs[operand.index()].is_none() {
                    stack.push(operand);
                }
            }
            if stack.len() > depth {
                // The first operand is numbered first.
                stack[depth..].reverse();
                continue;
            }
            stack.pop();
            let exprs = &self.exprs;
            let mut mapped = expr.map_operands(|e| exprs[e.index()].unwrap_or(e));
            match &mut mapped {
                Expr::Result(node) | Expr::LoopVar(node) => {
                    let new = self.nodes.get(node.index()).copied().flatten();
                    *node = new.ok_or(ArenaError::Unplaced(node.raw()))?;
                }
                Expr::Param(id) => in_range("parameter", id.raw(), self.source.params.len())?,
                Expr::Length(id) => in_range("buffer", id.raw(), self.source.buffers.len())?,
                _ => {}
            }
            self.exprs[id.index()] = Some(ExprId::new(self.out_exprs.len() as u32));
            self.out_exprs.push(mapped);
        }
        Ok(())
    }

    fn extent(&mut self, root: ExtentId) -> Result<ExtentId, ArenaError> {
        let count = self.source.extents.len() as u32;
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            match self.extents.get(id.index()) {
                None => return Err(ArenaError::Dangling { what: "extent", index: id.raw(), count }),
                Some(Some(_)) => {
                    stack.pop();
                    continue;
                }
                Some(None) => {}
            }
            let extent = self.source.extents[id.index()];
            let depth = stack.len();
            for operand in extent.operands().into_iter().flatten() {
                if operand.raw() >= id.raw() {
                    return Err(ArenaError::Order { what: "extent", index: id.raw() });
                }
                if self.extents[operand.index()].is_none() {
                    stack.push(operand);
                }
            }
            if stack.len() > depth {
                stack[depth..].reverse();
                continue;
            }
            stack.pop();
            match extent {
                Extent::Param(id) => in_range("parameter", id.raw(), self.source.params.len())?,
                Extent::Length(id) => in_range("buffer", id.raw(), self.source.buffers.len())?,
                _ => {}
            }
            let extents = &self.extents;
            let mapped = extent.map_operands(|x| extents[x.index()].unwrap_or(x));
            self.extents[id.index()] = Some(ExtentId::new(self.out_extents.len() as u32));
            self.out_extents.push(mapped);
        }
        Ok(self.extents[root.index()].unwrap_or(root))
    }
}
