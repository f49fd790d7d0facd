//! Every op × every type it accepts × edge operands.
//!
//! Each case runs with its operands loaded, so that no folder sees them; as literals with the optimiser off,
//! so that the driver's compiler may fold them; as literals with the optimiser on, so that ours does; and
//! with the first operand loaded and the others literal. All must give the reference value.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use vyre_foundation::ir::{Arena, Buffer, Count, Expr, ExprId, Extent, Launch, Node, Place, RegionId};
use vyre_spec::ops::{BinaryOp, CastOp, TernaryOp, UnaryOp};
use vyre_spec::{Access, Axis, BuiltIn, Comparison, DataType, ErrorBound, Value};

use super::operands::{bytes, edges};
use super::{Covered, Failure, Report, Row, SuiteError, finished};
use crate::{DispatchConfig, VyreBackend};

/// A pure op with its types: what is common to the four tables.
#[derive(Clone, Copy, Debug)]
enum Op {
    Unary(UnaryOp, DataType),
    Binary(BinaryOp, DataType),
    Ternary(TernaryOp, DataType),
    Cast(CastOp, DataType, DataType),
}

impl Op {
    /// Every op at every type that its rule takes.
    fn all() -> Vec<Self> {
        let unary = UnaryOp::ALL
            .iter()
            .flat_map(|&op| op.rule().operands().iter().map(move |ty| Self::Unary(op, ty)));
        let binary = BinaryOp::ALL
            .iter()
            .flat_map(|&op| op.rule().operands().iter().map(move |ty| Self::Binary(op, ty)));
        let ternary = TernaryOp::ALL
            .iter()
            .flat_map(|&op| op.rule().operands().iter().map(move |ty| Self::Ternary(op, ty)));
        let pairs = DataType::ALL.into_iter().flat_map(|a| DataType::ALL.into_iter().map(move |b| (a, b)));
        let cast = pairs.flat_map(|(from, to)| {
            CastOp::ALL.iter().filter(move |op| op.allows(from, to)).map(move |&op| Self::Cast(op, from, to))
        });
        unary.chain(binary).chain(ternary).chain(cast).collect()
    }

    fn operand_types(self) -> Vec<DataType> {
        match self {
            Self::Unary(_, ty) | Self::Cast(_, ty, _) => vec![ty],
            Self::Binary(op, ty) => vec![ty, op.rule().second(ty)],
            Self::Ternary(op, ty) => vec![op.rule().first(ty), ty, ty],
        }
    }

    fn eval(self, operands: &[Value]) -> Option<Value> {
        match (self, operands) {
            (Self::Unary(op, _), &[a]) => op.eval(a),
            (Self::Cast(op, _, to), &[a]) => op.eval(a, to),
            (Self::Binary(op, _), &[a, b]) => op.eval(a, b),
            (Self::Ternary(op, _), &[a, b, c]) => op.eval(a, b, c),
            _ => None,
        }
    }

    fn expr(self, operands: &[ExprId]) -> Option<Expr> {
        match (self, operands) {
            (Self::Unary(op, _), &[a]) => Some(Expr::Unary(op, a)),
            (Self::Cast(op, _, to), &[a]) => Some(Expr::Cast(op, to, a)),
            (Self::Binary(op, _), &[a, b]) => Some(Expr::Binary(op, a, b)),
            (Self::Ternary(op, _), &[a, b, c]) => Some(Expr::Ternary(op, a, b, c)),
            _ => None,
        }
    }

    fn bound(self) -> ErrorBound {
        match self {
            Self::Unary(op, _) => op.bound(),
            Self::Binary(op, _) => op.bound(),
            Self::Ternary(op, _) => op.bound(),
            Self::Cast(..) => ErrorBound::Exact,
        }
    }

    fn describe(self) -> String {
        match self {
            Self::Unary(op, ty) => format!("{ty} {}", op.name()),
            Self::Binary(op, ty) => format!("{ty} {}", op.name()),
            Self::Ternary(op, ty) => format!("{ty} {}", op.name()),
            Self::Cast(op, from, to) => format!("{from} {}<{to}>", op.name()),
        }
    }
}

/// How a case's operands reach the op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Loaded,
    FirstLoaded,
    Literal,
    LiteralFolded,
}

/// Literal forms have a statement per case, in programs of this many.
const STATEMENTS: usize = 64;

