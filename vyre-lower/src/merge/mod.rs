//! Neighbouring accesses become one: a block that loads, or stores, all four elements of an aligned vector of
//! a buffer or shared array does it by one access of 16 bytes.
//!
//! Loads go to where the first of them stands, stores to where the last does, so between the accesses of one
//! vector nothing may change, or look at, the array: another store to it (whose address is not told apart),
//! an atomic, a barrier, a fence, a branch or a loop. What other invocations do in between is no matter: without a
//! barrier it has no order. Two indices are neighbours, and the first begins a vector, by their [`forms`].

mod forms;

use std::collections::BTreeMap;

use vyre_spec::DataType;
use vyre_spec::ops::BinaryOp;

use self::forms::{Form, Forms};
use crate::bindings::Bindings;
use crate::kernel::{InstId, Op, Place, Proof, Role, TileOp};
use crate::writer::Writer;

/// Elements of a vector.
const WIDTH: u32 = 4;

/// How much more an access counts for each loop around it, and for how many loops.
const TRIPS: u64 = 8;
const MOST_LOOPS: u32 = 4;

/// The accesses of one vector, by element.
#[derive(Debug)]
struct Group {
    place: Place,
    block: usize,
    is_store: bool,
    /// In the order of the block. A load may come twice, a store may not.
    members: Vec<(u32, InstId)>,
    /// Which elements there are, by bit.
    present: u32,
}

impl Group {
    fn is_whole(&self) -> bool {
        self.present == (1 << WIDTH) - 1
    }
}

/// An access to one element.
#[derive(Clone, Copy)]
struct Access {
    place: Place,
    index: InstId,
    is_store: bool,
    is_guarded: bool,
}

fn access(op: &Op) -> Option<Access> {
    let (place, index, proof, is_store) = match *op {
        Op::Load { place, index, proof } => (place, index, proof, false),
        Op::Store { place, index, proof, .. } => (place, index, proof, true),
        _ => return None,
    };
    Some(Access { place, index, is_store, is_guarded: matches!(proof, Proof::Guarded(_)) })
}

/// Merges what can be merged in the blocks of an unfinished body.
pub(crate) fn merge(w: &mut Writer, bindings: &mut Bindings) {
    let accesses = w.insts.iter().filter_map(|inst| access(&inst.op));
    let proven = accesses.filter(|a| !a.is_guarded && can_be_vectors(bindings, a.place));
    let indices: Vec<InstId> = proven.map(|a| a.index).collect();
    if indices.len() < WIDTH as usize {
        return;
    }
    let forms = Forms::new(w, indices);
    let mut groups = Vec::new();
    for block in 0..w.blocks.len() {
        Scan { w, bindings, forms: &forms, block, open: BTreeMap::new(), groups: &mut groups }.run();
    }
    let vectors = worth(w, bindings, &groups);
    groups.retain(|group| vectors.get(&group.place).copied().unwrap_or(false));
    for (&place, _) in vectors.iter().filter(|(_, is_worth)| **is_worth) {
        bindings.widen(place, WIDTH);
    }
    rewrite(w, groups);
}

/// Whether vectors have such elements: words, and 16-bit floats where tiles are of them.
fn is_part(element: DataType) -> bool {
    element.size() == 4 || element == DataType::F16
}

/// Whether an array can be an array of vectors: words without atomics, whose number is whole.
fn can_be_vectors(bindings: &Bindings, place: Place) -> bool {
    match place {
        Place::Binding(n) => bindings.bindings.get(n as usize).is_some_and(|b| {
            let is_buffer = matches!(b.role, Role::Buffer(_));
            is_buffer && !b.atomic && is_part(b.element) && matches!(b.vector, 1 | WIDTH)
        }),
        Place::Shared(n) => bindings.shared.get(n as usize).is_some_and(|a| {
            !a.atomic && is_part(a.element) && a.len.is_multiple_of(WIDTH) && matches!(a.vector, 1 | WIDTH)
        }),
        Place::Private(_) => false,
    }
}

/// The vectors of an array that a block has begun, by what their indices have in common.
#[derive(Default)]
struct Open {
    loads: BTreeMap<Form, Group>,
    stores: BTreeMap<Form, Group>,
}

/// A walk over one block.
struct Scan<'s> {
    w: &'s Writer,
    bindings: &'s Bindings,
    forms: &'s Forms,
    block: usize,
    open: BTreeMap<Place, Open>,
    groups: &'s mut Vec<Group>,
}

