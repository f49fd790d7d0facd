//! Accesses for all points of an invocation: vectors of elements, or of words that hold several.

use std::collections::BTreeMap;

use vyre_foundation::ir::{self, BufferId, Expr, ExprId, Node, NodeId, Program};
use vyre_spec::DataType;
use vyre_spec::ops::BinaryOp;

use super::body::Lane;
use super::joined::Joined;
use super::window::Window;
use crate::bindings::Storage;
use crate::kernel::{InstId, Op, Proof};
use crate::legalize::{from_word, per_word, to_word};
use crate::lower::Lowering;

/// What was loaded in the current block and still is what memory holds.
#[derive(Default)]
pub(super) struct Known {
    vectors: BTreeMap<Key, Loaded>,
}

/// A vector: its buffer, an expression, and its start in elements relative to that.
type Key = (u32, u32, i64);

/// Its words, as far as something needs them.
#[derive(Default)]
struct Loaded {
    whole: Option<InstId>,
    words: [Option<InstId>; 4],
}

impl Known {
    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.vectors.clear();
    }

    /// A buffer may have changed.
    pub(super) fn forget_place(&mut self, place: ir::Place) {
        if let ir::Place::Buffer(id) = place {
            self.vectors.retain(|(buffer, ..), _| *buffer != id.raw());
        }
    }
}

/// The vectors of one access.
#[derive(Clone, Copy)]
struct Vectors {
    storage: Storage,
    window: Window,
    proof: Proof,
    /// The vector with the first point's element.
    base: InstId,
    /// Memory's elements in a vector.
    width: u32,
    /// The buffer, the index without what constants add to it, and what they do.
    key: (u32, ExprId, i64),
}

impl Lowering<'_, '_> {
    /// One access for all points, whose elements are all in bounds.
    pub(super) fn vector_access(
        &mut self,
        id: NodeId,
        window: Window,
        lanes: &mut [Lane],
        known: &mut Known,
    ) {
        let (place, index, stored) = match *self.program.node(id) {
            Node::Load { place, index } if self.read[id.index()] => (place, index, None),
            Node::Store { place, index, value } => (place, index, Some(value)),
            _ => return,
        };
        let ir::Place::Buffer(buffer) = place else { return };
        let proof = self.proof(self.ranges.verdict(id));
        let first = lanes.first().and_then(|lane| lane.values[index.index()]);
        let vectors = self.vectors(buffer, index, first, window, proof);
        match stored {
            None => {
                for (number, lane) in (0u32..).zip(lanes) {
                    let (vector, element) = window.element(number);
                    let (storage, per) = (&vectors.storage, per_word(vectors.storage.logical));
                    let word = self.word(&vectors, vector, element / per, known);
                    lane.results[id.index()] = Some(from_word(&mut self.w, storage, word, element % per));
                }
            }
            Some(value) => {
                let values: Vec<_> = lanes.iter().map(|lane| value_of(lane, value)).collect();
                let lowest = *window.vectors().start();
                let mut elements = vec![InstId(u32::MAX); values.len()];
                for (number, value) in (0u32..).zip(values) {
                    let (vector, element) = window.element(number);
                    set(&mut elements, (vector - lowest) as u32 * window.vector + element, value);
                }
                self.vector_store(&vectors, lowest, &elements);
                known.forget_place(place);
            }
        }
    }

    /// The vectors of an access whose index has a value at the first point.
    fn vectors(
        &mut self,
        buffer: BufferId,
        index: ExprId,
        first: Option<InstId>,
        window: Window,
        proof: Proof,
    ) -> Vectors {
        let storage = self.storage(ir::Place::Buffer(buffer));
        let width = window.vector / per_word(storage.logical);
        if !storage.atomic {
            self.bindings.widen(storage.place, width);
        }
        let (root, plus) = split(self.program, index);
        let start = self.w.bitcast(DataType::U32, first.unwrap_or(InstId(u32::MAX)));
        let base = self.w.raw_lit(BinaryOp::Shr, start, window.vector.ilog2());
        Vectors { storage, window, proof, base, width, key: (buffer.raw(), root, plus) }
    }

