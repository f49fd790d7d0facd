//! Scalar values and the one home of the rules that decide when two of them agree.

use std::fmt;

use crate::{DataType, Element};

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
            DataType::U32 | DataType::I32 | DataType::F32 => bits & 0xFFFF_FFFF,
        };
        Self { ty, bits }
    }

    /// Zero, or `false`.
    pub fn zero(ty: DataType) -> Self {
        Self { ty, bits: 0 }
    }

    /// One, or `true`.
    pub fn one(ty: DataType) -> Self {
        match ty {
            DataType::Bool | DataType::U32 | DataType::I32 => Self { ty, bits: 1 },
            DataType::F32 => Self::new(1.0f32),
        }
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
        let unused = 64 - 8 * self.ty.size();
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
        matches!(self.get::<f32>(), Some(x) if x.is_subnormal())
    }

    /// Whether the value is a NaN.
    pub fn is_nan(self) -> bool {
        matches!(self.get::<f32>(), Some(x) if x.is_nan())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty {
            DataType::Bool => write!(f, "{}", self.bits != 0),
            DataType::U32 => write!(f, "{}u32", self.bits),
            DataType::I32 => write!(f, "{}i32", i32::from_bits64(self.bits)),
            DataType::F32 => write!(f, "{:?}f32", f32::from_bits64(self.bits)),
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
}

/// The comparator: whether a device's result is acceptable for an evaluation's.
///
/// Two NaNs agree whatever their payload, and a subnormal result may be flushed to a zero of either
/// sign; nothing else is excused.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// The op's bound.
    pub bound: ErrorBound,
    /// The first operand as a float, where the bound depends on it.
    pub operand: f32,
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
        let (Some(w), Some(g)) = (want.get::<f32>(), got.get::<f32>()) else {
            return false;
        };
        if w.is_nan() || g.is_nan() {
            return w.is_nan() && g.is_nan();
        }
        if w.is_subnormal() && g == 0.0 {
            return true;
        }
        match self.bound {
            ErrorBound::Exact => false,
            ErrorBound::Ulp(n) => within_ulp(w, g, n),
            ErrorBound::UlpScaled { base, scale } => within_ulp(w, g, base + scale * self.operand.abs()),
            ErrorBound::AbsoluteInside { absolute, low, high, ulp } => {
                if self.operand >= low && self.operand <= high {
                    (f64::from(w) - f64::from(g)).abs() <= f64::from(absolute)
                } else {
                    within_ulp(w, g, ulp)
                }
            }
            ErrorBound::AbsoluteWithin { absolute, limit } => {
                self.operand.abs() > limit || (f64::from(w) - f64::from(g)).abs() <= f64::from(absolute)
            }
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

/// Whether `g` lies within `n` ULP of `w`; the largest finite float counts as one ULP from infinity.
fn within_ulp(w: f32, g: f32, n: f32) -> bool {
    if w.is_infinite() && g.is_infinite() {
        return w == g;
    }
    // Monotonic integer images of the floats: adjacent floats differ by one, −0 and +0 agree.
    let key = |x: f32| -> i64 {
        let bits = i64::from(x.to_bits() & 0x7FFF_FFFF);
        if x.is_sign_negative() { -bits } else { bits }
    };
    (key(w) - key(g)).unsigned_abs() as f64 <= f64::from(n)
}
