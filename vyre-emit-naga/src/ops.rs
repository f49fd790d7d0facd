//! Projections of the op tables onto naga: the `native` column of each row, and nothing else, decides.
//!
//! The macros below read a row's `native: Kind(Name …)` and paste the names as variants of naga's operator
//! enums, so a name that naga lacks does not compile, and the compiler's message points at the row.

use naga::{
    BinaryOperator, CollectiveOperation as Collective, MathFunction, SubgroupOperation, UnaryOperator,
};
use vyre_spec::ops::{AtomicOp, BinaryOp, CastOp, SubgroupOp, TernaryOp, UnaryOp};

/// How a pure op is written.
#[derive(Clone, Copy)]
pub(crate) enum Native {
    /// A unary operator.
    Unary(UnaryOperator),
    /// Complement: the first of integers, the second of bools.
    Not(UnaryOperator, UnaryOperator),
    /// A binary operator.
    Binary(BinaryOperator),
    /// A bitwise operator: the first of integers, the second of bools.
    Bits(BinaryOperator, BinaryOperator),
    /// A built-in function.
    Math(MathFunction),
    /// The select expression.
    Select,
    /// Not native: lowering leaves none.
    None,
}

/// How a cast is written.
#[derive(Clone, Copy)]
pub(crate) enum NativeCast {
    /// A conversion of the value.
    Convert,
    /// A reinterpretation of the bits.
    Bitcast,
}

/// How an atomic op is written.
#[derive(Clone, Copy)]
pub(crate) enum NativeAtomic {
    /// One of naga's functions of one operand.
    Function(naga::AtomicFunction),
    /// The exchange, with the instruction's expected value.
    CompareExchange,
}

/// How a subgroup op is written.
#[derive(Clone, Copy)]
pub(crate) enum NativeSubgroup {
    /// A reduction or scan.
    Collective(Collective, SubgroupOperation),
    /// The first lane's value.
    BroadcastFirst,
    /// The value of the lane that the instruction names.
    Shuffle,
}

macro_rules! pure {
    (none) => {
        Native::None
    };
    (Unary($name:ident)) => {
        Native::Unary(UnaryOperator::$name)
    };
    (Not($name:ident)) => {
        Native::Not(UnaryOperator::$name, UnaryOperator::LogicalNot)
    };
    (Binary($name:ident)) => {
        Native::Binary(BinaryOperator::$name)
    };
    (Bits($int:ident $bool:ident)) => {
        Native::Bits(BinaryOperator::$int, BinaryOperator::$bool)
    };
    (Math($name:ident)) => {
        Native::Math(MathFunction::$name)
    };
    (Select($name:ident)) => {
        Native::$name
    };
}

/// The match over the rows of a table of pure ops.
macro_rules! pure_rows {
    (($function:ident $op:ident) $($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident),
        sym: $sym:literal $prec:literal, rust: $rust:ident, laws: [$($laws:tt)*], nan: $nan:ident,
        bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?, native: $native:ident $(($($target:ident)*))?,
        lower: $lower:ident, eval: {$($eval:tt)*}, doc: $doc:literal })*) => {
        /// The native form of an op.
        pub(crate) const fn $function(op: $op) -> Native {
            match op { $($op::$variant => pure!($native $(($($target)*))?),)* }
        }
    };
}

vyre_spec::unary_ops!(pure_rows(unary UnaryOp));
vyre_spec::binary_ops!(pure_rows(binary BinaryOp));
vyre_spec::ternary_ops!(pure_rows(ternary TernaryOp));

macro_rules! cast_rows {
    ($($variant:ident = $tag:literal $name:ident { native: As($target:ident), lower: $lower:ident,
        eval: $eval:ident, doc: $doc:literal })*) => {
        /// The native form of a cast.
        pub(crate) const fn cast(op: CastOp) -> NativeCast {
            match op { $(CastOp::$variant => NativeCast::$target,)* }
        }
    };
}

vyre_spec::cast_ops!(cast_rows);

macro_rules! atomic {
    (Function($name:ident)) => {
        NativeAtomic::Function(naga::AtomicFunction::$name)
    };
    (Exchange($name:ident)) => {
        NativeAtomic::Function(naga::AtomicFunction::$name { compare: None })
    };
    (CompareExchange($name:ident)) => {
        NativeAtomic::CompareExchange
    };
}

macro_rules! atomic_rows {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident),
        native: $native:ident($target:ident), lower: $lower:ident, eval: {$($eval:tt)*},
        doc: $doc:literal })*) => {
        /// The native form of an atomic op.
        pub(crate) const fn atomic(op: AtomicOp) -> NativeAtomic {
            match op { $(AtomicOp::$variant => atomic!($native($target)),)* }
        }
    };
}

vyre_spec::atomic_ops!(atomic_rows);

macro_rules! subgroup {
    (Collective($how:ident $op:ident)) => {
        NativeSubgroup::Collective(Collective::$how, SubgroupOperation::$op)
    };
    (Vote($op:ident)) => {
        NativeSubgroup::Collective(Collective::Reduce, SubgroupOperation::$op)
    };
    (Gather($name:ident)) => {
        NativeSubgroup::$name
    };
}

macro_rules! subgroup_rows {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), combine: $combine:ident,
        native: $native:ident($($target:ident)*), lower: $lower:ident, doc: $doc:literal })*) => {
        /// The native form of a subgroup op.
        pub(crate) const fn subgroup(op: SubgroupOp) -> NativeSubgroup {
            match op { $(SubgroupOp::$variant => subgroup!($native($($target)*)),)* }
        }
    };
}

vyre_spec::subgroup_ops!(subgroup_rows);
