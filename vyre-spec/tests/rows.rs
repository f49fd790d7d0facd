//! Every row of the op tables is complete and says only what is true.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

use std::collections::BTreeMap;

use vyre_spec::ops::{AtomicOp, BinaryOp, BinaryRule, CastOp, Law, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{BuiltIn, Comparison, DataType, ErrorBound, NanRule, TypeSet, Value};

/// What all op enums have.
struct Row {
    table: &'static str,
    name: &'static str,
    tag: u8,
    doc: &'static str,
    symbol: Option<(&'static str, u8)>,
    found: bool,
}

macro_rules! rows {
    ($($table:ident)*) => {
        [$($table::ALL.iter().map(|op| Row {
            table: stringify!($table),
            name: op.name(),
            tag: op.tag(),
            doc: op.doc(),
            symbol: op.symbol(),
            found: $table::from_name(op.name()) == Some(*op) && $table::from_tag(op.tag()) == Some(*op),
        }).collect::<Vec<_>>()),*].concat_rows()
    };
}

trait ConcatRows {
    fn concat_rows(self) -> Vec<Row>;
}

impl<const N: usize> ConcatRows for [Vec<Row>; N] {
    fn concat_rows(self) -> Vec<Row> {
        self.into_iter().flatten().collect()
    }
}

fn rows() -> Vec<Row> {
    rows!(UnaryOp BinaryOp TernaryOp CastOp AtomicOp SubgroupOp)
}

/// Edge values of a type, bits chosen here.
fn edges(ty: DataType) -> Vec<Value> {
    let bits: Vec<u64> = match (ty, ty.float_format()) {
        (DataType::Bool, _) => vec![0, 1],
        (_, None) => {
            let top = 1u64 << (ty.width() - 1);
            let small = [0, 1, 2, 7, 8, 31, 32, 33];
            let large = [0x1234_5678_1234_5678 & (top | (top - 1)), top - 1, top, top + 1];
            let negative = [1u64, 2].map(u64::wrapping_neg);
            small.into_iter().chain(large).chain(negative).collect()
        }
        // 0, 1, 1.5, 0.1, a number without a fraction, the least and greatest normal, infinity, and their
        // negatives; two NaNs.
        (_, Some(format)) => {
            let numbers = [0.0, 1.0, 1.5, 0.1, 3.0 * 2f64.powi(9)].map(|x| format.from_f64(x));
            let ends = [format.least_normal(), format.infinity() - 1, format.infinity()];
            let both = numbers.into_iter().chain(ends).flat_map(|b| [b, b | format.sign()]);
            both.chain([format.quiet_nan(), format.quiet_nan() | format.sign() | 1]).collect()
        }
    };
    bits.iter().map(|&b| Value::from_bits(ty, b)).collect()
}

/// The same, NaN payloads aside.
fn same(a: Option<Value>, b: Option<Value>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a == b || a.is_nan() && b.is_nan() && a.ty() == b.ty())
}

#[test]
fn names_and_tags_are_unique_and_documented() {
    // Text has one namespace for ops, types and built-in values.
    let mut names: BTreeMap<&str, &str> = DataType::ALL.iter().map(|ty| (ty.name(), "a type")).collect();
    names.extend(BuiltIn::ALL.iter().map(|b| (b.name().0, "a built-in value")));
    let mut tags = BTreeMap::new();
    for row in rows() {
        let Row { table, name, tag, doc, symbol, found } = row;
        assert!(found, "{table}: `{name}` is not found by its name and tag");
        if let Some(other) = names.insert(name, table) {
            panic!("`{name}` of {table} is also {other}");
        }
        if let Some(other) = tags.insert((table, tag), name) {
            panic!("{table}: `{name}` and `{other}` share tag {tag}");
        }
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "`{name}`");
        assert!(doc.len() > 10 && doc.ends_with('.'), "`{name}` wants a sentence of documentation");
        if let Some((symbol, precedence)) = symbol {
            assert!(!symbol.is_empty() && precedence > 0, "`{name}`");
        }
    }
    assert_eq!(
        (DataType::from_tag(0xEE), BinaryOp::from_tag(0), UnaryOp::from_name("add")),
        (None, None, None)
    );
}

