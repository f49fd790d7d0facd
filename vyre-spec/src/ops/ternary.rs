//! Ops of three operands.

use super::{Columns3, Kernel3, Law, call3, column3, for_class, op_enum, pure_columns, type_set};
use crate::float::Half;
use crate::{DataType, ErrorBound, NanRule, TypeSet, Value, bf16, f16};

/// The ternary op table; see [the module](crate::ops) for the row format.
#[macro_export]
macro_rules! ternary_ops {
    ($callback:ident $(($($args:tt)*))?) => { $callback! { $(($($args)*))?
        Select = 0x01 select { ty: Select(Any), sym: "" 0, rust: none, laws: [], nan: AsEvaluated, bound: Exact,
            native: Select(Select), lower: select,
            eval: { Any: |c, a, b| if c { a } else { b } },
            doc: "`select(condition, a, b)`: `a` where the condition holds, else `b`; both are evaluated." }
        Fma = 0x02 fma { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Exact,
            native: Math(Fma), lower: fma,
            eval: { Float: |a, b, c| a.mul_add(b, c) },
            doc: "`a * b + c`, rounded once." }
        Clamp = 0x03 clamp { ty: Same(Arith), sym: "" 0, rust: none, laws: [], nan: AsEvaluated, bound: Exact,
            native: none, lower: clamp,
            eval: { Int: |x, low, high| x.max(low).min(high),
                Float: |x, low, high| {
                    let raised = if x.is_nan() || low > x { low } else { x };
                    if raised.is_nan() || high < raised { high } else { raised }
                } },
            doc: "`clamp(x, low, high)`: `min(max(x, low), high)`, also where `low` is above `high`." }
        Mix = 0x04 mix { ty: Same(Float), sym: "" 0, rust: none, laws: [], nan: Propagates, bound: Exact,
            native: none, lower: mix,
            eval: { Float: |a, b, t| t.mul_add(b, (-t).mul_add(a, a)) },
            doc: "`mix(a, b, t)`: `fma(t, b, fma(-t, a, a))`, which is `a` at 0 and `b` at 1." }
    } };
}

/// How a ternary op's result type follows from its operands'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TernaryRule {
    /// Three operands of one type of the set; the result has it too.
    Same(TypeSet),
    /// A bool and two operands of one type of the set; the result has that type.
    Select(TypeSet),
}

impl TernaryRule {
    /// The types that the second and third operand may have.
    pub const fn operands(self) -> TypeSet {
        match self {
            Self::Same(set) | Self::Select(set) => set,
        }
    }

    /// The type that the first operand must have beside others of type `rest`.
    pub const fn first(self, rest: DataType) -> DataType {
        match self {
            Self::Same(_) => rest,
            Self::Select(_) => DataType::Bool,
        }
    }

    /// The result's type, if the operands' are allowed.
    pub fn result(self, a: DataType, b: DataType, c: DataType) -> Option<DataType> {
        (b == c && self.operands().contains(b) && self.first(b) == a).then_some(b)
    }
}

macro_rules! arm {
    ((Select $wanted:ident, $f:expr) $rust:ident $ty:ident) => {
        if $wanted == DataType::$ty {
            return Some((
                |a, b, c| call3::<bool, $rust, _>($f, a, b, c),
                |r, a, b, c| column3(|a, b, c| call3::<bool, $rust, _>($f, a, b, c), r, a, b, c),
            ));
        }
    };
    (($rule:ident $wanted:ident, $f:expr) $rust:ident $ty:ident) => {
        if $wanted == DataType::$ty {
            return Some((
                |a, b, c| call3::<$rust, $rust, _>($f, a, b, c),
                |r, a, b, c| column3(|a, b, c| call3::<$rust, $rust, _>($f, a, b, c), r, a, b, c),
            ));
        }
    };
}

macro_rules! define {
    ($($variant:ident = $tag:literal $name:ident { ty: $rule:ident($class:ident), sym: $sym:literal $prec:literal,
        rust: $rust:ident, laws: [$($law:ident),*], nan: $nan:ident, bound: $bound:ident $(($($b:tt)*))? $({$($bf:tt)*})?,
        native: $native:ident $(($nname:ident))?, lower: $lower:ident,
        eval: { $($group:ident: $eval:expr),* }, doc: $doc:literal })*) => {
        op_enum! {
            /// An op of three operands.
            TernaryOp { $($variant = $tag $name $doc $sym $prec;)* }
        }

        impl TernaryOp {
            /// The evaluation on bits for a second and third operand of type `ty`; `None` if the rule
            /// refuses it.
            pub fn kernel(self, ty: DataType) -> Option<fn(u64, u64, u64) -> u64> {
                self.kernels(ty).map(|kernels| kernels.0)
            }

            /// The same evaluation of whole columns; `None` likewise.
            pub fn columns(self, ty: DataType) -> Option<Columns3> {
                self.kernels(ty).map(|kernels| kernels.1)
            }

            fn kernels(self, ty: DataType) -> Option<Kernel3> {
                match self { $(Self::$variant => { $(for_class!($group, arm($rule ty, $eval));)* })* }
                None
            }
        }
    };
}

ternary_ops!(define);
ternary_ops!(pure_columns(TernaryOp TernaryRule));

impl TernaryOp {
    /// The op's value, if its rule allows the operands.
    pub fn eval(self, a: Value, b: Value, c: Value) -> Option<Value> {
        let ty = self.rule().result(a.ty(), b.ty(), c.ty())?;
        Some(Value::from_bits(ty, self.kernel(b.ty())?(a.bits(), b.bits(), c.bits())))
    }
}
