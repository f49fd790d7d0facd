//! The op tables.
//!
//! Each table is a macro that hands its rows to a callback macro, so that another crate can make its
//! own projection of them (the emitter maps `native`, the lowering maps `lower`). A row reads:
//!
//! ```text
//! Variant = tag name { ty: Rule(Class), sym: "infix" precedence, rust: Trait method | none,
//!                      laws: [..], nan: Rule, bound: Bound, native: Kind(Name), lower: rule,
//!                      eval: { Class: |operands| result, … }, doc: "…" }
//! ```
//!
//! * `name` is the text name and the builder's method; `sym` the infix or prefix symbol, `""` if none.
//! * `native` is how the emitter writes the op; `none` means that lowering never leaves it.
//! * `lower` is `direct`, or the legalisation rule of `vyre-lower` that builds it from other ops.
//! * `eval` defines the op, per class of types; the folder and the reference machine call it.

mod atomic;
mod binary;
mod cast;
mod collective;
mod subgroup;
mod ternary;
mod unary;

pub use atomic::{AtomicOp, AtomicRule};
pub use binary::{BinaryOp, BinaryRule};
pub use cast::CastOp;
pub use collective::{CollectiveOp, CollectiveRule};
pub use subgroup::{SubgroupOp, SubgroupRule};
pub use ternary::{TernaryOp, TernaryRule};
pub use unary::{UnaryOp, UnaryRule};

use crate::Element;

/// An algebraic law of an op; the optimiser's identities are generated from these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Law {
    /// `a ∘ b = b ∘ a`, NaN payloads aside.
    Commutative,
    /// `(a ∘ b) ∘ c = a ∘ (b ∘ c)`, for integer and bool operands.
    AssociativeInt,
    /// `a ∘ a = a`, for operands that are not NaN.
    Idempotent,
    /// `∘ ∘ a = a`.
    Involution,
    /// `a ∘ 0 = a`, for integer and bool operands (zero is `false`).
    RightZeroInt,
    /// `a ∘ 1 = a`, for every type.
    RightOne,
    /// `a ∘ 0 = 0`, for integer and bool operands.
    AnnihilatorZeroInt,
    /// `a ∘ a = 0`, for integer and bool operands.
    SelfZeroInt,
    /// `a ∘ a` is `true`, for integer and bool operands.
    SelfTrueInt,
    /// `a ∘ a` is `false`, for integer and bool operands.
    SelfFalseInt,
}

/// `f` on bits.
pub(crate) fn call1<A: Element, R: Element>(f: impl Fn(A) -> R, a: u64) -> u64 {
    f(A::from_bits64(a)).to_bits64()
}

/// `f` on bits.
pub(crate) fn call2<A: Element, B: Element, R: Element>(f: impl Fn(A, B) -> R, a: u64, b: u64) -> u64 {
    f(A::from_bits64(a), B::from_bits64(b)).to_bits64()
}

/// `f` on bits.
pub(crate) fn call3<A: Element, B: Element, R: Element>(
    f: impl Fn(A, B, B) -> R,
    a: u64,
    b: u64,
    c: u64,
) -> u64 {
    f(A::from_bits64(a), B::from_bits64(b), B::from_bits64(c)).to_bits64()
}

/// An op of one operand on bits: of one value, and of a column of values at once.
pub(crate) type Kernel1 = (fn(u64) -> u64, Columns1);
/// An op of two operands on bits.
pub(crate) type Kernel2 = (fn(u64, u64) -> u64, Columns2);
/// An op of three operands on bits.
pub(crate) type Kernel3 = (fn(u64, u64, u64) -> u64, Columns3);

/// `results[i] = op(a[i])` on bits, for the length of the shorter one.
pub type Columns1 = fn(results: &mut [u64], a: &[u64]);
/// `results[i] = op(a[i], b[i])` on bits, for the length of the shortest one.
pub type Columns2 = fn(results: &mut [u64], a: &[u64], b: &[u64]);
/// `results[i] = op(a[i], b[i], c[i])` on bits, for the length of the shortest one.
pub type Columns3 = fn(results: &mut [u64], a: &[u64], b: &[u64], c: &[u64]);

/// `f` on columns of bits.
pub(crate) fn column1(f: impl Fn(u64) -> u64, results: &mut [u64], a: &[u64]) {
    for (result, &a) in results.iter_mut().zip(a) {
        *result = f(a);
    }
}

/// `f` on columns of bits.
pub(crate) fn column2(f: impl Fn(u64, u64) -> u64, results: &mut [u64], a: &[u64], b: &[u64]) {
    for ((result, &a), &b) in results.iter_mut().zip(a).zip(b) {
        *result = f(a, b);
    }
}

