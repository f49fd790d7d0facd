//! Ranges of integer expressions, and the proofs that rest on them.
//!
//! A range's ends are polynomials over what the host knows at launch. An op's exact result gets a range by
//! its rule ([`ops`]); if it surely fits the type, that is the range, else the value may have wrapped and
//! can be anything. Beside this sure range stands a likely one: the exact result's, under the condition
//! that nothing wraps. Conditions read launch data only, so the host can decide them: they make the
//! launch contract.
//!
//! In a domain's body the extent is at least 1, in a workgroup's the counts are; these and the limits of
//! lengths are all that proofs presume. Workgroup counts themselves prove nothing for sure, as a launch
//! may replace them.

mod fact;
mod ops;
mod scope;
mod verdict;

use vyre_foundation::check::Facts;
use vyre_foundation::ir::{
    BufferId, Count, Expr, ExprId, Extent, ExtentId, Launch, Node, NodeId, Place, Program,
};
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp};
use vyre_spec::{Axis, BuiltIn, DataType};

pub(crate) use self::fact::{Fact, Range};
use self::fact::{Likely, MOST_NEEDS, union};
pub(crate) use self::verdict::Verdict;
use crate::contract::Contract;
use crate::contract::poly::{Atom, Atoms, Interval, Poly};

const WORD: Interval = (0, u32::MAX as i128);
const POSITIVE_WORD: Interval = (1, u32::MAX as i128);

/// Bytes of the largest number that host arithmetic has: extents are `u64`.
const LARGEST: Interval = (0, u64::MAX as i128);

/// The ranges and proofs of one program.
pub(crate) struct Ranges<'a> {
    program: &'a Program,
    facts: &'a Facts,
    /// The initial value of each variable that is never set.
    inits: Vec<Option<ExprId>>,
    atoms: Atoms,
    /// The number of elements of each buffer.
    lengths: Vec<Poly>,
    /// Points or workgroups of the launch.
    launch: [Poly; 3],
    /// Lanes of a subgroup.
    lanes: Option<u32>,
    /// What is known of each expression that some proof asks about.
    known: Vec<Option<Fact>>,
    /// Of each access, what was found.
    verdicts: Vec<Option<Verdict>>,
    /// The conditions that verdicts name, by number.
    conditions: Vec<Poly>,
    /// Whether proofs may rest on conditions of the launch.
    pub(crate) on_contract: bool,
}

impl<'a> Ranges<'a> {
    /// Computes ranges and proofs. `inits` has the initial value of each variable that is never set.
    pub(crate) fn new(
        program: &'a Program,
        facts: &'a Facts,
        inits: Vec<Option<ExprId>>,
        lanes: Option<u32>,
    ) -> Self {
        let mut ranges = Self {
            program,
            facts,
            inits,
            atoms: Atoms::default(),
            lengths: Vec::new(),
            launch: [0, 0, 0].map(Poly::from),
            lanes,
            known: vec![None; program.exprs().len()],
            verdicts: vec![None; program.nodes().len()],
            conditions: Vec::new(),
            on_contract: false,
        };
        ranges.host();
        let asked = ranges.asked();
        for (i, _) in asked.into_iter().enumerate().filter(|(_, asked)| *asked) {
            let id = ExprId::new(i as u32);
            if facts.type_of(id).is_int() {
                ranges.known[i] = Some(ranges.derive(id));
            }
        }
        ranges.judge();
        ranges
    }

