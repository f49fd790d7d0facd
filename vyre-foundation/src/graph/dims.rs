//! Dimensions: host arithmetic on numbers, symbols and parameters, each made once.

use super::{DimId, GraphParamId};
use crate::ir::{Extent, ExtentId, ExtentOp, LookupMap};

/// A number of elements, points or workgroups, in `u64`; overflow and division by zero are errors of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A constant.
    Literal(u64),
    /// A name whose number a run settles.
    Symbol(String),
    /// A parameter's value; an integer, and not negative.
    Param(GraphParamId),
    /// Sum.
    Add(DimId, DimId),
    /// Difference.
    Sub(DimId, DimId),
    /// Product.
    Mul(DimId, DimId),
    /// Quotient, rounded up.
    CeilDiv(DimId, DimId),
    /// The smaller.
    Min(DimId, DimId),
    /// The larger.
    Max(DimId, DimId),
}

impl Dim {
    /// The operands, in order.
    pub fn operands(&self) -> Option<[DimId; 2]> {
        match *self {
            Self::Literal(_) | Self::Symbol(_) | Self::Param(_) => None,
            Self::Add(a, b)
            | Self::Sub(a, b)
            | Self::Mul(a, b)
            | Self::CeilDiv(a, b)
            | Self::Min(a, b)
            | Self::Max(a, b) => Some([a, b]),
        }
    }

    /// The row of the operation and its operands, of a dimension that has operands: extents have the same rows.
    pub(crate) fn op(&self) -> Option<(ExtentOp, DimId, DimId)> {
        let [a, b] = self.operands()?;
        let (x, y) = (ExtentId::new(a.raw()), ExtentId::new(b.raw()));
        let extent = match self {
            Self::Add(..) => Extent::Add(x, y),
            Self::Sub(..) => Extent::Sub(x, y),
            Self::Mul(..) => Extent::Mul(x, y),
            Self::CeilDiv(..) => Extent::CeilDiv(x, y),
            Self::Min(..) => Extent::Min(x, y),
            _ => Extent::Max(x, y),
        };
        ExtentOp::of(extent).map(|(op, ..)| (op, a, b))
    }

    /// The operation of a row on two dimensions.
    pub(crate) fn of(op: ExtentOp, a: DimId, b: DimId) -> Self {
        match (op.make)(ExtentId::new(0), ExtentId::new(0)) {
            Extent::Add(..) => Self::Add(a, b),
            Extent::Sub(..) => Self::Sub(a, b),
            Extent::Mul(..) => Self::Mul(a, b),
            Extent::CeilDiv(..) => Self::CeilDiv(a, b),
            Extent::Min(..) => Self::Min(a, b),
            _ => Self::Max(a, b),
        }
    }
}

/// A table of dimensions without doubles, operands before users.
///
/// What constants say is said at once: arithmetic on two literals is a literal, unless it fails, and what a
/// literal or an equal operand leaves as it is is not done.
#[derive(Clone, Debug, Default)]
pub(crate) struct DimTable {
    table: Vec<Dim>,
    interned: LookupMap<Dim, DimId>,
}

impl DimTable {
    /// The dimensions, operands before users.
    pub(crate) fn table(&self) -> &[Dim] {
        &self.table
    }

    pub(crate) fn into_table(self) -> Vec<Dim> {
        self.table
    }

    pub(crate) fn get(&self, id: DimId) -> Option<&Dim> {
        self.table.get(id.index())
    }

    /// A number.
    pub(crate) fn literal(&mut self, value: u64) -> DimId {
        self.intern(Dim::Literal(value))
    }

    /// The number that a dimension is, if it is a literal.
    pub(crate) fn as_literal(&self, id: DimId) -> Option<u64> {
        match self.get(id) {
            Some(&Dim::Literal(value)) => Some(value),
            _ => None,
        }
    }

    /// A dimension without operands, or with operands of this table, as it is.
    pub(crate) fn intern(&mut self, dim: Dim) -> DimId {
        let next = DimId::new(self.table.len() as u32);
        let id = *self.interned.entry(dim.clone()).or_insert(next);
        if id == next {
            self.table.push(dim);
        }
        id
    }

    /// What an operation on two dimensions of this table comes to.
    pub(crate) fn combine(&mut self, op: ExtentOp, a: DimId, b: DimId) -> DimId {
        self.simplified(Dim::of(op, a, b))
    }

