//! The checker on programs made by hand: each refusal, what it names, and what stays accepted.

mod uniformity;
mod whole;

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, Axis, BuiltIn, DataType, MemoryOrdering, Value};

use super::check;
use crate::diag::{Code, Diagnostic, Site};
use crate::ir::{
    Arena, Array, Buffer, BufferId, Count, Expr, ExprId, Extent, Launch, Node, NodeId, Param, Place,
    RegionId, Renumbering, VarId, Variable,
};

/// An arena with a `readwrite` u32 buffer `data` and shorthands.
struct Kernel {
    arena: Arena,
    body: RegionId,
    data: Place,
}

impl Kernel {
    fn domain() -> Self {
        let mut arena = Arena::new("test");
        let data = arena.buffer(Buffer {
            name: "data".into(),
            element: DataType::U32,
            access: Access::ReadWrite,
            count: Count::Bytes,
            coherent: false,
        });
        let length = arena.extent(Extent::Length(data));
        let one = arena.extent(Extent::Literal(1));
        arena.set_launch(Launch::Domain { extent: [length, one, one], axes: 1 });
        Self { arena, body: RegionId::new(0), data: Place::Buffer(data) }
    }

    fn workgroups() -> Self {
        let mut kernel = Self::domain();
        let one = kernel.arena.extent(Extent::Literal(1));
        kernel.arena.set_launch(Launch::Workgroups { size: [64, 1, 1], count: [one; 3] });
        kernel
    }

    fn lit(&mut self, x: u32) -> ExprId {
        self.arena.expr(Expr::Literal(Value::new(x)))
    }

    fn truth(&mut self) -> ExprId {
        self.arena.expr(Expr::Literal(Value::new(true)))
    }

    fn built_in(&mut self, x: BuiltIn) -> ExprId {
        self.arena.expr(Expr::BuiltIn(x))
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        self.arena.expr(Expr::Binary(op, a, b))
    }

    fn load(&mut self, region: RegionId, index: ExprId) -> (NodeId, ExprId) {
        let node = self.arena.push(region, Node::Load { place: self.data, index });
        (node, self.arena.expr(Expr::Result(node)))
    }

    fn store(&mut self, region: RegionId, value: ExprId) -> NodeId {
        let index = self.lit(0);
        self.arena.push(region, Node::Store { place: self.data, index, value })
    }

    fn variable(&mut self, name: &str, ty: DataType) -> VarId {
        self.arena.var(Variable { name: name.into(), ty })
    }

    fn if_then(&mut self, region: RegionId, condition: ExprId) -> RegionId {
        let (then, otherwise) = (self.arena.region(), self.arena.region());
        self.arena.push(region, Node::If { condition, then, otherwise });
        then
    }

    fn for_loop(&mut self, region: RegionId, end: ExprId) -> (NodeId, RegionId) {
        let body = self.arena.region();
        let (start, step) = (self.lit(0), self.lit(1));
        (self.arena.push(region, Node::For { start, end, step, body }), body)
    }

    fn finish(self) -> (Result<super::Checked<crate::ir::Program>, Vec<Diagnostic>>, Renumbering) {
        let (program, renumbering) = self.arena.finish().unwrap();
        (check(program), renumbering)
    }

    fn codes(self) -> Vec<Code> {
        self.finish().0.err().unwrap_or_default().into_iter().map(|finding| finding.code).collect()
    }
}

