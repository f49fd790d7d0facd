//! Every op on edge operands, against values that were worked out from the WGSL and IEEE 754
//! specifications, independently of the evaluations under test: see the head of each file of `golden/`.
//!
//! A line is `TYPE OPERANDS: OP RESULT, OP RESULT, …`; a line that begins with a blank continues the one
//! before, and `#` begins a comment. Floats are decimal or, as `0x…`, bits. A result of `nan` is any NaN.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

use std::collections::BTreeMap;

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Comparison, DataType, ErrorBound, Value};

const FILES: [(&str, &str); 14] = [
    ("atomic", include_str!("golden/atomic.txt")),
    ("bits", include_str!("golden/bits.txt")),
    ("cast", include_str!("golden/cast.txt")),
    ("division", include_str!("golden/division.txt")),
    ("float", include_str!("golden/float.txt")),
    ("float_unary", include_str!("golden/float_unary.txt")),
    ("integer", include_str!("golden/integer.txt")),
    ("minmax", include_str!("golden/minmax.txt")),
    ("shift", include_str!("golden/shift.txt")),
    ("subgroup", include_str!("golden/subgroup.txt")),
    ("ternary", include_str!("golden/ternary.txt")),
    ("wide_cast", include_str!("golden/wide_cast.txt")),
    ("wide_float", include_str!("golden/wide_float.txt")),
    ("wide_integer", include_str!("golden/wide_integer.txt")),
];

/// One expectation: an op's name (of a cast, with `>` and its target), operands and result.
struct Vector<'t> {
    op: &'t str,
    ty: DataType,
    operands: Vec<&'t str>,
    result: &'t str,
    place: String,
}

fn vectors() -> Vec<Vector<'static>> {
    let mut vectors = Vec::new();
    for (file, text) in FILES {
        let mut head: Option<(DataType, Vec<&str>)> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let place = format!("golden/{file}.txt:{number}");
            if line.starts_with('#') {
                continue;
            }
            let results = match line.split_once(':') {
                Some((operands, results)) => {
                    let mut words = operands.split_whitespace();
                    let ty = words.next().and_then(DataType::from_name);
                    head = Some((ty.unwrap_or_else(|| panic!("{place}: no type")), words.collect()));
                    results
                }
                None => line,
            };
            let (ty, operands) = head.clone().unwrap_or_else(|| panic!("{place}: no operands"));
            for item in results.split(',').map(str::trim).filter(|item| !item.is_empty()) {
                let (op, result) = item.split_once(' ').unwrap_or_else(|| panic!("{place}: `{item}`"));
                vectors.push(Vector { op, ty, operands: operands.clone(), result, place: place.clone() });
            }
        }
    }
    vectors
}

fn value(ty: DataType, text: &str) -> Value {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
        None if ty == DataType::F32 => u64::from(text.parse::<f32>().unwrap().to_bits()),
        // Other numbers are written as bits.
        None if ty.is_float() => Value::from_f64(ty, text.parse().unwrap()).bits(),
        None => text.parse::<i128>().unwrap() as u64,
    };
    match (ty, text) {
        (DataType::Bool, _) => Value::new(text.parse::<bool>().unwrap()),
        _ => Value::from_bits(ty, number(text)),
    }
}

