//! `docs/OPS.md`: what each op means, how exact it is, and what a device makes of it.
//!
//! The page lists what the backend suite runs and nothing else. How a device computes an op is read off the
//! descriptor that lowering makes of a program with that op alone, for a device that has everything, and for
//! devices that each lack one capability or have one fault. With `UPDATE_EXPECT=1` in the environment the page is
//! written instead of compared. No device is used.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use vyre_driver::conformance::{Covered, Row, covered};
use vyre_lower::kernel::{KernelDescriptor, Op};
use vyre_lower::{LowerError, lower};
use vyre_spec::{
    Capability, CapabilitySet, CompileOptions, DataType, DeviceProfile, ErrorBound, NanRule, Quirks,
};

const INTRODUCTION: &str = "\
# Ops

Every op at every type that the backend suite runs (`vyre_driver::conformance`), against the reference machine, on
the devices that [TESTING.md](../TESTING.md) names. This page is generated: the test `ops_page` of vyre-driver-wgpu
compares it with the op tables, the suite and what lowering makes of each op.

**What it computes** is the evaluation in the op's row of `vyre-spec`, which the reference machine and the folder
call. Integers and bool are exact everywhere. A float result may be a zero in place of a subnormal; how else it may
differ is its bound, in units in the last place (ULP) of the result's type. *NaN propagates* means that a NaN operand
gives a NaN. A NaN's sign and payload are never specified.

**What a device makes of it**: *native* is the device's own op at that type. *In 32 bits* is the device's own op
in `u32`, `i32` or `f32`, where that is not the op's type, and the result brought into it. *Built* is other ops, chosen by the
legalisation rule of the row. An op that needs a capability is refused by name, when a program is compiled for a device
without it. Some rules guard the device's op (a divisor of zero, the amount of a shift); such an op is native here.

**What each API guarantees.** On Vulkan, Vyre loads SPIR-V in which every float result is decorated with
`NoContraction` (the capability `strict_float`), so drivers may neither contract nor reassociate; the probe that runs
when a device is opened finds drivers that fold against IEEE 754 all the same, and the rules work around them: the
last column names those faults. On DX12 and Metal the naga module goes to wgpu as it is: HLSL and MSL compilers may
contract `x * y + z` and treat NaN and signed zeros as their fast paths do, except where a rule looks at bits
(NaN tests, `min`, `max`, `!=`). They are cross-checked by compiling, and not run in this repository's tests.
";

/// How lowering makes an op on a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Made {
    Native,
    Narrow,
    Built,
    Refused,
}

impl Made {
    const fn words(&self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Narrow => "in 32 bits",
            Self::Built => "built",
            Self::Refused => "refused",
        }
    }
}

fn device(without: Option<Capability>, quirks: Quirks) -> DeviceProfile {
    let all = Capability::ALL.into_iter().filter(|c| Some(*c) != without);
    let capabilities = all.fold(CapabilitySet::EMPTY, CapabilitySet::with);
    DeviceProfile { capabilities, quirks, ..DeviceProfile::reference() }
}

/// The faults of drivers that legalisation works around.
fn faults() -> [(&'static str, Quirks); 5] {
    let none = Quirks::default();
    [
        ("folds_floats", Quirks { folds_floats: true, ..none }),
        ("splits_fma", Quirks { splits_fma: true, ..none }),
        ("folds_self_comparison", Quirks { folds_self_comparison: true, ..none }),
        ("loses_large_divisors", Quirks { loses_large_divisors: true, ..none }),
        ("loses_special_values", Quirks { loses_special_values: true, ..none }),
    ]
}

fn lowered(case: &Covered, profile: &DeviceProfile) -> Option<KernelDescriptor> {
    let options = CompileOptions { optimize: false, ..CompileOptions::default() };
    match lower(&case.program, profile, &options) {
        Ok(kernel) => Some((*kernel).clone()),
        Err(LowerError::Unsupported { .. }) => None,
        Err(error) => panic!("{:?} {:?}: {error}", case.row, case.operands),
    }
}

fn made(case: &Covered, kernel: Option<&KernelDescriptor>) -> Made {
    let Some(kernel) = kernel else { return Made::Refused };
    let of = |id: vyre_lower::kernel::InstId| kernel.insts[id.index()].ty;
    let (first, result) = (case.operands[0], case.result);
    let mut found = Made::Built;
    for inst in &kernel.insts {
        let native = match (case.row, inst.op) {
            (Row::Unary(op), Op::Unary(other, a)) if op == other => of(a) == Some(first),
            (Row::Binary(op), Op::Binary(other, a, _)) if op == other => of(a) == Some(first),
            (Row::Ternary(op), Op::Ternary(other, _, b, _)) if op == other => of(b) == Some(case.operands[1]),
            (Row::Cast(op), Op::Cast(other, a)) if op == other => {
                of(a) == Some(first) && inst.ty == Some(result)
            }
            (Row::Atomic(op), Op::Atomic { op: other, .. }) if op == other => inst.ty == Some(result),
            (Row::Subgroup(op), Op::Subgroup { op: other, .. }) if op == other => inst.ty == Some(result),
            _ => continue,
        };
        if native {
            return Made::Native;
        }
        found = Made::Narrow;
    }
    found
}

/// What the page says of an op at a type.
fn on_devices(case: &Covered) -> String {
    let best = lowered(case, &device(None, Quirks::default()));
    let way = made(case, best.as_ref());
    let mut text = way.words().to_owned();
    for capability in Capability::ALL {
        let less = lowered(case, &device(Some(capability), Quirks::default()));
        match made(case, less.as_ref()) {
            other if other == way => {}
            Made::Refused => write!(text, ", needs `{}`", capability.name()).unwrap(),
            other => write!(text, ", without `{}` {}", capability.name(), other.words()).unwrap(),
        }
    }
    let changed: Vec<String> = faults()
        .into_iter()
        .filter(|&(_, quirks)| {
            let kernel = lowered(case, &device(None, quirks));
            kernel.map(|k| k.insts) != best.as_ref().map(|k| k.insts.clone())
        })
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if !changed.is_empty() {
        write!(text, " | {}", changed.join(", ")).unwrap();
    } else {
        text.push_str(" | ");
    }
    text
}

fn bound(bound: ErrorBound) -> String {
    match bound {
        ErrorBound::Exact => "exact".into(),
        ErrorBound::Ulp(ulp) => format!("{ulp} ULP"),
        ErrorBound::UlpScaled { base, scale } => format!("{base} + {scale} × |x| ULP"),
        ErrorBound::AbsoluteInside { absolute, low, high, ulp } => {
            format!("{absolute:e} absolute for x in [{low}, {high}], {ulp} ULP elsewhere")
        }
        ErrorBound::AbsoluteWithin { absolute, limit } => {
            format!("{absolute:e} absolute for |x| ≤ {limit}, none beyond")
        }
        ErrorBound::AbsoluteOrUlp { absolute, base, scale } => {
            format!("{absolute:e} absolute or {base} + {scale} × |x| ULP, whichever is more")
        }
        ErrorBound::Power { base, of_logarithm, of_exponent } => format!(
            "{base} ULP, {of_logarithm} more per unit of the result's binary logarithm and {of_exponent} per unit of the exponent"
        ),
    }
}

fn nan(rule: NanRule) -> Option<&'static str> {
    match rule {
        NanRule::None => None,
        NanRule::Propagates => Some("NaN propagates"),
        NanRule::AsEvaluated => Some("NaN as evaluated"),
    }
}

