//! Builds each op from what a device computes as the semantics ask.
//!
//! The `lower` column of an op's row names its rule, a function of the module for the op's kind. The tables
//! expand to the dispatch below, so a row whose rule does not exist fails to compile.
//!
//! A rule gets the type that its operands have in the program, and their values as the device computes them:
//! see [`repr`].

mod atomic;
mod bits;
mod collective;
mod convert;
mod dot;
mod float;
mod fma;
mod half;
mod hyperbolic;
mod int;
mod memory;
mod power;
mod repr;
mod subgroup;
mod trigonometric;

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{DataType, atomic_ops, binary_ops, cast_ops, subgroup_ops, ternary_ops, unary_ops};

pub(crate) use atomic::{Retries, Target};
pub(crate) use bits::{halves, join};
pub(crate) use collective::world_of_one;
pub(crate) use int::wide_mul;
pub(crate) use memory::{from_memory, from_word, load_word, per_word, store_word, to_memory, to_word};
pub(crate) use repr::{device_type, from_launch_word, literal, wrap};

use crate::kernel::InstId;
use crate::writer::Writer;

mod unary_rules {
    pub(super) use super::bits::{
        count_ones, first_leading_bit, first_trailing_bit, leading_zeros, reverse_bits, trailing_zeros,
    };
    pub(super) use super::float::{
        abs, exponential, fract, is_finite, is_inf, is_nan, is_negative, is_normal, logarithm, sign,
        transcendental,
    };
    pub(super) use super::hyperbolic::{acosh, asinh, atanh, cosh, sinh, tanh};
    pub(super) use super::trigonometric::{arc, atan};
    use super::{DataType, InstId, UnaryOp, Writer, wrap};

    /// The device's own op, its result brought into the type.
    pub(super) fn direct(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
        let result = w.raw1(op, a);
        wrap(w, ty, result)
    }

    /// The device's own op; of floats, its result is in the type as it is.
    pub(super) fn wrapped(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
        let result = w.raw1(op, a);
        if ty.is_int() { wrap(w, ty, result) } else { result }
    }

    /// The device's own op, whose result is in the type as it is.
    pub(super) fn exact(w: &mut Writer, op: UnaryOp, _ty: DataType, a: InstId) -> InstId {
        w.raw1(op, a)
    }
}

mod binary_rules {
    pub(super) use super::dot::dot4;
    pub(super) use super::float::{copysign, max, min, ne, reflexive};
    pub(super) use super::int::{
        abs_diff, div, mul_high, rem, rotate_left, rotate_right, sat_add, sat_sub, shift,
    };
    pub(super) use super::power::pow;
    pub(super) use super::trigonometric::atan2;
    use super::{BinaryOp, DataType, InstId, Writer, wrap};

    /// The device's own op, its result brought into the type.
    pub(super) fn direct(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
        let sums = matches!(op, BinaryOp::Add | BinaryOp::Sub) && ty.is_int() && w.orders_wide;
        let (a, b) = if sums { (w.apart(a), w.apart(b)) } else { (a, b) };
        let result = w.raw(op, a, b);
        wrap(w, ty, result)
    }

    /// The device's own op, whose result is in the type as it is.
    pub(super) fn exact(w: &mut Writer, op: BinaryOp, _ty: DataType, a: InstId, b: InstId) -> InstId {
        w.raw(op, a, b)
    }
}

mod ternary_rules {
    pub(super) use super::float::{clamp, select};
    pub(super) use super::fma::{fma, mix};
}

mod cast_rules {
    pub(super) use super::convert::{bitcast, convert};
}

mod atomic_rules {
    pub(super) use super::atomic::{atomic_add, atomic_exchange, direct};
}

mod subgroup_rules {
    pub(super) use super::subgroup::{gather, reduce, shuffle, shuffle_down, shuffle_up, shuffle_xor, vote};
}

macro_rules! unary_table {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($nname:ident))?, lower: $lower:ident,
        eval: { $($eval:tt)* }, doc: $doc:literal })*) => {
        /// The op on a value of type `ty`.
        pub(crate) fn unary(w: &mut Writer, op: UnaryOp, ty: DataType, a: InstId) -> InstId {
            match op { $(UnaryOp::$variant => unary_rules::$lower(w, op, ty, a),)* }
        }
    };
}
unary_ops!(unary_table);

macro_rules! binary_table {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($($nname:ident)*))?, lower: $lower:ident,
        eval: { $($eval:tt)* }, doc: $doc:literal })*) => {
        /// The op on two values, the first of type `ty`.
        pub(crate) fn binary(w: &mut Writer, op: BinaryOp, ty: DataType, a: InstId, b: InstId) -> InstId {
            match op { $(BinaryOp::$variant => binary_rules::$lower(w, op, ty, a, b),)* }
        }
    };
}
binary_ops!(binary_table);

macro_rules! ternary_table {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($nname:ident))?, lower: $lower:ident,
        eval: { $($eval:tt)* }, doc: $doc:literal })*) => {
        /// The op on three values, the last of type `ty`.
        pub(crate) fn ternary(w: &mut Writer, op: TernaryOp, ty: DataType, operands: [InstId; 3]) -> InstId {
            match op { $(TernaryOp::$variant => ternary_rules::$lower(w, op, ty, operands),)* }
        }
    };
}
ternary_ops!(ternary_table);

macro_rules! cast_table {
    ($($variant:ident = $tag:literal $name:ident { native: $native:ident($nname:ident), lower: $lower:ident,
        eval: $eval:ident, doc: $doc:literal })*) => {
        /// The conversion of a value of type `from`.
        pub(crate) fn cast(w: &mut Writer, op: CastOp, from: DataType, to: DataType, a: InstId) -> InstId {
            match op { $(CastOp::$variant => cast_rules::$lower(w, from, to, a),)* }
        }
    };
}
cast_ops!(cast_table);

macro_rules! atomic_table {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), native: $native:ident($nname:ident),
        lower: $lower:ident, eval: { $($eval:tt)* }, doc: $doc:literal })*) => {
        /// The op on an element in bounds.
        pub(crate) fn atomic(
            w: &mut Writer,
            op: AtomicOp,
            target: Target,
            value: InstId,
            expected: Option<InstId>,
        ) -> InstId {
            match op { $(AtomicOp::$variant => atomic_rules::$lower(w, op, target, value, expected),)* }
        }
    };
}
atomic_ops!(atomic_table);

macro_rules! subgroup_table {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), combine: $combine:ident,
        native: $native:ident($($nname:ident)*), lower: $lower:ident, doc: $doc:literal })*) => {
        /// The op over a subgroup, on values of type `ty`.
        pub(crate) fn subgroup(
            w: &mut Writer,
            op: SubgroupOp,
            ty: DataType,
            value: InstId,
            lane: Option<InstId>,
        ) -> InstId {
            match op { $(SubgroupOp::$variant => subgroup_rules::$lower(w, op, ty, value, lane),)* }
        }
    };
}
subgroup_ops!(subgroup_table);