impl Scan<'_> {
    fn run(mut self) {
        let w = self.w;
        for &id in w.blocks.get(self.block).into_iter().flatten() {
            let Some(inst) = w.insts.get(id.index()) else { continue };
            match inst.op {
                Op::Load { .. } | Op::Store { .. } => {
                    if let Some(access) = access(&inst.op) {
                        self.access(id, access);
                    }
                }
                Op::LoadVector { place, .. } => self.close_stores(place),
                Op::Tile { op: TileOp::Load(memory), .. } => self.close_stores(memory.place),
                Op::Tile { op: TileOp::Store(memory), .. } => self.close(memory.place),
                Op::StoreVector { place, .. } | Op::Atomic { place, .. } => self.close(place),
                Op::If { .. }
                | Op::Loop { .. }
                | Op::Break
                | Op::Continue
                | Op::Return
                | Op::Barrier { .. }
                | Op::Fence { .. } => self.close_all(),
                _ => {}
            }
        }
        self.close_all();
    }

    fn access(&mut self, id: InstId, access: Access) {
        if !can_be_vectors(self.bindings, access.place) {
            return;
        }
        let form = if access.is_guarded { None } else { self.forms.aligned(access.index, WIDTH) };
        let Some((base, element)) = form else {
            // Somewhere in the array.
            return if access.is_store { self.close(access.place) } else { self.close_stores(access.place) };
        };
        if access.is_store {
            self.close_loads(access.place);
            self.store(id, access.place, base, element);
        } else {
            self.close_stores(access.place);
            let (block, place) = (self.block, access.place);
            let loads = &mut self.open.entry(place).or_default().loads;
            let group = loads.entry(base).or_insert_with(|| Group {
                place,
                block,
                is_store: false,
                members: Vec::with_capacity(WIDTH as usize),
                present: 0,
            });
            group.members.push((element, id));
            group.present |= 1 << element;
        }
    }

    fn store(&mut self, id: InstId, place: Place, base: Form, element: u32) {
        let known = self.open.get(&place);
        // Indices with different terms may be equal; with the same ones they differ if their constants do.
        let apart = known.is_none_or(|open| {
            let alike = open.stores.keys().next().is_none_or(|other| other.terms == base.terms);
            alike && open.stores.get(&base).is_none_or(|group| group.present & (1 << element) == 0)
        });
        if !apart {
            self.close_stores(place);
        }
        let block = self.block;
        let stores = &mut self.open.entry(place).or_default().stores;
        let group = stores.entry(base).or_insert_with(|| Group {
            place,
            block,
            is_store: true,
            members: Vec::with_capacity(WIDTH as usize),
            present: 0,
        });
        group.members.push((element, id));
        group.present |= 1 << element;
    }

    fn close(&mut self, place: Place) {
        self.close_loads(place);
        self.close_stores(place);
    }

    fn close_loads(&mut self, place: Place) {
        if let Some(open) = self.open.get_mut(&place) {
            let loads = std::mem::take(&mut open.loads);
            self.groups.extend(loads.into_values().filter(Group::is_whole));
        }
    }

    fn close_stores(&mut self, place: Place) {
        if let Some(open) = self.open.get_mut(&place) {
            let stores = std::mem::take(&mut open.stores);
            self.groups.extend(stores.into_values().filter(Group::is_whole));
        }
    }

    fn close_all(&mut self) {
        for Open { loads, stores } in std::mem::take(&mut self.open).into_values() {
            let all = loads.into_values().chain(stores.into_values());
            self.groups.extend(all.filter(Group::is_whole));
        }
    }
}

/// Of each array that has groups, whether it is worth to be vectors: single elements of those cost the device
/// some arithmetic, so the accesses that are merged must be the greater part.
fn worth(w: &Writer, bindings: &Bindings, groups: &[Group]) -> BTreeMap<Place, bool> {
    let depths = loop_depths(w);
    let weight = |block: usize| TRIPS.pow(depths.get(block).copied().unwrap_or(0).min(MOST_LOOPS));
    let mut merged: BTreeMap<Place, u64> = BTreeMap::new();
    for group in groups {
        *merged.entry(group.place).or_default() += weight(group.block) * group.members.len() as u64;
    }
    let mut all: BTreeMap<Place, u64> = BTreeMap::new();
    for (block, insts) in w.blocks.iter().enumerate() {
        for access in insts.iter().filter_map(|id| access(&w.insts.get(id.index())?.op)) {
            *all.entry(access.place).or_default() += weight(block);
        }
    }
    let is_worth = |(place, merged): (Place, u64)| {
        let is_vectors = match place {
            Place::Binding(n) => bindings.bindings.get(n as usize).is_some_and(|b| b.vector > 1),
            Place::Shared(n) => bindings.shared.get(n as usize).is_some_and(|a| a.vector > 1),
            Place::Private(_) => false,
        };
        let total = all.get(&place).copied().unwrap_or(0);
        (place, is_vectors || 2 * merged >= total)
    };
    merged.into_iter().map(is_worth).collect()
}

