//! Uniformity of values and control flow.
//!
//! * A barrier stands in flow that all invocations of a workgroup share; one that synchronises the grid, in
//!   flow that the whole launch shares.
//! * A subgroup op stands in flow that all invocations of a workgroup share.
//! * A collective stands in flow that the whole launch shares.
//!
//! What is uniform follows from what it depends on, solved as the least fixpoint over [`super::graph`]:
//!
//! * Literals, parameters, lengths and the launch's extent are the same everywhere; workgroup ids within a
//!   workgroup; ids of invocations nowhere (but on an axis of one invocation).
//! * A load from a `readonly` or `uniform` buffer is as uniform as its index. What other invocations may
//!   write, and atomics and subgroup ops, is divergent.
//! * A variable is as uniform as every value that it is given and the flow in which it is given it.
//! * A branch is as uniform as its condition and the flow that reaches it; a loop, as its bounds or
//!   condition and every `break` out of it.
//! * After a `return`, `break` or `continue`, the flow is as uniform as the flow that reached that: for the
//!   rest of the program, the loop, or the trip.
//! * A workgroup of one invocation is uniform.

use vyre_spec::{Access, BuiltIn, MemoryOrdering};

use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{Expr, ExprId, Launch, Node, NodeId, Place, Program, RegionId, TileAction};

use super::declarations::workgroup_invocations;
use super::facts::Uniformity;
use super::graph::{Graph, Point};
use super::tree::{Enclosing, Tree, expr_ids, ids};

/// The uniformity of each expression, and of the flow that reaches each node.
pub(crate) struct Solution {
    pub(crate) exprs: Vec<Uniformity>,
    pub(crate) flow: Vec<Uniformity>,
}

/// Solves uniformity, and checks what needs it.
pub(crate) fn check(program: &Program, tree: &Tree, findings: &mut Vec<Diagnostic>) -> Solution {
    let mut graph = Graph::new(program);
    for (id, expr) in expr_ids(program) {
        value(program, &mut graph, id, expr);
    }
    for (id, node) in ids(program) {
        effects(program, tree, &mut graph, id, node);
    }
    for (i, nodes) in (0..).zip(program.regions()) {
        sequence(program, &mut graph, RegionId::new(i), nodes);
    }
    graph.solve();
    for (id, node) in ids(program) {
        let flow = graph.level(Point::Flow(id));
        let (code, message) = match node {
            Node::Barrier { ordering: MemoryOrdering::GridSync } if flow > Uniformity::Launch => (
                Code::DivergentBarrier,
                "a grid barrier is in control flow that invocations of the launch do not share",
            ),
            Node::Barrier { .. } if flow > Uniformity::Workgroup => (
                Code::DivergentBarrier,
                "a barrier is in control flow that invocations of one workgroup do not share",
            ),
            Node::Subgroup { .. } if flow > Uniformity::Workgroup => (
                Code::DivergentSubgroup,
                "a subgroup op is in control flow that invocations of one workgroup do not share",
            ),
            Node::Collective { .. } if flow > Uniformity::Launch => (
                Code::DivergentCollective,
                "a collective is in control flow that invocations of the launch do not share",
            ),
            Node::Tile { .. } if flow > Uniformity::Subgroup => (
                Code::DivergentTile,
                "a tile op is in control flow that the invocations of one subgroup do not share",
            ),
            _ => continue,
        };
        let mut finding = Diagnostic::new(code, Site::Node(id), message);
        finding.related = explain(program, tree, &graph, Point::Flow(id));
        findings.push(finding.with_help(
            "move it to where every invocation comes, and make what each does before and after conditional instead",
        ));
    }
    tile_operands(program, tree, &graph, findings);
    Solution {
        exprs: expr_ids(program).map(|(id, _)| graph.level(Point::Expr(id))).collect(),
        flow: ids(program).map(|(id, _)| graph.level(Point::Flow(id))).collect(),
    }
}

