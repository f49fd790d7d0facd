//! Scalar constants in text, exact to the bit.
//!
//! An integer without suffix is a `u32`, a number with a point or exponent an `f32`. Infinities and NaNs
//! are `inf<f32>`, `-inf<f32>`, `nan<f32>` (the quiet one without payload) and `bits<f32>(0x…)`. Constants of
//! other types have the type as a suffix, such as `7u8` and `0.5f16`.

use vyre_spec::{DataType, Value};

/// Writes a constant so that it reads back as the same bits.
pub(crate) fn write(out: &mut String, value: Value) {
    let ty = value.ty();
    let suffix = if matches!(ty, DataType::U32 | DataType::F32) { "" } else { ty.name() };
    if let Some(x) = value.as_int() {
        out.push_str(&format!("{x}{suffix}"));
    } else if let Some(x) = value.as_f64() {
        if x.is_finite() {
            // Rust's `Debug` prints the shortest digits that read back as the same float, always with a
            // point or an exponent. A 16-bit number is an f32, too, with far fewer digits than as an f64.
            let digits = if ty == DataType::F64 { format!("{x:?}") } else { format!("{:?}", x as f32) };
            out.push_str(&format!("{digits}{suffix}"));
        } else if x.is_infinite() {
            out.push_str(if x > 0.0 { "inf" } else { "-inf" });
            out.push_str(&format!("<{ty}>"));
        } else if Some(value) == nan(ty) {
            out.push_str(&format!("nan<{ty}>"));
        } else {
            out.push_str(&format!("bits<{ty}>({:#X})", value.bits()));
        }
    } else {
        out.push_str(if value.bits() != 0 { "true" } else { "false" });
    }
}

/// `inf<ty>` or `-inf<ty>`; `None` for a type without infinities.
pub(crate) fn infinity(ty: DataType, negative: bool) -> Option<Value> {
    let format = ty.float_format()?;
    Some(Value::from_bits(ty, format.infinity() | if negative { format.sign() } else { 0 }))
}

/// `nan<ty>`: the quiet one without sign and payload; `None` for a type without NaNs.
pub(crate) fn nan(ty: DataType) -> Option<Value> {
    ty.float_format().map(|format| Value::from_bits(ty, format.quiet_nan()))
}

/// Why a number is no constant: what is wrong, and what to write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadNumber {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

fn bad<T>(message: String, help: impl Into<Option<String>>) -> Result<T, BadNumber> {
    Err(BadNumber { message, help: help.into() })
}

/// The parts of a number: digits without `_`, radix, whether it has a point or exponent, suffix.
struct Parts {
    digits: String,
    radix: u32,
    is_float: bool,
    suffix: String,
}

fn split(number: &str) -> Parts {
    let (radix, body) = match (number.strip_prefix("0x"), number.strip_prefix("0b")) {
        (Some(body), _) => (16, body),
        (_, Some(body)) => (2, body),
        _ => (10, number),
    };
    // A suffix begins at the first letter that is no part of the digits.
    let bytes = body.as_bytes();
    let is_suffix = |i: usize| match bytes.get(i) {
        Some(b'e' | b'E') if radix == 10 => {
            let next = bytes.get(i + 1);
            !matches!(next, Some(b'+' | b'-' | b'0'..=b'9'))
        }
        Some(&b) => b.is_ascii_alphabetic() && !(b as char).is_digit(radix),
        None => true,
    };
    let end = (0..=bytes.len()).find(|&i| is_suffix(i)).unwrap_or(bytes.len());
    let (digits, suffix) = body.split_at(end);
    let digits: String = digits.chars().filter(|&c| c != '_').collect();
    let is_float = radix == 10 && digits.contains(['.', 'e', 'E']);
    Parts { digits, radix, is_float, suffix: suffix.to_owned() }
}