#[test]
fn a_copy_has_types_homes_and_usage() {
    let mut k = Kernel::domain();
    let out = k.arena.buffer(Buffer {
        name: "out".into(),
        element: DataType::Bool,
        access: Access::WriteOnly,
        count: Count::Bytes,
        coherent: false,
    });
    let length = k.arena.extent(Extent::Length(BufferId::new(0)));
    k.arena.set_count(out, Count::Extent(length));
    let point = k.built_in(BuiltIn::Point(Axis::X));
    let three = k.lit(3);
    let (body, condition) = (k.body, k.binary(BinaryOp::Lt, point, three));
    let then = k.if_then(body, condition);
    let (_, loaded) = k.load(then, point);
    let flag = k.binary(BinaryOp::Eq, loaded, three);
    k.arena.push(then, Node::Store { place: Place::Buffer(out), index: point, value: flag });
    let (result, renumbering) = k.finish();
    let checked = result.unwrap();
    let facts = checked.facts();
    let flag = renumbering.expr(flag).unwrap();
    assert_eq!(facts.type_of(flag), DataType::Bool);
    assert_eq!(facts.type_of(renumbering.expr(loaded).unwrap()), DataType::U32);
    assert_eq!(facts.home(renumbering.expr(condition).unwrap()), checked.body());
    let Node::If { then, otherwise, .. } = *checked.node(NodeId::new(0)) else { panic!("an if") };
    assert_eq!(facts.home(flag), then);
    assert_eq!(facts.region_of(NodeId::new(1)), then);
    assert_eq!(facts.parent(otherwise), Some((NodeId::new(0), checked.body())));
    assert_eq!(facts.parent(checked.body()), None);
    assert!(facts.usage(Place::Buffer(BufferId::new(0))).loaded);
    assert!(!facts.usage(Place::Buffer(BufferId::new(0))).stored);
    assert!(facts.usage(Place::Buffer(out)).stored);
    assert!(!facts.has_barrier() && !facts.has_subgroup() && !facts.has_trap());
}

#[test]
fn names_are_identifiers_unique_and_not_words_of_the_language() {
    for (name, code) in [
        ("9a", Code::BadName),
        ("", Code::BadName),
        ("a-b", Code::BadName),
        ("while", Code::BadName),
        ("u32", Code::BadName),
        ("atomic_add", Code::BadName),
        ("local_id", Code::BadName),
        ("readonly", Code::BadName),
        ("data", Code::DuplicateName),
    ] {
        let mut k = Kernel::domain();
        k.arena.param(Param { name: name.into(), ty: DataType::U32, specialize: false });
        assert_eq!(k.codes(), [code], "{name}");
    }
}

#[test]
fn counts_are_known_before_the_launch() {
    let buffer = |name: &str, access, count| Buffer {
        name: name.into(),
        element: DataType::U32,
        access,
        count,
        coherent: false,
    };
    let mut k = Kernel::domain();
    k.arena.buffer(buffer("out", Access::WriteOnly, Count::Bytes));
    assert_eq!(k.codes(), [Code::BadCount]);

    // a's count is b's, b's is a's plus one: one cycle, one finding. c, which depends on it, is not at fault.
    let mut k = Kernel::domain();
    let a = k.arena.buffer(buffer("a", Access::ReadWrite, Count::Bytes));
    let b = k.arena.buffer(buffer("b", Access::ReadWrite, Count::Bytes));
    let c = k.arena.buffer(buffer("c", Access::ReadWrite, Count::Bytes));
    let (of_a, of_b) = (k.arena.extent(Extent::Length(a)), k.arena.extent(Extent::Length(b)));
    let one = k.arena.extent(Extent::Literal(1));
    let more = k.arena.extent(Extent::Add(of_a, one));
    k.arena.set_count(a, Count::Extent(of_b));
    k.arena.set_count(b, Count::Extent(more));
    k.arena.set_count(c, Count::Extent(of_a));
    let findings = k.finish().0.unwrap_err();
    assert_eq!(
        findings.iter().map(|f| (f.code, f.site)).collect::<Vec<_>>(),
        [(Code::BadCount, Site::Buffer(a))]
    );

    let mut k = Kernel::domain();
    let scale = k.arena.param(Param { name: "scale".into(), ty: DataType::F32, specialize: false });
    let of_scale = k.arena.extent(Extent::Param(scale));
    k.arena.set_count(BufferId::new(0), Count::Extent(of_scale));
    // The launch is over the buffer's length, which is not itself a float.
    assert_eq!(k.codes(), [Code::BadCount]);
}

#[test]
fn launches_are_well_formed() {
    for (size, count) in [([0, 1, 1], 1), ([0, 0, 1], 2), ([65_536, 65_536, 1], 1), ([1, 1, 1], 0)] {
        let mut k = Kernel::workgroups();
        let one = k.arena.extent(Extent::Literal(1));
        k.arena.set_launch(Launch::Workgroups { size, count: [one; 3] });
        assert_eq!(k.codes(), vec![Code::BadLaunch; count], "{size:?}");
    }
    for (axes, count) in [(0, 2), (1, 1), (2, 0), (3, 0), (4, 1)] {
        let mut k = Kernel::domain();
        let (one, two) = (k.arena.extent(Extent::Literal(1)), k.arena.extent(Extent::Literal(2)));
        k.arena.set_launch(Launch::Domain { extent: [two, two, one], axes });
        // With no axes named, the two twos and the number of axes are wrong.
        assert_eq!(k.codes().len(), if axes == 0 { 3 } else { count }, "{axes}");
    }
}

