//! Every atomic op at every element type, on buffers and shared arrays, and every subgroup op at every type: what the
//! reference machine gives, on edge operands.

use vyre_foundation::check::Checked;
use vyre_foundation::ir::{
    Arena, Array, Buffer, BufferId, Count, Expr, ExprId, Extent, Launch, Node, Place, Program, RegionId,
};
use vyre_foundation::launch::Params;
use vyre_foundation::machine::{self, MachineOptions};
use vyre_spec::ops::{AtomicOp, SubgroupOp};
use vyre_spec::{Access, BuiltIn, Comparison, DataType, Value};

use super::operands::{bytes, edges};
use super::{Covered, Failure, Report, Row, SuiteError, finished};
use crate::{DispatchConfig, VyreBackend};

/// Invocations of a workgroup: a multiple of every subgroup size there is.
const LANES: u32 = 128;

/// The atomic ops, each invocation on an element of its own, so that old and new values are known.
pub fn atomics(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    for &op in AtomicOp::ALL {
        for ty in op.rule().elements().iter() {
            for shared in [false, true] {
                let place = if shared { "shared" } else { "buffer" };
                let label = format!("{ty} {} on a {place} element", op.name());
                run(
                    backend,
                    &label,
                    atomic(op, ty, shared),
                    &pairs(ty, op.rule().takes_expected()),
                    &mut report,
                );
            }
        }
    }
    report
}

/// The subgroup ops, where the backend has them.
pub fn subgroups(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    if backend.profile().subgroup_size.is_none() {
        return report;
    }
    for &op in SubgroupOp::ALL {
        for ty in op.rule().operands().iter() {
            let values: Vec<Value> = edges(ty).into_iter().cycle().take(2 * LANES as usize).collect();
            // Mostly lanes that exist in some subgroup.
            let lanes: Vec<Value> = (0..2 * LANES).map(|i| Value::new(i * 7 % 11)).collect();
            let mut inputs = vec![bytes(&values)];
            if op.rule().takes_lane() {
                inputs.push(bytes(&lanes));
            }
            run(backend, &format!("{ty} {}", op.name()), subgroup(op, ty), &inputs, &mut report);
        }
    }
    report
}

/// All that [`atomics`] and [`subgroups`] run.
pub(super) fn covered() -> Vec<Covered> {
    let mut all = Vec::new();
    for &op in AtomicOp::ALL {
        for ty in op.rule().elements().iter() {
            let operands = if op.rule().takes_expected() { vec![ty; 2] } else { vec![ty] };
            all.extend(atomic(op, ty, false).map(|program| Covered {
                row: Row::Atomic(op),
                operands,
                result: ty,
                program,
            }));
        }
    }
    for &op in SubgroupOp::ALL {
        for ty in op.rule().operands().iter() {
            let operands = if op.rule().takes_lane() { vec![ty, DataType::U32] } else { vec![ty] };
            all.extend(subgroup(op, ty).map(|program| Covered {
                row: Row::Subgroup(op),
                operands,
                result: ty,
                program,
            }));
        }
    }
    all
}

/// Elements, operands and, where they are taken, expected values: each pair of edges, the expected value right in
/// every other one.
fn pairs(ty: DataType, expected: bool) -> Vec<Vec<u8>> {
    let edges = edges(ty);
    let both = edges.iter().flat_map(|&a| edges.iter().map(move |&b| [a, b])).take(4 * LANES as usize);
    let both: Vec<[Value; 2]> = both.collect();
    let column = |value: fn(usize, &[Value; 2]) -> Value| {
        bytes(&both.iter().enumerate().map(|(i, pair)| value(i, pair)).collect::<Vec<_>>())
    };
    let mut columns = vec![column(|_, pair| pair[1])];
    if expected {
        columns.push(column(|i, pair| pair[i % 2]));
    }
    columns.push(column(|_, pair| pair[0]));
    columns
}

/// Buffers and the linear index of a workgroup program.
struct Frame {
    arena: Arena,
    index: ExprId,
}

impl Frame {
    fn new(name: &str) -> Self {
        let mut arena = Arena::new(name);
        let index = arena.expr(Expr::BuiltIn(BuiltIn::GlobalId(vyre_spec::Axis::X)));
        Self { arena, index }
    }

    fn buffer(&mut self, name: &str, element: DataType, access: Access, count: Count) -> BufferId {
        self.arena.buffer(Buffer { name: name.into(), element, access, count, coherent: false })
    }

