//! Constants reach each target bit for bit (case C05).

use super::{Kernel, check_all_forms};
use crate::{SpirvOptions, to_hlsl, to_msl, to_spirv, to_wgsl};
use vyre_lower::kernel::Op;
use vyre_spec::ops::{BinaryOp, CastOp, UnaryOp};
use vyre_spec::{Access, DataType};

const FLOATS: [f32; 13] = [
    0.0,
    -0.0,
    0.1,
    1.0 / 3.0,
    -0.95,
    16_777_217.0,
    16_777_216.0,
    1e-45,
    -1e-45,
    f32::MIN_POSITIVE,
    f32::MAX,
    f32::MIN,
    1e20,
];

const INTS: [i32; 5] = [i32::MIN, i32::MIN + 1, -1, 0, i32::MAX];

/// A kernel that stores `x` at 0.
fn float(x: f32) -> Kernel {
    let mut k = Kernel::new("literal");
    let out = k.buffer(DataType::F32, Access::ReadWrite, false);
    let value = k.constant(x);
    let zero = k.constant(0u32);
    k.store(out, zero, value);
    k
}

fn int(x: i32) -> Kernel {
    let mut k = Kernel::new("literal");
    let out = k.buffer(DataType::I32, Access::ReadWrite, false);
    let value = k.constant(x);
    let zero = k.constant(0u32);
    k.store(out, zero, value);
    k
}

/// What a text stores, or its initialiser where it has a name: the last assignment's right side.
fn stored(text: &str) -> String {
    let line = text
        .lines()
        .rfind(|l| l.contains("bufferA") && (l.contains(" = ") || l.contains(".Store(")))
        .unwrap();
    if let Some((_, value)) = line.split_once(" = ") {
        return value.trim_end_matches(';').to_owned();
    }
    // HLSL: `bufferA.Store(0*4, asuint(VALUE));`
    let inner = line.split_once("asuint(").unwrap().1;
    inner.trim_end_matches(';').strip_suffix("))").unwrap().to_owned()
}

/// Evaluates the spellings of constants that the writers use: `-1.5f`, `int(-1)`, `(-2147483647 - 1)`.
fn float_of(text: &str) -> f32 {
    text.trim_matches(['(', ')']).trim_end_matches('f').parse().unwrap_or_else(|_| panic!("float `{text}`"))
}

fn int_of(text: &str) -> i64 {
    let inner = ["int(", "i32(", "("].iter().fold(text, |t, p| t.strip_prefix(p).unwrap_or(t));
    let inner = inner.trim_end_matches(')').trim_end_matches('i');
    let number = |t: &str| t.trim().parse::<i64>().unwrap_or_else(|_| panic!("int `{text}`"));
    match inner.split_once(" - ") {
        Some((a, b)) => number(a) - number(b),
        None => number(inner),
    }
}

/// The words of the constants of a module: `OpConstant` is 43, `OpConstantNull` 46 is no word.
fn spirv_constants(words: &[u32]) -> Vec<u32> {
    let mut at = 5;
    let mut out = Vec::new();
    while at < words.len() {
        let (len, op) = ((words[at] >> 16) as usize, words[at] & 0xFFFF);
        if op == 43 {
            out.push(words[at + 3]);
        }
        at += len;
    }
    out
}

#[test]
fn floats_keep_their_bits_in_each_form() {
    for x in FLOATS {
        let emitted = check_all_forms(&float(x));
        let spirv = to_spirv(&emitted, &SpirvOptions::default()).unwrap();
        assert!(spirv_constants(&spirv).contains(&x.to_bits()), "{x:?} in SPIR-V");
        for text in [to_wgsl(&emitted).unwrap(), to_msl(&emitted).unwrap(), to_hlsl(&emitted).unwrap()] {
            let value = stored(&text);
            assert_eq!(float_of(&value).to_bits(), x.to_bits(), "{x:?} is written `{value}`");
        }
    }
}

#[test]
fn integers_keep_their_value_in_each_form() {
    for x in INTS {
        let emitted = check_all_forms(&int(x));
        let spirv = to_spirv(&emitted, &SpirvOptions::default()).unwrap();
        assert!(spirv_constants(&spirv).contains(&(x as u32)), "{x} in SPIR-V");
        for text in [to_wgsl(&emitted).unwrap(), to_msl(&emitted).unwrap(), to_hlsl(&emitted).unwrap()] {
            let value = stored(&text);
            assert_eq!(int_of(&value), i64::from(x), "{x} is written `{value}`");
        }
    }
}

#[test]
fn casts_of_constant_bits_give_infinities_and_nan() {
    for bits in [0x7F80_0000u32, 0xFF80_0000, 0x7FC0_0000, 0xFFC0_0001, 0x7F80_0001] {
        let mut k = Kernel::new("literal");
        let out = k.buffer(DataType::F32, Access::ReadWrite, false);
        let word = k.constant(bits);
        let value = k.cast(CastOp::Bitcast, word, DataType::F32);
        let zero = k.constant(0u32);
        k.store(out, zero, value);
        let emitted = check_all_forms(&k);
        let spirv = to_spirv(&emitted, &SpirvOptions::default()).unwrap();
        assert!(spirv_constants(&spirv).contains(&bits), "{bits:#x} in SPIR-V");
        let forms = [
            (to_wgsl(&emitted).unwrap(), "bitcast<f32>("),
            (to_msl(&emitted).unwrap(), "as_type<float>("),
            (to_hlsl(&emitted).unwrap(), "asfloat("),
        ];
        for (text, cast) in forms {
            assert!(text.contains(cast) && text.contains(&format!("{bits}u")), "{bits:#x} in:\n{text}");
        }
    }
}

/// `a - -0.95`, `-(-(-x))` and `-i32::MIN` once came out as `--`.
#[test]
fn negations_do_not_merge() {
    let mut k = Kernel::new("negations");
    let out = k.buffer(DataType::F32, Access::ReadWrite, false);
    let zero = k.constant(0u32);
    let x = k.load(out, zero, DataType::F32);
    let c = k.constant(-0.95f32);
    let mut y = k.binary(BinaryOp::Sub, x, c, DataType::F32);
    for _ in 0..3 {
        y = k.inst(Op::Unary(UnaryOp::Neg, y), DataType::F32);
    }
    let negated = k.inst(Op::Unary(UnaryOp::Neg, c), DataType::F32);
    let y = k.binary(BinaryOp::Sub, y, negated, DataType::F32);
    k.store(out, zero, y);
    let emitted = check_all_forms(&k);
    for text in [to_wgsl(&emitted).unwrap(), to_msl(&emitted).unwrap(), to_hlsl(&emitted).unwrap()] {
        assert!(!text.contains("--"), "{text}");
    }
}
