//! Element types and sets of them.

use std::fmt;

/// A scalar element type.
///
/// The discriminant is the wire tag; gaps are reserved for the 8-, 16- and 64-bit types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum DataType {
    /// A truth value; one 32-bit word (0 or 1) in memory.
    Bool = 0,
    /// An unsigned 32-bit integer.
    U32 = 5,
    /// A signed 32-bit integer in two's complement.
    I32 = 6,
    /// An IEEE 754 binary32 number.
    F32 = 11,
}

impl DataType {
    /// Every type, in wire-tag order.
    pub const ALL: [Self; 4] = [Self::Bool, Self::U32, Self::I32, Self::F32];

    /// The name in text form, which is also Rust's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
        }
    }

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

    /// The bytes that one element takes in a buffer, on the host and on the device.
    pub const fn size(self) -> u32 {
        match self {
            Self::Bool | Self::U32 | Self::I32 | Self::F32 => 4,
        }
    }

    /// Whether the type is an integer type.
    pub const fn is_int(self) -> bool {
        matches!(self, Self::U32 | Self::I32)
    }

    /// Whether the type is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F32)
    }

    /// Whether the type is a signed integer type.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, Self::I32)
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
    pub const ARITH: Self = Self::of(&[DataType::U32, DataType::I32, DataType::F32]);
    /// Integer types.
    pub const INT: Self = Self::of(&[DataType::U32, DataType::I32]);
    /// Signed integers and floats.
    pub const SIGNED: Self = Self::of(&[DataType::I32, DataType::F32]);
    /// Floating-point types.
    pub const FLOAT: Self = Self::of(&[DataType::F32]);
    /// Integers and bool: types with bitwise ops.
    pub const BITS: Self = Self::of(&[DataType::Bool, DataType::U32, DataType::I32]);
    /// The bool type alone.
    pub const BOOL: Self = Self::of(&[DataType::Bool]);

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

impl Element for u32 {
    const TYPE: DataType = DataType::U32;
    fn to_bits64(self) -> u64 {
        u64::from(self)
    }
    fn from_bits64(bits: u64) -> Self {
        bits as u32
    }
}

impl Element for i32 {
    const TYPE: DataType = DataType::I32;
    fn to_bits64(self) -> u64 {
        u64::from(self as u32)
    }
    fn from_bits64(bits: u64) -> Self {
        bits as u32 as i32
    }
}

impl Element for f32 {
    const TYPE: DataType = DataType::F32;
    fn to_bits64(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn from_bits64(bits: u64) -> Self {
        f32::from_bits(bits as u32)
    }
}

/// Rust traits that mirror [`TypeSet`]'s constants, so that the typed builder's methods take just the
/// element types that an op's row accepts.
pub mod class {
    use super::Element;

    macro_rules! classes {
        ($($(#[$doc:meta])* $name:ident: $($ty:ty),+;)+) => {
            $( $(#[$doc])* pub trait $name: Element {} $(impl $name for $ty {})+ )+
        };
    }

    classes! {
        /// Any element type.
        Any: bool, u32, i32, f32;
        /// Integers and floats.
        Arith: u32, i32, f32;
        /// Integers.
        Int: u32, i32;
        /// Signed integers and floats.
        Signed: i32, f32;
        /// Floats.
        Float: f32;
        /// Integers and bool.
        Bits: bool, u32, i32;
        /// Bool alone.
        Bool: bool;
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
    }
}