    /// As many workgroups as a buffer needs.
    fn launch(&mut self, over: BufferId) {
        let [length, lanes, one] = [Extent::Length(over), Extent::Literal(LANES.into()), Extent::Literal(1)]
            .map(|extent| self.arena.extent(extent));
        let groups = self.arena.extent(Extent::CeilDiv(length, lanes));
        self.arena.set_launch(Launch::Workgroups { size: [LANES, 1, 1], count: [groups, one, one] });
    }

    fn push(&mut self, node: Node) -> ExprId {
        let node = self.arena.push(RegionId::new(0), node);
        self.arena.expr(Expr::Result(node))
    }

    fn store(&mut self, place: Place, index: ExprId, value: ExprId) {
        self.arena.push(RegionId::new(0), Node::Store { place, index, value });
    }
}

fn atomic(op: AtomicOp, ty: DataType, shared: bool) -> Result<Checked<Program>, SuiteError> {
    let mut f = Frame::new("atomic");
    let operand = f.buffer("operand", ty, Access::ReadOnly, Count::Bytes);
    let expected =
        op.rule().takes_expected().then(|| f.buffer("expected", ty, Access::ReadOnly, Count::Bytes));
    let elements = f.buffer("elements", ty, Access::ReadWrite, Count::Bytes);
    let length = f.arena.extent(Extent::Length(elements));
    let old = f.buffer("old", ty, Access::WriteOnly, Count::Extent(length));
    f.launch(elements);
    let index = f.index;
    let value = f.push(Node::Load { place: Place::Buffer(operand), index });
    let expected = expected.map(|buffer| f.push(Node::Load { place: Place::Buffer(buffer), index }));
    let place = Place::Buffer(elements);
    let result = if shared {
        let array = Place::Shared(f.arena.shared(Array { name: "s".into(), element: ty, len: LANES }));
        let local = f.arena.expr(Expr::BuiltIn(BuiltIn::LocalIndex));
        let element = f.push(Node::Load { place, index });
        f.store(array, local, element);
        let result = f.push(Node::Atomic { op, place: array, index: local, value, expected });
        let new = f.push(Node::Load { place: array, index: local });
        f.store(place, index, new);
        result
    } else {
        f.push(Node::Atomic { op, place, index, value, expected })
    };
    f.store(Place::Buffer(old), index, result);
    finished(f.arena)
}

fn subgroup(op: SubgroupOp, ty: DataType) -> Result<Checked<Program>, SuiteError> {
    let mut f = Frame::new("subgroup");
    let values = f.buffer("values", ty, Access::ReadOnly, Count::Bytes);
    let lanes =
        op.rule().takes_lane().then(|| f.buffer("lanes", DataType::U32, Access::ReadOnly, Count::Bytes));
    let length = f.arena.extent(Extent::Length(values));
    let out = f.buffer("out", ty, Access::WriteOnly, Count::Extent(length));
    f.launch(values);
    let index = f.index;
    let value = f.push(Node::Load { place: Place::Buffer(values), index });
    let lane = lanes.map(|buffer| f.push(Node::Load { place: Place::Buffer(buffer), index }));
    let result = f.push(Node::Subgroup { op, value, lane });
    f.store(Place::Buffer(out), index, result);
    finished(f.arena)
}

fn run(
    backend: &dyn VyreBackend,
    label: &str,
    program: Result<Checked<Program>, SuiteError>,
    inputs: &[Vec<u8>],
    report: &mut Report,
) {
    let mut failed = |message: String| report.failures.push(Failure { case: label.into(), message });
    let program = match program {
        Ok(program) => program,
        Err(error) => return failed(error.to_string()),
    };
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let subgroup_size = backend.profile().subgroup_size.unwrap_or(1);
    let options = MachineOptions { subgroup_size, ..MachineOptions::default() };
    let want = match machine::run(&program, &Params::new(), &inputs, &options) {
        Ok(outcome) => outcome.outputs,
        Err(error) => return failed(format!("the reference machine fails: {error}")),
    };
    report.programs += 1;
    match backend.dispatch_checked(&program, &inputs, &DispatchConfig::default()) {
        Err(error) => report.failed(label, &error),
        Ok(got) => {
            for (id, (want, got)) in program.outputs().zip(want.iter().zip(&got)) {
                let buffer = program.buffer(id);
                report.compared += want.len() as u64 / u64::from(buffer.element.size());
                if let Err(mismatch) = Comparison::EXACT.outputs(buffer.element, want, got) {
                    let message = format!("`{}`: {mismatch:?}", buffer.name);
                    report.failures.push(Failure { case: label.into(), message });
                }
            }
        }
    }
}