/// `f` on columns of bits.
pub(crate) fn column3(
    f: impl Fn(u64, u64, u64) -> u64,
    results: &mut [u64],
    a: &[u64],
    b: &[u64],
    c: &[u64],
) {
    for (((result, &a), &b), &c) in results.iter_mut().zip(a).zip(b).zip(c) {
        *result = f(a, b, c);
    }
}

/// What rows need of integers beside Rust's own methods.
pub(crate) trait IntMath {
    /// The high half of the double-width product.
    fn high_product(self, b: Self) -> Self;
    /// A number of bits, as the same type.
    fn counted(self, bits: u32) -> Self;
    /// The number of a bit that has so many zeros above (if `from_top`) or below it, as the same type; all bits
    /// are one where that many are the whole width.
    fn position(self, zeros: u32, from_top: bool) -> Self;
}

macro_rules! int_math {
    (() $rust:ident $ty:ident) => {
        impl IntMath for $rust {
            fn high_product(self, b: Self) -> Self {
                // The product of any two 64-bit integers of one type fits 128 bits, read as that type's.
                let product = (i128::from(self)).wrapping_mul(i128::from(b));
                (product >> $rust::BITS) as Self
            }
            fn counted(self, bits: u32) -> Self {
                bits as Self
            }
            fn position(self, zeros: u32, from_top: bool) -> Self {
                if zeros == $rust::BITS {
                    return !(0 as Self);
                }
                (if from_top { $rust::BITS - 1 - zeros } else { zeros }) as Self
            }
        }
    };
}

/// Sums of products of packed bytes.
pub(crate) trait ByteProducts {
    fn byte_products(self, b: Self) -> Self;
}

impl ByteProducts for u32 {
    fn byte_products(self, b: Self) -> Self {
        let pairs = self.to_le_bytes().into_iter().zip(b.to_le_bytes());
        pairs.map(|(x, y)| u32::from(x) * u32::from(y)).sum()
    }
}

impl ByteProducts for i32 {
    fn byte_products(self, b: Self) -> Self {
        let pairs = self.to_le_bytes().into_iter().zip(b.to_le_bytes());
        pairs.map(|(x, y)| i32::from(x as i8) * i32::from(y as i8)).sum()
    }
}

/// Expands `$emit! { (args) rust_type Variant }` once for each element type of a class, whose Rust name and
/// [`DataType`](crate::DataType) variant it gives; `f16` and `bf16` must be in scope.
#[macro_export]
macro_rules! for_class {
    (Any, $emit:ident $args:tt) => {
        $emit! { $args bool Bool }
        $emit! { $args u8 U8 }
        $emit! { $args i8 I8 }
        $emit! { $args u16 U16 }
        $emit! { $args i16 I16 }
        $emit! { $args u32 U32 }
        $emit! { $args i32 I32 }
        $emit! { $args u64 U64 }
        $emit! { $args i64 I64 }
        $emit! { $args f16 F16 }
        $emit! { $args bf16 BF16 }
        $emit! { $args f32 F32 }
        $emit! { $args f64 F64 }
    };
    (Arith, $emit:ident $args:tt) => {
        $emit! { $args u8 U8 }
        $emit! { $args i8 I8 }
        $emit! { $args u16 U16 }
        $emit! { $args i16 I16 }
        $emit! { $args u32 U32 }
        $emit! { $args i32 I32 }
        $emit! { $args u64 U64 }
        $emit! { $args i64 I64 }
        $emit! { $args f16 F16 }
        $emit! { $args bf16 BF16 }
        $emit! { $args f32 F32 }
        $emit! { $args f64 F64 }
    };
    (Int, $emit:ident $args:tt) => {
        $emit! { $args u8 U8 }
        $emit! { $args i8 I8 }
        $emit! { $args u16 U16 }
        $emit! { $args i16 I16 }
        $emit! { $args u32 U32 }
        $emit! { $args i32 I32 }
        $emit! { $args u64 U64 }
        $emit! { $args i64 I64 }
    };
    (Signed, $emit:ident $args:tt) => {
        $emit! { $args i8 I8 }
        $emit! { $args i16 I16 }
        $emit! { $args i32 I32 }
        $emit! { $args i64 I64 }
        $emit! { $args f16 F16 }
        $emit! { $args bf16 BF16 }
        $emit! { $args f32 F32 }
        $emit! { $args f64 F64 }
    };
    (Float, $emit:ident $args:tt) => {
        $emit! { $args f16 F16 }
        $emit! { $args bf16 BF16 }
        $emit! { $args f32 F32 }
        $emit! { $args f64 F64 }
    };
    (Bits, $emit:ident $args:tt) => {
        $emit! { $args bool Bool }
        $emit! { $args u8 U8 }
        $emit! { $args i8 I8 }
        $emit! { $args u16 U16 }
        $emit! { $args i16 I16 }
        $emit! { $args u32 U32 }
        $emit! { $args i32 I32 }
        $emit! { $args u64 U64 }
        $emit! { $args i64 I64 }
    };
    (Bool, $emit:ident $args:tt) => {
        $emit! { $args bool Bool }
    };
    (Unsigned, $emit:ident $args:tt) => {
        $emit! { $args u8 U8 }
        $emit! { $args u16 U16 }
        $emit! { $args u32 U32 }
        $emit! { $args u64 U64 }
    };
    (SignedInt, $emit:ident $args:tt) => {
        $emit! { $args i8 I8 }
        $emit! { $args i16 I16 }
        $emit! { $args i32 I32 }
        $emit! { $args i64 I64 }
    };
    (Word, $emit:ident $args:tt) => {
        $emit! { $args u32 U32 }
        $emit! { $args i32 I32 }
    };
    (AtomicInt, $emit:ident $args:tt) => {
        $emit! { $args u32 U32 }
        $emit! { $args i32 I32 }
        $emit! { $args u64 U64 }
        $emit! { $args i64 I64 }
    };
    (Single, $emit:ident $args:tt) => {
        $emit! { $args f32 F32 }
    };
    (Atomic, $emit:ident $args:tt) => {
        $emit! { $args u32 U32 }
        $emit! { $args i32 I32 }
        $emit! { $args u64 U64 }
        $emit! { $args i64 I64 }
        $emit! { $args f32 F32 }
    };
}
pub(crate) use for_class;

