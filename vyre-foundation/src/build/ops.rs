//! Operators and methods of [`Val`], projected from the op tables: no op is named here.

use std::panic::Location;

use vyre_spec::ops::{BinaryOp, CastOp, CollectiveOp, SubgroupOp, TernaryOp, UnaryOp};
use vyre_spec::{Element, bf16, class, f16};

use super::kernel::Caller;
use super::{IntoVal, Val};
use crate::ir::{Expr, Node};

impl<'k, T: Element> Val<'k, T> {
    fn unary<R: Element>(self, op: UnaryOp, at: Caller) -> Val<'k, R> {
        self.kernel.expr(Expr::Unary(op, self.id), at)
    }

    fn binary<U: Element, R: Element>(self, op: BinaryOp, b: impl IntoVal<'k, U>, at: Caller) -> Val<'k, R> {
        let b = b.expr(self.kernel, at);
        self.kernel.expr(Expr::Binary(op, self.id, b), at)
    }

    fn ternary<U: Element>(
        self,
        op: TernaryOp,
        b: impl IntoVal<'k, U>,
        c: impl IntoVal<'k, U>,
        at: Caller,
    ) -> Val<'k, U> {
        let (b, c) = (b.expr(self.kernel, at), c.expr(self.kernel, at));
        self.kernel.expr(Expr::Ternary(op, self.id, b, c), at)
    }
}

/// A constant to the left of an operator.
macro_rules! left_constant {
    (($trait:ident $name:ident Same $op:expr) $rust:ident $ty:ident) => {
        impl<'k> std::ops::$trait<Val<'k, $rust>> for $rust {
            type Output = Val<'k, $rust>;
            #[track_caller]
            fn $name(self, b: Val<'k, $rust>) -> Self::Output {
                b.kernel.lit(self).binary($op, b, Location::caller())
            }
        }
    };
    (($trait:ident $name:ident Shift $op:expr) $rust:ident $ty:ident) => {
        impl<'k> std::ops::$trait<Val<'k, u32>> for $rust {
            type Output = Val<'k, $rust>;
            #[track_caller]
            fn $name(self, b: Val<'k, u32>) -> Self::Output {
                b.kernel.lit(self).binary($op, b, Location::caller())
            }
        }
    };
}

/// The type of the second operand.
macro_rules! second {
    (Shift $t:ident) => {
        u32
    };
    ($rule:ident $t:ident) => {
        $t
    };
}

/// The type of the result.
macro_rules! result {
    (Same $t:ident) => {
        $t
    };
    (Shift $t:ident) => {
        $t
    };
    (Compare $t:ident) => {
        bool
    };
    (Predicate $t:ident) => {
        bool
    };
}

macro_rules! unary_row {
    (none $op:expr, $name:ident $rule:ident $class:ident $doc:literal) => {
        impl<'k, T: class::$class> Val<'k, T> {
            #[doc = $doc]
            #[must_use]
            #[track_caller]
            pub fn $name(self) -> Val<'k, result!($rule T)> {
                self.unary($op, Location::caller())
            }
        }
    };
    ($trait:ident $op:expr, $name:ident $rule:ident $class:ident $doc:literal) => {
        #[doc = $doc]
        impl<'k, T: class::$class> std::ops::$trait for Val<'k, T> {
            type Output = Val<'k, result!($rule T)>;
            #[track_caller]
            fn $name(self) -> Self::Output {
                self.unary($op, Location::caller())
            }
        }
    };
}

macro_rules! binary_row {
    (none $op:expr, $name:ident $rule:ident $class:ident $doc:literal) => {
        impl<'k, T: class::$class> Val<'k, T> {
            #[doc = $doc]
            #[must_use]
            #[track_caller]
            pub fn $name(self, b: impl IntoVal<'k, second!($rule T)>) -> Val<'k, result!($rule T)> {
                self.binary::<second!($rule T), _>($op, b, Location::caller())
            }
        }
    };
    ($trait:ident $op:expr, $name:ident $rule:ident $class:ident $doc:literal) => {
        #[doc = $doc]
        impl<'k, T: class::$class, B: IntoVal<'k, second!($rule T)>> std::ops::$trait<B> for Val<'k, T> {
            type Output = Val<'k, result!($rule T)>;
            #[track_caller]
            fn $name(self, b: B) -> Self::Output {
                self.binary::<second!($rule T), _>($op, b, Location::caller())
            }
        }
        vyre_spec::for_class!($class, left_constant($trait $name $rule $op));
    };
}

macro_rules! ternary_row {
    ($op:expr, $name:ident Same $class:ident $doc:literal) => {
        impl<'k, T: class::$class> Val<'k, T> {
            #[doc = $doc]
            #[must_use]
            #[track_caller]
            pub fn $name(self, b: impl IntoVal<'k, T>, c: impl IntoVal<'k, T>) -> Self {
                self.ternary($op, b, c, Location::caller())
            }
        }
    };
    ($op:expr, $name:ident Select $class:ident $doc:literal) => {
        impl<'k> Val<'k, bool> {
            #[doc = $doc]
            #[must_use]
            #[track_caller]
            pub fn $name<T: class::$class>(
                self,
                a: impl IntoVal<'k, T>,
                b: impl IntoVal<'k, T>,
            ) -> Val<'k, T> {
                self.ternary($op, a, b, Location::caller())
            }
        }
    };
}

