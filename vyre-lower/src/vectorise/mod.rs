//! Domain programs whose invocations compute several consecutive points, so that accesses to elements that lie
//! together become vectors of up to 16 bytes.
//!
//! Points of a domain are unordered, so computing some in lockstep keeps their meaning: each node is carried
//! out for all points of an invocation before the next one, and a branch or loop that not all of them take
//! alike for one after the other. An invocation whose points all lie in the domain runs that form; the one at
//! the end of a row runs the scalar form for each point that is left, and so stores no more than they do.
//!
//! Of 8- and 16-bit elements, vectors are whole words. Where every store to such a buffer is by whole vectors
//! of one index, no two invocations store to one word, and nothing about the buffer is atomic.

mod body;
mod flow;
mod joined;
mod lanes;
mod memory;
mod sharing;
mod window;

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{BufferId, Extent, Launch, Node, NodeId, Place, Program};

use self::flow::Flow;
use self::joined::Joined;
use self::lanes::Lanes;
use self::sharing::{Access, Sharing};
use crate::kernel::{self, Note, Proof};

/// Bytes of a vector, at most.
pub(crate) const VECTOR_BYTES: u32 = 16;

/// Nodes and expressions of a body times the points of an invocation, at most: each is there once for every
/// point, and what is live at the same time must fit the registers.
const MOST_WORK: usize = 1024;

/// The same of a body at all.
const MOST_PARTS: usize = 256;

/// The vector form of a program.
#[derive(Debug)]
pub(crate) struct Vectorised {
    /// Points of an invocation.
    pub(crate) points: u32,
    /// Of each access.
    pub(crate) sharing: Vec<Option<Access>>,
    /// Stores that are done together.
    pub(crate) joined: Vec<Joined>,
    /// How the points go through the body.
    pub(crate) flow: Flow,
    /// How each expression differs between the points.
    pub(crate) lanes: Lanes,
}

impl Vectorised {
    /// The buffers whose words no two invocations store to.
    pub(crate) fn owned(&self) -> impl Iterator<Item = BufferId> + '_ {
        let whole = |access: &Access| access.owned.then_some(access.place);
        self.sharing.iter().flatten().filter_map(whole).filter_map(|place| match place {
            Place::Buffer(id) => Some(id),
            _ => None,
        })
    }

    /// Which accesses meet single elements, and why.
    pub(crate) fn notes(&self, number: impl Fn(BufferId) -> u32) -> Vec<Note> {
        let mut notes = Vec::new();
        for access in self.sharing.iter().flatten() {
            if let (Sharing::Apart(why), Place::Buffer(id)) = (access.sharing, access.place) {
                let note = Note { place: Some(kernel::Place::Binding(number(id))), why };
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        notes
    }

    /// How many accesses are vectors.
    fn vectors(&self) -> usize {
        self.count(Sharing::is_vector)
    }

    /// How many each point does by itself.
    fn apart(&self) -> usize {
        self.count(|sharing| matches!(sharing, Sharing::Apart(_)))
    }

    fn count(&self, is: impl Fn(Sharing) -> bool) -> usize {
        self.sharing.iter().flatten().filter(|access| is(access.sharing)).count()
    }
}

/// The vector form of a domain program, or why it has none that is worth it. `proof` says what was found of each
/// access, `fits` whether the loops keep within the driver's limits with so many points to an invocation.
pub(crate) fn plan(
    program: &Program,
    facts: &Facts,
    proof: impl Fn(NodeId) -> Proof,
    fits: impl Fn(u32) -> bool,
) -> Result<Vectorised, &'static str> {
    let parts = program.nodes().len() + program.exprs().len();
    if parts > MOST_PARTS {
        return Err("the body is long");
    }
    if !program.privates().is_empty() {
        return Err("a private array would be there once for every point");
    }
    let mut loops = false;
    for node in program.nodes() {
        match node {
            Node::Return => return Err("a `return` ends one point and not its neighbours"),
            Node::While { .. } | Node::Trap { .. } => return Err("a trap names its point"),
            Node::For { .. } => loops = true,
            _ => {}
        }
    }
    let mut best: Result<Vectorised, _> = Err("no two points have neighbouring elements");
    for points in [16, 8, 4, 2u32] {
        let lanes = Lanes::new(program, facts, points);
        let flow = Flow::new(program, facts, &lanes);
        let apart = |id| !flow.is_together(id) || flow.is_apart(facts.region_of(id));
        let nodes = (0..).map(NodeId::new).zip(program.nodes());
        let divergent = nodes.into_iter().any(|(id, node)| matches!(node, Node::For { .. }) && apart(id));
        let (sharing, joined) = sharing::classify(program, facts, &lanes, &flow, &proof);
        let form = Vectorised { points, sharing, joined, flow, lanes };
        // Bytes of the smallest element that is in vectors.
        let vectors = form.sharing.iter().flatten().filter(|access| access.sharing.is_vector());
        let Some(size) = vectors.map(|access| access.size).min() else { continue };
        let obstacle = if points * size > VECTOR_BYTES {
            continue;
        } else if form.apart() > 2 * form.vectors() {
            "most of its accesses have no neighbouring elements"
        } else if divergent && size >= 4 {
            "its loops make different trips for each point, which would run one after the other"
        } else if loops && points > (4 / size).max(4) || divergent && points > 4 / size {
            "its loops leave room for fewer points"
        } else if parts * points as usize > MOST_WORK {
            "the body is long"
        } else if row(program).is_some_and(|row| row < u64::from(points)) {
            "a row has fewer points than a vector"
        } else if !fits(points) {
            "loops of several points would pass the driver's limit of iterations"
        } else {
            if best.as_ref().map_or(true, |best| best.vectors() < form.vectors()) {
                best = Ok(form);
            }
            continue;
        };
        if best.is_err() {
            best = Err(obstacle);
        }
    }
    best
}

/// The length of a row of the domain, if it is a constant.
fn row(program: &Program) -> Option<u64> {
    let Launch::Domain { extent, .. } = program.launch() else { return None };
    match *program.extents().get(extent[0].index())? {
        Extent::Literal(row) => Some(row),
        _ => None,
    }
}

/// Whether no invocation with several points has fewer of them than the others, or all such are at the end of
/// the only row.
fn one_tail(program: &Program, points: u32) -> bool {
    let Launch::Domain { axes, .. } = program.launch() else { return false };
    axes == 1 || row(program).is_some_and(|row| row % u64::from(points) == 0)
}
