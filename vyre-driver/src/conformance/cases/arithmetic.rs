//! Arithmetic, conversions, constants.

use std::fmt::Write;

use vyre_foundation::{text, wire};
use vyre_spec::ops::{BinaryOp, TernaryOp, UnaryOp};
use vyre_spec::{CompileOptions, DataType, ErrorBound};

use super::{elements, program, range, run};
use crate::conformance::{Depth, Failure, Report, ops_named, wide_functions};
use crate::{DispatchConfig, OutputBuffers, VyreBackend, backend_registration};

const SIGNED: [DataType; 4] = [DataType::I8, DataType::I16, DataType::I32, DataType::I64];

/// Quotient and remainder, truncated toward zero; by 0 they are the dividend and 0.
fn divided(ty: DataType, a: i128, b: i128) -> [i128; 2] {
    if b == 0 {
        return [a, 0];
    }
    // The one quotient that does not fit wraps to the dividend.
    let [least, greatest] = range(ty);
    let quotient = a / b;
    [if quotient > greatest { least } else { quotient }, a % b]
}

/// A signed remainder with a negative operand came out as if the operands were unsigned.
pub(super) fn remainders(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    for ty in SIGNED {
        let [least, greatest] = range(ty);
        let numbers: Vec<i128> = [least, -769, -768, -1, 0, 1, 768, greatest]
            .into_iter()
            .filter(|n| (least..=greatest).contains(n))
            .collect();
        let pairs: Vec<[i128; 2]> =
            numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| [a, b])).collect();
        let text = format!(
            "program variable {{ buffer a: readonly {ty}[]; buffer b: readonly {ty}[len(a)]; \
             buffer q: writeonly {ty}[len(a)]; buffer r: writeonly {ty}[len(a)]; launch domain(len(a)) {{ \
             let x = load a[point.x]; let y = load b[point.x]; \
             store q[point.x] = x / y; store r[point.x] = x % y; }} }}"
        );
        let column = |i: usize| elements(ty, pairs.iter().map(|pair| pair[i]));
        let want = |i: usize| (ty, elements(ty, pairs.iter().map(|&[a, b]| divided(ty, a, b)[i])));
        let inputs = [column(0), column(1)];
        run(backend, &format!("{ty} / and %"), &text, &inputs, &[want(0), want(1)], &mut report);
        for &b in &numbers {
            let text = format!(
                "program constant {{ buffer a: readonly {ty}[]; buffer q: writeonly {ty}[len(a)]; \
                 buffer r: writeonly {ty}[len(a)]; launch domain(len(a)) {{ let x = load a[point.x]; \
                 store q[point.x] = x / {b}{ty}; store r[point.x] = x % {b}{ty}; }} }}"
            );
            let want = |i: usize| (ty, elements(ty, numbers.iter().map(|&a| divided(ty, a, b)[i])));
            let inputs = [elements(ty, numbers.iter().copied())];
            run(backend, &format!("{ty} / and % by {b}"), &text, &inputs, &[want(0), want(1)], &mut report);
        }
    }
    report
}

/// The least number has no negation, and nothing is divided by zero.
pub(super) fn ends_of_ranges(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    for ty in SIGNED {
        let [least, greatest] = range(ty);
        let numbers = [least, least + 1, -1, 0, 1, greatest];
        let magnitude = |n: i128| if n == least { least } else { n.abs() };
        let opposite = |n: i128| if n == least { least } else { -n };
        let columns: [Vec<i128>; 6] = [
            numbers.map(|n| divided(ty, n, -1)[0]).to_vec(),
            numbers.map(|n| divided(ty, n, -1)[1]).to_vec(),
            numbers.map(|n| divided(ty, n, 0)[0]).to_vec(),
            numbers.map(|n| divided(ty, n, 0)[1]).to_vec(),
            numbers.map(magnitude).to_vec(),
            numbers.map(opposite).to_vec(),
        ];
        let want: Vec<_> = columns.iter().map(|c| (ty, elements(ty, c.iter().copied()))).collect();
        let outs = "qrstuv"
            .chars()
            .fold(String::new(), |all, out| all + &format!("buffer {out}: writeonly {ty}[6]; "));
        let stores = |at: &str, x: &str, minus_one: &str, zero: &str| {
            format!(
                "store q[{at}] = {x} / {minus_one}; store r[{at}] = {x} % {minus_one}; \
                 store s[{at}] = {x} / {zero}; store t[{at}] = {x} % {zero}; \
                 store u[{at}] = abs({x}); store v[{at}] = -({x}); "
            )
        };
        let loaded = format!(
            "program loaded {{ buffer a: readonly {ty}[6]; buffer d: readonly {ty}[2]; {outs} \
             launch domain(6) {{ let x = load a[point.x]; let m = load d[0]; let z = load d[1]; {} }} }}",
            stores("point.x", "x", "m", "z")
        );
        let inputs = [elements(ty, numbers), elements(ty, [-1, 0])];
        run(backend, &format!("{ty} loaded"), &loaded, &inputs, &want, &mut report);
        let (minus_one, zero) = (format!("-1{ty}"), format!("0{ty}"));
        let literal: String = (0..)
            .zip(numbers)
            .map(|(i, n): (u32, i128)| stores(&i.to_string(), &format!("{n}{ty}"), &minus_one, &zero))
            .collect();
        let literal = format!("program literal {{ {outs} launch domain(1) {{ {literal} }} }}");
        run(backend, &format!("{ty} literal"), &literal, &[], &want, &mut report);
    }
    report
}