/// How many loops each block is in. A block is numbered after the one that it belongs to.
fn loop_depths(w: &Writer) -> Vec<u32> {
    let mut depths = vec![0; w.blocks.len()];
    for block in 0..w.blocks.len() {
        for id in &w.blocks[block] {
            let (inner, more) = match w.insts.get(id.index()).map(|inst| inst.op) {
                Some(Op::If { then, otherwise, .. }) => ([then, otherwise], 0),
                Some(Op::Loop { body, continuing }) => ([body, continuing], 1),
                _ => continue,
            };
            for inner in inner {
                depths[inner.index()] = depths[block] + more;
            }
        }
    }
    depths
}

/// What becomes of an instruction of a group.
enum Change {
    /// It goes.
    Gone,
    /// It reads a vector that is loaded before it, at an index that is computed first unless it is a constant.
    Load { index: Option<InstId>, vector: InstId },
    /// It stores a whole vector, at such an index.
    Store { index: Option<InstId> },
}

/// Puts vectors in the place of groups.
fn rewrite(w: &mut Writer, groups: Vec<Group>) {
    let mut changes: BTreeMap<InstId, Change> = BTreeMap::new();
    let mut blocks: Vec<usize> = groups.iter().map(|group| group.block).collect();
    for group in groups {
        if group.is_store {
            store_whole(w, &group, &mut changes)
        } else {
            load_whole(w, &group, &mut changes)
        }
    }
    blocks.sort_unstable();
    blocks.dedup();
    for block in blocks {
        let old = std::mem::take(&mut w.blocks[block]);
        let mut new = Vec::with_capacity(old.len());
        for id in old {
            match changes.get(&id) {
                Some(Change::Gone) => continue,
                Some(Change::Load { index, vector }) => new.extend(index.iter().chain([vector])),
                Some(Change::Store { index }) => new.extend(index),
                None => {}
            }
            new.push(id);
        }
        w.blocks[block] = new;
    }
}

/// The proof of all the accesses of a group: they are in bounds where each is.
fn proof(w: &Writer, group: &Group) -> Proof {
    let proofs = group.members.iter().filter_map(|(_, id)| match w.insts.get(id.index())?.op {
        Op::Load { proof, .. } | Op::Store { proof, .. } => Some(proof),
        _ => None,
    });
    let joined = proofs.reduce(|a, b| match (a, b) {
        (Proof::Contract(a), Proof::Contract(b)) => Proof::Contract(a | b),
        (Proof::Contract(a), _) | (_, Proof::Contract(a)) => Proof::Contract(a),
        (a, _) => a,
    });
    joined.unwrap_or(Proof::Guarded("nothing is accessed"))
}

/// The number of the vector that an element of it stands in, and what has to be placed for it.
fn vector_index(w: &mut Writer, member: InstId) -> Option<(InstId, Option<InstId>)> {
    let index = access(&w.insts.get(member.index())?.op)?.index;
    if let Some(constant) = w.as_constant(index) {
        return Some((w.lit(constant.bits() as u32 / WIDTH), None));
    }
    let bits = w.lit(WIDTH.trailing_zeros());
    let index = w.detached(Op::Binary(BinaryOp::Shr, index, bits), Some(DataType::U32));
    Some((index, Some(index)))
}

fn load_whole(w: &mut Writer, group: &Group, changes: &mut BTreeMap<InstId, Change>) {
    let Some(&(_, first)) = group.members.first() else { return };
    let (proof, ty) = (proof(w, group), w.ty(first));
    let Some((index, placed)) = vector_index(w, first) else { return };
    let vector = w.detached(Op::LoadVector { place: group.place, index, proof }, Some(ty));
    for &(part, id) in &group.members {
        if let Some(inst) = w.insts.get_mut(id.index()) {
            inst.op = Op::Part { vector, part };
        }
    }
    changes.insert(first, Change::Load { index: placed, vector });
}

fn store_whole(w: &mut Writer, group: &Group, changes: &mut BTreeMap<InstId, Change>) {
    let Some((&(_, last), others)) = group.members.split_last() else { return };
    let proof = proof(w, group);
    let Some((index, placed)) = vector_index(w, last) else { return };
    let mut values = [InstId(u32::MAX); WIDTH as usize];
    for &(part, id) in &group.members {
        if let (Some(Op::Store { value, .. }), Some(slot)) =
            (w.insts.get(id.index()).map(|inst| inst.op), values.get_mut(part as usize))
        {
            *slot = value;
        }
    }
    if let Some(inst) = w.insts.get_mut(last.index()) {
        inst.op = Op::StoreVector { place: group.place, index, values, width: WIDTH, proof };
    }
    changes.insert(last, Change::Store { index: placed });
    changes.extend(others.iter().map(|&(_, id)| (id, Change::Gone)));
}