    /// The host's numbers: lengths, extents and the launch.
    fn host(&mut self) {
        let program = self.program;
        // A length that is an extent is that extent's value; there is no cycle, so each pass over the
        // buffers settles at least one more.
        let mut lengths: Vec<Option<Poly>> = Vec::with_capacity(program.buffers().len());
        for (id, buffer) in program.buffer_ids().zip(program.buffers()) {
            lengths.push(match buffer.count {
                Count::Bytes => Some(self.atoms.leaf(Atom::Length(id), WORD)),
                Count::Extent(_) => None,
            });
        }
        let mut extents: Vec<Option<Poly>> = vec![None; program.extents().len()];
        for _ in 0..=program.buffers().len() {
            for (i, extent) in program.extents().iter().enumerate() {
                if extents[i].is_none() {
                    extents[i] = self.extent(*extent, &lengths, &extents);
                }
            }
            let mut settled = false;
            for (i, buffer) in program.buffers().iter().enumerate() {
                if let (None, Count::Extent(x)) = (&lengths[i], buffer.count) {
                    lengths[i].clone_from(&extents[x.index()]);
                    settled |= lengths[i].is_some();
                }
            }
            if !settled {
                break;
            }
        }
        // What has become too long is known by its value alone.
        let whole = |atoms: &mut Atoms, poly: Option<Poly>, atom: Atom| {
            poly.unwrap_or_else(|| atoms.leaf(atom, WORD))
        };
        for (id, length) in program.buffer_ids().zip(lengths) {
            let length = whole(&mut self.atoms, length, Atom::Length(id));
            self.atoms.learn(&length, WORD);
            self.lengths.push(length);
        }
        for axis in Axis::ALL {
            let known = match program.launch() {
                Launch::Domain { extent, .. } => extents[extent[axis.index()].index()].clone(),
                Launch::Workgroups { .. } | Launch::Indirect { .. } => None,
            };
            let points = whole(&mut self.atoms, known, Atom::Extent(axis));
            self.atoms.learn(&points, POSITIVE_WORD);
            self.launch[axis.index()] = points;
        }
        for (extent, value) in program.extents().iter().zip(&extents) {
            if let (Extent::Sub(..) | Extent::Param(_), Some(value)) = (extent, value) {
                self.atoms.learn(value, LARGEST);
            }
        }
    }

    /// The value of an extent whose operands are known.
    fn extent(&mut self, extent: Extent, lengths: &[Option<Poly>], known: &[Option<Poly>]) -> Option<Poly> {
        let of = |x: ExtentId| known[x.index()].as_ref();
        match extent {
            Extent::Literal(n) => Some(Poly::from(i128::from(n))),
            Extent::Param(id) => self.parameter(id),
            Extent::Length(id) => lengths[id.index()].clone(),
            Extent::Add(a, b) => of(a)?.add(of(b)?),
            Extent::Sub(a, b) => of(a)?.sub(of(b)?),
            Extent::Mul(a, b) => of(a)?.mul(of(b)?),
            Extent::CeilDiv(a, b) => {
                let (a, b) = (of(a)?, of(b)?);
                self.atoms.quotient(&a.add(b)?.plus(-1)?, b)
            }
            Extent::Min(a, b) => self.atoms.min(of(a)?, of(b)?),
            Extent::Max(a, b) => self.atoms.max(of(a)?, of(b)?),
        }
    }

    fn parameter(&mut self, id: vyre_foundation::ir::ParamId) -> Option<Poly> {
        let ty = self.program.param(id).ty;
        if !ty.is_int() {
            return None;
        }
        let all = Range::of_type(ty);
        Some(self.atoms.leaf(Atom::Param(id), (all.lo.constant, all.hi.constant)))
    }

    /// The expressions that proofs ask about, and their operands.
    fn asked(&self) -> Vec<bool> {
        let program = self.program;
        let mut asked = vec![false; program.exprs().len()];
        let mut ask = |id: ExprId| asked[id.index()] = true;
        for node in program.nodes() {
            match *node {
                Node::Load { index, .. } | Node::Store { index, .. } | Node::Atomic { index, .. } => {
                    ask(index)
                }
                Node::Tile { action, .. } => {
                    if let Some((_, index, stride, _)) = action.memory() {
                        ask(index);
                        ask(stride);
                    }
                }
                Node::If { condition, .. } | Node::While { condition, .. } => ask(condition),
                Node::For { start, end, step, .. } => [start, end, step].into_iter().for_each(&mut ask),
                _ => {}
            }
        }
        for expr in program.exprs() {
            if let Expr::Binary(op, a, b) = *expr {
                if is_guarded(op) {
                    ask(a);
                    ask(b);
                }
            }
        }
        // Users have higher numbers than their operands.
        for i in (0..asked.len()).rev() {
            let id = ExprId::new(i as u32);
            let ty = self.facts.type_of(id);
            if !asked[i] || !(ty.is_int() || ty == DataType::Bool) {
                continue;
            }
            for operand in program.expr(id).operands() {
                asked[operand.index()] = true;
            }
            if let Some(Node::For { start, end, step, .. }) = program.expr(id).node().map(|n| program.node(n))
            {
                for operand in [start, end, step] {
                    asked[operand.index()] = true;
                }
            }
            if let Some(init) = self.init(id) {
                asked[init.index()] = true;
            }
        }
        asked
    }

    /// The initial value of the variable that an expression reads, if it never has another.
    fn init(&self, id: ExprId) -> Option<ExprId> {
        match *self.program.expr(id) {
            Expr::Result(node) => match *self.program.node(node) {
                Node::Get { var } => self.inits.get(var.index()).copied().flatten(),
                _ => None,
            },
            _ => None,
        }
    }

