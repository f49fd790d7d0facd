//! Places in a text, and which place each part of a program comes from.

use crate::diag::Site;
use crate::ir::{ExprId, NodeId, Program, VarId};

/// A byte range of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The range from `start` up to `end`.
    pub(crate) const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest range that holds both.
    #[must_use]
    pub(crate) fn to(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The range as positions of a slice.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Where each part of a program stands in its text; ids are the program's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    pub(crate) program: Span,
    pub(crate) buffers: Vec<Span>,
    pub(crate) params: Vec<Span>,
    pub(crate) shared: Vec<Span>,
    pub(crate) privates: Vec<Span>,
    pub(crate) tiles: Vec<Span>,
    pub(crate) vars: Vec<Span>,
    pub(crate) nodes: Vec<Span>,
    pub(crate) exprs: Vec<Span>,
}

impl SourceMap {
    /// A map with room for every node, expression and variable of a program.
    pub(crate) fn for_program(program: &Program) -> Self {
        Self {
            nodes: vec![Span::default(); program.nodes().len()],
            exprs: vec![Span::default(); program.exprs().len()],
            vars: vec![Span::default(); program.vars().len()],
            ..Self::default()
        }
    }

    /// The bytes that a site stands at: a declaration; a simple statement whole, one with a block up to
    /// its brace; an expression where it is written first. Empty at 0 for a site of another program.
    pub fn span(&self, site: Site) -> Span {
        let found = match site {
            Site::Program => Some(&self.program),
            Site::Buffer(id) => self.buffers.get(id.index()),
            Site::Param(id) => self.params.get(id.index()),
            Site::Shared(id) => self.shared.get(id.index()),
            Site::Private(id) => self.privates.get(id.index()),
            Site::Tile(id) => self.tiles.get(id.index()),
            Site::Var(id) => self.vars.get(id.index()),
            Site::Node(id) => self.nodes.get(id.index()),
            Site::Expr(id) => self.exprs.get(id.index()),
        };
        found.copied().unwrap_or_default()
    }

    pub(crate) fn set_var(&mut self, id: VarId, span: Span) {
        if let Some(slot) = self.vars.get_mut(id.index()) {
            *slot = span;
        }
    }

    pub(crate) fn set_node(&mut self, id: NodeId, span: Span) {
        if let Some(slot) = self.nodes.get_mut(id.index()) {
            *slot = span;
        }
    }

    /// Sets an expression's place, unless it has one.
    pub(crate) fn first_expr(&mut self, id: ExprId, span: Span) {
        if let Some(slot) = self.exprs.get_mut(id.index()) {
            if *slot == Span::default() {
                *slot = span;
            }
        }
    }
}