#[test]
fn infix_symbols_are_unique_and_bind_in_one_order() {
    let mut symbols = BTreeMap::new();
    for op in BinaryOp::ALL {
        let Some((symbol, precedence)) = op.symbol() else { continue };
        if let Some(other) = symbols.insert(symbol, op.name()) {
            panic!("`{symbol}` is both {} and {other}", op.name());
        }
        assert!(UnaryOp::ALL.iter().all(|u| u.symbol().is_none_or(|(_, p)| p > precedence)), "{symbol}");
    }
    let strength = |s: &str| BinaryOp::ALL.iter().filter_map(|op| op.symbol()).find(|x| x.0 == s).unwrap().1;
    // As in Rust, from loose to tight.
    for pair in ["==", "|", "^", "&", "<<", "+", "*"].windows(2) {
        assert!(strength(pair[0]) < strength(pair[1]), "{pair:?}");
    }
}

#[test]
fn each_op_evaluates_just_the_types_that_its_rule_takes() {
    for ty in DataType::ALL {
        for op in UnaryOp::ALL {
            let takes = op.rule().operands().contains(ty);
            assert_eq!(
                (op.kernel(ty).is_some(), op.rule().result(ty).is_some()),
                (takes, takes),
                "{op:?} {ty}"
            );
        }
        for op in BinaryOp::ALL {
            let takes = op.rule().operands().contains(ty);
            assert_eq!(op.kernel(ty).is_some(), takes, "{op:?} {ty}");
            for other in DataType::ALL {
                let fits = takes && other == op.rule().second(ty);
                assert_eq!(op.rule().result(ty, other).is_some(), fits, "{op:?} {ty} {other}");
            }
        }
        for op in TernaryOp::ALL {
            assert_eq!(op.kernel(ty).is_some(), op.rule().operands().contains(ty), "{op:?} {ty}");
        }
        for op in AtomicOp::ALL {
            assert_eq!(op.kernel(ty).is_some(), op.rule().elements().contains(ty), "{op:?} {ty}");
        }
        for op in SubgroupOp::ALL {
            let takes = op.rule().operands().contains(ty);
            assert_eq!(op.eval(ty, &[0; 4], &[0; 4]).is_some(), takes, "{op:?} {ty}");
        }
        for to in DataType::ALL {
            assert!(CastOp::ALL[0].allows(ty, to), "every type converts to every other: {ty} {to}");
        }
    }
    for op in UnaryOp::ALL {
        assert!(op.rule().operands().iter().next().is_some(), "{op:?} takes nothing");
    }
}

#[test]
fn results_are_bits_of_their_type_alone() {
    let clean = |v: Option<Value>, kernel: Option<u64>, what: &str| {
        assert_eq!(v.map(Value::bits), kernel, "{what}: bits outside of the type");
    };
    for ty in DataType::ALL {
        for a in edges(ty) {
            for op in UnaryOp::ALL {
                clean(op.eval(a), op.kernel(ty).map(|f| f(a.bits())), op.name());
            }
            for op in CastOp::ALL {
                for to in DataType::ALL {
                    clean(op.eval(a, to), op.kernel(ty, to).map(|f| f(a.bits())), op.name());
                }
            }
            for op in BinaryOp::ALL {
                for b in edges(op.rule().second(ty)) {
                    clean(op.eval(a, b), op.kernel(ty).map(|f| f(a.bits(), b.bits())), op.name());
                }
            }
            for op in TernaryOp::ALL {
                for first in edges(op.rule().first(ty)) {
                    let kernel = op.kernel(ty).map(|f| f(first.bits(), a.bits(), a.bits()));
                    clean(op.eval(first, a, a), kernel, op.name());
                }
            }
        }
    }
}

