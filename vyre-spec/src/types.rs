//! Element types and sets of them.

use std::fmt;

use crate::{FloatFormat, bf16, f16};

macro_rules! data_types {
    ($($(#[$doc:meta])* $variant:ident = $tag:literal $name:literal $size:literal;)+) => {
        /// A scalar element type. The discriminant is the wire tag.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DataType { $($(#[$doc])* $variant = $tag,)+ }

        impl DataType {
            /// Every type, in wire-tag order.
            pub const ALL: [Self; 13] = [$(Self::$variant),+];

            /// The name in text form, which is also Rust's.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The bytes that one element takes in a buffer, on the host and on the device.
            pub const fn size(self) -> u32 {
                match self { $(Self::$variant => $size,)+ }
            }
        }
    };
}

data_types! {
    /// A truth value; one 32-bit word (0 or 1) in memory.
    Bool = 0 "bool" 4;
    /// An unsigned 8-bit integer.
    U8 = 1 "u8" 1;
    /// A signed 8-bit integer in two's complement.
    I8 = 2 "i8" 1;
    /// An unsigned 16-bit integer.
    U16 = 3 "u16" 2;
    /// A signed 16-bit integer in two's complement.
    I16 = 4 "i16" 2;
    /// An unsigned 32-bit integer.
    U32 = 5 "u32" 4;
    /// A signed 32-bit integer in two's complement.
    I32 = 6 "i32" 4;
    /// An unsigned 64-bit integer.
    U64 = 7 "u64" 8;
    /// A signed 64-bit integer in two's complement.
    I64 = 8 "i64" 8;
    /// An IEEE 754 binary16 number.
    F16 = 9 "f16" 2;
    /// A bfloat16 number: the upper half of a binary32.
    BF16 = 10 "bf16" 2;
    /// An IEEE 754 binary32 number.
    F32 = 11 "f32" 4;
    /// An IEEE 754 binary64 number.
    F64 = 12 "f64" 8;
}

impl DataType {
    /// The type with this text name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// The wire tag.
    pub const fn tag(self) -> u8 {
        self as u8
    }

    /// The type with this wire tag.
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.tag() == tag)
    }

    /// The bits of a value: 1 for bool.
    pub const fn width(self) -> u32 {
        match self {
            Self::Bool => 1,
            other => 8 * other.size(),
        }
    }

    /// Whether the type is an integer type.
    pub const fn is_int(self) -> bool {
        TypeSet::INT.contains(self)
    }

    /// Whether the type is a floating-point type.
    pub const fn is_float(self) -> bool {
        TypeSet::FLOAT.contains(self)
    }

    /// Whether the type is a signed integer type.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// The layout of the type's bits; `None` unless it is a float type.
    pub const fn float_format(self) -> Option<FloatFormat> {
        Some(match self {
            Self::F16 => FloatFormat { exponent_bits: 5, fraction_bits: 10 },
            Self::BF16 => FloatFormat { exponent_bits: 8, fraction_bits: 7 },
            Self::F32 => FloatFormat { exponent_bits: 8, fraction_bits: 23 },
            Self::F64 => FloatFormat { exponent_bits: 11, fraction_bits: 52 },
            _ => return None,
        })
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of element types, used by type rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeSet(u32);

impl TypeSet {
    /// Every type.
    pub const ANY: Self = Self::of(&DataType::ALL);
    /// Types with arithmetic: integers and floats.
    pub const ARITH: Self = Self(Self::INT.0 | Self::FLOAT.0);
    /// Integer types.
    pub const INT: Self = Self::of(&[
        DataType::U8,
        DataType::I8,
        DataType::U16,
        DataType::I16,
        DataType::U32,
        DataType::I32,
        DataType::U64,
        DataType::I64,
    ]);
    /// Signed integers and floats.
    pub const SIGNED: Self =
        Self(Self::of(&[DataType::I8, DataType::I16, DataType::I32, DataType::I64]).0 | Self::FLOAT.0);
    /// Floating-point types.
    pub const FLOAT: Self = Self::of(&[DataType::F16, DataType::BF16, DataType::F32, DataType::F64]);
    /// Integers and bool: types with bitwise ops.
    pub const BITS: Self = Self(Self::INT.0 | Self::BOOL.0);
    /// The bool type alone.
    pub const BOOL: Self = Self::of(&[DataType::Bool]);
    /// The 32-bit integers.
    pub const WORD: Self = Self::of(&[DataType::U32, DataType::I32]);
    /// Integers with atomics.
    pub const ATOMIC_INT: Self = Self::of(&[DataType::U32, DataType::I32, DataType::U64, DataType::I64]);
    /// Integers with atomics, and the float with atomic addition and exchange.
    pub const ATOMIC: Self = Self(Self::ATOMIC_INT.0 | Self::of(&[DataType::F32]).0);

    /// The element types of tiles.
    pub const TILE: Self = Self::of(&[DataType::F16, DataType::F32]);

    /// The set of these types.
    pub const fn of(types: &[DataType]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < types.len() {
            bits |= 1 << types[i] as u32;
            i += 1;
        }
        Self(bits)
    }

    /// Whether `ty` is in the set.
    pub const fn contains(self, ty: DataType) -> bool {
        self.0 & (1 << ty as u32) != 0
    }

    /// The members, in wire-tag order.
    pub fn iter(self) -> impl Iterator<Item = DataType> {
        DataType::ALL.into_iter().filter(move |ty| self.contains(*ty))
    }
}

impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, ty) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            f.write_str(ty.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

/// A Rust type that is an element type of the IR.
pub trait Element: Copy + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The element type.
    const TYPE: DataType;
    /// The value's bits, zero-extended to 64; bool is 0 or 1.
    fn to_bits64(self) -> u64;
    /// The value with these bits; bits above the type's width are ignored.
    fn from_bits64(bits: u64) -> Self;
}

impl Element for bool {
    const TYPE: DataType = DataType::Bool;
    fn to_bits64(self) -> u64 {
        u64::from(self)
    }
    fn from_bits64(bits: u64) -> Self {
        bits as u32 != 0
    }
}

macro_rules! elements {
    (int $($ty:ident $unsigned:ident $variant:ident;)+) => {$(
        impl Element for $ty {
            const TYPE: DataType = DataType::$variant;
            fn to_bits64(self) -> u64 {
                u64::from(self as $unsigned)
            }
            fn from_bits64(bits: u64) -> Self {
                bits as Self
            }
        }
    )+};
    (float $($ty:ident $unsigned:ident $variant:ident;)+) => {$(
        impl Element for $ty {
            const TYPE: DataType = DataType::$variant;
            fn to_bits64(self) -> u64 {
                u64::from(self.to_bits())
            }
            fn from_bits64(bits: u64) -> Self {
                Self::from_bits(bits as $unsigned)
            }
        }
    )+};
}

elements! { int
    u8 u8 U8;
    i8 u8 I8;
    u16 u16 U16;
    i16 u16 I16;
    u32 u32 U32;
    i32 u32 I32;
    u64 u64 U64;
    i64 u64 I64;
}

elements! { float
    f16 u16 F16;
    bf16 u16 BF16;
    f32 u32 F32;
    f64 u64 F64;
}

/// Rust traits that mirror [`TypeSet`]'s constants, so that the typed builder's methods take just the
/// element types that an op's row accepts.
pub mod class {
    use super::{Element, bf16, f16};

    macro_rules! classes {
        ($($(#[$doc:meta])* $name:ident: $($ty:ty),+;)+) => {
            $( $(#[$doc])* pub trait $name: Element {} $(impl $name for $ty {})+ )+
        };
    }

    classes! {
        /// Any element type.
        Any: bool, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64;
        /// Integers and floats.
        Arith: u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64;
        /// Integers.
        Int: u8, i8, u16, i16, u32, i32, u64, i64;
        /// Signed integers and floats.
        Signed: i8, i16, i32, i64, f16, bf16, f32, f64;
        /// Floats.
        Float: f16, bf16, f32, f64;
        /// Integers and bool.
        Bits: bool, u8, i8, u16, i16, u32, i32, u64, i64;
        /// Bool alone.
        Bool: bool;
        /// The 32-bit integers.
        Word: u32, i32;
        /// Integers with atomics.
        AtomicInt: u32, i32, u64, i64;
        /// Integers with atomics, and f32.
        Atomic: u32, i32, u64, i64, f32;
        /// The element types of tiles.
        Tile: f16, f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags_round_trip() {
        for ty in DataType::ALL {
            assert_eq!(DataType::from_name(ty.name()), Some(ty));
            assert_eq!(DataType::from_tag(ty.tag()), Some(ty));
        }
        assert_eq!(DataType::from_name("u33"), None);
        assert_eq!(DataType::from_tag(255), None);
    }

    #[test]
    fn bits_of_negative_numbers_are_zero_extended() {
        assert_eq!((-1i32).to_bits64(), 0xFFFF_FFFF);
        assert_eq!(i32::from_bits64(0xFFFF_FFFF), -1);
        assert_eq!((-0.0f32).to_bits64(), 0x8000_0000);
        assert_eq!(((-2i8).to_bits64(), i8::from_bits64(0xFFFF_FFFE)), (0xFE, -2));
        assert_eq!(f16::from_bits64(0xFFFF_3C00), f16::ONE);
    }
}