macro_rules! subgroup_row {
    ($op:expr, $name:ident Shuffle $class:ident $doc:literal) => {
        subgroup_row! { lane $op, $name $class $doc }
    };
    ($op:expr, $name:ident ShuffleXor $class:ident $doc:literal) => {
        subgroup_row! { lane $op, $name $class $doc }
    };
    ($op:expr, $name:ident ShuffleUp $class:ident $doc:literal) => {
        subgroup_row! { lane $op, $name $class $doc }
    };
    ($op:expr, $name:ident ShuffleDown $class:ident $doc:literal) => {
        subgroup_row! { lane $op, $name $class $doc }
    };
    (lane $op:expr, $name:ident $class:ident $doc:literal) => {
        impl<'k, T: class::$class> Val<'k, T> {
            #[doc = $doc]
            #[track_caller]
            pub fn $name(self, lane: impl IntoVal<'k, u32>) -> Self {
                let at = Location::caller();
                let lane = Some(lane.expr(self.kernel, at));
                self.kernel.push_result(Node::Subgroup { op: $op, value: self.id, lane }, at)
            }
        }
    };
    ($op:expr, $name:ident $rule:ident $class:ident $doc:literal) => {
        impl<'k, T: class::$class> Val<'k, T> {
            #[doc = $doc]
            #[track_caller]
            pub fn $name(self) -> Self {
                let at = Location::caller();
                self.kernel.push_result(Node::Subgroup { op: $op, value: self.id, lane: None }, at)
            }
        }
    };
}

macro_rules! collective_row {
    ($op:expr, $name:ident AllReduce $class:ident $doc:literal) => {
        impl<'k, T: class::$class> Val<'k, T> {
            #[doc = $doc]
            #[track_caller]
            pub fn $name(self) -> Self {
                let node = Node::Collective { op: $op, value: self.id, rank: None };
                self.kernel.push_result(node, Location::caller())
            }
        }
    };
    ($op:expr, $name:ident $rule:ident $class:ident $doc:literal) => {
        impl<'k, T: class::$class> Val<'k, T> {
            #[doc = $doc]
            #[track_caller]
            pub fn $name(self, rank: impl IntoVal<'k, u32>) -> Self {
                let at = Location::caller();
                let rank = Some(rank.expr(self.kernel, at));
                self.kernel.push_result(Node::Collective { op: $op, value: self.id, rank }, at)
            }
        }
    };
}

macro_rules! unary {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: $laws:tt, nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($($nname:ident)*))?, lower: $lower:ident, eval: $eval:tt, doc: $doc:literal })*) => {
        $(unary_row! { $rust UnaryOp::$variant, $name $rule $class $doc })*
    };
}

macro_rules! binary {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: $laws:tt, nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($($nname:ident)*))?, lower: $lower:ident, eval: $eval:tt, doc: $doc:literal })*) => {
        $(binary_row! { $rust BinaryOp::$variant, $name $rule $class $doc })*
    };
}

macro_rules! ternary {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: $laws:tt, nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($($nname:ident)*))?, lower: $lower:ident, eval: $eval:tt, doc: $doc:literal })*) => {
        $(ternary_row! { TernaryOp::$variant, $name $rule $class $doc })*
    };
}

macro_rules! cast {
    ($($variant:ident = $tag:literal $name:ident { native: $native:ident($($nname:ident)*), lower: $lower:ident,
        eval: $eval:ident, doc: $doc:literal })*) => {
        impl<'k, T: Element> Val<'k, T> {
            $(
                #[doc = $doc]
                #[must_use]
                #[track_caller]
                pub fn $name<R: Element>(self) -> Val<'k, R> {
                    self.kernel.expr(Expr::Cast(CastOp::$variant, R::TYPE, self.id), Location::caller())
                }
            )*
        }
    };
}

macro_rules! subgroup {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), combine: $combine:ident,
        native: $native:ident($($nname:ident)*), lower: $lower:ident, doc: $doc:literal })*) => {
        $(subgroup_row! { SubgroupOp::$variant, $name $rule $class $doc })*
    };
}

macro_rules! collective {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), combine: $combine:ident,
        doc: $doc:literal })*) => {
        $(collective_row! { CollectiveOp::$variant, $name $rule $class $doc })*
    };
}

vyre_spec::unary_ops!(unary);
vyre_spec::binary_ops!(binary);
vyre_spec::ternary_ops!(ternary);
vyre_spec::cast_ops!(cast);
vyre_spec::subgroup_ops!(subgroup);
vyre_spec::collective_ops!(collective);