/// The constant that a number means, after a minus sign if `negative`.
///
/// # Errors
/// If the suffix is no number type, or the value does not fit the type.
pub(crate) fn parse(number: &str, negative: bool) -> Result<Value, BadNumber> {
    let Parts { digits, radix, is_float, suffix } = split(number);
    let ty = match DataType::from_name(&suffix) {
        Some(DataType::Bool) => {
            return bad(format!("`{number}` is no bool"), "write `true` or `false`".to_owned());
        }
        Some(ty) => ty,
        None if suffix.is_empty() && is_float => DataType::F32,
        None if suffix.is_empty() => DataType::U32,
        None => {
            return bad(
                format!("`{suffix}` is no number type"),
                format!("write one of {}", names_of_numbers()),
            );
        }
    };
    if ty.is_float() {
        if radix != 10 {
            return bad(
                "a float is written in decimal".to_owned(),
                format!("write `bits<{ty}>(0x…)` to give its bits"),
            );
        }
        return float(&digits, negative, ty);
    }
    if is_float {
        return bad(format!("`{number}` is no integer"), format!("drop the suffix `{suffix}` for an f32"));
    }
    integer(&digits, radix, negative, ty, suffix.is_empty())
}

fn float(digits: &str, negative: bool, ty: DataType) -> Result<Value, BadNumber> {
    // Rust's parsers round to nearest, ties to even.
    let parsed = match ty {
        DataType::F32 => digits.parse().map(|x: f32| Value::new(if negative { -x } else { x })),
        _ => digits.parse().map(|x: f64| Value::from_f64(ty, if negative { -x } else { x })),
    };
    match parsed {
        Err(_) => bad(format!("`{digits}` is no number"), None),
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => bad(format!("`{digits}` is too large for {ty}"), format!("write `inf<{ty}>` for infinity")),
    }
}

fn integer(digits: &str, radix: u32, negative: bool, ty: DataType, bare: bool) -> Result<Value, BadNumber> {
    let Some(magnitude) = magnitude(digits, radix) else {
        return bad(format!("`{digits}` is no integer, or too large for any type"), None);
    };
    let bits = ty.size() * 8;
    let (min, max) = if ty.is_signed_int() {
        (1u128 << (bits - 1), (1u128 << (bits - 1)) - 1)
    } else {
        (0, (1u128 << bits) - 1)
    };
    let magnitude = u128::from(magnitude);
    if negative && bare && magnitude > 0 {
        return bad(
            "an integer without suffix is a u32, which cannot be negative".to_owned(),
            format!("write `-{digits}i32`, or `-{digits}.0` for an f32"),
        );
    }
    if magnitude > if negative { min } else { max } {
        let sign = if negative { "-" } else { "" };
        return bad(
            format!("{sign}{magnitude} does not fit {ty}"),
            format!("{ty} holds -{min} to {max}").replace("-0 to", "0 to"),
        );
    }
    let value = magnitude as u64;
    Ok(Value::from_bits(ty, if negative { value.wrapping_neg() } else { value }))
}