    /// What is known of an expression.
    fn fact(&self, id: ExprId) -> Fact {
        match self.known.get(id.index()) {
            Some(Some(fact)) => fact.clone(),
            _ => Fact::sure(Range::of_type(self.facts.type_of(id))),
        }
    }

    /// What is known of an integer expression by what is known of its operands.
    fn derive(&mut self, id: ExprId) -> Fact {
        let ty = self.facts.type_of(id);
        let all = Range::of_type(ty);
        let operands = self.operands(id);
        let sure: Vec<&Range> = operands.iter().map(|fact| &fact.sure).collect();
        let exact = self.exact(id, ty, &sure);
        let fits = exact.as_ref().is_some_and(|r| self.unfit(r, &all).is_some_and(|needs| needs.is_empty()));
        let likely = operands.iter().any(|fact| fact.likely.is_some());
        if fits && !likely {
            return Fact::sure(exact.unwrap_or(all));
        }
        let likely = if exact.is_some() || likely { self.likely(id, ty, &operands, &all) } else { None };
        let sure = exact.filter(|_| fits).unwrap_or(all);
        let likely = likely.filter(|likely| likely.range != sure).map(Box::new);
        Fact { sure, likely }
    }

    fn likely(&mut self, id: ExprId, ty: DataType, operands: &[Fact], all: &Range) -> Option<Likely> {
        let best: Vec<&Range> = operands.iter().map(Fact::best).collect();
        let range = self.exact(id, ty, &best)?;
        let needs = operands.iter().fold(Vec::new(), |needs, fact| union(needs, fact.needs()));
        let needs = union(needs, &self.unfit(&range, all)?);
        (needs.len() <= MOST_NEEDS).then_some(Likely { range, needs })
    }

    /// The conditions under which a range lies inside another, less those that always hold; `None` if one
    /// never does.
    fn unfit(&self, range: &Range, all: &Range) -> Option<Vec<Poly>> {
        let mut needs = Vec::new();
        for need in [range.lo.sub(&all.lo)?, all.hi.sub(&range.hi)?] {
            if self.atoms.bounds(&need).1 < 0 {
                return None;
            }
            if !self.atoms.never_negative(&need) {
                needs.push(need);
            }
        }
        Some(needs)
    }

    /// What the range of an expression depends on.
    fn operands(&self, id: ExprId) -> Vec<Fact> {
        let program = self.program;
        match *program.expr(id) {
            Expr::LoopVar(node) => match *program.node(node) {
                Node::For { start, end, step, .. } => [start, end, step].map(|e| self.fact(e)).into(),
                _ => Vec::new(),
            },
            Expr::Result(_) => self.init(id).map(|init| self.fact(init)).into_iter().collect(),
            ref expr => expr.operands().map(|e| self.fact(e)).collect(),
        }
    }

    /// The range of an expression's exact value, before it wraps.
    fn exact(&mut self, id: ExprId, ty: DataType, operands: &[&Range]) -> Option<Range> {
        match (*self.program.expr(id), operands) {
            (Expr::Literal(value), _) => value.as_int().map(|n| Range::new(n, n)),
            (Expr::Param(id), _) => self.parameter(id).map(Range::exactly),
            (Expr::BuiltIn(built_in), _) => self.built_in(built_in),
            (Expr::Length(id), _) => Some(Range::exactly(self.lengths[id.index()].clone())),
            (Expr::LoopVar(_), [start, end, step]) => self.loop_variable(start, end, step),
            (Expr::Result(_), [init]) => Some((*init).clone()),
            (Expr::Unary(op, a), [range]) => ops::unary(op, self.facts.type_of(a), range, &self.atoms),
            (Expr::Binary(op, a, _), [x, y]) if self.facts.type_of(a).is_int() => {
                ops::binary(op, ty, x, y, &mut self.atoms)
            }
            (Expr::Ternary(TernaryOp::Select, ..), [_, a, b]) => {
                Some(Range { lo: self.atoms.min(&a.lo, &b.lo)?, hi: self.atoms.max(&a.hi, &b.hi)? })
            }
            (Expr::Ternary(TernaryOp::Clamp, ..), [x, low, high]) => {
                let lo = self.atoms.max(&x.lo, &low.lo)?;
                let hi = self.atoms.max(&x.hi, &low.hi)?;
                Some(Range { lo: self.atoms.min(&lo, &high.lo)?, hi: self.atoms.min(&hi, &high.hi)? })
            }
            // Where the value fits the target it stays the same, also as bits of the same width.
            (Expr::Cast(op, _, a), [range]) => {
                let from = self.facts.type_of(a);
                let same = match op {
                    CastOp::Convert => from.is_int() || from == DataType::Bool,
                    CastOp::Bitcast => from.is_int() && from.size() == ty.size(),
                };
                same.then(|| (*range).clone())
            }
            _ => None,
        }
    }