/// Operands of tile ops, which act for a whole subgroup.
fn tile_operands(program: &Program, tree: &Tree, graph: &Graph, findings: &mut Vec<Diagnostic>) {
    for (id, node) in ids(program) {
        let Node::Tile { tile, action } = *node else { continue };
        let divergent = |e: &ExprId| graph.level(Point::Expr(*e)) > Uniformity::Subgroup;
        let Some(operand) = node.operands().find(divergent) else { continue };
        let what = match action {
            TileAction::Load { index, .. } | TileAction::Store { index, .. } if index == operand => {
                "the index"
            }
            TileAction::Load { .. } | TileAction::Store { .. } => "the stride",
            _ => "the value",
        };
        let message =
            format!("{what} of a tile op on `{}` differs among a subgroup", program.tile(tile).name);
        let mut finding = Diagnostic::new(Code::DivergentTile, Site::Node(id), message);
        finding.related = explain(program, tree, graph, Point::Expr(operand));
        findings.push(finding.with_help(
            "a tile op acts for a whole subgroup: compute its operands from workgroup and subgroup ids",
        ));
    }
}

/// Whether a workgroup surely has one invocation.
fn alone(launch: Launch) -> bool {
    launch.workgroup_size().and_then(workgroup_invocations) == Some(1)
}

/// The least uniform that anything in the launch can be.
fn bottom(program: &Program) -> Uniformity {
    if alone(program.launch()) { Uniformity::Workgroup } else { Uniformity::Divergent }
}

fn value(program: &Program, graph: &mut Graph, id: ExprId, expr: &Expr) {
    for operand in expr.operands() {
        graph.edge(Point::Expr(operand), Point::Expr(id));
    }
    match *expr {
        Expr::BuiltIn(built_in) => graph.seed(Point::Expr(id), built_in_uniformity(program, built_in)),
        Expr::Result(node) => graph.edge(Point::Effect(node), Point::Expr(id)),
        Expr::LoopVar(node) => {
            if let Node::For { body, .. } = *program.node(node) {
                graph.edge(Point::Entry(body), Point::Expr(id));
            }
        }
        _ => {}
    }
}

fn built_in_uniformity(program: &Program, built_in: BuiltIn) -> Uniformity {
    let one_wide = |axis: vyre_spec::Axis| match program.launch() {
        Launch::Workgroups { size, .. } | Launch::Indirect { size, .. } => size[axis.index()] == 1,
        Launch::Domain { axes, .. } => axis.index() >= usize::from(axes),
    };
    let level = match built_in {
        BuiltIn::Extent(_) | BuiltIn::WorkgroupCount(_) => Uniformity::Launch,
        BuiltIn::Point(axis) | BuiltIn::LocalId(axis) if one_wide(axis) => Uniformity::Launch,
        BuiltIn::LocalIndex if alone(program.launch()) => Uniformity::Launch,
        BuiltIn::GlobalId(axis) if one_wide(axis) => Uniformity::Workgroup,
        BuiltIn::WorkgroupId(_) | BuiltIn::SubgroupSize => Uniformity::Workgroup,
        BuiltIn::Point(_)
        | BuiltIn::LocalId(_)
        | BuiltIn::GlobalId(_)
        | BuiltIn::LocalIndex
        | BuiltIn::SubgroupLane => Uniformity::Divergent,
        BuiltIn::SubgroupId => Uniformity::Subgroup,
    };
    level.min(bottom(program))
}

/// What a node's result or write depends on, what the flow into its regions does, and where it jumps.
fn effects(program: &Program, tree: &Tree, graph: &mut Graph, id: NodeId, node: &Node) {
    let region = tree.node_regions[id.index()];
    match *node {
        Node::Load { place, index } => match place {
            Place::Buffer(buffer)
                if matches!(program.buffer(buffer).access, Access::ReadOnly | Access::Uniform) =>
            {
                graph.edge(Point::Expr(index), Point::Effect(id));
            }
            _ => graph.seed(Point::Effect(id), bottom(program)),
        },
        Node::Collective { .. } => {
            for operand in node.operands() {
                graph.edge(Point::Expr(operand), Point::Effect(id));
            }
        }
        Node::Atomic { .. } | Node::Subgroup { .. } => graph.seed(Point::Effect(id), bottom(program)),
        Node::Get { var } => graph.edge(Point::Var(var), Point::Effect(id)),
        Node::Declare { var, init: value } | Node::Set { var, value } => {
            graph.edge(Point::Flow(id), Point::Effect(id));
            graph.edge(Point::Expr(value), Point::Effect(id));
            graph.edge(Point::Effect(id), Point::Var(var));
        }
        Node::If { .. } | Node::For { .. } => {
            for child in node.regions() {
                graph.edge(Point::Flow(id), Point::Entry(child));
                for operand in node.operands() {
                    graph.edge(Point::Expr(operand), Point::Entry(child));
                }
            }
        }
        Node::While { head, condition, body } => {
            graph.edge(Point::Flow(id), Point::Entry(head));
            graph.edge(Point::Expr(condition), Point::Entry(head));
            graph.edge(Point::Entry(head), Point::Entry(body));
        }
        Node::Return => graph.edge(Point::Flow(id), Point::Returns(region)),
        Node::Continue => graph.edge(Point::Flow(id), Point::Jumps(region)),
        Node::Break => {
            graph.edge(Point::Flow(id), Point::Jumps(region));
            if let Enclosing::Body(holder) = tree.loops[region.index()] {
                if let Some(first) = program.node(holder).regions().next() {
                    graph.edge(Point::Flow(id), Point::Entry(first));
                }
            }
        }
        Node::Store { .. }
        | Node::Barrier { .. }
        | Node::Fence { .. }
        | Node::Trap { .. }
        | Node::Tile { .. } => {}
    }
}