#[test]
fn constructs_belong_to_their_launch() {
    let mut k = Kernel::domain();
    k.arena.shared(Array { name: "tile".into(), element: DataType::U32, len: 0 });
    let body = k.body;
    k.arena.push(body, Node::Barrier { ordering: MemoryOrdering::Workgroup });
    let lane = k.built_in(BuiltIn::LocalIndex);
    k.arena.push(body, Node::Subgroup { op: SubgroupOp::Add, value: lane, lane: None });
    // In program order: the array (no element, wrong launch), the barrier, the built-in, its user.
    let codes = k.codes();
    assert_eq!(codes.len(), 5);
    assert_eq!(codes.iter().filter(|&&code| code == Code::LaunchKind).count(), 4);
    assert!(codes.contains(&Code::BadArray));

    let mut k = Kernel::workgroups();
    let (body, point) = (k.body, k.built_in(BuiltIn::Point(Axis::Y)));
    k.store(body, point);
    assert_eq!(k.codes(), [Code::LaunchKind]);
}

#[test]
fn variables_are_declared_once_and_used_in_scope() {
    // Declared in a branch, read after it.
    let mut k = Kernel::domain();
    let (body, yes, zero) = (k.body, k.truth(), k.lit(0));
    let x = k.variable("x", DataType::U32);
    let then = k.if_then(body, yes);
    k.arena.push(then, Node::Declare { var: x, init: zero });
    k.arena.push(then, Node::Set { var: x, value: zero });
    let late = k.arena.push(body, Node::Set { var: x, value: zero });
    let (result, renumbering) = k.finish();
    let findings = result.unwrap_err();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        (findings[0].code, findings[0].site),
        (Code::VariableScope, Site::Node(renumbering.node(late).unwrap()))
    );
    assert!(findings[0].message.contains("`x`"));

    // Read before it is declared, declared twice, never declared.
    let mut k = Kernel::domain();
    let (body, zero) = (k.body, k.lit(0));
    let x = k.variable("x", DataType::U32);
    let y = k.variable("y", DataType::U32);
    k.arena.push(body, Node::Get { var: x });
    k.arena.push(body, Node::Declare { var: x, init: zero });
    k.arena.push(body, Node::Declare { var: x, init: zero });
    k.arena.push(body, Node::Set { var: y, value: zero });
    assert_eq!(k.codes(), [Code::VariableScope; 3]);
}

#[test]
fn results_are_used_where_they_exist() {
    // Made in one branch, used in the other, and after.
    let mut k = Kernel::domain();
    let (body, yes, zero) = (k.body, k.truth(), k.lit(0));
    let (then, otherwise) = (k.arena.region(), k.arena.region());
    k.arena.push(body, Node::If { condition: yes, then, otherwise });
    let (_, loaded) = k.load(then, zero);
    k.store(then, loaded);
    k.store(otherwise, loaded);
    k.store(body, loaded);
    assert_eq!(k.codes(), [Code::Dominance; 2]);

    // Before it is made.
    let mut k = Kernel::domain();
    let (body, zero) = (k.body, k.lit(0));
    let load = k.arena.node(Node::Load { place: k.data, index: zero });
    let loaded = k.arena.expr(Expr::Result(load));
    k.store(body, loaded);
    k.arena.place_node(body, load);
    assert_eq!(k.codes(), [Code::Dominance]);

    // A loop variable after its loop; a sum of two loops' variables is one finding for all its users.
    let mut k = Kernel::domain();
    let (body, ten) = (k.body, k.lit(10));
    let (first, inside) = k.for_loop(body, ten);
    let (second, _) = k.for_loop(body, ten);
    let (i, j) = (k.arena.expr(Expr::LoopVar(first)), k.arena.expr(Expr::LoopVar(second)));
    k.store(inside, i);
    k.store(body, i);
    let sum = k.binary(BinaryOp::Add, i, j);
    let twice = k.binary(BinaryOp::Add, sum, sum);
    k.store(body, twice);
    k.store(body, sum);
    assert_eq!(k.codes(), [Code::Dominance; 2]);
}

