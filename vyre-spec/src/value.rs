//! Scalar values and the one home of the rules that decide when two of them agree.

use std::fmt;

use crate::{DataType, Element, FloatFormat};

/// A scalar of any element type, held as bits: equality and hashing are bitwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    ty: DataType,
    bits: u64,
}

impl Value {
    /// The value `x`.
    pub fn new<T: Element>(x: T) -> Self {
        Self { ty: T::TYPE, bits: x.to_bits64() }
    }

    /// The value of type `ty` with these bits; bits above the type's width are dropped, and any
    /// non-zero word is `true`.
    pub fn from_bits(ty: DataType, bits: u64) -> Self {
        let bits = match ty {
            DataType::Bool => u64::from(bits as u32 != 0),
            _ => bits & (u64::MAX >> (64 - ty.width())),
        };
        Self { ty, bits }
    }

    /// Zero, or `false`.
    pub fn zero(ty: DataType) -> Self {
        Self { ty, bits: 0 }
    }

    /// One, or `true`.
    pub fn one(ty: DataType) -> Self {
        Self { ty, bits: ty.float_format().map_or(1, FloatFormat::one) }
    }

    /// The float of type `ty` that is nearest, ties to even; the integer that it saturates to, or whether it
    /// is other than zero.
    pub fn from_f64(ty: DataType, x: f64) -> Self {
        Self::from_bits(ty, crate::ops::CastOp::convert_f64(x, ty))
    }

    /// The number that a float is; `None` for other types.
    pub fn as_f64(self) -> Option<f64> {
        self.ty.float_format().map(|format| format.to_f64(self.bits))
    }

    /// The element type.
    pub fn ty(self) -> DataType {
        self.ty
    }

    /// The bits, zero-extended to 64.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The value as a `T`, if that is its type.
    pub fn get<T: Element>(self) -> Option<T> {
        (self.ty == T::TYPE).then(|| T::from_bits64(self.bits))
    }

    /// The number that an integer is; `None` for other types.
    pub fn as_int(self) -> Option<i128> {
        let unused = 64 - self.ty.width();
        match self.ty {
            ty if ty.is_signed_int() => Some(i128::from(((self.bits << unused) as i64) >> unused)),
            ty if ty.is_int() => Some(i128::from(self.bits)),
            _ => None,
        }
    }

    /// The value of type `ty` that stands in memory as these little-endian bytes, of which there are as
    /// many as the type's size; missing ones are 0.
    pub fn from_le_bytes(ty: DataType, bytes: &[u8]) -> Self {
        let bits = bytes.iter().take(8).rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        Self::from_bits(ty, bits)
    }

    /// Whether the value is a float that a device may flush to zero.
    pub fn is_subnormal(self) -> bool {
        self.ty.float_format().is_some_and(|format| format.is_subnormal(self.bits))
    }

    /// Whether the value is a NaN.
    pub fn is_nan(self) -> bool {
        self.ty.float_format().is_some_and(|format| format.is_nan(self.bits))
    }

    /// Whether the value is a float that is neither infinite nor a NaN, or no float.
    pub fn is_finite(self) -> bool {
        self.ty.float_format().is_none_or(|format| format.magnitude(self.bits) < format.infinity())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ty, self.as_int(), self.as_f64()) {
            (DataType::Bool, ..) => write!(f, "{}", self.bits != 0),
            (ty, Some(x), _) => write!(f, "{x}{ty}"),
            (DataType::F64, _, Some(x)) => write!(f, "{x:?}f64"),
            (ty, _, Some(x)) => write!(f, "{:?}{ty}", x as f32),
            (ty, ..) => write!(f, "{:#x}{ty}", self.bits),
        }
    }
}

/// What an op does with NaN operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NanRule {
    /// The op has no float operand or result.
    None,
    /// A NaN operand gives a NaN; its sign and payload are unspecified.
    Propagates,
    /// The result is what the evaluation says, NaN or not; a NaN's payload is unspecified.
    AsEvaluated,
}

/// How far a device's result may be from the evaluation's.
///
/// ULP is the distance between the two floats nearest the exact result. Bounds apply to float results;
/// integers and bool are always exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ErrorBound {
    /// The same value, to the last bit.
    Exact,
    /// At most this many ULP.
    Ulp(f32),
    /// At most `base + scale × |x|` ULP, x the first operand.
    UlpScaled {
        /// ULP at x = 0.
        base: f32,
        /// Further ULP per unit of |x|.
        scale: f32,
    },
    /// An absolute error inside `[low, high]` of the first operand, ULP outside.
    AbsoluteInside {
        /// The absolute error inside.
        absolute: f32,
        /// The interval's lower end.
        low: f32,
        /// The interval's upper end.
        high: f32,
        /// ULP outside the interval.
        ulp: f32,
    },
    /// An absolute error for |x| ≤ `limit`; beyond that the result is only known to be finite or NaN.
    AbsoluteWithin {
        /// The absolute error.
        absolute: f32,
        /// The largest |x| that the bound covers.
        limit: f32,
    },
    /// An absolute error, or at most `base + scale × |x|` ULP, x the first operand, whichever is more.
    AbsoluteOrUlp {
        /// The absolute error.
        absolute: f32,
        /// ULP at x = 0.
        base: f32,
        /// Further ULP per unit of |x|.
        scale: f32,
    },
    /// Of a power: ULP that grow with the binary logarithm of the result and with the exponent.
    Power {
        /// ULP of a result of 1 and an exponent of 0.
        base: f32,
        /// Further ULP per unit of the result's logarithm.
        of_logarithm: f32,
        /// Further ULP per unit of the exponent.
        of_exponent: f32,
    },
}