impl Vector<'_> {
    fn operand(&self, i: usize, ty: DataType) -> Value {
        value(ty, self.operands[i])
    }

    /// Checks the result; gives the op and type that it covers.
    fn check(&self) -> String {
        let (name, to) = self.op.split_once('>').unwrap_or((self.op, self.ty.name()));
        let to = DataType::from_name(to).unwrap();
        let a = || self.operand(0, self.ty);
        if let Some(op) = SubgroupOp::from_name(name) {
            self.check_subgroup(op);
        } else if let Some(op) = UnaryOp::from_name(name) {
            self.compare(op.eval(a()), op.bound());
        } else if let Some(op) = BinaryOp::from_name(name) {
            self.compare(op.eval(a(), self.operand(1, op.rule().second(self.ty))), op.bound());
        } else if let Some(op) = TernaryOp::from_name(name) {
            let first = self.operand(0, op.rule().first(self.ty));
            self.compare(op.eval(first, self.operand(1, self.ty), self.operand(2, self.ty)), op.bound());
        } else if let Some(op) = CastOp::from_name(name) {
            self.compare(op.eval(a(), to), ErrorBound::Exact);
            return format!("{name} {} {to}", self.ty);
        } else if let Some(op) = AtomicOp::from_name(name) {
            let new = op.kernel(self.ty).map(|f| f(a().bits(), self.operand(1, self.ty).bits()));
            self.compare(new.map(|bits| Value::from_bits(self.ty, bits)), ErrorBound::Exact);
        } else {
            panic!("{}: no op is called `{name}`", self.place);
        }
        format!("{name} {}", self.ty)
    }

    fn compare(&self, got: Option<Value>, bound: ErrorBound) {
        let got = got.unwrap_or_else(|| panic!("{}: {} refuses {}", self.place, self.op, self.ty));
        let want = value(got.ty(), self.result);
        // The files have nine digits of transcendental values, which may round to a neighbour.
        let slack = if bound == ErrorBound::Exact { ErrorBound::Exact } else { ErrorBound::Ulp(1.0) };
        let same = if want.is_subnormal() || got.is_subnormal() {
            want == got
        } else {
            Comparison { bound: slack, operand: 0.0 }.accepts(want, got)
        };
        assert!(same, "{}: {} {:?} is {got:?} in place of {want:?}", self.place, self.op, self.operands);
    }

    fn check_subgroup(&self, op: SubgroupOp) {
        let mut parts = self.operands.split(|word| *word == ";");
        let bits = |words: &[&str], ty| words.iter().map(|w| value(ty, w).bits()).collect::<Vec<_>>();
        let values = bits(parts.next().unwrap_or_default(), self.ty);
        let lanes = bits(parts.next().unwrap_or_default(), DataType::U32);
        let lanes: Vec<u32> = lanes.into_iter().map(|lane| lane as u32).collect();
        let want = bits(&self.result.split_whitespace().collect::<Vec<_>>(), self.ty);
        let got = op.eval(self.ty, &values, &lanes);
        assert_eq!(got, Some(want), "{}: {} {:?}", self.place, self.op, self.operands);
    }
}

#[test]
fn evaluations_agree_with_the_specifications() {
    let mut covered: BTreeMap<String, u32> = BTreeMap::new();
    for vector in vectors() {
        *covered.entry(vector.check()).or_default() += 1;
    }
    // Each op on each type that its row takes has vectors.
    let mut wanted = Vec::new();
    for ty in DataType::ALL {
        let rows = UnaryOp::ALL.iter().filter(|op| op.rule().operands().contains(ty)).map(|op| op.name());
        wanted.extend(rows.map(|name| format!("{name} {ty}")));
        let rows = BinaryOp::ALL.iter().filter(|op| op.rule().operands().contains(ty)).map(|op| op.name());
        wanted.extend(rows.map(|name| format!("{name} {ty}")));
        let rows = TernaryOp::ALL.iter().filter(|op| op.rule().operands().contains(ty)).map(|op| op.name());
        wanted.extend(rows.map(|name| format!("{name} {ty}")));
        let rows = AtomicOp::ALL.iter().filter(|op| op.rule().elements().contains(ty)).map(|op| op.name());
        wanted.extend(rows.map(|name| format!("{name} {ty}")));
        let rows = SubgroupOp::ALL.iter().filter(|op| op.rule().operands().contains(ty)).map(|op| op.name());
        wanted.extend(rows.map(|name| format!("{name} {ty}")));
        for to in DataType::ALL {
            let rows = CastOp::ALL.iter().filter(|op| op.allows(ty, to));
            wanted.extend(rows.map(|op| format!("{} {ty} {to}", op.name())));
        }
    }
    for row in wanted {
        // Two are all that there are for a bool.
        assert!(covered.get(&row).is_some_and(|&n| n >= 2), "`{row}` has too few golden vectors");
    }
}