/// Floats outside of an integer's range gave garbage.
pub(super) fn floats_to_integers(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    let magnitudes =
        [0.0, 0.5, 1e8, 2_147_483_647.0, 2_147_483_649.0, 2_147_483_648.0, 4_294_967_296.0, 1e20];
    let numbers: Vec<f64> =
        magnitudes.into_iter().chain([f64::INFINITY]).flat_map(|x| [x, -x]).chain([f64::NAN]).collect();
    for from in [DataType::F16, DataType::F32, DataType::F64] {
        let Some(format) = from.float_format() else { continue };
        let bits: Vec<u64> = numbers.iter().map(|&x| format.from_f64(x)).collect();
        let input: Vec<u8> =
            bits.iter().flat_map(|b| b.to_le_bytes().into_iter().take(from.size() as usize)).collect();
        // What the type holds of each number; 1e8 is infinite in f16.
        let held: Vec<f64> = bits.iter().map(|&b| format.to_f64(b)).collect();
        for to in [DataType::I32, DataType::U32, DataType::I64, DataType::U64] {
            let [low, high] = if to.is_signed_int() { range(to) } else { [0, (1 << to.width()) - 1] };
            // Truncated toward zero, the range's end beyond it, 0 for NaN; i128 holds all of these numbers.
            let whole = |x: f64| {
                if x.is_nan() {
                    0
                } else if x.is_infinite() {
                    if x > 0.0 { high } else { low }
                } else {
                    (x as i128).clamp(low, high)
                }
            };
            let text = format!(
                "program convert {{ buffer x: readonly {from}[]; buffer out: writeonly {to}[len(x)]; \
                 launch domain(len(x)) {{ let v = load x[point.x]; store out[point.x] = convert<{to}>(v); }} }}"
            );
            let want = [(to, elements(to, held.iter().map(|&x| whole(x))))];
            run(backend, &format!("{from} to {to}"), &text, std::slice::from_ref(&input), &want, &mut report);
        }
    }
    report
}

/// A function of reals existed for some float types, and gave nonsense for others: each is within its bound, or
/// refused in words that name op and type.
pub(super) fn transcendentals(backend: &dyn VyreBackend) -> Report {
    let inexact = |bound| bound != ErrorBound::Exact;
    let unary = UnaryOp::ALL.iter().filter(|op| inexact(op.bound())).map(|op| op.name());
    let binary = BinaryOp::ALL.iter().filter(|op| inexact(op.bound())).map(|op| op.name());
    let ternary = TernaryOp::ALL.iter().filter(|op| inexact(op.bound())).map(|op| op.name());
    let names: Vec<&str> = unary.chain(binary).chain(ternary).collect();
    let mut report = ops_named(backend, Depth::Few, |description| {
        description.split_once(' ').is_some_and(|(_, name)| names.contains(&name))
    });
    report.merge(wide_functions(backend));
    report
}

/// Constants lost digits or signs where they were written as text.
pub(super) fn constants(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    let floats: [(&str, u32); 8] = [
        ("0.1", 0x3DCC_CCCD),
        ("0.33333334", 0x3EAA_AAAB),
        ("16777217f32", 0x4B80_0000),
        ("1e-45", 1),
        ("3.4028235e38", 0x7F7F_FFFF),
        ("-0.0", 0x8000_0000),
        ("-(-(-0.95))", 0xBF73_3333),
        ("1.0 - -0.95", 0x3FF9_999A),
    ];
    let mut stores = String::new();
    for (i, (literal, _)) in floats.iter().enumerate() {
        let _ = write!(stores, "store f[{i}] = {literal}; ");
    }
    let source = format!(
        "program constants {{ buffer f: writeonly f32[8]; buffer i: writeonly i32[2]; launch domain(1) {{ {stores} \
         store i[0] = -2147483648i32; store i[1] = -(-(-7i32)); }} }}"
    );
    let want = [
        (DataType::F32, floats.iter().flat_map(|(_, bits)| bits.to_le_bytes()).collect()),
        (DataType::I32, elements(DataType::I32, [i128::from(i32::MIN), -7])),
    ];
    run(backend, "constants", &source, &[], &want, &mut report);
    let mut fail = |message: String| report.failures.push(Failure { case: "constants".into(), message });
    let Ok(checked) = program(&source) else { return report };
    // Text and bytes hold the same program.
    match text::parse(&text::print(&checked)) {
        Ok((again, _)) if again == *checked => {}
        other => fail(format!("printed and read again: {other:?}")),
    }
    match wire::decode(&wire::encode(&checked)) {
        Ok(again) if again == *checked => {}
        other => fail(format!("encoded and decoded again: {other:?}")),
    }
    // And each form in which a payload carries its code.
    let Ok(registration) = backend_registration(backend.id()) else { return report };
    let (Ok(compiler), Ok(materializer)) = (registration.target_compiler(), registration.materializer())
    else {
        return report;
    };
    for format in compiler.formats(backend.profile()) {
        let programs = std::slice::from_ref(&checked);
        let mut outputs = OutputBuffers::new();
        let done = compiler
            .compile_as(format, programs, backend.profile(), &CompileOptions::default())
            .and_then(|payload| materializer.materialize(backend, &payload, None))
            .and_then(|pipelines| {
                pipelines.iter().try_for_each(|pipeline| {
                    backend.dispatch_pipeline_into(pipeline, &[], &DispatchConfig::default(), &mut outputs)
                })
            });
        if let Err(error) = done {
            report.failed(&format!("constants as {format}"), &error);
            continue;
        }
        for ((ty, want), got) in want.iter().zip(&outputs) {
            report.compared += want.len() as u64 / u64::from(ty.size());
            if let Err(mismatch) = vyre_spec::Comparison::EXACT.outputs(*ty, want, got) {
                let (case, message) = (format!("constants as {format}"), format!("{mismatch:?}"));
                report.failures.push(Failure { case, message });
            }
        }
    }
    report
}