#[test]
fn the_head_of_a_while_is_in_scope_in_condition_and_body_only() {
    let build = |after: bool| {
        let mut k = Kernel::domain();
        let (body, zero) = (k.body, k.lit(0));
        let (head, inside) = (k.arena.region(), k.arena.region());
        let x = k.variable("x", DataType::U32);
        k.arena.push(head, Node::Declare { var: x, init: zero });
        let (_, loaded) = k.load(head, zero);
        let condition = k.binary(BinaryOp::Ne, loaded, zero);
        let node = k.arena.push(body, Node::While { head, condition, body: inside });
        k.store(inside, loaded);
        k.arena.push(inside, Node::Set { var: x, value: loaded });
        if after {
            k.store(body, loaded);
        }
        let (result, renumbering) = k.finish();
        (result, renumbering.node(node).unwrap())
    };
    let (result, node) = build(false);
    let checked = result.unwrap();
    let Node::While { head, body, .. } = *checked.node(node) else { panic!("a while") };
    assert_eq!(checked.facts().parent(body), Some((node, head)));
    assert_eq!(checked.facts().parent(head), Some((node, checked.body())));
    let codes: Vec<_> = build(true).0.unwrap_err().iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::Dominance]);

    // What the body makes, or what comes after the loop, is not there for the condition.
    for after in [false, true] {
        let mut k = Kernel::domain();
        let (body, zero) = (k.body, k.lit(0));
        let (head, inside) = (k.arena.region(), k.arena.region());
        let late = k.arena.node(Node::Load { place: k.data, index: zero });
        let loaded = k.arena.expr(Expr::Result(late));
        let condition = k.binary(BinaryOp::Ne, loaded, zero);
        k.arena.push(body, Node::While { head, condition, body: inside });
        k.arena.place_node(if after { body } else { inside }, late);
        assert_eq!(k.codes(), [Code::Dominance], "{after}");
    }
}

#[test]
fn the_type_of_a_vote_in_the_head_reaches_the_condition() {
    let mut k = Kernel::workgroups();
    let (body, yes) = (k.body, k.truth());
    let (head, inside) = (k.arena.region(), k.arena.region());
    let vote = k.arena.push(head, Node::Subgroup { op: SubgroupOp::Any, value: yes, lane: None });
    let condition = k.arena.expr(Expr::Result(vote));
    k.arena.push(body, Node::While { head, condition, body: inside });
    let (program, renumbering) = k.arena.finish().unwrap();
    let mut findings = Vec::new();
    let types = super::types::check(&program, &mut findings);
    assert_eq!(types[renumbering.expr(condition).unwrap().index()], Some(DataType::Bool));
    assert_eq!(findings, []);

    // A vote over itself is a cycle through a node: refused, not followed for ever.
    let mut k = Kernel::workgroups();
    let (body, yes) = (k.body, k.truth());
    let vote = k.arena.push(body, Node::Subgroup { op: SubgroupOp::Any, value: yes, lane: None });
    let itself = k.arena.expr(Expr::Result(vote));
    k.arena.replace_node(vote, Node::Subgroup { op: SubgroupOp::Any, value: itself, lane: None });
    assert_eq!(k.codes(), [Code::Dominance]);
}

#[test]
fn nothing_follows_a_jump_and_jumps_are_in_loops() {
    let mut k = Kernel::domain();
    let (body, zero, yes) = (k.body, k.lit(0), k.truth());
    let (_, inside) = k.for_loop(body, zero);
    let branch = k.if_then(inside, yes);
    k.arena.push(branch, Node::Break);
    k.arena.push(inside, Node::Continue);
    k.arena.push(body, Node::Return);
    assert_eq!(k.codes(), []);

    let mut k = Kernel::domain();
    let (body, zero) = (k.body, k.lit(0));
    k.arena.push(body, Node::Return);
    k.store(body, zero);
    k.store(body, zero);
    assert_eq!(k.codes(), [Code::Unreachable]);

    let mut k = Kernel::domain();
    let (body, yes) = (k.body, k.truth());
    let branch = k.if_then(body, yes);
    k.arena.push(branch, Node::Continue);
    let (head, inside) = (k.arena.region(), k.arena.region());
    k.arena.push(body, Node::While { head, condition: yes, body: inside });
    k.arena.push(head, Node::Break);
    assert_eq!(k.codes(), [Code::LoopControl; 2]);

    let mut k = Kernel::domain();
    let (body, yes) = (k.body, k.truth());
    let (head, inside) = (k.arena.region(), k.arena.region());
    k.arena.push(body, Node::While { head, condition: yes, body: inside });
    k.arena.push(head, Node::Return);
    assert_eq!(k.codes(), [Code::Unreachable]);
}

