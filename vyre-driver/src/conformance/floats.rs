//! Float expressions that compilers are tempted to simplify, with results worked out by hand from IEEE 754.
#![allow(clippy::eq_op, reason = "an operand and itself is what some cases are about")]

use vyre_foundation::build::{Kernel, Val};

use super::{Failure, Report};
use crate::{DispatchConfig, VyreBackend};

/// What a case must give.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Want {
    Bits(u32),
    Nan,
}

type Expression = for<'k> fn([Val<'k, f32>; 3]) -> Val<'k, u32>;

struct Case {
    name: &'static str,
    operands: [f32; 3],
    expression: Expression,
    want: Want,
}

fn cases() -> Vec<Case> {
    let case = |name, operands, want, expression| Case { name, operands, expression, want };
    // 1 + 2^-23: its square is 1 + 2^-22 + 2^-46, the last of which a product rounds away.
    let a = 1.0 + f32::EPSILON;
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    use Want::{Bits, Nan};
    vec![
        case("(x + 1e20) - 1e20", [1.0, 1e20, 0.0], Bits(0), |[x, y, _]| ((x + y) - y).bitcast::<u32>()),
        case("inf - inf", [inf, 0.0, 0.0], Nan, |[x, _, _]| (x - x).bitcast::<u32>()),
        case("inf * 0", [inf, 0.0, 0.0], Nan, |[x, y, _]| (x * y).bitcast::<u32>()),
        case("nan * 0", [nan, 0.0, 0.0], Nan, |[x, y, _]| (x * y).bitcast::<u32>()),
        case("nan - nan", [nan, 0.0, 0.0], Nan, |[x, _, _]| (x - x).bitcast::<u32>()),
        case("inf / inf", [inf, 0.0, 0.0], Nan, |[x, _, _]| (x / x).bitcast::<u32>()),
        case("0 / 0", [0.0, 0.0, 0.0], Nan, |[x, _, _]| (x / x).bitcast::<u32>()),
        case("nan != nan", [nan, 0.0, 0.0], Bits(1), |[x, _, _]| x.ne(x).convert::<u32>()),
        case("nan == nan", [nan, 0.0, 0.0], Bits(0), |[x, _, _]| x.eq(x).convert::<u32>()),
        case("nan <= nan", [nan, 0.0, 0.0], Bits(0), |[x, _, _]| x.le(x).convert::<u32>()),
        case("!(nan < 1)", [nan, 1.0, 0.0], Bits(1), |[x, y, _]| (!x.lt(y)).convert::<u32>()),
        case("select(x == x, x, 1) of nan", [nan, 1.0, 0.0], Bits(0x3F80_0000), |[x, one, _]| {
            let x = x.trunc();
            x.eq(x).select(x, one).bitcast::<u32>()
        }),
        case("-0 + 0", [-0.0, 0.0, 0.0], Bits(0), |[x, y, _]| (x + y).bitcast::<u32>()),
        case("-0 + -0", [-0.0, -0.0, 0.0], Bits(0x8000_0000), |[x, y, _]| (x + y).bitcast::<u32>()),
        case("0 - 0", [0.0, 0.0, 0.0], Bits(0), |[x, y, _]| (x - y).bitcast::<u32>()),
        case("-(0)", [0.0, 0.0, 0.0], Bits(0x8000_0000), |[x, _, _]| (-x).bitcast::<u32>()),
        case("-1 * 0", [-1.0, 0.0, 0.0], Bits(0x8000_0000), |[x, y, _]| (x * y).bitcast::<u32>()),
        case("u32(1e20)", [1e20, 0.0, 0.0], Bits(u32::MAX), |[x, _, _]| x.convert::<u32>()),
        case("i32(-1e20)", [-1e20, 0.0, 0.0], Bits(0x8000_0000), |[x, _, _]| {
            x.convert::<i32>().bitcast::<u32>()
        }),
        case("u32(nan)", [nan, 0.0, 0.0], Bits(0), |[x, _, _]| x.convert::<u32>()),
        case("fma(a, a, -(a * a))", [a, a, -(a * a)], Bits((127 - 46) << 23), |[x, y, z]| {
            x.fma(y, z).bitcast::<u32>()
        }),
        case("a * a + -(a * a)", [a, a, -(a * a)], Bits(0), |[x, y, z]| (x * y + z).bitcast::<u32>()),
    ]
}

/// Runs each expression with its operands loaded, literal, and literal under the optimiser.
pub fn floats(backend: &dyn VyreBackend) -> Report {
    let mut report = Report::default();
    for Case { name, operands, expression, want } in cases() {
        for (form, loaded, unoptimized) in
            [("loaded", true, true), ("literal", false, true), ("literal, optimised", false, false)]
        {
            let label = format!("{name}, {form}");
            let built = Kernel::build("float", |k| {
                let x = k.read_only::<f32>("x");
                let out = k.write_only::<u32>("out", 1);
                k.domain([1], |[i]| {
                    let [a, b, c] = operands;
                    let values = if loaded {
                        [0u32, 1, 2].map(|j| x.load(i + j))
                    } else {
                        [a, b, c].map(|v| k.lit(v))
                    };
                    out.store(i, expression(values));
                });
            });
            let program = match built {
                Ok(program) => program,
                Err(error) => {
                    report.failures.push(Failure { case: label, message: error.to_string() });
                    continue;
                }
            };
            let input: Vec<u8> = operands.iter().flat_map(|v| v.to_le_bytes()).collect();
            let config = DispatchConfig { unoptimized, ..DispatchConfig::default() };
            report.programs += 1;
            match backend.dispatch_checked(&program, &[&input], &config) {
                Err(error) => report.failed(&label, &error),
                Ok(outputs) => {
                    report.compared += 1;
                    let word = outputs
                        .first()
                        .and_then(|bytes| Some(u32::from_le_bytes(bytes[..].try_into().ok()?)));
                    let right = match want {
                        Want::Bits(bits) => word == Some(bits),
                        Want::Nan => word.is_some_and(|bits| f32::from_bits(bits).is_nan()),
                    };
                    if !right {
                        report
                            .failures
                            .push(Failure { case: label, message: format!("want {want:x?}, got {word:x?}") });
                    }
                }
            }
        }
    }
    report
}
