//! Ops of one operand.

use super::{Columns1, IntMath, Kernel1, Law, call1, column1, for_class, op_enum, pure_columns, type_set};
use crate::float::{Half, acosh, asinh, real};
use crate::{DataType, ErrorBound, NanRule, TypeSet, Value, bf16, f16};

/// The unary op table; see [the module](crate::ops) for the row format.
#[macro_export]
macro_rules! unary_ops {
    ($callback:ident $(($($args:tt)*))?) => { $callback! { $(($($args)*))?
        Neg = 0x01 neg { ty: Same(Signed), sym: "-" 13, rust: Neg, laws: [Involution], nan: AsEvaluated, bound: Exact,
            native: Unary(Negate), lower: wrapped,
            eval: { SignedInt: |a| a.wrapping_neg(), Float: |a| -a },
            doc: "Negation; integers wrap, so the negation of the minimum is itself." }
        Not = 0x02 not { ty: Same(Bits), sym: "!" 13, rust: Not, laws: [Involution], nan: None, bound: Exact,
            native: Not(BitwiseNot), lower: wrapped,
            eval: { Bits: |a| !a },
            doc: "Complement of every bit; logical negation of a bool." }
        Abs = 0x03 abs { ty: Same(Signed), sym: "" 0, rust: none, laws: [], nan: AsEvaluated, bound: Exact,
            native: Math(Abs), lower: abs,
            eval: { SignedInt: |a| a.wrapping_abs(), Float: |a| a.abs() },
            doc: "Absolute value; of the minimum integer, itself." }
        CountOnes = 0x04 count_ones { ty: Same(Int), sym: "" 0, rust: none, laws: [], nan: None, bound: Exact,
            native: Math(CountOneBits), lower: count_ones,
            eval: { Int: |a| a.counted(a.count_ones()) },
            doc: "The number of one bits." }
        LeadingZeros = 0x05 leading_zeros { ty: Same(Int), sym: "" 0, rust: none, laws: [], nan: None, bound: Exact,
            native: Math(CountLeadingZeros), lower: leading_zeros,
            eval: { Int: |a| a.counted(a.leading_zeros()) },
            doc: "The number of zero bits above the highest one bit; the width for 0." }
        TrailingZeros = 0x06 trailing_zeros { ty: Same(Int), sym: "" 0, rust: none, laws: [], nan: None, bound: Exact,
            native: Math(CountTrailingZeros), lower: trailing_zeros,
            eval: { Int: |a| a.counted(a.trailing_zeros()) },
            doc: "The number of zero bits below the lowest one bit; the width for 0." }
        ReverseBits = 0x07 reverse_bits { ty: Same(Int), sym: "" 0, rust: none, laws: [Involution], nan: None, bound: Exact,
            native: Math(ReverseBits), lower: reverse_bits,
            eval: { Int: |a| a.reverse_bits() },
            doc: "The bits in reverse order." }
        FirstLeadingBit = 0x09 first_leading_bit { ty: Same(Int), sym: "" 0, rust: none, laws: [], nan: None, bound: Exact,
            native: none, lower: first_leading_bit,
            eval: { Unsigned: |a| a.position(a.leading_zeros(), true), SignedInt: |a| a.position(if a < 0 { (!a).leading_zeros() } else { a.leading_zeros() }, true) },
            doc: "The number of the highest bit that is one, or of a negative number zero; where there is none, every bit of the result is one." }
        FirstTrailingBit = 0x0A first_trailing_bit { ty: Same(Int), sym: "" 0, rust: none, laws: [], nan: None, bound: Exact,
            native: none, lower: first_trailing_bit,
            eval: { Int: |a| a.position(a.trailing_zeros(), false) },
            doc: "The number of the lowest one bit; for 0, every bit of the result is one." }
        Sign = 0x0B sign { ty: Same(Signed), sym: "" 0, rust: none, laws: [], nan: AsEvaluated, bound: Exact,
            native: none, lower: sign,
            eval: { SignedInt: |a| a.signum(), Float: |a| real(a, |x| if x == 0.0 { x } else { x.signum() }) },
            doc: "-1, 0 or 1 as the value is below, at or above zero; a zero keeps its sign, and NaN is NaN." }
        IsNan = 0x10 is_nan { ty: Predicate(Float), sym: "" 0, rust: none, laws: [], nan: AsEvaluated, bound: Exact,
            native: none, lower: is_nan,
            eval: { Float: |a| a.is_nan() },
            doc: "Whether the value is a NaN, decided on its bits." }
        IsInf = 0x11 is_inf { ty: Predicate(Float), sym: "" 0, rust: none, laws: [], nan: AsEvaluated, bound: Exact,
            native: none, lower: is_inf,
            eval: { Float: |a| a.is_infinite() },
            doc: "Whether the value is an infinity, decided on its bits." }
        Floor = 0x12 floor { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Exact,
            native: Math(Floor), lower: exact,
            eval: { Float: |a| a.floor() },
            doc: "The largest integer not above the value." }
        Ceil = 0x13 ceil { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Exact,
            native: Math(Ceil), lower: exact,
            eval: { Float: |a| a.ceil() },
            doc: "The smallest integer not below the value." }
        Trunc = 0x14 trunc { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Exact,
            native: Math(Trunc), lower: exact,
            eval: { Float: |a| a.trunc() },
            doc: "The value without its fraction." }
        Round = 0x15 round { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Exact,
            native: Math(Round), lower: exact,
            eval: { Float: |a| a.round_ties_even() },
            doc: "The nearest integer; ties go to the even one." }
        Sqrt = 0x18 sqrt { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Ulp(5.0),
            native: Math(Sqrt), lower: direct,
            eval: { Float: |a| a.sqrt() },
            doc: "The square root; NaN below zero. Bound: 1 / inverseSqrt, Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        InverseSqrt = 0x19 inverse_sqrt { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Ulp(2.0),
            native: Math(InverseSqrt), lower: direct,
            eval: { Float: |a| real(a, |x| 1.0 / x.sqrt()) },
            doc: "The reciprocal of the square root. Bound: Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Exp = 0x1A exp { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: UlpScaled { base: 3.0, scale: 2.0 },
            native: Math(Exp), lower: exponential,
            eval: { Float: |a| real(a, f64::exp) },
            doc: "The natural exponential. Bound: Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Exp2 = 0x1B exp2 { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: UlpScaled { base: 3.0, scale: 2.0 },
            native: Math(Exp2), lower: exponential,
            eval: { Float: |a| real(a, f64::exp2) },
            doc: "Two to the power of the value. Bound: Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Log = 0x1C log { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteInside { absolute: 4.768_371_6e-7, low: 0.5, high: 2.0, ulp: 3.0 },
            native: Math(Log), lower: logarithm,
            eval: { Float: |a| real(a, f64::ln) },
            doc: "The natural logarithm; NaN below zero. Bound: 2^-21 absolute in [0.5, 2], Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Log2 = 0x1D log2 { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteInside { absolute: 4.768_371_6e-7, low: 0.5, high: 2.0, ulp: 3.0 },
            native: Math(Log2), lower: logarithm,
            eval: { Float: |a| real(a, f64::log2) },
            doc: "The binary logarithm; NaN below zero. Bound: 2^-21 absolute in [0.5, 2], Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Sin = 0x1E sin { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteWithin { absolute: 4.882_812_5e-4, limit: std::f32::consts::PI },
            native: Math(Sin), lower: transcendental,
            eval: { Float: |a| real(a, f64::sin) },
            doc: "The sine of radians. Bound: 2^-11 absolute in [-π, π], Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Cos = 0x1F cos { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteWithin { absolute: 4.882_812_5e-4, limit: std::f32::consts::PI },
            native: Math(Cos), lower: transcendental,
            eval: { Float: |a| real(a, f64::cos) },
            doc: "The cosine of radians. Bound: 2^-11 absolute in [-π, π], Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        IsFinite = 0x30 is_finite { ty: Predicate(Float), sym: "" 0, rust: none, laws: [], nan: AsEvaluated, bound: Exact,
            native: none, lower: is_finite,
            eval: { Float: |a| a.is_finite() },
            doc: "Whether the value is neither infinite nor a NaN, decided on its bits." }
        IsNormal = 0x31 is_normal { ty: Predicate(Float), sym: "" 0, rust: none, laws: [], nan: AsEvaluated, bound: Exact,
            native: none, lower: is_normal,
            eval: { Float: |a| a.is_normal() },
            doc: "Whether the value is finite and neither zero nor subnormal, decided on its bits." }
        IsNegative = 0x32 is_negative { ty: Predicate(Float), sym: "" 0, rust: none, laws: [], nan: AsEvaluated, bound: Exact,
            native: none, lower: is_negative,
            eval: { Float: |a| a.is_sign_negative() },
            doc: "Whether the sign bit is set, of zeros and NaNs as well." }
        Fract = 0x16 fract { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Exact,
            native: none, lower: fract,
            eval: { Float: |a| a - a.floor() },
            doc: "The value less its floor, rounded once: 1 just below zero; NaN of infinities." }
        Tan = 0x20 tan { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteWithin { absolute: 3.906_25e-3, limit: 1.0 },
            native: Math(Tan), lower: transcendental,
            eval: { Float: |a| real(a, f64::tan) },
            doc: "The tangent of radians. Bound: sin over cos with their 2^-11, which is at most 2^-8 in [-1, 1], Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Asin = 0x21 asin { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteOrUlp { absolute: 6.77e-5, base: 4096.0, scale: 0.0 },
            native: Math(Asin), lower: arc,
            eval: { Float: |a| real(a, f64::asin) },
            doc: "The arc sine; NaN outside of [-1, 1]. Bound: WGSL, Accuracy of Built-in Functions." }
        Acos = 0x22 acos { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteOrUlp { absolute: 6.77e-5, base: 4096.0, scale: 0.0 },
            native: Math(Acos), lower: arc,
            eval: { Float: |a| real(a, f64::acos) },
            doc: "The arc cosine; NaN outside of [-1, 1]. Bound: WGSL, Accuracy of Built-in Functions." }
        Atan = 0x23 atan { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: Ulp(4096.0),
            native: Math(Atan), lower: atan,
            eval: { Float: |a| real(a, f64::atan) },
            doc: "The arc tangent. Bound: Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Sinh = 0x24 sinh { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteOrUlp { absolute: 2e-6, base: 16.0, scale: 4.0 },
            native: none, lower: sinh,
            eval: { Float: |a| real(a, f64::sinh) },
            doc: "The hyperbolic sine. Bound: that of exp through (e^x - e^-x) / 2." }
        Cosh = 0x25 cosh { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: UlpScaled { base: 16.0, scale: 4.0 },
            native: none, lower: cosh,
            eval: { Float: |a| real(a, f64::cosh) },
            doc: "The hyperbolic cosine. Bound: that of exp through (e^x + e^-x) / 2." }
        Tanh = 0x26 tanh { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteOrUlp { absolute: 1e-5, base: 16.0, scale: 0.0 },
            native: none, lower: tanh,
            eval: { Float: |a| real(a, f64::tanh) },
            doc: "The hyperbolic tangent. Bound: WGSL, Accuracy of Built-in Functions." }
        Asinh = 0x27 asinh { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteOrUlp { absolute: 2e-6, base: 16.0, scale: 0.0 },
            native: none, lower: asinh,
            eval: { Float: |a| real(a, asinh) },
            doc: "The inverse hyperbolic sine. Bound: those of log and sqrt through log(x + sqrt(x^2 + 1))." }
        Acosh = 0x28 acosh { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteOrUlp { absolute: 2e-3, base: 16.0, scale: 0.0 },
            native: none, lower: acosh,
            eval: { Float: |a| real(a, acosh) },
            doc: "The inverse hyperbolic cosine; NaN below 1. Bound: those of log and sqrt through log(x + sqrt(x^2 - 1)), which near 1 lose half of the bits." }
        Atanh = 0x29 atanh { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates,
            bound: AbsoluteOrUlp { absolute: 2e-6, base: 16.0, scale: 0.0 },
            native: none, lower: atanh,
            eval: { Float: |a| real(a, f64::atanh) },
            doc: "The inverse hyperbolic tangent; NaN outside of [-1, 1]. Bound: that of log through log((1 + x) / (1 - x)) / 2." }
    } };
}