#[test]
fn operands_have_the_types_of_the_op_rows() {
    let float = |k: &mut Kernel| k.arena.expr(Expr::Literal(Value::new(1.0f32)));
    type Make = fn(&mut Kernel, ExprId, ExprId, ExprId) -> Expr;
    let cases: [(Make, bool); 9] = [
        (|_, u, _, _| Expr::Binary(BinaryOp::Add, u, u), true),
        (|_, u, f, _| Expr::Binary(BinaryOp::Add, u, f), false),
        (|_, _, _, b| Expr::Binary(BinaryOp::Add, b, b), false),
        (|_, u, f, _| Expr::Binary(BinaryOp::Shl, u, f), false),
        (|_, u, _, _| Expr::Unary(UnaryOp::Neg, u), false),
        (|_, u, _, b| Expr::Ternary(TernaryOp::Select, b, u, u), true),
        (|_, u, f, b| Expr::Ternary(TernaryOp::Select, b, u, f), false),
        (|_, u, _, _| Expr::Ternary(TernaryOp::Select, u, u, u), false),
        (|_, _, _, b| Expr::Cast(CastOp::Bitcast, DataType::U32, b), false),
    ];
    for (i, (make, good)) in cases.into_iter().enumerate() {
        let mut k = Kernel::domain();
        let (body, u, f, b) = (k.body, k.lit(1), float(&mut k), k.truth());
        let expr = make(&mut k, u, f, b);
        let expr = k.arena.expr(expr);
        // Its user is not reported as well.
        let user = k.binary(BinaryOp::Eq, expr, expr);
        let user = k.arena.expr(Expr::Cast(CastOp::Convert, DataType::U32, user));
        k.store(body, user);
        assert_eq!(k.codes(), if good { vec![] } else { vec![Code::OperandType] }, "case {i}");
    }
}

#[test]
fn nodes_take_the_types_they_need() {
    let mut k = Kernel::workgroups();
    let (body, u, yes) = (k.body, k.lit(1), k.truth());
    let f = k.arena.expr(Expr::Literal(Value::new(1.0f32)));
    let x = k.variable("x", DataType::F32);
    let data = k.data;
    k.arena.push(body, Node::Declare { var: x, init: u });
    k.arena.push(body, Node::Set { var: x, value: yes });
    k.arena.push(body, Node::Store { place: data, index: u, value: f });
    k.arena.push(body, Node::Load { place: data, index: f });
    k.if_then(body, u);
    let inside = k.arena.region();
    k.arena.push(body, Node::For { start: u, end: f, step: u, body: inside });
    let inside = k.arena.region();
    k.arena.push(body, Node::For { start: f, end: f, step: f, body: inside });
    let atomic = |op, value, expected| Node::Atomic { op, place: data, index: u, value, expected };
    k.arena.push(body, atomic(AtomicOp::Add, f, None));
    k.arena.push(body, atomic(AtomicOp::Add, u, Some(u)));
    k.arena.push(body, atomic(AtomicOp::CompareExchange, u, None));
    k.arena.push(body, Node::Subgroup { op: SubgroupOp::Shuffle, value: u, lane: Some(f) });
    k.arena.push(body, Node::Subgroup { op: SubgroupOp::Shuffle, value: u, lane: None });
    k.arena.push(body, Node::Trap { code: 1, address: f });
    use Code::{ConditionType, IndexType, OperandType, Structure};
    let expected = [
        OperandType,
        OperandType,
        OperandType,
        IndexType,
        ConditionType,
        OperandType,
        OperandType,
        OperandType,
        Structure,
        Structure,
        OperandType,
        Structure,
        OperandType,
    ];
    assert_eq!(k.codes(), expected);
}

