//! Ops of two operands.

use super::{
    ByteProducts, Columns2, IntMath, Kernel2, Law, call2, column2, for_class, op_enum, pure_columns, type_set,
};
use crate::float::real2;
use crate::{DataType, ErrorBound, NanRule, TypeSet, Value, bf16, f16};

/// The binary op table; see [the module](crate::ops) for the row format.
#[macro_export]
macro_rules! binary_ops {
    ($callback:ident $(($($args:tt)*))?) => { $callback! { $(($($args)*))?
        Add = 0x01 add { ty: Same(Arith), sym: "+" 11, rust: Add, laws: [Commutative, AssociativeInt, RightZeroInt], nan: Propagates, bound: Exact,
            native: Binary(Add), lower: direct,
            eval: { Int: |a, b| a.wrapping_add(b), Float: |a, b| a + b },
            doc: "Sum; integers wrap." }
        Sub = 0x02 sub { ty: Same(Arith), sym: "-" 11, rust: Sub, laws: [RightZeroInt, SelfZeroInt], nan: Propagates, bound: Exact,
            native: Binary(Subtract), lower: direct,
            eval: { Int: |a, b| a.wrapping_sub(b), Float: |a, b| a - b },
            doc: "Difference; integers wrap." }
        Mul = 0x03 mul { ty: Same(Arith), sym: "*" 12, rust: Mul, laws: [Commutative, AssociativeInt, RightOne, AnnihilatorZeroInt], nan: Propagates, bound: Exact,
            native: Binary(Multiply), lower: direct,
            eval: { Int: |a, b| a.wrapping_mul(b), Float: |a, b| a * b },
            doc: "Product; integers wrap." }
        Div = 0x04 div { ty: Same(Arith), sym: "/" 12, rust: Div, laws: [RightOne, RightZeroInt], nan: Propagates, bound: Ulp(2.5),
            native: Binary(Divide), lower: div,
            eval: { Int: |a, b| if b == 0 { a } else { a.wrapping_div(b) }, Float: |a, b| a / b },
            doc: "Quotient; integers truncate toward zero, x / 0 is x and MIN / -1 is MIN. Bound of floats: Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Rem = 0x05 rem { ty: Same(Int), sym: "%" 12, rust: Rem, laws: [AnnihilatorZeroInt, SelfZeroInt], nan: None, bound: Exact,
            native: Binary(Modulo), lower: rem,
            eval: { Int: |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) } },
            doc: "Remainder with the dividend's sign; x % 0 and MIN % -1 are 0." }
        Min = 0x06 min { ty: Same(Arith), sym: "" 0, rust: none, laws: [Idempotent], nan: AsEvaluated, bound: Exact,
            native: Math(Min), lower: min,
            eval: { Int: |a, b| a.min(b), Float: |a, b| if a.is_nan() || b < a { b } else { a } },
            doc: "The smaller operand; of floats, `a` unless it is NaN or `b < a`, so one NaN loses and equal zeros give `a`." }
        Max = 0x07 max { ty: Same(Arith), sym: "" 0, rust: none, laws: [Idempotent], nan: AsEvaluated, bound: Exact,
            native: Math(Max), lower: max,
            eval: { Int: |a, b| a.max(b), Float: |a, b| if a.is_nan() || b > a { b } else { a } },
            doc: "The larger operand; of floats, `a` unless it is NaN or `b > a`, so one NaN loses and equal zeros give `a`." }
        BitAnd = 0x08 bitand { ty: Same(Bits), sym: "&" 8, rust: BitAnd, laws: [Commutative, AssociativeInt, Idempotent, AnnihilatorZeroInt], nan: None, bound: Exact,
            native: Bits(And LogicalAnd), lower: exact,
            eval: { Bits: |a, b| a & b },
            doc: "Bitwise and; of bools, logical and without short circuit." }
        BitOr = 0x09 bitor { ty: Same(Bits), sym: "|" 6, rust: BitOr, laws: [Commutative, AssociativeInt, Idempotent, RightZeroInt], nan: None, bound: Exact,
            native: Bits(InclusiveOr LogicalOr), lower: exact,
            eval: { Bits: |a, b| a | b },
            doc: "Bitwise or; of bools, logical or without short circuit." }
        BitXor = 0x0A bitxor { ty: Same(Bits), sym: "^" 7, rust: BitXor, laws: [Commutative, AssociativeInt, SelfZeroInt, RightZeroInt], nan: None, bound: Exact,
            native: Bits(ExclusiveOr NotEqual), lower: exact,
            eval: { Bits: |a, b| a ^ b },
            doc: "Bitwise exclusive or; of bools, whether they differ." }
        Shl = 0x0B shl { ty: Shift(Int), sym: "<<" 10, rust: Shl, laws: [RightZeroInt], nan: None, bound: Exact,
            native: Binary(ShiftLeft), lower: shift,
            eval: { Int: |a, b| a.wrapping_shl(b) },
            doc: "Left shift by a `u32` amount, taken modulo the width." }
        Shr = 0x0C shr { ty: Shift(Int), sym: ">>" 10, rust: Shr, laws: [RightZeroInt], nan: None, bound: Exact,
            native: Binary(ShiftRight), lower: shift,
            eval: { Int: |a, b| a.wrapping_shr(b) },
            doc: "Right shift by a `u32` amount, taken modulo the width; of a signed integer, arithmetic." }
        RotateLeft = 0x0D rotate_left { ty: Shift(Int), sym: "" 0, rust: none, laws: [RightZeroInt], nan: None, bound: Exact,
            native: none, lower: rotate_left,
            eval: { Int: |a, b| a.rotate_left(b) },
            doc: "Left rotation by a `u32` amount, taken modulo the width." }
        RotateRight = 0x0E rotate_right { ty: Shift(Int), sym: "" 0, rust: none, laws: [RightZeroInt], nan: None, bound: Exact,
            native: none, lower: rotate_right,
            eval: { Int: |a, b| a.rotate_right(b) },
            doc: "Right rotation by a `u32` amount, taken modulo the width." }
        SaturatingAdd = 0x10 sat_add { ty: Same(Int), sym: "" 0, rust: none, laws: [Commutative, RightZeroInt], nan: None, bound: Exact,
            native: none, lower: sat_add,
            eval: { Int: |a, b| a.saturating_add(b) },
            doc: "Sum, clamped to the type's range." }
        SaturatingSub = 0x11 sat_sub { ty: Same(Int), sym: "" 0, rust: none, laws: [RightZeroInt, SelfZeroInt], nan: None, bound: Exact,
            native: none, lower: sat_sub,
            eval: { Int: |a, b| a.saturating_sub(b) },
            doc: "Difference, clamped to the type's range." }
        MulHigh = 0x12 mul_high { ty: Same(Int), sym: "" 0, rust: none, laws: [Commutative, AnnihilatorZeroInt], nan: None, bound: Exact,
            native: none, lower: mul_high,
            eval: { Int: |a, b| a.high_product(b) },
            doc: "The high half of the double-width product." }
        AbsDiff = 0x13 abs_diff { ty: Same(Int), sym: "" 0, rust: none, laws: [Commutative, SelfZeroInt], nan: None, bound: Exact,
            native: none, lower: abs_diff,
            eval: { Int: |a, b| if a < b { b.wrapping_sub(a) } else { a.wrapping_sub(b) } },
            doc: "The larger operand less the smaller, wrapped to the type." }
        CopySign = 0x14 copysign { ty: Same(Float), sym: "" 0, rust: none, laws: [Idempotent], nan: AsEvaluated, bound: Exact,
            native: none, lower: copysign,
            eval: { Float: |a, b| a.copysign(b) },
            doc: "The magnitude of `a` with the sign bit of `b`." }
        Pow = 0x15 pow { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: AsEvaluated,
            bound: Power { base: 16.0, of_logarithm: 8.0, of_exponent: 4.0 },
            native: none, lower: pow,
            eval: { Float: |a, b| real2(a, b, f64::powf) },
            doc: "`a` to the power of `b`, with the special cases of IEEE 754 (1 to any power and any power of 0 are 1). Bound: those of exp2 and log2 through exp2(b * log2(a))." }
        Atan2 = 0x16 atan2 { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Ulp(4096.0),
            native: none, lower: atan2,
            eval: { Float: |a, b| real2(a, b, f64::atan2) },
            doc: "The angle of the point with ordinate `a` and abscissa `b`, from -π to π. Bound: Vulkan specification, Precision and Operation of SPIR-V Instructions." }
        Dot4 = 0x17 dot4 { ty: Same(Word), sym: "" 0, rust: none, laws: [Commutative, AnnihilatorZeroInt], nan: None, bound: Exact,
            native: none, lower: dot4,
            eval: { Word: |a, b| a.byte_products(b) },
            doc: "The sum of the products of the four bytes of each operand: unsigned ones of u32, signed ones of i32." }
        Eq = 0x20 eq { ty: Compare(Any), sym: "==" 5, rust: none, laws: [Commutative, SelfTrueInt], nan: AsEvaluated, bound: Exact,
            native: Binary(Equal), lower: reflexive,
            eval: { Any: |a, b| a == b },
            doc: "Whether the operands are equal; a NaN equals nothing." }
        Ne = 0x21 ne { ty: Compare(Any), sym: "!=" 5, rust: none, laws: [Commutative, SelfFalseInt], nan: AsEvaluated, bound: Exact,
            native: Binary(NotEqual), lower: ne,
            eval: { Any: |a, b| a != b },
            doc: "The negation of equality; a NaN differs from everything." }
        Lt = 0x22 lt { ty: Compare(Arith), sym: "<" 5, rust: none, laws: [SelfFalseInt], nan: AsEvaluated, bound: Exact,
            native: Binary(Less), lower: exact,
            eval: { Arith: |a, b| a < b },
            doc: "Whether `a` is less; false with a NaN." }
        Le = 0x23 le { ty: Compare(Arith), sym: "<=" 5, rust: none, laws: [SelfTrueInt], nan: AsEvaluated, bound: Exact,
            native: Binary(LessEqual), lower: reflexive,
            eval: { Arith: |a, b| a <= b },
            doc: "Whether `a` is less or equal; false with a NaN." }
        Gt = 0x24 gt { ty: Compare(Arith), sym: ">" 5, rust: none, laws: [SelfFalseInt], nan: AsEvaluated, bound: Exact,
            native: Binary(Greater), lower: exact,
            eval: { Arith: |a, b| a > b },
            doc: "Whether `a` is greater; false with a NaN." }
        Ge = 0x25 ge { ty: Compare(Arith), sym: ">=" 5, rust: none, laws: [SelfTrueInt], nan: AsEvaluated, bound: Exact,
            native: Binary(GreaterEqual), lower: reflexive,
            eval: { Arith: |a, b| a >= b },
            doc: "Whether `a` is greater or equal; false with a NaN." }
    } };
}