/// The operand types for which a law claims to hold.
fn scope(law: Law) -> fn(DataType) -> bool {
    match law {
        Law::Commutative | Law::Idempotent | Law::Involution | Law::RightOne => |_| true,
        Law::AssociativeInt
        | Law::RightZeroInt
        | Law::AnnihilatorZeroInt
        | Law::SelfZeroInt
        | Law::SelfTrueInt
        | Law::SelfFalseInt => |ty| !ty.is_float(),
    }
}

#[test]
fn the_laws_of_binary_ops_hold() {
    for &op in BinaryOp::ALL {
        for ty in op.rule().operands().iter() {
            for &law in op.laws().iter().filter(|law| scope(**law)(ty)) {
                let second = op.rule().second(ty);
                let (zero, one) = (Value::zero(second), Value::one(second));
                for a in edges(ty) {
                    let holds = match law {
                        Law::RightZeroInt => op.eval(a, zero) == Some(a),
                        Law::RightOne => same(op.eval(a, one), Some(a)),
                        Law::AnnihilatorZeroInt => op.eval(a, zero) == Some(Value::zero(ty)),
                        Law::SelfZeroInt => op.eval(a, a) == Some(Value::zero(ty)),
                        Law::SelfTrueInt => op.eval(a, a) == Some(Value::new(true)),
                        Law::SelfFalseInt => op.eval(a, a) == Some(Value::new(false)),
                        Law::Idempotent => a.is_nan() || op.eval(a, a) == Some(a),
                        Law::Commutative => edges(ty).into_iter().all(|b| same(op.eval(a, b), op.eval(b, a))),
                        Law::AssociativeInt => edges(ty).into_iter().all(|b| {
                            edges(ty).into_iter().all(|c| {
                                let left = op.eval(a, b).and_then(|ab| op.eval(ab, c));
                                let right = op.eval(b, c).and_then(|bc| op.eval(a, bc));
                                left == right && left.is_some()
                            })
                        }),
                        Law::Involution => false,
                    };
                    assert!(holds, "{op:?} on {ty} is not {law:?} at {a:?}");
                }
            }
        }
    }
}

#[test]
fn no_law_of_integers_is_forgotten() {
    // A row that leaves one out costs an optimisation without a sign.
    let mut forgotten = Vec::new();
    for &op in BinaryOp::ALL.iter().filter(|op| !matches!(op.rule(), BinaryRule::Compare(_))) {
        let types: Vec<DataType> = op.rule().operands().iter().filter(|ty| !ty.is_float()).collect();
        let always = |f: &dyn Fn(Value, DataType) -> bool| {
            !types.is_empty() && types.iter().all(|&ty| edges(ty).into_iter().all(|a| f(a, ty)))
        };
        let zero = |ty| Value::zero(op.rule().second(ty));
        for (law, holds) in [
            (Law::RightZeroInt, always(&|a, ty| op.eval(a, zero(ty)) == Some(a))),
            (Law::AnnihilatorZeroInt, always(&|a, ty| op.eval(a, zero(ty)) == Some(Value::zero(ty)))),
            (Law::SelfZeroInt, always(&|a, ty| op.eval(a, a) == Some(Value::zero(ty)))),
        ] {
            if op.laws().contains(&law) != holds {
                forgotten.push(format!("{op:?} {law:?}"));
            }
        }
    }
    assert_eq!(forgotten, [""; 0]);
}

#[test]
fn the_laws_of_unary_and_ternary_ops_hold() {
    for &op in UnaryOp::ALL {
        for ty in op.rule().operands().iter() {
            for &law in op.laws() {
                assert_eq!(law, Law::Involution, "{op:?}: a law that has no meaning for one operand");
                for a in edges(ty) {
                    assert!(same(op.eval(a).and_then(|x| op.eval(x)), Some(a)), "{op:?} on {ty} at {a:?}");
                }
            }
        }
    }
    assert!(TernaryOp::ALL.iter().all(|op| op.laws().is_empty()), "test the laws of ternary ops here");
}