fn names(types: &BTreeSet<DataType>) -> String {
    types.iter().map(|ty| format!("`{ty}`")).collect::<Vec<_>>().join(" ")
}

/// The rows of a conversion: from which types to which, by what the page says of them.
fn conversions(out: &mut String, cases: &[&Covered]) {
    let mut targets: BTreeMap<(DataType, String), BTreeSet<DataType>> = BTreeMap::new();
    for case in cases {
        targets.entry((case.operands[0], on_devices(case))).or_default().insert(case.result);
    }
    let mut sources: BTreeMap<(String, BTreeSet<DataType>), BTreeSet<DataType>> = BTreeMap::new();
    for ((from, words), to) in targets {
        sources.entry((words, to)).or_default().insert(from);
    }
    out.push_str("\n| from | to | on a device | rewritten for |\n| --- | --- | --- | --- |\n");
    for ((words, to), from) in sources {
        writeln!(out, "| {} | {} | {words} |", names(&from), names(&to)).unwrap();
    }
}

/// Operands and result, `None` where they are of the type that the row is about, and what the page says.
type Line = (Vec<Option<DataType>>, Option<DataType>, String);

/// The rows of any other op: the types of its operands by what the page says of them.
fn by_type(out: &mut String, cases: &[&Covered]) {
    let mut rows: BTreeMap<Line, BTreeSet<DataType>> = BTreeMap::new();
    for case in cases {
        let primary = *case.operands.get(usize::from(matches!(case.row, Row::Ternary(_)))).unwrap();
        let other = |ty: DataType| (ty != primary).then_some(ty);
        let operands = case.operands.iter().map(|&ty| other(ty)).collect();
        rows.entry((operands, other(case.result), on_devices(case))).or_default().insert(primary);
    }
    out.push_str("\n| T | operands and result | on a device | rewritten for |\n| --- | --- | --- | --- |\n");
    for ((operands, result, words), types) in rows {
        let show = |ty: &Option<DataType>| ty.map_or("T".to_owned(), |ty| ty.name().to_owned());
        let operands: Vec<String> = operands.iter().map(show).collect();
        let signature = format!("{} → {}", operands.join(", "), show(&result));
        writeln!(out, "| {} | {signature} | {words} |", names(&types)).unwrap();
    }
}

#[test]
fn the_page_of_ops_is_true() {
    let all = covered();
    let mut by_row: BTreeMap<Row, Vec<&Covered>> = BTreeMap::new();
    for case in &all {
        by_row.entry(case.row).or_default().push(case);
    }
    let mut page = String::from(INTRODUCTION);
    let mut title = "";
    for (row, cases) in by_row {
        let section = match row {
            Row::Unary(_) => "One operand",
            Row::Binary(_) => "Two operands",
            Row::Ternary(_) => "Three operands",
            Row::Cast(_) => "Conversions",
            Row::Atomic(_) => "Atomics, on elements of buffers and shared arrays",
            Row::Subgroup(_) => "Over the lanes of a subgroup",
        };
        if section != title {
            title = section;
            write!(page, "\n## {section}\n").unwrap();
        }
        let symbol = row.symbol().map_or(String::new(), |(symbol, _)| format!(" (`{symbol}`)"));
        let floats = cases.iter().any(|c| c.operands.iter().chain([&c.result]).any(|ty| ty.is_float()));
        let mut rules: Vec<String> = vec![bound(row.bound())];
        rules.extend(nan(row.nan_rule()).filter(|_| floats).map(str::to_owned));
        write!(page, "\n### `{}`{symbol}\n\n{} *{}.*\n", row.name(), row.doc(), rules.join("; ")).unwrap();
        match row {
            Row::Cast(_) => conversions(&mut page, &cases),
            _ => by_type(&mut page, &cases),
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/OPS.md");
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(current == page, "docs/OPS.md is out of date: run this test with UPDATE_EXPECT=1");
}
