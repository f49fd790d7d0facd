//! Atomic read-modify-write ops on buffers and shared arrays: each returns the old value, relaxed.

use super::{call2, for_class, op_enum, type_set};
use crate::{DataType, TypeSet};

/// The atomic op table; see [the module](crate::ops) for the row format. `eval` maps the old value and
/// the operand to the new value.
#[macro_export]
macro_rules! atomic_ops {
    ($callback:ident $(($($args:tt)*))?) => { $callback! { $(($($args)*))?
        Add = 0x01 atomic_add { ty: Modify(Atomic), native: Function(Add), lower: atomic_add,
            eval: { AtomicInt: |old, x| old.wrapping_add(x), Single: |old, x| old + x },
            doc: "Adds the operand; integers wrap." }
        Sub = 0x02 atomic_sub { ty: Modify(AtomicInt), native: Function(Subtract), lower: direct,
            eval: { AtomicInt: |old, x| old.wrapping_sub(x) },
            doc: "Subtracts the operand; integers wrap." }
        Min = 0x03 atomic_min { ty: Modify(AtomicInt), native: Function(Min), lower: direct,
            eval: { AtomicInt: |old, x| old.min(x) },
            doc: "Keeps the smaller of the old value and the operand." }
        Max = 0x04 atomic_max { ty: Modify(AtomicInt), native: Function(Max), lower: direct,
            eval: { AtomicInt: |old, x| old.max(x) },
            doc: "Keeps the larger of the old value and the operand." }
        And = 0x05 atomic_and { ty: Modify(AtomicInt), native: Function(And), lower: direct,
            eval: { AtomicInt: |old, x| old & x },
            doc: "Bitwise and with the operand." }
        Or = 0x06 atomic_or { ty: Modify(AtomicInt), native: Function(InclusiveOr), lower: direct,
            eval: { AtomicInt: |old, x| old | x },
            doc: "Bitwise or with the operand." }
        Xor = 0x07 atomic_xor { ty: Modify(AtomicInt), native: Function(ExclusiveOr), lower: direct,
            eval: { AtomicInt: |old, x| old ^ x },
            doc: "Bitwise exclusive or with the operand." }
        Exchange = 0x08 atomic_exchange { ty: Modify(Atomic), native: Exchange(Exchange), lower: atomic_exchange,
            eval: { Atomic: |_old, x| x },
            doc: "Stores the operand." }
        CompareExchange = 0x09 atomic_compare_exchange { ty: CompareExchange(AtomicInt), native: CompareExchange(Exchange), lower: direct,
            eval: { AtomicInt: |_old, x| x },
            doc: "Stores the operand if the old value equals the expected one; never fails spuriously." }
    } };
}

/// What an atomic op takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicRule {
    /// One operand of the element's type, one of the set.
    Modify(TypeSet),
    /// An expected value and an operand, both of the element's type, one of the set.
    CompareExchange(TypeSet),
}

impl AtomicRule {
    /// The element types that the op works on.
    pub const fn elements(self) -> TypeSet {
        match self {
            Self::Modify(set) | Self::CompareExchange(set) => set,
        }
    }

    /// Whether the op takes an expected value.
    pub const fn takes_expected(self) -> bool {
        matches!(self, Self::CompareExchange(_))
    }
}

macro_rules! arm {
    (($wanted:ident, $f:expr) $rust:ident $ty:ident) => {
        if $wanted == DataType::$ty {
            return Some(|old, x| call2::<$rust, $rust, _>($f, old, x));
        }
    };
}

macro_rules! define {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), native: $native:ident($nname:ident), lower: $lower:ident,
        eval: { $($group:ident: $eval:expr),* }, doc: $doc:literal })*) => {
        op_enum! {
            /// An atomic read-modify-write op.
            AtomicOp { $($variant = $tag $name $doc "" 0;)* }
        }

        impl AtomicOp {
            /// What the op takes.
            pub const fn rule(self) -> AtomicRule {
                match self { $(Self::$variant => AtomicRule::$rule(type_set!($class)),)* }
            }

            /// The new value on bits, from the old one and the operand, for elements of type `ty`; `None`
            /// if the rule refuses them. An op with an expected value stores it only on a match.
            pub fn kernel(self, ty: DataType) -> Option<fn(u64, u64) -> u64> {
                match self { $(Self::$variant => { $(for_class!($group, arm(ty, $eval));)* })* }
                None
            }
        }
    };
}

atomic_ops!(define);