fn floats(set: TypeSet) -> bool {
    set.iter().any(DataType::is_float)
}

#[test]
fn nan_rules_and_bounds_say_what_the_evaluations_do() {
    for ty in TypeSet::FLOAT.iter() {
        nan_rules(ty);
    }
}

fn nan_rules(ty: DataType) {
    let nan = Value::from_f64(ty, f64::NAN);
    let check = |name: &str, rule: NanRule, bound: ErrorBound, set: TypeSet, results: &[Option<Value>]| {
        assert_eq!(rule == NanRule::None, !floats(set), "{name}: a NaN rule just for ops that meet floats");
        assert!(bound == ErrorBound::Exact || floats(set), "{name}: integers are exact");
        if rule == NanRule::Propagates {
            assert!(results.iter().flatten().all(|v| v.is_nan()), "{name} does not propagate NaN");
        }
    };
    for op in UnaryOp::ALL {
        check(op.name(), op.nan_rule(), op.bound(), op.rule().operands(), &[op.eval(nan)]);
    }
    for op in BinaryOp::ALL {
        let others = edges(ty);
        let results: Vec<_> = others.into_iter().flat_map(|b| [op.eval(nan, b), op.eval(b, nan)]).collect();
        check(op.name(), op.nan_rule(), op.bound(), op.rule().operands(), &results);
    }
    for op in TernaryOp::ALL {
        let mut results = Vec::new();
        for b in edges(ty) {
            for c in edges(ty) {
                results.extend([op.eval(nan, b, c), op.eval(b, nan, c), op.eval(b, c, nan)]);
            }
        }
        check(op.name(), op.nan_rule(), op.bound(), op.rule().operands(), &results);
    }
}

#[test]
fn reductions_name_an_associative_op() {
    for op in SubgroupOp::ALL {
        for ty in op.rule().operands().iter() {
            let Some(combine) = op.combine() else { continue };
            let f =
                combine.kernel(ty).unwrap_or_else(|| panic!("{op:?} combines {ty} by an op that refuses it"));
            for (a, b, c) in edges(ty).into_iter().flat_map(|a| {
                edges(ty).into_iter().flat_map(move |b| edges(ty).into_iter().map(move |c| (a, b, c)))
            }) {
                let (a, b, c) = (a.bits(), b.bits(), c.bits());
                assert_eq!(f(f(a, b), c), f(a, f(b, c)), "{op:?} depends on the order of lanes");
            }
        }
    }
}