    /// Several stores that have every element of some vectors.
    pub(super) fn joined_store(&mut self, group: &Joined, lanes: &[Lane], known: &mut Known) {
        let window = group.window;
        let count = group.members.len() * lanes.len();
        let lowest = *window.vectors().start();
        let mut elements = vec![InstId(u32::MAX); count];
        let (mut proof, mut first) = (None, None);
        for (turn, &member) in (0i32..).zip(&group.members) {
            let Node::Store { place: ir::Place::Buffer(buffer), index, value } = *self.program.node(member)
            else {
                return;
            };
            first = first.or(Some((buffer, index)));
            let more = self.proof(self.ranges.verdict(member));
            proof = Some(match (proof, more) {
                (Some(Proof::Contract(a)), Proof::Contract(b)) => Proof::Contract(a | b),
                (Some(contract @ Proof::Contract(_)), _) => contract,
                (_, more) => more,
            });
            let window = Window { first: window.first + turn, ..window };
            for (number, lane) in (0u32..).zip(lanes) {
                let (vector, element) = window.element(number);
                let at = (vector - lowest) as u32 * window.vector + element;
                set(&mut elements, at, value_of(lane, value));
            }
        }
        let (Some((buffer, index)), Some(proof)) = (first, proof) else { return };
        let first = lanes.first().map(|lane| value_of(lane, index));
        let vectors = self.vectors(buffer, index, first, window, proof);
        self.vector_store(&vectors, lowest, &elements);
        known.forget_place(ir::Place::Buffer(buffer));
    }

    /// A word of a vector.
    fn word(&mut self, v: &Vectors, vector: i32, word: u32, known: &mut Known) -> InstId {
        let (buffer, root, plus) = v.key;
        let start = plus - i64::from(v.window.first) + i64::from(vector) * i64::from(v.window.vector);
        let loaded = known.vectors.entry((buffer, root.raw(), start)).or_default();
        let slot = (word as usize).min(3);
        if let Some(known) = loaded.words[slot] {
            return known;
        }
        let Storage { place, element, atomic, .. } = v.storage;
        let value = if v.width == 1 || atomic {
            let first = self.number(v, vector);
            let first = if v.width > 1 { self.w.raw_lit(BinaryOp::Mul, first, v.width) } else { first };
            let index = if word > 0 { self.w.raw_lit(BinaryOp::Add, first, word) } else { first };
            self.w.value(Op::Load { place, index, proof: v.proof }, element)
        } else {
            let whole = loaded.whole.unwrap_or_else(|| {
                let index = self.number(v, vector);
                self.w.value(Op::LoadVector { place, index, proof: v.proof }, element)
            });
            loaded.whole = Some(whole);
            self.w.value(Op::Part { vector: whole, part: word }, element)
        };
        loaded.words[slot] = Some(value);
        value
    }

    /// The index of a vector.
    fn number(&mut self, v: &Vectors, vector: i32) -> InstId {
        if vector == 0 { v.base } else { self.w.raw_lit(BinaryOp::Add, v.base, vector as u32) }
    }

    /// Stores whole vectors of elements in memory's order, from one on.
    fn vector_store(&mut self, v: &Vectors, lowest: i32, elements: &[InstId]) {
        let Storage { place, logical, .. } = v.storage;
        let per = per_word(logical) as usize;
        for (vector, elements) in (lowest..).zip(elements.chunks(v.window.vector as usize)) {
            let mut values = [InstId(u32::MAX); 4];
            for (slot, parts) in values.iter_mut().zip(elements.chunks(per)) {
                *slot = to_word(&mut self.w, &v.storage, parts);
            }
            let index = self.number(v, vector);
            let proof = v.proof;
            self.w.effect(if v.width == 1 {
                Op::Store { place, index, value: values[0], proof }
            } else {
                Op::StoreVector { place, index, values, width: v.width, proof }
            });
        }
    }
}

/// A value of one point.
fn value_of(lane: &Lane, value: ExprId) -> InstId {
    lane.values.get(value.index()).copied().flatten().unwrap_or(InstId(u32::MAX))
}

fn set(elements: &mut [InstId], at: u32, value: InstId) {
    if let Some(slot) = elements.get_mut(at as usize) {
        *slot = value;
    }
}

/// An index without what constants add to it, and what they add.
pub(super) fn split(program: &Program, index: ExprId) -> (ExprId, i64) {
    let literal = |id: ExprId| match *program.expr(id) {
        Expr::Literal(value) => Some(i64::from(value.bits() as u32 as i32)),
        _ => None,
    };
    let (mut root, mut plus) = (index, 0i64);
    loop {
        let (next, more) = match *program.expr(root) {
            Expr::Binary(BinaryOp::Add, a, b) => match (literal(a), literal(b)) {
                (_, Some(n)) => (a, n),
                (Some(n), _) => (b, n),
                _ => return (root, plus),
            },
            Expr::Binary(BinaryOp::Sub, a, b) => match literal(b) {
                Some(n) => (a, -n),
                None => return (root, plus),
            },
            _ => return (root, plus),
        };
        (root, plus) = (next, plus + more);
    }
}
