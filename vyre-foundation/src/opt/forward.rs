//! Forwarding: a load from a private or shared array is what was last stored or loaded there.
//!
//! * What was stored at an index is what a load at the same index gives, if the index is in bounds; else that
//!   store was dropped, and the load gives 0. Where only a comparison can tell, a selection takes the load's place.
//! * A load is an earlier load at the same index.
//! * An array that nothing writes is zero.
//!
//! A store or atomic at another index ends what is known, unless the two surely differ: different constants,
//! or one value with different constants added. Private arrays are nobody else's. Of shared arrays, what is known ends at every
//! barrier; before one, a store of another invocation to the same element would be a race. Loads of buffers stay: a
//! device has them in its caches, and lowering merges neighbours.

use vyre_spec::ops::{BinaryOp, TernaryOp};
use vyre_spec::{Axis, BuiltIn, DataType, Value};

use crate::check::Checked;
use crate::check::tree::{Tree, ids};
use crate::ir::{Arena, Expr, ExprId, Node, NodeId, Place, PrivateId, Program, SharedId};

use super::Outcome;
use super::rewrite::{Keep, NewExprs, Rewriter, keep};
use super::scoped::{Knowledge, inside, walk};

pub(super) fn run(program: &Checked<Program>) -> Outcome {
    let own = |place| matches!(place, Place::Private(_) | Place::Shared(_));
    let loads = |node: &Node| matches!(*node, Node::Load { place, .. } if own(place));
    if !program.nodes().iter().any(loads) {
        return Ok(None);
    }
    let tree = Tree::of(program);
    let mut rewriter = Rewriter::new(program, Arena::with_declarations_of(program), keep as Keep);
    walk(program, &mut rewriter, &mut Known::new(program, &tree));
    rewriter.finish()
}

/// What an element holds, by new expressions.
#[derive(Clone, Copy)]
struct Cell {
    index: ExprId,
    value: ExprId,
    /// Whether it was loaded: it is then right out of bounds too.
    loaded: bool,
}

/// Elements of an array that are remembered at once; the oldest gives way.
const CELLS: usize = 16;

/// What a node may change.
enum Change {
    /// Some element of an array, by its number.
    Array(usize),
    /// Any element of any shared array.
    Shared,
    /// Any element of any array.
    All,
}

struct Known<'a> {
    program: &'a Program,
    tree: &'a Tree,
    /// For each array, shared ones first, the elements that are known.
    cells: Vec<Vec<Cell>>,
    /// Whether anything writes each array.
    written: Vec<bool>,
    log: Vec<(usize, Vec<Cell>)>,
    changes: Vec<(NodeId, Change)>,
}

impl<'a> Known<'a> {
    fn new(program: &'a Program, tree: &'a Tree) -> Self {
        let shared = program.shared().len();
        let arrays = shared + program.privates().len();
        let mut known = Self {
            program,
            tree,
            cells: vec![Vec::new(); arrays],
            written: vec![false; arrays],
            log: Vec::new(),
            changes: Vec::new(),
        };
        for (id, node) in ids(program) {
            let change = match known.change(node) {
                Some(change) => change,
                None => continue,
            };
            match change {
                Change::Array(array) => known.written[array] = true,
                Change::Shared => {}
                Change::All => known.written.fill(true),
            }
            known.changes.push((id, change));
        }
        known
    }

    /// The number of a private or shared array.
    fn array(&self, place: Place) -> Option<usize> {
        match place {
            Place::Shared(id) => Some(id.index()),
            Place::Private(id) => Some(self.program.shared().len() + id.index()),
            _ => None,
        }
    }

    fn place(&self, array: usize) -> Place {
        match array.checked_sub(self.program.shared().len()) {
            None => Place::Shared(SharedId::new(array as u32)),
            Some(private) => Place::Private(PrivateId::new(private as u32)),
        }
    }