for_class!(Int, int_math());

/// The [`crate::TypeSet`] of a class.
macro_rules! type_set {
    (Any) => {
        $crate::TypeSet::ANY
    };
    (Arith) => {
        $crate::TypeSet::ARITH
    };
    (Int) => {
        $crate::TypeSet::INT
    };
    (Signed) => {
        $crate::TypeSet::SIGNED
    };
    (Float) => {
        $crate::TypeSet::FLOAT
    };
    (Bits) => {
        $crate::TypeSet::BITS
    };
    (Bool) => {
        $crate::TypeSet::BOOL
    };
    (Word) => {
        $crate::TypeSet::WORD
    };
    (AtomicInt) => {
        $crate::TypeSet::ATOMIC_INT
    };
    (Atomic) => {
        $crate::TypeSet::ATOMIC
    };
}
pub(crate) use type_set;

/// The methods that every op enum has: its rows, names, symbols and wire tags.
macro_rules! op_enum {
    ($(#[$doc:meta])* $enum:ident { $($variant:ident = $tag:literal $name:ident $text:literal $sym:literal $prec:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $enum { $(#[doc = $text] $variant = $tag,)* }

        impl $enum {
            /// Every op of the table, in row order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name in text form and in the builder.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($name),)* }
            }

            /// The op with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| op.name() == name)
            }

            /// The wire tag.
            pub const fn tag(self) -> u8 {
                self as u8
            }

            /// The op with this wire tag.
            pub fn from_tag(tag: u8) -> Option<Self> {
                Self::ALL.iter().copied().find(|op| op.tag() == tag)
            }

            /// The symbol and its binding strength (higher binds tighter), where text has one.
            pub const fn symbol(self) -> Option<(&'static str, u8)> {
                let (symbol, precedence): (&str, u8) = match self { $(Self::$variant => ($sym, $prec),)* };
                if precedence == 0 { None } else { Some((symbol, precedence)) }
            }

            /// What the op computes.
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}
pub(crate) use op_enum;

/// What the rows of pure ops state beside their evaluation: type rule, laws, NaN rule and error bound.
macro_rules! pure_columns {
    (($enum:ident $rules:ident) $($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident),
        sym: $sym:literal $prec:literal, rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident,
        bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?, native: $native:ident $(($($nname:ident)*))?,
        lower: $lower:ident, eval: { $($eval:tt)* }, doc: $doc:literal })*) => {
        impl $enum {
            /// How the result type follows from the operands'.
            pub const fn rule(self) -> $rules {
                match self { $(Self::$variant => $rules::$rule(type_set!($class)),)* }
            }

            /// The algebraic laws that hold.
            pub const fn laws(self) -> &'static [Law] {
                match self { $(Self::$variant => &[$(Law::$law),*],)* }
            }

            /// What a NaN operand does.
            pub const fn nan_rule(self) -> NanRule {
                match self { $(Self::$variant => NanRule::$nan,)* }
            }

            /// How far a device may be off, for float operands.
            pub const fn bound(self) -> ErrorBound {
                match self { $(Self::$variant => ErrorBound::$bound $(($($b)*))? $({$($bf)*})?,)* }
            }
        }
    };
}
pub(crate) use pure_columns;