#[test]
fn arrays_are_used_as_declared() {
    for (access, allowed) in [
        (Access::ReadOnly, [true, false, false]),
        (Access::Uniform, [true, false, false]),
        (Access::ReadWrite, [true, true, true]),
        (Access::WriteOnly, [false, true, false]),
    ] {
        for (which, allowed) in allowed.into_iter().enumerate() {
            let mut k = Kernel::domain();
            let (body, zero, one) = (k.body, k.lit(0), k.arena.extent(Extent::Literal(1)));
            let buffer = Buffer {
                name: "x".into(),
                element: DataType::U32,
                access,
                count: Count::Extent(one),
                coherent: false,
            };
            let place = Place::Buffer(k.arena.buffer(buffer));
            let node = match which {
                0 => Node::Load { place, index: zero },
                1 => Node::Store { place, index: zero, value: zero },
                _ => Node::Atomic { op: AtomicOp::Max, place, index: zero, value: zero, expected: None },
            };
            k.arena.push(body, node);
            assert_eq!(k.codes(), if allowed { vec![] } else { vec![Code::Access] }, "{access:?} {which}");
        }
    }
    let mut k = Kernel::domain();
    let (body, zero) = (k.body, k.lit(0));
    let place = Place::Private(k.arena.private(Array { name: "p".into(), element: DataType::U32, len: 1 }));
    k.arena.push(body, Node::Atomic { op: AtomicOp::Max, place, index: zero, value: zero, expected: None });
    assert_eq!(k.codes(), [Code::Access]);
}

#[test]
fn nesting_above_the_limit_is_one_finding() {
    for (depth, codes) in [(256, vec![]), (257, vec![Code::Limit]), (20_000, vec![Code::Limit])] {
        let mut k = Kernel::domain();
        let (mut region, yes) = (k.body, k.truth());
        for _ in 0..depth {
            region = k.if_then(region, yes);
        }
        assert_eq!(k.codes(), codes, "{depth}");
    }
}

#[test]
fn every_finding_comes_in_program_order() {
    let mut k = Kernel::domain();
    let (body, yes, zero) = (k.body, k.truth(), k.lit(0));
    k.arena.buffer(Buffer {
        name: "data".into(),
        element: DataType::U32,
        access: Access::WriteOnly,
        count: Count::Bytes,
        coherent: false,
    });
    k.store(body, yes);
    let bad = k.binary(BinaryOp::Add, yes, yes);
    k.store(body, bad);
    k.arena.push(body, Node::Load { place: Place::Buffer(BufferId::new(1)), index: zero });
    k.arena.push(body, Node::Break);
    use Code::{Access as A, BadCount, DuplicateName, LoopControl, OperandType};
    assert_eq!(k.codes(), [DuplicateName, BadCount, OperandType, OperandType, A, LoopControl]);
}

/// Runs `f` on a thread with the default stack of a spawned thread.
fn on_small_stack(f: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(f).unwrap().join().unwrap();
}

#[test]
fn deep_and_long_programs_need_no_stack() {
    on_small_stack(|| {
        let mut k = Kernel::domain();
        let (body, one) = (k.body, k.lit(1));
        let x = k.variable("x", DataType::U32);
        k.arena.push(body, Node::Declare { var: x, init: one });
        let mut deep = one;
        for i in 0..100_000 {
            let leaf = k.lit(i);
            deep = k.binary(BinaryOp::BitXor, deep, leaf);
            let get = k.arena.push(body, Node::Get { var: x });
            let value = k.arena.expr(Expr::Result(get));
            k.arena.push(body, Node::Set { var: x, value });
        }
        k.store(body, deep);
        assert_eq!(k.codes(), []);
    });
}

#[test]
fn a_count_that_buffers_share_may_depend_on_itself() {
    let counts = |a: &str, b: &str| {
        let text = format!(
            "program p {{ buffer a: writeonly u32[{a}]; buffer b: writeonly u32[{b}]; launch domain(1) {{ \
             store a[0] = 1; store b[0] = 1; }} }}"
        );
        let Err(findings) = check(crate::text::parse(&text).unwrap().0) else { return Vec::new() };
        findings.iter().map(|finding| (finding.code, finding.site)).collect()
    };
    let on = |buffer| (Code::BadCount, Site::Buffer(BufferId::new(buffer)));
    // The extent is one for both buffers, and is still being looked at when `b` comes to it.
    assert_eq!(counts("len(b) * 2", "len(b) * 2"), [on(1)]);
    assert_eq!(counts("len(a) * 2", "len(a) * 2"), [on(0)]);
    assert_eq!(counts("len(b)", "len(a)"), [on(0)]);
    assert_eq!(counts("len(b) * len(b)", "3"), []);
}