/// How many cases the literal forms run. Their programs are long, and a device's compiler takes its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Eight evenly spaced cases, in one program per op, type and form.
    Few,
    /// As [`Self::Few`], with 64 cases.
    Spaced,
    /// Every case.
    Full,
}

impl Depth {
    /// Evenly spaced cases of these, few enough for the depth.
    fn thin(self, cases: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
        let most = match self {
            Self::Few => 8,
            Self::Spaced => STATEMENTS,
            Self::Full => return cases,
        };
        // An odd step visits every value of the last operand.
        let step = (cases.len() / most) | 1;
        cases.into_iter().step_by(step).collect()
    }
}

/// Runs every op at every type on edge operands, in every form: loaded operands always on every case,
/// literal forms as `depth` says.
pub fn ops(backend: &dyn VyreBackend, depth: Depth) -> Report {
    ops_named(backend, depth, |_| true)
}

/// As [`ops`], for those whose description, such as `u8 add` or `f32 convert<f16>`, is wanted. As many threads
/// work as there are processors: it is the devices' compilers that take the time.
pub fn ops_named(backend: &dyn VyreBackend, depth: Depth, wanted: impl Fn(&str) -> bool) -> Report {
    let ops: Vec<Op> = Op::all().into_iter().filter(|op| wanted(&op.describe())).collect();
    let next = AtomicUsize::new(0);
    let reports: Mutex<BTreeMap<usize, Report>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&op) = ops.get(i) else { return };
                    let report = one(backend, depth, op);
                    reports.lock().unwrap_or_else(PoisonError::into_inner).insert(i, report);
                }
            });
        }
    });
    let mut all = Report::default();
    for report in reports.into_inner().unwrap_or_else(PoisonError::into_inner).into_values() {
        all.merge(report);
    }
    all
}

/// All that [`ops`] runs.
pub(super) fn covered() -> Vec<Covered> {
    let covered = |op: Op| {
        let operands = op.operand_types();
        let ones: Vec<Value> = operands.iter().map(|&ty| Value::one(ty)).collect();
        let result = op.eval(&ones)?.ty();
        let program = program(op, Form::Loaded, &[ones], &operands, result).ok()?;
        let row = match op {
            Op::Unary(op, _) => Row::Unary(op),
            Op::Binary(op, _) => Row::Binary(op),
            Op::Ternary(op, _) => Row::Ternary(op),
            Op::Cast(op, ..) => Row::Cast(op),
        };
        Some(Covered { row, operands, result, program })
    };
    Op::all().into_iter().filter_map(covered).collect()
}

fn one(backend: &dyn VyreBackend, depth: Depth, op: Op) -> Report {
    let mut report = Report::default();
    let cases = cases(op);
    run(backend, op, Form::Loaded, &cases, &mut report);
    let cases = depth.thin(cases);
    for form in [Form::FirstLoaded, Form::Literal, Form::LiteralFolded] {
        for cases in cases.chunks(STATEMENTS) {
            run(backend, op, form, cases, &mut report);
        }
    }
    report
}

/// The operand tuples of an op: all pairs, and for three operands a thinned cube.
fn cases(op: Op) -> Vec<Vec<Value>> {
    let types = op.operand_types();
    let mut tuples: Vec<Vec<Value>> = vec![Vec::new()];
    for ty in &types {
        let edges = edges(*ty);
        let with =
            |tuple: &Vec<Value>| edges.iter().map(|&v| [tuple.as_slice(), &[v]].concat()).collect::<Vec<_>>();
        tuples = tuples.iter().flat_map(with).collect();
    }
    let stride = if types.len() == 3 { (tuples.len() / 500).max(1) | 1 } else { 1 };
    tuples.into_iter().step_by(stride).collect()
}