    /// A dimension with operands of this table, or what that comes to.
    pub(crate) fn simplified(&mut self, dim: Dim) -> DimId {
        let Some((op, a, b)) = dim.op() else { return self.intern(dim) };
        let (x, y) = (self.as_literal(a), self.as_literal(b));
        if let (Some(x), Some(y)) = (x, y) {
            if let Some(value) = (op.eval)(x, y) {
                return self.literal(value);
            }
        }
        match (&dim, x, y) {
            (Dim::Mul(..), Some(1), _) | (Dim::Add(..), Some(0), _) => b,
            (Dim::Mul(..) | Dim::CeilDiv(..), _, Some(1)) | (Dim::Add(..) | Dim::Sub(..), _, Some(0)) => a,
            (Dim::Min(..) | Dim::Max(..), ..) if a == b => a,
            _ => self.intern(dim),
        }
    }

    /// The product of dimensions; 1 of none.
    pub(crate) fn product(&mut self, dims: &[DimId]) -> DimId {
        match *dims {
            [] => self.literal(1),
            [first, ref rest @ ..] => rest.iter().fold(first, |a, &b| self.simplified(Dim::Mul(a, b))),
        }
    }

    /// Brings a dimension of another table here, with what it is made of. `moved` has what was brought before,
    /// parallel to that table, and the operands of each entry stand before it there.
    pub(crate) fn bring(&mut self, from: &[Dim], moved: &mut [Option<DimId>], root: DimId) -> DimId {
        let mut stack = vec![root];
        while let Some(&id) = stack.last() {
            if moved.get(id.index()).is_none_or(Option::is_some) {
                stack.pop();
                continue;
            }
            let Some(dim) = from.get(id.index()) else { break };
            let new = |id: DimId| moved.get(id.index()).copied().flatten();
            let found = match dim.op() {
                None => self.intern(dim.clone()),
                Some((op, a, b)) => match (new(a), new(b)) {
                    (Some(a), Some(b)) => self.combine(op, a, b),
                    (known, _) => {
                        // The first operand is numbered first.
                        stack.push(if known.is_none() { a } else { b });
                        continue;
                    }
                },
            };
            stack.pop();
            if let Some(slot) = moved.get_mut(id.index()) {
                *slot = Some(found);
            }
        }
        moved.get(root.index()).copied().flatten().unwrap_or(root)
    }
}

/// A dimension as text for messages, at most some hundred characters of it.
pub(crate) fn describe(table: &[Dim], param: impl Fn(GraphParamId) -> String, root: DimId) -> String {
    const LONGEST: usize = 200;
    let mut out = String::new();
    write_dim(&mut out, LONGEST, table, &param, &|_| None, root);
    out
}

/// Writes a dimension; cut by an ellipsis where it would make the text much longer than `limit` bytes. `name` has
/// what stands for a dimension that is named elsewhere, `param` the names of parameters.
pub(crate) fn write_dim(
    out: &mut String,
    limit: usize,
    table: &[Dim],
    param: &dyn Fn(GraphParamId) -> String,
    name: &dyn Fn(DimId) -> Option<String>,
    root: DimId,
) {
    enum Piece {
        Dim(DimId, u8),
        Text(&'static str),
    }
    let mut pieces = vec![Piece::Dim(root, 0)];
    while let Some(piece) = pieces.pop() {
        if out.len() > limit {
            out.push('…');
            break;
        }
        let (id, least) = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Dim(id, least) => (id, least),
        };
        if let Some(name) = name(id) {
            out.push_str(&name);
            continue;
        }
        let Some(dim) = table.get(id.index()) else { continue };
        match (dim, dim.op()) {
            (_, Some((op, a, b))) if op.precedence > 0 => {
                if op.precedence < least {
                    out.push('(');
                    pieces.push(Piece::Text(")"));
                }
                pieces.push(Piece::Dim(b, op.precedence + 1));
                pieces.extend([Piece::Text(" "), Piece::Text(op.text), Piece::Text(" ")]);
                pieces.push(Piece::Dim(a, op.precedence));
            }
            (_, Some((op, a, b))) => {
                out.push_str(op.text);
                out.push('(');
                pieces.extend([Piece::Text(")"), Piece::Dim(b, 0), Piece::Text(", "), Piece::Dim(a, 0)]);
            }
            (Dim::Literal(n), _) => out.push_str(&n.to_string()),
            (Dim::Symbol(name), _) => out.push_str(name),
            (Dim::Param(id), _) => out.push_str(&param(*id)),
            // Every other one has a row.
            _ => {}
        }
    }
}