    fn change(&self, node: &Node) -> Option<Change> {
        match *node {
            Node::Store { place, .. } | Node::Atomic { place, .. } => self.array(place).map(Change::Array),
            Node::Load { .. }
            | Node::Declare { .. }
            | Node::Get { .. }
            | Node::Set { .. }
            | Node::If { .. }
            | Node::For { .. }
            | Node::While { .. }
            | Node::Break
            | Node::Continue
            | Node::Return
            | Node::Subgroup { .. }
            | Node::Trap { .. } => None,
            // What else there is works on memory by other ways.
            ref other if matches!(other, Node::Barrier { .. }) => Some(Change::Shared),
            _ => Some(Change::All),
        }
    }

    /// Makes an array's elements these.
    fn set(&mut self, array: usize, cells: Vec<Cell>) {
        let before = std::mem::replace(&mut self.cells[array], cells);
        self.log.push((array, before));
    }

    fn apply(&mut self, change: &Change) {
        let arrays = match *change {
            Change::Array(array) => array..array + 1,
            Change::Shared => 0..self.program.shared().len(),
            Change::All => 0..self.cells.len(),
        };
        for array in arrays {
            if !self.cells[array].is_empty() {
                self.set(array, Vec::new());
            }
        }
    }

    /// Forgets what a write at this index may change, and remembers what it wrote.
    fn write(&mut self, new: &NewExprs, array: usize, index: ExprId, cell: Option<Cell>) {
        let mut cells: Vec<Cell> =
            self.cells[array].iter().copied().filter(|cell| differ(new, cell.index, index)).collect();
        if let Some(cell) = cell {
            remember(&mut cells, cell);
        }
        self.set(array, cells);
    }
}

fn remember(cells: &mut Vec<Cell>, cell: Cell) {
    if cells.len() == CELLS {
        cells.remove(0);
    }
    cells.push(cell);
}

impl Knowledge for Known<'_> {
    fn mark(&self) -> usize {
        self.log.len()
    }

    fn undo(&mut self, mark: usize) {
        for (array, before) in self.log.drain(mark..).rev() {
            self.cells[array] = before;
        }
    }

    fn forget(&mut self, holder: NodeId) {
        let changes = std::mem::take(&mut self.changes);
        for (_, change) in inside(self.tree, self.program, holder, &changes) {
            self.apply(change);
        }
        self.changes = changes;
    }

    fn step(&mut self, rewriter: &mut Rewriter<'_, Keep>, id: NodeId) -> bool {
        match rewriter.set_node(id) {
            Node::Store { place, index, value } => {
                if let Some(array) = self.array(place) {
                    self.write(&rewriter.new, array, index, Some(Cell { index, value, loaded: false }));
                }
            }
            Node::Atomic { place, index, .. } => {
                if let Some(array) = self.array(place) {
                    self.write(&rewriter.new, array, index, None);
                }
            }
            Node::Load { place, index } => {
                let Some(array) = self.array(place) else { return true };
                let (_, ty) = self.program.place(place);
                let known = self.cells[array].iter().find(|cell| cell.index == index).copied();
                let value = match known {
                    _ if !self.written[array] => zero(&mut rewriter.new, ty),
                    Some(cell) if cell.loaded => cell.value,
                    Some(cell) => {
                        let length = length(self.program, self.place(array));
                        in_bounds(rewriter, self.program, cell, length, ty)
                    }
                    None => {
                        let value = rewriter.result(id, ty);
                        let mut cells = self.cells[array].clone();
                        remember(&mut cells, Cell { index, value, loaded: true });
                        self.set(array, cells);
                        return true;
                    }
                };
                rewriter.replace_result(id, value);
                return false;
            }
            ref node => {
                if let Some(change) = self.change(node) {
                    self.apply(&change);
                }
            }
        }
        true
    }
}

fn zero(new: &mut NewExprs, ty: DataType) -> ExprId {
    new.make(Expr::Literal(Value::zero(ty)), ty)
}