/// How a binary op's result type follows from its operands'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryRule {
    /// Two operands of one type of the set; the result has it too.
    Same(TypeSet),
    /// Two operands of one type of the set; the result is bool.
    Compare(TypeSet),
    /// An operand of the set and a `u32` amount; the result has the first one's type.
    Shift(TypeSet),
}

impl BinaryRule {
    /// The types that the first operand may have.
    pub const fn operands(self) -> TypeSet {
        match self {
            Self::Same(set) | Self::Compare(set) | Self::Shift(set) => set,
        }
    }

    /// The type that the second operand must have beside a first one of type `first`.
    pub const fn second(self, first: DataType) -> DataType {
        match self {
            Self::Same(_) | Self::Compare(_) => first,
            Self::Shift(_) => DataType::U32,
        }
    }

    /// The result's type, if the operands' are allowed.
    pub fn result(self, a: DataType, b: DataType) -> Option<DataType> {
        (self.operands().contains(a) && self.second(a) == b).then_some(match self {
            Self::Same(_) | Self::Shift(_) => a,
            Self::Compare(_) => DataType::Bool,
        })
    }
}

macro_rules! arm {
    ((Shift $wanted:ident, $f:expr) $rust:ident $ty:ident) => {
        if $wanted == DataType::$ty {
            return Some((
                |a, b| call2::<$rust, u32, _>($f, a, b),
                |r, a, b| column2(|a, b| call2::<$rust, u32, _>($f, a, b), r, a, b),
            ));
        }
    };
    (($rule:ident $wanted:ident, $f:expr) $rust:ident $ty:ident) => {
        if $wanted == DataType::$ty {
            return Some((
                |a, b| call2::<$rust, $rust, _>($f, a, b),
                |r, a, b| column2(|a, b| call2::<$rust, $rust, _>($f, a, b), r, a, b),
            ));
        }
    };
}