#[test]
fn the_comparator_excuses_nan_payloads_and_flushed_subnormals_alone() {
    let f = |bits: u64| Value::from_bits(DataType::F32, bits);
    let exact = Comparison::EXACT;
    assert!(exact.accepts(f(0x7FC0_0000), f(0xFFC0_0001)));
    assert!(exact.accepts(f(0x0000_0001), f(0)) && exact.accepts(f(0x807F_FFFF), f(0)));
    // Not the other way round, nor zeros of the other sign, nor a NaN for a number.
    assert!(!exact.accepts(f(0), f(0x0000_0001)));
    assert!(!exact.accepts(f(0), f(0x8000_0000)));
    assert!(!exact.accepts(f(0x7FC0_0000), f(0x3F80_0000)) && !exact.accepts(f(0x3F80_0000), f(0x7FC0_0000)));
    assert!(!exact.accepts(Value::new(1u32), Value::new(1i32)));
    assert!(!exact.accepts(Value::new(1u32), Value::new(2u32)));
    let ulp = |n| Comparison { bound: ErrorBound::Ulp(n), operand: 0.0 };
    assert!(ulp(2.0).accepts(f(0x3F80_0000), f(0x3F80_0002)));
    assert!(!ulp(2.0).accepts(f(0x3F80_0000), f(0x3F80_0003)));
    // Across a power of two, zero, and the largest finite number.
    assert!(ulp(2.0).accepts(f(0x3F80_0000), f(0x3F7F_FFFE)));
    assert!(ulp(1.0).accepts(f(0x7F7F_FFFF), f(0x7F80_0000)));
    assert!(!ulp(4.0).accepts(f(0x7F80_0000), f(0xFF80_0000)));
    // Each format in its own steps, and absolute bounds with the rounding of narrow ones.
    let h = |bits: u64| Value::from_bits(DataType::F16, bits);
    assert!(ulp(2.0).accepts(h(0x3C00), h(0x3C02)) && !ulp(2.0).accepts(h(0x3C00), h(0x3C03)));
    assert!(exact.accepts(h(1), h(0x8000)) && !exact.accepts(h(0x0400), h(0)));
    let d = |x: f64| Value::new(x);
    assert!(
        ulp(1.0).accepts(d(1.0), d(1.0 + f64::EPSILON))
            && !ulp(1.0).accepts(d(1.0), d(1.0f32.next_up().into()))
    );
    let absolute = |absolute| ErrorBound::AbsoluteWithin { absolute, limit: 10.0 };
    let within = |a| Comparison { bound: absolute(a), operand: 1.0 };
    assert!(
        within(0.0).accepts(h(0x3C00), h(0x3C01)) && !within(0.0).accepts(f(0x3F80_0000), f(0x3F80_0001))
    );
    let scaled = Comparison { bound: ErrorBound::UlpScaled { base: 3.0, scale: 2.0 }, operand: -10.0 };
    assert!(
        scaled.accepts(f(0x3F80_0000), f(0x3F80_0017)) && !scaled.accepts(f(0x3F80_0000), f(0x3F80_0018))
    );
}

#[test]
fn whole_outputs_are_compared_by_element() {
    use vyre_spec::Mismatch;
    let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let want = bytes(&[1.0, f32::NAN, 3.0, 4.0]);
    let ok = bytes(&[1.0, -f32::NAN, 3.0, 4.0]);
    assert_eq!(Comparison::EXACT.outputs(DataType::F32, &want, &ok), Ok(()));
    // As integers, the NaNs differ.
    assert!(Comparison::EXACT.outputs(DataType::U32, &want, &ok).is_err());
    let wrong = bytes(&[1.0, f32::NAN, 3.5, 5.0]);
    assert_eq!(
        Comparison::EXACT.outputs(DataType::F32, &want, &wrong),
        Err(Mismatch::Element { element: 2, want: Value::new(3.0f32), got: Value::new(3.5f32), count: 2 })
    );
    assert_eq!(
        Comparison::EXACT.outputs(DataType::F32, &want, &wrong[4..]),
        Err(Mismatch::Length { want: 16, got: 12 })
    );
    // Any non-zero word is true.
    assert_eq!(Comparison::EXACT.outputs(DataType::Bool, &[1, 0, 0, 0], &[0, 0, 7, 0]), Ok(()));
}

#[test]
fn what_rounds_up_to_the_least_normal_bf16_may_be_flushed_before() {
    use vyre_spec::{Comparison, DataType, Value};
    let bf16 = |bits| Value::from_bits(DataType::BF16, bits);
    assert!(Comparison::EXACT.accepts(bf16(0x0080), bf16(0)));
    assert!(Comparison::EXACT.accepts(bf16(0x8080), bf16(0x8000)));
    // The number above it cannot come from a subnormal, and of binary32 itself only subnormals are flushed.
    assert!(!Comparison::EXACT.accepts(bf16(0x0081), bf16(0)));
    let least = Value::from_bits(DataType::F32, 0x0080_0000);
    assert!(!Comparison::EXACT.accepts(least, Value::zero(DataType::F32)));
}
