//! Conversions between element types.

use super::op_enum;
use crate::{DataType, Element, Value};

/// The cast op table. A row names its native mapping and its lowering rule as in the other tables; the
/// evaluation takes source and target type.
#[macro_export]
macro_rules! cast_ops {
    ($callback:ident $(($($args:tt)*))?) => { $callback! { $(($($args)*))?
        Convert = 0x01 convert { native: As(Convert), lower: convert, eval: convert,
            doc: "The value in the target type. Integers truncate or extend by the source's sign; floats truncate toward zero and saturate, NaN gives 0; integers round to the nearest float, ties to even; bool gives 0 or 1, and a number is true unless it is zero." }
        Bitcast = 0x02 bitcast { native: As(Bitcast), lower: direct, eval: bitcast,
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

/// A conversion by value: Rust's `as` has these semantics exactly.
fn convert(from: DataType, to: DataType) -> Option<fn(u64) -> u64> {
    macro_rules! via {
        ($from:ty as $to:ty) => {
            |a| (<$from>::from_bits64(a) as $to).to_bits64()
        };
    }
    use DataType::{Bool, F32, I32, U32};
    Some(match (from, to) {
        (Bool, Bool) | (U32, U32 | I32) | (I32, U32 | I32) | (F32, F32) => |a| a,
        (Bool, U32 | I32) => |a| a,
        (Bool, F32) => |a| f32::from(u8::from(bool::from_bits64(a))).to_bits64(),
        (U32 | I32, Bool) => |a| u64::from(a as u32 != 0),
        (F32, Bool) => |a| (f32::from_bits64(a) != 0.0).to_bits64(),
        (U32, F32) => via!(u32 as f32),
        (I32, F32) => via!(i32 as f32),
        (F32, U32) => via!(f32 as u32),
        (F32, I32) => via!(f32 as i32),
    })
}

/// A reinterpretation of the bits.
fn bitcast(from: DataType, to: DataType) -> Option<fn(u64) -> u64> {
    let allowed = from != DataType::Bool && to != DataType::Bool && from.size() == to.size();
    allowed.then_some(|a| a)
}