/// How flow goes along a region, and what leaving it early does to what follows.
fn sequence(program: &Program, graph: &mut Graph, region: RegionId, nodes: &[NodeId]) {
    let mut before = Point::Entry(region);
    for (position, &id) in nodes.iter().enumerate() {
        graph.edge(before, Point::Flow(id));
        before = Point::Flow(id);
        let next = nodes.get(position + 1);
        let node = program.node(id);
        let is_loop = !matches!(node, Node::If { .. });
        for child in node.regions() {
            graph.edge(Point::Returns(child), Point::Returns(region));
            if !is_loop {
                graph.edge(Point::Jumps(child), Point::Jumps(region));
            }
            if let Some(&next) = next {
                graph.edge(Point::Returns(child), Point::Flow(next));
                if !is_loop {
                    graph.edge(Point::Jumps(child), Point::Flow(next));
                }
            }
            if let (true, Some(first)) = (is_loop, node.regions().next()) {
                // Later trips lack the invocations that returned.
                graph.edge(Point::Returns(child), Point::Entry(first));
            }
        }
    }
}

/// The places that made a point's level what it is, nearest first.
fn explain(program: &Program, tree: &Tree, graph: &Graph, point: Point) -> Vec<(Site, String)> {
    let mut related: Vec<(Site, String)> = Vec::new();
    let mut add = |site: Site, label: String| {
        if related.iter().all(|(other, _)| *other != site) {
            related.push((site, label));
        }
    };
    for (from, to) in graph.steps(point) {
        match (from, to) {
            (Point::Expr(_), Point::Entry(region)) => {
                let Some((holder, _)) = tree.parents[region.index()] else { continue };
                let label = match program.node(holder) {
                    Node::If { .. } => "invocations go different ways at this `if`",
                    Node::For { .. } => "invocations make different numbers of trips of this `for`",
                    _ => "invocations make different numbers of trips of this `while`",
                };
                add(Site::Node(holder), label.to_owned());
            }
            (Point::Flow(jump), _) => {
                let label = match program.node(jump) {
                    Node::Return => "some invocations return here, others go on",
                    Node::Break => "some invocations leave the loop here, others go on",
                    _ => "some invocations go to the next trip here, others go on",
                };
                add(Site::Node(jump), label.to_owned());
            }
            (Point::Effect(write), Point::Var(var)) => {
                let name = &program.var(var).name;
                add(Site::Node(write), format!("variable `{name}` gets different values here"));
            }
            _ => {}
        }
    }
    match graph.origin(point) {
        Point::Expr(expr) => {
            if let Expr::BuiltIn(built_in) = *program.expr(expr) {
                let among = match built_in_uniformity(program, built_in) {
                    Uniformity::Workgroup => "workgroups",
                    Uniformity::Subgroup => "subgroups",
                    _ => "invocations",
                };
                add(Site::Expr(expr), format!("`{built_in}` differs among {among}"));
            }
        }
        Point::Effect(node) => {
            let label = match *program.node(node) {
                Node::Load { place, .. } => {
                    format!(
                        "what is loaded from `{}` may differ: invocations may write it",
                        program.place(place).0
                    )
                }
                Node::Atomic { .. } => "an atomic gives each invocation another old value".to_owned(),
                _ => "a subgroup op gives each subgroup another result".to_owned(),
            };
            add(Site::Node(node), label);
        }
        _ => {}
    }
    related
}