/// How a unary op's result type follows from its operand's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryRule {
    /// The operand's own type, one of the set.
    Same(TypeSet),
    /// Bool, of an operand of the set.
    Predicate(TypeSet),
}

impl UnaryRule {
    /// The types that the operand may have.
    pub const fn operands(self) -> TypeSet {
        match self {
            Self::Same(set) | Self::Predicate(set) => set,
        }
    }

    /// The result's type, if the operand's is allowed.
    pub fn result(self, operand: DataType) -> Option<DataType> {
        self.operands().contains(operand).then_some(match self {
            Self::Same(_) => operand,
            Self::Predicate(_) => DataType::Bool,
        })
    }
}

macro_rules! arm {
    (($wanted:ident, $f:expr) $rust:ident $ty:ident) => {
        if $wanted == DataType::$ty {
            return Some((|a| call1::<$rust, _>($f, a), |r, a| column1(|a| call1::<$rust, _>($f, a), r, a)));
        }
    };
}

macro_rules! define {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($nname:ident))?, lower: $lower:ident,
        eval: { $($group:ident: $eval:expr),* }, doc: $doc:literal })*) => {
        op_enum! {
            /// An op of one operand.
            UnaryOp { $($variant = $tag $name $doc $sym $prec;)* }
        }

        impl UnaryOp {
            /// The evaluation on bits for an operand of type `ty`; `None` if the rule refuses it.
            pub fn kernel(self, ty: DataType) -> Option<fn(u64) -> u64> {
                self.kernels(ty).map(|kernels| kernels.0)
            }

            /// The same evaluation of whole columns; `None` likewise.
            pub fn columns(self, ty: DataType) -> Option<Columns1> {
                self.kernels(ty).map(|kernels| kernels.1)
            }

            fn kernels(self, ty: DataType) -> Option<Kernel1> {
                match self { $(Self::$variant => { $(for_class!($group, arm(ty, $eval));)* })* }
                None
            }
        }
    };
}

unary_ops!(define);
unary_ops!(pure_columns(UnaryOp UnaryRule));

impl UnaryOp {
    /// The op's value, if its rule allows the operand.
    pub fn eval(self, a: Value) -> Option<Value> {
        let ty = self.rule().result(a.ty())?;
        Some(Value::from_bits(ty, self.kernel(a.ty())?(a.bits())))
    }
}
