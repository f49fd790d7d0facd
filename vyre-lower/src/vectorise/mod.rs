//! Domain programs whose invocations compute several consecutive points, so that contiguous accesses become
//! whole vectors of 16 bytes.
//!
//! Points of a domain are unordered, so computing some in lockstep keeps their meaning: each node is carried
//! out for all points of an invocation before the next one. An invocation whose points all lie in the domain
//! runs the vector form; the one at the end of a row runs the scalar form for each point that is left, and
//! so stores no more than they do.

mod body;
mod lanes;

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{Launch, Node, NodeId, Place, Program};

use self::lanes::{Lanes, Spread};
use crate::kernel::Proof;

/// Bytes of a vector.
pub(crate) const VECTOR_BYTES: u32 = 16;

/// Nodes of a body, and expressions, at most: each is there once for every point, and what is live at the
/// same time must fit the registers.
const MOST_NODES: usize = 32;
const MOST_EXPRS: usize = 96;

/// How the points of an invocation share the work of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Each does its own.
    Apart,
    /// One does it for all, as they have the same operands.
    Once,
    /// One vector holds the elements of all, in their order or in the opposite one.
    Vector {
        /// Whether the last point has the first element.
        reversed: bool,
    },
}

/// The vector form of a program.
#[derive(Debug)]
pub(crate) struct Vectorised {
    /// Points of an invocation.
    pub(crate) width: u32,
    /// Of each node.
    pub(crate) sharing: Vec<Sharing>,
    /// How each expression differs between the points.
    pub(crate) lanes: Lanes,
}

/// The vector form, if the program has one that is worth it. `proof` says what was found of each access.
pub(crate) fn plan(program: &Program, facts: &Facts, proof: impl Fn(NodeId) -> Proof) -> Option<Vectorised> {
    if !matches!(program.launch(), Launch::Domain { .. })
        || program.nodes().len() > MOST_NODES
        || program.exprs().len() > MOST_EXPRS
    {
        return None;
    }
    // The elements of a vector: as many as it has of the widest type that the program keeps in memory.
    let mut size = 0;
    for node in program.nodes() {
        match *node {
            Node::Load { place: place @ Place::Buffer(_), .. }
            | Node::Store { place: place @ Place::Buffer(_), .. } => {
                size = size.max(program.place(place).1.size());
            }
            Node::Declare { .. } | Node::Get { .. } => {}
            // Branches and loops would have to be taken together; atomics gain nothing.
            _ => return None,
        }
    }
    // Other sizes wait for other vectors.
    if size != 4 || has_other_sizes(program) {
        return None;
    }
    let width = VECTOR_BYTES / size;
    let lanes = Lanes::new(program, facts, width)?;
    let mut vectors = 0;
    let mut sharing = Vec::with_capacity(program.nodes().len());
    for (i, node) in (0..).zip(program.nodes()) {
        let (index, is_load) = match *node {
            Node::Load { index, .. } => (index, true),
            Node::Store { index, .. } => (index, false),
            _ => {
                sharing.push(Sharing::Once);
                continue;
            }
        };
        let guarded = matches!(proof(NodeId::new(i)), Proof::Guarded(_));
        sharing.push(match lanes.of(index) {
            Spread::Same { .. } if is_load => Sharing::Once,
            Spread::Linear { up: true, rest: Some(0) } if !guarded => Sharing::Vector { reversed: false },
            Spread::Linear { up: false, rest: Some(r) } if !guarded && r == width - 1 => {
                Sharing::Vector { reversed: true }
            }
            _ => Sharing::Apart,
        });
        vectors += usize::from(matches!(sharing.last(), Some(Sharing::Vector { .. })));
    }
    (vectors > 0).then_some(Vectorised { width, sharing, lanes })
}

/// Whether some buffer that the program touches has elements of another size than a word.
fn has_other_sizes(program: &Program) -> bool {
    program.nodes().iter().any(|node| node.place().is_some_and(|place| program.place(place).1.size() != 4))
}