/// An integer up to 2^64 - 1 in digits of the radix; `None` if it is none or too large.
fn magnitude(digits: &str, radix: u32) -> Option<u64> {
    if !digits.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

/// A number without suffix up to 2^64 - 1.
///
/// # Errors
/// If it has a suffix, is no integer or too large.
pub(crate) fn parse_u64(number: &str) -> Result<u64, BadNumber> {
    let Parts { digits, radix, suffix, .. } = split(number);
    match magnitude(&digits, radix) {
        Some(value) if suffix.is_empty() => Ok(value),
        _ => bad(
            format!("`{number}` is no integer from 0 to 2^64 - 1"),
            "write it without a suffix".to_owned(),
        ),
    }
}

/// The number types' names, for messages.
fn names_of_numbers() -> String {
    let names: Vec<_> = vyre_spec::TypeSet::ARITH.iter().map(DataType::name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a printed constant back without the parser.
    fn read(text: &str) -> Value {
        let (negative, body) = text.strip_prefix('-').map_or((false, text), |body| (true, body));
        match body {
            "true" | "false" => Value::new(body == "true"),
            _ => match body.split_once('<').and_then(|(kind, rest)| Some((kind, rest.split_once('>')?))) {
                Some(("inf", (ty, _))) => infinity(DataType::from_name(ty).unwrap(), negative).unwrap(),
                Some(("nan", (ty, _))) => nan(DataType::from_name(ty).unwrap()).unwrap(),
                Some((_, (ty, bits))) => Value::from_bits(
                    DataType::from_name(ty).unwrap(),
                    parse_u64(bits.trim_matches(['(', ')'])).unwrap(),
                ),
                None => parse(body, negative).unwrap(),
            },
        }
    }

    #[test]
    fn constants_keep_every_bit() {
        let floats = [
            0.1f32,
            1.0 / 3.0,
            16_777_217.0,
            1e-45,
            f32::MAX,
            f32::MIN,
            -0.0,
            0.0,
            f32::MIN_POSITIVE,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::from_bits(0x7FC0_0000),
            f32::from_bits(0xFFC0_0001),
            f32::from_bits(0x7F80_0001),
            1e20,
        ];
        let doubles = [0.1f64, 1.0 / 3.0, 9_007_199_254_740_993.0, 5e-324, f64::MAX, -0.0, f64::INFINITY];
        let ints = [i32::MIN, i32::MAX, -1, 0, 1];
        let values = floats
            .map(Value::new)
            .into_iter()
            .chain(doubles.map(Value::new))
            .chain(ints.map(Value::new))
            .chain([i64::MIN, i64::MAX, -1].map(Value::new))
            .chain([u64::MAX, 1 << 53].map(Value::new))
            .chain([i8::MIN, i8::MAX].map(Value::new))
            .chain([u16::MAX, 7].map(Value::new))
            // Every 16-bit float.
            .chain((0..=0xFFFF).map(|bits| Value::from_bits(DataType::F16, bits)))
            .chain((0..=0xFFFF).map(|bits| Value::from_bits(DataType::BF16, bits)))
            .chain([0u32, 1, u32::MAX].map(Value::new))
            .chain([true, false].map(Value::new));
        for value in values {
            let mut text = String::new();
            write(&mut text, value);
            assert_eq!(read(&text), value, "{text}");
        }
    }

    #[test]
    fn numbers_mean_what_they_say() {
        assert_eq!(parse("4", false), Ok(Value::new(4u32)));
        assert_eq!(parse("1_0", false), Ok(Value::new(10u32)));
        assert_eq!(parse("0xFF", false), Ok(Value::new(255u32)));
        assert_eq!(parse("0b101i32", true), Ok(Value::new(-5i32)));
        assert_eq!(parse("1e3", false), Ok(Value::new(1000.0f32)));
        assert_eq!(parse("2f32", true), Ok(Value::new(-2.0f32)));
        assert_eq!(parse("0", true), Ok(Value::new(0u32)));
        assert_eq!(parse("0xFFu8", false), Ok(Value::new(255u8)));
        assert_eq!(parse("128i8", true), Ok(Value::new(-128i8)));
        assert_eq!(parse("0x8000000000000000i64", true), Ok(Value::new(i64::MIN)));
        assert_eq!(parse("1.5bf16", false), Ok(Value::from_bits(DataType::BF16, 0x3FC0)));
        // A tie between two f16, and what lies just above it.
        assert_eq!(parse("2049f16", false), Ok(Value::from_bits(DataType::F16, 0x6800)));
        assert_eq!(parse("2049.0001f16", false), Ok(Value::from_bits(DataType::F16, 0x6801)));
        assert_eq!(parse("2147483648i32", true), Ok(Value::new(i32::MIN)));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_advice() {
        for (number, negative) in [
            ("4294967296", false),
            ("2147483648i32", false),
            ("1", true),
            ("1e39", false),
            ("1.5u32", false),
            ("1u31", false),
            ("0x1p3", false),
            ("1bool", false),
            ("256u8", false),
            ("129i8", true),
            ("65520.0f16", false),
            ("99999999999999999999", false),
            ("0x", false),
            ("1u32", true),
        ] {
            assert!(parse(number, negative).is_err(), "{number}");
        }
    }
}