    /// The body runs only where start ≤ variable < end.
    fn loop_variable(&mut self, start: &Range, end: &Range, step: &Range) -> Option<Range> {
        let last = end.hi.plus(-1)?;
        let hi = match step.as_constant() {
            // From one start, the variable passes multiples of the step only.
            Some(n) if n > 1 && start.lo == start.hi => {
                let trips = self.atoms.quotient(&last.sub(&start.lo)?, &Poly::from(n))?;
                start.lo.add(&trips.scaled(n)?)?
            }
            _ => last,
        };
        Some(Range { lo: start.lo.clone(), hi })
    }

    fn built_in(&mut self, built_in: BuiltIn) -> Option<Range> {
        let below = |n: Poly| Some(Range { lo: Poly::from(0), hi: n.plus(-1)? });
        let size = match self.program.launch() {
            Launch::Workgroups { size, .. } | Launch::Indirect { size, .. } => size,
            Launch::Domain { .. } => [1; 3],
        }
        .map(i128::from);
        match built_in {
            BuiltIn::Point(axis) | BuiltIn::WorkgroupId(axis) => below(self.launch[axis.index()].clone()),
            BuiltIn::GlobalId(axis) => below(self.launch[axis.index()].scaled(size[axis.index()])?),
            BuiltIn::Extent(axis) | BuiltIn::WorkgroupCount(axis) => {
                Some(Range::exactly(self.launch[axis.index()].clone()))
            }
            BuiltIn::LocalId(axis) => below(Poly::from(size[axis.index()])),
            BuiltIn::LocalIndex => below(Poly::from(size.iter().product::<i128>())),
            BuiltIn::SubgroupLane => below(Poly::from(i128::from(self.lanes?))),
            BuiltIn::SubgroupSize => self.lanes.map(|n| Range::new(i128::from(n), i128::from(n))),
            BuiltIn::SubgroupId => {
                // Subgroups are whole.
                let invocations = size.iter().product::<i128>();
                below(Poly::from(invocations / self.lanes.map_or(1, |n| i128::from(n.max(1)))))
            }
        }
    }

    /// The constants that an expression lies between at every launch.
    pub(crate) fn range(&self, id: ExprId) -> Option<(i64, i64)> {
        let sure = &self.known.get(id.index())?.as_ref()?.sure;
        let narrow = |n: i128| i64::try_from(n).ok();
        Some((narrow(self.atoms.bounds(&sure.lo).0)?, narrow(self.atoms.bounds(&sure.hi).1)?))
    }

    /// A buffer's number of elements, if it is a constant.
    pub(crate) fn count(&self, buffer: BufferId) -> Option<i64> {
        let constant = self.lengths.get(buffer.index())?.as_constant()?;
        i64::try_from(constant).ok().filter(|&n| (0..=i64::from(u32::MAX)).contains(&n))
    }

    /// The number of elements of an array.
    fn length(&self, place: Place) -> Poly {
        match place {
            Place::Buffer(id) => self.lengths[id.index()].clone(),
            Place::Shared(id) => Poly::from(i128::from(self.program.shared_array(id).len)),
            Place::Private(id) => Poly::from(i128::from(self.program.private_array(id).len)),
        }
    }

    /// What was found about an access.
    pub(crate) fn verdict(&self, node: NodeId) -> Verdict {
        self.verdicts.get(node.index()).copied().flatten().unwrap_or(Verdict::Guarded("nothing is known"))
    }

    /// The contract of the conditions that verdicts name; none if proofs may not rest on it.
    pub(crate) fn contract(&self) -> Contract {
        if !self.on_contract {
            return Contract::default();
        }
        let name = |atom: &Atom| match *atom {
            Atom::Length(id) => format!("len({})", self.program.buffer(id).name),
            Atom::Param(id) => self.program.param(id).name.clone(),
            Atom::Extent(axis) => format!("workgroups.{}", axis.name()),
            _ => String::new(),
        };
        Contract::new(&self.atoms, &self.conditions, &name)
    }
}

/// Whether an op's second operand needs a guard: a divisor or a shift's amount.
fn is_guarded(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::RotateLeft
            | BinaryOp::RotateRight
    )
}