fn run(backend: &dyn VyreBackend, op: Op, form: Form, cases: &[Vec<Value>], report: &mut Report) {
    let label = format!("{} {form:?}", op.describe());
    let types = op.operand_types();
    let Some(result) = cases.first().and_then(|operands| op.eval(operands)).map(Value::ty) else {
        report.failures.push(Failure { case: label, message: "the op has no value on its own types".into() });
        return;
    };
    let program = match program(op, form, cases, &types, result) {
        Ok(arena) => arena,
        Err(error) => {
            report.failures.push(Failure { case: label, message: error.to_string() });
            return;
        }
    };
    let columns: Vec<Vec<u8>> = (0..types.len())
        .map(|i| bytes(&cases.iter().filter_map(|operands| operands.get(i).copied()).collect::<Vec<_>>()))
        .collect();
    let inputs: Vec<&[u8]> = columns.iter().map(Vec::as_slice).collect();
    let config = DispatchConfig { unoptimized: form != Form::LiteralFolded, ..DispatchConfig::default() };
    report.programs += 1;
    let output = match backend.dispatch_checked(&program, &inputs, &config) {
        Ok(outputs) => outputs.into_iter().next().unwrap_or_default(),
        Err(error) => return report.failed(&label, &error),
    };
    let size = result.size() as usize;
    if output.len() != cases.len() * size {
        report.failures.push(Failure {
            case: label,
            message: format!("{} bytes for {} results", output.len(), cases.len()),
        });
        return;
    }
    for (operands, word) in cases.iter().zip(output.chunks_exact(size)) {
        report.compared += 1;
        let bound = op.bound();
        let operand = operands.get(bound.operand()).and_then(|v| v.as_f64()).unwrap_or(0.0);
        let comparison = Comparison { bound, operand };
        let Some(want) = op.eval(operands) else { continue };
        let got = Value::from_le_bytes(result, word);
        if !comparison.accepts(want, got) {
            report.failures.push(Failure {
                case: format!("{label} {operands:?}"),
                message: format!(
                    "want {want:?} (bits {:#x}), got {got:?} (bits {:#x})",
                    want.bits(),
                    got.bits()
                ),
            });
        }
    }
}

/// A program that computes every case into `out`; inputs are one column of operands each.
fn program(
    op: Op,
    form: Form,
    cases: &[Vec<Value>],
    types: &[DataType],
    result: DataType,
) -> Result<vyre_foundation::check::Checked<vyre_foundation::ir::Program>, SuiteError> {
    let mut arena = Arena::new("case");
    let count = arena.extent(Extent::Literal(cases.len() as u64));
    let mut declare = |name: String, element, access| {
        arena.buffer(Buffer { name, element, access, count: Count::Extent(count), coherent: false })
    };
    let columns: Vec<_> =
        types.iter().enumerate().map(|(i, &ty)| declare(format!("in{i}"), ty, Access::ReadOnly)).collect();
    let out = declare("results".into(), result, Access::WriteOnly);
    if form == Form::Loaded {
        let one = arena.extent(Extent::Literal(1));
        arena.set_launch(Launch::Domain { extent: [count, one, one], axes: 1 });
        let index = arena.expr(Expr::BuiltIn(BuiltIn::Point(Axis::X)));
        let operands: Vec<_> =
            columns.iter().map(|&column| load(&mut arena, Place::Buffer(column), index)).collect();
        store(&mut arena, op, &operands, Place::Buffer(out), index);
    } else {
        for (i, case) in cases.iter().enumerate() {
            let index = arena.expr(Expr::Literal(Value::new(i as u32)));
            let operands: Vec<_> = case
                .iter()
                .zip(&columns)
                .enumerate()
                .map(|(position, (&literal, &column))| {
                    if position == 0 && form == Form::FirstLoaded {
                        load(&mut arena, Place::Buffer(column), index)
                    } else {
                        arena.expr(Expr::Literal(literal))
                    }
                })
                .collect();
            store(&mut arena, op, &operands, Place::Buffer(out), index);
        }
    }
    finished(arena)
}

/// A program that stores an op of one loaded operand.
pub(super) fn unary_program(
    op: UnaryOp,
    ty: DataType,
) -> Result<vyre_foundation::check::Checked<vyre_foundation::ir::Program>, SuiteError> {
    let result = op.rule().result(ty).unwrap_or(ty);
    program(Op::Unary(op, ty), Form::Loaded, &[vec![Value::one(ty)]], &[ty], result)
}

fn load(arena: &mut Arena, place: Place, index: ExprId) -> ExprId {
    let node = arena.push(RegionId::new(0), Node::Load { place, index });
    arena.expr(Expr::Result(node))
}

fn store(arena: &mut Arena, op: Op, operands: &[ExprId], place: Place, index: ExprId) {
    if let Some(expr) = op.expr(operands) {
        let value = arena.expr(expr);
        arena.push(RegionId::new(0), Node::Store { place, index, value });
    }
}
