//! How the points of an invocation share each access.

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{BufferId, ExprId, Node, NodeId, Place, Program};

use super::flow::Flow;
use super::joined::{self, Joined};
use super::lanes::{Lanes, Spread};
use super::window::Window;
use super::{VECTOR_BYTES, one_tail};
use crate::kernel::Proof;
use crate::legalize::per_word;

/// How the points share one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each does its own, for the reason.
    Apart(&'static str),
    /// One does it for all, as they have the same operands.
    Once,
    /// Vectors hold the elements of all.
    Vector(Window),
    /// Vectors hold the elements of all and of other stores, which are done together.
    Joined,
}

impl Sharing {
    /// Whether it is done in vectors.
    pub(crate) fn is_vector(self) -> bool {
        matches!(self, Self::Vector(_) | Self::Joined)
    }
}

/// An access to a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// The buffer.
    pub(crate) place: Place,
    /// Bytes of an element.
    pub(crate) size: u32,
    /// How it is shared.
    pub(crate) sharing: Sharing,
    /// Whether it stores to words that several elements share and no two invocations.
    pub(crate) owned: bool,
}

/// What the accesses to a buffer have in common.
#[derive(Clone, Copy, Default)]
struct Use {
    atomic: bool,
    /// The index of the stores, as long as there is one.
    stores: Option<ExprId>,
    /// Why invocations may share a word that they store to.
    shared: Option<&'static str>,
}

/// Looks at every access to a buffer.
pub(super) fn classify(
    program: &Program,
    facts: &Facts,
    lanes: &Lanes,
    flow: &Flow,
    proof: impl Fn(NodeId) -> Proof,
) -> (Vec<Option<Access>>, Vec<Joined>) {
    let points = lanes.points();
    let guarded = |id: NodeId| matches!(proof(id), Proof::Guarded(_));
    let mut joined = joined::find(program, facts, lanes, flow, |id| !guarded(id));
    // All members of a group have the index of the first one, as it were.
    let mut leaders = vec![None; program.nodes().len()];
    for group in &joined {
        let leader = group.members.first().and_then(|&first| match *program.node(first) {
            Node::Store { index, .. } => Some(index),
            _ => None,
        });
        group.members.iter().for_each(|member| leaders[member.index()] = leader);
    }
    let mut uses = vec![Use::default(); program.buffers().len()];
    let mut accesses: Vec<Option<Access>> = vec![None; program.nodes().len()];
    for (i, node) in program.nodes().iter().enumerate() {
        let id = NodeId::new(i as u32);
        let (place, index, kind) = match *node {
            Node::Load { place, index } => (place, index, Kind::Load),
            Node::Store { place, index, .. } => (place, index, Kind::Store),
            Node::Atomic { place, index, .. } => (place, index, Kind::Atomic),
            _ => continue,
        };
        let Place::Buffer(buffer) = place else { continue };
        let element = program.place(place).1;
        let vector = (VECTOR_BYTES / element.size()).min(points);
        let sharing = if flow.is_apart(facts.region_of(id)) {
            Sharing::Apart("points come to it one by one")
        } else if leaders[i].is_some() && vector >= per_word(element) {
            Sharing::Joined
        } else {
            shared(lanes.of(index), vector, points, guarded(id), kind, per_word(element))
        };
        let index = leaders[i].unwrap_or(index);
        let about = &mut uses[buffer.index()];
        match (kind, sharing) {
            (Kind::Load, _) => {}
            (Kind::Atomic, _) => about.atomic = true,
            (Kind::Store, Sharing::Vector(_) | Sharing::Joined)
                if about.stores.is_none_or(|known| known == index) =>
            {
                about.stores = Some(index);
            }
            (Kind::Store, Sharing::Apart(why)) => about.shared = Some(why),
            (Kind::Store, _) => about.shared = Some("stores of several indices share its words"),
        }
        accesses[i] = Some(Access { place, size: element.size(), sharing, owned: false });
    }
    for (node, access) in program.nodes().iter().zip(&mut accesses) {
        let Some(access) = access else { continue };
        if let (Place::Buffer(buffer), true) = (access.place, access.sharing.is_vector()) {
            let packed = per_word(program.place(access.place).1) > 1;
            let about = settle(program, buffer, &uses, points);
            let store = matches!(node, Node::Store { .. });
            match (about.atomic, about.shared) {
                // Words with several elements are never used atomically by the program.
                (true, _) => access.sharing = Sharing::Apart("atomics meet the same buffer"),
                (_, Some(why)) if store && packed => access.sharing = Sharing::Apart(why),
                _ => access.owned = store && packed,
            }
        }
    }
    let stays =
        |member: &NodeId| accesses[member.index()].is_some_and(|access| access.sharing == Sharing::Joined);
    joined.retain(|group| group.members.iter().all(stays));
    (accesses, joined)
}

fn settle(program: &Program, buffer: BufferId, uses: &[Use], points: u32) -> Use {
    let about = uses[buffer.index()];
    let shared = about.shared.or((!one_tail(program, points)).then_some("rows may end inside a word of it"));
    Use { shared, ..about }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    Atomic,
}

/// How points share an access that they come to together.
fn shared(spread: Spread, vector: u32, points: u32, guarded: bool, kind: Kind, per_word: u32) -> Sharing {
    let (step, rest) = match spread {
        _ if kind == Kind::Atomic => return Sharing::Apart("it is atomic"),
        Spread::Same { .. } if kind == Kind::Load => return Sharing::Once,
        Spread::Linear { step, rest } => (step, rest),
        _ => return Sharing::Apart("the index of one point does not tell the next one's"),
    };
    if guarded {
        return Sharing::Apart("its index may be out of bounds");
    }
    let Some(rest) = rest else { return Sharing::Apart("its alignment depends on the launch") };
    if vector < per_word {
        return Sharing::Apart("the points have less than a word");
    }
    let window = Window { first: (rest % vector) as i32, step, points, vector };
    match kind {
        Kind::Store if !window.is_whole() => Sharing::Apart("the points do not have whole vectors of it"),
        Kind::Load if !window.is_dense() || window.count() >= points => {
            Sharing::Apart("its elements lie too far apart")
        }
        _ => Sharing::Vector(window),
    }
}