impl ErrorBound {
    /// The position of the operand that the bound depends on.
    pub const fn operand(self) -> usize {
        match self {
            Self::Power { .. } => 1,
            _ => 0,
        }
    }
}

/// The comparator: whether a device's result is acceptable for an evaluation's.
///
/// Two NaNs agree whatever their payload, and a subnormal result may be flushed to a zero of either
/// sign; nothing else is excused. A bf16 is the rounded result of binary32, which has the same exponents:
/// what rounds up to the least normal bf16 can be a subnormal before, and be flushed then. (IEEE 754-2019,
/// 7.5, leaves open whether a result is tiny before or after rounding.)
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The op's bound.
    pub bound: ErrorBound,
    /// The operand that the bound depends on, if it does: see [`ErrorBound::operand`].
    pub operand: f64,
}

impl Comparison {
    /// Bit-exact, but for NaN payloads and flushed subnormals.
    pub const EXACT: Self = Self { bound: ErrorBound::Exact, operand: 0.0 };

    /// Whether `got` is acceptable where the evaluation gives `want`.
    pub fn accepts(self, want: Value, got: Value) -> bool {
        if want.ty != got.ty {
            return false;
        }
        if want.bits == got.bits {
            return true;
        }
        let (Some(format), Some(w), Some(g)) = (want.ty.float_format(), want.as_f64(), got.as_f64()) else {
            return false;
        };
        if w.is_nan() || g.is_nan() {
            return w.is_nan() && g.is_nan();
        }
        let least_normal = format.magnitude(want.bits) == format.least_normal();
        if (want.is_subnormal() || want.ty == DataType::BF16 && least_normal) && g == 0.0 {
            return true;
        }
        let within_ulp = |n: f64| within_ulp(format, want.bits, got.bits, n);
        // Absolute bounds are those of binary32; a narrower type rounds its result and the evaluation's.
        let rounding = if format.fraction_bits < 23 { 1.0 } else { 0.0 };
        let within_absolute = |absolute: f32| {
            let ulp = w.abs().max(f64::MIN_POSITIVE) * 2f64.powi(-(format.fraction_bits as i32));
            (w - g).abs() <= f64::from(absolute) + rounding * ulp
        };
        match self.bound {
            ErrorBound::Exact => false,
            ErrorBound::Ulp(n) => within_ulp(f64::from(n)),
            ErrorBound::UlpScaled { base, scale } => {
                within_ulp(f64::from(base) + f64::from(scale) * self.operand.abs())
            }
            ErrorBound::AbsoluteInside { absolute, low, high, ulp } => {
                if self.operand >= f64::from(low) && self.operand <= f64::from(high) {
                    within_absolute(absolute)
                } else {
                    within_ulp(f64::from(ulp))
                }
            }
            ErrorBound::AbsoluteWithin { absolute, limit } => {
                self.operand.abs() > f64::from(limit) || within_absolute(absolute)
            }
            ErrorBound::AbsoluteOrUlp { absolute, base, scale } => {
                within_absolute(absolute)
                    || within_ulp(f64::from(base) + f64::from(scale) * self.operand.abs())
            }
            ErrorBound::Power { base, of_logarithm, of_exponent } => within_ulp(
                f64::from(base)
                    + f64::from(of_logarithm) * w.abs().log2().abs().min(1e4)
                    + f64::from(of_exponent) * self.operand.abs(),
            ),
        }
    }
}

/// Where a device's output differs from the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The outputs have different lengths, in bytes.
    Length {
        /// The reference's.
        want: usize,
        /// The device's.
        got: usize,
    },
    /// An element is not acceptable.
    Element {
        /// Its position.
        element: usize,
        /// The reference's value.
        want: Value,
        /// The device's value.
        got: Value,
        /// How many elements are not acceptable.
        count: usize,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { want, got } => write!(f, "{got} bytes in place of {want}"),
            Self::Element { element, want, got, count } => write!(
                f,
                "element {element} is {got:?} (bits {:#x}) in place of {want:?} (bits {:#x}); {count} differ",
                got.bits, want.bits
            ),
        }
    }
}

impl Comparison {
    /// Compares whole outputs of elements of type `ty`.
    ///
    /// # Errors
    /// The first difference that is not acceptable.
    pub fn outputs(self, ty: DataType, want: &[u8], got: &[u8]) -> Result<(), Mismatch> {
        if want.len() != got.len() {
            return Err(Mismatch::Length { want: want.len(), got: got.len() });
        }
        if want == got {
            return Ok(());
        }
        let size = ty.size() as usize;
        let mut first = None;
        let mut count = 0;
        for (element, (want, got)) in want.chunks(size).zip(got.chunks(size)).enumerate() {
            let (want, got) = (Value::from_le_bytes(ty, want), Value::from_le_bytes(ty, got));
            if !self.accepts(want, got) {
                first.get_or_insert((element, want, got));
                count += 1;
            }
        }
        match first {
            Some((element, want, got)) => Err(Mismatch::Element { element, want, got, count }),
            None => Ok(()),
        }
    }
}

/// Whether `g` lies within `n` ULP of `w`, both bits; the largest finite float counts as one ULP from infinity.
fn within_ulp(format: FloatFormat, w: u64, g: u64, n: f64) -> bool {
    if format.is_infinite(w) && format.is_infinite(g) {
        return w == g;
    }
    // Monotonic integer images of the floats: adjacent floats differ by one, −0 and +0 agree.
    let key = |bits: u64| {
        let magnitude = i128::from(format.magnitude(bits));
        if bits & format.sign() != 0 { -magnitude } else { magnitude }
    };
    (key(w) - key(g)).unsigned_abs() as f64 <= n
}