fn length(program: &Program, place: Place) -> u32 {
    match place {
        Place::Shared(id) => program.shared_array(id).len,
        Place::Private(id) => program.private_array(id).len,
        _ => 0,
    }
}

/// What a load at a cell's index gives: its value in bounds, else 0.
fn in_bounds(
    rewriter: &mut Rewriter<'_, Keep>,
    program: &Program,
    cell: Cell,
    length: u32,
    ty: DataType,
) -> ExprId {
    let new = &mut rewriter.new;
    let index = cell.index;
    if let Expr::Literal(value) = new.get(index) {
        let inside = value.as_int().is_some_and(|n| (0..i128::from(length)).contains(&n));
        return if inside { cell.value } else { zero(new, ty) };
    }
    if greatest(new, program, index).is_some_and(|n| n < u128::from(length)) {
        return cell.value;
    }
    let index_type = new.type_of(index);
    let nothing = zero(new, ty);
    let mut compare = |op, n: u64| {
        let bound = new.make(Expr::Literal(Value::from_bits(index_type, n)), index_type);
        new.make(Expr::Binary(op, index, bound), DataType::Bool)
    };
    // Of a signed type, all naturals may be below the length.
    let most = (1u64 << (8 * index_type.size() - 1)) - 1;
    let signed = index_type.is_signed_int();
    let below = (!signed || u64::from(length) <= most).then(|| compare(BinaryOp::Lt, length.into()));
    let natural = signed.then(|| compare(BinaryOp::Ge, 0));
    let condition = match (natural, below) {
        (Some(natural), Some(below)) => {
            new.make(Expr::Binary(BinaryOp::BitAnd, natural, below), DataType::Bool)
        }
        (Some(condition), None) | (None, Some(condition)) => condition,
        (None, None) => return cell.value,
    };
    new.make(Expr::Ternary(TernaryOp::Select, condition, cell.value, nothing), ty)
}

/// The greatest value that an index can have, if that is easy to see, or its type's; `None` if it may be negative.
fn greatest(new: &NewExprs, program: &Program, index: ExprId) -> Option<u128> {
    let ty = new.type_of(index);
    let literal = |id: ExprId| match new.get(id) {
        Expr::Literal(value) => value.as_int().and_then(|n| u128::try_from(n).ok()),
        _ => None,
    };
    let size = program.launch().workgroup_size();
    match new.get(index) {
        Expr::BuiltIn(BuiltIn::LocalId(axis)) => size.map(|size| u128::from(size[axis.index()]) - 1),
        Expr::BuiltIn(BuiltIn::LocalIndex) => {
            size.map(|size| Axis::ALL.iter().map(|axis| u128::from(size[axis.index()])).product::<u128>() - 1)
        }
        Expr::Binary(BinaryOp::BitAnd, _, mask) if literal(mask).is_some() => literal(mask),
        Expr::Binary(BinaryOp::Rem, _, divisor) if !ty.is_signed_int() => {
            literal(divisor).filter(|&n| n > 0).map(|n| n - 1)
        }
        _ if !ty.is_signed_int() => Some((1u128 << (8 * ty.size())) - 1),
        _ => None,
    }
}

/// Whether two indices are surely different elements, or out of bounds.
fn differ(new: &NewExprs, a: ExprId, b: ExprId) -> bool {
    let split = |id: ExprId| match new.get(id) {
        Expr::Binary(BinaryOp::Add, base, offset) => match new.get(offset) {
            Expr::Literal(value) => (base, value.bits()),
            _ => (id, 0),
        },
        _ => (id, 0),
    };
    if let (Expr::Literal(a), Expr::Literal(b)) = (new.get(a), new.get(b)) {
        return a.as_int() != b.as_int();
    }
    // Sums wrap, so equal values with different offsets stay different.
    let ((base, offset), (other, other_offset)) = (split(a), split(b));
    base == other && offset != other_offset
}
