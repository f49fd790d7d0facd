//! Statements and blocks, on a stack of steps.

use super::Printer;
use super::points::Point;
use crate::ir::{Expr, ExprId, Node, NodeId, Place, RegionId, TileAction, TileId};
use crate::text::Span;
use crate::text::infer::default_step;
use vyre_spec::TileLayout;

enum Step {
    /// The node at a position of a region, and those after it.
    Nodes(RegionId, usize),
    /// The `else` of an `if`, after its first block.
    Else { then: RegionId, otherwise: RegionId },
    /// The end of a block, and of the loop variable's scope if it is a counted loop's.
    End(RegionId, Option<NodeId>),
    /// The end of a region whose brace another step writes.
    Leave(RegionId),
    /// A `while`'s condition and body, after its head.
    Condition { node: NodeId, start: u32, head: RegionId, condition: ExprId, body: RegionId, braces: bool },
}

impl Printer<'_> {
    pub(super) fn body(&mut self) {
        let mut steps = vec![Step::Nodes(self.program.body(), 0)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Nodes(region, position) => {
                    if let Some(&id) = self.program.region(region).get(position) {
                        steps.push(Step::Nodes(region, position + 1));
                        self.lets(self.plan.points.before(id));
                        self.line();
                        self.node(id, &mut steps);
                    }
                }
                Step::Else { then, otherwise } => {
                    self.leave(then);
                    self.otherwise(otherwise, &mut steps);
                }
                Step::End(region, counted) => {
                    self.leave(region);
                    if let Some(id) = counted {
                        self.visible[id.index()] = false;
                    }
                    self.close("}\n");
                }
                Step::Leave(region) => self.leave(region),
                Step::Condition { node, start, head, condition, body, braces } => {
                    if braces {
                        if let Some(end) = self.plan.points.end(head) {
                            self.lets(end);
                        }
                        self.close("} ");
                    }
                    self.expr(condition);
                    let span = self.from(start);
                    self.map.set_node(node, span);
                    self.open(" {\n");
                    steps.extend([Step::Leave(head), Step::End(body, None), Step::Nodes(body, 0)]);
                }
            }
        }
        self.close("}\n");
        self.close("}\n");
    }

    fn open(&mut self, text: &str) {
        self.push(text);
        self.indent += 1;
    }

    fn close(&mut self, text: &str) {
        self.indent = self.indent.saturating_sub(1);
        self.line();
        self.push(text);
    }

    /// The names of a region's nodes go out of scope.
    fn leave(&mut self, region: RegionId) {
        for id in self.program.region(region) {
            self.visible[id.index()] = false;
        }
    }

    fn lets(&mut self, point: Point) {
        for id in self.plan.take_lets(point) {
            let number = self.fresh('v');
            self.line();
            self.push(&format!("let v{number} = "));
            self.definition(id);
            self.push(";\n");
            self.expr_names[id.index()] = Some(number);
        }
    }

    /// Writes a statement from its first word on.
    fn node(&mut self, id: NodeId, steps: &mut Vec<Step>) {
        let start = self.at();
        match *self.program.node(id) {
            Node::If { condition, then, otherwise } => {
                self.push("if ");
                self.expr(condition);
                self.end_header(id, start);
                steps.extend([Step::Else { then, otherwise }, Step::Nodes(then, 0)]);
            }
            Node::For { start: first, end, step, body } => {
                self.push("for ");
                let name = self.at();
                self.name_node(id, 'k');
                let span = self.from(name);
                self.read_place(id, span);
                // The name is not in scope in the bounds.
                self.visible[id.index()] = false;
                self.push(" in ");
                let bound = self.at();
                self.expr(first);
                let bound = self.from(bound);
                self.push("..");
                self.expr(end);
                self.step(first, step, bound);
                self.end_header(id, start);
                self.visible[id.index()] = true;
                steps.extend([Step::End(body, Some(id)), Step::Nodes(body, 0)]);
            }
            Node::While { head, condition, body } => {
                let lets_in_head = self.plan.points.end(head).is_some_and(|end| self.plan.has_lets(end));
                let braces = lets_in_head || !self.program.region(head).is_empty();
                self.push("while ");
                if braces {
                    self.open("{\n");
                }
                steps.push(Step::Condition { node: id, start, head, condition, body, braces });
                steps.push(Step::Nodes(head, 0));
            }
            node => {
                if node.has_result() && self.plan.read_by(id).is_some() {
                    self.push("let ");
                    self.name_node(id, 'v');
                    self.visible[id.index()] = false;
                    self.push(" = ");
                }
                let value = self.at();
                self.simple(&node);
                let span = self.from(start);
                self.map.set_node(id, span);
                if self.plan.read_by(id).is_some() {
                    let span = self.from(value);
                    self.read_place(id, span);
                    self.visible[id.index()] = true;
                }
                self.push(";\n");
            }
        }
    }

    /// The place of what reads a node's result or loop variable.
    fn read_place(&mut self, id: NodeId, span: Span) {
        if let Some(expr) = self.plan.read_by(id) {
            self.map.first_expr(expr, span);
        }
    }

    fn end_header(&mut self, id: NodeId, start: u32) {
        let span = self.from(start);
        self.map.set_node(id, span);
        self.open(" {\n");
    }

    fn otherwise(&mut self, otherwise: RegionId, steps: &mut Vec<Step>) {
        match *self.program.region(otherwise).as_slice() {
            [] => self.close("}\n"),
            [id] if matches!(self.program.node(id), Node::If { .. })
                && !self.plan.has_lets(self.plan.points.before(id)) =>
            {
                self.close("} else ");
                steps.push(Step::Leave(otherwise));
                self.node(id, steps);
            }
            _ => {
                self.close("} else {\n");
                self.indent += 1;
                steps.extend([Step::End(otherwise, None), Step::Nodes(otherwise, 0)]);
            }
        }
    }

    /// Writes a loop's step, unless it is what the parser takes for one that is left out; that stands where
    /// the first value does.
    fn step(&mut self, first: ExprId, step: ExprId, place: Span) {
        let left_out = default_step(&mut self.types, self.program, first);
        let is_default = *self.program.expr(step) == Expr::Literal(left_out);
        if !is_default || self.all_steps {
            self.push(" step ");
            self.expr(step);
        } else {
            self.map.first_expr(step, place);
        }
    }

    fn simple(&mut self, node: &Node) {
        match *node {
            Node::Load { place, index } => {
                self.push("load ");
                self.element(place, index);
            }
            Node::Store { place, index, value } => {
                self.push("store ");
                self.element(place, index);
                self.push(" = ");
                self.expr(value);
            }
            Node::Atomic { op, place, index, value, expected } => {
                self.push(op.name());
                self.push(" ");
                self.element(place, index);
                for operand in expected.into_iter().chain([value]) {
                    self.push(", ");
                    self.expr(operand);
                }
            }
            Node::Declare { var, init } => {
                let variable = self.program.var(var);
                if self.own_declaration[var.index()] {
                    let start = self.at();
                    self.push("var ");
                    self.name(&variable.name);
                    self.push(": ");
                    self.push(variable.ty.name());
                    self.map.vars[var.index()] = self.from(start);
                } else {
                    self.push("declare ");
                    self.name(&variable.name);
                }
                self.push(" = ");
                self.expr(init);
            }
            Node::Get { var } => {
                self.push("get ");
                self.name(&self.program.var(var).name);
            }
            Node::Set { var, value } => {
                self.push("set ");
                self.name(&self.program.var(var).name);
                self.push(" = ");
                self.expr(value);
            }
            Node::Break => self.push("break"),
            Node::Continue => self.push("continue"),
            Node::Return => self.push("return"),
            Node::Barrier { ordering } => {
                self.push("barrier ");
                self.push(ordering.name());
            }
            Node::Fence { ordering, scope } => {
                self.push(&format!("fence {}, {}", ordering.name(), scope.name()));
            }
            Node::Subgroup { op, value, lane } => self.op(op.name(), value, lane),
            Node::Collective { op, value, rank } => self.op(op.name(), value, rank),
            Node::Trap { code, address } => {
                self.push(&format!("trap {code}, "));
                self.expr(address);
            }
            Node::Tile { tile, action } => self.tile(tile, action),
            // These have blocks: `node` writes them.
            Node::If { .. } | Node::For { .. } | Node::While { .. } => {}
        }
    }

    fn op(&mut self, name: &str, value: ExprId, second: Option<ExprId>) {
        self.push(name);
        self.push(" ");
        self.expr(value);
        if let Some(second) = second {
            self.push(", ");
            self.expr(second);
        }
    }

    fn tile(&mut self, tile: TileId, action: TileAction) {
        let program = self.program;
        self.push(action.name());
        self.push(" ");
        self.name(&program.tile(tile).name);
        for other in action.tiles().into_iter().flatten() {
            self.push(", ");
            self.name(&program.tile(other).name);
        }
        match action {
            TileAction::Fill { value } | TileAction::Scale { factor: value, .. } => {
                self.push(", ");
                self.expr(value);
            }
            TileAction::Load { place, index, stride, layout }
            | TileAction::Store { place, index, stride, layout } => {
                self.push(", ");
                self.element(place, index);
                self.push(", ");
                self.expr(stride);
                if layout != TileLayout::RowMajor {
                    self.push(", ");
                    self.push(layout.name());
                }
            }
            TileAction::MultiplyAdd { .. } | TileAction::Add { .. } | TileAction::Subtract { .. } => {}
        }
    }

    fn element(&mut self, place: Place, index: ExprId) {
        self.name(self.program.place(place).0);
        self.push("[");
        self.expr(index);
        self.push("]");
    }
}
