//! Conversions between element types.

use super::{Columns1, Kernel1, column1, for_class, op_enum};
use crate::float::Real;
use crate::{DataType, Element, FloatFormat, Value, bf16, f16};

/// The cast op table. A row names its native mapping and its lowering rule as in the other tables; the
/// evaluation takes source and target type.
#[macro_export]
macro_rules! cast_ops {
    ($callback:ident $(($($args:tt)*))?) => { $callback! { $(($($args)*))?
        Convert = 0x01 convert { native: As(Convert), lower: convert, eval: convert,
            doc: "The value in the target type. Integers truncate or extend by the source's sign; floats truncate toward zero and saturate, NaN gives 0; integers and wider floats round to the nearest float, ties to even; bool gives 0 or 1, and a number is true unless it is zero." }
        Bitcast = 0x02 bitcast { native: As(Bitcast), lower: bitcast, eval: bitcast,
            doc: "The same bits in a target type of the same width; bool takes no part." }
    } };
}

macro_rules! define {
    ($($variant:ident = $tag:literal $name:ident { native: $native:ident($nname:ident), lower: $lower:ident, eval: $eval:ident, doc: $doc:literal })*) => {
        op_enum! {
            /// A conversion between element types.
            CastOp { $($variant = $tag $name $doc "" 0;)* }
        }

        impl CastOp {
            /// The evaluation on bits from type `from` to type `to`; `None` if the pair is refused.
            pub fn kernel(self, from: DataType, to: DataType) -> Option<fn(u64) -> u64> {
                self.kernels(from, to).map(|kernels| kernels.0)
            }

            /// The same evaluation of whole columns; `None` likewise.
            pub fn columns(self, from: DataType, to: DataType) -> Option<Columns1> {
                self.kernels(from, to).map(|kernels| kernels.1)
            }

            fn kernels(self, from: DataType, to: DataType) -> Option<Kernel1> {
                match self { $(Self::$variant => $eval(from, to),)* }
            }
        }
    };
}

cast_ops!(define);

impl CastOp {
    /// Whether the op takes `from` to `to`.
    pub fn allows(self, from: DataType, to: DataType) -> bool {
        self.kernel(from, to).is_some()
    }

    /// The op's value in type `to`, if it takes the operand's type there.
    pub fn eval(self, a: Value, to: DataType) -> Option<Value> {
        Some(Value::from_bits(to, self.kernel(a.ty(), to)?(a.bits())))
    }
}

impl CastOp {
    /// The bits in type `to` of a conversion by value of a real number, rounded or saturated once.
    pub(crate) fn convert_f64(x: f64, to: DataType) -> u64 {
        convert(DataType::F64, to).map_or(0, |(f, _)| f(x.to_bits()))
    }
}

/// A number that every value of a type is.
enum Number {
    Int(i128),
    Float(f64),
}

/// A type that numbers convert to and from.
trait Convert: Element {
    fn number(self) -> Number;
    fn of(number: Number) -> Self;
}

impl Convert for bool {
    fn number(self) -> Number {
        Number::Int(i128::from(self))
    }
    fn of(number: Number) -> Self {
        match number {
            Number::Int(x) => x != 0,
            Number::Float(x) => x != 0.0,
        }
    }
}

macro_rules! ints {
    ($($ty:ident)*) => {$(
        impl Convert for $ty {
            fn number(self) -> Number {
                Number::Int(i128::from(self))
            }
            fn of(number: Number) -> Self {
                match number {
                    Number::Int(x) => x as Self,
                    // Rust's `as` truncates, saturates and gives 0 for NaN.
                    Number::Float(x) => x as Self,
                }
            }
        }
    )*};
}
ints! { u8 i8 u16 i16 u32 i32 u64 i64 }

macro_rules! floats {
    ($($ty:ident)*) => {$(
        impl Convert for $ty {
            fn number(self) -> Number {
                Number::Float(self.to_real())
            }
            fn of(number: Number) -> Self {
                match number {
                    Number::Int(x) => {
                        let format = Self::TYPE.float_format();
                        let round = |f: FloatFormat| f.round(x < 0, x.unsigned_abs(), 0);
                        Self::from_bits64(format.map_or(0, round))
                    }
                    Number::Float(x) => Self::from_real(x),
                }
            }
        }
    )*};
}
floats! { f16 bf16 f32 f64 }

/// The bits as they are.
const SAME: Kernel1 = (|a| a, |results, a| column1(|a| a, results, a));

/// A conversion by value.
fn convert(from: DataType, to: DataType) -> Option<Kernel1> {
    macro_rules! via {
        ($from:ident as $to:ident) => {
            (
                |a| ($from::from_bits64(a) as $to).to_bits64(),
                |results, a| column1(|a| ($from::from_bits64(a) as $to).to_bits64(), results, a),
            )
        };
    }
    use DataType::{Bool, F32, I32, U32};
    Some(match (from, to) {
        _ if from == to => SAME,
        // Frequent ones without the detour.
        (Bool | U32 | I32, U32 | I32) => SAME,
        (U32, F32) => via!(u32 as f32),
        (I32, F32) => via!(i32 as f32),
        (F32, U32) => via!(f32 as u32),
        (F32, I32) => via!(f32 as i32),
        _ => {
            macro_rules! source {
                (() $rust:ident $ty:ident) => {
                    if from == DataType::$ty {
                        return target::<$rust>(to);
                    }
                };
            }
            for_class!(Any, source());
            return None;
        }
    })
}

fn target<A: Convert>(to: DataType) -> Option<Kernel1> {
    macro_rules! target {
        (() $rust:ident $ty:ident) => {
            if to == DataType::$ty {
                return Some((
                    |a| $rust::of(A::from_bits64(a).number()).to_bits64(),
                    |results, a| column1(|a| $rust::of(A::from_bits64(a).number()).to_bits64(), results, a),
                ));
            }
        };
    }
    for_class!(Any, target());
    None
}

/// A reinterpretation of the bits.
fn bitcast(from: DataType, to: DataType) -> Option<Kernel1> {
    let allowed = from != DataType::Bool && to != DataType::Bool && from.size() == to.size();
    allowed.then_some(SAME)
}