macro_rules! define {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($($nname:ident)*))?, lower: $lower:ident,
        eval: { $($group:ident: $eval:expr),* }, doc: $doc:literal })*) => {
        op_enum! {
            /// An op of two operands.
            BinaryOp { $($variant = $tag $name $doc $sym $prec;)* }
        }

        impl BinaryOp {
            /// The evaluation on bits for a first operand of type `ty`; `None` if the rule refuses it.
            pub fn kernel(self, ty: DataType) -> Option<fn(u64, u64) -> u64> {
                self.kernels(ty).map(|kernels| kernels.0)
            }

            /// The same evaluation of whole columns; `None` likewise.
            pub fn columns(self, ty: DataType) -> Option<Columns2> {
                self.kernels(ty).map(|kernels| kernels.1)
            }

            fn kernels(self, ty: DataType) -> Option<Kernel2> {
                match self { $(Self::$variant => { $(for_class!($group, arm($rule ty, $eval));)* })* }
                None
            }
        }
    };
}

binary_ops!(define);
binary_ops!(pure_columns(BinaryOp BinaryRule));

impl BinaryOp {
    /// The op's value, if its rule allows the operands.
    pub fn eval(self, a: Value, b: Value) -> Option<Value> {
        let ty = self.rule().result(a.ty(), b.ty())?;
        Some(Value::from_bits(ty, self.kernel(a.ty())?(a.bits(), b.bits())))
    }
}
