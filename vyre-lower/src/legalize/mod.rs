//! Builds each op from what a device computes as the semantics ask.
//!
//! The `lower` column of an op's row names its rule: `direct`, or a function of the module for the op's
//! kind. The tables expand to the dispatch below, so a row whose rule does not exist fails to compile.

mod atomic;
mod convert;
mod float;
mod fma;
mod int;
mod subgroup;

use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{DataType, atomic_ops, binary_ops, cast_ops, subgroup_ops, ternary_ops, unary_ops};

pub(crate) use atomic::{Retries, Target};

use crate::kernel::InstId;
use crate::writer::Writer;

mod unary_rules {
    pub(super) use super::float::{exponential, is_inf, is_nan, logarithm};
    use super::{InstId, UnaryOp, Writer};

    pub(super) fn direct(w: &mut Writer, op: UnaryOp, a: InstId) -> InstId {
        w.raw1(op, a)
    }
}

mod binary_rules {
    pub(super) use super::float::{max, min, ne, reflexive};
    pub(super) use super::int::{
        abs_diff, div, mul_high, rem, rotate_left, rotate_right, sat_add, sat_sub, shift,
    };
    use super::{BinaryOp, InstId, Writer};

    pub(super) fn direct(w: &mut Writer, op: BinaryOp, a: InstId, b: InstId) -> InstId {
        w.raw(op, a, b)
    }
}

mod ternary_rules {
    pub(super) use super::float::{clamp, select};
    pub(super) use super::fma::fma;
    use super::{InstId, TernaryOp, Writer};

    #[allow(dead_code, reason = "a rule that a row may name without a further line, though none does today")]
    pub(super) fn direct(w: &mut Writer, op: TernaryOp, a: InstId, b: InstId, c: InstId) -> InstId {
        w.raw3(op, a, b, c)
    }
}

mod cast_rules {
    pub(super) use super::convert::convert;
    use super::{CastOp, DataType, InstId, Writer};

    pub(super) fn direct(w: &mut Writer, op: CastOp, to: DataType, a: InstId) -> InstId {
        if w.ty(a) == to { a } else { w.cast(op, to, a) }
    }
}

mod atomic_rules {
    pub(super) use super::atomic::{atomic_add, atomic_exchange, direct};
}

mod subgroup_rules {
    pub(super) use super::subgroup::{direct, shuffle, shuffle_xor};
}

macro_rules! unary_table {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($nname:ident))?, lower: $lower:ident,
        eval: { $($eval:tt)* }, doc: $doc:literal })*) => {
        /// The op on a value.
        pub(crate) fn unary(w: &mut Writer, op: UnaryOp, a: InstId) -> InstId {
            match op { $(UnaryOp::$variant => unary_rules::$lower(w, op, a),)* }
        }
    };
}
unary_ops!(unary_table);

macro_rules! binary_table {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($($nname:ident)*))?, lower: $lower:ident,
        eval: { $($eval:tt)* }, doc: $doc:literal })*) => {
        /// The op on two values.
        pub(crate) fn binary(w: &mut Writer, op: BinaryOp, a: InstId, b: InstId) -> InstId {
            match op { $(BinaryOp::$variant => binary_rules::$lower(w, op, a, b),)* }
        }
    };
}
binary_ops!(binary_table);

macro_rules! ternary_table {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($nname:ident))?, lower: $lower:ident,
        eval: { $($eval:tt)* }, doc: $doc:literal })*) => {
        /// The op on three values.
        pub(crate) fn ternary(w: &mut Writer, op: TernaryOp, a: InstId, b: InstId, c: InstId) -> InstId {
            match op { $(TernaryOp::$variant => ternary_rules::$lower(w, op, a, b, c),)* }
        }
    };
}
ternary_ops!(ternary_table);

macro_rules! cast_table {
    ($($variant:ident = $tag:literal $name:ident { native: $native:ident($nname:ident), lower: $lower:ident,
        eval: $eval:ident, doc: $doc:literal })*) => {
        /// The conversion of a value.
        pub(crate) fn cast(w: &mut Writer, op: CastOp, to: DataType, a: InstId) -> InstId {
            match op { $(CastOp::$variant => cast_rules::$lower(w, op, to, a),)* }
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
        /// The op over a subgroup.
        pub(crate) fn subgroup(w: &mut Writer, op: SubgroupOp, value: InstId, lane: Option<InstId>) -> InstId {
            match op { $(SubgroupOp::$variant => subgroup_rules::$lower(w, op, value, lane),)* }
        }
    };
}
subgroup_ops!(subgroup_table);
